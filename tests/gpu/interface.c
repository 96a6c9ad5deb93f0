/* The library's functions on a GPU, on the digits network: interface [external.weights]
 * What must come out is never what an earlier version printed: calls are held to each other, to guards around their
 * arrays, and to counters that must stand still. Prints "ok" or "not ok" for each test. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "mlp_cuda.h"

enum { IN = digits_x_WIDTH, OUT = digits_y_WIDTH, MAX = digits_MAX_BATCH, ROWS = 2 * MAX + 37, GUARD = 64 };

static int failures;
static float x[ROWS * IN], y[ROWS * OUT], z[GUARD + ROWS * OUT + GUARD];

static void check(int good, const char *name)
{
    printf("%s %s\n", good ? "ok" : "not ok", name);
    if (!good && *digits_error())
        printf("    %s\n", digits_error());
    failures += !good;
}

static void fill_inputs(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < ROWS * IN; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / (float)(1 << 20);
    }
}

static void cuda(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    printf("not ok CUDA: %s\n", cudaGetErrorString(error));
    exit(1);
}

static void *device_copy(const void *from, size_t bytes, size_t shift)
{
    void *to = NULL;
    cuda(cudaMalloc(&to, bytes + shift));
    cuda(cudaMemset(to, 0xff, bytes + shift));
    cuda(cudaDeviceSynchronize());  /* the stream of the test does not wait for the default one */
    if (from)
        cuda(cudaMemcpy((char *)to + shift, from, bytes, cudaMemcpyHostToDevice));
    return to;
}

/* ---- Host rows ---- */

static int sums_to_one(const float *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t j = 0; j < OUT; j++)
            sum += rows[i * OUT + j];
        if (!(fabs(sum - 1) < 1e-5))
            return 0;
    }
    return 1;
}

static void test_before_init(void)
{
    check(digits_run(1, x, y) == MLP_NOT_READY, "run before init");
    check(digits_input(0) == NULL, "no buffer before init");
    digits_close();
    mlp_options options = {.device = 4711};
    check(digits_init(&options) == MLP_NO_DEVICE && strstr(digits_error(), "4711"), "a device that is not there");
    check(digits_run(1, x, y) == MLP_NOT_READY, "run after an init that failed");
}

static void test_rows(void)
{
    static const size_t counts[] = {1, 2, MAX - 1, MAX, MAX + 1, ROWS};
    check(digits_run(ROWS, x, y) == MLP_OK && sums_to_one(y, ROWS), "rows over several batches sum to 1");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t elements = counts[i] * OUT;
        int good = 1;
        memset(z, 0xff, sizeof z);
        good &= digits_run(counts[i], x, z + GUARD) == MLP_OK;
        for (size_t j = 0; j < elements; j++)
            good &= fabsf(z[GUARD + j] - y[j]) <= 1e-5f;
        for (size_t j = 0; j < GUARD; j++)
            good &= isnan(z[j]) && isnan(z[GUARD + elements + j]);
        check(good, "as many rows as asked for, and no byte more");
    }
    memset(z, 0xff, sizeof z);
    check(digits_run(0, x, z) == MLP_OK && isnan(z[0]), "0 rows touch nothing");
    check(digits_run(1, NULL, y) == MLP_BAD_ARGUMENT && digits_run(1, x, NULL) == MLP_BAD_ARGUMENT, "NULL");
}

static void test_repeats(void)
{
    int good = 1;
    digits_run(ROWS, x, y);
    mlp_cuda_counts before = mlp_cuda_counted;
    for (int i = 0; i < 100; i++)
        good &= digits_run(ROWS, x, z) == MLP_OK && memcmp(y, z, sizeof y) == 0;
    check(good, "the same bits in 100 runs");
    check(before.allocations && before.heuristic_queries && !memcmp(&before, &mlp_cuda_counted, sizeof before),
          "no allocation and no heuristic query in run");
}

static void test_nan(void)
{
    static float rows[2 * IN], out[2 * OUT];
    memcpy(rows, x, sizeof rows);
    rows[IN + 3] = NAN;
    int good = digits_run(2, rows, out) == MLP_OK;
    for (size_t i = 0; i < OUT; i++)
        good &= !isnan(out[i]) && isnan(out[OUT + i]);
    check(good, "a NaN reaches every output of its row, and no other row");
    check(digits_run(MAX, x, z) == MLP_OK && sums_to_one(z, MAX), "it is gone in the next run");
}

/* ---- Device rows ---- */

static int same_on_device(const void *at, const float *want, size_t count)
{
    cuda(cudaMemcpy(z, at, count * sizeof *z, cudaMemcpyDeviceToHost));
    return memcmp(z, want, count * sizeof *z) == 0;
}

static void test_device_rows(cudaStream_t stream)
{
    void *in = device_copy(x, sizeof x, 0), *out = device_copy(NULL, sizeof y + 256, 0);
    digits_run(ROWS, x, y);
    int good = digits_run_device(ROWS, (const float *)in, (float *)out, stream) == MLP_OK;
    cuda(cudaStreamSynchronize(stream));
    check(good && same_on_device(out, y, ROWS * OUT), "run_device gives the bits of run");
    float guard = 0;
    cuda(cudaMemcpy(&guard, (float *)out + ROWS * OUT, sizeof guard, cudaMemcpyDeviceToHost));
    check(isnan(guard), "nothing is written behind the last row");
    cuda(cudaMemset(out, 0xff, sizeof y));
    cuda(cudaDeviceSynchronize());
    good = digits_run_device(0, (const float *)in, (float *)out, stream) == MLP_OK;
    cuda(cudaMemcpy(&guard, out, sizeof guard, cudaMemcpyDeviceToHost));
    check(good && isnan(guard), "0 device rows touch nothing");
    check(digits_run_device(1, NULL, (float *)out, stream) == MLP_BAD_ARGUMENT, "a NULL device pointer");
    cuda(cudaFree(in));
    cuda(cudaFree(out));
}

static void test_alignment(cudaStream_t stream)
{
    void *in = device_copy(x, sizeof x, 4), *out = device_copy(NULL, sizeof y, 4);
    int good = digits_run_device(MAX, (const float *)((char *)in + 4), (float *)((char *)out + 4), stream) == MLP_OK;
    cuda(cudaStreamSynchronize(stream));
    digits_run(MAX, x, y);
    check(good && same_on_device((char *)out + 4, y, MAX * OUT), "pointers aligned to an element only");
    check(digits_run_device(1, (const float *)((char *)in + 2), (float *)out, stream) == MLP_MISALIGNED &&
              strstr(digits_error(), "input"), "a pointer off by 2 bytes");
    cuda(cudaFree(in));
    cuda(cudaFree(out));
}

static void test_own_buffers(cudaStream_t stream)
{
    float *in = (float *)digits_input(0), *out = (float *)digits_output(0);
    check(in && out && !digits_input(1) && !digits_output(1), "own buffers have addresses, others do not");
    digits_run(MAX, x, y);
    cuda(cudaMemcpy2D(in, digits_x_LD * 4, x, IN * 4, IN * 4, MAX, cudaMemcpyHostToDevice));
    int good = digits_run_device(MAX, in, out, stream) == MLP_OK;
    cuda(cudaStreamSynchronize(stream));
    cuda(cudaMemcpy2D(z, OUT * 4, out, digits_y_LD * 4, OUT * 4, MAX, cudaMemcpyDeviceToHost));
    check(good && !memcmp(z, y, MAX * OUT * 4), "rows in the network's own buffers");
    check(digits_run_device(MAX + 1, in, out, stream) == MLP_BAD_ARGUMENT, "more rows than the own buffers hold");
}

/* ---- Threads, devices, weights ---- */

static void *run_often(void *result)
{
    int *statuses = (int *)result;
    float *mine = (float *)malloc(sizeof y);
    for (int i = 0; i < 300; i++) {
        mlp_status status = digits_run(ROWS, x, mine);
        statuses[status == MLP_OK ? (memcmp(mine, y, sizeof y) != 0) * 2 : status == MLP_BUSY ? 1 : 2]++;
    }
    free(mine);
    return NULL;
}

/* Of each call: right, refused as busy, or wrong. */
static void test_threads(void)
{
    pthread_t threads[2];
    int statuses[2][3] = {{0}};
    digits_run(ROWS, x, y);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_often, statuses[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    check(statuses[0][2] + statuses[1][2] == 0 && statuses[0][0] + statuses[1][0] > 0,
          "two threads: each call is right or busy");
}

static void test_devices(void)
{
    int count = 0, device = -1;
    cuda(cudaGetDeviceCount(&count));
    cuda(cudaSetDevice(count - 1));
    digits_run(1, x, y);
    cuda(cudaGetDevice(&device));
    check(device == count - 1, "the caller's device stays");
    cuda(cudaSetDevice(0));
}

static void test_weights(void)
{
    digits_run(MAX, x, y);
    check(digits_load_weights("missing.weights") == MLP_WEIGHTS_UNREADABLE, "a weights file that is not there");
    check(digits_load_weights("interface.c") == MLP_WEIGHTS_MISMATCH, "a file that holds no weights");
    check(digits_run(MAX, x, z) == MLP_OK && !memcmp(y, z, MAX * OUT * 4), "the old weights stay in use");
    check(digits_load_weights("external/digits.weights") == MLP_OK && digits_run(MAX, x, z) == MLP_OK &&
              !memcmp(y, z, MAX * OUT * 4), "the same weights from a file");
    digits_close();
    digits_close();
    check(digits_run(1, x, z) == MLP_NOT_READY, "run after close");
    mlp_options options = {.weights = "external/digits.weights"};
    check(digits_init(&options) == MLP_OK && digits_run(MAX, x, z) == MLP_OK && !memcmp(y, z, MAX * OUT * 4),
          "init again, with a weights file");
}

static void test_override(void)
{
    digits_close();
    setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
    check(digits_init(NULL) == MLP_NO_PLAN && strstr(digits_error(), "NVIDIA_TF32_OVERRIDE"),
          "NVIDIA_TF32_OVERRIDE=1 is refused");
    unsetenv("NVIDIA_TF32_OVERRIDE");
    check(digits_init(NULL) == MLP_OK, "and no more where it is gone");
}

int main(void)
{
    cudaStream_t stream = NULL;
    fill_inputs();
    test_before_init();
    check(digits_init(NULL) == MLP_OK, "init");
    check(digits_init(NULL) == MLP_BAD_ARGUMENT, "init twice");
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    test_rows();
    test_repeats();
    test_nan();
    test_device_rows(stream);
    test_device_rows(NULL);
    test_alignment(stream);
    test_own_buffers(stream);
    test_threads();
    test_devices();
    test_weights();
    test_override();
    digits_close();
    cuda(cudaStreamDestroy(stream));
    return failures != 0;
}
