/* Included in front of a generated .cu file, so that a C++ compiler for the host makes plain functions of its kernels.
 * The types and conversions are those of CUDA's own headers; what only a device has is in device.cpp. */
#ifndef SIMULATED_DEVICE_H
#define SIMULATED_DEVICE_H

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#undef __shared__
#define __shared__ static           /* blocks run one after the other */
#undef __launch_bounds__
#define __launch_bounds__(threads)

extern dim3 simulated_thread, simulated_block, simulated_block_size, simulated_grid_size;
#define threadIdx simulated_thread
#define blockIdx simulated_block
#define blockDim simulated_block_size
#define gridDim simulated_grid_size

float __shfl_xor_sync(unsigned mask, float x, int distance);
void __syncthreads();

static inline float normcdff(float x)
{
    return 0.5f * erfcf(-x * 0.70710678f);
}

#define cudaGetSymbolAddress(at, symbol) (*(at) = (symbol), cudaSuccess)

#endif
