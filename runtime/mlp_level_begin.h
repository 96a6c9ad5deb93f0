/* mlp_level_begin.h -- from here to mlp_level_end.h functions are compiled for MLP_LEVEL, where that is more than the
 * compiler was told to count on. Headers of the C library belong in front: in C++ their inline functions are shared
 * with the rest of the program. */
#include "mlp_level.h"

#if !defined(MLP_LEVEL)
#define MLP_LEVEL MLP_LEVEL_GIVEN
#endif

#if MLP_LEVEL > MLP_LEVEL_GIVEN
#if defined(__clang__)
#if MLP_LEVEL == 2
#pragma clang attribute push(__attribute__((target("arch=x86-64-v2"))), apply_to = function)
#elif MLP_LEVEL == 3
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3"))), apply_to = function)
#else
/* By its features: for the level's name clang keeps to vectors of 32 bytes. */
#pragma clang attribute push(__attribute__((target("arch=x86-64-v3,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))), \
                             apply_to = function)
#endif
#else
#pragma GCC push_options
#if MLP_LEVEL == 2
#pragma GCC target("arch=x86-64-v2")
#elif MLP_LEVEL == 3
#pragma GCC target("arch=x86-64-v3")
#else
#pragma GCC target("arch=x86-64-v4")
#endif
#endif
#endif
