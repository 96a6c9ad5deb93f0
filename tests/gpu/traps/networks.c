/* The traps on networks made from the specs in this folder, whose results follow from mathematics: traps [small]
 * `small`: for a simulated device, without what takes long there. */
#include "traps.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "mlp_cuda.h"
#include "own_type_bf16.h"
#include "own_type_f16.h"
#include "weights.h"
#include "widths_f16.h"
#include "widths_f32.h"

/* X(NAME): every network but the large one. */
#define EACH_NETWORK(X)                                                                                             \
    X(bias_axis_f32) X(bias_axis_tf32) X(bias_axis_f16) X(bias_axis_bf16) X(gelu_f32) X(gelu_tf32)                  \
    X(residual_f32) X(residual_tf32) X(residual_f16) X(residual_bf16) X(bias_type_f16) X(bias_type_bf16)            \
    X(widths_f32) X(widths_tf32) X(widths_f16) X(widths_bf16) X(own_type_f16) X(own_type_bf16) X(sizes_f32)         \
    X(sizes_f16) X(kinds_f32) X(kinds_f16)

#define DECLARE(name) extern const mlp_model name##_model; void *name##_input(size_t index);
EACH_NETWORK(DECLARE)
DECLARE(large_f16)

#define ENTRY(name) {&name##_model, name##_input},
static const struct network {
    const mlp_model *model;
    void *(*input)(size_t index);
} networks[] = {EACH_NETWORK(ENTRY)};
enum { NETWORKS = sizeof networks / sizeof *networks };

/* ---- Results ---- */

static int failures;

void trap(int number, int good, const char *what, const char *why)
{
    printf("%s trap %02d: %s\n", good ? "ok" : "not ok", number, what);
    if (!good && why && *why)
        printf("    %s\n", why);
    failures += !good;
    fflush(stdout);
}

void trap_not_here(int number, const char *why)
{
    printf("trap %02d: not here: %s\n", number, why);
}

void trap_cuda(int error, const char *call)
{
    if (error == cudaSuccess)
        return;
    printf("not ok %s: %s\n", call, cudaGetErrorString((cudaError_t)error));
    exit(1);
}

static void trap_of(int number, int good, const mlp_model *model, const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s", model->name, what);
    trap(number, good, text, model->error());
}

/* ---- Rows of whole numbers ---- */

static int whole(size_t row, size_t column)
{
    unsigned mixed = (unsigned)(row + 1) * 2654435761u ^ (unsigned)(column + 1) * 40503u;
    return (int)(mixed >> 11) % 7 - 3;
}

static float *take(size_t count)
{
    float *floats = malloc((count + 1) * sizeof *floats);
    if (!floats) {
        printf("not ok memory for %zu numbers\n", count);
        exit(1);
    }
    return floats;
}

static float *whole_rows(size_t rows, size_t width)
{
    float *x = take(rows * width);
    for (size_t i = 0; i < rows * width; i++)
        x[i] = (float)whole(i / width, i % width);
    return x;
}

/* Runs a network with one input and up to five outputs, all of f32; the outputs begin as NaN. */
struct run {
    float *x, *y[5];
};

static mlp_status run_rows(const mlp_model *model, size_t rows, struct run *run)
{
    run->x = whole_rows(rows, model->inputs[0].width);
    for (size_t i = 0; i < model->output_count; i++) {
        run->y[i] = take(rows * model->outputs[i].width);
        memset(run->y[i], 0xff, rows * model->outputs[i].width * sizeof(float));
    }
    return model->run(rows, (const void *const[]){run->x}, (void *[]){run->y[0], run->y[1], run->y[2], run->y[3]});
}

static void free_run(const mlp_model *model, struct run *run)
{
    free(run->x);
    for (size_t i = 0; i < model->output_count; i++)
        free(run->y[i]);
}

/* ---- 1: the axis of the bias ---- */

static void test_bias_axis(const mlp_model *model)
{
    struct run run;
    int good = run_rows(model, 8, &run) == MLP_OK;
    for (size_t i = 0; i < 64; i++)
        good &= run.y[0][i] == (float)(i % 8 + 1) && run.y[1][i] == (float)(i % 8 + 1);
    trap_of(1, good, model, "W = 0, b = 1 .. 8, 8 rows of 8: each row is 1 .. 8");
    free_run(model, &run);
}

/* ---- 2: the two forms of GELU ---- */

static double gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

/* 2.703125 is exact in tf32. Its two results are 4.7e-4 apart. */
static void test_gelu(const mlp_model *model)
{
    const float x[8] = {2.703125f, -2.703125f, 0, 1, -1, 0.5f, 5, -5};
    float y[4][8];
    double off[4] = {0};
    char what[128];
    int good = model->run(1, (const void *const[]){x}, (void *[]){y[0], y[1], y[2], y[3]}) == MLP_OK;
    for (int i = 0; i < 32; i++)
        off[i / 8] = fmax(off[i / 8], fabs(y[i / 8][i % 8] - (i / 8 % 2 ? gelu_tanh(x[i % 8]) : gelu(x[i % 8]))));
    snprintf(what, sizeof what, "gelu is the erf form at 2.703125 (off by %.1e and %.1e)", off[0], off[2]);
    trap_of(2, good && off[0] < 2e-6 && off[2] < 2e-6, model, what);
    snprintf(what, sizeof what, "gelu_tanh is the tanh form (off by %.1e and %.1e)", off[1], off[3]);
    trap_of(2, good && off[1] < (model->dtype == MLP_F32 ? 2e-5 : 1e-3) && off[3] < 2e-6, model, what);
}

/* ---- 3: residuals ---- */

static float positive(float x)
{
    return x > 0 ? x : 0;
}

static void test_residual(const mlp_model *model)
{
    enum { ROWS = 8, N = ROWS * 8 };
    float *x = whole_rows(ROWS, 8), r[N], y[4][N];
    int inside = 1, outside = 1, late = 1;
    for (int i = 0; i < N; i++)
        r[i] = x[N - 1 - i] + 1;
    int good = model->run(ROWS, (const void *const[]){x, r}, (void *[]){y[0], y[1], y[2], y[3]}) == MLP_OK;
    for (int i = 0; i < N; i++) {
        inside &= y[0][i] == positive(x[i] + r[i]);
        outside &= y[1][i] == positive(x[i]) + r[i];
        late &= y[2][i] == 5 * x[i] && y[3][i] == 2 * x[i];
    }
    trap_of(3, good && inside, model, "relu(xW + r)");
    trap_of(3, good && outside, model, "relu(xW) + r");
    trap_of(3, good && late, model, "residuals that are read three products later");
    free(x);
}

/* ---- 4: what was in the arena ---- */

/* The whole arena but for the weights, and the columns behind the inputs' rows, which are zero from the start. */
static void poison(const struct network *network)
{
    const mlp_model *model = network->model;
    size_t rows = model->batches[model->batch_count - 1];
    mlp_device_info info;
    model->describe(&info);
    unsigned char *values = (unsigned char *)network->input(0) - model->values[model->inputs[0].value].offset;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemset(values, 0xff, info.arena_bytes - model->weights_bytes));
    for (size_t i = 0; i < model->input_count; i++) {
        const mlp_value *value = &model->values[model->inputs[i].value];
        size_t size = value->dtype == MLP_F32 ? 4 : 2, behind = (value->ld - value->width) * size;
        unsigned char *at = (unsigned char *)network->input(i) + value->width * size;
        if (behind)
            CUDA(cudaMemset2D(at, value->ld * size, 0, behind, rows));
    }
    CUDA(cudaDeviceSynchronize());
}

static int same_arrays(const mlp_arrays *a, const mlp_arrays *b)
{
    for (size_t i = 0; i < a->count; i++) {
        size_t size = a->ports[i].dtype == MLP_F32 ? 4 : 2;
        if (memcmp(a->at[i], b->at[i], a->rows * a->ports[i].width * size))
            return 0;
    }
    return 1;
}

static int has_nan(const mlp_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++) {
        for (size_t j = 0; arrays->ports[i].dtype == MLP_F32 && j < arrays->rows * arrays->ports[i].width; j++) {
            if (isnan(((const float *)arrays->at[i])[j]))
                return 1;
        }
    }
    return 0;
}

static void test_poison(const struct network *network)
{
    const mlp_model *model = network->model;
    const mlp_command command = {.program = "traps", .model = model};
    size_t rows = model->batches[model->batch_count - 1] + 1;
    mlp_arrays x = mlp_arrays_random(&command, rows), y = mlp_arrays_outputs(&command, rows);
    mlp_arrays z = mlp_arrays_outputs(&command, rows);
    int good = model->run(rows, (const void *const *)x.at, y.at) == MLP_OK && !has_nan(&y);
    for (int i = 0; i < 3; i++) {
        poison(network);
        good &= model->run(rows, (const void *const *)x.at, z.at) == MLP_OK && same_arrays(&y, &z);
    }
    trap_of(4, good, model, "arena and workspace full of NaN before a run change nothing");
    mlp_arrays_free(&x);
    mlp_arrays_free(&y);
    mlp_arrays_free(&z);
}

/* ---- 5: the type of the bias ---- */

static float float_of(mlp_dtype dtype, uint16_t half)
{
    float x;
    uint32_t bits = (uint32_t)half << 16;
    memcpy(&x, &bits, sizeof x);
    int exponent = half >> 10 & 31, fraction = half & 1023;
    if (dtype == MLP_F16)
        x = (half & 0x8000 ? -1.0f : 1.0f) * (exponent ? ldexpf((float)(fraction + 1024), exponent - 25)
                                                       : ldexpf((float)fraction, -24));
    return x;
}

static void test_bias_type(const mlp_model *model)
{
    enum { ROWS = 9, N = ROWS * 8 };
    float *x = whole_rows(ROWS, 8), wide[N], relu[N];
    uint16_t own[N];
    int good = model->run(ROWS, (const void *const[]){x}, (void *[]){wide, relu, own}) == MLP_OK;
    for (int i = 0; i < N; i++) {
        float want = x[i] + (float)(i % 8 + 1);
        good &= wide[i] == want && relu[i] == positive(want) && float_of(model->dtype, own[i]) == want;
    }
    trap_of(5, good, model, "a bias for a result of f32, and one for the operands' type");
    free(x);
}

/* ---- 6, 19: odd widths ---- */

static const int widths[] = {3, 5, 7, 1, 9, 3};

/* A row through layers first .. last; what is between two of them is clamped to 0 .. 6. */
static void exact_row(const int *width, int first, int last, float most, float *row)
{
    for (int layer = first; layer <= last; layer++, width++) {
        float next[16];
        for (int i = 0; i < width[1]; i++) {
            next[i] = (float)trap_bias(layer, i);
            for (int j = 0; j < width[0]; j++)
                next[i] += (float)trap_weight(layer, i, j) * row[j];
            if (layer < last)
                next[i] = fminf(positive(next[i]), most);
        }
        memcpy(row, next, sizeof next);
    }
}

static int exact_rows(const float *x, size_t rows, const int *width, int first, int last, float most, const float *y)
{
    int in = width[0], out = width[last - first + 1];
    for (size_t r = 0; r < rows; r++) {
        float row[16];
        memcpy(row, x + r * (size_t)in, (size_t)in * sizeof *row);
        exact_row(width, first, last, most, row);
        if (memcmp(row, y + r * (size_t)out, (size_t)out * sizeof *row))
            return 0;
    }
    return 1;
}

static void test_widths(const mlp_model *model)
{
    struct run run;
    int good = run_rows(model, 13, &run) == MLP_OK && exact_rows(run.x, 13, widths, 0, 4, 6, run.y[0]);
    trap_of(6, good, model, "widths 3, 5, 7, 1, 9, 3");
    good = model->param_count >= 10;
    for (size_t i = 0; i < model->param_count; i++)
        good &= model->params[i].offset % 256 == 0;
    trap_of(6, good, model, "every parameter starts at a multiple of 256 bytes");
    free_run(model, &run);
}

enum { GUARD = 64, GUARDED_ROWS = 13 };

static int all_ones(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0xff)
            return 0;
    }
    return 1;
}

/* `shift` bytes in front of the device arrays, too, so that rows begin anywhere an element may. */
static int guarded_device_run(mlp_status (*run_device)(size_t, const float *, float *, void *), const float *x,
                              const float *y, size_t shift)
{
    const size_t in = GUARDED_ROWS * 3 * sizeof *x, out = GUARDED_ROWS * 3 * sizeof *y;
    unsigned char *from, *to, got[2 * GUARD + GUARDED_ROWS * 3 * sizeof *y];
    CUDA(cudaMalloc((void **)&from, in + shift));
    CUDA(cudaMalloc((void **)&to, sizeof got + shift));
    CUDA(cudaMemset(to, 0xff, sizeof got + shift));
    CUDA(cudaMemcpy(from + shift, x, in, cudaMemcpyHostToDevice));
    int good = run_device(GUARDED_ROWS, (const float *)(from + shift), (float *)(to + shift + GUARD), NULL) == MLP_OK;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(got, to + shift, sizeof got, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
    return good && all_ones(got, GUARD) && all_ones(got + GUARD + out, GUARD) && !memcmp(got + GUARD, y, out);
}

static void test_guards(const mlp_model *model, mlp_status (*run_device)(size_t, const float *, float *, void *))
{
    unsigned char y[2 * GUARD + GUARDED_ROWS * 3 * sizeof(float)];
    float *x = whole_rows(GUARDED_ROWS, 3);
    const size_t out = GUARDED_ROWS * 3 * sizeof *x;
    memset(y, 0xff, sizeof y);
    int good = model->run(GUARDED_ROWS, (const void *const[]){x}, (void *[]){y + GUARD}) == MLP_OK;
    good &= all_ones(y, GUARD) && all_ones(y + GUARD + out, GUARD);
    good &= exact_rows(x, GUARDED_ROWS, widths, 0, 4, 6, (float *)(y + GUARD));
    trap_of(19, good, model, "nothing beyond the real columns, host rows");
    good = guarded_device_run(run_device, x, (float *)(y + GUARD), 0);
    trap_of(19, good, model, "nothing beyond the real columns, device rows");
    good = guarded_device_run(run_device, x, (float *)(y + GUARD), 4);
    trap_of(19, good, model, "nothing beyond the real columns, device rows 4 bytes further");
    free(x);
}

/* ---- 7: device pointers ---- */

typedef mlp_status run_halves(size_t rows, const uint16_t *x, uint16_t *y, void *stream);

static void test_shifted(const mlp_model *model, run_halves *run_device)
{
    enum { ROWS = 37, N = ROWS * 8 };
    uint16_t x[N], y[N], z[N];
    unsigned char *from, *to;
    for (int i = 0; i < N; i++)             /* 1 .. 1.9 in either type, and the same below zero */
        x[i] = (uint16_t)((model->dtype == MLP_F16 ? 0x3c00 : 0x3f80) | i % 64 | (i % 3 ? 0 : 0x8000));
    int right = model->run(ROWS, (const void *const[]){x}, (void *[]){y}) == MLP_OK;
    for (int i = 0; i < N; i++)
        right &= y[i] == (x[i] & 0x8000 ? 0 : x[i]);
    CUDA(cudaMalloc((void **)&from, sizeof x + 2));
    CUDA(cudaMalloc((void **)&to, sizeof y + 2));
    CUDA(cudaMemcpy(from + 2, x, sizeof x, cudaMemcpyHostToDevice));
    int good = run_device(ROWS, (const uint16_t *)(from + 2), (uint16_t *)(to + 2), NULL) == MLP_OK;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(z, to + 2, sizeof z, cudaMemcpyDeviceToHost));
    trap_of(7, right && good && !memcmp(y, z, sizeof y), model, "pointers off by 2 bytes: right");
    good = run_device(1, (const uint16_t *)(from + 1), (uint16_t *)to, NULL) == MLP_MISALIGNED;
    good &= run_device(1, (const uint16_t *)from, (uint16_t *)(to + 1), NULL) == MLP_MISALIGNED;
    trap_of(7, good, model, "pointers off by 1 byte: misaligned");
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

static void test_misaligned(const mlp_model *model, mlp_status (*run_device)(size_t, const float *, float *, void *))
{
    unsigned char *from, *to;
    CUDA(cudaMalloc((void **)&from, 256));
    CUDA(cudaMalloc((void **)&to, 256));
    CUDA(cudaMemset(to, 0xff, 256));
    int good = run_device(1, (const float *)(from + 2), (float *)to, NULL) == MLP_MISALIGNED;
    good &= run_device(1, (const float *)from, (float *)(to + 2), NULL) == MLP_MISALIGNED;
    unsigned char got[256];
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost));
    trap_of(7, good && all_ones(got, sizeof got), model, "pointers off by 2 bytes: misaligned, nothing written");
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

/* ---- 13: counters ---- */

static void test_counters(void)
{
    const mlp_cuda_counts before = mlp_cuda_counted;
    int good = before.allocations && before.heuristic_queries;
    for (int i = 0; i < NETWORKS; i++) {
        const mlp_model *model = networks[i].model;
        const mlp_command command = {.program = "traps", .model = model};
        mlp_arrays x = mlp_arrays_random(&command, 7), y = mlp_arrays_outputs(&command, 7);
        good &= model->run(7, (const void *const *)x.at, y.at) == MLP_OK;
        mlp_arrays_free(&x);
        mlp_arrays_free(&y);
    }
    good &= !memcmp(&before, &mlp_cuda_counted, sizeof before);
    trap(13, good, "no heuristic query and no allocation in a run of any network", NULL);
}

/* ---- 15: threads and devices ---- */

struct thread_of {
    const mlp_model *model;
    int right, busy, wrong;
};

static void *run_often(void *argument)
{
    struct thread_of *self = argument;
    for (int i = 0; i < 200; i++) {
        struct run run;
        mlp_status status = run_rows(self->model, 21, &run);
        if (status == MLP_BUSY)
            self->busy++;
        else if (status == MLP_OK && exact_rows(run.x, 21, widths, 0, 4, 6, run.y[0]))
            self->right++;
        else
            self->wrong++;
        free_run(self->model, &run);
    }
    return NULL;
}

static void run_both(struct thread_of *both)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_often, &both[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void)
{
    struct thread_of two[2] = {{.model = &widths_f32_model}, {.model = &widths_f16_model}};
    struct thread_of one[2] = {{.model = &widths_f32_model}, {.model = &widths_f32_model}};
    run_both(two);
    trap(15, two[0].right == 200 && two[1].right == 200, "two networks in two threads: every run right", NULL);
    run_both(one);
    trap(15, one[0].right + one[1].right > 0 && !one[0].wrong && !one[1].wrong,
         "one network in two threads: every run right or busy", NULL);
}

static void test_devices(void)
{
    int count = 0;
    CUDA(cudaGetDeviceCount(&count));
    if (count < 2) {
        trap_not_here(15, "two devices in one process: there is one");
        return;
    }
    const mlp_model *model = &widths_f16_model;
    model->close();
    struct thread_of two[2] = {{.model = &widths_f32_model}, {.model = model}};
    int good = model->init(&(mlp_options){.device = 1}) == MLP_OK;
    run_both(two);
    trap(15, good && two[0].right == 200 && two[1].right == 200, "two devices in one process", model->error());
    model->close();
    trap(15, model->init(NULL) == MLP_OK, "and back on the first one", model->error());
}

/* ---- 16: sizes ---- */

static void test_rows(const mlp_model *model, int small)
{
    static const size_t counts[] = {1, 77, 4097, 65535, 65536, 90000};
    static const int width[] = {8, 16, 3};
    float x[8] = {0}, y[3];
    char what[64];
    memset(y, 0xff, sizeof y);
    int good = model->run(0, (const void *const[]){x}, (void *[]){y}) == MLP_OK;
    trap_of(16, good && all_ones((unsigned char *)y, sizeof y), model, "0 rows: nothing is written");
    for (size_t i = 0; i < (small ? 3 : sizeof counts / sizeof *counts); i++) {
        struct run run;
        good = run_rows(model, counts[i], &run) == MLP_OK && exact_rows(run.x, counts[i], width, 5, 6, 1e9f, run.y[0]);
        snprintf(what, sizeof what, "%zu rows", counts[i]);
        trap_of(16, good, model, what);
        free_run(model, &run);
    }
}

static void test_large(void)
{
    const mlp_model *model = &large_f16_model;
    const size_t rows = model->batches[0];
    struct run run;
    mlp_device_info info;
    model->describe(&info);
    trap_of(16, !info.arena_static && info.arena_bytes > (size_t)1 << 30, model, "the arena is allocated");
    int good = model->init(NULL) == MLP_OK && run_rows(model, rows, &run) == MLP_OK;
    for (size_t i = 0; good && i < rows; i++) {
        float sum = 0;
        for (size_t j = 0; j < 8; j++)
            sum += fabsf(run.x[i * 8 + j]);
        good &= run.y[0][i] == sum * (BIG / 8);
    }
    trap_of(16, good, model, "values of more than 2^31 elements");
    model->close();
}

/* What mlpc said of the network, when this test was made. */
static void test_refused(void)
{
    char said[512] = "";
    FILE *file = fopen("too_large.said", "r");
    size_t length = file ? fread(said, 1, sizeof said - 1, file) : 0;
    if (file)
        fclose(file);
    trap(16, length && strstr(said, "exit 1") && strstr(said, "too_large.mlp:") && strstr(said, "2^40"),
         "a network of more than 2^40 bytes is refused when building", said);
}

/* ---- 17: NVIDIA_TF32_OVERRIDE ---- */

static void test_override(void)
{
    const mlp_model *f32 = &widths_f32_model, *f16 = &widths_f16_model;
    f32->close();
    f16->close();
    setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
    trap_of(17, f32->init(NULL) == MLP_NO_PLAN && strstr(f32->error(), "NVIDIA_TF32_OVERRIDE"), f32,
            "NVIDIA_TF32_OVERRIDE=1 is refused by name");
    struct run run;
    int good = f16->init(NULL) == MLP_OK && run_rows(f16, 9, &run) == MLP_OK;
    trap_of(17, good && exact_rows(run.x, 9, widths, 0, 4, 6, run.y[0]), f16, "NVIDIA_TF32_OVERRIDE=1 changes nothing");
    unsetenv("NVIDIA_TF32_OVERRIDE");
    trap_of(17, f32->init(NULL) == MLP_OK, f32, "without it, it starts again");
}

/* ---- 20: --bench ---- */

static void test_random_rows(void)
{
    const mlp_command command = {.program = "traps", .model = &sizes_f32_model};
    mlp_arrays x = mlp_arrays_random(&command, 100);
    const float *at = x.at[0];
    size_t equal = 0;
    for (size_t i = 1; i < 800; i++)
        equal += at[i] == at[i - 1];
    trap(20, equal < 8, "--bench and --profile run on random rows", NULL);
    mlp_arrays_free(&x);
}

/* ---- All of them ---- */

static void each_of(const char *name, void (*test)(const mlp_model *))
{
    size_t length = strlen(name);
    for (int i = 0; i < NETWORKS; i++) {
        if (!strncmp(networks[i].model->name, name, length) && networks[i].model->name[length] == '_' &&
            !strchr(networks[i].model->name + length + 1, '_'))
            test(networks[i].model);
    }
}

static int init_all(void)
{
    for (int i = 0; i < NETWORKS; i++) {
        if (networks[i].model->init(NULL) == MLP_OK)
            continue;
        printf("not ok init of %s: %s\n", networks[i].model->name, networks[i].model->error());
        return 0;
    }
    return 1;
}

static void test_networks(int small)
{
    each_of("bias_axis", test_bias_axis);
    each_of("gelu", test_gelu);
    each_of("residual", test_residual);
    for (int i = 0; i < NETWORKS; i++)
        test_poison(&networks[i]);
    each_of("bias_type", test_bias_type);
    each_of("widths", test_widths);
    test_misaligned(&widths_f32_model, widths_f32_run_device);
    test_shifted(&own_type_f16_model, own_type_f16_run_device);
    test_shifted(&own_type_bf16_model, own_type_bf16_run_device);
    test_counters();
    if (small)
        trap_not_here(15, "threads cannot share the simulated device");
    else
        test_threads();
    if (!small)
        test_devices();
    test_rows(&sizes_f32_model, small);
    test_rows(&sizes_f16_model, small);
    test_guards(&widths_f32_model, widths_f32_run_device);
    test_guards(&widths_f16_model, widths_f16_run_device);
    test_override();
    test_random_rows();
}

int main(int argc, char **argv)
{
    int small = argc > 1 && !strcmp(argv[1], "small");
    if (!init_all())
        return 1;
    test_networks(small);
    for (int i = 0; i < NETWORKS; i++)
        networks[i].model->close();
    test_no_candidate();
    test_cancelling_sums();
    test_tail_of_k(small);
    test_workspace();
    test_locked_plans();
    test_refused();
    if (small)
        trap_not_here(16, "values of more than 2^31 elements take too long here");
    else
        test_large();
    trap_not_here(18, "there is no training");
    printf("end of traps\n");
    return failures != 0;
}
