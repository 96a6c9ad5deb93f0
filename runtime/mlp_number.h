/* mlp_number.h -- binary16 and bfloat16 to and from float: nearest even, NaN stays NaN, too large becomes infinite.
 * C99, usable from C++; correct under the default rounding mode and without -ffast-math. */
#ifndef MLP_NUMBER_H
#define MLP_NUMBER_H

#include <string.h>

#include "mlp_runtime.h"

static inline uint32_t mlp_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float mlp_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The 15 bits of a finite half, moved into a float's fields, are off by a factor of 2^112, subnormals included. */
static inline float mlp_f16_load(mlp_f16 half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = (uint32_t)(half & 0x7fffu) << 13;
    float size = mlp_float_of_bits(rest) * mlp_float_of_bits(0x77800000u);
    uint32_t bits = rest >= 0x0f800000u ? rest | 0x7f800000u : mlp_float_bits(size);
    return mlp_float_of_bits(sign | bits);
}

static inline mlp_f16 mlp_f16_store(float x)
{
    uint32_t bits = mlp_float_bits(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    uint32_t half;
    if (size > 0x7f800000u)                     /* NaN */
        half = 0x7e00u | (size >> 13 & 0x3ffu);
    else if (size >= 0x477ff000u)               /* 65520 lies halfway between the largest half and 2^16 */
        half = 0x7c00u;
    else if (size >= 0x38800000u)               /* 2^-14: the normal ones */
        half = (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13;
    else                                        /* a float near 0.5 has the spacing of a subnormal half, 2^-24 */
        half = mlp_float_bits(mlp_float_of_bits(size) + 0.5f) - 0x3f000000u;
    return (mlp_f16)(sign | half);
}

static inline float mlp_bf16_load(mlp_bf16 upper)
{
    return mlp_float_of_bits((uint32_t)upper << 16);
}

static inline mlp_bf16 mlp_bf16_store(float x)
{
    uint32_t bits = mlp_float_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)     /* NaN: keep it one when its lower half is dropped */
        return (mlp_bf16)(bits >> 16 | 0x40u);
    return (mlp_bf16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float mlp_round_f16(float x)
{
    return mlp_f16_load(mlp_f16_store(x));
}

static inline float mlp_round_bf16(float x)
{
    return mlp_bf16_load(mlp_bf16_store(x));
}

#endif
