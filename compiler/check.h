/* Checks of the tree that need no values: names, the shape of calls, what must be there once. */
#ifndef MLPC_CHECK_H
#define MLPC_CHECK_H

#include "ast.h"

/* False after recorded errors; all are found in one go. */
bool check_spec(const struct spec *spec, struct arena *arena, struct diags *diags);

#endif
