/* Functions of the language that a model spells out in smaller operators: gelu from erf, layernorm from means and
 * roots, the bias of a product. Terms change in place. */
#ifndef MLPC_ONNX_RECOGNISE_H
#define MLPC_ONNX_RECOGNISE_H

#include "term.h"

/* False after a refusal: something that the language has only inside of another function stands alone. */
bool recognise_functions(struct model *model, struct net *net);

#endif
