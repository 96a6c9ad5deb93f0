/* mlp_few_ptx.cuh -- the instructions of mlp_few.cuh that C++ has no words for, a function each: barriers and copies in
 * shared memory, what blocks say to each other, and the product of tensor cores. Places in shared memory are those that
 * mlp_few_shared gives. */
#ifndef MLP_FEW_PTX_CUH
#define MLP_FEW_PTX_CUH

#include "mlp_cuda_kernels.cuh"

extern __shared__ __align__(128) unsigned char mlp_few_memory[];

/* ---- Barriers and copies in shared memory ---- */

MLP_DEVICE unsigned mlp_few_shared(int offset)
{
    return unsigned(__cvta_generic_to_shared(mlp_few_memory)) + unsigned(offset);
}

MLP_DEVICE void mlp_few_barrier_init(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}

MLP_DEVICE void mlp_few_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}

MLP_DEVICE void mlp_few_arrive_expect(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

/* Waits until the barrier's phase of this parity has ended. */
MLP_DEVICE void mlp_few_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{\n\t.reg .pred ended;\n"
                 "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n\t"
                 "@!ended bra again;\n\t}" :: "r"(barrier), "r"(parity) : "memory");
}

/* The same for what other blocks of the cluster wrote. */
MLP_DEVICE void mlp_few_wait_cluster(unsigned barrier, unsigned parity)
{
    asm volatile("{\n\t.reg .pred ended;\n"
                 "again:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n\t"
                 "@!ended bra again;\n\t}" :: "r"(barrier), "r"(parity) : "memory");
}

/* Copies 16-byte aligned bytes of memory into shared memory; the barrier counts them. */
MLP_DEVICE void mlp_few_copy(unsigned to, const unsigned char *from, int bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier) : "memory");
}

/* Stores 16 bytes at the same place in the shared memory of another block of the cluster; its barrier counts them. */
MLP_DEVICE void mlp_few_send(unsigned to, uint4 x, unsigned barrier, int block)
{
    asm volatile("{\n\t.reg .b32 there, counter;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %6;\n\t"
                 "mapa.shared::cluster.u32 counter, %1, %6;\n\t"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[there], {%2, %3, %4, %5}, [counter];\n\t"
                 "}" :: "r"(to), "r"(barrier), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(block) : "memory");
}

/* 16 bytes that another block may be writing; each element is whole. */
MLP_DEVICE uint4 mlp_few_look(const unsigned char *from)
{
    uint4 x;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(__cvta_generic_to_global(from)) : "memory");
    return x;
}

/* Stores a word, or half a one, that another block may be reading. */
MLP_DEVICE void mlp_few_put(void *to, unsigned bits)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(__cvta_generic_to_global(to)), "r"(bits) : "memory");
}

MLP_DEVICE void mlp_few_put_half(void *to, unsigned short bits)
{
    asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" :: "l"(__cvta_generic_to_global(to)), "h"(bits) : "memory");
}

/* ---- Threads that wait for each other ---- */

/* The first `Threads` threads of the block meet. */
template <int Threads>
MLP_DEVICE void mlp_few_meet()
{
    asm volatile("bar.sync 1, %0;" :: "n"(Threads) : "memory");
}

/* Other blocks of the cluster may use the barriers that this thread made. */
MLP_DEVICE void mlp_few_barriers_made()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* All threads of the cluster arrive, whole warps at a time, and wait for all others later. */
MLP_DEVICE void mlp_few_cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

MLP_DEVICE void mlp_few_cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* ---- Tensor cores ---- */

/* d += a b for 16 by 16 and 16 by 8 elements, spread over the warp. */
MLP_DEVICE void mlp_few_mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                            __half)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

MLP_DEVICE void mlp_few_mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                            __nv_bfloat16)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

#endif
