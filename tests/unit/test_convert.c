/* Number formats, against the definitions of the formats: every pattern, and every boundary between neighbours. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "convert.h"

/* A 16-bit format by its definition. */
struct format {
    int exponent_bits, fraction_bits;
    uint16_t (*to)(double number);
    double (*from)(uint16_t bits);
};

static const struct format formats[] = {
    {5, 10, convert_to_f16, convert_from_f16},
    {8, 7, convert_to_bf16, convert_from_bf16},
};

static uint16_t infinity_of(const struct format *format)
{
    return (uint16_t)(((1 << format->exponent_bits) - 1) << format->fraction_bits);
}

static double by_definition(const struct format *format, unsigned bits)
{
    const int bias = (1 << (format->exponent_bits - 1)) - 1, one = 1 << format->fraction_bits;
    int fraction = (int)bits & (one - 1), exponent = (int)(bits & 0x7fff) >> format->fraction_bits;
    double magnitude = exponent ? ldexp(one + fraction, exponent - bias - format->fraction_bits)
                                : ldexp(fraction, 1 - bias - format->fraction_bits);
    if ((bits & 0x7fff) >= infinity_of(format))
        magnitude = fraction ? NAN : INFINITY;
    return bits >> 15 ? -magnitude : magnitude;
}

static void test_every_pattern(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        for (unsigned bits = 0; bits < 65536; bits++) {
            double expected = by_definition(&formats[f], bits), got = formats[f].from((uint16_t)bits);
            if (isnan(expected)) {
                assert_true(isnan(got));
                assert_true(isnan(formats[f].from(formats[f].to(got))));
                continue;
            }
            assert_true(got == expected && !signbit(got) == !signbit(expected));
            assert_int_equal(formats[f].to(expected), bits);
        }
    }
}

/* Between two neighbours: what is nearer wins, and the middle goes to the even one. The last pair is the largest
 * number and the power of two that would follow it, which is stored as infinity. */
static void test_every_boundary(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const struct format *format = &formats[f];
        for (unsigned low = 0; low < infinity_of(format); low++) {
            unsigned high = low + 1, even = low % 2 ? high : low;
            double a = by_definition(format, low);
            double b = high < infinity_of(format) ? by_definition(format, high)
                                                  : ldexp(1, 1 << (format->exponent_bits - 1));
            double middle = (a + b) / 2;
            assert_int_equal(format->to(middle), even);
            assert_int_equal(format->to(nextafter(middle, 0)), low);
            assert_int_equal(format->to(nextafter(middle, INFINITY)), high);
            assert_int_equal(format->to(-middle), even | 0x8000);
            assert_int_equal(format->to(nextafter(-middle, 0)), low | 0x8000);
            assert_int_equal(format->to(nextafter(-middle, -INFINITY)), high | 0x8000);
        }
    }
}

static void test_extremes(void **state)
{
    (void)state;
    assert_int_equal(convert_to_f16(65519), 0x7bff);
    assert_int_equal(convert_to_f16(65520), 0x7c00);
    assert_int_equal(convert_to_f16(1e300), 0x7c00);
    assert_int_equal(convert_to_f16(-DBL_MAX), 0xfc00);
    assert_int_equal(convert_to_f16(DBL_MIN), 0);
    assert_int_equal(convert_to_f16(-4.9406564584124654e-324), 0x8000);
    assert_int_equal(convert_to_bf16(1e300), 0x7f80);
    assert_int_equal(convert_to_bf16(-INFINITY), 0xff80);
    assert_int_equal(convert_to_bf16(1e-300), 0);
}

/* Rounding to f32 on the way would land on the middle, and then on the wrong side. */
static void test_rounds_once(void **state)
{
    (void)state;
    assert_int_equal(convert_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(convert_to_f16(1 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
    assert_int_equal(convert_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

static void test_nan_stays(void **state)
{
    (void)state;
    const uint64_t patterns[] = {0x7ff0000000000001u, 0x7ff8000000000000u, 0xfff0000000000001u, 0xffffffffffffffffu};
    for (size_t i = 0; i < 4; i++) {
        double nan;
        memcpy(&nan, &patterns[i], 8);
        for (int f = 0; f < 2; f++) {
            assert_true(isnan(formats[f].from(formats[f].to(nan))));
            assert_int_equal(formats[f].to(nan) >> 15, patterns[i] >> 63);
        }
    }
}

static void test_load_at_any_alignment(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        unsigned char bytes[16];    /* 1.5, then -2 */
    } types[] = {
        {"F64", 8, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}},
        {"F32", 4, {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}},
        {"F16", 2, {0, 0x3e, 0, 0xc0}},
        {"BF16", 2, {0xc0, 0x3f, 0, 0xc0}},
    };
    for (size_t i = 0; i < 4; i++) {
        enum stored stored;
        assert_true(convert_stored(types[i].text, &stored));
        assert_int_equal(convert_stored_size(stored), types[i].size);
        for (size_t shift = 0; shift < 8; shift++) {
            unsigned char bytes[24];
            double numbers[2];
            memcpy(bytes + shift, types[i].bytes, 2 * types[i].size);
            convert_load(numbers, bytes + shift, 2, stored);
            assert_true(numbers[0] == 1.5 && numbers[1] == -2);
        }
    }
}

static void test_other_types(void **state)
{
    (void)state;
    const char *const others[] = {"I64", "U8", "BOOL", "F8_E4M3", "f32", "F3", "F322", "C64", ""};
    enum stored stored;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(convert_stored(others[i], &stored));
}

static void test_store(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        unsigned char bytes[12];
    } types[] = {
        {DTYPE_F32, {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, 0xcd, 0xcc, 0xcc, 0x3d}},
        {DTYPE_TF32, {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, 0xcd, 0xcc, 0xcc, 0x3d}},
        {DTYPE_F16, {0, 0x3e, 0, 0xc0, 0x66, 0x2e}},
        {DTYPE_BF16, {0xc0, 0x3f, 0, 0xc0, 0xcd, 0x3d}},
    };
    const double numbers[] = {1.5, -2, 0.1};
    for (size_t i = 0; i < 4; i++) {
        unsigned char bytes[13];
        convert_store(bytes + 1, numbers, 3, types[i].dtype);
        assert_memory_equal(bytes + 1, types[i].bytes, 3 * dtype_size(types[i].dtype));
    }
}

static void test_round_counts_overflows(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        size_t overflows;
    } types[] = {{DTYPE_F16, 4}, {DTYPE_BF16, 3}, {DTYPE_F32, 2}, {DTYPE_TF32, 2}};
    for (size_t i = 0; i < 4; i++) {
        double numbers[] = {0, -1, 70000, 3.4e38, 1e300, -1e300, INFINITY, -INFINITY, NAN, 65504};
        assert_int_equal(convert_round(numbers, 10, types[i].dtype), types[i].overflows);
        assert_true(numbers[0] == 0 && numbers[1] == -1 && numbers[4] == INFINITY && numbers[5] == -INFINITY);
        assert_true(isnan(numbers[8]) && numbers[6] == INFINITY && numbers[7] == -INFINITY);
        assert_true(numbers[9] == (types[i].dtype == DTYPE_BF16 ? 65536 : 65504));
    }
    double third = 1.0 / 3;
    assert_int_equal(convert_round(&third, 1, DTYPE_F32), 0);
    assert_true(third == (double)(1.0f / 3.0f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_every_boundary),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_rounds_once),
        cmocka_unit_test(test_nan_stays),
        cmocka_unit_test(test_load_at_any_alignment),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_round_counts_overflows),
    };
    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
