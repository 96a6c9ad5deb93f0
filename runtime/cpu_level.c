/* Which level of the x86-64 ABI this processor has: each level names features that it and all below must have, by their
 * bits in what cpuid says, and registers that the system must save. */
#include "mlp_cpu_network.h"

#if defined(__x86_64__)
#include <cpuid.h>

struct features {
    unsigned leaf_1, leaf_7, extended;  /* ecx of leaf 1, ebx of leaf 7, ecx of leaf 0x80000001 */
    unsigned saved;                     /* the lower half of xcr0 */
};

enum { OSXSAVE = 1 << 27 };             /* leaf 1: xcr0 can be read */

static const struct features levels[] = {
    {0, 0, 0, 0},
    {1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23,     /* sse3 ssse3 cx16 sse4.1 sse4.2 popcnt */
     0, 1u << 0, 0},                                                    /* lahf */
    {1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29,              /* fma movbe osxsave avx f16c */
     1u << 3 | 1u << 5 | 1u << 8, 1u << 5, 0x6},                        /* bmi1 avx2 bmi2, lzcnt; xmm ymm */
    {0, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31, 0, 0xe6}, /* avx512f dq cd bw vl; opmask zmm */
};

static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static struct features features_here(void)
{
    struct features here = {0};
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        here.leaf_1 = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        here.leaf_7 = ebx;
    if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx))
        here.extended = ecx;
    if (here.leaf_1 & OSXSAVE)
        here.saved = saved_registers();
    return here;
}

int mlp_cpu_level_here(void)
{
    const struct features here = features_here();
    const int count = sizeof levels / sizeof *levels;
    int level = 0;
    while (level < count && !(levels[level].leaf_1 & ~here.leaf_1) && !(levels[level].leaf_7 & ~here.leaf_7) &&
           !(levels[level].extended & ~here.extended) && !(levels[level].saved & ~here.saved))
        level++;
    return level;
}

#else

int mlp_cpu_level_here(void)
{
    return 5;
}

#endif
