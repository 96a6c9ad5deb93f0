/* The tensors of the weights file: which, under what names, in which layout. */
#ifndef MLPC_ONNX_STORE_H
#define MLPC_ONNX_STORE_H

#include "model.h"

struct store;

/* `keep`: matrices [in, out] are not turned into [out, in]. */
struct store *store_new(struct model *model, bool keep);

/* The name of a vector, which is stored as [n]. */
const char *store_vector(struct store *store, struct constant *constant);
/* The name of a matrix; *transposed says in which layout it is stored, and is first that of the constant: [in, out].
 * `better`: a name for one that the model names after nothing, or NULL. */
const char *store_matrix(struct store *store, struct constant *constant, bool *transposed, const char *better);

bool store_is_empty(const struct store *store);
/* The safetensors file, in the arena; NULL after a refusal. */
const void *store_write(struct store *store, size_t *size);

#endif
