/* What steps move and compute, and the least time that it takes. Padding is not counted: it is what the network asks
 * for, not what a target makes of it. cost_padded_rows and cost_padding say what padding adds. */
#ifndef MLPC_COST_H
#define MLPC_COST_H

#include "device.h"
#include "plan.h"

struct cost {
    double weights;                 /* bytes, for any number of rows */
    double in, out;                 /* bytes of a row: values read, a value stored */
    double products, others;        /* operations of a row. Of a product, a multiplication and an addition are two; a
                                       bias and every other function is one for each element */
};

struct cost cost_of_step(const struct plan *plan, const struct step *step);
/* Of all steps, as if nothing between inputs and outputs were stored. */
struct cost cost_of_network(const struct plan *plan);

struct floor {
    double seconds;
    bool memory;                    /* the bytes take longer than the operations */
};

/* Of `rows` rows, products in `dtype`: each byte moved once, each operation done, together, at the device's best. */
struct floor cost_floor(const struct cost *cost, int64_t rows, enum dtype dtype, const struct device *device);

/* How many rows are computed in a run of `rows`: as cuda_run.c splits them over batch sizes; on a CPU, just these. */
int64_t cost_padded_rows(const struct plan *plan, int64_t rows);
/* The fewest rows for which a rest takes this batch size (CUDA). */
int64_t cost_least_rest(const struct plan *plan, int batch);

struct padding {
    int64_t n, k;                   /* columns out and in, as computed */
    double share;                   /* of the product's operations that are for nothing, 0 to 1 */
};

/* Of a product step by step. */
struct padding cost_padding(const struct plan *plan, const struct step *step);

#endif
