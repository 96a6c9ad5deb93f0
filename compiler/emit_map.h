/* Element-wise operations as C expressions: the same text for every target, whose own header gives the functions. */
#ifndef MLPC_EMIT_MAP_H
#define MLPC_EMIT_MAP_H

#include "plan.h"

/* How a target writes an operand where an expression stands. */
typedef const char *emit_operand(const void *target, struct operand operand);

/* "mlp_leaky_relu(t0, 0.1f)"; of a reduction, the term that it adds up. */
const char *emit_map(struct arena *arena, const struct tape_op *op, emit_operand *operand, const void *target);

/* A number as an operand: "0.5f", "(-1.0f)". */
const char *emit_number(struct arena *arena, double number);

#endif
