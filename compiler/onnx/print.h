/* A net -> the text of a spec. */
#ifndef MLPC_ONNX_PRINT_H
#define MLPC_ONNX_PRINT_H

#include "store.h"
#include "term.h"

struct print_request {
    const char *name;               /* of the network */
    const char *source;             /* the model's file, for a comment */
    const char *weights;            /* what the spec says for the weights file */
    const char *batch;              /* "1, 128" */
    enum element type;
};

/* Names inputs (their terms' names) and outputs (*output_names, beside the model's). Fills the store with the
 * tensors that the spec reads. */
const char *print_spec(const struct model *model, const struct net *net, const struct print_request *request,
                       struct store *store, const char ***output_names);

#endif
