/* The memory that a compiled network keeps, on the device and on the host, from init to close. The caller's arrays,
 * code, stacks, and what the CUDA driver and cuBLASLt keep for themselves are not counted. */
#ifndef MLPC_FOOTPRINT_H
#define MLPC_FOOTPRINT_H

#include "plan.h"

struct footprint_part {
    const char *name;
    int64_t bytes;
};

struct footprint {
    VEC(struct footprint_part) parts;   /* those that there are */
    int64_t bytes;
};

/* The packed parameters, the values between steps, what a kernel for few rows keeps, and the workspace of the products.
 * Nothing on a CPU. */
struct footprint footprint_device(const struct plan *plan);
/* CPU: the packed parameters and the values between steps, for each thread. CUDA: the pinned memory through which rows
 * go, and the parameters where they are in the program. `embedded`: they are. */
struct footprint footprint_host(const struct plan *plan, bool embedded);

/* What is largest in it, at most three single parameters, values, or other parts: "h1 30 KiB, fc1.weight 8 KiB". */
const char *footprint_largest(const struct plan *plan, const struct footprint *footprint);

#endif
