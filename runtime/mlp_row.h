/* mlp_row.h -- operations on whole rows for generated CPU code, in place, on vectors of mlp_lanes.h. Sums are added up
 * in double, each lane by itself and the lanes in pairs: in an order that depends on the width and the instruction set
 * alone. NaN goes in, NaN comes out. The width is a constant where these are inlined. C99, usable from C++. */
#ifndef MLP_ROW_H
#define MLP_ROW_H

#include <math.h>

#include "mlp_math.h"

/* ---- Sums ---- */

typedef double mlp_double_lanes __attribute__((vector_size(4 * MLP_LANES)));
typedef float mlp_half_lanes __attribute__((vector_size(2 * MLP_LANES)));

/* A vector has room for half of the lanes in double. */
typedef struct mlp_doubles {
    mlp_double_lanes low, high;
} mlp_doubles;

MLP_INLINE mlp_doubles mlp_to_double(mlp_lanes x)
{
    mlp_half_lanes halves[2];
    memcpy(halves, &x, sizeof x);
    const mlp_doubles wide = {__builtin_convertvector(halves[0], mlp_double_lanes),
                              __builtin_convertvector(halves[1], mlp_double_lanes)};
    return wide;
}

MLP_INLINE mlp_doubles mlp_no_sums(void)
{
    const mlp_doubles zero = {{0}, {0}};
    return zero;
}

MLP_INLINE void mlp_add_up(mlp_doubles *sums, mlp_lanes x)
{
    const mlp_doubles wide = mlp_to_double(x);
    sums->low += wide.low;
    sums->high += wide.high;
}

/* The products of two floats are exact in double. */
MLP_INLINE void mlp_add_up_products(mlp_doubles *sums, mlp_lanes a, mlp_lanes b)
{
    const mlp_doubles left = mlp_to_double(a), right = mlp_to_double(b);
    sums->low += left.low * right.low;
    sums->high += left.high * right.high;
}

MLP_INLINE double mlp_total(mlp_doubles sums)
{
    const mlp_double_lanes both = sums.low + sums.high;
    double lane[MLP_LANES / 2];
    memcpy(lane, &both, sizeof both);
    for (size_t half = MLP_LANES / 4; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* ---- Softmax ---- */

MLP_INLINE float mlp_row_maximum(const float *y, size_t n)
{
    mlp_lanes largest = mlp_all(y[0]);
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES)
        largest = mlp_maximum(largest, mlp_load(y + i));
    if (MLP_FEW(n))
        largest = mlp_maximum(largest, mlp_keep_few(mlp_load_few(y + MLP_WHOLE(n), MLP_FEW(n)), MLP_FEW(n), y[0]));
    float lane[MLP_LANES];
    mlp_store(lane, largest);
    for (size_t half = MLP_LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] = lane[i] > lane[i + half] || lane[i] != lane[i] ? lane[i] : lane[i + half];
    return lane[0];
}

/* Never overflows: the largest element is subtracted first. */
MLP_INLINE void mlp_softmax_row(float *y, size_t n)
{
    const float largest = mlp_row_maximum(y, n);
    float *const few = y + MLP_WHOLE(n);
    mlp_lanes last = mlp_all(0.0f);
    mlp_doubles sums = mlp_no_sums();
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES) {
        const mlp_lanes x = mlp_exp_below_0(mlp_load(y + i) - largest);
        mlp_store(y + i, x);
        mlp_add_up(&sums, x);
    }
    if (MLP_FEW(n)) {
        last = mlp_exp_below_0(mlp_load_few(few, MLP_FEW(n)) - largest);
        mlp_add_up(&sums, mlp_keep_few(last, MLP_FEW(n), 0.0f));
    }
    const float scale = (float)(1.0 / mlp_total(sums));
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES)
        mlp_store(y + i, mlp_load(y + i) * scale);
    mlp_store_few(few, MLP_FEW(n), last * scale);
}

/* The shift goes off in two floats: the first difference is exact where digits cancel. */
MLP_INLINE mlp_lanes mlp_minus_double(mlp_lanes x, double shift)
{
    const float upper = (float)shift, rest = (float)(shift - upper);
    return x - upper - rest;
}

MLP_INLINE void mlp_log_softmax_row(float *y, size_t n)
{
    const float largest = mlp_row_maximum(y, n);
    float *const few = y + MLP_WHOLE(n);
    const mlp_lanes last = mlp_load_few(few, MLP_FEW(n));
    mlp_doubles sums = mlp_no_sums();
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES)
        mlp_add_up(&sums, mlp_exp_below_0(mlp_load(y + i) - largest));
    if (MLP_FEW(n))
        mlp_add_up(&sums, mlp_keep_few(mlp_exp_below_0(last - largest), MLP_FEW(n), 0.0f));
    const double shift = largest + log(mlp_total(sums));
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES)
        mlp_store(y + i, mlp_minus_double(mlp_load(y + i), shift));
    mlp_store_few(few, MLP_FEW(n), mlp_minus_double(last, shift));
}

/* ---- Norms ---- */

MLP_INLINE double mlp_row_mean(const float *y, size_t n)
{
    mlp_doubles sums = mlp_no_sums();
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES)
        mlp_add_up(&sums, mlp_load(y + i));
    if (MLP_FEW(n))
        mlp_add_up(&sums, mlp_load_few(y + MLP_WHOLE(n), MLP_FEW(n)));
    return mlp_total(sums) / (double)n;
}

/* The mean of squares of what elements are away from a centre. */
MLP_INLINE double mlp_row_mean_square(const float *y, size_t n, double centre)
{
    mlp_doubles sums = mlp_no_sums();
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES) {
        const mlp_doubles x = mlp_to_double(mlp_load(y + i));
        sums.low += (x.low - centre) * (x.low - centre);
        sums.high += (x.high - centre) * (x.high - centre);
    }
    double total = mlp_total(sums);
    for (size_t i = 0; i < MLP_FEW(n); i++) {
        const double x = y[MLP_WHOLE(n) + i] - centre;
        total += x * x;
    }
    return total / (double)n;
}

/* Two passes, mean then variance, so that a mean far from 0 costs no digits. weight and bias may be NULL. */
MLP_INLINE void mlp_layernorm_row(float *y, size_t n, float eps, const float *weight, const float *bias)
{
    const double mean = mlp_row_mean(y, n);
    const float scale = (float)(1.0 / sqrt(mlp_row_mean_square(y, n, mean) + eps));
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES) {
        mlp_lanes x = mlp_minus_double(mlp_load(y + i), mean) * scale;
        if (weight)
            x *= mlp_load(weight + i);
        if (bias)
            x += mlp_load(bias + i);
        mlp_store(y + i, x);
    }
    if (MLP_FEW(n)) {
        mlp_lanes x = mlp_minus_double(mlp_load_few(y + MLP_WHOLE(n), MLP_FEW(n)), mean) * scale;
        if (weight)
            x *= mlp_load_few(weight + MLP_WHOLE(n), MLP_FEW(n));
        if (bias)
            x += mlp_load_few(bias + MLP_WHOLE(n), MLP_FEW(n));
        mlp_store_few(y + MLP_WHOLE(n), MLP_FEW(n), x);
    }
}

/* y / sqrt(mean(y^2) + eps) * (offset + weight); without a weight, the last factor is left out. */
MLP_INLINE void mlp_rmsnorm_row(float *y, size_t n, float eps, float offset, const float *weight)
{
    const float scale = (float)(1.0 / sqrt(mlp_row_mean_square(y, n, 0.0) + eps));
    for (size_t i = 0; i < MLP_WHOLE(n); i += MLP_LANES) {
        const mlp_lanes x = mlp_load(y + i) * scale;
        mlp_store(y + i, weight ? x * (mlp_load(weight + i) + offset) : x);
    }
    if (MLP_FEW(n)) {
        const mlp_lanes x = mlp_load_few(y + MLP_WHOLE(n), MLP_FEW(n)) * scale;
        mlp_store_few(y + MLP_WHOLE(n), MLP_FEW(n),
                      weight ? x * (mlp_load_few(weight + MLP_WHOLE(n), MLP_FEW(n)) + offset) : x);
    }
}

#endif
