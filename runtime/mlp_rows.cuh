/* mlp_rows.cuh -- what a generated kernel is made of that takes many rows through a whole network of narrow layers.
 *
 * Weights stay in shared memory for the life of a persistent block; activations never leave the registers. A
 * warpgroup (4 warps) carries tiles of 64 rows, each of its warps 16 of them. The accumulators of one product, in f32,
 * go through element-wise code and are packed to pairs of f16 or bf16, and lie then exactly as the next product wants
 * its left operand: no shuffle, no memory.
 *
 *     begin(x), product<w1>(h, x, memory, w1_at, false), commit();         h = x W1', asynchronously
 *     wait(0, h);
 *     a = pack_relu<half, columns<64>, 64>(0, [&](place at) { return h[at] + bias[at]; });
 *     begin(a), product<w2>(y, a, memory, w2_at, false), commit();
 *
 * Two backends have the same layout: `mlp_rows_wgmma` (sm_90a: B is read by the tensor cores from shared memory) and
 * `mlp_rows_mma` (sm_80 and later: B goes through registers). On a device without wgmma, the former is the latter.
 *
 * Where an element lies: a thread holds, of each 8 columns (a tile), the pair 8 tile + 2 quad + {0, 1} of the rows
 * lane / 4 + {0, 8}, where quad = lane % 4. What these positions mean is free, as long as all agree who read them:
 * a tensor is in natural order (position = column), or in wide order, in which the four pairs that a thread holds of 32
 * positions are 8 neighbouring columns, so that rows of inputs and outputs are read and written 16 bytes at a time.
 * Weights are brought into the order of what they produce and what they consume when they are staged.
 *
 * Widths are padded with zeros, to 8 columns where a tensor is produced and 16 where it is consumed, or to whole parts
 * where it is worked on in parts; what accumulators hold in padded columns is never looked at. */
#ifndef MLP_ROWS_CUH
#define MLP_ROWS_CUH

#include <cstring>
#include <type_traits>

#include "mlp_cuda_kernels.cuh"
#include "mlp_rows_ptx.cuh"

/* ---- Columns: a tensor's width and the order in which it lies in registers. ---- */

__host__ __device__ constexpr int mlp_rows_up(int x, int to)
{
    return (x + to - 1) / to * to;
}

template <int Width, bool Wide = false, int Part = 0>
struct mlp_rows_columns {
    static constexpr int width = Width;
    static constexpr bool wide = Wide;
    /* As the left operand of a product, and as the result of one. */
    static constexpr int depth = mlp_rows_up(Width, Part ? Part : 16);
    static constexpr int padded = Wide || Part ? depth : mlp_rows_up(Width, 8);

    /* The first of the two columns that a thread holds of a tile. */
    static __host__ __device__ constexpr int column(int tile, int quad)
    {
        if (!Wide)
            return 8 * tile + 2 * quad;
        const int group = tile / 4 * 32;
        return group + 32 <= depth ? group + 8 * quad + 2 * (tile % 4) : group + 4 * quad + 2 * (tile % 4);
    }
};

/* ---- What a thread holds ---- */

/* One element: of which slab of rows, tile of columns, half (row lane / 4 or 8 below), side of the pair. The tile
 * counts from where the tensor at hand begins, the column from where the whole one does. */
struct mlp_rows_place {
    int slab, tile, half, side, column;
};

MLP_DEVICE int mlp_rows_quad() { return int(threadIdx.x % 4); }

/* The row of a slab, counted from the tile's first: slab by slab 64 rows, of which each warp has 16. */
MLP_DEVICE int mlp_rows_row(int slab, int half)
{
    return 64 * slab + int(threadIdx.x / 32 % 4) * 16 + 8 * half + int(threadIdx.x % 32 / 4);
}

/* f32 values of N columns, a multiple of 8, and S slabs of rows. */
template <int N, int S = 1>
struct mlp_rows_acc {
    using number = float;
    static constexpr int columns = N, slabs = S;
    float x[S][N / 8][4];

    MLP_DEVICE float operator[](mlp_rows_place at) const { return x[at.slab][at.tile][2 * at.half + at.side]; }
    MLP_DEVICE float &operator[](mlp_rows_place at) { return x[at.slab][at.tile][2 * at.half + at.side]; }
    MLP_DEVICE void set(int slab, int tile, int half, const float *pair)
    {
        x[slab][tile][2 * half] = pair[0];
        x[slab][tile][2 * half + 1] = pair[1];
    }
};

/* Count of an accumulator's columns, from `from` on; both are multiples of 8. */
template <int Count, int N, int S>
MLP_DEVICE mlp_rows_acc<Count, S> mlp_rows_part(const mlp_rows_acc<N, S> &whole, int from)
{
    mlp_rows_acc<Count, S> part;
#pragma unroll
    for (int s = 0; s < S; s++) {
#pragma unroll
        for (int tile = 0; tile < Count / 8; tile++) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                part.x[s][tile][k] = whole.x[s][from / 8 + tile][k];
        }
    }
    return part;
}

MLP_DEVICE float mlp_rows_unpack(unsigned pair, int side, __half)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(side ? pair >> 16 : pair & 0xffff)));
}

MLP_DEVICE float mlp_rows_unpack(unsigned pair, int side, __nv_bfloat16)
{
    return __uint_as_float(side ? pair & 0xffff0000u : pair << 16);
}

/* Values of type T of K columns, a multiple of 16, as the left operand of a product. */
template <class T, int K, int S = 1>
struct mlp_rows_fragment {
    using number = T;
    static constexpr int columns = K, slabs = S;
    unsigned a[S][K / 16][4];

    MLP_DEVICE unsigned &pair(int slab, int tile, int half) { return a[slab][tile / 2][half + 2 * (tile % 2)]; }
    MLP_DEVICE unsigned pair(int slab, int tile, int half) const { return a[slab][tile / 2][half + 2 * (tile % 2)]; }
    MLP_DEVICE float operator[](mlp_rows_place at) const
    {
        return mlp_rows_unpack(pair(at.slab, at.tile, at.half), at.side, T());
    }
    MLP_DEVICE void set(int slab, int tile, int half, const T *numbers)
    {
        memcpy(&pair(slab, tile, half), numbers, sizeof(unsigned));
    }
};

/* One number a row, such as a mean. */
template <int S = 1>
struct mlp_rows_value {
    float x[S][2];

    MLP_DEVICE float operator[](mlp_rows_place at) const { return x[at.slab][at.half]; }
};

/* A number a column, such as a bias, of Count columns from `from` on, in registers; the row in shared memory has
 * zeros up to Columns::depth. Read before a wait, it costs none after it. */
template <class Columns, int Count = Columns::padded>
struct mlp_rows_param {
    float x[Count / 8][2];

    MLP_DEVICE explicit mlp_rows_param(const float *row, int from = 0)
    {
        const int quad = mlp_rows_quad();
#pragma unroll
        for (int tile = 0; tile < Count / 8; tile++) {
            const float *pair = row + Columns::column(from / 8 + tile, quad);
            const float2 both = *reinterpret_cast<const float2 *>(pair);
            x[tile][0] = both.x;
            x[tile][1] = both.y;
        }
    }
    MLP_DEVICE float operator[](mlp_rows_place at) const { return x[at.tile][at.side]; }
};

/* ---- Element-wise code: f(place) gives an element; it can read any tensors of the same columns. ---- */

template <class Columns>
MLP_DEVICE bool mlp_rows_is_column(int column)
{
    return Columns::width == Columns::depth || column < Columns::width;
}

/* use(place) for each element that this thread holds of Count columns from `from` on, without the padding. */
template <class Columns, int Count, int S, class Use>
MLP_DEVICE void mlp_rows_each(int from, Use use)
{
    const int quad = mlp_rows_quad();
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int tile = 0; tile < Count / 8; tile++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int column = Columns::column(from / 8 + tile, quad) + k % 2;
                if (mlp_rows_is_column<Columns>(column))
                    use(mlp_rows_place{slab, tile, k / 2, k % 2, column});
            }
        }
    }
}

/* Elements f(place) of Count columns from `from` on, in f32; the padding is 0. */
template <class Columns, int Count = Columns::padded, int S = 1, class F>
MLP_DEVICE mlp_rows_acc<Count, S> mlp_rows_make(int from, F f)
{
    mlp_rows_acc<Count, S> y;
    const int quad = mlp_rows_quad();
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int tile = 0; tile < Count / 8; tile++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int column = Columns::column(from / 8 + tile, quad) + k % 2;
                const float value = f(mlp_rows_place{slab, tile, k / 2, k % 2, column});
                y.x[slab][tile][k] = mlp_rows_is_column<Columns>(column) ? value : 0.0f;
            }
        }
    }
    return y;
}

template <class T, class Columns, int Count, int S, bool Relu, class F>
MLP_DEVICE mlp_rows_fragment<T, mlp_rows_up(Count, 16), S> mlp_rows_pack_any(int from, F f)
{
    mlp_rows_fragment<T, mlp_rows_up(Count, 16), S> y;
    const int quad = mlp_rows_quad();
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int tile = 0; tile < mlp_rows_up(Count, 16) / 8; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int column = Columns::column(from / 8 + tile, quad);
                float first = 0.0f, second = 0.0f;
                if (from + 8 * tile < Columns::padded) {
                    first = f(mlp_rows_place{slab, tile, half, 0, column});
                    second = f(mlp_rows_place{slab, tile, half, 1, column + 1});
                    first = mlp_rows_is_column<Columns>(column) ? first : 0.0f;
                    second = mlp_rows_is_column<Columns>(column + 1) ? second : 0.0f;
                }
                y.pair(slab, tile, half) = Relu ? mlp_rows_pair_relu(first, second, T())
                                                : mlp_rows_pair(first, second, T());
            }
        }
    }
    return y;
}

/* Elements f(place) of Count columns from `from` on, rounded to T, as the left operand of a product. */
template <class T, class Columns, int Count = Columns::depth, int S = 1, class F>
MLP_DEVICE mlp_rows_fragment<T, mlp_rows_up(Count, 16), S> mlp_rows_pack(int from, F f)
{
    return mlp_rows_pack_any<T, Columns, Count, S, false>(from, f);
}

/* The same of relu(f(place)), for less than relu costs by itself. */
template <class T, class Columns, int Count = Columns::depth, int S = 1, class F>
MLP_DEVICE mlp_rows_fragment<T, mlp_rows_up(Count, 16), S> mlp_rows_pack_relu(int from, F f)
{
    return mlp_rows_pack_any<T, Columns, Count, S, true>(from, f);
}

/* ---- Over a row: each is shared by the four threads of a quad, which all get the result, the same bits. ---- */

template <class Columns, int S, class F, class Combine>
MLP_DEVICE mlp_rows_value<S> mlp_rows_reduce(float start, F f, Combine combine)
{
    mlp_rows_value<S> y;
#pragma unroll
    for (int slab = 0; slab < S; slab++)
        y.x[slab][0] = y.x[slab][1] = start;
    mlp_rows_each<Columns, Columns::padded, S>(0, [&](mlp_rows_place at) {
        y.x[at.slab][at.half] = combine(y.x[at.slab][at.half], f(at));
    });
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float &x = y.x[slab][half];
            x = combine(x, __shfl_xor_sync(~0u, x, 1));
            x = combine(x, __shfl_xor_sync(~0u, x, 2));
        }
    }
    return y;
}

template <class Columns, int S = 1, class F>
MLP_DEVICE mlp_rows_value<S> mlp_rows_sum(F f)
{
    return mlp_rows_reduce<Columns, S>(0.0f, f, [](float a, float b) { return a + b; });
}

template <class Columns, int S = 1, class F>
MLP_DEVICE mlp_rows_value<S> mlp_rows_maximum(F f)
{
    return mlp_rows_reduce<Columns, S>(-INFINITY, f, [](float a, float b) { return fmaxf(a, b); });
}

template <int S, class F>
MLP_DEVICE mlp_rows_value<S> mlp_rows_map(const mlp_rows_value<S> &x, F f)
{
    mlp_rows_value<S> y;
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
        y.x[slab][0] = f(x.x[slab][0]);
        y.x[slab][1] = f(x.x[slab][1]);
    }
    return y;
}

/* The only column of a tensor, f(place), as a number that all threads of a row have. */
template <int S = 1, class F>
MLP_DEVICE mlp_rows_value<S> mlp_rows_stretch(F f)
{
    mlp_rows_value<S> y;
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int half = 0; half < 2; half++)
            y.x[slab][half] = __shfl_sync(~0u, f(mlp_rows_place{slab, 0, half, 0, 0}), int(threadIdx.x % 32) & ~3);
    }
    return y;
}

/* The mean is taken twice: what the first one, rounded, leaves over counts where the row is far from 0. */
template <class Columns, int N, int S>
MLP_DEVICE mlp_rows_acc<N, S> mlp_rows_layernorm(const mlp_rows_acc<N, S> &x, float eps)
{
    const auto mean = [](float sum) { return sum / Columns::width; };
    const auto about = mlp_rows_map(mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return x[at]; }), mean);
    const auto rest = mlp_rows_map(mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return x[at] - about[at]; }),
                                   mean);
    const auto centred = mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) {
        return x[at] - about[at] - rest[at];
    });
    const auto squares = mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return centred[at] * centred[at]; });
    const auto scale = mlp_rows_map(squares, [=](float sum) { return 1.0f / sqrtf(sum / Columns::width + eps); });
    return mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) { return centred[at] * scale[at]; });
}

template <class Columns, int N, int S>
MLP_DEVICE mlp_rows_acc<N, S> mlp_rows_rmsnorm(const mlp_rows_acc<N, S> &x, float eps)
{
    const auto squares = mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return x[at] * x[at]; });
    const auto scale = mlp_rows_map(squares, [=](float sum) { return 1.0f / sqrtf(sum / Columns::width + eps); });
    return mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) { return x[at] * scale[at]; });
}

template <class Columns, int N, int S>
MLP_DEVICE mlp_rows_acc<N, S> mlp_rows_softmax(const mlp_rows_acc<N, S> &x)
{
    const auto most = mlp_rows_maximum<Columns, S>([&](mlp_rows_place at) { return x[at]; });
    const auto power = mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) { return expf(x[at] - most[at]); });
    const auto total = mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return power[at]; });
    return mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) { return power[at] / total[at]; });
}

template <class Columns, int N, int S>
MLP_DEVICE mlp_rows_acc<N, S> mlp_rows_log_softmax(const mlp_rows_acc<N, S> &x)
{
    const auto most = mlp_rows_maximum<Columns, S>([&](mlp_rows_place at) { return x[at]; });
    const auto total = mlp_rows_sum<Columns, S>([&](mlp_rows_place at) { return expf(x[at] - most[at]); });
    const auto log = mlp_rows_map(total, [](float sum) { return logf(sum); });
    return mlp_rows_make<Columns, N, S>(0, [&](mlp_rows_place at) { return x[at] - most[at] - log[at]; });
}

/* ---- Rows in memory: Ld elements from one to the next, of which the tensor's begin at Column. Pointers are to the
 * tensor's first element. Only rows below `rows` are touched. ---- */

/* The columns that a thread holds of one group of tiles are V neighbours: 8 or 4 in wide order, 2 in natural order. */
template <class Columns>
MLP_DEVICE constexpr int mlp_rows_neighbours(int tile)
{
    return !Columns::wide ? 2 : tile / 4 * 32 + 32 <= Columns::depth ? 8 : 4;
}

/* Do V neighbours, of which the last that any thread of the quad wants lies before `end`, move as one access? */
template <class Stored, int Ld, int Column, int V>
MLP_DEVICE constexpr bool mlp_rows_vector(int end)
{
    constexpr int bytes = V * int(sizeof(Stored)) < 16 ? V * int(sizeof(Stored)) : 16;
    return Ld * int(sizeof(Stored)) % bytes == 0 && Column * int(sizeof(Stored)) % bytes == 0 && Column + end <= Ld;
}

template <class Columns, int Ld, int Column, int V, class Tensor>
MLP_DEVICE void mlp_rows_load_group(Tensor &x, const typename Tensor::number *row, int from, int slab, int tile,
                                    int half)
{
    using number = typename Tensor::number;
    const int column = Columns::column(from / 8 + tile, mlp_rows_quad()), end = from + 8 * tile + 4 * V;
    mlp_vector<V, number> group;
    if (mlp_rows_vector<number, Ld, Column, V>(end)) {
        group = *reinterpret_cast<const mlp_vector<V, number> *>(row + column);
#pragma unroll
        for (int i = 0; i < V; i++) {
            if (end > Columns::width && column + i >= Columns::width)
                group.at[i] = number();
        }
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            group.at[i] = column + i < Columns::width ? row[column + i] : number();
    }
#pragma unroll
    for (int i = 0; i < V / 2; i++)
        x.set(slab, tile + i, half, &group.at[2 * i]);
}

/* x = columns from `from` on of a tile whose first row is `first`, as many as it has: an accumulator of f32 rows, or a
 * fragment. Behind the last row it is that one again. There must be one. */
template <class Columns, int Ld, int Column = 0, class Tensor>
MLP_DEVICE void mlp_rows_load(Tensor &x, const typename Tensor::number *at, int64_t first, int64_t rows, int from = 0)
{
#pragma unroll
    for (int slab = 0; slab < Tensor::slabs; slab++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t index = first + mlp_rows_row(slab, half);
            const typename Tensor::number *row = at + (index < rows ? index : rows - 1) * Ld;
#pragma unroll
            for (int tile = 0; tile < Tensor::columns / 8; tile += mlp_rows_neighbours<Columns>(from / 8 + tile) / 2) {
                if (mlp_rows_neighbours<Columns>(from / 8 + tile) == 8)
                    mlp_rows_load_group<Columns, Ld, Column, 8>(x, row, from, slab, tile, half);
                else if (mlp_rows_neighbours<Columns>(from / 8 + tile) == 4)
                    mlp_rows_load_group<Columns, Ld, Column, 4>(x, row, from, slab, tile, half);
                else
                    mlp_rows_load_group<Columns, Ld, Column, 2>(x, row, from, slab, tile, half);
            }
        }
    }
}

/* A tile that was loaded ahead, while products ran. wgmma must not read registers that were written during an earlier
 * wgmma, or the compiler lets one wait for the other (its message C7513), so this is a copy that it cannot see through:
 * `rows` is not negative. */
template <class T, int K, int S>
MLP_DEVICE mlp_rows_fragment<T, K, S> mlp_rows_take(const mlp_rows_fragment<T, K, S> &ahead, int64_t rows)
{
    const unsigned zero = unsigned(rows >> 63);
    mlp_rows_fragment<T, K, S> x;
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int step = 0; step < K / 16; step++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                x.a[slab][step][i] = mlp_rows_xor(ahead.a[slab][step][i], zero);
        }
    }
    return x;
}

/* No product reads f32. */
template <int N, int S>
MLP_DEVICE mlp_rows_acc<N, S> mlp_rows_take(const mlp_rows_acc<N, S> &ahead, int64_t)
{
    return ahead;
}

template <class Columns, int Ld, int Column, int V, class Stored, class F>
MLP_DEVICE void mlp_rows_store_group(Stored *row, bool there, int from, int slab, int tile, int half, F f)
{
    const int column = Columns::column(from / 8 + tile, mlp_rows_quad());
    mlp_vector<V, Stored> group;
#pragma unroll
    for (int i = 0; i < V; i++)
        mlp_round(f(mlp_rows_place{slab, tile + i / 2, half, i % 2, column + i}), group.at[i]);
    const int end = from + 8 * tile + 4 * V;
    if (end <= Columns::width && mlp_rows_vector<Stored, Ld, Column, V>(end)) {
        if (there)
            *reinterpret_cast<mlp_vector<V, Stored> *>(row + column) = group;
        return;
    }
#pragma unroll
    for (int i = 0; i < V; i++) {
        if (there && column + i < Columns::width)
            row[column + i] = group.at[i];
    }
}

/* Stores f(place) of Count columns from `from` on: multiples of 32 in wide order, or all columns. */
template <class Columns, int Ld, int Column = 0, int Count = Columns::padded, int S = 1, class Stored, class F>
MLP_DEVICE void mlp_rows_store(Stored *to, int64_t first, int64_t rows, int from, F f)
{
#pragma unroll
    for (int slab = 0; slab < S; slab++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t row = first + mlp_rows_row(slab, half);
            Stored *at = to + row * Ld;
#pragma unroll
            for (int tile = 0; tile < Count / 8; tile += mlp_rows_neighbours<Columns>(from / 8 + tile) / 2) {
                if (mlp_rows_neighbours<Columns>(from / 8 + tile) == 8)
                    mlp_rows_store_group<Columns, Ld, Column, 8>(at, row < rows, from, slab, tile, half, f);
                else if (mlp_rows_neighbours<Columns>(from / 8 + tile) == 4)
                    mlp_rows_store_group<Columns, Ld, Column, 4>(at, row < rows, from, slab, tile, half, f);
                else
                    mlp_rows_store_group<Columns, Ld, Column, 2>(at, row < rows, from, slab, tile, half, f);
            }
        }
    }
}

/* ---- Weights in shared memory ---- */

/* The weights of a product that takes columns In to columns Out: a row for each result, blocks of 64 columns one after
 * the other, each row of a block 128 bytes (the last block is narrower where less is left). The 16-byte chunks of a
 * row are exchanged by an exclusive or with bits of the row's place, as wgmma reads them, so that neither staging nor
 * reading has bank conflicts. Begins at a multiple of 1024 bytes. */
template <class T, class Out, class In>
struct mlp_rows_weight {
    static constexpr int rows = Out::padded, depth = In::depth;
    static constexpr int blocks = depth / 64, rest = depth % 64 == 48 ? 64 : depth % 64;
    static constexpr int bytes = mlp_rows_up(rows * 2 * (64 * blocks + rest), 1024);

    /* Bytes in a row of the block that holds column k. */
    static __host__ __device__ constexpr int pitch(int k) { return 2 * (k / 64 < blocks ? 64 : rest); }

    /* Where row n, column k lies; k is a multiple of 8. */
    static __host__ __device__ constexpr int offset(int n, int k)
    {
        const int bytes_a_row = pitch(k), chunk = k % 64 / 8, swap = n * bytes_a_row / 128 % (bytes_a_row / 16);
        return k / 64 * 128 * rows + n * bytes_a_row + (chunk ^ swap) * 16;
    }

    /* The tensor's column at position n of a result. */
    static __host__ __device__ constexpr int out_column(int n) { return Out::column(n / 8, n % 8 / 2) + n % 2; }

    /* Starts to copy columns From to From + In::width of a matrix [Out::width, Ld], by all of `threads`. */
    template <int Ld, int From = 0>
    static MLP_DEVICE void stage(unsigned char *shared, const void *at, int thread, int threads)
    {
        const T *const matrix = static_cast<const T *>(at);
#pragma unroll 4
        for (int i = thread; i < rows * (depth / 8); i += threads) {
            const int n = i / (depth / 8), k = i % (depth / 8) * 8;
            if (Out::width == rows || out_column(n) < Out::width)
                copy<Ld, From>(shared + offset(n, k), matrix + int64_t(out_column(n)) * Ld + From, k);
            else
                *reinterpret_cast<mlp_vector<8, T> *>(shared + offset(n, k)) = {};
        }
    }

private:
    /* The 8 positions from k on of one row: at once where the order is natural, or in pairs, where all are aligned. */
    template <int Ld, int From>
    static MLP_DEVICE void copy(unsigned char *to, const T *row, int k)
    {
        constexpr bool natural = !In::wide && Ld % 8 == 0 && From % 8 == 0 && In::width % 8 == 0;
        if constexpr (natural) {
            if (In::width == depth || k < In::width)
                mlp_rows_copy_async<16>(mlp_rows_address(to), row + k);
            else
                *reinterpret_cast<mlp_vector<8, T> *>(to) = {};
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++)
                copy_pair<Ld % 2 == 0 && From % 2 == 0>(to + 4 * i, row, In::column(k / 8, i));
        }
    }

    template <bool Aligned>
    static MLP_DEVICE void copy_pair(unsigned char *to, const T *row, int column)
    {
        if (Aligned && column + 2 <= In::width) {
            mlp_rows_copy_async<4>(mlp_rows_address(to), row + column);
            return;
        }
        mlp_vector<2, T> pair = {};
        if (column < In::width)
            pair.at[0] = row[column];
        if (column + 1 < In::width)
            pair.at[1] = row[column + 1];
        *reinterpret_cast<mlp_vector<2, T> *>(to) = pair;
    }
};

/* A number a column, from a parameter in memory: f32 in natural order, with zeros behind the last one. */
template <class Columns, class Stored>
struct mlp_rows_param_source {
    static constexpr int depth = Columns::depth;
    float *to;
    const unsigned char *from;

    MLP_DEVICE float load(int i) const
    {
        return i < Columns::width ? mlp_float(reinterpret_cast<const Stored *>(from)[i]) : 0.0f;
    }

    MLP_DEVICE void store(int i, float x) const
    {
        if (i < depth)
            to[i] = x;
    }
};

/* Stages parameters, by all of `threads`; everything is asked for before anything is waited for. */
template <class... Sources>
MLP_DEVICE void mlp_rows_stage_params(int thread, int threads, Sources... sources)
{
    constexpr int depths[] = {Sources::depth...};
    int most = 0;
#pragma unroll
    for (const int depth : depths)
        most = depth > most ? depth : most;
    for (int i = thread; i < most; i += threads) {
        const float x[] = {sources.load(i)...};
        const float *next = x;
        (sources.store(i, *next++), ...);
    }
}

/* After staging, once: the whole block may read it. */
MLP_DEVICE void mlp_rows_staged()
{
    mlp_rows_copies_commit();
    mlp_rows_copies_wait<0>();
    mlp_rows_publish();
    __syncthreads();
}

/* ---- Products through mma.sync, for sm_80 and later: complete when the call returns. ---- */

struct mlp_rows_mma {
    template <class... Fragments>
    static MLP_DEVICE void begin(Fragments &...) {}
    static MLP_DEVICE void commit() {}
    template <class... Accs>
    static MLP_DEVICE void wait(int, Accs &...) {}

    /* The B operands of 16 weights' rows from n on, or of 8 where the weights end there, for 16 columns from k on. */
    template <class Weight>
    static MLP_DEVICE void right(unsigned (&b)[4], unsigned shared, int n, int k)
    {
        const int lane = int(threadIdx.x % 32);
        if (n + 8 < Weight::rows) {
            const unsigned at = shared + Weight::offset(n + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8);
            mlp_rows_read_four(b, at);
        } else {
            const unsigned at = shared + Weight::offset(n + lane % 8, k + lane / 8 % 2 * 8);
            mlp_rows_read_two(b, at);
        }
    }

    /* d (+)= a W', for N rows of the weights from n on and K of their columns from k on. The weights lie at a place,
     * a multiple of 1024, of the block's memory (mlp_rows_address). */
    template <class Weight, class T, int N, int K, int S>
    static MLP_DEVICE void product(mlp_rows_acc<N, S> &d, const mlp_rows_fragment<T, K, S> &a,
                                   unsigned memory, int place, bool accumulate, int n = 0, int k = 0)
    {
        if (!accumulate)
            clear(d);
#pragma unroll
        for (int step = 0; step < K / 16; step++) {
#pragma unroll
            for (int tile = 0; tile < N / 8; tile += 2) {
                unsigned b[4];
                right<Weight>(b, memory + unsigned(place), n + 8 * tile, k + 16 * step);
#pragma unroll
                for (int s = 0; s < S; s++) {
                    mlp_rows_mma_step(d.x[s][tile], a.a[s][step], b[0], b[1], T());
                    if (tile + 1 < N / 8)
                        mlp_rows_mma_step(d.x[s][tile + 1 < N / 8 ? tile + 1 : tile], a.a[s][step], b[2], b[3], T());
                }
            }
        }
    }

private:
    template <int N, int S>
    static MLP_DEVICE void clear(mlp_rows_acc<N, S> &d)
    {
#pragma unroll
        for (int s = 0; s < S; s++) {
#pragma unroll
            for (int tile = 0; tile < N / 8; tile++)
                d.x[s][tile][0] = d.x[s][tile][1] = d.x[s][tile][2] = d.x[s][tile][3] = 0.0f;
        }
    }
};

/* ---- Products through wgmma, for sm_90a: run while the warpgroup does something else. ---- */

#if MLP_ROWS_HAS_WGMMA

/* The widest of the products that N columns have room for. */
MLP_DEVICE constexpr int mlp_rows_widest(int n)
{
    return n >= 256 ? 256 : n >= 192 ? 192 : n >= 128 ? 128 : n >= 96 ? 96 : n >= 64 ? 64 : n;
}

struct mlp_rows_wgmma {
    /* Before products: the fragments are complete, and the accumulators have been read. */
    template <class... Fragments>
    static MLP_DEVICE void begin(Fragments &...fragments)
    {
        (keep(fragments), ...);
        mlp_rows_wgmma_fence();
    }

    /* Makes the products since the last one a group. */
    static MLP_DEVICE void commit()
    {
        mlp_rows_wgmma_commit();
    }

    /* Until at most `pending` groups, the youngest, are unfinished; then the accumulators given can be read. */
    template <class... Accs>
    static MLP_DEVICE void wait(int pending, Accs &...accs)
    {
        if (pending == 0)
            mlp_rows_wgmma_wait<0>();
        else if (pending == 1)
            mlp_rows_wgmma_wait<1>();
        else if (pending == 2)
            mlp_rows_wgmma_wait<2>();
        else
            mlp_rows_wgmma_wait<3>();
        (keep(accs), ...);
    }

    /* d (+)= a W', for N rows of the weights from n on and K of their columns from k on. The weights lie at a place,
     * a multiple of 1024, of the block's memory (mlp_rows_address). */
    template <class Weight, class T, int N, int K>
    static MLP_DEVICE void product(mlp_rows_acc<N, 1> &d, const mlp_rows_fragment<T, K, 1> &a,
                                   unsigned memory, int place, bool accumulate, int n = 0, int k = 0)
    {
        piece<Weight, T, N, K, 0>(d, a, memory, place, accumulate, n, k);
    }

private:
    /* Accumulators and fragments change behind the compiler's back: it must neither move nor keep copies of them. */
    template <int N>
    static MLP_DEVICE void keep(mlp_rows_acc<N, 1> &d)
    {
#pragma unroll
        for (int tile = 0; tile < N / 8; tile++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                mlp_rows_changed(d.x[0][tile][i]);
        }
    }

    template <class T, int K>
    static MLP_DEVICE void keep(mlp_rows_fragment<T, K, 1> &a)
    {
#pragma unroll
        for (int step = 0; step < K / 16; step++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                mlp_rows_changed(a.a[0][step][i]);
        }
    }

    /* Start / 16; the distance of groups of 8 rows / 16; the kind of swizzle: 1, 2, 3 for 128, 64, 32 bytes. What
     * depends on the block's memory is computed once, and a descriptor is one addition from there. */
    template <class Weight>
    static MLP_DEVICE uint64_t descriptor(unsigned memory, int place, int n, int k)
    {
        const int pitch = Weight::pitch(k), swizzle = pitch == 128 ? 1 : pitch == 64 ? 2 : 3;
        const int at = place + k / 64 * 128 * Weight::rows + n * pitch + k % 64 * 2;
        const unsigned base = (memory & 0x3ffff) >> 4 | 1u << 16;
        return uint64_t(unsigned(swizzle) << 30 | unsigned(pitch / 2)) << 32 | (base + unsigned(at >> 4));
    }

    /* wgmma has not every width: the columns from Begin on, one piece after the other. */
    template <class Weight, class T, int N, int K, int Begin>
    static MLP_DEVICE void piece(mlp_rows_acc<N, 1> &d, const mlp_rows_fragment<T, K, 1> &a, unsigned memory,
                                 int place, bool accumulate, int n, int k)
    {
        constexpr int width = mlp_rows_widest(N - Begin);
#pragma unroll
        for (int step = 0; step < K / 16; step++) {
            mlp_rows_wgmma_step<width>::issue(&d.x[0][Begin / 8], a.a[0][step],
                                              descriptor<Weight>(memory, place, n + Begin, k + 16 * step),
                                              accumulate || step > 0, T());
        }
        if constexpr (Begin + width < N)
            piece<Weight, T, N, K, Begin + width>(d, a, memory, place, accumulate, n, k);
    }
};

#else

struct mlp_rows_wgmma {
};
#endif

/* How a warpgroup takes Pair tiles of 64 rows at a time: wgmma one after the other, so that one computes while
 * another is packed; mma.sync as slabs of one tile, so that one load of weights serves all. */
template <class Wish, int Pair>
struct mlp_rows_shape {
    static constexpr bool wgmma = MLP_ROWS_HAS_WGMMA && !std::is_same<Wish, mlp_rows_mma>::value;
    using backend = typename std::conditional<wgmma, mlp_rows_wgmma, mlp_rows_mma>::type;
    static constexpr int tiles = wgmma ? Pair : 1, slabs = wgmma ? 1 : Pair;
};

/* ---- Weights that do not fit: a ring of buffers that one warpgroup fills while the others compute. ---- */

/* Stages buffers; chunk after chunk of weights goes through them, numbered from 0 over the kernel's whole life. The
 * barriers take 16 bytes a stage of shared memory. `Readers` warps read each chunk, 128 threads write it. */
template <int Stages, int Readers>
struct mlp_rows_ring {
    static constexpr int stages = Stages, lag = Stages - 2;
    unsigned barriers;

    MLP_DEVICE explicit mlp_rows_ring(const void *shared) : barriers(mlp_rows_address(shared)) {}

    /* By one thread, before mlp_rows_staged. */
    MLP_DEVICE void start() const
    {
        for (int i = 0; i < Stages; i++) {
            mlp_rows_barrier_start(full(i), 128);
            mlp_rows_barrier_start(free(i), Readers);
        }
    }

    MLP_DEVICE unsigned full(unsigned chunk) const { return barriers + chunk % Stages * 16; }
    MLP_DEVICE unsigned free(unsigned chunk) const { return full(chunk) + 8; }

    /* Readers: until a chunk is there; by each warp, when it has read a chunk. */
    MLP_DEVICE void wait(unsigned chunk) const { mlp_rows_barrier_wait(full(chunk), chunk / Stages % 2); }
    MLP_DEVICE void release(unsigned chunk) const
    {
        if (threadIdx.x % 32 == 0)
            mlp_rows_barrier_arrive(free(chunk));
    }

    /* The writers' life: copy(chunk, stage) starts to copy. A chunk is announced when `lag` others are on their way
     * behind it; readers free chunk k while they wait for chunk k + 2, so that a lag of Stages - 2 cannot block. */
    template <class Copy>
    MLP_DEVICE void write(unsigned chunks, Copy copy) const
    {
        for (unsigned chunk = 0; chunk < chunks; chunk++) {
            if (chunk >= Stages)
                mlp_rows_barrier_wait(free(chunk), (chunk / Stages - 1) % 2);
            copy(chunk, chunk % Stages);
            mlp_rows_copies_commit();
            if (chunk >= lag) {
                mlp_rows_copies_wait<lag>();
                announce(chunk - lag);
            }
        }
        mlp_rows_copies_wait<0>();
        for (unsigned chunk = chunks < lag ? 0 : chunks - lag; chunk < chunks; chunk++)
            announce(chunk);
    }

private:
    MLP_DEVICE void announce(unsigned chunk) const
    {
        mlp_rows_publish();
        mlp_rows_barrier_arrive(full(chunk));
    }
};

/* ---- Starting a kernel: at most one block a multiprocessor, each of which takes `block_rows` rows at a time. ---- */

static inline int mlp_rows_start(mlp_kernel kernel, int threads, int shared, int block_rows, unsigned char *arena,
                                 int64_t rows, void *stream)
{
    int device = 0, processors = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess || rows <= 0)
        return error;
    const int64_t wanted = (rows + block_rows - 1) / block_rows;
    const dim3 grid(unsigned(wanted < processors ? wanted : processors));
    return mlp_launch(kernel, grid, dim3(unsigned(threads)), size_t(shared), true, arena, rows, stream);
}

#endif
