/* How a place of the spec came to be expanded: the calls of blocks and the turns of repeats around it. */
#ifndef MLPC_SITE_H
#define MLPC_SITE_H

#include "diag.h"

struct site {
    const struct site *outer;
    struct span span;               /* of the call, or of the repeat's variable */
    const char *block;              /* called there, or NULL: a turn */
    const char *variable;
    int64_t turn;
};

/* Notes for the newest message, innermost first; of a deep nest only both ends. */
void site_notes(struct diags *diags, const struct site *site);

#endif
