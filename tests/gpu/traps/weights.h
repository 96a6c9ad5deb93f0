/* The parameters of the networks that test for traps: small whole numbers, so that every product of them is exact in
 * every type. What the networks must give follows from them. */
#ifndef TRAPS_WEIGHTS_H
#define TRAPS_WEIGHTS_H

/* Element (i, j) of layer number `layer`: -1, 0 or 1, and no two rows or columns in a pattern. */
static inline int trap_weight(int layer, int i, int j)
{
    unsigned mixed = (unsigned)(layer + 1) * 2654435761u ^ (unsigned)(i + 1) * 40503u ^ (unsigned)(j + 1) * 9176183u;
    return (int)((mixed >> 7 ^ mixed >> 13) % 3) - 1;
}

static inline int trap_bias(int layer, int i)
{
    return trap_weight(layer, i, 77);
}

enum { BIG = 32776 };               /* 65536 rows of it are more than 2^31 elements */

#endif
