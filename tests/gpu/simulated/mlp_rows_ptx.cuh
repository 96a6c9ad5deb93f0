/* Stands for runtime/mlp_rows_ptx.cuh, whose guard it defines: what each function there says, on the simulated device.
 * Products of wgmma and copies come to pass when they are waited for, and no sooner; fences are not simulated.
 * Products go through wgmma, or, with SIMULATED_WGMMA 0, through mma.sync. */
#ifndef MLP_ROWS_PTX_CUH
#define MLP_ROWS_PTX_CUH

#include "mlp_cuda_kernels.cuh"
#include "tensor_cores.h"

#ifndef SIMULATED_WGMMA
#define SIMULATED_WGMMA 1
#endif
#define MLP_ROWS_HAS_WGMMA SIMULATED_WGMMA

/* ---- Numbers ---- */

template <class Half>
MLP_DEVICE unsigned mlp_rows_pair(float first, float second, Half)
{
    Half numbers[2];
    unsigned pair;
    mlp_round(first, numbers[0]);
    mlp_round(second, numbers[1]);
    memcpy(&pair, numbers, sizeof pair);
    return pair;
}

template <class Half>
MLP_DEVICE unsigned mlp_rows_pair_relu(float first, float second, Half type)
{
    return mlp_rows_pair(first <= 0 ? 0.0f : first, second <= 0 ? 0.0f : second, type);
}

MLP_DEVICE unsigned mlp_rows_xor(unsigned a, unsigned b) { return a ^ b; }
MLP_DEVICE void mlp_rows_changed(float &) {}
MLP_DEVICE void mlp_rows_changed(unsigned &) {}

/* ---- Shared memory ---- */

MLP_DEVICE unsigned mlp_rows_address(const void *shared)
{
    return unsigned(static_cast<const unsigned char *>(shared) - simulated_shared());
}

template <int Bytes>
MLP_DEVICE void mlp_rows_copy_async(unsigned to, const void *from)
{
    unsigned char *const at = simulated_shared() + to;
    simulated_group_add(SIMULATED_COPIES, [=] { memcpy(at, from, Bytes); });
}

MLP_DEVICE void mlp_rows_copies_commit() { simulated_group_commit(SIMULATED_COPIES); }

template <int Pending>
MLP_DEVICE void mlp_rows_copies_wait()
{
    simulated_group_wait(SIMULATED_COPIES, Pending);
}

MLP_DEVICE void mlp_rows_publish() {}
MLP_DEVICE void mlp_rows_barrier_start(unsigned barrier, int arrivals) { simulated_barrier_init(barrier, arrivals); }
MLP_DEVICE void mlp_rows_barrier_arrive(unsigned barrier) { simulated_barrier_arrive(barrier, 0); }
MLP_DEVICE void mlp_rows_barrier_wait(unsigned barrier, unsigned parity) { simulated_barrier_wait(barrier, parity); }

/* ---- Products through mma.sync ---- */

template <class Half>
MLP_DEVICE void mlp_rows_mma_step(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, Half)
{
    simulated_mma<Half>(d, a, b0, b1);
}

/* Each lane gets a pair of each matrix, from the row that lane 8 `matrix` + lane / 4 named. */
MLP_DEVICE void simulated_read_matrices(unsigned *b, int matrices, unsigned at)
{
    const unsigned lane = threadIdx.x % 32;
    simulated_meet_lanes(~0u, &at, 1);
    for (int i = 0; i < matrices; i++)
        memcpy(&b[i], simulated_shared() + *simulated_of_lane(unsigned(8 * i) + lane / 4) + lane % 4 * 4, sizeof b[i]);
}

MLP_DEVICE void mlp_rows_read_four(unsigned (&b)[4], unsigned at) { simulated_read_matrices(b, 4, at); }
MLP_DEVICE void mlp_rows_read_two(unsigned (&b)[4], unsigned at) { simulated_read_matrices(b, 2, at); }

/* ---- Products through wgmma ---- */

#if MLP_ROWS_HAS_WGMMA

/* Element (column, k) of the right operand that a descriptor names: K-major, rows of 128, 64 or 32 bytes, whose
 * 16-byte chunks are exchanged by bits of the address. */
template <class Half>
MLP_DEVICE float simulated_right(uint64_t descriptor, int column, int k)
{
    const unsigned start = unsigned(descriptor & 0x3fff) << 4, groups = unsigned(descriptor >> 32 & 0x3fff) << 4;
    const unsigned kind = unsigned(descriptor >> 62), pitch = 256u >> kind;
    unsigned at = start + unsigned(column) / 8 * groups + unsigned(column) % 8 * pitch + 2 * unsigned(k);
    at ^= (at >> 7 & (pitch / 16 - 1)) << 4;
    Half x;
    memcpy(&x, simulated_shared() + at, sizeof x);
    return float(x);
}

/* Operands are read, and the sums change, when the product comes to pass. */
template <int N>
struct mlp_rows_wgmma_step {
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "a width of wgmma");

    template <class Half>
    static MLP_DEVICE void issue(float (*d)[4], const unsigned (&a)[4], uint64_t right, int accumulate, Half)
    {
        const unsigned *left = a;
        simulated_group_add(SIMULATED_PRODUCTS, [=] {
            simulated_meet_lanes(~0u, left, 4);
            if (!accumulate)
                memset(d, 0, N / 8 * sizeof *d);
            simulated_products<Half>(d, N / 8,
                                     [=](int k, int column) { return simulated_right<Half>(right, column, k); });
        });
    }
};

MLP_DEVICE void mlp_rows_wgmma_fence() {}
MLP_DEVICE void mlp_rows_wgmma_commit() { simulated_group_commit(SIMULATED_PRODUCTS); }

template <int Pending>
MLP_DEVICE void mlp_rows_wgmma_wait()
{
    simulated_group_wait(SIMULATED_PRODUCTS, Pending);
}

#endif

/* ---- Registers ---- */

template <int Registers>
MLP_DEVICE void mlp_rows_fewer_registers() {}

template <int Registers>
MLP_DEVICE void mlp_rows_more_registers() {}

#endif
