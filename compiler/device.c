#include "device.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* Dense figures (data sheets also give twice as much for sparse operands), f16 and bf16 summed in f32.
 *
 *   H200      NVIDIA H200 Tensor Core GPU, datasheet (SXM)
 *   H100      NVIDIA H100 Tensor Core GPU, datasheet (SXM)
 *   A100      NVIDIA A100 Tensor Core GPU, datasheet (80 GB, SXM)
 *   L40S      NVIDIA L40S, datasheet
 *   RTX4090   NVIDIA Ada GPU architecture, whitepaper, appendix A
 *   core      no data sheet: a core that does two multiplications with addition of 8 floats, and two loads of 32 bytes,
 *             in each of its cycles (as Intel's since Haswell, AMD's since Zen 2), at 3 GHz. The bytes then come from
 *             the nearest cache */
static const struct device devices[] = {
    /*                                               GB/s           f32    tf32      f16     bf16, GFLOP/s */
    {"H200", "NVIDIA H200 (SXM)", TARGET_CUDA,       4800, {[DTYPE_F32] = 67000, 494700, 989400, 989400}},
    {"H100", "NVIDIA H100 (SXM)", TARGET_CUDA,       3350, {[DTYPE_F32] = 67000, 494700, 989400, 989400}},
    {"A100", "NVIDIA A100 (80 GB, SXM)", TARGET_CUDA, 2039, {[DTYPE_F32] = 19500, 156000, 312000, 312000}},
    {"L40S", "NVIDIA L40S", TARGET_CUDA,             864,  {[DTYPE_F32] = 91600, 183000, 362050, 362050}},
    {"RTX4090", "NVIDIA GeForce RTX 4090", TARGET_CUDA, 1008, {[DTYPE_F32] = 82600, 82600, 165200, 165200}},
    {"core", "AVX2 at 3 GHz", TARGET_CPU,  192,  {[DTYPE_F32] = 96, 96, 96, 96}},
};

enum { DEVICES = sizeof devices / sizeof *devices };

const struct device *device_find(const char *name)
{
    for (int i = 0; i < DEVICES; i++) {
        if (!strcasecmp(name, devices[i].name))
            return &devices[i];
    }
    return NULL;
}

const struct device *device_usual(enum target target)
{
    return device_find(target == TARGET_CUDA ? "H200" : "core");
}

const char *device_names(void)
{
    return "H200, H100, A100, L40S, RTX4090, core";
}

bool device_parse(const char *text, struct device *device)
{
    char *end, *comma;
    double gbytes = strtod(text, &comma), gflops = *comma == ',' ? strtod(comma + 1, &end) : 0;
    if (comma == text || *comma != ',' || end == comma + 1 || *end || !(gbytes > 0 && gbytes <= 1e9) ||
        !(gflops > 0 && gflops <= 1e12))
        return false;
    *device = (struct device){.text = "device of", .gbytes = gbytes};
    for (int i = 0; i <= DTYPE_BF16; i++)
        device->gflops[i] = gflops;
    return true;
}

struct device device_times(const struct device *device, int count)
{
    struct device all = *device;
    all.gbytes *= count;
    for (int i = 0; i <= DTYPE_BF16; i++)
        all.gflops[i] *= count;
    return all;
}
