/* Nodes whose inputs are all known are computed here: shapes, indices, weights that are turned or scaled. In double,
 * rounded to the element type as each operator does. */
#ifndef MLPC_ONNX_FOLD_H
#define MLPC_ONNX_FOLD_H

#include "translate.h"

bool fold_can(const struct onnx_node *node);
/* Sets the constants of the node's outputs; false after a refusal. */
bool fold_node(struct translation *t, const struct onnx_node *node);

#endif
