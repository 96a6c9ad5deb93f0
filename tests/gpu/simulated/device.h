/* Included in front of a generated .cu file, so that a C++ compiler for the host makes plain functions of its kernels.
 * The types and conversions are those of CUDA's own headers; what only a device has is in threads.cpp, and what takes
 * PTX in files that stand for those of the runtime. */
#ifndef SIMULATED_DEVICE_H
#define SIMULATED_DEVICE_H

#include <algorithm>
#include <cmath>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "threads.h"

#undef __shared__
#define __shared__ static           /* blocks with such variables run one after the other */
#undef __launch_bounds__
#define __launch_bounds__(...)

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

void __syncthreads();

static inline void __syncwarp()
{
    simulated_meet_lanes(~0u, nullptr, 0);
}

template <class Word>
static inline Word __shfl_sync(unsigned mask, Word x, int lane)
{
    return simulated_shuffle(mask, x, unsigned(lane));
}

template <class Word>
static inline Word __shfl_xor_sync(unsigned mask, Word x, int distance)
{
    return simulated_shuffle(mask, x, threadIdx.x % 32 ^ unsigned(distance));
}

template <class Word>
static inline Word __shfl_down_sync(unsigned mask, Word x, int distance)
{
    const unsigned lane = threadIdx.x % 32, from = lane + unsigned(distance);
    return simulated_shuffle(mask, x, from < 32 ? from : lane);
}

template <class Word>
static inline Word __ldcg(const Word *at)
{
    return *at;
}

static inline float __uint_as_float(unsigned word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline unsigned __float_as_uint(float x)
{
    unsigned word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static inline float __fdividef(float x, float y)
{
    return x / y;
}

extern "C" cudaError_t simulated_address(void **at, void *symbol);
#define cudaGetSymbolAddress(at, symbol) simulated_address((at), (symbol))

#endif
