/* mlp_rows_ptx.cuh -- the instructions of mlp_rows.cuh that C++ has no words for, a function each: numbers in pairs,
 * shared memory and its barriers, and the products of tensor cores. Places in shared memory are those that
 * mlp_rows_address gives. */
#ifndef MLP_ROWS_PTX_CUH
#define MLP_ROWS_PTX_CUH

#include "mlp_cuda_kernels.cuh"

/* ---- Numbers ---- */

/* Two numbers, rounded; the first one goes to the lower half. */
MLP_DEVICE unsigned mlp_rows_pair(float first, float second, __half)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

MLP_DEVICE unsigned mlp_rows_pair(float first, float second, __nv_bfloat16)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

/* The same after relu, in the same instruction: negative numbers become 0, NaN stays NaN. */
MLP_DEVICE unsigned mlp_rows_pair_relu(float first, float second, __half)
{
    unsigned pair;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

MLP_DEVICE unsigned mlp_rows_pair_relu(float first, float second, __nv_bfloat16)
{
    unsigned pair;
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

/* a ^ b, which the compiler cannot see through. */
MLP_DEVICE unsigned mlp_rows_xor(unsigned a, unsigned b)
{
    unsigned result;
    asm volatile("xor.b32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}

/* It was changed behind the compiler's back. */
MLP_DEVICE void mlp_rows_changed(float &x) { asm volatile("" : "+f"(x) :: "memory"); }
MLP_DEVICE void mlp_rows_changed(unsigned &x) { asm volatile("" : "+r"(x) :: "memory"); }

/* ---- Shared memory ---- */

/* The address that instructions on shared memory take. */
MLP_DEVICE unsigned mlp_rows_address(const void *shared)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/* Starts to copy aligned bytes to shared memory: 16, past the L1 cache, or 4. */
template <int Bytes>
MLP_DEVICE void mlp_rows_copy_async(unsigned to, const void *from)
{
    static_assert(Bytes == 16 || Bytes == 4, "what the instruction takes");
    if (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(from) : "memory");
}

/* Makes this thread's copies since the last time a group, and waits until at most `Pending` groups are unfinished. */
MLP_DEVICE void mlp_rows_copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int Pending>
MLP_DEVICE void mlp_rows_copies_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
}

/* Makes what this thread wrote to shared memory visible to wgmma; a barrier must follow. */
MLP_DEVICE void mlp_rows_publish()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

MLP_DEVICE void mlp_rows_barrier_start(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals) : "memory");
}

MLP_DEVICE void mlp_rows_barrier_arrive(unsigned barrier)
{
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" :: "r"(barrier) : "memory");
}

MLP_DEVICE void mlp_rows_barrier_wait(unsigned barrier, unsigned parity)
{
    unsigned done;
    do {
        asm volatile("{\n.reg .pred p;\n"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
#else
                     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
#endif
                     "selp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

/* ---- Products through mma.sync ---- */

/* d += a b for 16 by 16 and 16 by 8 elements, spread over the warp. */
MLP_DEVICE void mlp_rows_mma_step(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

MLP_DEVICE void mlp_rows_mma_step(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Four matrices of 8 by 8 elements, or two: lane i names row i % 8 of number i / 8. */
MLP_DEVICE void mlp_rows_read_four(unsigned (&b)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at) : "memory");
}

MLP_DEVICE void mlp_rows_read_two(unsigned (&b)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(at) : "memory");
}

/* ---- Products through wgmma ---- */

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MLP_ROWS_HAS_WGMMA 1

/* wgmma of N columns: N / 2 accumulators a thread, in order of tiles. */
#define MLP_ROWS_D8(t) "+f"(d[t][0]), "+f"(d[t][1]), "+f"(d[t][2]), "+f"(d[t][3])
#define MLP_ROWS_D16(t) MLP_ROWS_D8(t), MLP_ROWS_D8(t + 1)
#define MLP_ROWS_D24(t) MLP_ROWS_D16(t), MLP_ROWS_D8(t + 2)
#define MLP_ROWS_D32(t) MLP_ROWS_D16(t), MLP_ROWS_D16(t + 2)
#define MLP_ROWS_D40(t) MLP_ROWS_D32(t), MLP_ROWS_D8(t + 4)
#define MLP_ROWS_D48(t) MLP_ROWS_D32(t), MLP_ROWS_D16(t + 4)
#define MLP_ROWS_D56(t) MLP_ROWS_D32(t), MLP_ROWS_D24(t + 4)
#define MLP_ROWS_D64(t) MLP_ROWS_D32(t), MLP_ROWS_D32(t + 4)
#define MLP_ROWS_D96(t) MLP_ROWS_D64(t), MLP_ROWS_D32(t + 8)
#define MLP_ROWS_D128(t) MLP_ROWS_D64(t), MLP_ROWS_D64(t + 8)
#define MLP_ROWS_D192(t) MLP_ROWS_D128(t), MLP_ROWS_D64(t + 16)
#define MLP_ROWS_D256(t) MLP_ROWS_D128(t), MLP_ROWS_D128(t + 16)

/* The numbers of these operands. */
#define MLP_ROWS_R8 "%0,%1,%2,%3"
#define MLP_ROWS_R16 MLP_ROWS_R8 ",%4,%5,%6,%7"
#define MLP_ROWS_R24 MLP_ROWS_R16 ",%8,%9,%10,%11"
#define MLP_ROWS_R32 MLP_ROWS_R24 ",%12,%13,%14,%15"
#define MLP_ROWS_R40 MLP_ROWS_R32 ",%16,%17,%18,%19"
#define MLP_ROWS_R48 MLP_ROWS_R40 ",%20,%21,%22,%23"
#define MLP_ROWS_R56 MLP_ROWS_R48 ",%24,%25,%26,%27"
#define MLP_ROWS_R64 MLP_ROWS_R56 ",%28,%29,%30,%31"
#define MLP_ROWS_R96 MLP_ROWS_R64 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define MLP_ROWS_R128 MLP_ROWS_R96 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define MLP_ROWS_R192 MLP_ROWS_R128 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81," \
    "%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define MLP_ROWS_R256 MLP_ROWS_R192 \
    ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113," \
    "%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

/* a0 to a3, the descriptor and whether to accumulate are numbered behind the accumulators. */
#define MLP_ROWS_WGMMA_TYPE(N, type, Type, a0, a1, a2, a3, b, p)                                                    \
    static MLP_DEVICE void issue(float (*d)[4], const unsigned (&a)[4], uint64_t right, int accumulate, Type)       \
    {                                                                                                               \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #p ", 0;\n"                                               \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" MLP_ROWS_R##N "}, "       \
                     "{%" #a0 ",%" #a1 ",%" #a2 ",%" #a3 "}, %" #b ", p, 1, 1, 0;\n}"                               \
                     : MLP_ROWS_D##N(0)                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"(accumulate));                    \
    }

#define MLP_ROWS_WGMMA(N, a0, a1, a2, a3, b, p)                                                                     \
    template <>                                                                                                     \
    struct mlp_rows_wgmma_step<N> {                                                                                 \
        MLP_ROWS_WGMMA_TYPE(N, "f16", __half, a0, a1, a2, a3, b, p)                                                 \
        MLP_ROWS_WGMMA_TYPE(N, "bf16", __nv_bfloat16, a0, a1, a2, a3, b, p)                                         \
    };

template <int N>
struct mlp_rows_wgmma_step;

MLP_ROWS_WGMMA(8, 4, 5, 6, 7, 8, 9)
MLP_ROWS_WGMMA(16, 8, 9, 10, 11, 12, 13)
MLP_ROWS_WGMMA(24, 12, 13, 14, 15, 16, 17)
MLP_ROWS_WGMMA(32, 16, 17, 18, 19, 20, 21)
MLP_ROWS_WGMMA(40, 20, 21, 22, 23, 24, 25)
MLP_ROWS_WGMMA(48, 24, 25, 26, 27, 28, 29)
MLP_ROWS_WGMMA(56, 28, 29, 30, 31, 32, 33)
MLP_ROWS_WGMMA(64, 32, 33, 34, 35, 36, 37)
MLP_ROWS_WGMMA(96, 48, 49, 50, 51, 52, 53)
MLP_ROWS_WGMMA(128, 64, 65, 66, 67, 68, 69)
MLP_ROWS_WGMMA(192, 96, 97, 98, 99, 100, 101)
MLP_ROWS_WGMMA(256, 128, 129, 130, 131, 132, 133)

#undef MLP_ROWS_WGMMA
#undef MLP_ROWS_WGMMA_TYPE

/* What was written to registers and shared memory before is seen by the products that follow. */
MLP_DEVICE void mlp_rows_wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* The same as for copies: groups of products. */
MLP_DEVICE void mlp_rows_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int Pending>
MLP_DEVICE void mlp_rows_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Pending) : "memory");
}

#else
#define MLP_ROWS_HAS_WGMMA 0
#endif

/* Registers a thread, of a whole warpgroup that gives some away or takes what others gave. */
template <int Registers>
MLP_DEVICE void mlp_rows_fewer_registers()
{
#if MLP_ROWS_HAS_WGMMA
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(Registers));
#endif
}

template <int Registers>
MLP_DEVICE void mlp_rows_more_registers()
{
#if MLP_ROWS_HAS_WGMMA
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(Registers));
#endif
}

#endif
