/* Attributes of a node. */
#ifndef MLPC_ONNX_ATTRIBUTE_H
#define MLPC_ONNX_ATTRIBUTE_H

#include "model.h"

struct Onnx__TensorProto;

/* Refuses a node that has others than `allowed`, one twice, or one of another type. `allowed`: "axis:i alpha:f", where
 * i is an integer, f a float, s a string, t a tensor, and I and F are lists. */
bool attribute_check(struct model *model, const struct onnx_node *node, const char *allowed);

/* Of a node that has been checked. */
size_t attribute_count(const struct onnx_node *node);
bool attribute_has(const struct onnx_node *node, const char *name);
int64_t attribute_int(const struct onnx_node *node, const char *name, int64_t fallback);
/* 0: none, or no number of a type. */
enum element attribute_element(const struct onnx_node *node, const char *name);
double attribute_float(const struct onnx_node *node, const char *name, double fallback);
const char *attribute_string(struct arena *arena, const struct onnx_node *node, const char *name, const char *fallback);
const int64_t *attribute_ints(const struct onnx_node *node, const char *name, size_t *count);
const float *attribute_floats(const struct onnx_node *node, const char *name, size_t *count);
const struct Onnx__TensorProto *attribute_tensor(const struct onnx_node *node, const char *name);

#endif
