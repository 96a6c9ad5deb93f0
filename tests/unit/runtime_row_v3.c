/* The same for AVX2 and FMA. */
#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v3")
#define MLP_LEVEL 3
#endif
#include "runtime_row.c"
