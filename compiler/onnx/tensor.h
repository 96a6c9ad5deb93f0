/* Tensors of the model's file, and of the files beside it, as constants. */
#ifndef MLPC_ONNX_TENSOR_H
#define MLPC_ONNX_TENSOR_H

#include "model.h"

struct Onnx__TensorProto;

/* NULL after a refusal, which names `node` or, without one, the tensor. */
struct constant *tensor_load(struct model *model, const struct onnx_node *node, const struct Onnx__TensorProto *proto);

/* A new constant whose numbers are zero, for a computed one; NULL where it would be larger than the model's size
 * accounts for. */
struct constant *tensor_new(struct model *model, const char *name, enum element type, const struct shape *shape);

/* Elements as raw data have them, little-endian and of `size` bytes, from a list of 32 bits each in this processor's
 * order: protobuf widens smaller integers, f16 and bf16. */
const unsigned char *tensor_raw_32(struct arena *arena, const void *list, size_t count, size_t size);

size_t element_size(enum element type);         /* 0: one that has no numbers */

/* Every element as a double: exact, but for integers beyond 2^53. */
const double *tensor_numbers(struct arena *arena, struct constant *constant);

/* A whole number at the end of a 64-bit range stands for "as far as it goes". */
int64_t tensor_integer(double number);

#endif
