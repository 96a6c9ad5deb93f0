/* mlp_cpu.h: functions against their definitions in double, NaN and infinities as PyTorch has them, vectors of 16-bit
 * numbers, rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mlp_cpu.h"
#include "one_lane.h"
#include "random.h"

static float leaky(float x)
{
    return one_leaky_relu(x, 0.01f);
}

static float elu(float x)
{
    return one_elu(x, 1.5f);
}

static float clamp(float x)
{
    return one_clamp(x, -2.0f, 3.0f);
}

/* The definitions, written out as PyTorch's documentation states them. */
static double relu_d(double x)
{
    return fmax(x, 0);
}

static double relu6_d(double x)
{
    return fmin(fmax(x, 0), 6);
}

static double gelu_d(double x)
{
    return x * 0.5 * (1 + erf(x / sqrt(2)));
}

static double gelu_tanh_d(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
}

static double sigmoid_d(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu_d(double x)
{
    return x * sigmoid_d(x);
}

static double softplus_d(double x)
{
    return log1p(exp(x));
}

static double mish_d(double x)
{
    return x * tanh(softplus_d(x));
}

static double hardsigmoid_d(double x)
{
    return relu6_d(x + 3) / 6;
}

static double hardswish_d(double x)
{
    return x * relu6_d(x + 3) / 6;
}

static double leaky_d(double x)
{
    return fmax(0, x) + 0.01 * fmin(0, x);
}

static double elu_d(double x)
{
    return x > 0 ? x : 1.5 * (exp(x) - 1);
}

static double clamp_d(double x)
{
    return fmin(fmax(x, -2), 3);
}

static const struct {
    const char *name;
    float (*f)(float);
    double (*definition)(double);
    float at_infinity, at_minus_infinity;
    int free_at_minus_infinity;         /* depends on how the function is computed */
} functions[] = {
    {"relu", one_relu, relu_d, INFINITY, 0, 0},
    {"relu6", one_relu6, relu6_d, 6, 0, 0},
    {"gelu", one_gelu, gelu_d, INFINITY, 0, 1},
    {"gelu_tanh", one_gelu_tanh, gelu_tanh_d, INFINITY, 0, 1},
    {"silu", one_silu, silu_d, INFINITY, 0, 1},
    {"mish", one_mish, mish_d, INFINITY, 0, 1},
    {"hardswish", one_hardswish, hardswish_d, INFINITY, 0, 1},
    {"hardsigmoid", one_hardsigmoid, hardsigmoid_d, 1, 0, 0},
    {"sigmoid", one_sigmoid, sigmoid_d, 1, 0, 0},
    {"tanh", one_tanh, tanh, 1, -1, 0},
    {"softplus", one_softplus, softplus_d, INFINITY, 0, 0},
    {"exp", one_exp, exp, INFINITY, 0, 0},
    {"abs", one_abs, fabs, INFINITY, INFINITY, 0},
    {"leaky_relu", leaky, leaky_d, INFINITY, -INFINITY, 0},
    {"elu", elu, elu_d, INFINITY, -1.5f, 0},
    {"clamp", clamp, clamp_d, 3, -2, 0},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void close_to(const char *name, double x, double got, double want)
{
    if (fabs(got - want) > 1e-6 * fmax(1, fabs(want)))
        fail_msg("%s(%.9g) is %.9g, should be %.9g", name, x, got, want);
}

static void functions_follow_definitions(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++)
        for (int step = -2200; step <= 2200; step++) {
            float x = (float)step / 100.0f;
            close_to(functions[i].name, x, functions[i].f(x), functions[i].definition(x));
        }
    for (int step = 1; step <= 1000; step++) {
        float x = (float)step / 10.0f;
        close_to("log", x, one_log(x), log(x));
        close_to("sqrt", x, one_sqrt(x), sqrt(x));
    }
}

static void nan_goes_through(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++)
        if (!isnan(functions[i].f(NAN)))
            fail_msg("%s(NaN) is %g", functions[i].name, (double)functions[i].f(NAN));
    assert_true(isnan(one_log(NAN)) && isnan(one_sqrt(NAN)) && isnan(one_log(-1)) && isnan(one_sqrt(-1)));
    assert_true(isnan(one_maximum(NAN, 1)) && isnan(one_maximum(1, NAN)));
    assert_true(isnan(one_minimum(NAN, 1)) && isnan(one_minimum(1, NAN)));
    assert_true(one_maximum(-1, 2) == 2 && one_minimum(-1, 2) == -1);
}

static void infinities(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++) {
        if (functions[i].f(INFINITY) != functions[i].at_infinity)
            fail_msg("%s(inf) is %g", functions[i].name, (double)functions[i].f(INFINITY));
        if (!functions[i].free_at_minus_infinity && functions[i].f(-INFINITY) != functions[i].at_minus_infinity)
            fail_msg("%s(-inf) is %g", functions[i].name, (double)functions[i].f(-INFINITY));
    }
    assert_true(one_log(INFINITY) == INFINITY && one_log(0) == -INFINITY && one_sqrt(INFINITY) == INFINITY);
}

static void relu_gives_positive_zero(void **state)
{
    (void)state;
    assert_false(signbit(one_relu(-0.0f)) || signbit(one_relu(-1.0f)) || signbit(one_relu6(-0.0f)));
}

static void large_arguments(void **state)
{
    (void)state;
    for (float x = 1; x < 1e38f; x *= 3) {
        assert_true(one_gelu_tanh(x) >= 0.84f * x && one_gelu_tanh(x) <= x && one_mish(x) <= x && one_silu(x) <= x);
        assert_true(fabsf(one_gelu_tanh(-x)) < 0.2f && fabsf(one_gelu(-x)) < 0.2f && fabsf(one_silu(-x)) < 0.3f);
        assert_true(fabsf(one_mish(-x)) < 0.4f && one_softplus(x) >= x && one_softplus(-x) < 0.4f);
    }
}

/* As elements by themselves are, in every lane, whole vectors and a few. */
static void vectors_of_16_bits(void **state)
{
    (void)state;
    float x[MLP_LANES], rounded[MLP_LANES];
    mlp_f16 half[MLP_LANES + 1];
    mlp_bf16 upper[MLP_LANES + 1];
    for (size_t i = 0; i < MLP_LANES; i++)
        x[i] = (float)(i + 1) / 3.0f * (i % 2 ? 1e-6f : -1e3f);
    for (size_t count = 0; count <= MLP_LANES; count++) {
        half[count] = upper[count] = 7;
        if (count < MLP_LANES) {
            mlp_store_few_f16(half, count, mlp_load(x));
            mlp_store_few_bf16(upper, count, mlp_load(x));
        } else {
            mlp_store_f16(half, mlp_load(x));
            mlp_store_bf16(upper, mlp_load(x));
        }
        for (size_t i = 0; i < count; i++)
            assert_true(half[i] == mlp_f16_store(x[i]) && upper[i] == mlp_bf16_store(x[i]));
        assert_true(half[count] == 7 && upper[count] == 7);
        const mlp_lanes from_half = mlp_load_few_f16(half, count), from_upper = mlp_load_few_bf16(upper, count);
        for (size_t i = 0; i < MLP_LANES; i++) {
            assert_true(from_half[i] == (i < count ? mlp_f16_load(half[i]) : 0));
            assert_true(from_upper[i] == (i < count ? mlp_bf16_load(upper[i]) : 0));
        }
    }
    mlp_store(rounded, mlp_rounded_to_bf16(mlp_load(x)));
    for (size_t i = 0; i < MLP_LANES; i++)
        assert_true(rounded[i] == mlp_round_bf16(x[i]) && mlp_load_f16(half)[i] == mlp_round_f16(x[i]));
}

/* ---- Rows ---- */

static void softmax_rows(void **state)
{
    (void)state;
    float y[4] = {1000, 999, -1000, 1000}, l[4] = {1000, 999, -1000, 1000};
    double sum = 2 + exp(-1);
    mlp_softmax_row(y, 4);
    close_to("softmax", 1000, y[0], 1 / sum);
    close_to("softmax", 999, y[1], exp(-1) / sum);
    assert_true(y[2] == 0 && y[3] == y[0]);
    mlp_log_softmax_row(l, 4);
    close_to("log_softmax", 1000, l[0], -log(sum));
    close_to("log_softmax", -1000, l[2], -2000 - log(sum));
    float above[2] = {INFINITY, 0.5f}, below[2] = {-INFINITY, 0.5f}, none[3] = {0, NAN, 1}, one[1] = {7};
    mlp_softmax_row(above, 2);
    mlp_softmax_row(below, 2);
    mlp_softmax_row(none, 3);
    mlp_softmax_row(one, 1);
    assert_true(isnan(above[0]) && isnan(above[1]) && below[0] == 0 && below[1] == 1 && one[0] == 1);
    assert_true(isnan(none[0]) && isnan(none[1]) && isnan(none[2]));
}

static void layernorm_rows(void **state)
{
    (void)state;
    float constant[10], bias[10], weight[10];
    for (int i = 0; i < 10; i++) {
        constant[i] = 0.1f;
        bias[i] = (float)i;
        weight[i] = 1e6f;
    }
    mlp_layernorm_row(constant, 10, 1e-12f, weight, bias);
    assert_memory_equal(constant, bias, sizeof bias);
    float far[4] = {100000, 100001, 100002, 100003}, near[4] = {0, 1, 2, 3};
    mlp_layernorm_row(far, 4, 1e-5f, NULL, NULL);
    mlp_layernorm_row(near, 4, 1e-5f, NULL, NULL);
    assert_memory_equal(far, near, sizeof near);
    close_to("layernorm", 0, near[0], -1.5 / sqrt(1.25 + 1e-5));
    float minus[2] = {-1, 1};
    mlp_layernorm_row(minus, 2, 0, weight, NULL);
    assert_true(minus[0] == -1e6f && minus[1] == 1e6f);
}

static void rmsnorm_rows(void **state)
{
    (void)state;
    float y[3] = {1, -2, 2}, z[3] = {1, -2, 2}, weight[3] = {0, 1, 15.8125f}, huge[2] = {1e30f, 1e30f};
    double scale = 1 / sqrt(3 + 1e-6);
    mlp_rmsnorm_row(y, 3, 1e-6f, 1, weight);
    close_to("rmsnorm", 1, y[0], scale);
    close_to("rmsnorm", -2, y[1], -4 * scale);
    close_to("rmsnorm", 2, y[2], 33.625 * scale);
    mlp_rmsnorm_row(z, 3, 1e-6f, 1, NULL);
    close_to("rmsnorm without weight", 2, z[2], 2 * scale);
    mlp_rmsnorm_row(huge, 2, 1e-6f, 0, NULL);
    close_to("rmsnorm of huge numbers", 1e30, huge[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_follow_definitions),
        cmocka_unit_test(nan_goes_through),
        cmocka_unit_test(infinities),
        cmocka_unit_test(relu_gives_positive_zero),
        cmocka_unit_test(large_arguments),
        cmocka_unit_test(vectors_of_16_bits),
        cmocka_unit_test(softmax_rows),
        cmocka_unit_test(layernorm_rows),
        cmocka_unit_test(rmsnorm_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
