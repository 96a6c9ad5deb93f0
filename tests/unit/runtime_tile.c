/* mlp_tile.h: products of sizes around those of tiles, against their definition in double; rows that have the same bits
 * alone and among others; NaN and relu. runtime_tile_*.c include this for other instruction sets and shapes of
 * tiles. */
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
#include "random.h"

#include "mlp_level_begin.h"
#define MLP_TILE_BLOCK 10           /* a few, so that there are several */
#include "mlp_tile.h"

enum { ROWS = 27, MOST = 150 };

/* Name, columns out, columns in, rows apart in, rows apart out, relu. Panels whole and cut; one panel, shallow and
 * deep; two to nine panels, which one row walks in groups of one to four. */
#define PRODUCTS(product)               \
    product(one, 1, 1, 1, 1, 0)         \
    product(shallow, 5, 7, 7, 5, 0)     \
    product(apart, 7, 9, 11, 10, 1)     \
    product(deep, 10, 64, 64, 10, 0)    \
    product(odd, 16, 35, 40, 16, 1)     \
    product(cut, 17, 33, 33, 17, 0)     \
    product(two, 32, 48, 48, 32, 1)     \
    product(three, 47, 20, 20, 50, 0)   \
    product(four, 64, 31, 31, 64, 0)    \
    product(five, 79, 17, 17, 79, 1)    \
    product(nine, 130, 40, 40, 150, 0)

PRODUCTS(MLP_PRODUCT)

/* The same with an epilogue: twice the sums, as doubles in rows of MOST. */
static __attribute__((noinline)) void twice(const struct mlp_rows *rows, const mlp_tile *tile)
{
    assert_ptr_equal(rows, NULL);
    for (size_t r = 0; r < tile->rows; r++) {
        double *const y = (double *)tile->y + (tile->row + r) * MOST + tile->column;
        for (size_t c = 0; c < tile->columns; c++)
            y[c] = 2.0 * (double)tile->sums[r * MLP_TILE_WIDTH + c];
    }
}

#define PRODUCT_TWICE(name, n, k, ldx, ldy, relu) MLP_PRODUCT_THEN(name##_twice, n, k, ldx, twice)
PRODUCTS(PRODUCT_TWICE)
#include "mlp_level_end.h"

typedef void product_function(size_t rows, const float *x, const float *w, const float *bias, float *y);

typedef void twice_function(const struct mlp_rows *rows, size_t count, const float *x, const float *w,
                            const float *bias, void *y);

struct product {
    const char *name;
    product_function *function;
    twice_function *twice;
    size_t n, k, ldx, ldy;
    int relu;
};

#define PRODUCT_ROW(name, ...) {#name, name, name##_twice, __VA_ARGS__},
static const struct product products[] = {PRODUCTS(PRODUCT_ROW)};
enum { COUNT = sizeof products / sizeof *products };

static float x[ROWS * MOST], weight[MOST * MOST], packed[MOST * MOST + 16 * MOST], bias[MOST + 16];
static float y[ROWS * MOST], again[ROWS * MOST];
static double wide[ROWS * MOST];

/* Panels of 16 rows of the weight, as mlp_param describes them. */
static void prepare(const struct product *p)
{
    mlp_random_rows(MLP_F32, ROWS, p->ldx, 1, x);
    mlp_random_rows(MLP_F32, p->n, p->k, 2, weight);
    memset(bias, 0, sizeof bias);
    mlp_random_rows(MLP_F32, 1, p->n, 3, bias);
    memset(packed, 0, sizeof packed);
    for (size_t r = 0; r < p->n; r++)
        for (size_t c = 0; c < p->k; c++)
            packed[(r / 16 * p->k + c) * 16 + r % 16] = weight[r * p->k + c];
    for (size_t i = 0; i < ROWS * MOST; i++)
        y[i] = again[i] = NAN;
}

static void check_element(const struct product *p, size_t r, size_t c, const float *offset)
{
    double sum = offset ? offset[c] : 0, size = fabs(sum);
    for (size_t i = 0; i < p->k; i++) {
        double term = (double)x[r * p->ldx + i] * weight[c * p->k + i];
        sum += term;
        size += fabs(term);
    }
    double want = p->relu && sum < 0 ? 0 : sum, got = y[r * p->ldy + c];
    if (!(fabs(got - want) <= 6e-8 * (double)(p->k + 1) * size))
        fail_msg("%s: row %zu, column %zu is %.9g, should be %.9g", p->name, r, c, got, want);
}

static void check_rows(const struct product *p, size_t rows, const float *offset)
{
    prepare(p);
    p->function(rows, x, packed, offset, y);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < p->n; c++)
            check_element(p, r, c, offset);
    for (size_t i = 0; i < ROWS * MOST; i++)
        if (i / p->ldy >= rows || i % p->ldy >= p->n)
            assert_true(isnan(y[i]));       /* nothing else is written */
}

static void products_follow_their_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t rows = 0; rows <= ROWS; rows++) {
            check_rows(&products[i], rows, bias);
            check_rows(&products[i], rows, NULL);
        }
}

static void rows_have_the_same_bits_in_any_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        const struct product *p = &products[i];
        prepare(p);
        p->function(ROWS, x, packed, bias, y);
        for (size_t rows = 1; rows < ROWS; rows++)
            for (size_t first = 0; first + rows <= ROWS; first++) {
                p->function(rows, x + first * p->ldx, packed, bias, again);
                for (size_t r = 0; r < rows; r++)
                    if (memcmp(again + r * p->ldy, y + (first + r) * p->ldy, p->n * sizeof *y) != 0)
                        fail_msg("%s: row %zu has other bits in a batch of %zu", p->name, first + r, rows);
            }
    }
}

/* From the sums that are stored without it; each once, and nothing else. */
static void check_epilogue(const struct product *p, size_t rows)
{
    for (size_t i = 0; i < ROWS * MOST; i++)
        wide[i] = NAN;
    p->function(rows, x, packed, bias, y);
    p->twice(NULL, rows, x, packed, bias, wide);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < MOST; c++) {
            const double got = wide[r * MOST + c], sum = r < rows && c < p->n ? y[r * p->ldy + c] : NAN;
            if (isnan(sum) ? !isnan(got) : p->relu && sum == 0 ? got > 0 : got != 2 * sum)
                fail_msg("%s: row %zu, column %zu of %zu rows is %.9g from %.9g", p->name, r, c, rows, got, sum);
        }
}

static void an_epilogue_gets_every_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        prepare(&products[i]);
        for (size_t rows = 0; rows <= ROWS; rows++)
            check_epilogue(&products[i], rows);
    }
}

static void nan_stays_in_its_row_and_goes_through_relu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        const struct product *p = &products[i];
        prepare(p);
        x[3 * p->ldx + p->k / 2] = NAN;
        p->function(ROWS, x, packed, bias, y);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < p->n; c++)
                assert_int_equal(isnan(y[r * p->ldy + c]) != 0, r == 3);
    }
}

static void relu_gives_positive_zero(void **state)
{
    (void)state;
    const struct product *p = &products[4];
    prepare(p);
    memset(packed, 0, sizeof packed);
    for (size_t c = 0; c < p->n; c++)
        bias[c] = c % 2 ? -0.0f : -1.0f;
    p->function(ROWS, x, packed, bias, y);
    for (size_t c = 0; c < p->n; c++)
        assert_true(y[c] == 0 && !signbit(y[c]));
}

int main(void)
{
    if (mlp_cpu_level_here() < MLP_LEVEL) {
        printf("ok 1 - products # SKIP this processor has no x86-64-v%d\n", MLP_LEVEL);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_follow_their_definition),
        cmocka_unit_test(rows_have_the_same_bits_in_any_batch),
        cmocka_unit_test(an_epilogue_gets_every_sum),
        cmocka_unit_test(nan_stays_in_its_row_and_goes_through_relu),
        cmocka_unit_test(relu_gives_positive_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
