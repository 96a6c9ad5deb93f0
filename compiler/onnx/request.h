/* The command line of mlpc import. */
#ifndef MLPC_ONNX_REQUEST_H
#define MLPC_ONNX_REQUEST_H

#include "read.h"

typedef VEC(const char *) text_list;

struct request {
    struct arena *arena;
    const char *input;
    const char *folder;             /* -o */
    const char *name;               /* --name, or NULL */
    const char *batch;              /* --batch, or NULL */
    text_list outputs;              /* --output */
    VEC(struct binding) bindings;   /* --bind */
    text_list checks;               /* --check-with */
    double tolerance;               /* 0: that of the type */
    bool keep_layout;
};

/* EXIT_DONE with *done set after --help; EXIT_COMMAND_LINE after a message. */
enum exit_status request_parse(int argc, char **argv, struct request *request, bool *done);

#endif
