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
 * What else is to be done to sums, an epilogue does while they are in the nearest cache, and writes the output. It gets
 * some columns of many rows, or some panels of one row: called for each tile, it would let the multipliers run dry each
 * time.
 *
 * Accumulators are named variables: arrays of them end up in memory. `height`, `vectors`, `panels` and all of a product
 * but its pointers are constants where these functions are inlined, so that what they rule out is gone. */
#ifndef MLP_TILE_H
#define MLP_TILE_H

#include "mlp_math.h"

/* What fills the registers: a tile is up to MLP_TILE_HEIGHT rows by MLP_TILE_WIDTH columns, two or four vectors; one
 * row alone walks up to MLP_TILE_STREAMS panels side by side. MLP_TILE_PIN holds a vector in a register: gcc would
 * otherwise read the weights from memory again for each row. (clang does not, and takes no vector of 64 bytes here
 * where it was not told of AVX-512 for the whole file.) */
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

/* How many rows of sums wait for an epilogue: few enough to stay in the nearest cache. */
#if !defined(MLP_TILE_BLOCK)
#define MLP_TILE_BLOCK 60
#endif

#define MLP_TILE_ALIGNED __attribute__((aligned(4 * MLP_LANES)))

enum {
    MLP_PANEL = 16,             /* columns */
    MLP_PANEL_VECTORS = MLP_PANEL / MLP_LANES,
    MLP_NARROW_DEPTH = 32       /* a product of one panel this deep splits its sums, each row by itself */
};

/* ---- What a product is ---- */

/* Sums that have left the registers: of some rows and columns, with the bias. */
typedef struct mlp_tile {
    const float *sums;          /* in rows MLP_TILE_WIDTH apart */
    void *y;                    /* the whole output */
    size_t row, rows;           /* the first of the rows in it, and how many there are */
    size_t column, columns;     /* the same; a multiple of 16 unless they are the last */
} mlp_tile;

/* Makes that part of the output. `rows` is what a step was given: where it finds its operands. Not to be inlined: its
 * constants would take registers from the sums. */
struct mlp_rows;
typedef void mlp_epilogue(const struct mlp_rows *rows, const mlp_tile *tile);

typedef struct mlp_product {
    size_t n, k;                /* columns out, in */
    const float *x;             /* in rows ldx apart */
    size_t ldx;
    const float *w;             /* packed */
    const float *bias;          /* or NULL */
    void *y;
    size_t ldy;                 /* without an epilogue: y is floats in rows so far apart, */
    int relu;                   /* from which relu makes its result where this is 1 */
    mlp_epilogue *epilogue;     /* or NULL */
    const struct mlp_rows *rows;
} mlp_product;

/* The weights of a column and those to the right of it; the column is the first of its panel. */
MLP_INLINE const float *mlp_tile_weight(const mlp_product *p, size_t column)
{
    return p->w + column * p->k;
}

/* ---- Where sums begin and end ---- */

/* One row of a tile: its sums a0 to a3, or as many vectors of them as there are. They go by address: by value, their
 * passing would depend on the instruction set. */
#define MLP_TILE_SUMS(a) &a##0, &a##1, &a##2, &a##3

/* What the sums start from: the bias, or zeros. */
MLP_INLINE void mlp_tile_begin(size_t vectors, const mlp_product *p, size_t column, mlp_lanes *a0, mlp_lanes *a1,
                               mlp_lanes *a2, mlp_lanes *a3)
{
    const mlp_lanes zero = {0};
    *a0 = *a1 = *a2 = *a3 = zero;
    if (p->bias) {
        const float *const bias = p->bias + column;
        *a0 = mlp_load(bias);
        if (vectors > 1)
            *a1 = mlp_load(bias + MLP_LANES);
        if (vectors > 2)
            *a2 = mlp_load(bias + 2 * MLP_LANES);
        if (vectors > 3)
            *a3 = mlp_load(bias + 3 * MLP_LANES);
    }
}

/* The first `columns` of a vector, all where there are as many. (Modulo: gcc -O0 sees the number, but not that what
 * does not fit is another case, and warns.) */
MLP_INLINE void mlp_tile_store_vector(float *y, size_t columns, int relu, const mlp_lanes *sums)
{
    const mlp_lanes c = relu ? mlp_relu(*sums) : *sums;
    if (columns >= MLP_LANES)
        mlp_store(y, c);
    else
        memcpy(y, &c, columns % MLP_LANES * sizeof *y);
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

/* Stores a row of sums: into the output or, where an epilogue takes them from there, among the tile's. */
MLP_INLINE void mlp_tile_leave(size_t vectors, const mlp_product *p, size_t row, size_t column, size_t columns,
                               float *sums, const mlp_lanes *a0, const mlp_lanes *a1, const mlp_lanes *a2,
                               const mlp_lanes *a3)
{
    if (p->epilogue)
        mlp_tile_store(vectors, sums, vectors * MLP_LANES, 0, a0, a1, a2, a3);
    else
        mlp_tile_store(vectors, (float *)p->y + row * p->ldy + column, columns, p->relu, a0, a1, a2, a3);
}

MLP_INLINE void mlp_tile_finish(const mlp_product *p, const float *sums, size_t row, size_t rows, size_t column,
                                size_t columns)
{
    if (p->epilogue) {
        const mlp_tile tile = {sums, p->y, row, rows, column, columns};
        p->epilogue(p->rows, &tile);
    }
}

/* ---- Tiles ---- */

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
MLP_INLINE void mlp_tile_rows(size_t height, size_t vectors, const mlp_product *p, size_t first, size_t column,
                              size_t columns, float *sums)
{
    const size_t next = p->k * MLP_PANEL, ldx = p->ldx, k = p->k;
    const float *const x = p->x + first * ldx, *w = mlp_tile_weight(p, column);
    mlp_lanes w0, w1, w2, w3, a0, a1, a2, a3;
    mlp_tile_begin(vectors, p, column, MLP_TILE_SUMS(a));
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
#define MLP_TILE_END(row, a)                                                                                        \
    if (height > row)                                                                                               \
        mlp_tile_leave(vectors, p, first + row, column, columns, sums + row * MLP_TILE_WIDTH, MLP_TILE_SUMS(a));
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
MLP_INLINE void mlp_tile_row(size_t panels, const mlp_product *p, size_t row, size_t column, size_t columns)
{
    const size_t vectors = MLP_PANEL_VECTORS, next = p->k * MLP_PANEL, k = p->k;
    const float *const x = p->x + row * p->ldx, *w = mlp_tile_weight(p, column);
    MLP_TILE_ALIGNED float sums[MLP_TILE_STREAMS * MLP_PANEL];
    mlp_lanes w0, w1, w2, w3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3, f0, f1,
              f2, f3;
#define MLP_TILE_BEGIN(panel, a)                                                                    \
    if (panels > panel)                                                                             \
        mlp_tile_begin(vectors, p, column + panel * MLP_PANEL, MLP_TILE_SUMS(a));
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
#define MLP_TILE_END(panel, a)                                                                      \
    if (panels > panel)                                                                             \
        mlp_tile_leave(vectors, p, row, column + panel * MLP_PANEL, columns - panel * MLP_PANEL,    \
                       sums + panel * MLP_PANEL, MLP_TILE_SUMS(a));
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
    mlp_tile_finish(p, sums, row, 1, column, columns < panels * MLP_PANEL ? columns : panels * MLP_PANEL);
#undef MLP_TILE_BEGIN
#undef MLP_TILE_COLUMNS
#undef MLP_TILE_END
}

/* One row by one or two vectors of a panel, from a column of it on: every fourth element goes to a sum of its own, else
 * each addition would wait for the last. */
MLP_INLINE void mlp_tile_narrow(size_t vectors, const mlp_product *p, size_t row, size_t column, float *sums)
{
    const mlp_lanes zero = {0};
    const size_t k = p->k;
    const float *x = p->x + row * p->ldx, *w = p->w + column;
    mlp_lanes a0, a1, a2, a3, b0 = zero, b1 = zero, c0 = zero, c1 = zero, d0 = zero, d1 = zero;
    mlp_tile_begin(vectors, p, column, MLP_TILE_SUMS(a));
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
    mlp_tile_leave(vectors, p, row, column, p->n - column, sums + column, MLP_TILE_SUMS(a));
}

/* ---- Products ---- */

/* How many vectors hold some columns. */
#define MLP_VECTORS(columns) (((columns) + MLP_LANES - 1) / MLP_LANES)

/* A product of one panel, row by row: two vectors of columns at a time. */
MLP_INLINE void mlp_tile_narrow_rows(const mlp_product *p, size_t row, size_t end)
{
    const size_t half = 2 * MLP_LANES;
    MLP_TILE_ALIGNED float sums[MLP_PANEL];
    for (; row < end; row++) {
        mlp_tile_narrow(p->n > MLP_LANES ? 2 : 1, p, row, 0, sums);
        if (p->n > half)
            mlp_tile_narrow(p->n > half + MLP_LANES ? 2 : 1, p, row, half, sums);
        mlp_tile_finish(p, sums, row, 1, 0, p->n);
    }
}

/* The whole product of one row, its panels in groups of nearly one size. */
MLP_INLINE void mlp_tile_single(const mlp_product *p, size_t row)
{
    const size_t panels = (p->n + MLP_PANEL - 1) / MLP_PANEL;
    const size_t groups = (panels + MLP_TILE_STREAMS - 1) / MLP_TILE_STREAMS;
    const size_t least = panels / groups, larger = panels % groups;
    size_t column = 0;
    for (size_t group = 0; group < larger; group++, column += (least + 1) * MLP_PANEL)
        mlp_tile_row(least + 1, p, row, column, p->n - column);
    for (size_t group = larger; group < groups; group++, column += least * MLP_PANEL)
        mlp_tile_row(least, p, row, column, p->n - column);
}

/* Some columns of several rows, in tiles of nearly one height: a short one at the end would leave the adders idle. */
MLP_INLINE void mlp_tile_block(const mlp_product *p, size_t row, size_t end, size_t column, size_t columns, float *sums)
{
    const size_t rows = end - row, tiles = (rows + MLP_TILE_HEIGHT - 1) / MLP_TILE_HEIGHT;
    const size_t least = rows / tiles, taller = rows % tiles;
    for (size_t tile = 0, height; tile < tiles; tile++, row += height, sums += height * MLP_TILE_WIDTH) {
        height = least + (tile < taller);
#define MLP_TILE_CASE(count)                                                                \
    case count:                                                                             \
        mlp_tile_rows(count, MLP_VECTORS(columns), p, row, column, columns, sums);          \
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
    }
}

MLP_INLINE void mlp_tile_columns(const mlp_product *p, size_t row, size_t end, size_t column, size_t columns)
{
    MLP_TILE_ALIGNED float sums[MLP_TILE_BLOCK * MLP_TILE_WIDTH];
    for (size_t next; row < end; row = next) {
        next = p->epilogue && end - row > MLP_TILE_BLOCK ? row + MLP_TILE_BLOCK : end;
        mlp_tile_block(p, row, next, column, columns, sums);
        mlp_tile_finish(p, sums, row, next - row, column, columns);
    }
}

MLP_INLINE void mlp_tile_product(const mlp_product *p, size_t row, size_t end)
{
    const size_t last = p->n % MLP_TILE_WIDTH, whole = p->n - last;
    if (p->n <= MLP_PANEL && p->k >= MLP_NARROW_DEPTH) {
        mlp_tile_narrow_rows(p, row, end);
    } else if (end - row == 1) {
        mlp_tile_single(p, row);
    } else if (end > row) {
        for (size_t column = 0; column < whole; column += MLP_TILE_WIDTH)
            mlp_tile_columns(p, row, end, column, MLP_TILE_WIDTH);
        if (last)
            mlp_tile_columns(p, row, end, whole, last);
    }
}

/* Some of the panels of one row: as mlp_tile_single, where how many there are is known late. */
MLP_INLINE void mlp_tile_panels(const mlp_product *p, size_t row, size_t column, size_t end)
{
    const size_t panels = (end - column + MLP_PANEL - 1) / MLP_PANEL;
    const size_t groups = (panels + MLP_TILE_STREAMS - 1) / MLP_TILE_STREAMS;
    for (size_t group = 0, panel = 0, next; group < groups; group++, panel = next) {
        next = panels * (group + 1) / groups;
        const size_t from = column + panel * MLP_PANEL;
#define MLP_TILE_CASE(count)                                                                \
    case count:                                                                             \
        mlp_tile_row(count, p, row, from, end - from);                                      \
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

/* A thread's share of a product: all columns of some rows, or those from one on, a multiple of 32, to another or the
 * end. */
MLP_INLINE void mlp_tile_share(const mlp_product *p, size_t row, size_t row_end, size_t column, size_t end)
{
    if (column == 0 && end == p->n) {
        mlp_tile_product(p, row, row_end);
    } else if (row_end - row == 1) {
        mlp_tile_panels(p, row, column, end);
    } else if (row_end > row) {
        for (; column + MLP_TILE_WIDTH <= end; column += MLP_TILE_WIDTH)
            mlp_tile_columns(p, row, row_end, column, MLP_TILE_WIDTH);
        if (column < end)
            mlp_tile_columns(p, row, row_end, column, p->n % MLP_TILE_WIDTH);
    }
}

/* Defines name(count, x, w, bias, y): y = x w + bias of so many rows, then relu where that is 1; x [count, k] in rows
 * ldx apart, w packed, bias [n] or NULL, y [count, n] in rows ldy apart. What y held is never read: it may be NaN. */
#define MLP_PRODUCT(name, n, k, ldx, ldy, relu)                                                                     \
    static __attribute__((noinline)) void name(size_t count, const float *x, const float *w, const float *bias,     \
                                               float *y)                                                            \
    {                                                                                                               \
        const mlp_product product = {n, k, x, ldx, w, bias, y, ldy, relu, NULL, NULL};                              \
        mlp_tile_product(&product, 0, count);                                                                       \
    }

/* Defines name(rows, count, x, w, bias, y): what y gets, an epilogue makes of the sums x w + bias. */
#define MLP_PRODUCT_THEN(name, n, k, ldx, epilogue)                                                                 \
    static __attribute__((noinline)) void name(const struct mlp_rows *rows, size_t count, const float *x,           \
                                               const float *w, const float *bias, void *y)                          \
    {                                                                                                               \
        const mlp_product product = {n, k, x, ldx, w, bias, y, 0, 0, epilogue, rows};                               \
        mlp_tile_product(&product, 0, count);                                                                       \
    }

/* The same for several threads, each of which does its mlp_share. */
#define MLP_PRODUCT_SHARED(name, n, k, ldx, ldy, relu)                                                              \
    static __attribute__((noinline)) void name(mlp_share share, const float *x, const float *w, const float *bias,  \
                                               float *y)                                                            \
    {                                                                                                               \
        const mlp_product product = {n, k, x, ldx, w, bias, y, ldy, relu, NULL, NULL};                              \
        mlp_tile_share(&product, share.row, share.row_end, share.column, share.column_end);                         \
    }

#define MLP_PRODUCT_THEN_SHARED(name, n, k, ldx, epilogue)                                                          \
    static __attribute__((noinline)) void name(const struct mlp_rows *rows, mlp_share share, const float *x,        \
                                               const float *w, const float *bias, void *y)                          \
    {                                                                                                               \
        const mlp_product product = {n, k, x, ldx, w, bias, y, 0, 0, epilogue, rows};                               \
        mlp_tile_share(&product, share.row, share.row_end, share.column, share.column_end);                         \
    }

#endif
