/* mlpc import: an ONNX model -> a spec and its weights. */
#ifndef MLPC_ONNX_IMPORT_H
#define MLPC_ONNX_IMPORT_H

/* The arguments behind `mlpc`; returns an exit status. */
int import_main(int argc, char **argv);

#endif
