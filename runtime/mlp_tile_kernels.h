/* mlp_tile_kernels.h -- the tiles of mlp_tile.h for one instruction set. mlp_tile.h includes this once for each, with
 * MLP_TILE(name), which names a function; MLP_TILE_TARGET, which compiles it for the set; MLP_TILE_HEIGHT, how many
 * rows of a tile fit its registers, at most 6; and MLP_TILE_PIN(a, b), which holds two vectors in registers.
 *
 * Accumulators are named variables: arrays of them end up in memory. `height`, `panels`, `n`, `k` and `relu` are
 * constants where these functions are inlined, so that what they rule out is gone. */

#define MLP_TILE_INLINE MLP_TILE_TARGET static inline __attribute__((always_inline))

/* Vectors go by address: by value, their passing would depend on the instruction set. */
MLP_TILE_INLINE void MLP_TILE(load)(const float *from, mlp_lanes *low, mlp_lanes *high)
{
    *low = *(const mlp_lanes_anywhere *)from;
    *high = *(const mlp_lanes_anywhere *)(from + 8);
}

/* What a panel's sums start from: its bias, or zeros. */
MLP_TILE_INLINE void MLP_TILE(begin)(const float *bias, mlp_lanes *low, mlp_lanes *high)
{
    const mlp_lanes zero = {0};
    *low = *high = zero;
    if (bias)
        MLP_TILE(load)(bias, low, high);
}

/* NaN is not <= 0, and stays. */
MLP_TILE_INLINE void MLP_TILE(relu)(mlp_lanes *c)
{
    const mlp_lanes zero = {0};
    *c = (mlp_lanes)((mlp_lane_bits)*c & ~(mlp_lane_bits)(*c <= zero));
}

/* The first columns of a panel's 16, all of them where there are more. */
MLP_TILE_INLINE void MLP_TILE(store)(float *y, size_t columns, int relu, const mlp_lanes *c0, const mlp_lanes *c1)
{
    mlp_lanes low = *c0, high = *c1;
    if (relu) {
        MLP_TILE(relu)(&low);
        MLP_TILE(relu)(&high);
    }
    if (columns >= MLP_PANEL) {
        *(mlp_lanes_anywhere *)y = low;
        *(mlp_lanes_anywhere *)(y + 8) = high;
    } else {
        float all[MLP_PANEL];
        *(mlp_lanes_anywhere *)all = low;
        *(mlp_lanes_anywhere *)(all + 8) = high;
        memcpy(y, all, columns % MLP_PANEL * sizeof *y);
    }
}

/* `height` rows by one panel: two accumulators a row. The weights are pinned, because the compiler would otherwise read
 * them from memory again for each row. */
MLP_TILE_INLINE void MLP_TILE(rows)(size_t height, size_t k, const float *x, size_t ldx, const float *w,
                                    const float *bias, float *y, size_t ldy, size_t columns, int relu)
{
    mlp_lanes w0, w1, a0, a1;
    MLP_TILE(begin)(bias, &a0, &a1);
    mlp_lanes b0 = a0, b1 = a1, c0 = a0, c1 = a1, d0 = a0, d1 = a1, e0 = a0, e1 = a1, f0 = a0, f1 = a1;
#define MLP_TILE_ROW(row, low, high)               \
    if (height > row) {                            \
        const float element = x[row * ldx + i];    \
        low += element * w0;                       \
        high += element * w1;                      \
    }
    for (size_t i = 0; i < k; i++, w += MLP_PANEL) {
        MLP_TILE(load)(w, &w0, &w1);
        MLP_TILE_PIN(w0, w1);
        MLP_TILE_ROW(0, a0, a1)
        MLP_TILE_ROW(1, b0, b1)
        MLP_TILE_ROW(2, c0, c1)
        MLP_TILE_ROW(3, d0, d1)
        MLP_TILE_ROW(4, e0, e1)
        MLP_TILE_ROW(5, f0, f1)
    }
#undef MLP_TILE_ROW
    MLP_TILE(store)(y, columns, relu, &a0, &a1);
    if (height > 1)
        MLP_TILE(store)(y + ldy, columns, relu, &b0, &b1);
    if (height > 2)
        MLP_TILE(store)(y + 2 * ldy, columns, relu, &c0, &c1);
    if (height > 3)
        MLP_TILE(store)(y + 3 * ldy, columns, relu, &d0, &d1);
    if (height > 4)
        MLP_TILE(store)(y + 4 * ldy, columns, relu, &e0, &e1);
    if (height > 5)
        MLP_TILE(store)(y + 5 * ldy, columns, relu, &f0, &f1);
}

/* One row by up to four panels, read side by side: as many sums under way as hide the time of an addition. */
MLP_TILE_INLINE void MLP_TILE(row)(size_t panels, size_t k, const float *x, const float *w, const float *bias,
                                   float *y, size_t columns, int relu)
{
    const size_t next = k * MLP_PANEL;
    const mlp_lanes zero = {0};
    mlp_lanes w0, w1, a0, a1, b0 = zero, b1 = zero, c0 = zero, c1 = zero, d0 = zero, d1 = zero;
    MLP_TILE(begin)(bias, &a0, &a1);
    if (panels > 1)
        MLP_TILE(begin)(bias ? bias + MLP_PANEL : bias, &b0, &b1);
    if (panels > 2)
        MLP_TILE(begin)(bias ? bias + 2 * MLP_PANEL : bias, &c0, &c1);
    if (panels > 3)
        MLP_TILE(begin)(bias ? bias + 3 * MLP_PANEL : bias, &d0, &d1);
#define MLP_TILE_COLUMNS(panel, low, high)                 \
    if (panels > panel) {                                  \
        MLP_TILE(load)(w + panel * next, &w0, &w1);        \
        low += element * w0;                               \
        high += element * w1;                              \
    }
    for (size_t i = 0; i < k; i++, w += MLP_PANEL) {
        const float element = x[i];
        MLP_TILE_COLUMNS(0, a0, a1)
        MLP_TILE_COLUMNS(1, b0, b1)
        MLP_TILE_COLUMNS(2, c0, c1)
        MLP_TILE_COLUMNS(3, d0, d1)
    }
#undef MLP_TILE_COLUMNS
    MLP_TILE(store)(y, columns, relu, &a0, &a1);
    if (panels > 1)
        MLP_TILE(store)(y + MLP_PANEL, columns - MLP_PANEL, relu, &b0, &b1);
    if (panels > 2)
        MLP_TILE(store)(y + 2 * MLP_PANEL, columns - 2 * MLP_PANEL, relu, &c0, &c1);
    if (panels > 3)
        MLP_TILE(store)(y + 3 * MLP_PANEL, columns - 3 * MLP_PANEL, relu, &d0, &d1);
}

/* One row by one panel: every fourth element goes to a sum of its own, else each addition would wait for the last. */
MLP_TILE_INLINE void MLP_TILE(narrow)(size_t k, const float *x, const float *w, const float *bias, float *y,
                                      size_t columns, int relu)
{
    const mlp_lanes zero = {0};
    mlp_lanes w0, w1, a0, a1, b0 = zero, b1 = zero, c0 = zero, c1 = zero, d0 = zero, d1 = zero;
    MLP_TILE(begin)(bias, &a0, &a1);
#define MLP_TILE_ELEMENT(element, low, high)                       \
    MLP_TILE(load)(w + (element) * MLP_PANEL, &w0, &w1);           \
    low += x[element] * w0;                                        \
    high += x[element] * w1;
    size_t i = 0;
    for (; i + 4 <= k; i += 4) {
        MLP_TILE_ELEMENT(i, a0, a1)
        MLP_TILE_ELEMENT(i + 1, b0, b1)
        MLP_TILE_ELEMENT(i + 2, c0, c1)
        MLP_TILE_ELEMENT(i + 3, d0, d1)
    }
    for (; i < k; i++) {
        MLP_TILE_ELEMENT(i, a0, a1)
    }
#undef MLP_TILE_ELEMENT
    a0 = (a0 + b0) + (c0 + d0);
    a1 = (a1 + b1) + (c1 + d1);
    MLP_TILE(store)(y, columns, relu, &a0, &a1);
}

/* The whole product of one row, its panels in groups of nearly one size. */
MLP_TILE_INLINE void MLP_TILE(single)(size_t n, size_t k, const float *x, const float *w, const float *bias, float *y,
                                      int relu)
{
    const size_t panels = (n + MLP_PANEL - 1) / MLP_PANEL, groups = (panels + 3) / 4;
    const size_t least = panels / groups, larger = panels % groups;
    size_t panel = 0;
    for (size_t group = 0; group < larger; group++, panel += least + 1)
        MLP_TILE(row)(least + 1, k, x, w + panel * MLP_PANEL * k, bias ? bias + panel * MLP_PANEL : bias,
                      y + panel * MLP_PANEL, n - panel * MLP_PANEL, relu);
    for (size_t group = larger; group < groups; group++, panel += least)
        MLP_TILE(row)(least, k, x, w + panel * MLP_PANEL * k, bias ? bias + panel * MLP_PANEL : bias,
                      y + panel * MLP_PANEL, n - panel * MLP_PANEL, relu);
}

/* One panel of several rows, in tiles of nearly one height: a short one at the end would leave the adders idle. */
MLP_TILE_INLINE void MLP_TILE(panel)(size_t rows, size_t k, const float *x, size_t ldx, const float *w,
                                     const float *bias, float *y, size_t ldy, size_t columns, int relu)
{
    const size_t tiles = (rows + MLP_TILE_HEIGHT - 1) / MLP_TILE_HEIGHT;
    const size_t least = rows / tiles, taller = rows % tiles;
    for (size_t tile = 0; tile < tiles; tile++) {
        const size_t height = least + (tile < taller);
#define MLP_TILE_CASE(count)                                                              \
    case count:                                                                           \
        MLP_TILE(rows)(count, k, x, ldx, w, bias, y, ldy, columns, relu);                 \
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

MLP_TILE_INLINE void MLP_TILE(product)(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const float *w,
                                       const float *bias, float *y, size_t ldy, int relu)
{
    if (n <= MLP_PANEL && k >= MLP_NARROW_DEPTH) {
        for (size_t r = 0; r < rows; r++)
            MLP_TILE(narrow)(k, x + r * ldx, w, bias, y + r * ldy, n, relu);
    } else if (rows == 1) {
        MLP_TILE(single)(n, k, x, w, bias, y, relu);
    } else if (rows) {
        for (size_t column = 0; column < n; column += MLP_PANEL)
            MLP_TILE(panel)(rows, k, x, ldx, w + column * k, bias ? bias + column : bias, y + column, ldy, n - column,
                            relu);
    }
}

#undef MLP_TILE_INLINE
