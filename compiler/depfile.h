/* A rule for make that names what an output was made from: the spec and the weights file. */
#ifndef MLPC_DEPFILE_H
#define MLPC_DEPFILE_H

#include <stdbool.h>

#include "options.h"
#include "plan.h"

struct depfile {
    const char *spec, *weights;     /* paths; NULL: standard input, no file */
};

/* -M: to -MF's file or standard output. -MD: to -MF's file, or beside the output with the ending .d. False after a
 * message on standard error. */
bool depfile_print(const struct depfile *depfile, const struct plan *plan, const struct options *options);
bool depfile_write(const struct depfile *depfile, const struct plan *plan, const struct options *options);

#endif
