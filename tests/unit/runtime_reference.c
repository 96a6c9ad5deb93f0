/* The float64 reference and its bounds: f32 arithmetic as generated code does it must stay inside, a wrong function,
 * a missing term or a wrong constant must not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mlp_cpu.h"
#include "one_lane.h"
#include "plain_product.h"
#include "random.h"
#include "reference.h"

enum { ROWS = 16, WIDTH = 48 };

/* A model of two values [WIDTH], and one step of one operation that reads them. */
struct bench {
    mlp_model model;
    mlp_value values[2];
    mlp_param params[3];
    mlp_op op;
    mlp_step step;
    double a[ROWS * WIDTH], b[ROWS * WIDTH];
    float x[ROWS * WIDTH], y[ROWS * WIDTH];
    unsigned char *packed[3];
};

static struct bench *bench_new(mlp_op_code code, size_t out, double scale)
{
    static struct bench bench;
    bench = (struct bench){.op = {.code = code, .width = out, .in = {{MLP_VALUE, 0, 0}}}};
    for (int i = 0; i < 2; i++)
        bench.values[i] = (mlp_value){.name = "v", .dtype = MLP_F32, .width = WIDTH, .ld = WIDTH};
    bench.step = (mlp_step){.name = "s", .text = "s", .ops = &bench.op, .op_count = 1};
    bench.model = (mlp_model){.values = bench.values, .params = bench.params, .steps = &bench.step};
    mlp_random_rows(MLP_F32, ROWS, WIDTH, 1, bench.x);
    mlp_random_rows(MLP_F32, ROWS, WIDTH, 2, bench.y);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        bench.a[i] = bench.x[i] *= (float)scale;
        bench.b[i] = bench.y[i];
    }
    return &bench;
}

static mlp_bounded *evaluate(struct bench *bench)
{
    double *values[2] = {bench->a, bench->b};
    mlp_reading reading = {&bench->model, &bench->step, ROWS, values, bench->packed};
    mlp_bounded *result = mlp_reference_step(&reading);
    assert_non_null(result);
    return result;
}

/* The largest share of the bounds that `got` uses up. */
static double worst(struct bench *bench, const float *got)
{
    mlp_bounded *result = evaluate(bench);
    double excess = 0;
    for (size_t i = 0; i < ROWS * bench->op.width; i++)
        excess = fmax(excess, mlp_reference_excess(got[i], mlp_reference_stored(MLP_F32, result[i])));
    free(result);
    return excess;
}

/* ---- Element by element ---- */

static float leaky(float x)
{
    return one_leaky_relu(x, 0.3f);
}

static float elu(float x)
{
    return one_elu(x, 0.3f);
}

static float clamp(float x)
{
    return one_clamp(x, 0.3f, 0.7f);
}

/* As other implementations compute them. */
static float gelu_by_erf(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

static float gelu_by_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static float silu_by_sigmoid(float x)
{
    return x * one_sigmoid(x);
}

static float same_again(float x)
{
    return x;
}

static float negated(float x)
{
    return -x;
}

static float sigmoid_of_1_702(float x)
{
    return x * one_sigmoid(1.702f * x);
}

static const struct {
    const char *name;
    mlp_op_code code;
    float (*right[2])(float);
    float (*wrong)(float);
} functions[] = {
    {"relu", MLP_OP_RELU, {one_relu}, one_relu6},
    {"relu6", MLP_OP_RELU6, {one_relu6}, one_relu},
    {"gelu", MLP_OP_GELU, {one_gelu, gelu_by_erf}, one_gelu_tanh},
    {"gelu_tanh", MLP_OP_GELU_TANH, {one_gelu_tanh, gelu_by_tanh}, one_gelu},
    {"gelu", MLP_OP_GELU, {one_gelu}, sigmoid_of_1_702},
    {"silu", MLP_OP_SILU, {one_silu, silu_by_sigmoid}, one_hardswish},
    {"mish", MLP_OP_MISH, {one_mish}, one_silu},
    {"hardswish", MLP_OP_HARDSWISH, {one_hardswish}, one_silu},
    {"hardsigmoid", MLP_OP_HARDSIGMOID, {one_hardsigmoid}, one_sigmoid},
    {"sigmoid", MLP_OP_SIGMOID, {one_sigmoid}, one_hardsigmoid},
    {"tanh", MLP_OP_TANH, {one_tanh}, same_again},
    {"softplus", MLP_OP_SOFTPLUS, {one_softplus}, one_relu},
    {"identity", MLP_OP_IDENTITY, {same_again}, mlp_round_bf16},
    {"exp", MLP_OP_EXP, {one_exp}, one_softplus},
    {"log", MLP_OP_LOG, {one_log}, log1pf},
    {"sqrt", MLP_OP_SQRT, {one_sqrt}, cbrtf},
    {"abs", MLP_OP_ABS, {one_abs}, same_again},
    {"neg", MLP_OP_NEG, {negated}, one_abs},
    {"leaky_relu", MLP_OP_LEAKY_RELU, {leaky}, elu},
    {"elu", MLP_OP_ELU, {elu}, leaky},
    {"clamp", MLP_OP_CLAMP, {clamp}, one_relu},
};

static double worst_of(struct bench *bench, float (*f)(float))
{
    float got[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        got[i] = f(bench->x[i]);
    return worst(bench, got);
}

static void functions_stay_inside(void **state)
{
    (void)state;
    static const double scales[] = {1e-30, 1e-3, 1, 5, 40, 1e10, 1e38};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            struct bench *bench = bench_new(functions[i].code, WIDTH, scales[s]);
            bench->op.attr[0] = 0.3;
            bench->op.attr[1] = 0.7;
            for (int r = 0; r < 2 && functions[i].right[r]; r++)
                if (worst_of(bench, functions[i].right[r]) > 1)
                    fail_msg("%s (%d) leaves its bound at scale %g", functions[i].name, r, scales[s]);
        }
    }
}

static void wrong_functions_leave(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct bench *bench = bench_new(functions[i].code, WIDTH, 5);
        bench->op.attr[0] = 0.3;
        bench->op.attr[1] = 0.7;
        if (worst_of(bench, functions[i].wrong) <= 1)
            fail_msg("a wrong %s stays inside the bound", functions[i].name);
    }
}

static float two(mlp_op_code code, float a, float b)
{
    switch (code) {
    case MLP_OP_ADD:
        return a + b;
    case MLP_OP_SUB:
        return a - b;
    case MLP_OP_MUL:
        return a * b;
    case MLP_OP_DIV:
        return a / b;
    case MLP_OP_MAXIMUM:
        return one_maximum(a, b);
    default:
        return one_minimum(a, b);
    }
}

static void two_operands(void **state)
{
    (void)state;
    for (mlp_op_code code = MLP_OP_ADD; code <= MLP_OP_MINIMUM; code++) {
        for (mlp_op_code done = MLP_OP_ADD; done <= MLP_OP_MINIMUM; done++) {
            struct bench *bench = bench_new(code, WIDTH, 1);
            float got[ROWS * WIDTH];
            bench->op.in[1] = (mlp_operand){MLP_VALUE, 1, 0};
            for (int i = 0; i < ROWS * WIDTH; i++)
                got[i] = two(done, bench->x[i], bench->y[i]);
            assert_true((worst(bench, got) <= 1) == (code == done));
        }
    }
}

static void numbers_and_stretching(void **state)
{
    (void)state;
    struct bench *bench = bench_new(MLP_OP_MUL, WIDTH, 1);
    float got[ROWS * WIDTH];
    bench->op.in[1] = (mlp_operand){MLP_NUMBER, 0, 0.1};
    for (int i = 0; i < ROWS * WIDTH; i++)
        got[i] = bench->x[i] * 0.1f;
    assert_true(worst(bench, got) <= 1);
    bench->op.in[1].number = 0.1000001;
    assert_true(worst(bench, got) > 1);
    bench->op.in[1] = (mlp_operand){MLP_VALUE, 1, 0};
    bench->values[1].width = 1;
    for (int i = 0; i < ROWS * WIDTH; i++)
        got[i] = bench->x[i] * bench->y[i / WIDTH];
    assert_true(worst(bench, got) <= 1);
}

/* ---- Whole rows ---- */

static void set_param(struct bench *bench, int index, size_t rows, size_t cols, float *data)
{
    bench->params[index] = (mlp_param){.name = "p", .dtype = MLP_F32, .rows = rows, .cols = cols, .ld = cols};
    bench->packed[index] = (unsigned char *)data;
    bench->op.in[1 + index] = (mlp_operand){MLP_PARAM, index, 0};
}

static void products(void **state)
{
    (void)state;
    enum { OUT = 20 };
    struct bench *bench = bench_new(MLP_OP_LINEAR, OUT, 1);
    float weight[OUT * WIDTH], bias[OUT], got[ROWS * OUT];
    mlp_random_rows(MLP_F32, OUT, WIDTH, 3, weight);
    mlp_random_rows(MLP_F32, 1, OUT, 4, bias);
    set_param(bench, 0, OUT, WIDTH, weight);
    set_param(bench, 1, 1, OUT, bias);
    plain_product(ROWS, OUT, WIDTH, bench->x, WIDTH, weight, got, OUT);
    assert_true(worst(bench, got) > 1);         /* the bias is missing */
    for (int i = 0; i < ROWS * OUT; i++)
        got[i] += bias[i % OUT];
    assert_true(worst(bench, got) <= 1);
    for (int i = 0; i < ROWS * OUT; i++)
        got[i] += bias[i / OUT] - bias[i % OUT];
    assert_true(worst(bench, got) > 1);         /* the bias runs down the rows */
    bench->op.in[2].kind = MLP_NONE;
    plain_product(ROWS, OUT, WIDTH, bench->x, WIDTH, weight, got, OUT);
    assert_true(worst(bench, got) <= 1);
    got[OUT + 3] += 1e-3f;
    assert_true(worst(bench, got) > 1);
}

/* The same product from panels of 16 rows, of which the second is filled up. */
static void products_from_panels(void **state)
{
    (void)state;
    enum { OUT = 20, PANEL = 16 };
    struct bench *bench = bench_new(MLP_OP_LINEAR, OUT, 1);
    float weight[OUT * WIDTH], panels[2 * PANEL * WIDTH] = {0}, got[ROWS * OUT];
    mlp_random_rows(MLP_F32, OUT, WIDTH, 3, weight);
    for (int r = 0; r < OUT; r++)
        for (int c = 0; c < WIDTH; c++)
            panels[(r / PANEL * WIDTH + c) * PANEL + r % PANEL] = weight[r * WIDTH + c];
    set_param(bench, 0, OUT, WIDTH, panels);
    bench->op.in[2].kind = MLP_NONE;
    plain_product(ROWS, OUT, WIDTH, bench->x, WIDTH, weight, got, OUT);
    assert_true(worst(bench, got) > 1);         /* read row by row */
    bench->params[0].panel = PANEL;
    assert_true(worst(bench, got) <= 1);
}

/* One output of `k` inputs, by f32 sums in several orders; the largest share of the bound. */
static double worst_order(size_t k, const float *x, const float *weight)
{
    static double wide[1 << 14];
    mlp_value value = {.dtype = MLP_F32, .width = k, .ld = k};
    mlp_param param = {.dtype = MLP_F32, .rows = 1, .cols = k, .ld = k};
    mlp_op op = {.code = MLP_OP_LINEAR, .width = 1, .in = {{MLP_VALUE, 0, 0}, {MLP_PARAM, 0, 0}}};
    mlp_step step = {.ops = &op, .op_count = 1};
    mlp_model model = {.values = &value, .params = &param, .steps = &step};
    double *values[] = {wide}, excess = 0;
    unsigned char *packed[] = {(unsigned char *)weight};
    mlp_reading reading = {&model, &step, 1, values, packed};
    for (size_t i = 0; i < k; i++)
        wide[i] = x[i];
    mlp_bounded *result = mlp_reference_step(&reading);
    for (size_t lanes = 1; lanes <= 64; lanes *= 4) {
        float sums[64] = {0}, got = 0;
        for (size_t i = 0; i < k; i++)
            sums[i % lanes] += x[i] * weight[i];
        for (size_t i = 0; i < lanes; i++)
            got += sums[i];
        excess = fmax(excess, mlp_reference_excess(got, mlp_reference_stored(MLP_F32, result[0])));
    }
    free(result);
    return excess;
}

/* Random terms, terms of one sign, terms that are all the same (every rounding goes one way), signs in turn. */
static void sums_in_any_order_stay_inside(void **state)
{
    (void)state;
    static float x[1 << 14], weight[1 << 14];
    for (size_t k = 1; k <= 1 << 14; k *= 2) {
        mlp_random_rows(MLP_F32, 1, k, k, x);
        mlp_random_rows(MLP_F32, 1, k, k + 1, weight);
        assert_true(worst_order(k, x, weight) <= 1);
        for (size_t i = 0; i < k; i++)
            weight[i] = fabsf(weight[i]) * (x[i] < 0 ? -1.0f : 1.0f);
        assert_true(worst_order(k, x, weight) <= 1);
        for (size_t i = 0; i < k; i++)
            weight[i] = i % 2 ? -weight[i] : weight[i];
        assert_true(worst_order(k, x, weight) <= 1);
        for (size_t i = 0; i < k; i++)
            x[i] = weight[i] = 0.1f;
        assert_true(worst_order(k, x, weight) <= 1);
    }
}

/* Behind a product of 1024 terms, the bound is still far below what tells the two gelus apart. */
static void wide_products_have_tight_bounds(void **state)
{
    (void)state;
    enum { K = 1024 };
    static double x[K];
    static float weight[K], row[K];
    mlp_value value = {.dtype = MLP_F32, .width = K, .ld = K};
    mlp_param param = {.dtype = MLP_F32, .rows = 1, .cols = K, .ld = K};
    mlp_op ops[] = {{.code = MLP_OP_LINEAR, .width = 1, .in = {{MLP_VALUE, 0, 0}, {MLP_PARAM, 0, 0}}},
                    {.code = MLP_OP_GELU, .width = 1, .in = {{MLP_OP, 0, 0}}}};
    mlp_step step = {.ops = ops, .op_count = 2};
    mlp_model model = {.values = &value, .params = &param, .steps = &step};
    double *values[] = {x}, sum = 0;
    unsigned char *packed[] = {(unsigned char *)weight};
    mlp_reading reading = {&model, &step, 1, values, packed};
    mlp_random_rows(MLP_F32, 1, K, 1, row);
    mlp_random_rows(MLP_F32, 1, K, 2, weight);
    for (int i = 0; i < K; i++)
        sum += (x[i] = row[i]) * (weight[i] /= 32);
    x[0] += (2.7 - sum) / weight[0];
    mlp_bounded *result = mlp_reference_step(&reading);
    mlp_bounded stored = mlp_reference_stored(MLP_F32, result[0]);
    assert_true(mlp_reference_excess(one_gelu(2.7f), stored) <= 1);
    assert_true(mlp_reference_excess(one_gelu_tanh(2.7f), stored) > 1);
    free(result);
}

/* A product on a GPU, with an activation behind it: the bound of an element in which the product is 1.4 for certain. */
static double product_bound(mlp_target target, mlp_dtype dtype, mlp_op_code code)
{
    static const float weight = 1.4f;
    mlp_value value = {.dtype = MLP_F32, .width = 1, .ld = 1};
    mlp_param param = {.dtype = MLP_F32, .rows = 1, .cols = 1};
    mlp_op ops[] = {{.code = MLP_OP_LINEAR, .width = 1, .in = {{MLP_VALUE, 0, 0}, {MLP_PARAM, 0, 0}}},
                    {.code = code, .width = 1, .in = {{MLP_OP, 0, 0}}}};
    mlp_step step = {.ops = ops, .op_count = 2};
    mlp_model model = {.target = target, .dtype = dtype, .values = &value, .params = &param, .steps = &step};
    double one = 1, *values[] = {&one};
    unsigned char *packed[] = {(unsigned char *)&weight};
    mlp_reading reading = {&model, &step, 1, values, packed};
    mlp_bounded *result = mlp_reference_step(&reading);
    assert_non_null(result);
    double bound = result->bound;
    free(result);
    return bound;
}

/* cuBLASLt's own gelu has been seen 4.4e-6 off at 1.4; nobody else's may be. */
static void gelu_behind_a_product_on_a_gpu(void **state)
{
    (void)state;
    assert_true(product_bound(MLP_CUDA, MLP_F32, MLP_OP_GELU_TANH) > 4.4e-6);
    assert_true(product_bound(MLP_CUDA, MLP_F32, MLP_OP_GELU_TANH) < 2e-5);
    assert_true(product_bound(MLP_CPU, MLP_F32, MLP_OP_GELU_TANH) < 4.4e-6);
    assert_true(product_bound(MLP_CUDA, MLP_F32, MLP_OP_GELU) < 4.4e-6);
    struct bench *bench = bench_new(MLP_OP_GELU_TANH, WIDTH, 1);
    bench->model.target = MLP_CUDA;
    bench->a[0] = 1.4;
    mlp_bounded *result = evaluate(bench);
    assert_true(result[0].bound < 4.4e-6);
    free(result);
}

/* Factors of which all digits behind the tenth are ones: cut off, each loses almost 2^-10. */
static void cut_factors_in_tf32(void **state)
{
    (void)state;
    double lost = 1.4 * (1 - (1 - 0x1p-10) * (1 - 0x1p-10));
    double bound = product_bound(MLP_CUDA, MLP_TF32, MLP_OP_IDENTITY);
    assert_true(bound > lost && bound < 1.01 * lost);
    assert_true(product_bound(MLP_CPU, MLP_TF32, MLP_OP_IDENTITY) < 1e-5);
    assert_true(product_bound(MLP_CUDA, MLP_F32, MLP_OP_IDENTITY) < 1e-5);
}

static void rows_stay_inside(void **state)
{
    (void)state;
    float weight[WIDTH], bias[WIDTH];
    static const double scales[] = {1e-3, 1, 30};
    mlp_random_rows(MLP_F32, 1, WIDTH, 3, weight);
    mlp_random_rows(MLP_F32, 1, WIDTH, 4, bias);
    for (size_t s = 0; s < 3; s++) {
        for (mlp_op_code code = MLP_OP_SOFTMAX; code <= MLP_OP_RMSNORM; code++) {
            struct bench *bench = bench_new(code, WIDTH, scales[s]);
            float got[ROWS * WIDTH];
            bench->op.attr[0] = 1e-5;
            bench->op.attr[1] = 1;
            if (code >= MLP_OP_LAYERNORM)
                set_param(bench, 0, 1, WIDTH, weight);
            if (code == MLP_OP_LAYERNORM)
                set_param(bench, 1, 1, WIDTH, bias);
            memcpy(got, bench->x, sizeof got);
            for (float *row = got; row < got + ROWS * WIDTH; row += WIDTH) {
                if (code == MLP_OP_SOFTMAX)
                    mlp_softmax_row(row, WIDTH);
                else if (code == MLP_OP_LOG_SOFTMAX)
                    mlp_log_softmax_row(row, WIDTH);
                else if (code == MLP_OP_LAYERNORM)
                    mlp_layernorm_row(row, WIDTH, 1e-5f, weight, bias);
                else
                    mlp_rmsnorm_row(row, WIDTH, 1e-5f, 1, weight);
            }
            if (worst(bench, got) > 1)
                fail_msg("operation %d leaves its bound at scale %g", code, scales[s]);
            for (int i = 0; i < ROWS * WIDTH; i++)
                got[i] *= 1 + 1e-4f;
            if (worst(bench, got) <= 1)
                fail_msg("operation %d may be off by 1e-4 at scale %g", code, scales[s]);
        }
    }
}

/* Variance with n - 1, eps outside the root, no offset: each is another norm. */
static void other_norms_leave(void **state)
{
    (void)state;
    struct bench *bench = bench_new(MLP_OP_LAYERNORM, WIDTH, 1);
    float got[ROWS * WIDTH];
    bench->op.attr[0] = 1e-5;
    for (int r = 0; r < ROWS; r++) {
        memcpy(got + r * WIDTH, bench->x + r * WIDTH, WIDTH * sizeof *got);
        mlp_layernorm_row(got + r * WIDTH, WIDTH, 1e-5f, NULL, NULL);
    }
    assert_true(worst(bench, got) <= 1);
    for (int i = 0; i < ROWS * WIDTH; i++)
        got[i] *= (float)sqrt((WIDTH - 1.0) / WIDTH);
    assert_true(worst(bench, got) > 1);
    bench = bench_new(MLP_OP_RMSNORM, WIDTH, 1e-3);
    bench->op.attr[0] = 1e-6;
    for (int r = 0; r < ROWS; r++) {
        double squares = 0;
        for (int c = 0; c < WIDTH; c++)
            squares += bench->a[r * WIDTH + c] * bench->a[r * WIDTH + c];
        for (int c = 0; c < WIDTH; c++)
            got[r * WIDTH + c] = (float)(bench->a[r * WIDTH + c] / (sqrt(squares / WIDTH) + 1e-6));
    }
    assert_true(worst(bench, got) > 1);
}

static void reductions(void **state)
{
    (void)state;
    struct bench *bench = bench_new(MLP_OP_SUM, 1, 1);
    float sum[ROWS] = {0}, mean[ROWS], dot[ROWS] = {0};
    for (int i = 0; i < ROWS * WIDTH; i++) {
        sum[i / WIDTH] += bench->x[i];
        dot[i / WIDTH] += bench->x[i] * bench->y[i];
    }
    for (int r = 0; r < ROWS; r++)
        mean[r] = sum[r] / WIDTH;
    assert_true(worst(bench, sum) <= 1 && worst(bench, mean) > 1);
    bench->op.code = MLP_OP_MEAN;
    assert_true(worst(bench, mean) <= 1 && worst(bench, sum) > 1);
    bench->op.code = MLP_OP_DOT;
    bench->op.in[1] = (mlp_operand){MLP_VALUE, 1, 0};
    assert_true(worst(bench, dot) <= 1 && worst(bench, sum) > 1);
}

/* ---- NaN, infinity, overflow ---- */

static double excess_of(mlp_op_code code, double x, double got)
{
    struct bench *bench = bench_new(code, WIDTH, 1);
    bench->a[0] = x;
    mlp_bounded *result = evaluate(bench);
    double excess = mlp_reference_excess(got, mlp_reference_stored(MLP_F32, result[0]));
    free(result);
    return excess;
}

static void special_numbers(void **state)
{
    (void)state;
    assert_true(excess_of(MLP_OP_RELU, NAN, NAN) == 0 && excess_of(MLP_OP_RELU, NAN, 0) > 1);
    assert_true(excess_of(MLP_OP_RELU, INFINITY, INFINITY) == 0 && excess_of(MLP_OP_RELU, INFINITY, 3e38) > 1);
    assert_true(excess_of(MLP_OP_RELU, 1, NAN) > 1 && excess_of(MLP_OP_RELU, 1, INFINITY) > 1);
    assert_true(excess_of(MLP_OP_NEG, INFINITY, -INFINITY) == 0 && excess_of(MLP_OP_NEG, INFINITY, INFINITY) > 1);
    assert_true(excess_of(MLP_OP_EXP, 100, INFINITY) == 0 && excess_of(MLP_OP_EXP, 88, INFINITY) > 1);
    assert_true(excess_of(MLP_OP_LOG, 0, -INFINITY) == 0 && excess_of(MLP_OP_LOG, 0, -88) > 1);
    assert_true(excess_of(MLP_OP_LOG, -1, NAN) == 0 && excess_of(MLP_OP_SIGMOID, -INFINITY, 0) == 0);
    assert_true(excess_of(MLP_OP_SOFTMAX, NAN, NAN) == 0 && excess_of(MLP_OP_SOFTMAX, INFINITY, 1) > 1);
    assert_true(excess_of(MLP_OP_SOFTMAX, -INFINITY, 0) == 0 && excess_of(MLP_OP_LAYERNORM, NAN, NAN) == 0);
    assert_true(excess_of(MLP_OP_SOFTMAX, -INFINITY, 1e-3) > 1);
}

static void products_of_special_numbers(void **state)
{
    (void)state;
    struct bench *bench = bench_new(MLP_OP_LINEAR, 1, 1);
    float weight[WIDTH];
    mlp_random_rows(MLP_F32, 1, WIDTH, 3, weight);
    weight[0] = 1;
    set_param(bench, 0, 1, WIDTH, weight);
    bench->a[0] = -INFINITY;
    bench->a[WIDTH] = NAN;
    bench->a[2 * WIDTH] = 3e38;
    bench->a[2 * WIDTH + 1] = 3e38 / weight[1];
    mlp_bounded *result = evaluate(bench);
    assert_true(result[0].value == -INFINITY && result[0].bound == 0);
    assert_true(isnan(result[1].value) && result[1].bound == 0);
    assert_true(isinf(result[2].bound));
    assert_true(result[3].bound < 1e-4);
    free(result);
}

static void storing(void **state)
{
    (void)state;
    mlp_bounded one = mlp_reference_stored(MLP_BF16, (mlp_bounded){1, 0});
    assert_true(mlp_reference_excess(1 + 0x1p-8, one) <= 1 && mlp_reference_excess(1 + 0x1p-7, one) > 1);
    mlp_bounded large = mlp_reference_stored(MLP_F16, (mlp_bounded){70000, 1});
    assert_true(mlp_reference_excess(INFINITY, large) == 0 && mlp_reference_excess(65504, large) > 1);
    mlp_bounded edge = mlp_reference_stored(MLP_F16, (mlp_bounded){65519, 10});
    assert_true(mlp_reference_excess(INFINITY, edge) == 0 && mlp_reference_excess(65504, edge) == 0);
    mlp_bounded small = mlp_reference_stored(MLP_F16, (mlp_bounded){1e-9, 0});
    assert_true(mlp_reference_excess(0, small) <= 1);
}

/* A gelu of -2.7 in bf16 is told from its tanh form only by a bound that knows the size of the number. */
static void gelu_forms_in_16_bits(void **state)
{
    (void)state;
    struct bench *bench = bench_new(MLP_OP_GELU, WIDTH, 1);
    bench->a[0] = -2.7f;
    mlp_bounded *result = evaluate(bench);
    mlp_bounded stored = mlp_reference_stored(MLP_BF16, result[0]);
    assert_true(mlp_reference_excess(mlp_round_bf16(one_gelu(-2.7f)), stored) <= 1);
    assert_true(mlp_reference_excess(mlp_round_bf16(one_gelu_tanh(-2.7f)), stored) > 1);
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_stay_inside),
        cmocka_unit_test(wrong_functions_leave),
        cmocka_unit_test(two_operands),
        cmocka_unit_test(numbers_and_stretching),
        cmocka_unit_test(products),
        cmocka_unit_test(products_from_panels),
        cmocka_unit_test(sums_in_any_order_stay_inside),
        cmocka_unit_test(wide_products_have_tight_bounds),
        cmocka_unit_test(gelu_behind_a_product_on_a_gpu),
        cmocka_unit_test(cut_factors_in_tf32),
        cmocka_unit_test(rows_stay_inside),
        cmocka_unit_test(other_norms_leave),
        cmocka_unit_test(reductions),
        cmocka_unit_test(special_numbers),
        cmocka_unit_test(products_of_special_numbers),
        cmocka_unit_test(storing),
        cmocka_unit_test(gelu_forms_in_16_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
