/* mlp_level.h -- the instruction set that generated steps are compiled for.
 *
 * On x86-64 that is a level of its ABI: 1 is what every processor has, 3 adds AVX2 and FMA, 4 AVX-512. Steps that stand
 * between mlp_level_begin.h and mlp_level_end.h are compiled for MLP_LEVEL, which is 1 to 4; so a program can hold the
 * same source for several. Without MLP_LEVEL, and on other processors, the compiler's own options decide. */
#ifndef MLP_LEVEL_H
#define MLP_LEVEL_H

/* The level that the compiler was told to count on (-march). On other processors there are no levels, and nothing is
 * above what is given. */
#if !defined(__x86_64__)
#define MLP_LEVEL_GIVEN 5
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define MLP_LEVEL_GIVEN 4
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI__) && defined(__BMI2__) && defined(__F16C__) && \
    defined(__LZCNT__) && defined(__MOVBE__)
#define MLP_LEVEL_GIVEN 3
#elif defined(__SSE4_2__) && defined(__SSSE3__) && defined(__POPCNT__)
#define MLP_LEVEL_GIVEN 2
#else
#define MLP_LEVEL_GIVEN 1
#endif

#endif
