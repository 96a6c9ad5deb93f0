/* --check-with: the imported network, compiled for the CPU and run, held to arrays that another program computed. */
#ifndef MLPC_ONNX_TRY_H
#define MLPC_ONNX_TRY_H

#include "../output.h"
#include "model.h"
#include "term.h"

struct try {
    struct arena *arena;
    const struct model *model;
    const struct net *net;
    const char *name;
    const char *const *output_names;
    const struct outputs *files;    /* the spec and its weights, under bare names */
    double tolerance;               /* 0: that of the type */

    const char *folder;             /* a scratch one, which goes away */
};

/* EXIT_USER after a difference, which is told. */
enum exit_status try_network(struct try *try, const char *const *checks, size_t count);

#endif
