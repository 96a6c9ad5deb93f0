/* Names of the spec's values, from the model's: identifiers, each once, none of them a word of the language. */
#ifndef MLPC_ONNX_NAME_H
#define MLPC_ONNX_NAME_H

#include "../names.h"
#include "term.h"

struct names *name_set(struct arena *arena);
/* "/fc1/Gemm_output_0" is fc1_Gemm, "31" is h31. */
const char *name_value(struct names *names, struct arena *arena, const char *hint);
/* Whether it is a word of the language. */
bool name_is_reserved(const char *name);
/* For the network and its files, of a path: the file's name without its ending, or "network" where that is none. */
const char *name_model(struct arena *arena, const char *path);

#endif
