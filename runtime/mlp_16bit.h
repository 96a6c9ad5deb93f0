/* mlp_16bit.h -- vectors of mlp_lanes.h from and to f16 and bf16, element by element as mlp_number.h has it. C99,
 * usable from C++. */
#ifndef MLP_16BIT_H
#define MLP_16BIT_H

#include "mlp_lanes.h"
#include "mlp_number.h"

#define MLP_16BIT(type)                                                                        \
    /* `count` floats, all lanes or a few of them; zeros behind */                             \
    MLP_INLINE mlp_lanes mlp_load_few_##type(const mlp_##type *from, size_t count)             \
    {                                                                                          \
        float x[MLP_LANES] = {0};                                                              \
        for (size_t i = 0; i < count; i++)                                                     \
            x[i] = mlp_##type##_load(from[i]);                                                 \
        return mlp_load(x);                                                                    \
    }                                                                                          \
    MLP_INLINE mlp_lanes mlp_load_##type(const mlp_##type *from)                               \
    {                                                                                          \
        return mlp_load_few_##type(from, MLP_LANES);                                           \
    }                                                                                          \
    MLP_INLINE void mlp_store_few_##type(mlp_##type *to, size_t count, mlp_lanes x)            \
    {                                                                                          \
        float lane[MLP_LANES];                                                                 \
        mlp_store(lane, x);                                                                    \
        for (size_t i = 0; i < count; i++)                                                     \
            to[i] = mlp_##type##_store(lane[i]);                                               \
    }                                                                                          \
    MLP_INLINE void mlp_store_##type(mlp_##type *to, mlp_lanes x)                              \
    {                                                                                          \
        mlp_store_few_##type(to, MLP_LANES, x);                                                \
    }                                                                                          \
    MLP_INLINE mlp_lanes mlp_rounded_to_##type(mlp_lanes x)                                    \
    {                                                                                          \
        mlp_##type rounded[MLP_LANES];                                                         \
        mlp_store_##type(rounded, x);                                                          \
        return mlp_load_##type(rounded);                                                       \
    }
MLP_16BIT(f16)
MLP_16BIT(bf16)
#undef MLP_16BIT

#endif
