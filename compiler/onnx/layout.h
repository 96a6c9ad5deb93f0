/* A spec's text in the one layout of specs. */
#ifndef MLPC_ONNX_LAYOUT_H
#define MLPC_ONNX_LAYOUT_H

#include "../arena.h"

const char *layout_spec(struct arena *arena, const char *text);

#endif
