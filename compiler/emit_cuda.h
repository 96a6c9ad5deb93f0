/* What the two generated files of the CUDA target, NAME.c and NAME.cu, agree on. */
#ifndef MLPC_EMIT_CUDA_H
#define MLPC_EMIT_CUDA_H

#include "emit.h"

/* The arena in device memory: packed parameters from 0 on, then the values, then the state of the kernels for few rows,
 * then the workspace of the products. */
struct cuda_arena {
    int64_t values, workspace;      /* where they begin */
    int64_t state, state_bytes;     /* what the kernel for few rows keeps between runs */
    int64_t workspace_bytes, bytes;
    bool is_static;                 /* an array of NAME.cu; else init allocates it */
};

struct cuda_arena cuda_arena(const struct plan *plan);

/* Bytes of pinned memory through which the rows of a port go. */
int64_t cuda_port_staging(const struct plan *plan, const struct plan_port *port);

/* The macros WEIGHTS, VALUES and (where there is any) STATE, from which offsets count. */
void emit_cuda_places(struct emitter *emitter, const struct plan *plan);
/* "VALUES + 512": where element (0, 0) of a value stands. */
const char *cuda_place(struct arena *arena, const struct plan *plan, const struct value *value);
/* The step whose generated kernel belongs to a step: itself, a product's epilogue apart, or none. */
const struct step *cuda_kernel_step(const struct plan *plan, const struct step *step);
/* "h1 = relu(linear(x, fc1)) -- digits.mlp:7" */
const char *cuda_step_comment(struct arena *arena, const struct plan *plan, const struct step *step);

#endif
