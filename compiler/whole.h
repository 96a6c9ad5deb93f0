/* A whole network in one generated kernel (CUDA), in place of its steps one by one.
 *
 *   rows   many rows through narrow layers: a warp group carries its rows from the inputs to the outputs in registers,
 *          weights stay in (or stream through) shared memory; mlp_rows.cuh
 *   few    1 to 16 rows: every block owns some columns of each layer, weights are fetched ahead, and what the blocks
 *          computed is handed to all of them between two layers; mlp_few.cuh
 *
 * Both compute what the steps of the plan say, with the same roundings between steps, and read and write inputs,
 * outputs and weights at the same places. What does not fit is refused in words, and runs step by step. */
#ifndef MLPC_WHOLE_H
#define MLPC_WHOLE_H

#include "emit.h"
#include "plan.h"

/* Why the network cannot be such a kernel, in a few words, or NULL where it can. */
const char *rows_refusal(const struct plan *plan);
const char *few_refusal(const struct plan *plan, int64_t rows);

/* Memory that `few` keeps between runs, zeros at the start; the same for every number of rows. */
int64_t few_state_bytes(const struct plan *plan);

/* Kernel and launch function into NAME.cu: int PREFIX_rows(arena, rows, stream), for any number of rows; and
 * int PREFIX_few_bROWS(arena, rows, stream), for up to ROWS. */
void emit_cuda_rows(struct emitter *emitter, const struct plan *plan);
void emit_cuda_few(struct emitter *emitter, const struct plan *plan, int64_t rows);

#endif
