/* The same for AVX2 and FMA. */
#define MLP_LEVEL 3
#include "runtime_math.c"
