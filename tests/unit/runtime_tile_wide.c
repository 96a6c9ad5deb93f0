/* The products in the tiles of AVX-512, whose vectors the compiler makes of smaller ones. */
/* How they would be passed is of no matter where all is inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define MLP_LANES 16
#define MLP_TILE_PIN(a) (void)0
#include "runtime_tile.c"
