/* What the files of diag share: the messages themselves. */
#ifndef MLPC_DIAG_MESSAGE_H
#define MLPC_DIAG_MESSAGE_H

#include "diag.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE };

struct note {
    struct span span;
    const char *text;
};

struct fix {
    struct span span;
    const char *text;
};

struct message {
    enum severity severity;
    const char *slug;               /* NULL: no mistake in a file */
    const char *cause;              /* in place of a slug, for tools */
    bool promoted;                  /* a warning that counts as an error */
    bool placed;                    /* span is valid */
    struct span span;
    const char *path;               /* of another file, or NULL */
    size_t line;                    /* there */
    const char *text;
    VEC(struct note) notes;
    VEC(struct fix) fixes;
    size_t order;                   /* in which it was recorded */
};

struct diags {
    struct arena *arena;
    const struct source *source;
    const struct diag_options *options;
    VEC(struct message) messages;   /* since the last print */
    struct message *open;           /* the newest, or NULL: notes and fixes go nowhere */
    size_t recorded;
    enum exit_status status;
};

/* In the order of the source; messages without a place there behind all others. */
void diags_sort(struct diags *diags);
/* Those that have been recorded, as one document. */
void diags_print_sarif(const struct diags *diags, FILE *to, enum exit_status status);

#endif
