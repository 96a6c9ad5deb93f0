/* mlpc import: an ONNX model -> a spec and its weights. */
#ifndef MLPC_ONNX_IMPORT_H
#define MLPC_ONNX_IMPORT_H

#include "../arena.h"

/* The arguments behind `mlpc`; returns an exit status. */
enum exit_status import_main(int argc, char **argv);

#endif
