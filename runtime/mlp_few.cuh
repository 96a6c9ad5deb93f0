/* mlp_few.cuh -- what a generated kernel for 1 to 16 rows is made of: a whole network in one persistent kernel.
 *
 * With few rows a product is a walk over its weights. Every block owns some columns of each layer, and walks over the
 * weights of those columns, layer after layer. One warp of the block, the feeder, copies them tile by tile into a ring
 * in shared memory, as far ahead as the ring allows: weights depend on nothing, so it never stops at the end of a
 * layer. But only so much may be on its way at once as keeps the memory busy: what is more waits in the memory's
 * queues, and what blocks hand to each other waits behind it. The other warps multiply. Between two layers, what the
 * blocks computed is handed to all of them:
 *
 *   in a cluster  all blocks of the kernel are one cluster of up to 16; each value goes straight into the shared memory
 *                 of every block, whose barrier counts the bytes.
 *   in a grid     values go through memory (that is, the L2). A value is its own flag: the buffer is all zeros before,
 *                 values are handed on with every bit turned over, and the one that would become 0 (a NaN) as another
 *                 NaN. Readers ask again until no element is 0. There are two sets of buffers, used in turn: a run
 *                 clears the set of the next one. A counter for each block says whose turn it is. Zeros in the state's
 *                 memory are all that it takes to begin. All blocks must be resident at once: the kernel is started so
 *                 that it begins together or fails.
 *
 * What is not a product is computed by every block for itself, from rows in its shared memory, or, where only outputs
 * come of it, by one block for each row.
 *
 * A tile is up to 16 rows of weights (columns of the layer) by some steps of 64 bytes, spread over the warps. In a
 * step, lane 4 g + t holds 16 bytes, number t, of rows g and g + 8: for f16 and bf16 these are, up to the order of k,
 * the operand of two mma.m16n8k16 whose 8 columns are rows of the network. For f32 the same lanes use fma. The order
 * of every sum is fixed: the same inputs give the same bits.
 *
 * Generated code defines a plan, the rows in shared memory, a layer type for each product and a hand type between two
 * layers, and composes the member functions of mlp_few. All memory of weights and values has rows of a multiple of 16
 * bytes, those behind the last column being 0. */
#ifndef MLP_FEW_CUH
#define MLP_FEW_CUH

#include "mlp_cuda_kernels.cuh"
#include "mlp_few_ptx.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "the kernel for few rows needs compute capability 9.0: compile with -arch=sm_90, or mlpc with --whole=never"
#endif

__host__ __device__ constexpr int mlp_few_up(int n, int to) { return (n + to - 1) / to * to; }
__host__ __device__ constexpr int mlp_few_min(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int mlp_few_max(int a, int b) { return a > b ? a : b; }

/* Distance of rows in shared memory that hold so many steps of 64 bytes: eight lanes that read 64 bytes each of two
 * neighbouring rows meet no bank twice. */
__host__ __device__ constexpr int mlp_few_pitch(int steps) { return 64 * (steps | 1); }

/* ---- Constants: the plan, rows, layers, hands ---- */

/* How the kernel runs: most rows, blocks, multiplying warps of a block, the ring's slots, how many of them may be on
 * their way at once, their bytes, and how often values are handed on.
 * Shared memory holds barriers, the parts of sums, the ring, and from `free` on what layers read; places in that part
 * count from `free`. */
template <int Rows, int Blocks, int Warps, int Slots, int Flight, int SlotBytes, int Hands, bool Cluster>
struct mlp_few_plan {
    static constexpr int rows = Rows, blocks = Blocks, warps = Warps, slots = Slots, flight = Flight;
    static constexpr int slot_bytes = SlotBytes;
    static constexpr bool cluster = Cluster;
    static constexpr int workers = 32 * Warps, threads = workers + 32;
    static constexpr int hands = Hands;
    static constexpr int full = 0, empty = 8 * slots, arrived = 16 * slots;     /* barriers */
    static constexpr int part_pitch = 20;                       /* floats from one row to the next: banks */
    static constexpr int part_floats = warps * rows * part_pitch;
    static constexpr int parts = mlp_few_up(arrived + 8 * hands, 128);
    static constexpr int scratch = parts + 2 * 4 * part_floats;
    static constexpr int ring = mlp_few_up(scratch + 4 * warps, 128);
    static constexpr int free = ring + slots * slot_bytes;
    static constexpr int epochs = mlp_few_up(4 * blocks, 256);  /* bytes of the state before the hands' buffers */
    static_assert(rows >= 1 && rows <= 16, "few rows");
    static_assert(flight >= 1 && flight <= slots, "some are on their way");
    static_assert(slot_bytes % 128 == 0, "slots are aligned");
    static_assert(!cluster || blocks <= 16, "a cluster is at most 16 blocks");
};

/* Rows of Ld elements in shared memory. */
template <class Plan, class Stored_, int Ld, int At>
struct mlp_few_rows {
    using Stored = Stored_;
    static constexpr int row_bytes = Ld * int(sizeof(Stored)), at = Plan::free + At;
    static constexpr int pitch = mlp_few_pitch((row_bytes + 63) / 64);
    static_assert(row_bytes % 16 == 0 && At % 16 == 0, "aligned");

    static MLP_DEVICE Stored &element(int row, int column);
    static MLP_DEVICE float number(int row, int column) { return mlp_float(element(row, column)); }
};

/* Where in shared memory a value stands: in rows, from a column on; or nowhere. */
template <class Rows, int Column>
struct mlp_few_place {
    static constexpr int at = Rows::at + Column * int(sizeof(typename Rows::Stored)), pitch = Rows::pitch;
    static_assert(at % 16 == 0, "aligned");
};

template <int Column>
struct mlp_few_place<void, Column> {
    static constexpr int at = -1, pitch = 0;
};

/* A product of `Sums` sums for each of `Out` columns: of column c, those of weight rows c, Out + c, ... (two where a
 * gate stands above its value). */
template <class Plan, class Stored_, int In, int Out, int Sums>
struct mlp_few_layer {
    using Stored = Stored_;
    static constexpr int out = Out, sums = Sums;
    static constexpr int row_bytes = mlp_few_up(In * int(sizeof(Stored)), 16);
    static constexpr int steps = (row_bytes + 63) / 64;
    static constexpr int last_chunks = row_bytes % 64 / 16;     /* of the last step; 0: all 4 */

    /* A block's columns. In a cluster they are handed on 16 bytes at a time. */
    static constexpr int unit = Plan::cluster ? 8 : 1;
    static constexpr int units = (Out + unit - 1) / unit;
    static constexpr int share = (units + Plan::blocks - 1) / Plan::blocks * unit;

    static constexpr int tile_columns = 16 / Sums;
    static constexpr int tile_rows = mlp_few_min(16, share * Sums);
    static constexpr int room = Plan::slot_bytes / (64 * tile_rows), odd = room % 2 ? room : room - 1;
    static constexpr int most = odd > Plan::warps ? odd / Plan::warps * Plan::warps : odd;
    static constexpr int tile_steps = steps <= odd ? steps : most;
    static constexpr int tile_pitch = mlp_few_pitch(tile_steps);
    static constexpr int tiles = (steps + tile_steps - 1) / tile_steps;         /* along k */
    static constexpr int column_tiles = (share + tile_columns - 1) / tile_columns;
    static constexpr int warp_steps = (tile_steps + Plan::warps - 1) / Plan::warps;
    static_assert(odd >= 1 && tile_rows * tile_pitch <= Plan::slot_bytes, "a tile fits into a slot");
    static_assert(16 % Sums == 0 && tile_columns % unit == 0, "tiles are whole columns");

    static MLP_DEVICE int first(int block)
    {
        return min((block * (units / Plan::blocks) + min(block, units % Plan::blocks)) * unit, Out);
    }
};

/* Numbers for each of a block's columns of a layer, a bias say, in shared memory; as they are stored in memory. */
template <class Plan, class Stored_, class Layer_, int At>
struct mlp_few_columns {
    using Stored = Stored_;
    using Layer = Layer_;
    static constexpr int at = Plan::free + At;
};

/* N numbers in shared memory, the same for all rows. */
template <class Plan, class Stored_, int N, int At>
struct mlp_few_numbers {
    using Stored = Stored_;
    static constexpr int count = N, at = Plan::free + At;
};

/* Rows of N values handed from a layer to all blocks. In a grid they go through the state, `Offset` bytes behind the
 * epochs, and may stay there (Rows is void); in a cluster the barrier is number `Index`. In shared memory they stand in
 * Rows from Column on. */
template <class Plan, class Value_, int N, int Offset, int Index, class Rows, int Column>
struct mlp_few_hand {
    using Value = Value_;
    static constexpr int width = N, offset = Offset, index = Index;
    static constexpr int at = mlp_few_place<Rows, Column>::at, pitch = mlp_few_place<Rows, Column>::pitch;
    static constexpr int vector = 16 / int(sizeof(Value));
    static constexpr int ld = mlp_few_up(N, vector), row_bytes = ld * int(sizeof(Value)), chunks = row_bytes / 16;
    static constexpr int set = Plan::rows * row_bytes;          /* bytes of one of the two sets */
    static_assert(Index < Plan::hands, "a barrier for each hand");
    static_assert(!Plan::cluster || at >= 0, "in a cluster values go to shared memory");
};

/* ---- Values in shared memory, and handed on ---- */

template <class Plan, class Stored, int Ld, int At>
MLP_DEVICE Stored &mlp_few_rows<Plan, Stored, Ld, At>::element(int row, int column)
{
    return reinterpret_cast<Stored *>(mlp_few_memory + at + row * pitch)[column];
}

/* What a step stores, as the next one reads it. */
template <class Stored>
MLP_DEVICE float mlp_few_rounded(float x)
{
    Stored stored;
    mlp_round(x, stored);
    return mlp_float(stored);
}

/* Hands a value on: see above. */
MLP_DEVICE void mlp_few_show(float *to, float x)
{
    const unsigned bits = ~__float_as_uint(x);
    mlp_few_put(to, bits ? bits : 0x80000000u);
}

MLP_DEVICE void mlp_few_show_half(void *to, unsigned short value)
{
    const unsigned short bits = static_cast<unsigned short>(~value);
    mlp_few_put_half(to, bits ? bits : (unsigned short)0x8000);
}

MLP_DEVICE void mlp_few_show(__half *to, float x)
{
    mlp_few_show_half(to, __half_as_ushort(__float2half_rn(x)));
}

MLP_DEVICE void mlp_few_show(__nv_bfloat16 *to, float x)
{
    mlp_few_show_half(to, __bfloat16_as_ushort(__float2bfloat16_rn(x)));
}

/* Whether an element of the word is 0. */
MLP_DEVICE bool mlp_few_lacks(unsigned word, float) { return word == 0; }

template <class Half>
MLP_DEVICE bool mlp_few_lacks(unsigned word, Half)
{
    return ((word - 0x00010001u) & ~word & 0x80008000u) != 0;
}

template <class Value>
MLP_DEVICE bool mlp_few_lacks(uint4 x)
{
    return mlp_few_lacks(x.x, Value()) || mlp_few_lacks(x.y, Value()) || mlp_few_lacks(x.z, Value()) ||
           mlp_few_lacks(x.w, Value());
}

/* The 4 bytes of a chunk that begin with its element `first`, as far as elements exist: 1 bits. */
template <class Value>
MLP_DEVICE constexpr unsigned mlp_few_mask(int first, int elements)
{
    return sizeof(Value) == 4 ? (first < elements ? ~0u : 0u)
                              : (first < elements ? 0xffffu : 0u) | (first + 1 < elements ? 0xffff0000u : 0u);
}

MLP_DEVICE uint4 mlp_few_and(uint4 x, uint4 mask)
{
    return make_uint4(x.x & mask.x, x.y & mask.y, x.z & mask.z, x.w & mask.w);
}

MLP_DEVICE uint4 mlp_few_not(uint4 x) { return make_uint4(~x.x, ~x.y, ~x.z, ~x.w); }

/* Chunk number `chunk` of a row of N values that were handed on, and 0 behind the last value. `ready` says whether all
 * its values are there. */
template <class Value, int N>
MLP_DEVICE uint4 mlp_few_look_at(const unsigned char *row, int chunk, bool &ready)
{
    constexpr int vector = 16 / int(sizeof(Value)), word = 4 / int(sizeof(Value)), rest = N % vector;
    const uint4 bits = mlp_few_look(row + chunk * 16), x = mlp_few_not(bits);
    if (rest != 0 && chunk == N / vector) {
        const uint4 mask = make_uint4(mlp_few_mask<Value>(0, rest), mlp_few_mask<Value>(word, rest),
                                      mlp_few_mask<Value>(2 * word, rest), mlp_few_mask<Value>(3 * word, rest));
        ready = !mlp_few_lacks<Value>(make_uint4(bits.x | ~mask.x, bits.y | ~mask.y, bits.z | ~mask.z,
                                                 bits.w | ~mask.w));
        return mlp_few_and(x, mask);
    }
    ready = !mlp_few_lacks<Value>(bits);
    return x;
}

/* ---- Where a layer's input comes from: one chunk of 16 bytes at a time ---- */

/* Rows in shared memory. */
template <class Place>
struct mlp_few_in_shared {
    MLP_DEVICE uint4 chunk(int row, int chunk) const
    {
        return *reinterpret_cast<const uint4 *>(mlp_few_memory + Place::at + row * Place::pitch + chunk * 16);
    }
};

/* Rows in memory that were there when the kernel began. */
struct mlp_few_in_memory {
    const unsigned char *at;
    int64_t pitch;
    int rows;

    MLP_DEVICE uint4 chunk(int row, int chunk) const
    {
        if (row >= rows)
            return make_uint4(0, 0, 0, 0);
        return __ldcg(reinterpret_cast<const uint4 *>(at + row * pitch + chunk * 16));
    }
};

/* Rows that are being handed on through memory. */
template <class Hand>
struct mlp_few_in_hand {
    const unsigned char *at;
    int rows;

    MLP_DEVICE uint4 chunk(int row, int chunk) const
    {
        if (row >= rows)
            return make_uint4(0, 0, 0, 0);
        bool ready;
        uint4 x;
        do
            x = mlp_few_look_at<typename Hand::Value, Hand::width>(at + row * Hand::row_bytes, chunk, ready);
        while (!ready);
        return x;
    }
};

/* ---- Sums of a tile ---- */

/* This warp's part of the sums of 16 weight rows and R rows. A step takes chunks of weight rows g and g + 8, and
 * `operands` chunks of the input, which are of the rows that `row` names. */
template <class Stored, int R>
struct mlp_few_sums {
    static constexpr int operands = (R + 7) / 8;
    float at[2][operands][4];       /* two chains, so that an mma need not wait for the one before */

    static MLP_DEVICE int row(int operand) { return min(operand * 8 + int(threadIdx.x) % 32 / 4, R - 1); }

    MLP_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < 2 * operands * 4; i++)
            at[i / (operands * 4)][i / 4 % operands][i % 4] = 0.0f;
    }

    MLP_DEVICE void add(uint4 low, uint4 high, const uint4 (&x)[operands])
    {
#pragma unroll
        for (int i = 0; i < operands; i++) {
            mlp_few_mma(at[0][i], low.x, high.x, low.y, high.y, x[i].x, x[i].y, Stored());
            mlp_few_mma(at[1][i], low.z, high.z, low.w, high.w, x[i].z, x[i].w, Stored());
        }
    }

    /* Into [row][weight row]. */
    template <int Pitch>
    MLP_DEVICE void put(float *part) const
    {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < operands; i++) {
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const int to = i * 8 + t * 2 + j;
                if (to < R) {
                    part[to * Pitch + g] = at[0][i][j] + at[1][i][j];
                    part[to * Pitch + g + 8] = at[0][i][j + 2] + at[1][i][j + 2];
                }
            }
        }
    }
};

template <int R>
struct mlp_few_sums<float, R> {
    static constexpr int operands = R;
    float at[2][R];

    static MLP_DEVICE int row(int operand) { return operand; }

    MLP_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < 2 * R; i++)
            at[i / R][i % R] = 0.0f;
    }

    static MLP_DEVICE void multiply(float &sum, uint4 weights, uint4 x)
    {
        sum = fmaf(__uint_as_float(weights.x), __uint_as_float(x.x), sum);
        sum = fmaf(__uint_as_float(weights.y), __uint_as_float(x.y), sum);
        sum = fmaf(__uint_as_float(weights.z), __uint_as_float(x.z), sum);
        sum = fmaf(__uint_as_float(weights.w), __uint_as_float(x.w), sum);
    }

    MLP_DEVICE void add(uint4 low, uint4 high, const uint4 (&x)[R])
    {
#pragma unroll
        for (int r = 0; r < R; r++) {
            multiply(at[0][r], low, x[r]);
            multiply(at[1][r], high, x[r]);
        }
    }

    template <int Pitch>
    MLP_DEVICE void put(float *part) const
    {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 2 * R; i++) {
            float sum = at[i / R][i % R];
            sum += __shfl_xor_sync(~0u, sum, 1);
            sum += __shfl_xor_sync(~0u, sum, 2);
            if (t == i % 4)
                part[i % R * Pitch + i / R * 8 + g] = sum;
        }
    }
};

/* ---- The block ---- */

template <class Plan>
struct mlp_few {
    unsigned char *state;
    int rows, block, warp, lane;
    unsigned slot = 0, phase = 0, part = 0, epoch = 0;
    unsigned flying = 0, landing = 0, landing_phase = 0;    /* the feeder's: slots on their way, the first of them */

    MLP_DEVICE mlp_few(unsigned char *of, int64_t run_rows)
        : state(of), rows(int(run_rows)), block(int(blockIdx.x)), warp(int(threadIdx.x) / 32), lane(threadIdx.x % 32)
    {
    }

    MLP_DEVICE bool feeds() const { return warp == Plan::warps; }

    /* All multiplying threads of the block meet. */
    static MLP_DEVICE void meet() { mlp_few_meet<Plan::workers>(); }

    /* ---- Begin and end ---- */

    template <class Hand>
    MLP_DEVICE void expect()
    {
        const unsigned barrier = mlp_few_shared(Plan::arrived + 8 * Hand::index);
        mlp_few_barrier_init(barrier, 1);
        mlp_few_arrive_expect(barrier, rows * Hand::row_bytes);
    }

    /* First of all, by all threads. Prepares the barriers; Hands are all of them. */
    template <class... Hands>
    MLP_DEVICE void open()
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < Plan::slots; i++) {
                mlp_few_barrier_init(mlp_few_shared(Plan::full + 8 * i), 1);
                mlp_few_barrier_init(mlp_few_shared(Plan::empty + 8 * i), Plan::warps);
            }
            if constexpr (Plan::cluster)
                (expect<Hands>(), ...);
            mlp_few_barriers_made();
        }
        __syncthreads();
        if constexpr (Plan::cluster)
            mlp_few_cluster_arrive();
    }

    static MLP_DEVICE void wait_for_cluster()
    {
        if constexpr (Plan::cluster) {
            __syncwarp();
            mlp_few_cluster_wait();
        }
    }

    /* By the multiplying warps, before anything is handed on: in a cluster, the other blocks are there from here on. */
    MLP_DEVICE void begin()
    {
        if constexpr (!Plan::cluster)
            epoch = __ldcg(reinterpret_cast<const unsigned *>(state) + block);
        wait_for_cluster();
    }

    /* Last of all, by all threads. */
    MLP_DEVICE void end()
    {
        if (feeds()) {
            wait_for_cluster();
        } else if constexpr (!Plan::cluster) {
            meet();                 /* everyone has read the epoch */
            if (threadIdx.x == 0)
                reinterpret_cast<unsigned *>(state)[block] = epoch + 1;
        }
    }

    /* ---- Weights ---- */

    /* By the feeder: this block's rows of a layer's weights go through the ring. */
    template <class Layer>
    MLP_DEVICE void feed(const unsigned char *weights)
    {
        const int first = Layer::first(block), end = Layer::first(block + 1);
#pragma unroll 1
        for (int i = 0; i < Layer::column_tiles; i++) {
            const int column = first + i * Layer::tile_columns;
            if (column >= end)
                break;
            const int tall = min(Layer::tile_columns, end - column) * Layer::sums;
            const int row = lane % Layer::sums * Layer::out + column + lane / Layer::sums;
            const unsigned char *from = weights + int64_t(row) * Layer::row_bytes;
#pragma unroll 1
            for (int k = 0; k < Layer::tiles; k++)
                feed_tile<Layer>(from, tall, k * Layer::tile_steps * 64);
        }
    }

    template <class Layer>
    MLP_DEVICE void feed_tile(const unsigned char *from, int tall, int begin)
    {
        const int bytes = min(Layer::tile_steps * 64, Layer::row_bytes - begin);
        const unsigned full = mlp_few_shared(Plan::full) + 8 * slot;
        mlp_few_wait(mlp_few_shared(Plan::empty) + 8 * slot, phase ^ 1);    /* at once the first time round */
        if constexpr (Plan::flight < Plan::slots)
            await_landing();
        if (lane == 0)
            mlp_few_arrive_expect(full, tall * bytes);
        __syncwarp();
        if (lane < tall)
            mlp_few_copy(mlp_few_shared(Plan::ring) + slot * Plan::slot_bytes + lane * Layer::tile_pitch, from + begin,
                         bytes, full);
        next_slot();
    }

    MLP_DEVICE void await_landing()
    {
        if (flying < Plan::flight) {
            flying++;
            return;
        }
        mlp_few_wait(mlp_few_shared(Plan::full) + 8 * landing, landing_phase);
        advance(landing, landing_phase);
    }

    static MLP_DEVICE void advance(unsigned &slot, unsigned &phase)
    {
        slot++;
        if (slot == Plan::slots) {
            slot = 0;
            phase ^= 1;
        }
    }

    MLP_DEVICE void next_slot() { advance(slot, phase); }

    /* By the multiplying warps, before anything else: a number for each column of a layer, of which this block's go to
     * shared memory. All have met before a product asks for them. */
    template <class Columns>
    MLP_DEVICE const float *stage_columns(const unsigned char *from) const
    {
        using Layer = typename Columns::Layer;
        const auto *columns = reinterpret_cast<const typename Columns::Stored *>(from);
        const int first = Layer::first(block), end = Layer::first(block + 1);
        float *to = reinterpret_cast<float *>(mlp_few_memory + Columns::at) - first;
#pragma unroll
        for (int i = 0; i < Layer::share; i += Plan::workers) {
            const int column = first + i + int(threadIdx.x);
            if (column < end)
                to[column] = mlp_float(columns[column]);
        }
        return to;
    }

    /* The same for numbers that every block needs. */
    template <class Numbers>
    MLP_DEVICE const float *stage_numbers(const unsigned char *from) const
    {
        const auto *numbers = reinterpret_cast<const typename Numbers::Stored *>(from);
        float *to = reinterpret_cast<float *>(mlp_few_memory + Numbers::at);
#pragma unroll 4
        for (int i = 0; i < Numbers::count; i += Plan::workers) {
            const int column = i + int(threadIdx.x);
            if (column < Numbers::count)
                to[column] = mlp_float(numbers[column]);
        }
        return to;
    }

    /* ---- Inputs ---- */

    /* Rows in memory, which begin 16-byte aligned, go to shared memory. */
    template <class Rows>
    MLP_DEVICE void load(const unsigned char *from) const
    {
        constexpr int chunks = Rows::row_bytes / 16;
#pragma unroll 4
        for (int i = 0; i < Plan::rows * chunks; i += Plan::workers) {
            const int at = i + int(threadIdx.x), row = at / chunks, chunk = at % chunks;
            if (at < rows * chunks)
                *reinterpret_cast<uint4 *>(mlp_few_memory + Rows::at + row * Rows::pitch + chunk * 16) =
                    __ldcg(reinterpret_cast<const uint4 *>(from + int64_t(row) * Rows::row_bytes + chunk * 16));
        }
        meet();
    }

    template <class Hand>
    MLP_DEVICE unsigned char *buffer(unsigned turn) const
    {
        return state + Plan::epochs + Hand::offset + (turn & 1) * Hand::set;
    }

    /* What is handed on arrives in the shared memory of all blocks. */
    template <class Hand>
    MLP_DEVICE void receive()
    {
        if constexpr (Plan::cluster)
            mlp_few_wait_cluster(mlp_few_shared(Plan::arrived + 8 * Hand::index), 0);
        else
            read_hand<Hand>(0, rows, 1);
    }

    /* The same where nothing but Layer reads it: in a grid, blocks that have no columns of Layer need not wait. */
    template <class Hand, class Layer>
    MLP_DEVICE void receive_for()
    {
        if (Plan::cluster || Layer::first(block) < Layer::first(block + 1))
            receive<Hand>();
    }

    /* Of what is handed on, the rows that this block owns arrive: see each_own_row. */
    template <class Hand>
    MLP_DEVICE void receive_rows()
    {
        if constexpr (Plan::cluster)
            mlp_few_wait_cluster(mlp_few_shared(Plan::arrived + 8 * Hand::index), 0);
        else if (block < rows)
            read_hand<Hand>(block, rows, Plan::blocks);
    }

    /* Rows first, first + step, ... Each thread asks for up to four chunks at a time, again and again. */
    template <class Hand>
    MLP_DEVICE void read_hand(int first, int last, int step)
    {
        constexpr int batch = Hand::chunks * Plan::rows > Plan::workers ? 4 : 1;
        const int end = (last - first + step - 1) / step * Hand::chunks;
#pragma unroll 1
        for (int i = 0; i < Plan::rows * Hand::chunks; i += batch * Plan::workers)
            read_chunks<Hand, batch>(i + int(threadIdx.x), end, first, step);
        meet();
    }

    template <class Hand, int Batch>
    MLP_DEVICE void read_chunks(int begin, int end, int first, int step)
    {
        const unsigned char *from = buffer<Hand>(epoch);
        uint4 x[Batch];
        bool ready[Batch], all;
#pragma unroll
        for (int j = 0; j < Batch; j++)
            ready[j] = begin + j * Plan::workers >= end;
        do {
            all = true;
#pragma unroll
            for (int j = 0; j < Batch; j++) {
                const int i = begin + j * Plan::workers, row = first + i / Hand::chunks * step;
                if (!ready[j])
                    x[j] = mlp_few_look_at<typename Hand::Value, Hand::width>(from + row * Hand::row_bytes,
                                                                              i % Hand::chunks, ready[j]);
                all = all && ready[j];
            }
        } while (!all);
#pragma unroll
        for (int j = 0; j < Batch; j++) {
            const int i = begin + j * Plan::workers, row = first + i / Hand::chunks * step;
            if (i < end)
                *reinterpret_cast<uint4 *>(mlp_few_memory + Hand::at + row * Hand::pitch +
                                           i % Hand::chunks * 16) = x[j];
        }
    }

    /* By every block once a run, any time after begin: zeros where the next run hands on. */
    template <class Hand>
    MLP_DEVICE void clear()
    {
        if constexpr (!Plan::cluster) {
            uint4 *next = reinterpret_cast<uint4 *>(buffer<Hand>(epoch + 1));
#pragma unroll
            for (int i = 0; i < Hand::set / 16; i += Plan::blocks * Plan::workers) {
                const int at = i + int(threadIdx.x) * Plan::blocks + block;
                if (at < Hand::set / 16)
                    next[at] = make_uint4(0, 0, 0, 0);
            }
        }
    }

    template <class Rows, int Column>
    MLP_DEVICE mlp_few_in_shared<mlp_few_place<Rows, Column>> from_shared() const
    {
        return mlp_few_in_shared<mlp_few_place<Rows, Column>>();
    }

    /* `pitch`: bytes from one row to the next, a multiple of 16. */
    MLP_DEVICE mlp_few_in_memory from_memory(const unsigned char *at, int64_t pitch) const
    {
        return mlp_few_in_memory{at, pitch, rows};
    }

    template <class Hand>
    MLP_DEVICE mlp_few_in_hand<Hand> from_hand() const
    {
        return mlp_few_in_hand<Hand>{buffer<Hand>(epoch), rows};
    }

    /* ---- Where results go. put is called by whole warps; `owned` says whether this lane holds a value, `end` is
     * where the block's columns end ---- */

    /* To memory, as rows of the network's own. */
    template <class Value>
    struct to_memory {
        static constexpr int spread = 1;
        Value *at;
        int64_t ld;

        MLP_DEVICE void put(const mlp_few &, int row, int column, float x, bool owned, int, int, int) const
        {
            if (owned)
                mlp_round(x, at[row * ld + column]);
        }
    };

    template <class Hand>
    struct to_grid {
        static constexpr int spread = 1;
        typename Hand::Value *at;

        MLP_DEVICE void put(const mlp_few &, int row, int column, float x, bool owned, int, int, int) const
        {
            if (owned)
                mlp_few_show(at + row * Hand::ld + column, x);
        }
    };

    /* Lanes of neighbouring columns join their values to 16 bytes, which go to every `step`-th block. */
    template <class Hand>
    struct to_cluster {
        static constexpr int spread = Plan::warps;

        static MLP_DEVICE uint4 join(float x)
        {
            uint4 joined;
            if constexpr (sizeof(typename Hand::Value) == 4) {
                joined.x = __float_as_uint(x);
                joined.y = __shfl_down_sync(~0u, joined.x, 1);
                joined.z = __shfl_down_sync(~0u, joined.x, 2);
                joined.w = __shfl_down_sync(~0u, joined.x, 3);
            } else {
                const float right = __shfl_down_sync(~0u, x, 1);
                mlp_vector<2, typename Hand::Value> pair;
                mlp_round(x, pair.at[0]);
                mlp_round(right, pair.at[1]);
                joined.x = *reinterpret_cast<const unsigned *>(&pair);
                joined.y = __shfl_down_sync(~0u, joined.x, 2);
                joined.z = __shfl_down_sync(~0u, joined.x, 4);
                joined.w = __shfl_down_sync(~0u, joined.x, 6);
            }
            return joined;
        }

        MLP_DEVICE void put(const mlp_few &few, int row, int column, float x, bool, int end, int first, int step) const
        {
            const uint4 joined = join(x);
            if (few.lane % Hand::vector != 0 || row >= few.rows || column >= end)
                return;
            const unsigned to = mlp_few_shared(Hand::at) + unsigned(row * Hand::pitch) +
                                unsigned(column) * unsigned(sizeof(typename Hand::Value));
            for (int block = first; block < Plan::blocks; block += step)
                mlp_few_send(to, joined, mlp_few_shared(Plan::arrived + 8 * Hand::index), block);
        }
    };

    template <class Value>
    MLP_DEVICE to_memory<Value> store(Value *at, int64_t ld) const
    {
        return to_memory<Value>{at, ld};
    }

    template <class Hand>
    MLP_DEVICE auto to() const
    {
        if constexpr (Plan::cluster)
            return to_cluster<Hand>{};
        else
            return to_grid<Hand>{reinterpret_cast<typename Hand::Value *>(buffer<Hand>(epoch))};
    }

    /* ---- The product ---- */

    /* finish(sums, row, column) makes the value of one element from its sums; it goes to `result`. */
    template <class Layer, class Source, class Finish, class Result>
    MLP_DEVICE void product(Source source, Finish finish, Result result)
    {
        const int first = Layer::first(block), end = Layer::first(block + 1);
#pragma unroll 1
        for (int i = 0; i < Layer::column_tiles; i++) {
            const int column = first + i * Layer::tile_columns;
            if (column >= end)
                break;
            mlp_few_sums<typename Layer::Stored, Plan::rows> sums;
            sums.clear();
            const int tall = min(Layer::tile_columns, end - column) * Layer::sums;
#pragma unroll 1
            for (int k = 0; k < Layer::tiles; k++)
                add_tile<Layer>(sums, source, tall, k * Layer::tile_steps);
            finish_tile<Layer>(sums, column, end, finish, result);
        }
    }

    /* The input's chunks of one step, 0 where the row has ended. */
    template <class Layer, int Operands, class Sums, class Source>
    static MLP_DEVICE void fetch(uint4 (&x)[Operands], Source source, int step)
    {
        const int t = threadIdx.x % 4;
        const bool behind = Layer::last_chunks != 0 && step == Layer::steps - 1 && t >= Layer::last_chunks;
#pragma unroll
        for (int i = 0; i < Operands; i++)
            x[i] = behind ? make_uint4(0, 0, 0, 0) : source.chunk(Sums::row(i), step * 4 + t);
    }

    /* What lies behind the rows of a tile in the ring may be anything: it counts as 0 along k, and further weight rows
     * are read from the last one, for sums that nobody asks for. */
    template <class Layer, class Sums>
    MLP_DEVICE void add_step(Sums &sums, const uint4 (&x)[Sums::operands], const unsigned char *low,
                             const unsigned char *high, int step, int begin)
    {
        const uint4 none = make_uint4(0, 0, 0, 0);
        const bool behind = Layer::last_chunks != 0 && begin + step == Layer::steps - 1 &&
                            lane % 4 >= Layer::last_chunks;
        const uint4 a = behind ? none : *reinterpret_cast<const uint4 *>(low + step * 64);
        const uint4 b = behind || Layer::tile_rows <= 8 ? none : *reinterpret_cast<const uint4 *>(high + step * 64);
        sums.add(a, b, x);
    }

    template <class Layer, class Sums, class Source>
    MLP_DEVICE void add_tile(Sums &sums, Source source, int tall, int begin)
    {
        constexpr bool ahead = Sums::operands * Layer::warp_steps <= 8;     /* inputs before the weights are there */
        uint4 x[ahead ? Layer::warp_steps : 1][Sums::operands];
        const int steps = min(Layer::tile_steps, Layer::steps - begin);
        const unsigned char *tile = mlp_few_memory + Plan::ring + slot * Plan::slot_bytes + lane % 4 * 16;
        const unsigned char *low = tile + min(lane / 4, tall - 1) * Layer::tile_pitch;
        const unsigned char *high = tile + min(lane / 4 + 8, tall - 1) * Layer::tile_pitch;
        if constexpr (ahead) {
#pragma unroll
            for (int i = 0; i < Layer::warp_steps; i++) {
                if (warp + i * Plan::warps < steps)
                    fetch<Layer, Sums::operands, Sums>(x[i], source, begin + warp + i * Plan::warps);
            }
        }
        mlp_few_wait(mlp_few_shared(Plan::full) + 8 * slot, phase);
#pragma unroll
        for (int i = 0; i < Layer::warp_steps; i++) {
            const int step = warp + i * Plan::warps;
            if (step < steps) {
                if constexpr (!ahead)
                    fetch<Layer, Sums::operands, Sums>(x[0], source, begin + step);
                add_step<Layer>(sums, x[ahead ? i : 0], low, high, step, begin);
            }
        }
        __syncwarp();
        if (lane == 0)
            mlp_few_arrive(mlp_few_shared(Plan::empty) + 8 * slot);
        next_slot();
    }

    /* The warps' parts meet in shared memory, in two places in turn: by the next tile but one, all have been read. */
    template <class Layer, class Sums, class Finish, class Result>
    MLP_DEVICE void finish_tile(const Sums &sums, int column, int end, Finish finish, Result result)
    {
        float *parts = reinterpret_cast<float *>(mlp_few_memory + Plan::parts) + part * Plan::part_floats;
        part ^= 1;
        sums.template put<Plan::part_pitch>(parts + warp * Plan::rows * Plan::part_pitch);
        meet();
        constexpr int wide = Layer::tile_columns, pass_rows = 32 / wide;
        constexpr int passes = (Plan::rows + pass_rows - 1) / pass_rows;
        constexpr int spread = mlp_few_max(1, Result::spread / passes);
#pragma unroll 1
        for (int task = warp; task < passes * spread; task += Plan::warps) {
            const int row = task / spread * pass_rows + lane / wide, at = column + lane % wide;
            const bool owned = row < rows && at < end;
            float x = 0.0f;
            if (owned)
                x = finish_one<Layer>(parts + row * Plan::part_pitch + lane % wide * Layer::sums, row, at, finish);
            result.put(*this, row, at, x, owned, end, task % spread, spread);
        }
    }

    template <class Layer, class Finish>
    static MLP_DEVICE float finish_one(const float *part, int row, int column, Finish finish)
    {
        float sums[Layer::sums];
#pragma unroll
        for (int i = 0; i < Layer::sums; i++) {
            float x[Plan::warps];
#pragma unroll
            for (int j = 0; j < Plan::warps; j++)
                x[j] = part[j * Plan::rows * Plan::part_pitch + i];
#pragma unroll
            for (int gap = 1; gap < Plan::warps; gap *= 2) {
#pragma unroll
                for (int j = 0; j + gap < Plan::warps; j += 2 * gap)
                    x[j] += x[j + gap];
            }
            sums[i] = x[0];
        }
        return finish(sums, row, column);
    }

    /* ---- What is not a product: by the multiplying warps, which have met when it is done ---- */

    /* Whether this block is the one that writes a row to memory. */
    MLP_DEVICE bool owns(int row) const { return row % Plan::blocks == block; }

    /* use(row, column) for W columns of all rows. */
    template <int W, class Use>
    MLP_DEVICE void each_element(Use use) const
    {
#pragma unroll 4
        for (int i = 0; i < Plan::rows * W; i += Plan::workers) {
            const int at = i + int(threadIdx.x);
            if (at < rows * W)
                use(at / W, at % W);
        }
        meet();
    }

    /* use(row, column) for W columns of the rows that this block owns. */
    template <int W, class Use>
    MLP_DEVICE void each_own_element(Use use) const
    {
#pragma unroll 1
        for (int row = block; row < rows; row += Plan::blocks) {
#pragma unroll 4
            for (int i = 0; i < W; i += Plan::workers) {
                if (i + int(threadIdx.x) < W)
                    use(row, i + int(threadIdx.x));
            }
        }
        meet();
    }

    /* use(row) for all rows: by all threads together, or by the warps, which share the rows out. */
    template <int Threads, class Use>
    MLP_DEVICE void each_row(Use use) const
    {
        static_assert(Threads == 32 || Threads == Plan::workers, "a warp or a block");
#pragma unroll 1
        for (int row = Threads == 32 ? warp : 0; row < rows; row += Threads == 32 ? Plan::warps : 1)
            use(row);
        meet();
    }

    /* use(row) for the rows that this block owns, by all threads together. */
    template <class Use>
    MLP_DEVICE void each_own_row(Use use) const
    {
#pragma unroll 1
        for (int row = block; row < rows; row += Plan::blocks)
            use(row);
        meet();
    }
};

/* ---- Rows as a whole ---- */

/* One row of N numbers, spread over `Threads` threads, which are a warp or all that multiply: everything is called by
 * all of them. */
template <class Plan, int N, int Threads>
struct mlp_few_row {
    static constexpr int held = (N + Threads - 1) / Threads;
    float x[held];

    static MLP_DEVICE int column(int i) { return i * Threads + int(threadIdx.x) % Threads; }

    /* load(column) gives a number. */
    template <class Load>
    MLP_DEVICE explicit mlp_few_row(Load load)
    {
#pragma unroll
        for (int i = 0; i < held; i++)
            x[i] = column(i) < N ? load(column(i)) : 0.0f;
    }

    /* One number of each thread, combined: all get the result, the same bits. */
    template <class Combine>
    static MLP_DEVICE float combine(float mine, Combine with)
    {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            mine = with(mine, __shfl_xor_sync(~0u, mine, distance));
        if constexpr (Threads != 32) {
            float *scratch = reinterpret_cast<float *>(mlp_few_memory + Plan::scratch);
            if (threadIdx.x % 32 == 0)
                scratch[threadIdx.x / 32] = mine;
            mlp_few<Plan>::meet();
            mine = scratch[0];
#pragma unroll
            for (int i = 1; i < Plan::warps; i++)
                mine = with(mine, scratch[i]);
            mlp_few<Plan>::meet();  /* the next combination may write */
        }
        return mine;
    }

    /* The sum of term(number) over the row. */
    template <class Term>
    MLP_DEVICE float sum(Term term) const
    {
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < held; i++)
            total += column(i) < N ? term(x[i]) : 0.0f;
        return combine(total, [](float a, float b) { return a + b; });
    }

    MLP_DEVICE float sum() const
    {
        return sum([](float at) { return at; });
    }

    MLP_DEVICE float maximum() const
    {
        float most = -INFINITY;
#pragma unroll
        for (int i = 0; i < held; i++)
            most = column(i) < N ? fmaxf(most, x[i]) : most;
        return combine(most, [](float a, float b) { return fmaxf(a, b); });
    }

    /* store(column, number mapped by `map`) for each. */
    template <class Map, class Store>
    MLP_DEVICE void finish(Map map, Store store) const
    {
#pragma unroll
        for (int i = 0; i < held; i++) {
            if (column(i) < N)
                store(column(i), map(x[i]));
        }
    }

    template <class Store>
    MLP_DEVICE void softmax(Store store) const
    {
        const float most = maximum();
        const float total = sum([=](float at) { return expf(at - most); });
        finish([=](float at) { return expf(at - most) / total; }, store);
    }

    template <class Store>
    MLP_DEVICE void log_softmax(Store store) const
    {
        const float most = maximum();
        const float total = logf(sum([=](float at) { return expf(at - most); }));
        finish([=](float at) { return at - most - total; }, store);
    }

    /* The mean is taken twice: what the first one, rounded, leaves over counts where the row is far from 0. */
    template <class Store>
    MLP_DEVICE void layernorm(float eps, Store store) const
    {
        const float about = sum() / N;
        const float rest = sum([=](float at) { return at - about; }) / N;
        const float variance = sum([=](float at) { return (at - about - rest) * (at - about - rest); }) / N;
        const float scale = 1.0f / sqrtf(variance + eps);
        finish([=](float at) { return (at - about - rest) * scale; }, store);
    }

    template <class Store>
    MLP_DEVICE void rmsnorm(float eps, Store store) const
    {
        const float scale = 1.0f / sqrtf(sum([](float at) { return at * at; }) / N + eps);
        finish([=](float at) { return at * scale; }, store);
    }
};

/* ---- Starting the kernel ---- */

/* A cluster of blocks is there as a whole by itself. A grid begins when there is room for all its blocks, and is an
 * error on a device that has none: started as others are, its blocks could wait for ever for some that never begin. */
template <class Plan, int SharedBytes>
static inline int mlp_few_start(mlp_kernel kernel, unsigned char *arena, int64_t rows, void *stream)
{
    static_assert(SharedBytes <= 227 * 1024, "shared memory of a block");
    const void *function = reinterpret_cast<const void *>(kernel);
    int error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, SharedBytes);
    if (!error && Plan::cluster && Plan::blocks > 8)
        error = cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error)
        return error;
    cudaLaunchAttribute attribute = {};
    if (Plan::cluster) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = unsigned(Plan::blocks);
        attribute.val.clusterDim.y = 1;
        attribute.val.clusterDim.z = 1;
    } else {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(Plan::blocks);
    config.blockDim = dim3(Plan::threads);
    config.dynamicSmemBytes = size_t(SharedBytes);
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &attribute;
    config.numAttrs = 1;
    void *arguments[] = {&arena, &rows};
    return cudaLaunchKernelExC(&config, function, arguments);
}

#endif
