/* Tensors whose data stand in a file beside the model. */
#ifndef MLPC_ONNX_EXTERNAL_H
#define MLPC_ONNX_EXTERNAL_H

#include "model.h"

struct Onnx__TensorProto;

/* Exactly `size` bytes, which stay until external_close; NULL with a reason ("names a file ..."). A model reads no
 * file outside of its own folder. */
const unsigned char *external_data(struct model *model, const struct Onnx__TensorProto *proto, size_t size,
                                   const char **reason);
void external_close(struct model *model);

#endif
