/* Parameters: opening, checking against a graph, evaluating and packing. Graphs, plans and weights files are made by
 * hand; expected numbers are computed here, by the formulas that the parameters stand for. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "param_eval.h"
#include "random.h"
#include "scratch_file.h"
#include "weights.h"

static const struct source spec = {"unit.mlp", "model unit { }\nlinear norm row\n", 31};
static const struct span span_of_linear = {15, 21}, span_of_norm = {22, 26}, span_of_row = {27, 30};

static const struct diag_options uncoloured = {.color = COLOR_NEVER};

static struct arena *arena;
static struct diags *diags;
static struct graph *graph;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    diags = diags_new(arena, &spec, &uncoloured);
    graph = graph_new(arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* What has been recorded, as it is printed. */
static const char *messages(void)
{
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    diags_print(diags, to);
    fclose(to);
    const char *copy = arena_copy(arena, text, length);
    free(text);
    return copy;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

/* ---- Weights files ---- */

struct file {
    const char *header;
    unsigned char *data;
    size_t bytes;
};

static void add_bytes(struct file *file, const char *name, const char *dtype, const char *shape, const void *bytes,
                      size_t count)
{
    file->header = arena_format(arena, "%s%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                                file->header ? file->header : "", file->header ? "," : "", name, dtype, shape,
                                file->bytes, file->bytes + count);
    file->data = realloc(file->data, file->bytes + count);
    memcpy(file->data + file->bytes, bytes, count);
    file->bytes += count;
}

static void add_f64(struct file *file, const char *name, const char *shape, const double *values, size_t count)
{
    add_bytes(file, name, "F64", shape, values, count * sizeof *values);
}

static void add_f32(struct file *file, const char *name, const char *shape, const double *values, size_t count)
{
    float *floats = malloc(count * sizeof *floats);
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)values[i];
    add_bytes(file, name, "F32", shape, floats, count * sizeof *floats);
    free(floats);
}

static struct weights *open_file(struct file *file)
{
    struct scratch_file scratch =
        scratch_safetensors(arena_format(arena, "{%s}", file->header), file->data, file->bytes);
    struct weights *weights = weights_open(arena, diags, arena_copy(arena, scratch.path, strlen(scratch.path)),
                                           span_of_linear);
    unlink(scratch.path);
    free(file->data);
    if (!weights)
        fail_msg("%s", messages());
    return weights;
}

/* ---- Parameters ---- */

static struct param *matrix(const char *tensor, int64_t rows, int64_t cols, bool transposed)
{
    return graph_source(graph, tensor, rows, cols, transposed, ROLE_LINEAR_WEIGHT, "linear", span_of_linear);
}

static struct param *vector(const char *tensor, int64_t size, enum param_role role)
{
    return graph_source(graph, tensor, 1, size, false, role, "layernorm", span_of_norm);
}

static struct param *row(const char *tensor, int64_t size)
{
    return graph_source(graph, tensor, 1, size, false, ROLE_ROW, "param", span_of_row);
}

static struct param *combine(enum param_kind kind, int64_t rows, int64_t cols, struct param *a, struct param *b)
{
    return graph_param(graph, kind, rows, cols, (struct param *[]){a, b}, 2);
}

/* ---- Opening ---- */

static void test_open_missing_file(void **state)
{
    (void)state;
    assert_null(weights_open(arena, diags, "no/such.safetensors", span_of_linear));
    assert_int_equal(diags_status(diags), EXIT_ENVIRONMENT);
    const char *text = messages();
    assert_says(text, "unit.mlp:2:1: error: ");
    assert_says(text, "no/such.safetensors");
}

static void test_open_directory(void **state)
{
    (void)state;
    assert_null(weights_open(arena, diags, ".", span_of_linear));
    assert_int_equal(diags_status(diags), EXIT_ENVIRONMENT);
}

static void test_open_broken_file(void **state)
{
    (void)state;
    assert_null(weights_open(arena, diags, "tests/cases/safetensors/bad_hole.safetensors", span_of_linear));
    assert_int_equal(diags_status(diags), EXIT_USER);
    const char *text = messages();
    assert_says(text, "unit.mlp:2:1: error: 'tests/cases/safetensors/bad_hole.safetensors' is no safetensors file");
    assert_says(text, "[weights-file]");
}

/* ---- Checking ---- */

static const double ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void test_check_accepts(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "w", "[2,3]", ones, 6);
    add_f64(&file, "n", "[3]", ones, 3);
    add_f32(&file, "r", "[1,3]", ones, 3);
    add_f32(&file, "s", "[]", ones, 1);
    add_bytes(&file, "h", "F16", "[3]", ones, 6);
    add_bytes(&file, "b", "BF16", "[3]", ones, 6);
    add_bytes(&file, "unused", "I64", "[1,1,1]", ones, 8);
    struct weights *weights = open_file(&file);
    matrix("w", 2, 3, false);
    matrix("w", 3, 2, true);
    vector("n", 3, ROLE_NORM_WEIGHT);
    row("n", 3);
    row("r", 3);
    row("s", 1);
    vector("h", 3, ROLE_LINEAR_BIAS);
    vector("b", 3, ROLE_RUNNING_VAR);
    assert_true(weights_check(weights, graph, diags));
    assert_string_equal(messages(), "");
    weights_close(weights);
}

static void test_check_records_all(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "fc.weight", "[2,3]", ones, 6);
    add_f32(&file, "fc.bias", "[4]", ones, 4);
    add_bytes(&file, "mask", "U8", "[3]", ones, 3);
    struct weights *weights = open_file(&file);
    matrix("fc.weight", 5, 3, false);
    vector("fc.bias", 5, ROLE_LINEAR_BIAS);
    vector("mask", 3, ROLE_NORM_WEIGHT);
    vector("gone", 3, ROLE_NORM_WEIGHT);
    assert_false(weights_check(weights, graph, diags));
    assert_int_equal(diags_status(diags), EXIT_USER);
    const char *text = messages();
    assert_says(text, "unit.mlp:2:1: error: 'fc.weight' is [2, 3], but linear needs [5, 3]; it gives 2 columns "
                      "[tensor-shape]");
    assert_says(text, "'fc.bias' is [4], but layernorm needs [5]");
    assert_says(text, "'mask' holds U8, but layernorm needs F64, F32, F16 or BF16 [tensor-type]");
    assert_says(text, "layernorm needs 'gone', which is not in '");
    weights_close(weights);
}

static void test_check_wrong_way_round(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "a", "[2,3]", ones, 6);
    add_f32(&file, "b", "[2,3]", ones, 6);
    struct weights *weights = open_file(&file);
    matrix("a", 2, 3, true);
    matrix("b", 3, 2, false);
    assert_false(weights_check(weights, graph, diags));
    const char *text = messages();
    assert_says(text, "'a' is [2, 3], but linear(transposed=true) needs [3, 2]; it fits without transposed=true");
    assert_says(text, "'b' is [2, 3], but linear needs [3, 2]; it fits with transposed=true");
    weights_close(weights);
}

static void test_check_shapes_by_role(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "one", "[1]", ones, 1);
    add_f32(&file, "column", "[3,1]", ones, 3);
    add_f32(&file, "line", "[1,3]", ones, 3);
    add_f32(&file, "cube", "[1,1,3]", ones, 3);
    add_f32(&file, "scalar", "[]", ones, 1);
    struct weights *weights = open_file(&file);
    row("scalar", 3);
    row("column", 3);
    row("cube", 3);
    vector("line", 3, ROLE_NORM_WEIGHT);
    vector("scalar", 1, ROLE_LINEAR_BIAS);
    matrix("one", 1, 1, false);
    matrix("cube", 1, 3, false);
    assert_false(weights_check(weights, graph, diags));
    const char *text = messages();
    assert_says(text, "'scalar' is [], but param needs [3]");
    assert_says(text, "'column' is [3, 1], but param needs [3]");
    assert_says(text, "'cube' is [1, 1, 3], but param needs [3]");
    assert_says(text, "'line' is [1, 3], but layernorm needs [3]");
    assert_says(text, "'scalar' is [], but layernorm needs [1]");
    assert_says(text, "'one' is [1], but linear needs [1, 1]");
    assert_says(text, "'cube' is [1, 1, 3], but linear needs [1, 3]");
    weights_close(weights);
}

static void test_check_did_you_mean(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "model.fc1.weight", "[1]", ones, 1);
    add_f32(&file, "layer_norm", "[1]", ones, 1);
    add_f32(&file, "gain", "[1]", ones, 1);
    struct weights *weights = open_file(&file);
    vector("fc1.weight", 1, ROLE_NORM_WEIGHT);
    row("layernorm", 1);
    matrix("zzzz", 1, 1, false);
    assert_false(weights_check(weights, graph, diags));
    const char *text = messages();
    assert_says(text, "; did you mean 'model.fc1.weight'? [tensor-missing]");
    assert_says(text, "; did you mean 'layer_norm'?");
    assert_null(strstr(text, "'gain'"));
    weights_close(weights);
}

/* ---- Packing ---- */

struct packing {
    struct plan plan;
    const unsigned char *blob;
    size_t size;
};

static struct packing packing_begin(void)
{
    return (struct packing){.plan = {.arena = arena, .weights_layout = 0x1122334455667788u}};
}

static void packing_add(struct packing *packing, const struct param *param, enum dtype rounded, enum dtype dtype)
{
    struct packed packed = {.name = "p", .label = "p", .param = param, .round = rounded, .dtype = dtype,
                            .rows = param->rows, .cols = param->cols, .stored_rows = param->rows,
                            .ld = param->cols, .offset = packing->plan.weights_bytes};
    VEC_PUSH(arena, &packing->plan.params, packed);
    packing->plan.weights_bytes += (int64_t)dtype_size(dtype) * param->rows * param->cols + 63;
    packing->plan.weights_bytes -= packing->plan.weights_bytes % 64;
}

static void pack(struct packing *packing, const struct weights *weights)
{
    packing->blob = weights_pack(weights, &packing->plan, diags, &packing->size);
    if (!packing->blob)
        fail_msg("%s", messages());
}

static float packed_f32(const struct packing *packing, size_t param, size_t element)
{
    float value;
    memcpy(&value, packing->blob + 256 + packing->plan.params.at[param].offset + 4 * element, 4);
    return value;
}

static unsigned packed_16(const struct packing *packing, size_t param, size_t element)
{
    const unsigned char *at = packing->blob + 256 + packing->plan.params.at[param].offset + 2 * element;
    return at[0] | (unsigned)at[1] << 8;
}

static uint64_t le64(const unsigned char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* A CPU's product reads panels of 16 rows, of which the last is filled up with zeros. */
static void test_pack_panels(void **state)
{
    (void)state;
    enum { ROWS = 20, COLS = 3 };
    struct packing packing = packing_begin();
    struct file file = {0};
    double values[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++)
        values[i] = i + 1;
    add_f32(&file, "w", "[20,3]", values, ROWS * COLS);
    struct weights *weights = open_file(&file);
    packing_add(&packing, matrix("w", ROWS, COLS, false), DTYPE_F32, DTYPE_F32);
    struct packed *packed = &packing.plan.params.at[0];
    packed->panel = 16;
    packed->stored_rows = 32;
    packing.plan.weights_bytes = 32 * COLS * 4;
    pack(&packing, weights);
    for (size_t i = 0; i < 32 * COLS; i++) {
        size_t row = i / (16 * COLS) * 16 + i % 16, column = i / 16 % COLS;
        assert_true(packed_f32(&packing, 0, i) == (row < ROWS ? (float)values[row * COLS + column] : 0));
    }
    weights_close(weights);
}

/* Rows of a GPU's matrix start at 16 bytes and their number goes up to a multiple of 8: what is between is zero. */
static void test_pack_padded(void **state)
{
    (void)state;
    struct packing packing = packing_begin();
    struct file file = {0};
    const double values[] = {1, 2, 3, 4, 5, 6};
    add_f32(&file, "w", "[2,3]", values, 6);
    struct weights *weights = open_file(&file);
    packing_add(&packing, matrix("w", 2, 3, false), DTYPE_BF16, DTYPE_BF16);
    packing.plan.params.at[0].ld = packing.plan.params.at[0].stored_rows = 8;
    packing.plan.weights_bytes = 128;
    pack(&packing, weights);
    for (size_t i = 0; i < 64; i++) {
        double expected = i / 8 < 2 && i % 8 < 3 ? values[i / 8 * 3 + i % 8] : 0;
        uint32_t bits = packed_16(&packing, 0, i) << 16;
        float got;
        memcpy(&got, &bits, 4);
        assert_true(got == expected);
    }
    weights_close(weights);
}

/* As the format states it: the hash of four hashes, each of every fourth word. */
static uint64_t payload_hash(const struct packing *packing)
{
    const uint64_t start = 0xcbf29ce484222325u, factor = 0x100000001b3u;
    uint64_t hash = start;
    for (size_t lane = 0; lane < 4; lane++) {
        uint64_t part = start;
        for (size_t at = 256 + 8 * lane; at < packing->size; at += 32)
            part = (part ^ le64(packing->blob + at)) * factor;
        hash = (hash ^ part) * factor;
    }
    return hash;
}

static void test_pack_header(void **state)
{
    (void)state;
    struct packing packing = packing_begin();
    packing_add(&packing, matrix("w", 3, 5, false), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, vector("b", 7, ROLE_LINEAR_BIAS), DTYPE_F16, DTYPE_F16);
    pack(&packing, weights_random(arena, 1));
    assert_int_equal(packing.size, 256 + 128);
    assert_memory_equal(packing.blob, "MLPWTS2\n", 8);
    assert_true(le64(packing.blob + 8) == 0x1122334455667788u);
    assert_true(le64(packing.blob + 16) == 128);
    assert_true(le64(packing.blob + 24) == payload_hash(&packing));
    for (size_t i = 32; i < 256; i++)
        assert_int_equal(packing.blob[i], 0);
    for (size_t i = 256 + 60; i < 256 + 64; i++)
        assert_int_equal(packing.blob[i], 0);
}

static void test_pack_nothing(void **state)
{
    (void)state;
    struct packing packing = packing_begin();
    pack(&packing, weights_random(arena, 1));
    assert_int_equal(packing.size, 256);
    assert_true(le64(packing.blob + 16) == 0);
    assert_true(le64(packing.blob + 24) == payload_hash(&packing));
}

static void test_pack_sources(void **state)
{
    (void)state;
    const double numbers[] = {1, 2, 3, 4, 5, 6};
    struct file file = {0};
    add_bytes(&file, "odd", "U8", "[1]", "x", 1);
    add_f32(&file, "w", "[2,3]", numbers, 6);
    add_f64(&file, "d", "[3]", (const double[]){1.0 / 3, 1 + 0x1p-24 + 0x1p-50, -0.0}, 3);
    struct weights *weights = open_file(&file);
    struct packing packing = packing_begin();
    packing_add(&packing, matrix("w", 2, 3, false), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, matrix("w", 3, 2, true), DTYPE_TF32, DTYPE_F32);
    packing_add(&packing, vector("d", 3, ROLE_LINEAR_BIAS), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, vector("d", 3, ROLE_LINEAR_BIAS), DTYPE_F16, DTYPE_F32);
    packing_add(&packing, vector("d", 3, ROLE_LINEAR_BIAS), DTYPE_BF16, DTYPE_BF16);
    pack(&packing, weights);
    for (size_t i = 0; i < 6; i++) {
        assert_true(packed_f32(&packing, 0, i) == (float)numbers[i]);
        assert_true(packed_f32(&packing, 1, i) == (float)numbers[i % 2 * 3 + i / 2]);
    }
    assert_true(packed_f32(&packing, 2, 0) == 1.0f / 3.0f);
    assert_true(packed_f32(&packing, 2, 1) == 1 + 0x1p-23f);
    assert_true(packed_f32(&packing, 2, 2) == 0 && signbit(packed_f32(&packing, 2, 2)));
    assert_true(packed_f32(&packing, 3, 0) == 1365.0f / 4096);      /* 0x3555 as a half */
    assert_int_equal(packed_16(&packing, 4, 0), 0x3eab);
    weights_close(weights);
}

/* Batchnorm by its definition, in front of and behind a product. */
static void test_pack_folded(void **state)
{
    (void)state;
    const double w[] = {1, 2, 3, 4, 5, 6}, gamma[] = {0.5, 2, 3}, beta[] = {1, -1, 0.25}, mean[] = {0.1, 0.2, -3};
    const double var[] = {4, 0.25, 9}, eps = 1e-3;
    struct file file = {0};
    add_f64(&file, "w", "[2,3]", w, 6);
    add_f64(&file, "bn.weight", "[3]", gamma, 3);
    add_f64(&file, "bn.bias", "[3]", beta, 3);
    add_f64(&file, "bn.mean", "[3]", mean, 3);
    add_f64(&file, "bn.var", "[3]", var, 3);
    struct weights *weights = open_file(&file);
    struct param *parts[] = {vector("bn.weight", 3, ROLE_NORM_WEIGHT), vector("bn.bias", 3, ROLE_NORM_BIAS),
                             vector("bn.mean", 3, ROLE_RUNNING_MEAN), vector("bn.var", 3, ROLE_RUNNING_VAR)};
    struct param *scale = combine(PARAM_BN_SCALE, 1, 3, parts[0], parts[3]);
    struct param *shift = graph_param(graph, PARAM_BN_SHIFT, 1, 3, parts, 4);
    scale->eps = shift->eps = eps;
    struct packing packing = packing_begin();
    packing_add(&packing, combine(PARAM_SCALE_COLUMNS, 2, 3, matrix("w", 2, 3, false), scale), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_MATVEC, 1, 2, matrix("w", 2, 3, false), shift), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_SCALE_ROWS, 3, 2, matrix("w", 3, 2, true), scale), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_ADD, 1, 3, combine(PARAM_MULTIPLY, 1, 3, parts[2], scale), shift), DTYPE_F32,
                DTYPE_F32);
    pack(&packing, weights);
    for (size_t c = 0; c < 3; c++) {
        double s = gamma[c] / sqrt(var[c] + eps), t = beta[c] - mean[c] * s;
        for (size_t r = 0; r < 2; r++) {
            assert_true(packed_f32(&packing, 0, r * 3 + c) == (float)(w[r * 3 + c] * s));
            assert_true(packed_f32(&packing, 2, c * 2 + r) == (float)(w[r * 3 + c] * s));
        }
        assert_true(fabs(packed_f32(&packing, 3, c) - (mean[c] * s + t)) < 1e-6);
    }
    for (size_t r = 0; r < 2; r++) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++)
            sum += w[r * 3 + c] * (beta[c] - mean[c] * gamma[c] / sqrt(var[c] + eps));
        assert_true(fabs(packed_f32(&packing, 1, r) - sum) < 1e-6);
    }
    weights_close(weights);
}

static void test_pack_stacked(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6}, c[] = {7, 8, 9};
    struct file file = {0};
    add_f32(&file, "a", "[2,2]", a, 4);
    add_f32(&file, "b", "[1,2]", b, 2);
    add_f32(&file, "c", "[3]", c, 3);
    struct weights *weights = open_file(&file);
    struct param *stack = combine(PARAM_STACK_ROWS, 3, 2, matrix("a", 2, 2, false), matrix("b", 1, 2, false));
    struct param *zero = graph_param(graph, PARAM_ZERO, 1, 2, NULL, 0);
    struct param *scaled =
        combine(PARAM_SCALE_ROWS, 3, 2, stack, vector("c", 3, ROLE_LINEAR_BIAS));
    struct packing packing = packing_begin();
    packing_add(&packing, stack, DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_JOIN, 1, 5, zero, vector("c", 3, ROLE_LINEAR_BIAS)), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, scaled, DTYPE_F32, DTYPE_F32);
    pack(&packing, weights);
    const float joined[] = {0, 0, 7, 8, 9}, products[] = {7, 14, 24, 32, 45, 54};
    for (size_t i = 0; i < 6; i++) {
        assert_true(packed_f32(&packing, 0, i) == (float)(i + 1));
        assert_true(i == 5 || packed_f32(&packing, 1, i) == joined[i]);
        assert_true(packed_f32(&packing, 2, i) == products[i]);
    }
    double rows[4];
    for (int64_t first = 0; first < 2; first++) {
        param_eval(weights, scaled, first, 2, rows);
        for (int i = 0; i < 4; i++)
            assert_true(rows[i] == (double)products[2 * first + i]);
    }
    weights_close(weights);
}

/* Larger than a block, either way round, and with an odd rest. */
static void test_pack_blocks(void **state)
{
    (void)state;
    enum { ROWS = 1031, COLS = 613 };
    double *numbers = malloc(sizeof(double) * ROWS * COLS), *scale = malloc(sizeof(double) * ROWS);
    for (int i = 0; i < ROWS * COLS; i++)
        numbers[i] = i % 8191 - 4000;
    for (int i = 0; i < ROWS; i++)
        scale[i] = i % 7 - 3;
    assert_true(param_block_rows(COLS) < ROWS && param_block_rows(ROWS) < COLS);
    struct file file = {0};
    add_f32(&file, "w", "[1031,613]", numbers, ROWS * COLS);
    add_f32(&file, "s", "[1031]", scale, ROWS);
    struct weights *weights = open_file(&file);
    struct param *straight = matrix("w", ROWS, COLS, false), *turned = matrix("w", COLS, ROWS, true);
    struct param *factor = vector("s", ROWS, ROLE_LINEAR_BIAS);
    struct packing packing = packing_begin();
    packing_add(&packing, straight, DTYPE_F32, DTYPE_F32);
    packing_add(&packing, turned, DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_SCALE_ROWS, ROWS, COLS, straight, factor), DTYPE_F32, DTYPE_F32);
    packing_add(&packing, combine(PARAM_MATVEC, 1, COLS, turned, factor), DTYPE_F32, DTYPE_F32);
    pack(&packing, weights);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t c = 0; c < COLS; c++) {
            double number = numbers[r * COLS + c];
            assert_true(packed_f32(&packing, 0, r * COLS + c) == (float)number);
            assert_true(packed_f32(&packing, 1, c * ROWS + r) == (float)number);
            assert_true(packed_f32(&packing, 2, r * COLS + c) == (float)(number * scale[r]));
        }
    }
    for (size_t c = 0; c < COLS; c++) {
        double sum = 0;
        for (size_t r = 0; r < ROWS; r++)
            sum += numbers[r * COLS + c] * scale[r];
        assert_true(packed_f32(&packing, 3, c) == (float)sum);
    }
    weights_close(weights);
    free(numbers);
    free(scale);
}

/* ---- Overflow ---- */

static void expect_overflow(struct packing *packing, const struct weights *weights, const char *says)
{
    assert_null(weights_pack(weights, &packing->plan, diags, &packing->size));
    assert_int_equal(diags_status(diags), EXIT_USER);
    assert_says(messages(), says);
}

static void test_overflow_counts(void **state)
{
    (void)state;
    const double numbers[] = {65520, -70000, 65519, INFINITY, NAN, 1e30};
    struct file file = {0};
    add_f32(&file, "w", "[2,3]", numbers, 6);
    add_f64(&file, "d", "[2]", (const double[]){1e300, 1}, 2);
    struct weights *weights = open_file(&file);
    struct packing half = packing_begin(), single = packing_begin();
    packing_add(&half, matrix("w", 2, 3, false), DTYPE_F16, DTYPE_F16);
    expect_overflow(&half, weights, "unit.mlp:2:1: error: 3 of the 6 values of 'w' become infinite in f16, whose "
                                    "largest number is 65504 [tensor-overflow]");
    packing_add(&single, vector("d", 2, ROLE_NORM_BIAS), DTYPE_F32, DTYPE_F32);
    packing_add(&single, matrix("w", 2, 3, false), DTYPE_BF16, DTYPE_BF16);
    expect_overflow(&single, weights, "unit.mlp:2:8: error: 1 of the 2 values of 'd' become infinite in f32");
    weights_close(weights);
}

static void test_largest_half_fits(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "b", "[4]", (const double[]){65519, -65519, INFINITY, NAN}, 4);
    struct weights *weights = open_file(&file);
    struct packing packing = packing_begin();
    packing_add(&packing, vector("b", 4, ROLE_NORM_BIAS), DTYPE_F16, DTYPE_F16);
    pack(&packing, weights);
    assert_int_equal(packed_16(&packing, 0, 0), 0x7bff);
    assert_int_equal(packed_16(&packing, 0, 1), 0xfbff);
    assert_int_equal(packed_16(&packing, 0, 2), 0x7c00);
    assert_int_equal(packed_16(&packing, 0, 3) & 0x7e00, 0x7e00);
    weights_close(weights);
}

/* A stacked weight is reported by the part that overflows, a folded one by all tensors that take part. */
static void test_overflow_names_parts(void **state)
{
    (void)state;
    struct file file = {0};
    add_f32(&file, "gate", "[2,1]", ones, 2);
    add_f32(&file, "up", "[2,1]", (const double[]){1, 1e5}, 2);
    add_f32(&file, "s", "[2]", (const double[]){1e5, 1e6}, 2);
    struct weights *weights = open_file(&file);
    struct param *gate = matrix("gate", 2, 1, false), *up = matrix("up", 2, 1, false);
    struct packing stacked = packing_begin(), folded = packing_begin();
    packing_add(&stacked, combine(PARAM_STACK_ROWS, 4, 1, gate, up), DTYPE_F16, DTYPE_F16);
    expect_overflow(&stacked, weights, "1 of the 2 values of 'up' become infinite in f16");
    packing_add(&folded, combine(PARAM_SCALE_ROWS, 2, 1, gate, vector("s", 2, ROLE_NORM_WEIGHT)), DTYPE_F16, DTYPE_F16);
    expect_overflow(&folded, weights, "2 of the 2 values computed from 'gate' and 's' become infinite in f16");
    weights_close(weights);
}

/* ---- Parameters from a seed ---- */

/* The published first outputs of splitmix64 started at 1234567. */
static void test_random_generator(void **state)
{
    (void)state;
    const uint64_t outputs[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                4593380528125082431u, 16408922859458223821u};
    for (uint64_t i = 0; i < 5; i++)
        assert_true(random_unit(1234567, i) == ldexp((double)(outputs[i] >> 11), -53));
    assert_true(random_key(1, "a") != random_key(1, "b") && random_key(1, "a") != random_key(2, "a"));
}

static void test_random_intervals(void **state)
{
    (void)state;
    enum { SIZE = 4096 };
    static const struct {
        enum param_role role;
        double low, high;
    } roles[] = {{ROLE_LINEAR_BIAS, -0.1, 0.1}, {ROLE_NORM_WEIGHT, 0.9, 1.1}, {ROLE_NORM_BIAS, -0.1, 0.1},
                 {ROLE_RUNNING_MEAN, -0.1, 0.1}, {ROLE_RUNNING_VAR, 0.5, 1.5}, {ROLE_ROW, -0.1, 0.1},
                 {ROLE_LINEAR_WEIGHT, -1.0 / 64, 1.0 / 64}};
    struct weights *weights = weights_random(arena, 7);
    static double values[SIZE];
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        double least = INFINITY, most = -INFINITY, sum = 0, span = roles[i].high - roles[i].low;
        param_eval(weights, vector(arena_format(arena, "t%zu", i), SIZE, roles[i].role), 0, 1, values);
        for (int j = 0; j < SIZE; j++) {
            least = fmin(least, values[j]);
            most = fmax(most, values[j]);
            sum += values[j];
        }
        assert_true(least >= roles[i].low && most <= roles[i].high);
        assert_true(most - least > 0.99 * span);
        assert_true(fabs(sum / SIZE - (roles[i].low + roles[i].high) / 2) < 0.03 * span);
    }
}

static void test_random_in_parts(void **state)
{
    (void)state;
    double whole[35], part[35], turned[35];
    struct weights *weights = weights_random(arena, 99);
    struct param *source = matrix("w", 7, 5, false);
    param_eval(weights, source, 0, 7, whole);
    param_eval(weights, source, 3, 2, part);
    assert_memory_equal(part, whole + 15, sizeof(double) * 10);
    param_eval(weights, matrix("w", 5, 7, true), 0, 5, turned);
    for (int i = 0; i < 35; i++)        /* the radius differs by the rows' lengths */
        assert_true(fabs(turned[i % 5 * 7 + i / 5] * sqrt(7) - whole[i] * sqrt(5)) < 1e-14);
    param_eval(weights_random(arena, 100), source, 0, 7, part);
    for (int i = 0; i < 35; i++)
        assert_true(part[i] != whole[i]);
    assert_true(weights_check(weights, graph, diags));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_missing_file, begin, end),
        cmocka_unit_test_setup_teardown(test_open_directory, begin, end),
        cmocka_unit_test_setup_teardown(test_open_broken_file, begin, end),
        cmocka_unit_test_setup_teardown(test_check_accepts, begin, end),
        cmocka_unit_test_setup_teardown(test_check_records_all, begin, end),
        cmocka_unit_test_setup_teardown(test_check_wrong_way_round, begin, end),
        cmocka_unit_test_setup_teardown(test_check_shapes_by_role, begin, end),
        cmocka_unit_test_setup_teardown(test_check_did_you_mean, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_panels, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_padded, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_header, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_sources, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_folded, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_stacked, begin, end),
        cmocka_unit_test_setup_teardown(test_pack_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_overflow_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_largest_half_fits, begin, end),
        cmocka_unit_test_setup_teardown(test_overflow_names_parts, begin, end),
        cmocka_unit_test_setup_teardown(test_random_generator, begin, end),
        cmocka_unit_test_setup_teardown(test_random_intervals, begin, end),
        cmocka_unit_test_setup_teardown(test_random_in_parts, begin, end),
    };
    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
