/* mlp_math.h against float64: a stride through all floats, and every float near those where a function changes. An
 * argument is another stride: `runtime_math 1` takes all floats. runtime_math_v3.c is this file for AVX2 and FMA. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlp_cpu_network.h"

#include "mlp_level_begin.h"
#include "mlp_math.h"

/* ---- Functions and their definitions ---- */

static double gelu_d(double x)
{
    return 0.5 * x * erfc(x * -0.70710678118654752440);
}

static double gelu_tanh_d(double x)
{
    return x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static double sigmoid_d(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu_d(double x)
{
    return x / (1 + exp(-x));
}

static double softplus_d(double x)
{
    return x > 40 ? x : log1p(exp(x));
}

static double mish_d(double x)
{
    return x * tanh(softplus_d(x));
}

static double elu_d(double x)
{
    return x > 0 ? x : 1.5 * expm1(x);
}

/* An array at a time, as generated code goes through a row. */
#define MAP(name, expression)                                          \
    static void name##_map(float *y, const float *from, size_t n)      \
    {                                                                  \
        for (size_t i = 0; i < n; i += MLP_LANES) {                    \
            mlp_lanes x = mlp_load(from + i);                          \
            mlp_store(y + i, expression);                              \
        }                                                              \
    }
MAP(exp, mlp_exp(x))
MAP(log, mlp_log(x))
MAP(sqrt, mlp_sqrt(x))
MAP(tanh, mlp_tanh(x))
MAP(sigmoid, mlp_sigmoid(x))
MAP(silu, mlp_silu(x))
MAP(gelu, mlp_gelu(x))
MAP(gelu_tanh, mlp_gelu_tanh(x))
MAP(softplus, mlp_softplus(x))
MAP(mish, mlp_mish(x))
MAP(elu, mlp_elu(x, 1.5f))

/* `ulp`: the largest error, in units of the result's last digit. For results that are tiny beside x, `tiny` is an error
 * that is good whatever its digits: subnormal numbers have few, and the argument of exp was rounded. */
static const struct function {
    const char *name;
    void (*map)(float *y, const float *x, size_t n);
    double (*definition)(double x);
    double ulp, tiny;
} functions[] = {
    {"exp", exp_map, exp, 1.1, 0},
    {"log", log_map, log, 1, 0},
    {"sqrt", sqrt_map, sqrt, 0.5, 0},
    {"tanh", tanh_map, tanh, 2.6, 0},
    {"sigmoid", sigmoid_map, sigmoid_d, 2.5, 0},
    {"silu", silu_map, silu_d, 3.5, 1e-43},
    {"gelu", gelu_map, gelu_d, 9.1, 2e-44},
    {"gelu_tanh", gelu_tanh_map, gelu_tanh_d, 2.3, 1e-7},
    {"softplus", softplus_map, softplus_d, 2, 0},
    {"mish", mish_map, mish_d, 5, 1e-43},
    {"elu", elu_map, elu_d, 2, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- Walking through floats ---- */

enum { BLOCK = 1024, NEAR = 512 };

static uint32_t stride = 1999;      /* about 2 million floats a function */

struct worst {
    double ulp, absolute;           /* absolute: of results up to 1 */
    float x_ulp, x_absolute;
};

/* The distance of floats near a result. */
static double unit_at(double y)
{
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    const uint64_t exponent = bits >> 52 & 0x7ff, least = 1023 - 149;
    bits = (exponent < least + 23 ? least : exponent - 23) << 52;
    memcpy(&y, &bits, sizeof bits);
    return y;
}

static void judge(const struct function *f, float x, float y, struct worst *worst)
{
    const double want = f->definition(x);
    if (isnan(want)) {
        if (!isnan(y))
            fail_msg("%s(%.9g) is %.9g, should be NaN", f->name, (double)x, (double)y);
        return;
    }
    const double error = isinf(y) && (float)want == y ? 0 : fabs(y - want);
    const double ulp = error / unit_at(want);
    if (!(ulp <= f->ulp || error <= f->tiny) || !(ulp <= 2 || error <= 1e-7))
        fail_msg("%s(%.9g) is %.9g, should be %.9g: %.2f ulp", f->name, (double)x, (double)y, want, ulp);
    if (ulp > worst->ulp && error > f->tiny) {
        worst->ulp = ulp;
        worst->x_ulp = x;
    }
    if (fabs(want) <= 1 && error > worst->absolute) {
        worst->absolute = error;
        worst->x_absolute = x;
    }
}

/* `count` floats from some bits on, one every `step`. */
static void walk(const struct function *f, uint64_t first, uint64_t step, uint64_t count, struct worst *worst)
{
    float x[BLOCK], y[BLOCK];
    for (uint64_t done = 0; done < count; done += BLOCK) {
        uint64_t n = count - done < BLOCK ? count - done : BLOCK;
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint32_t bits = (uint32_t)(first + (done + (i < n ? i : 0)) * step);
            memcpy(&x[i], &bits, sizeof bits);
        }
        f->map(y, x, BLOCK);
        for (uint64_t i = 0; i < n; i++)
            judge(f, x[i], y[i], worst);
    }
}

static void functions_follow_their_definition(void **state)
{
    (void)state;
    static const float breaks[] = {0,  1.17549435e-38f, 1e-4f,     0.34657359f, 0.70710678f, 1, 1.03972077f, 9.3f,
                                   1.41421356f, 9.02f,  10,        14.5f,       17.3f,       20,   87.3365f, 88.72284f,
                                   89, 103.97f,         104,       1e13f,       1.8e19f,     3e38f, INFINITY};
    for (size_t i = 0; i < FUNCTIONS; i++) {
        struct worst worst = {0};
        walk(&functions[i], 0, stride, ((UINT64_C(1) << 32) + stride - 1) / stride, &worst);
        for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
            uint32_t bits;
            memcpy(&bits, &breaks[b], sizeof bits);
            walk(&functions[i], (uint64_t)bits - NEAR, 1, 2 * NEAR, &worst);
            walk(&functions[i], (uint64_t)(bits | 0x80000000u) - NEAR, 1, 2 * NEAR, &worst);
        }
        print_message("# %-10s %.2f ulp at %.9g; %.2g at %.9g where results are at most 1\n", functions[i].name,
                      worst.ulp, (double)worst.x_ulp, worst.absolute, (double)worst.x_absolute);
    }
}

/* As the definitions have them, in their signs too: what is odd, or x times something, keeps -0. */
static void zeros_keep_their_sign(void **state)
{
    (void)state;
    float x[BLOCK], y[BLOCK];
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = i % 2 ? -0.0f : 0.0f;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        functions[f].map(y, x, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            const double want = functions[f].definition(x[i]);
            if (want == 0 ? y[i] != 0 || !signbit(y[i]) != !signbit(want) : y[i] == 0)
                fail_msg("%s(%g) is %g, should be %g", functions[f].name, (double)x[i], (double)y[i], want);
        }
    }
}

static void bits_do_not_depend_on_the_lane(void **state)
{
    (void)state;
    float x[BLOCK], y[BLOCK], again[BLOCK];
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = i % 7 == 0 ? NAN : i % 11 == 0 ? -INFINITY : ((float)i - 500) / 5.0f;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        functions[f].map(y, x, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            float lanes[MLP_LANES], one[MLP_LANES];
            for (size_t lane = 0; lane < MLP_LANES; lane++)
                lanes[lane] = x[i];
            functions[f].map(one, lanes, MLP_LANES);
            again[i] = one[(i + 1) % MLP_LANES];
        }
        for (size_t i = 0; i < BLOCK; i++)
            if (memcmp(&y[i], &again[i], sizeof y[i]) != 0 && !(isnan(y[i]) && isnan(again[i])))
                fail_msg("%s(%.9g) is %.9g or %.9g", functions[f].name, (double)x[i], (double)y[i], (double)again[i]);
    }
}

static void results_stay_in_their_range(void **state)
{
    (void)state;
    float x[BLOCK], y[BLOCK];
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = ((float)i - 512) / 50.0f;
    functions[3].map(y, x, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        assert_true(fabsf(y[i]) <= 1 && (fabsf(x[i]) < 9.3f || fabsf(y[i]) == 1));
    functions[4].map(y, x, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        assert_true(y[i] >= 0 && y[i] <= 1);
}

static void loads_and_stores_of_a_few(void **state)
{
    (void)state;
    float from[MLP_LANES + 1], to[MLP_LANES + 1];
    for (size_t i = 0; i <= MLP_LANES; i++)
        from[i] = (float)i + 1;
    for (size_t count = 0; count < MLP_LANES; count++) {
        memset(to, 0, sizeof to);
        const mlp_lanes x = mlp_load_few(from, count), kept = mlp_keep_few(x + 1.0f, count, 7.0f);
        mlp_store_few(to, count, x + 2.0f);
        for (size_t i = 0; i < MLP_LANES; i++) {
            assert_true(x[i] == (i < count ? from[i] : 0) && kept[i] == (i < count ? from[i] + 1 : 7));
            assert_true(to[i] == (i < count ? from[i] + 2 : 0));
        }
        assert_true(to[MLP_LANES] == 0);
    }
}

#include "mlp_level_end.h"

int main(int argc, char **argv)
{
    if (mlp_cpu_level_here() < MLP_LEVEL) {
        print_message("ok 1 - functions # SKIP this processor has no x86-64-v%d\n", MLP_LEVEL);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_follow_their_definition),
        cmocka_unit_test(zeros_keep_their_sign),
        cmocka_unit_test(bits_do_not_depend_on_the_lane),
        cmocka_unit_test(results_stay_in_their_range),
        cmocka_unit_test(loads_and_stores_of_a_few),
    };
    if (argc > 1)
        stride = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
