/* Parameters: from a safetensors file or from a seed, into the packed bytes that the generated program reads. */
#ifndef MLPC_WEIGHTS_H
#define MLPC_WEIGHTS_H

#include "diag.h"
#include "graph.h"
#include "plan.h"

struct weights;                     /* where source tensors come from */

/* Opens and validates a safetensors file; NULL after a recorded message at `span` (a file that cannot be read is the
 * environment's failure, one with wrong content the user's mistake). The tensors' data stay in the file until they
 * are packed. */
struct weights *weights_open(struct arena *arena, struct diags *diags, const char *path, struct span span);

/* Any tensor that is asked for exists, filled from `seed` and its name: the same seed gives the same bytes on every
 * machine. Linear weights are uniform in +-1/sqrt(in), variances in [0.5, 1.5], norm weights near 1, the rest small. */
struct weights *weights_random(struct arena *arena, uint64_t seed);

void weights_close(struct weights *weights);

/* Checks every source of the graph: it exists, has the shape and a type that converts. All errors are recorded. */
bool weights_check(const struct weights *weights, const struct graph *graph, struct diags *diags);

/* Warns of tensors of the file that the graph does not read. */
void weights_unread(const struct weights *weights, const struct graph *graph, struct diags *diags);

/* The packed blob: a header of WEIGHTS_HEADER_BYTES, then each packed parameter of the plan at its offset, gaps
 * zero. Evaluates each parameter in double, rounds once to its dtype, and records an error that names the tensor and
 * counts the values where finite values become infinite. NULL after an error. Bytes live in the plan's arena. */
unsigned char *weights_pack(const struct weights *weights, const struct plan *plan, struct diags *diags, size_t *size);

#endif
