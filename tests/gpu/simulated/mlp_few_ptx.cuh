/* Stands for runtime/mlp_few_ptx.cuh, whose guard it defines: what each function there says, on the simulated device.
 * Copies end some time later, and other threads run in between; fences and the order of memory are not simulated. */
#ifndef MLP_FEW_PTX_CUH
#define MLP_FEW_PTX_CUH

#include "mlp_cuda_kernels.cuh"
#include "tensor_cores.h"

#define mlp_few_memory simulated_shared()

/* ---- Barriers and copies in shared memory ---- */

MLP_DEVICE unsigned mlp_few_shared(int offset) { return unsigned(offset); }
MLP_DEVICE void mlp_few_barrier_init(unsigned barrier, int arrivals) { simulated_barrier_init(barrier, arrivals); }
MLP_DEVICE void mlp_few_arrive(unsigned barrier) { simulated_barrier_arrive(barrier, 0); }
MLP_DEVICE void mlp_few_arrive_expect(unsigned barrier, int bytes) { simulated_barrier_arrive(barrier, bytes); }
MLP_DEVICE void mlp_few_wait(unsigned barrier, unsigned parity) { simulated_barrier_wait(barrier, parity); }
MLP_DEVICE void mlp_few_wait_cluster(unsigned barrier, unsigned parity) { simulated_barrier_wait(barrier, parity); }

MLP_DEVICE void mlp_few_copy(unsigned to, const unsigned char *from, int bytes, unsigned barrier)
{
    simulated_copy(simulated_this_block(), to, from, unsigned(bytes), barrier);
}

MLP_DEVICE void mlp_few_send(unsigned to, uint4 x, unsigned barrier, int block)
{
    simulated_copy(unsigned(block), to, &x, sizeof x, barrier);
}

/* ---- Memory that other blocks write and read ---- */

MLP_DEVICE uint4 mlp_few_look(const unsigned char *from)
{
    simulated_yield();
    return *reinterpret_cast<const uint4 *>(from);
}

MLP_DEVICE void mlp_few_put(void *to, unsigned bits) { memcpy(to, &bits, sizeof bits); }
MLP_DEVICE void mlp_few_put_half(void *to, unsigned short bits) { memcpy(to, &bits, sizeof bits); }

/* ---- Threads that wait for each other ---- */

template <int Threads>
MLP_DEVICE void mlp_few_meet()
{
    simulated_meet(Threads);
}

MLP_DEVICE void mlp_few_barriers_made() {}
MLP_DEVICE void mlp_few_cluster_arrive() { simulated_arrive_all(); }
MLP_DEVICE void mlp_few_cluster_wait() { simulated_wait_all(); }

/* ---- Tensor cores ---- */

template <class Half>
MLP_DEVICE void mlp_few_mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                            Half)
{
    const unsigned a[4] = {a0, a1, a2, a3};
    simulated_mma<Half>(d, a, b0, b1);
}

#endif
