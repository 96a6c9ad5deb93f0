/* mlp_lanes.h -- vectors of floats for generated CPU code, in the vector types of gcc and clang: MLP_LANES floats, as
 * many as a register of the instruction set holds. That is the compiler's own (-march), or the level of x86-64 in
 * MLP_LEVEL, where the includer compiles for one. gcc would take vectors that are wider than registers apart, into
 * single floats where they are compared, and how they are passed would depend on the set. C99, usable from C++. */
#ifndef MLP_LANES_H
#define MLP_LANES_H

#include <stddef.h>
#include <string.h>

#if defined(MLP_LANES)
/* as the includer says */
#elif defined(__x86_64__) && (MLP_LEVEL >= 4 || defined(__AVX512F__))
#define MLP_LANES 16
#elif defined(__x86_64__) && (MLP_LEVEL >= 3 || defined(__AVX2__))
#define MLP_LANES 8
#else
#define MLP_LANES 4
#endif

/* n columns are whole vectors, and then a few columns. */
#define MLP_WHOLE(n) ((n) / MLP_LANES * MLP_LANES)
#define MLP_FEW(n) ((n) % MLP_LANES)

#define MLP_INLINE static inline __attribute__((always_inline))

typedef float mlp_lanes __attribute__((vector_size(4 * MLP_LANES)));
typedef int mlp_lane_bits __attribute__((vector_size(4 * MLP_LANES)));
typedef unsigned mlp_lane_words __attribute__((vector_size(4 * MLP_LANES)));
typedef float mlp_lanes_anywhere __attribute__((vector_size(4 * MLP_LANES), aligned(4), may_alias));

MLP_INLINE mlp_lanes mlp_all(float x)
{
    const mlp_lanes zero = {0};
    return zero + x;
}

/* a in the lanes of the mask, b in the others. */
MLP_INLINE mlp_lanes mlp_select(mlp_lane_bits mask, mlp_lanes a, mlp_lanes b)
{
    return (mlp_lanes)((mask & (mlp_lane_bits)a) | (~mask & (mlp_lane_bits)b));
}

MLP_INLINE mlp_lanes mlp_load(const float *from)
{
    return *(const mlp_lanes_anywhere *)from;
}

MLP_INLINE void mlp_store(float *to, mlp_lanes x)
{
    *(mlp_lanes_anywhere *)to = x;
}

/* do(0) do(1) ... for all lanes: a loop would become masked loads and stores, which are slow on some processors. */
#if MLP_LANES == 16
#define MLP_EACH_LANE(do) MLP_LANES_UP_TO_4(do) MLP_LANES_UP_TO_8(do) MLP_LANES_UP_TO_16(do)
#elif MLP_LANES == 8
#define MLP_EACH_LANE(do) MLP_LANES_UP_TO_4(do) MLP_LANES_UP_TO_8(do)
#else
#define MLP_EACH_LANE(do) MLP_LANES_UP_TO_4(do)
#endif
#define MLP_LANES_UP_TO_4(do) do(0) do(1) do(2) do(3)
#define MLP_LANES_UP_TO_8(do) do(4) do(5) do(6) do(7)
#define MLP_LANES_UP_TO_16(do) do(8) do(9) do(10) do(11) do(12) do(13) do(14) do(15)

/* The first floats alone, fewer than there are lanes, with zeros behind them. The count is a constant where this is
 * inlined: a few moves between registers. */
MLP_INLINE mlp_lanes mlp_load_few(const float *from, size_t count)
{
    mlp_lanes x = {0};
#define MLP_LOAD_LANE(i) if (i < count) x[i] = from[i];
    MLP_EACH_LANE(MLP_LOAD_LANE)
#undef MLP_LOAD_LANE
    return x;
}

MLP_INLINE void mlp_store_few(float *to, size_t count, mlp_lanes x)
{
#define MLP_STORE_LANE(i) if (i < count) to[i] = x[i];
    MLP_EACH_LANE(MLP_STORE_LANE)
#undef MLP_STORE_LANE
}

/* x in the first lanes, `behind` after them. */
MLP_INLINE mlp_lanes mlp_keep_few(mlp_lanes x, size_t count, float behind)
{
#define MLP_FILL_LANE(i) if (i >= count) x[i] = behind;
    MLP_EACH_LANE(MLP_FILL_LANE)
#undef MLP_FILL_LANE
    return x;
}

#endif
