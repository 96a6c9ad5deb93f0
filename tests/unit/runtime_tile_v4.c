/* The products for AVX-512. */
#define MLP_LEVEL 4
#include "runtime_tile.c"
