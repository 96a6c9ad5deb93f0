/* Names for generated code: any text becomes a C identifier that no other one in the same set equals. */
#ifndef MLPC_NAMES_H
#define MLPC_NAMES_H

#include "arena.h"

struct names;

struct names *names_new(struct arena *arena);
/* Letters, digits and `_` stay, all else becomes `_`; long texts are shortened; a number makes it unique. The result
 * may begin with a digit: callers put a prefix in front. */
const char *names_make(struct names *names, const char *text);

#endif
