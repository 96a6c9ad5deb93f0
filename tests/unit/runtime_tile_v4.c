/* The products for AVX-512. */
/* How they would be passed is of no matter where all is inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define MLP_LEVEL 4
#include "runtime_tile.c"
