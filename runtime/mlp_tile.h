/* mlp_tile.h -- products for generated CPU code, in tiles that stay in registers: each size is a function of its own,
 * which MLP_PRODUCT defines. For gcc and clang, by their vector types.
 *
 * Weights are packed for it: panels of 16 columns of the output, each [k][16], one behind the other, the last one
 * filled up with zeros. Behind a bias, too, there are zeros, or at least memory, up to a multiple of 16 columns.
 *
 * A row has the same bits alone and among others: the sum of an element starts from its bias, and takes the products in
 * one order that depends on the sizes alone. On x86-64 each product is compiled twice, for any processor and for those
 * with AVX2 and FMA, unless the compiler is told that the latter is a given; which is used depends on the processor.
 * Multiplication and addition are one instruction where the compiler may contract them (gcc: -ffp-contract=fast, which
 * -std=c11 turns off). C99, usable from C++; needs IEEE arithmetic, so no -ffast-math. */
#ifndef MLP_TILE_H
#define MLP_TILE_H

#include <stddef.h>
#include <string.h>

enum {
    MLP_PANEL = 16,                 /* columns */
    MLP_NARROW_DEPTH = 32           /* a product of one panel this deep splits its sums, each row by itself */
};

typedef float mlp_lanes __attribute__((vector_size(32)));
typedef int mlp_lane_bits __attribute__((vector_size(32)));
typedef float mlp_lanes_anywhere __attribute__((vector_size(32), aligned(4), may_alias));

/* As this file is compiled. */
#define MLP_TILE(name) mlp_tile_##name
#define MLP_TILE_TARGET
#if defined(__x86_64__) && defined(__AVX2__)
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_PIN(a, b) __asm__("" : "+x"(a), "+x"(b))
#elif defined(__x86_64__)
#define MLP_TILE_HEIGHT 2
#define MLP_TILE_PIN(a, b) (void)0
#else
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_PIN(a, b) (void)0
#endif
#include "mlp_tile_kernels.h"
#undef MLP_TILE
#undef MLP_TILE_TARGET
#undef MLP_TILE_HEIGHT
#undef MLP_TILE_PIN

/* For AVX2 and FMA. */
#if defined(__x86_64__) && !(defined(__AVX2__) && defined(__FMA__))
#define MLP_TILE_CHOICE 1
#define MLP_TILE(name) mlp_tile_avx2_##name
#define MLP_TILE_TARGET __attribute__((target("avx2,fma")))
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_PIN(a, b) __asm__("" : "+x"(a), "+x"(b))
#include "mlp_tile_kernels.h"
#undef MLP_TILE
#undef MLP_TILE_TARGET
#undef MLP_TILE_HEIGHT
#undef MLP_TILE_PIN
#endif

#define MLP_PRODUCT_AS(name, tile, target, n, k, ldx, ldy, relu)                                                  \
    target static __attribute__((noinline)) void name(size_t rows, const float *x, const float *w, const float *bias, \
                                                      float *y)                                                   \
    {                                                                                                             \
        tile(rows, n, k, x, ldx, w, bias, y, ldy, relu);                                                          \
    }

/* Defines name(rows, x, w, bias, y): y = x w + bias, then relu where that is 1; x [rows, k] in rows ldx apart, w
 * packed, bias [n] or NULL, y [rows, n] in rows ldy apart. What y held is never read: it may be NaN. */
#if defined(MLP_TILE_CHOICE)
#define MLP_PRODUCT(name, n, k, ldx, ldy, relu)                                                                   \
    MLP_PRODUCT_AS(name##_any, mlp_tile_product, , n, k, ldx, ldy, relu)                                          \
    MLP_PRODUCT_AS(name##_avx2, mlp_tile_avx2_product, __attribute__((target("avx2,fma"))), n, k, ldx, ldy, relu) \
    static void name(size_t rows, const float *x, const float *w, const float *bias, float *y)                    \
    {                                                                                                             \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                      \
            name##_avx2(rows, x, w, bias, y);                                                                     \
        else                                                                                                      \
            name##_any(rows, x, w, bias, y);                                                                      \
    }
#else
#define MLP_PRODUCT(name, n, k, ldx, ldy, relu) MLP_PRODUCT_AS(name, mlp_tile_product, , n, k, ldx, ldy, relu)
#endif

#endif
