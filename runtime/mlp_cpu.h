/* mlp_cpu.h -- what generated CPU code calls beside the products of mlp_tile.h: PyTorch's functions in f32, and
 * operations on whole rows, in place. Comparisons stand so that NaN falls through to the argument: NaN goes in, NaN comes out.
 * C99, usable from C++; needs IEEE arithmetic, so no -ffast-math. */
#ifndef MLP_CPU_H
#define MLP_CPU_H

#include <math.h>

#include "mlp_number.h"
#include "mlp_tile.h"

/* ---- Element by element ---- */

static inline float mlp_abs(float x)
{
    return fabsf(x);
}

static inline float mlp_exp(float x)
{
    return expf(x);
}

static inline float mlp_log(float x)
{
    return logf(x);
}

static inline float mlp_sqrt(float x)
{
    return sqrtf(x);
}

static inline float mlp_tanh(float x)
{
    return tanhf(x);
}

static inline float mlp_relu(float x)
{
    return x <= 0.0f ? 0.0f : x;
}

static inline float mlp_relu6(float x)
{
    return x <= 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
}

/* As x times the normal distribution's lower tail: written with erfc, it keeps its digits far below 0. */
static inline float mlp_gelu(float x)
{
    return 0.5f * x * erfcf(x * -0.70710678118654752f);
}

/* 0.5 x (1 + tanh(u)) is x / (1 + exp(-2 u)), which loses nothing where tanh comes close to -1. */
static inline float mlp_gelu_tanh(float x)
{
    float u = 0.79788456080286536f * (x + 0.044715f * x * x * x);
    return x / (1.0f + expf(-2.0f * u));
}

static inline float mlp_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static inline float mlp_silu(float x)
{
    return x / (1.0f + expf(-x));
}

static inline float mlp_softplus(float x)
{
    return x > 20.0f ? x : log1pf(expf(x));
}

static inline float mlp_mish(float x)
{
    return x * tanhf(log1pf(expf(x)));
}

static inline float mlp_hardsigmoid(float x)
{
    return mlp_relu6(x + 3.0f) / 6.0f;
}

static inline float mlp_hardswish(float x)
{
    return x * mlp_hardsigmoid(x);
}

static inline float mlp_leaky_relu(float x, float slope)
{
    return x > 0.0f ? x : x * slope;
}

static inline float mlp_elu(float x, float alpha)
{
    return x > 0.0f ? x : alpha * expm1f(x);
}

static inline float mlp_clamp(float x, float lo, float hi)
{
    float raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
}

/* NaN if either is NaN. */
static inline float mlp_maximum(float a, float b)
{
    return a > b || a != a ? a : b;
}

static inline float mlp_minimum(float a, float b)
{
    return a < b || a != a ? a : b;
}

/* ---- Whole rows ---- */

static inline float mlp_row_maximum(const float *y, size_t n)
{
    float largest = y[0];
    for (size_t i = 1; i < n; i++)
        largest = mlp_maximum(largest, y[i]);
    return largest;
}

/* Never overflows: the largest element is subtracted first. */
static inline void mlp_softmax_row(float *y, size_t n)
{
    float largest = mlp_row_maximum(y, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = expf(y[i] - largest);
        sum += y[i];
    }
    float scale = (float)(1.0 / sum);
    for (size_t i = 0; i < n; i++)
        y[i] *= scale;
}

static inline void mlp_log_softmax_row(float *y, size_t n)
{
    float largest = mlp_row_maximum(y, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += expf(y[i] - largest);
    double shift = largest + log(sum);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(y[i] - shift);
}

/* Two passes, mean then variance, so that a mean far from 0 costs no digits. weight and bias may be NULL. */
static inline void mlp_layernorm_row(float *y, size_t n, float eps, const float *weight, const float *bias)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += y[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (y[i] - mean) * (y[i] - mean);
    float scale = (float)(1.0 / sqrt(variance / (double)n + eps));
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)(y[i] - mean) * scale;
        if (weight)
            y[i] *= weight[i];
        if (bias)
            y[i] += bias[i];
    }
}

/* y / sqrt(mean(y^2) + eps) * (offset + weight); without a weight, the last factor is left out. */
static inline void mlp_rmsnorm_row(float *y, size_t n, float eps, float offset, const float *weight)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)y[i] * y[i];
    float scale = (float)(1.0 / sqrt(squares / (double)n + eps));
    for (size_t i = 0; i < n; i++) {
        y[i] *= scale;
        if (weight)
            y[i] *= offset + weight[i];
    }
}

#endif
