/* binary16, bfloat16 and stored rows: every bit pattern, every tie. Expected values come from the formats' definitions,
 * through double, which holds all of them exactly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "element.h"
#include "mlp_number.h"
#include "random.h"

struct format {
    mlp_dtype dtype;
    int exponent_bits, fraction_bits;
    float (*load)(uint16_t);
    uint16_t (*store)(float);
};

static const struct format f16 = {MLP_F16, 5, 10, mlp_f16_load, mlp_f16_store};
static const struct format bf16 = {MLP_BF16, 8, 7, mlp_bf16_load, mlp_bf16_store};

static double value_of(const struct format *format, unsigned bits)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1, top = (1 << format->exponent_bits) - 1;
    int exponent = (int)(bits >> format->fraction_bits) & top;
    int fraction = (int)(bits & ((1u << format->fraction_bits) - 1));
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == top)
        return fraction ? (double)NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - format->fraction_bits);
    return sign * ldexp((1 << format->fraction_bits) + fraction, exponent - bias - format->fraction_bits);
}

static void check_patterns(const struct format *format)
{
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        double value = value_of(format, bits);
        float loaded = format->load((uint16_t)bits);
        if (isnan(value)) {
            assert_true(isnan(loaded) && isnan(format->load(format->store(loaded))));
            continue;
        }
        assert_true(loaded == (float)value && (double)(float)value == value);
        assert_true(!signbit(loaded) == !signbit(value));
        assert_int_equal(format->store(loaded), bits);
    }
}

static uint16_t stored(const struct format *format, double value)
{
    uint16_t bits;
    mlp_row_store(format->dtype, &value, 1, &bits);
    return bits;
}

/* Between two neighbours: the tie goes to the even one, anything off the tie to the nearer; also from double, where
 * the number beside the tie may be closer to it than a float can tell. */
static void check_ties(const struct format *format)
{
    unsigned infinity = (1u << 15) - (1u << format->fraction_bits);
    for (unsigned bits = 0; bits < infinity; bits++) {
        double low = value_of(format, bits), step = low - value_of(format, bits ? bits - 1 : 1);
        double high = bits + 1 < infinity ? value_of(format, bits + 1) : low + fabs(step);
        double tie = low + (high - low) / 2;
        unsigned even = bits & 1 ? bits + 1 : bits;
        assert_int_equal(format->store((float)tie), even);
        assert_int_equal(format->store(nextafterf((float)tie, 0)), bits);
        assert_int_equal(format->store(nextafterf((float)tie, INFINITY)), bits + 1);
        assert_int_equal(format->store(-(float)tie), even | 0x8000u);
        assert_int_equal(stored(format, tie), even);
        assert_int_equal(stored(format, nextafter(tie, 0)), bits);
        assert_int_equal(stored(format, nextafter(tie, INFINITY)), bits + 1);
        assert_int_equal(stored(format, -nextafter(tie, INFINITY)), (bits + 1) | 0x8000u);
    }
}

static void every_f16(void **state)
{
    (void)state;
    check_patterns(&f16);
    check_ties(&f16);
}

static void every_bf16(void **state)
{
    (void)state;
    check_patterns(&bf16);
    check_ties(&bf16);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    const uint32_t patterns[] = {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u, 0x7f80ffffu};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        float nan = mlp_float_of_bits(patterns[i]);
        assert_true(isnan(mlp_round_f16(nan)) && isnan(mlp_round_bf16(nan)));
        assert_int_equal(mlp_f16_store(nan) >> 15, patterns[i] >> 31);
    }
    double nan = NAN, row[1];
    for (mlp_dtype dtype = MLP_F32; dtype <= MLP_BF16; dtype++) {
        float bytes[1];
        mlp_row_store(dtype, &nan, 1, bytes);
        mlp_row_load(dtype, bytes, 1, row);
        assert_true(isnan(row[0]));
    }
}

static void too_large_is_infinite(void **state)
{
    (void)state;
    assert_true(mlp_round_f16(65519.996f) == 65504.0f);
    assert_true(isinf(mlp_round_f16(65520.0f)) && isinf(mlp_round_f16(-1e30f)));
    assert_true(isinf(mlp_round_bf16(3.4e38f)) && mlp_round_bf16(3.39e38f) < INFINITY);
    assert_int_equal(stored(&f16, 1e300), 0x7c00);
    assert_int_equal(stored(&bf16, -1e300), 0xff80);
    assert_int_equal(stored(&f16, 1e-300), 0);
}

static void half_steps(void **state)
{
    (void)state;
    assert_true(mlp_dtype_half_step(MLP_F32, 1.0) == 0x1p-24);
    assert_true(mlp_dtype_half_step(MLP_F16, 1.999) == 0x1p-11);
    assert_true(mlp_dtype_half_step(MLP_F16, 0) == 0x1p-25);
    assert_true(mlp_dtype_half_step(MLP_BF16, 4.0) == 0x1p-6);
}

static void random_rows_repeat(void **state)
{
    (void)state;
    float all[8][16], again[8][16];
    mlp_random_rows(MLP_F32, 8, 16, 5, all);
    mlp_random_rows(MLP_F32, 4, 16, 5, again);
    assert_memory_equal(all, again, 4 * sizeof *all);
    mlp_random_rows(MLP_F32, 4, 16, 6, again);
    assert_memory_not_equal(all, again, 4 * sizeof *all);
    double sum = 0, squares = 0;
    static float many[1000][64];
    mlp_random_rows(MLP_F32, 1000, 64, 1, many);
    for (int r = 0; r < 1000; r++) {
        for (int c = 0; c < 64; c++) {
            assert_true(fabsf(many[r][c]) < 3.5f && (r % 4 != 3 || many[r][c] >= 0));
            sum += r % 4 == 3 ? 0 : many[r][c];
            squares += many[r][c] * many[r][c];
        }
    }
    assert_true(fabs(sum / 48000) < 0.02 && fabs(squares / 64000 - 1) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16),           cmocka_unit_test(every_bf16), cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(too_large_is_infinite), cmocka_unit_test(half_steps), cmocka_unit_test(random_rows_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
