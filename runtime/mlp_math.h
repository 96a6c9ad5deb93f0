/* mlp_math.h -- the element-wise functions of generated CPU code, PyTorch's definitions, on vectors of mlp_lanes.h.
 *
 * No branches, no tables: an element has the same bits in every lane, whatever its neighbours are. NaN goes in, NaN
 * comes out. Results too small for normal numbers are rounded to subnormal ones; too large ones are infinite. C99,
 * usable from C++; needs IEEE arithmetic, so no -ffast-math; right with and without multiplication and addition in one
 * instruction.
 *
 * Coefficients come from tests/reference/mlp_math.py; tests/unit/runtime_math.c holds the functions to float64. Largest
 * errors in units of the last digit, over all floats from 2^-14 to 2^8 in size and one of 31 others: exp and log 1.1,
 * elu 1.7, gelu_tanh 1.8, softplus 2 (2.3 without FMA), sigmoid 2.4, tanh 2.6, silu 3.4, mish 4.7, gelu 7.5 (9.1
 * without FMA). Each is within 2 units or 1e-7, but for softplus without FMA, which is off by up to 2.2 units and
 * 1.3e-7. Two kinds of results have fewer digits: those of gelu_tanh far below 0, where the argument of exp was
 * rounded, are off by up to 1e-7; where the factor of x in silu, mish and gelu is subnormal, they are off by up to
 * 1e-43. */
#ifndef MLP_MATH_H
#define MLP_MATH_H

#include <math.h>

#include "mlp_lanes.h"

#define MLP_SIGN (-0x7fffffff - 1)

/* ---- Without rounding, or with one ---- */

MLP_INLINE mlp_lanes mlp_abs(mlp_lanes x)
{
    return (mlp_lanes)((mlp_lane_bits)x & 0x7fffffff);
}

MLP_INLINE mlp_lanes mlp_minus_abs(mlp_lanes x)
{
    return (mlp_lanes)((mlp_lane_bits)x | MLP_SIGN);
}

/* x, which is not negative, with the sign of another. */
MLP_INLINE mlp_lanes mlp_with_sign(mlp_lanes x, mlp_lanes sign)
{
    return (mlp_lanes)((mlp_lane_bits)x | ((mlp_lane_bits)sign & MLP_SIGN));
}

MLP_INLINE mlp_lanes mlp_at_most(mlp_lanes x, float limit)
{
    return mlp_select(x > limit, mlp_all(limit), x);
}

MLP_INLINE mlp_lanes mlp_at_least(mlp_lanes x, float limit)
{
    return mlp_select(x < limit, mlp_all(limit), x);
}

MLP_INLINE mlp_lanes mlp_clamp(mlp_lanes x, float low, float high)
{
    return mlp_at_most(mlp_at_least(x, low), high);
}

/* Negative zero becomes zero. */
MLP_INLINE mlp_lanes mlp_relu(mlp_lanes x)
{
    return (mlp_lanes)(~(mlp_lane_bits)(x <= 0.0f) & (mlp_lane_bits)x);
}

MLP_INLINE mlp_lanes mlp_relu6(mlp_lanes x)
{
    return mlp_at_most(mlp_relu(x), 6.0f);
}

MLP_INLINE mlp_lanes mlp_hardsigmoid(mlp_lanes x)
{
    return mlp_relu6(x + 3.0f) / 6.0f;
}

MLP_INLINE mlp_lanes mlp_hardswish(mlp_lanes x)
{
    return x * mlp_hardsigmoid(x);
}

MLP_INLINE mlp_lanes mlp_leaky_relu(mlp_lanes x, float slope)
{
    return mlp_select(x > 0.0f, x, x * slope);
}

MLP_INLINE mlp_lanes mlp_maximum(mlp_lanes a, mlp_lanes b)
{
    return mlp_select((a > b) | (a != a), a, b);
}

MLP_INLINE mlp_lanes mlp_minimum(mlp_lanes a, mlp_lanes b)
{
    return mlp_select((a < b) | (a != a), a, b);
}

MLP_INLINE mlp_lanes mlp_sqrt(mlp_lanes x)
{
    for (size_t i = 0; i < MLP_LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

/* ---- The exponential function ---- */

/* x = n log 2 + r with a whole n and the least r. n goes through a sum whose last digit counts ones, and stays in its
 * lowest bits. n times the upper part of log 2, of 9 bits, is exact. */
MLP_INLINE mlp_lanes mlp_exp_reduce(mlp_lanes x, mlp_lane_bits *n)
{
    const mlp_lanes shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
    *n = (mlp_lane_bits)shifted - 0x4b400000;
    return x - whole * 0.693359375f + whole * 2.12194440e-4f;
}

/* exp(r) - 1 for |r| up to log 2 / 2. */
MLP_INLINE mlp_lanes mlp_exp_rest(mlp_lanes r)
{
    mlp_lanes p = r * 0.00139464764f + 0.0083665736f;
    p = p * r + 0.041666355f;
    p = p * r + 0.166665435f;
    p = p * r + 0.5f;
    return p * (r * r) + r;
}

/* 2^n, -126 to 127. */
MLP_INLINE mlp_lanes mlp_power_of_2(mlp_lane_bits n)
{
    return (mlp_lanes)((n + 127) << 23);
}

MLP_INLINE mlp_lanes mlp_exp(mlp_lanes x)
{
    mlp_lane_bits n;
    const mlp_lanes r = mlp_exp_reduce(mlp_clamp(x, -104.0f, 89.0f), &n);
    const mlp_lane_bits half = n >> 1;
    return (mlp_exp_rest(r) + 1.0f) * mlp_power_of_2(half) * mlp_power_of_2(n - half);
}

/* exp(x) for x <= 0. */
MLP_INLINE mlp_lanes mlp_exp_below_0(mlp_lanes x)
{
    mlp_lane_bits n;
    const mlp_lanes r = mlp_exp_reduce(mlp_at_least(x, -104.0f), &n);
    return (mlp_exp_rest(r) + 1.0f) * mlp_power_of_2(n + 64) * 5.42101086e-20f;
}

/* exp(x) - 1 for x <= 0. */
MLP_INLINE mlp_lanes mlp_expm1_below_0(mlp_lanes x)
{
    mlp_lane_bits n;
    const mlp_lanes r = mlp_exp_reduce(mlp_at_least(x, -20.0f), &n), power = mlp_power_of_2(n);
    return power * mlp_exp_rest(r) + (power - 1.0f);
}

/* ---- Logarithms ---- */

/* x = 2^k (1 + f) with 1 + f from the root of 1/2 to that of 2. */
MLP_INLINE mlp_lanes mlp_log(mlp_lanes x)
{
    const mlp_lane_bits subnormal = x < 1.17549435e-38f;
    const mlp_lane_bits bits =
        (mlp_lane_bits)((mlp_lane_words)mlp_select(subnormal, x * 8388608.0f, x) - 0x3f3504f3u);
    const mlp_lane_bits exponent = (bits >> 23) - (subnormal & 23);
    const mlp_lanes f = (mlp_lanes)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f, square = f * f;
    const mlp_lanes k = (mlp_lanes)(exponent + 0x4b400000) - 12582912.0f;
    mlp_lanes p = f * -0.0785964355f + 0.128818721f;
    p = p * f - 0.131288439f;
    p = p * f + 0.141811654f;
    p = p * f - 0.166245431f;
    p = p * f + 0.200022891f;
    p = p * f - 0.250008106f;
    p = p * f + 0.333333164f;
    const mlp_lanes small = p * (square * f) - k * 2.12194440e-4f - square * 0.5f;
    mlp_lanes y = k * 0.693359375f + (f + small);
    y = mlp_select(x == 0.0f, mlp_all(-INFINITY), mlp_select(x == INFINITY, x, y));
    return mlp_select(x >= 0.0f, y, mlp_all(NAN));
}

/* log(1 + t) for 0 <= t <= 1. */
MLP_INLINE mlp_lanes mlp_log1p_to_1(mlp_lanes t)
{
    mlp_lanes p = t * -0.00341350003f + 0.0206291545f;
    p = p * t - 0.058453232f;
    p = p * t + 0.107593469f;
    p = p * t - 0.154010534f;
    p = p * t + 0.197108194f;
    p = p * t - 0.249614686f;
    p = p * t + 0.333307713f;
    p = p * t - 0.499999404f;
    return p * (t * t) + t;
}

/* ---- Activations ---- */

/* With t = tanh(x / 2), tanh(x) is 2 t / (1 + t^2), in which an error of t counts for less the closer t is to 1. 2 t is
 * x and a correction, at most a quarter of it where errors count. From 9.3 on the result is 1. The sign goes round all
 * that: the sum would make 0 of -0. */
MLP_INLINE mlp_lanes mlp_tanh(mlp_lanes x)
{
    const mlp_lanes a = mlp_at_most(mlp_abs(x), 9.3f), square = a * a;
    mlp_lanes p = square * -6.78926995e-08f - 0.000972121372f;
    p = p * square - 0.0833332539f;
    mlp_lanes q = square * 0.00104849774f + 0.111664563f;
    q = q * square + 1.0f;
    const mlp_lanes twice = a + a * square * p / q;
    return mlp_with_sign(twice / (twice * 0.25f * twice + 1.0f), x);
}

/* Below, exp(-|x|) cannot overflow; the two signs of x share it. */

MLP_INLINE mlp_lanes mlp_sigmoid(mlp_lanes x)
{
    const mlp_lanes t = mlp_exp_below_0(mlp_minus_abs(x));
    return mlp_select(x < 0.0f, t, mlp_all(1.0f)) / (t + 1.0f);
}

MLP_INLINE mlp_lanes mlp_silu(mlp_lanes x)
{
    const mlp_lanes t = mlp_exp_below_0(mlp_minus_abs(x));
    return mlp_select(x < 0.0f, x * t, x) / (t + 1.0f);
}

/* x times the normal distribution's lower tail. The upper tail of a = |x| is exp(-a^2 / 2) P(a) / Q(a). For its digits
 * far out, a^2 is taken in two parts: that of the upper half of a, which is exact, and the rest. */
MLP_INLINE mlp_lanes mlp_gelu(mlp_lanes x)
{
    const mlp_lanes a = mlp_at_most(mlp_abs(x), 14.5f);
    const mlp_lanes upper = (mlp_lanes)((mlp_lane_bits)a & -0x1000);
    const mlp_lanes square = upper * upper * -0.5f, rest = (a - upper) * (a + upper) * -0.5f;
    mlp_lane_bits n;
    const mlp_lanes r = mlp_exp_reduce(square, &n) + rest;
    mlp_lanes p = a * 0.0041174083f + 0.0406408235f;
    p = p * a + 0.183257848f;
    p = p * a + 0.438325763f;
    p = p * a + 0.5f;
    mlp_lanes q = a * 0.0103206923f + 0.101877876f;
    q = q * a + 0.469530493f;
    q = q * a + 1.20259774f;
    q = q * a + 1.67453647f;
    q = q * a + 1.0f;
    const mlp_lanes gate = p / q;
    const mlp_lanes tail = (mlp_exp_rest(r) * gate + gate) * mlp_power_of_2(n + 64) * 5.42101086e-20f;
    return x * mlp_select(x < 0.0f, tail, 1.0f - tail);
}

/* 0.5 x (1 + tanh(u)) is x sigmoid(2 u), which loses nothing where tanh comes close to -1. */
MLP_INLINE mlp_lanes mlp_gelu_tanh(mlp_lanes x)
{
    const mlp_lanes u = x * (x * x * 0.0713548163f + 1.59576912f);
    const mlp_lanes t = mlp_exp_below_0(mlp_minus_abs(u));
    return mlp_select(x < 0.0f, x * t, x) / (t + 1.0f);
}

MLP_INLINE mlp_lanes mlp_softplus(mlp_lanes x)
{
    return mlp_relu(x) + mlp_log1p_to_1(mlp_exp_below_0(mlp_minus_abs(x)));
}

/* tanh(log(1 + e)) is (e^2 + 2 e) / (e^2 + 2 e + 2); for x >= 0 both are divided by e^2, and what is missing to 1 is
 * subtracted from it. */
MLP_INLINE mlp_lanes mlp_mish(mlp_lanes x)
{
    const mlp_lanes t = mlp_exp_below_0(mlp_minus_abs(x));
    const mlp_lane_bits negative = x < 0.0f;
    const mlp_lanes over = mlp_select(negative, t * (t + 2.0f), t * 2.0f + 1.0f);
    const mlp_lanes rest = mlp_select(negative, mlp_all(2.0f), t * t * 2.0f);
    const mlp_lanes part = mlp_select(negative, over, rest) / (over + rest);
    return x * mlp_select(negative, part, 1.0f - part);
}

/* -0 stays. */
MLP_INLINE mlp_lanes mlp_elu(mlp_lanes x, float alpha)
{
    return mlp_select(x < 0.0f, mlp_expm1_below_0(x) * alpha, x);
}

#endif
