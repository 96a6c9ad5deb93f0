/* A network written by hand as mlpc would write it, for tests of the program: two layers with a residual, a slice, two
 * outputs, batches of 1 and 4. `small_fault` breaks one thing at a time.
 *
 *     input x: f32[4];                            step 1   h = gelu(linear(x, 5, "fc1"))
 *     h = gelu(linear(x, 5, "fc1"));              step 2   y = linear(h, 4, "fc2") + x
 *     output y = linear(h, 4, "fc2") + x;         step 3   z = softmax(h[1:4])
 *     output z: bf16 = softmax(h[1:4]); */
#ifndef RUNTIME_MODEL_H
#define RUNTIME_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mlp_cpu.h"
#include "one_lane.h"
#include "mlp_network.h"
#include "plain_product.h"

enum fault {
    RIGHT, GELU_BY_TANH, BIAS_DOWN_THE_ROWS, OTHER_RESIDUAL, HIDDEN_OVERWRITTEN, RUN_DIFFERS, RUN_FAILS, NAN_LOST,
    NOT_ROUNDED, RUN_LEAVES_OUT_A_STEP, BITS_BY_BATCH, BITS_BY_THREADS
};

static enum fault small_fault;
static int small_runs;              /* calls of run so far */
static int small_threads;           /* as init was asked for */
static mlp_network small_network;

enum { X = 4, H = 5, Z = 3, MOST = 4 };

/* fc1 takes x to itself and to the sum of its elements. */
static const struct {
    float fc1[H][X], fc1_bias[H], fc2[X][H], fc2_bias[X];
} small_weights = {
    {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 1, 1}},
    {0, 0.25f, -0.25f, 0.5f, 0},
    {{1, -1, 0, 0, 0.5f}, {0, 1, -1, 0, 0.5f}, {0, 0, 1, -1, 0.5f}, {-1, 0, 0, 1, 0.5f}},
    {0.125f, 0, 1, -1},
};

static float small_arena[MOST * H];
static const float *small_x;
static float *small_y;
static mlp_bf16 *small_z;
static size_t small_rows;

static void small_step_h(void)
{
    plain_product(small_rows, H, X, small_x, X, &small_weights.fc1[0][0], small_arena, H);
    for (size_t r = 0; r < small_rows; r++)
        for (size_t c = 0; c < H; c++) {
            float t = small_arena[r * H + c];
            t += small_weights.fc1_bias[small_fault == BIAS_DOWN_THE_ROWS ? r : c];
            t = small_fault == GELU_BY_TANH ? one_gelu_tanh(t) : one_gelu(t);
            small_arena[r * H + c] = small_fault == NAN_LOST && t != t ? 0 : t;
        }
}

static void small_step_y(void)
{
    plain_product(small_rows, X, H, small_arena, H, &small_weights.fc2[0][0], small_y, X);
    for (size_t r = 0; r < small_rows; r++)
        for (size_t c = 0; c < X; c++) {
            float residual = small_fault == OTHER_RESIDUAL ? small_arena[r * H + c] : small_x[r * X + c];
            small_y[r * X + c] = small_y[r * X + c] + small_weights.fc2_bias[c] + residual;
            if ((small_fault == BITS_BY_BATCH && small_rows == 3) ||
                (small_fault == BITS_BY_THREADS && small_threads == 2))
                small_y[r * X + c] *= 1 + 1.2e-7f;
        }
    if (small_fault == HIDDEN_OVERWRITTEN)
        small_arena[2] += 1;
}

static void small_step_z(void)
{
    for (size_t r = 0; r < small_rows; r++) {
        float row[Z];
        memcpy(row, small_arena + r * H + 1, sizeof row);
        mlp_softmax_row(row, Z);
        for (size_t c = 0; c < Z; c++) {
            mlp_bf16 cut = (mlp_bf16)(mlp_float_bits(row[c]) >> 16);
            small_z[r * Z + c] = small_fault == NOT_ROUNDED ? cut : mlp_bf16_store(row[c]);
        }
    }
}

static mlp_status small_init(const mlp_options *options)
{
    small_threads = options->threads;
    if (options->weights)
        return mlp_fail(&small_network, MLP_WEIGHTS_UNREADABLE, "%s: these weights are part of the program",
                        options->weights);
    return MLP_OK;
}

static mlp_status small_begin(size_t rows, const void *const *inputs, void *const *outputs)
{
    small_rows = rows;
    small_x = inputs[0];
    small_y = outputs[0];
    small_z = outputs[1];
    return MLP_OK;
}

static mlp_status small_run_step(size_t step)
{
    static void (*const steps[])(void) = {small_step_h, small_step_y, small_step_z};
    steps[step]();
    return MLP_OK;
}

static mlp_status small_run(size_t rows, const void *const *inputs, void *const *outputs)
{
    small_runs++;
    if (small_fault == RUN_FAILS)
        return mlp_fail(&small_network, MLP_DEVICE_FAILED, "run %d", small_runs);
    for (size_t done = 0; done < rows; done += small_rows) {
        const void *from[] = {(const float *)inputs[0] + done * X};
        void *to[] = {(float *)outputs[0] + done * X, (mlp_bf16 *)outputs[1] + done * Z};
        small_begin(rows - done < MOST ? rows - done : MOST, from, to);
        for (size_t step = small_fault == RUN_LEAVES_OUT_A_STEP; step < 3; step++)
            small_run_step(step);
        if (small_fault == RUN_DIFFERS)
            small_y[0] += 1e-6f;
    }
    return MLP_OK;
}

static mlp_status small_load_weights(const char *path)
{
    return mlp_fail(&small_network, MLP_WEIGHTS_UNREADABLE, "%s", path);
}

static void small_close(void)
{
}

static const char *small_error(void)
{
    return small_network.error;
}

static mlp_status small_read_arena(size_t offset, size_t bytes, void *to)
{
    if (offset + bytes > sizeof small_arena)
        return MLP_BAD_ARGUMENT;
    memcpy(to, (const char *)small_arena + offset, bytes);
    return MLP_OK;
}

static mlp_status small_read_weights(size_t offset, size_t bytes, void *to)
{
    if (offset + bytes > sizeof small_weights)
        return MLP_BAD_ARGUMENT;
    memcpy(to, (const char *)&small_weights + offset, bytes);
    return MLP_OK;
}

static const size_t small_batches[] = {1, MOST};
static const mlp_port small_inputs[] = {{"x", MLP_F32, X, 0}};
static const mlp_port small_outputs[] = {{"y", MLP_F32, X, 2}, {"z", MLP_BF16, Z, 4}};
static const mlp_value small_values[] = {           /* name, type, place, port, width, ld, offset, rounded to */
    {"x", MLP_F32, MLP_INPUT, 0, X, X, 0, MLP_F32},
    {"h", MLP_F32, MLP_ARENA, 0, H, H, 0, MLP_F32},
    {"y", MLP_F32, MLP_OUTPUT, 0, X, X, 0, MLP_F32},
    {"h_1", MLP_F32, MLP_ARENA, 0, Z, H, 4, MLP_F32},
    {"z", MLP_BF16, MLP_OUTPUT, 1, Z, Z, 0, MLP_BF16},
};
static const mlp_param small_params[] = {
    {"fc1.weight", MLP_F32, H, X, X, 0, 0},
    {"fc1.bias", MLP_F32, 1, H, H, 80, 0},
    {"fc2.weight", MLP_F32, X, H, H, 100, 0},
    {"fc2.bias", MLP_F32, 1, X, X, 180, 0},
};
static const mlp_op small_ops_h[] = {
    {.code = MLP_OP_LINEAR, .width = H, .in = {{MLP_VALUE, 0, 0}, {MLP_PARAM, 0, 0}, {MLP_PARAM, 1, 0}}},
    {.code = MLP_OP_GELU, .width = H, .in = {{MLP_OP, 0, 0}}},
};
static const mlp_op small_ops_y[] = {
    {.code = MLP_OP_LINEAR, .width = X, .in = {{MLP_VALUE, 1, 0}, {MLP_PARAM, 2, 0}, {MLP_PARAM, 3, 0}}},
    {.code = MLP_OP_ADD, .width = X, .in = {{MLP_OP, 0, 0}, {MLP_VALUE, 0, 0}}},
};
static const mlp_op small_ops_z[] = {
    {.code = MLP_OP_SOFTMAX, .width = Z, .in = {{MLP_VALUE, 3, 0}}},
};
static const mlp_step small_steps[] = {
    {"h", "h = gelu(linear(x, fc1))", 3, small_ops_h, 2, 1},
    {"y", "y = linear(h, fc2) + x", 4, small_ops_y, 2, 2},
    {"z", "z = softmax(h[1:4])", 5, small_ops_z, 1, 4},
};

static const mlp_model small_model = {
    .version = MLP_RUNTIME_VERSION,
    .name = "small",
    .spec = "small.mlp",
    .target = MLP_CPU,
    .dtype = MLP_F32,
    .batches = small_batches,
    .batch_count = 2,
    .inputs = small_inputs,
    .outputs = small_outputs,
    .input_count = 1,
    .output_count = 2,
    .values = small_values,
    .value_count = 5,
    .params = small_params,
    .param_count = 4,
    .steps = small_steps,
    .step_count = 3,
    .chunk = MOST,
    .threads = 1,
    .arena_bytes = sizeof small_arena,
    .weights_bytes = sizeof small_weights,
    .weights_embedded = 1,
    .init = small_init,
    .run = small_run,
    .load_weights = small_load_weights,
    .close = small_close,
    .error = small_error,
    .begin = small_begin,
    .run_step = small_run_step,
    .read_arena = small_read_arena,
    .read_weights = small_read_weights,
};

/* ---- Calling the program ---- */

static char said[1 << 16];          /* what the last call printed, both streams */

/* Runs `program ARGUMENTS`, which are separated by spaces, and returns its exit status. */
static int call(const mlp_model *model, const char *arguments)
{
    char text[1024], *argv[32] = {(char *)"path/to/program"};
    int argc = 1, kept_out = dup(1), kept_err = dup(2);
    FILE *capture = tmpfile();
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(stdout);
    dup2(fileno(capture), 1);
    dup2(fileno(capture), 2);
    int code = mlp_program(argc, argv, model);
    fflush(stdout);
    dup2(kept_out, 1);
    dup2(kept_err, 2);
    close(kept_out);
    close(kept_err);
    rewind(capture);
    said[fread(said, 1, sizeof said - 1, capture)] = 0;
    fclose(capture);
    return code;
}

#endif
