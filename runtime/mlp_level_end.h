/* mlp_level_end.h -- ends what mlp_level_begin.h began. */
#if defined(__clang__) && MLP_LEVEL > MLP_LEVEL_GIVEN
#pragma clang attribute pop
#elif MLP_LEVEL > MLP_LEVEL_GIVEN
#pragma GCC pop_options
#endif
