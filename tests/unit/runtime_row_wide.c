/* The same with the vectors of AVX-512, which the compiler makes of smaller ones. */
#define MLP_LANES 16
#pragma GCC diagnostic ignored "-Wpsabi"
#include "runtime_row.c"
