/* A rule for make that names what an output was made from: the spec, the weights file and the plan file. */
#ifndef MLPC_DEPFILE_H
#define MLPC_DEPFILE_H

#include "options.h"
#include "plan.h"

struct depfile {
    const char *spec, *weights, *plan;  /* paths; NULL: standard input, no file */
};

/* The rule, or NULL after a message: make cannot be told every name. */
const char *depfile_rule(const struct depfile *depfile, const struct plan *plan, const struct options *options,
                         struct diags *diags);
/* Where it goes: -MF's file; else, with -MD, beside the output with the ending .d; else NULL. */
const char *depfile_path(const struct plan *plan, const struct options *options);

#endif
