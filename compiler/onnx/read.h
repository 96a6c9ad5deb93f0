/* A model's file -> the model: every node that the outputs depend on, in order, and what stands between them. */
#ifndef MLPC_ONNX_READ_H
#define MLPC_ONNX_READ_H

#include "model.h"

/* An input that the command line gives a value. */
struct binding {
    const char *name, *path;
    bool used;
};

struct read_request {
    const char *path;
    const char *const *outputs;     /* their names, where not all are wanted */
    size_t output_count;
    struct binding *bindings;
    size_t binding_count;
};

/* EXIT_USER after refusals have been recorded, EXIT_ENVIRONMENT after a message. */
enum exit_status read_model(const struct read_request *request, struct model *model);

#endif
