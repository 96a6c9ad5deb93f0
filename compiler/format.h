/* The one layout of a spec: four columns a level, a statement a line, lines of at most 100 columns where they can be
 * broken. Every comment stays, and so do blank lines between statements, at most one. A spec in this layout is not
 * changed. */
#ifndef MLPC_FORMAT_H
#define MLPC_FORMAT_H

#include "arena.h"
#include "diag.h"

/* Of a source that parse_spec has found no error in. */
const char *format_spec(struct arena *arena, struct diags *diags, const struct source *source, size_t *length);

#endif
