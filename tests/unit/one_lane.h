/* The functions of mlp_math.h on single floats. */
#ifndef ONE_LANE_H
#define ONE_LANE_H

#include "mlp_math.h"

#define ONE_LANE(name)                                        \
    static inline float one_##name(float x)                   \
    {                                                         \
        return mlp_##name(mlp_all(x))[MLP_LANES - 1];         \
    }
ONE_LANE(abs)
ONE_LANE(exp)
ONE_LANE(gelu)
ONE_LANE(gelu_tanh)
ONE_LANE(hardsigmoid)
ONE_LANE(hardswish)
ONE_LANE(log)
ONE_LANE(mish)
ONE_LANE(relu)
ONE_LANE(relu6)
ONE_LANE(sigmoid)
ONE_LANE(silu)
ONE_LANE(softplus)
ONE_LANE(sqrt)
ONE_LANE(tanh)
#undef ONE_LANE

static inline float one_clamp(float x, float low, float high)
{
    return mlp_clamp(mlp_all(x), low, high)[0];
}

static inline float one_elu(float x, float alpha)
{
    return mlp_elu(mlp_all(x), alpha)[0];
}

static inline float one_leaky_relu(float x, float slope)
{
    return mlp_leaky_relu(mlp_all(x), slope)[0];
}

static inline float one_maximum(float a, float b)
{
    return mlp_maximum(mlp_all(a), mlp_all(b))[0];
}

static inline float one_minimum(float a, float b)
{
    return mlp_minimum(mlp_all(a), mlp_all(b))[0];
}

#endif
