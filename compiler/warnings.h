/* The options that begin with -W. */
#ifndef MLPC_WARNINGS_H
#define MLPC_WARNINGS_H

#include "diag.h"

/* What follows -W: all, error, NAME, error=NAME, or one of them behind "no-"; NULL, or what is wrong with it. */
const char *warnings_set(struct diag_options *options, struct arena *arena, const char *text);

#endif
