/* mlp_row.h: rows of widths around whole vectors, against float64; nothing behind a row is touched; NaN and infinities.
 * runtime_row_*.c include this for other instruction sets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlp_cpu_network.h"
#include "random.h"

#include "mlp_level_begin.h"
#include "mlp_row.h"

enum { MOST = 200 };

static float x[MOST], y[MOST + 1], weight[MOST], bias[MOST];

/* ---- The definitions ---- */

static double mean_d(size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static double mean_square_d(size_t n, double centre)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - centre) * (x[i] - centre);
    return sum / (double)n;
}

static double log_sum_d(size_t n)
{
    double sum = 0, largest = x[0];
    for (size_t i = 1; i < n; i++)
        largest = fmax(largest, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - largest);
    return largest + log(sum);
}

static double softmax_d(size_t n, size_t i)
{
    return exp(x[i] - log_sum_d(n));
}

static double log_softmax_d(size_t n, size_t i)
{
    return x[i] - log_sum_d(n);
}

static double layernorm_d(size_t n, size_t i)
{
    double mean = mean_d(n);
    return (x[i] - mean) / sqrt(mean_square_d(n, mean) + 1e-5) * weight[i] + bias[i];
}

static double plain_layernorm_d(size_t n, size_t i)
{
    double mean = mean_d(n);
    return (x[i] - mean) / sqrt(mean_square_d(n, mean) + 1e-5);
}

static double rmsnorm_d(size_t n, size_t i)
{
    return x[i] / sqrt(mean_square_d(n, 0) + 1e-6) * (0.5 + weight[i]);
}

static double plain_rmsnorm_d(size_t n, size_t i)
{
    return x[i] / sqrt(mean_square_d(n, 0) + 1e-6);
}

/* ---- The operations ---- */

static void layernorm(float *row, size_t n)
{
    mlp_layernorm_row(row, n, 1e-5f, weight, bias);
}

static void plain_layernorm(float *row, size_t n)
{
    mlp_layernorm_row(row, n, 1e-5f, NULL, NULL);
}

static void rmsnorm(float *row, size_t n)
{
    mlp_rmsnorm_row(row, n, 1e-6f, 0.5f, weight);
}

static void plain_rmsnorm(float *row, size_t n)
{
    mlp_rmsnorm_row(row, n, 1e-6f, 0, NULL);
}

static void softmax(float *row, size_t n)
{
    mlp_softmax_row(row, n);
}

static void log_softmax(float *row, size_t n)
{
    mlp_log_softmax_row(row, n);
}

/* Results are within a few roundings of the definition, relative to it or, where numbers cancel, to `size`; `exponent`:
 * as many more as the exponent is large, since that was rounded. */
static const struct operation {
    const char *name;
    void (*run)(float *row, size_t n);
    double (*definition)(size_t n, size_t i);
    double size, exponent;
} operations[] = {
    {"softmax", softmax, softmax_d, 0, 1},
    {"log_softmax", log_softmax, log_softmax_d, 1, 0},
    {"layernorm", layernorm, layernorm_d, 3, 0},
    {"layernorm without parameters", plain_layernorm, plain_layernorm_d, 0.01, 0},
    {"rmsnorm", rmsnorm, rmsnorm_d, 0, 0},
    {"rmsnorm without parameters", plain_rmsnorm, plain_rmsnorm_d, 0, 0},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void check_row(const struct operation *o, size_t n)
{
    memcpy(y, x, sizeof x);
    y[MOST] = 1;
    o->run(y, n);
    for (size_t i = 0; i < n; i++) {
        double want = o->definition(n, i);
        double units = 4 + (o->exponent > 0 ? o->exponent * fabs(log(want)) : 0);
        if (!(fabs(y[i] - want) <= 1e-7 * units * fmax(fabs(want), o->size)))
            fail_msg("%s of %zu: element %zu is %.9g, should be %.9g", o->name, n, i, (double)y[i], want);
    }
    assert_memory_equal(y + n, n < MOST ? x + n : (const float[]){1}, sizeof *y);
}

static void rows_follow_their_definition(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++) {
        mlp_random_rows(MLP_F32, 1, MOST, seed, x);
        mlp_random_rows(MLP_F32, 1, MOST, seed + 100, weight);
        mlp_random_rows(MLP_F32, 1, MOST, seed + 200, bias);
        for (size_t i = 0; i < MOST; i++)
            x[i] = x[i] * (float)seed + (seed % 2 ? 0.25f : 4.0f);
        for (size_t o = 0; o < OPERATIONS; o++)
            for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 13)
                check_row(&operations[o], n);
    }
}

/* The largest element may stand anywhere. */
static void softmax_never_overflows(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 40; n++)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++)
                y[i] = i == at ? 3e38f : -3e38f;
            mlp_softmax_row(y, n);
            for (size_t i = 0; i < n; i++)
                assert_true(y[i] == (i == at ? 1 : 0));
        }
}

static void nan_spreads_over_its_row(void **state)
{
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (size_t n = 1; n <= 40; n++)
            for (size_t at = 0; at < n; at++) {
                memcpy(y, x, sizeof x);
                y[at] = NAN;
                operations[o].run(y, n);
                for (size_t i = 0; i < n; i++)
                    assert_true(isnan(y[i]));
            }
}

static void infinite_elements(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 40; n++)
        for (size_t at = 0; at < n; at++) {
            memset(y, 0, sizeof y);
            y[at] = -INFINITY;
            mlp_softmax_row(y, n);
            assert_true(y[at] == 0 && fabsf(y[(at + 1) % n] - 1.0f / (float)(n - 1)) < 1e-6f);
            memset(y, 0, sizeof y);
            y[at] = INFINITY;
            mlp_softmax_row(y, n);
            assert_true(isnan(y[0]) && isnan(y[n - 1]));
        }
}

static void sums_are_exact_where_double_is(void **state)
{
    (void)state;
    float far[MOST], near[MOST], huge[MOST];
    for (size_t n = 2; n <= 70; n++) {
        for (size_t i = 0; i < n; i++) {
            near[i] = (float)(i % 7);
            far[i] = 1000000.0f + near[i];
            huge[i] = 1e30f;
        }
        mlp_layernorm_row(far, n, 1e-5f, NULL, NULL);
        mlp_layernorm_row(near, n, 1e-5f, NULL, NULL);
        mlp_rmsnorm_row(huge, n, 1e-6f, 0, NULL);
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(far[i] - near[i]) < 1e-6f && fabsf(huge[i] - 1) < 1e-6f);
    }
}

#include "mlp_level_end.h"

int main(void)
{
    if (mlp_cpu_level_here() < MLP_LEVEL) {
        print_message("ok 1 - rows # SKIP this processor has no x86-64-v%d\n", MLP_LEVEL);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_their_definition), cmocka_unit_test(softmax_never_overflows),
        cmocka_unit_test(nan_spreads_over_its_row),     cmocka_unit_test(infinite_elements),
        cmocka_unit_test(sums_are_exact_where_double_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
