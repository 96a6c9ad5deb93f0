/* mlp_cuda_kernels.cuh -- what generated kernels are made of: conversion, loads and stores of up to 16 bytes, the
 * element-wise functions, and norms, softmax and reductions over a row that a group of threads shares.
 *
 * Names of template parameters: W elements in a row, V neighbours that a thread takes at a time, T threads that share
 * a row. Everything is computed in f32. A NaN that goes in comes out. */
#ifndef MLP_CUDA_KERNELS_CUH
#define MLP_CUDA_KERNELS_CUH

#include <cmath>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "mlp_cuda.h"

#define MLP_DEVICE __device__ __forceinline__

/* ---- Starting a kernel: every one takes the arena and the number of rows, and strides over the grid. ---- */

typedef void (*mlp_kernel)(unsigned char *arena, int64_t rows);

/* Whether the device can start a kernel while the one before it ends. */
static inline cudaError_t mlp_starts_early(bool *does)
{
    int device = 0, major = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    *does = major >= 9;
    return error;
}

/* `early`: it may be started before what comes before it in the stream has ended; it calls mlp_begin. */
static inline int mlp_launch(mlp_kernel kernel, dim3 grid, dim3 block, size_t shared, bool early, unsigned char *arena,
                             int64_t rows, void *stream)
{
    void *arguments[] = {&arena, &rows};
    if (early) {
        const cudaError_t error = mlp_starts_early(&early);
        if (error != cudaSuccess)
            return error;
    }
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), arguments);
}

static inline int mlp_start(mlp_kernel kernel, int64_t threads, int block, unsigned char *arena, int64_t rows,
                            void *stream)
{
    const int64_t most = 132 * 16, blocks = (threads + block - 1) / block;
    return mlp_launch(kernel, dim3(unsigned(blocks < most ? blocks : most)), dim3(unsigned(block)), 0, true, arena,
                      rows, stream);
}

/* Before a kernel touches values: what ran before it is complete from here on, and the next one may be started. */
MLP_DEVICE void mlp_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

MLP_DEVICE int64_t mlp_thread()
{
    return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

MLP_DEVICE int64_t mlp_threads()
{
    return int64_t(gridDim.x) * blockDim.x;
}

/* The first row of this group of T threads, and how far it is to the next one. */
template <int T>
MLP_DEVICE int64_t mlp_first_row()
{
    return mlp_thread() / T;
}

template <int T>
MLP_DEVICE int64_t mlp_next_row()
{
    return mlp_threads() / T;
}

/* ---- Stored numbers ---- */

MLP_DEVICE float mlp_float(float x) { return x; }
MLP_DEVICE float mlp_float(__half x) { return __half2float(x); }
MLP_DEVICE float mlp_float(__nv_bfloat16 x) { return __bfloat162float(x); }

MLP_DEVICE void mlp_round(float x, float &to) { to = x; }
MLP_DEVICE void mlp_round(float x, __half &to) { to = __float2half_rn(x); }
MLP_DEVICE void mlp_round(float x, __nv_bfloat16 &to) { to = __float2bfloat16_rn(x); }

/* V neighbours in memory, moved 16 bytes (or all, if they are fewer) at a time. */
template <int V, class Stored>
struct alignas(V * sizeof(Stored) < 16 ? V * sizeof(Stored) : 16) mlp_vector {
    Stored at[V];
};

/* V elements from `column` on; what is behind the end of the row reads as 0. */
template <int V, int W, class Stored>
MLP_DEVICE void mlp_load_each(float (&x)[V], const Stored *row, int column)
{
#pragma unroll
    for (int j = 0; j < V; j++)
        x[j] = W % V == 0 || column + j < W ? mlp_float(row[column + j]) : 0.0f;
}

/* The same, for rows and columns aligned to the vector. */
template <int V, int W, class Stored>
MLP_DEVICE void mlp_load(float (&x)[V], const Stored *row, int column)
{
    if (W % V != 0 && column + V > W) {
        mlp_load_each<V, W>(x, row, column);
        return;
    }
    const mlp_vector<V, Stored> vector = *reinterpret_cast<const mlp_vector<V, Stored> *>(row + column);
#pragma unroll
    for (int j = 0; j < V; j++)
        x[j] = mlp_float(vector.at[j]);
}

template <int V, int W, class Stored>
MLP_DEVICE void mlp_store_each(Stored *row, int column, const float (&x)[V])
{
#pragma unroll
    for (int j = 0; j < V; j++) {
        if (W % V == 0 || column + j < W)
            mlp_round(x[j], row[column + j]);
    }
}

template <int V, int W, class Stored>
MLP_DEVICE void mlp_store(Stored *row, int column, const float (&x)[V])
{
    if (W % V != 0 && column + V > W) {
        mlp_store_each<V, W>(row, column, x);
        return;
    }
    mlp_vector<V, Stored> vector;
#pragma unroll
    for (int j = 0; j < V; j++)
        mlp_round(x[j], vector.at[j]);
    *reinterpret_cast<mlp_vector<V, Stored> *>(row + column) = vector;
}

/* The columns behind a row's last one, which a product reads as zeros. */
template <int N, class Stored>
MLP_DEVICE void mlp_zeros(Stored *at)
{
#pragma unroll
    for (int j = 0; j < N; j++)
        mlp_round(0.0f, at[j]);
}

/* ---- Element by element ---- */

MLP_DEVICE float mlp_clamp(float x, float lo, float hi)
{
    const float raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
}

MLP_DEVICE float mlp_tanh(float x) { return tanhf(x); }
MLP_DEVICE float mlp_exp(float x) { return expf(x); }
MLP_DEVICE float mlp_log(float x) { return logf(x); }
MLP_DEVICE float mlp_sqrt(float x) { return sqrtf(x); }
MLP_DEVICE float mlp_abs(float x) { return fabsf(x); }
MLP_DEVICE float mlp_relu(float x) { return x <= 0.0f ? 0.0f : x; }
MLP_DEVICE float mlp_relu6(float x) { return mlp_clamp(x, 0.0f, 6.0f); }
MLP_DEVICE float mlp_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
MLP_DEVICE float mlp_silu(float x) { return x / (1.0f + expf(-x)); }
MLP_DEVICE float mlp_softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }
MLP_DEVICE float mlp_mish(float x) { return x * tanhf(mlp_softplus(x)); }
MLP_DEVICE float mlp_hardsigmoid(float x) { return mlp_relu6(x + 3.0f) / 6.0f; }
MLP_DEVICE float mlp_hardswish(float x) { return x * mlp_relu6(x + 3.0f) / 6.0f; }
MLP_DEVICE float mlp_leaky_relu(float x, float slope) { return x > 0.0f ? x : slope * x; }
MLP_DEVICE float mlp_elu(float x, float alpha) { return x > 0.0f ? x : alpha * expm1f(x); }

/* x times the normal distribution's lower tail, which below 0 is, with a = |x|, exp(-a^2 / 2) P(a) / Q(a). P / Q is a
 * minimax fit from 0 to 14.6, where the result is no normal number any more; relative error 6e-9. All its terms are
 * positive, so that rounding costs little. What rounding loses of a^2 is given back. */
MLP_DEVICE float mlp_gelu(float x)
{
    const float a = fabsf(x) > 14.5f ? 14.5f : fabsf(x);
    const float square = a * a, lost = fmaf(a, a, -square);
    float p = 0.0041236941f, q = 0.01033645f;
    p = fmaf(p, a, 0.040682963f);
    q = fmaf(q, a, 0.10198344f);
    p = fmaf(p, a, 0.18338266f);
    q = fmaf(q, a, 0.46986009f);
    p = fmaf(p, a, 0.43849406f);
    q = fmaf(q, a, 1.2031159f);
    p = fmaf(p, a, 0.5f);
    q = fmaf(q, a, 1.6748731f);
    q = fmaf(q, a, 1.0f);
    const float tail = __fdividef(p, q) * expf(-0.5f * square) * fmaf(-0.5f, lost, 1.0f);
    return x * (x > 0.0f ? 1.0f - tail : tail);
}

/* 0.5 x (1 + tanh(u)) is x / (1 + exp(-2 u)), which loses nothing where tanh comes close to -1. */
MLP_DEVICE float mlp_gelu_tanh(float x)
{
    const float u = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x / (1.0f + expf(-2.0f * u));
}

MLP_DEVICE float mlp_maximum(float a, float b) { return a > b || a != a ? a : b; }
MLP_DEVICE float mlp_minimum(float a, float b) { return a < b || a != a ? a : b; }

/* ---- Rows ---- */

/* Combines one number of each of the T threads that share a row; all of them get the result, the same bits. */
template <int T, class Combine>
MLP_DEVICE float mlp_combine(float x, Combine combine)
{
    constexpr int lanes = T < 32 ? T : 32;
    const unsigned group = (~0u >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        x = combine(x, __shfl_xor_sync(group, x, distance));
    if constexpr (T > 32) {
        __shared__ float part[T / 32];
        __syncthreads();            /* the last combination has been read */
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32] = x;
        __syncthreads();
        x = part[threadIdx.x % (T / 32)];
#pragma unroll
        for (int distance = T / 64; distance > 0; distance /= 2)
            x = combine(x, __shfl_xor_sync(~0u, x, distance));
    }
    return x;
}

/* One row, of which this thread sees every T-th vector. `load` gives V elements from a column on; they stay in
 * registers where they fit, and are asked for again in each pass where they do not. */
template <int W, int V, int T, class Load>
struct mlp_row {
    static constexpr int vectors = (W + V * T - 1) / (V * T);
    static constexpr bool held = vectors * V <= 32;

    Load load;
    float x[held ? vectors : 1][V];

    static MLP_DEVICE int column(int i) { return (i * T + int(threadIdx.x % T)) * V; }

    MLP_DEVICE explicit mlp_row(Load from) : load(from)
    {
        if constexpr (held) {
#pragma unroll
            for (int i = 0; i < vectors; i++) {
                if (column(i) < W)
                    load(column(i), x[i]);
            }
        }
    }

    /* use(column, elements) for each of this thread's vectors */
    template <class Use>
    MLP_DEVICE void each(Use use)
    {
        if constexpr (held) {
#pragma unroll
            for (int i = 0; i < vectors; i++) {
                if (column(i) < W)
                    use(column(i), x[i]);
            }
        } else {
            for (int i = 0; i < vectors && column(i) < W; i++) {
                load(column(i), x[0]);
                use(column(i), x[0]);
            }
        }
    }

    /* The sum of term(element) over the row. */
    template <class Term>
    MLP_DEVICE float sum(Term term)
    {
        float total = 0.0f;
        each([&](int column, const float (&at)[V]) {
#pragma unroll
            for (int j = 0; j < V; j++)
                total += W % V == 0 || column + j < W ? term(at[j]) : 0.0f;
        });
        return mlp_combine<T>(total, [](float a, float b) { return a + b; });
    }

    MLP_DEVICE float maximum()
    {
        float most = -INFINITY;
        each([&](int column, const float (&at)[V]) {
#pragma unroll
            for (int j = 0; j < V; j++)
                most = W % V == 0 || column + j < W ? fmaxf(most, at[j]) : most;
        });
        return mlp_combine<T>(most, [](float a, float b) { return fmaxf(a, b); });
    }

    /* store(column, elements mapped by `map`) */
    template <class Map, class Store>
    MLP_DEVICE void finish(Map map, Store store)
    {
        each([&](int column, const float (&at)[V]) {
            float y[V];
#pragma unroll
            for (int j = 0; j < V; j++)
                y[j] = map(at[j]);
            store(column, y);
        });
    }
};

template <int W, int V, int T, class Load>
MLP_DEVICE float mlp_sum(Load load)
{
    return mlp_row<W, V, T, Load>(load).sum([](float x) { return x; });
}

template <int W, int V, int T, class Load, class Store>
MLP_DEVICE void mlp_softmax(Load load, Store store)
{
    mlp_row<W, V, T, Load> row(load);
    const float most = row.maximum();
    const float total = row.sum([=](float x) { return expf(x - most); });
    row.finish([=](float x) { return expf(x - most) / total; }, store);
}

template <int W, int V, int T, class Load, class Store>
MLP_DEVICE void mlp_log_softmax(Load load, Store store)
{
    mlp_row<W, V, T, Load> row(load);
    const float most = row.maximum();
    const float total = logf(row.sum([=](float x) { return expf(x - most); }));
    row.finish([=](float x) { return x - most - total; }, store);
}

/* The mean is taken twice: what the first one, rounded, leaves over counts where the row is far from 0. */
template <int W, int V, int T, class Load, class Store>
MLP_DEVICE void mlp_layernorm(float eps, Load load, Store store)
{
    mlp_row<W, V, T, Load> row(load);
    const float about = row.sum([](float x) { return x; }) / W;
    const float rest = row.sum([=](float x) { return x - about; }) / W;
    const float variance = row.sum([=](float x) { return (x - about - rest) * (x - about - rest); }) / W;
    const float scale = 1.0f / sqrtf(variance + eps);
    row.finish([=](float x) { return (x - about - rest) * scale; }, store);
}

template <int W, int V, int T, class Load, class Store>
MLP_DEVICE void mlp_rmsnorm(float eps, Load load, Store store)
{
    mlp_row<W, V, T, Load> row(load);
    const float scale = 1.0f / sqrtf(row.sum([](float x) { return x * x; }) / W + eps);
    row.finish([=](float x) { return x * scale; }, store);
}

#endif
