/* mlp_tile.h -- products for generated CPU code, in tiles that stay in registers: each size is a function of its own,
 * which MLP_PRODUCT defines. For gcc and clang, by their vector types (mlp_lanes.h).
 *
 * Weights are packed for it: panels of 16 columns of the output, each [k][16], one behind the other, the last one
 * filled up with zeros. Behind a bias, too, there are zeros, or at least memory, up to a multiple of 16 columns.
 *
 * A row has the same bits alone and among others: the sum of an element starts from its bias, and takes the products in
 * one order that depends on the sizes alone. Multiplication and addition are one instruction where the compiler may
 * contract them (gcc: -ffp-contract=fast, which -std=c11 turns off). C99, usable from C++; needs IEEE arithmetic, so no
 * -ffast-math.
 *
 * Accumulators are named variables: arrays of them end up in memory. `height`, `vectors`, `panels`, `n`, `k` and `relu`
 * are constants where these functions are inlined, so that what they rule out is gone. */
#ifndef MLP_TILE_H
#define MLP_TILE_H

#include "mlp_lanes.h"

/* What fills the registers: a tile is up to MLP_TILE_HEIGHT rows by MLP_TILE_WIDTH columns, two or four vectors; one
 * row alone walks up to MLP_TILE_STREAMS panels side by side. MLP_TILE_PIN holds a vector in a register: gcc would
 * otherwise read the weights from memory again for each row. (clang does not, and takes no vector of 64 bytes here where
 * it was not told of AVX-512 for the whole file.) */
#if MLP_LANES == 16
#define MLP_TILE_WIDTH 32
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_STREAMS 6
#else
#define MLP_TILE_WIDTH 16
#if defined(MLP_TILE_HEIGHT)
/* as the includer says */
#elif defined(__x86_64__) && MLP_LANES == 4
#define MLP_TILE_HEIGHT 2
#define MLP_TILE_STREAMS 2
#else
#define MLP_TILE_HEIGHT 6
#define MLP_TILE_STREAMS 4
#endif
#endif

#if defined(MLP_TILE_PIN)
/* as the includer says */
#elif defined(__clang__)
#define MLP_TILE_PIN(a) (void)0
#elif defined(__x86_64__)
#define MLP_TILE_PIN(a) __asm__("" : "+v"(a))
#elif defined(__aarch64__)
#define MLP_TILE_PIN(a) __asm__("" : "+w"(a))
#else
#define MLP_TILE_PIN(a) (void)0
#endif

enum {
    MLP_PANEL = 16,             /* columns */
    MLP_PANEL_VECTORS = MLP_PANEL / MLP_LANES,
    MLP_NARROW_DEPTH = 32       /* a product of one panel this deep splits its sums, each row by itself */
};

/* One row of a tile: its sums a0 to a3, or as many vectors of them as there are. They go by address: by value, their
 * passing would depend on the instruction set. */
#define MLP_TILE_SUMS(a) &a##0, &a##1, &a##2, &a##3

/* What the sums start from: the bias, or zeros. */
MLP_INLINE void mlp_tile_begin(size_t vectors, const float *bias, mlp_lanes *a0, mlp_lanes *a1, mlp_lanes *a2,
                               mlp_lanes *a3)
{
    const mlp_lanes zero = {0};
    *a0 = *a1 = *a2 = *a3 = zero;
    if (bias)
        *a0 = mlp_load(bias);
    if (bias && vectors > 1)
        *a1 = mlp_load(bias + MLP_LANES);
    if (bias && vectors > 2)
        *a2 = mlp_load(bias + 2 * MLP_LANES);
    if (bias && vectors > 3)
        *a3 = mlp_load(bias + 3 * MLP_LANES);
}

/* The first `columns` of a vector, all where there are as many. NaN is not <= 0, and stays. */
MLP_INLINE void mlp_tile_store_vector(float *y, size_t columns, int relu, const mlp_lanes *sums)
{
    const mlp_lanes zero = {0};
    mlp_lanes c = *sums;
    if (relu)
        c = (mlp_lanes)((mlp_lane_bits)c & ~(mlp_lane_bits)(c <= zero));
    if (columns >= MLP_LANES)
        mlp_store(y, c);
    else
        memcpy(y, &c, columns * sizeof *y);
}

MLP_INLINE void mlp_tile_store(size_t vectors, float *y, size_t columns, int relu, const mlp_lanes *a0,
                               const mlp_lanes *a1, const mlp_lanes *a2, const mlp_lanes *a3)
{
    mlp_tile_store_vector(y, columns, relu, a0);
    if (vectors > 1 && columns > MLP_LANES)
        mlp_tile_store_vector(y + MLP_LANES, columns - MLP_LANES, relu, a1);
    if (vectors > 2 && columns > 2 * MLP_LANES)
        mlp_tile_store_vector(y + 2 * MLP_LANES, columns - 2 * MLP_LANES, relu, a2);
    if (vectors > 3 && columns > 3 * MLP_LANES)
        mlp_tile_store_vector(y + 3 * MLP_LANES, columns - 3 * MLP_LANES, relu, a3);
}

/* An element of the row times the vectors w0 to w3 of weights. */
#define MLP_TILE_ADD(element, a)        \
    a##0 += (element) * w0;             \
    if (vectors > 1)                    \
        a##1 += (element) * w1;         \
    if (vectors > 2)                    \
        a##2 += (element) * w2;         \
    if (vectors > 3)                    \
        a##3 += (element) * w3;

/* `height` rows by `vectors` of columns. A vector of weights stands behind the one before in its panel or, where that
 * ends, in the next panel. */
MLP_INLINE void mlp_tile_rows(size_t height, size_t vectors, size_t k, const float *x, size_t ldx, const float *w,
                              const float *bias, float *y, size_t ldy, size_t columns, int relu)
{
    mlp_lanes w0, w1, w2, w3, a0, a1, a2, a3;
    mlp_tile_begin(vectors, bias, MLP_TILE_SUMS(a));
    mlp_lanes b0 = a0, b1 = a1, b2 = a2, b3 = a3, c0 = a0, c1 = a1, c2 = a2, c3 = a3, d0 = a0, d1 = a1, d2 = a2,
              d3 = a3, e0 = a0, e1 = a1, e2 = a2, e3 = a3, f0 = a0, f1 = a1, f2 = a2, f3 = a3;
#define MLP_TILE_WEIGHT(vector)                                                                                     \
    if (vectors > vector) {                                                                                         \
        w##vector = mlp_load(w + vector / MLP_PANEL_VECTORS * next + vector % MLP_PANEL_VECTORS * MLP_LANES);       \
        MLP_TILE_PIN(w##vector);                                                                                    \
    }
#define MLP_TILE_ROW(row, a)                        \
    if (height > row) {                             \
        const float element = x[row * ldx + i];     \
        MLP_TILE_ADD(element, a)                    \
    }
#define MLP_TILE_END(row, a)                                                                \
    if (height > row)                                                                       \
        mlp_tile_store(vectors, y + row * ldy, columns, relu, MLP_TILE_SUMS(a));
    const size_t next = k * MLP_PANEL;
    for (size_t i = 0; i < k; i++, w += MLP_PANEL) {
        MLP_TILE_WEIGHT(0)
        MLP_TILE_WEIGHT(1)
        MLP_TILE_WEIGHT(2)
        MLP_TILE_WEIGHT(3)
        MLP_TILE_ROW(0, a)
        MLP_TILE_ROW(1, b)
        MLP_TILE_ROW(2, c)
        MLP_TILE_ROW(3, d)
        MLP_TILE_ROW(4, e)
        MLP_TILE_ROW(5, f)
    }
    MLP_TILE_END(0, a)
    MLP_TILE_END(1, b)
    MLP_TILE_END(2, c)
    MLP_TILE_END(3, d)
    MLP_TILE_END(4, e)
    MLP_TILE_END(5, f)
#undef MLP_TILE_WEIGHT
#undef MLP_TILE_ROW
#undef MLP_TILE_END
}

/* One row by up to six panels, read side by side: as many sums under way as hide the time of an addition. */
MLP_INLINE void mlp_tile_row(size_t panels, size_t k, const float *x, const float *w, const float *bias, float *y,
                             size_t columns, int relu)
{
    const size_t vectors = MLP_PANEL_VECTORS, next = k * MLP_PANEL;
    mlp_lanes w0, w1, w2, w3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3, f0, f1,
              f2, f3;
#define MLP_TILE_BEGIN(panel, a)                                                                                    \
    mlp_tile_begin(vectors, bias && panels > panel ? bias + panel * MLP_PANEL : NULL, MLP_TILE_SUMS(a));
#define MLP_TILE_COLUMNS(panel, a)                                  \
    if (panels > panel) {                                           \
        const float *const from = w + panel * next;                 \
        w0 = mlp_load(from);                                        \
        if (vectors > 1)                                            \
            w1 = mlp_load(from + MLP_LANES);                        \
        if (vectors > 2)                                            \
            w2 = mlp_load(from + 2 * MLP_LANES);                    \
        if (vectors > 3)                                            \
            w3 = mlp_load(from + 3 * MLP_LANES);                    \
        MLP_TILE_ADD(element, a)                                    \
    }
#define MLP_TILE_END(panel, a)                                                                                      \
    if (panels > panel)                                                                                             \
        mlp_tile_store(vectors, y + panel * MLP_PANEL, columns - panel * MLP_PANEL, relu, MLP_TILE_SUMS(a));
    MLP_TILE_BEGIN(0, a)
    MLP_TILE_BEGIN(1, b)
    MLP_TILE_BEGIN(2, c)
    MLP_TILE_BEGIN(3, d)
    MLP_TILE_BEGIN(4, e)
    MLP_TILE_BEGIN(5, f)
    for (size_t i = 0; i < k; i++, w += MLP_PANEL) {
        const float element = x[i];
        MLP_TILE_COLUMNS(0, a)
        MLP_TILE_COLUMNS(1, b)
        MLP_TILE_COLUMNS(2, c)
        MLP_TILE_COLUMNS(3, d)
        MLP_TILE_COLUMNS(4, e)
        MLP_TILE_COLUMNS(5, f)
    }
    MLP_TILE_END(0, a)
    MLP_TILE_END(1, b)
    MLP_TILE_END(2, c)
    MLP_TILE_END(3, d)
    MLP_TILE_END(4, e)
    MLP_TILE_END(5, f)
#undef MLP_TILE_BEGIN
#undef MLP_TILE_COLUMNS
#undef MLP_TILE_END
}

/* One row by one or two vectors of a panel: every fourth element goes to a sum of its own, else each addition would
 * wait for the last. */
MLP_INLINE void mlp_tile_narrow(size_t vectors, size_t k, const float *x, const float *w, const float *bias,
                                float *y, size_t columns, int relu)
{
    const mlp_lanes zero = {0};
    mlp_lanes a0, a1, a2, a3, b0 = zero, b1 = zero, c0 = zero, c1 = zero, d0 = zero, d1 = zero;
    mlp_tile_begin(vectors, bias, MLP_TILE_SUMS(a));
#define MLP_TILE_ELEMENT(element, a)                                                    \
    a##0 += x[element] * mlp_load(w + (element) * MLP_PANEL);                           \
    if (vectors > 1)                                                                    \
        a##1 += x[element] * mlp_load(w + (element) * MLP_PANEL + MLP_LANES);
    size_t i = 0;
    for (; i + 4 <= k; i += 4) {
        MLP_TILE_ELEMENT(i, a)
        MLP_TILE_ELEMENT(i + 1, b)
        MLP_TILE_ELEMENT(i + 2, c)
        MLP_TILE_ELEMENT(i + 3, d)
    }
    for (; i < k; i++) {
        MLP_TILE_ELEMENT(i, a)
    }
#undef MLP_TILE_ELEMENT
    a0 = (a0 + b0) + (c0 + d0);
    a1 = (a1 + b1) + (c1 + d1);
    mlp_tile_store(vectors, y, columns, relu, MLP_TILE_SUMS(a));
}

/* How many vectors hold some columns. */
#define MLP_VECTORS(columns) (((columns) + MLP_LANES - 1) / MLP_LANES)

/* A product of one panel, row by row: two vectors of columns at a time. */
MLP_INLINE void mlp_tile_narrow_rows(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const float *w,
                                     const float *bias, float *y, size_t ldy, int relu)
{
    const size_t half = 2 * MLP_LANES;
    for (size_t r = 0; r < rows; r++, x += ldx, y += ldy) {
        mlp_tile_narrow(n > MLP_LANES ? 2 : 1, k, x, w, bias, y, n, relu);
        if (n > half)
            mlp_tile_narrow(n > half + MLP_LANES ? 2 : 1, k, x, w + half, bias ? bias + half : bias, y + half, n - half,
                            relu);
    }
}

/* The whole product of one row, its panels in groups of nearly one size. */
MLP_INLINE void mlp_tile_single(size_t n, size_t k, const float *x, const float *w, const float *bias, float *y,
                                int relu)
{
    const size_t panels = (n + MLP_PANEL - 1) / MLP_PANEL, groups = (panels + MLP_TILE_STREAMS - 1) / MLP_TILE_STREAMS;
    const size_t least = panels / groups, larger = panels % groups;
    size_t panel = 0;
    for (size_t group = 0; group < larger; group++, panel += least + 1)
        mlp_tile_row(least + 1, k, x, w + panel * MLP_PANEL * k, bias ? bias + panel * MLP_PANEL : bias,
                     y + panel * MLP_PANEL, n - panel * MLP_PANEL, relu);
    for (size_t group = larger; group < groups; group++, panel += least)
        mlp_tile_row(least, k, x, w + panel * MLP_PANEL * k, bias ? bias + panel * MLP_PANEL : bias,
                     y + panel * MLP_PANEL, n - panel * MLP_PANEL, relu);
}

/* Some columns of several rows, in tiles of nearly one height: a short one at the end would leave the adders idle. */
MLP_INLINE void mlp_tile_columns(size_t rows, size_t k, const float *x, size_t ldx, const float *w,
                                 const float *bias, float *y, size_t ldy, size_t columns, int relu)
{
    const size_t tiles = (rows + MLP_TILE_HEIGHT - 1) / MLP_TILE_HEIGHT;
    const size_t least = rows / tiles, taller = rows % tiles;
    for (size_t tile = 0; tile < tiles; tile++) {
        const size_t height = least + (tile < taller);
#define MLP_TILE_CASE(count)                                                                            \
    case count:                                                                                         \
        mlp_tile_rows(count, MLP_VECTORS(columns), k, x, ldx, w, bias, y, ldy, columns, relu);          \
        break;
        switch (height) {
            MLP_TILE_CASE(1)
            MLP_TILE_CASE(2)
#if MLP_TILE_HEIGHT > 2
            MLP_TILE_CASE(3)
            MLP_TILE_CASE(4)
            MLP_TILE_CASE(5)
            MLP_TILE_CASE(6)
#endif
        }
#undef MLP_TILE_CASE
        x += height * ldx;
        y += height * ldy;
    }
}

MLP_INLINE void mlp_tile_product(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const float *w,
                                 const float *bias, float *y, size_t ldy, int relu)
{
    const size_t last = n % MLP_TILE_WIDTH, whole = n - last;
    if (n <= MLP_PANEL && k >= MLP_NARROW_DEPTH) {
        mlp_tile_narrow_rows(rows, n, k, x, ldx, w, bias, y, ldy, relu);
    } else if (rows == 1) {
        mlp_tile_single(n, k, x, w, bias, y, relu);
    } else if (rows) {
        for (size_t column = 0; column < whole; column += MLP_TILE_WIDTH)
            mlp_tile_columns(rows, k, x, ldx, w + column * k, bias ? bias + column : bias, y + column, ldy,
                             MLP_TILE_WIDTH, relu);
        if (last)
            mlp_tile_columns(rows, k, x, ldx, w + whole * k, bias ? bias + whole : bias, y + whole, ldy, last, relu);
    }
}

/* Some of the panels of one row: as mlp_tile_single, where how many there are is known late. */
MLP_INLINE void mlp_tile_panels(size_t columns, size_t k, const float *x, const float *w, const float *bias,
                                float *y, int relu)
{
    const size_t panels = (columns + MLP_PANEL - 1) / MLP_PANEL;
    const size_t groups = (panels + MLP_TILE_STREAMS - 1) / MLP_TILE_STREAMS;
    for (size_t group = 0, panel = 0, next; group < groups; group++, panel = next) {
        next = panels * (group + 1) / groups;
#define MLP_TILE_CASE(count)                                                                                        \
    case count:                                                                                                     \
        mlp_tile_row(count, k, x, w + panel * MLP_PANEL * k, bias ? bias + panel * MLP_PANEL : bias,                \
                     y + panel * MLP_PANEL, columns - panel * MLP_PANEL, relu);                                     \
        break;
        switch (next - panel) {
            MLP_TILE_CASE(1)
            MLP_TILE_CASE(2)
#if MLP_TILE_STREAMS > 2
            MLP_TILE_CASE(3)
            MLP_TILE_CASE(4)
#endif
#if MLP_TILE_STREAMS > 4
            MLP_TILE_CASE(5)
            MLP_TILE_CASE(6)
#endif
        }
#undef MLP_TILE_CASE
    }
}

/* A thread's share of a product: all columns of some rows, or those from `column` on, a multiple of 32, to another or
 * the end. */
MLP_INLINE void mlp_tile_share(size_t rows, size_t column, size_t end, size_t n, size_t k, const float *x,
                               size_t ldx, const float *w, const float *bias, float *y, size_t ldy, int relu)
{
    if (column == 0 && end == n) {
        mlp_tile_product(rows, n, k, x, ldx, w, bias, y, ldy, relu);
    } else if (rows == 1) {
        mlp_tile_panels(end - column, k, x, w + column * k, bias ? bias + column : bias, y + column, relu);
    } else if (rows) {
        for (; column + MLP_TILE_WIDTH <= end; column += MLP_TILE_WIDTH)
            mlp_tile_columns(rows, k, x, ldx, w + column * k, bias ? bias + column : bias, y + column, ldy,
                             MLP_TILE_WIDTH, relu);
        if (column < end)
            mlp_tile_columns(rows, k, x, ldx, w + column * k, bias ? bias + column : bias, y + column, ldy,
                             n % MLP_TILE_WIDTH, relu);
    }
}

/* Defines name(rows, x, w, bias, y): y = x w + bias, then relu where that is 1; x [rows, k] in rows ldx apart, w
 * packed, bias [n] or NULL, y [rows, n] in rows ldy apart. What y held is never read: it may be NaN. */
#define MLP_PRODUCT(name, n, k, ldx, ldy, relu)                                                                     \
    static __attribute__((noinline)) void name(size_t rows, const float *x, const float *w, const float *bias,      \
                                               float *y)                                                            \
    {                                                                                                               \
        mlp_tile_product(rows, n, k, x, ldx, w, bias, y, ldy, relu);                                                \
    }

/* Defines name(share, x, w, bias, y): the same for several threads, each of which does its mlp_share. */
#define MLP_PRODUCT_SHARED(name, n, k, ldx, ldy, relu)                                                              \
    static __attribute__((noinline)) void name(mlp_share share, const float *x, const float *w, const float *bias,  \
                                               float *y)                                                            \
    {                                                                                                               \
        mlp_tile_share(share.row_end - share.row, share.column, share.column_end, n, k, x + share.row * (ldx), ldx, \
                       w, bias, y + share.row * (ldy), ldy, relu);                                                  \
    }

#endif
