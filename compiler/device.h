/* What devices can do at most, by their data sheets: from which --explain computes the least time of a step. */
#ifndef MLPC_DEVICE_H
#define MLPC_DEVICE_H

#include "graph.h"
#include "plan.h"

struct device {
    const char *name;               /* "H200"; NULL: figures of the user's own */
    const char *text;               /* "NVIDIA H200 (SXM)"; of a core what it has: "AVX2 at 3 GHz" */
    enum target target;
    double gbytes;                  /* 1e9 bytes a second from or to its memory */
    double gflops[DTYPE_BF16 + 1];  /* 1e9 operations a second of products in a type, sums in f32; of all else, f32 */
};

/* NULL where there is no such device. */
const struct device *device_find(const char *name);
/* What is taken unless told. */
const struct device *device_usual(enum target target);
/* "H200, H100, ...": all of them */
const char *device_names(void);
/* "4800,67000": 1e9 bytes and 1e9 operations a second. False where it is not that. */
bool device_parse(const char *text, struct device *device);
/* So many of them side by side. */
struct device device_times(const struct device *device, int count);

#endif
