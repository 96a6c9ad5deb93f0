/* Messages about the user's input. A message is recorded first and printed at the end of a pass, in the order of
 * the source: `path:line:col: error: text [slug]`, the source line, a caret under the span, then its notes in the
 * same form. Spans are byte offsets; line and column exist only in print.
 *
 * Three kinds are never mixed: the user's mistake (these), the environment's failure (diag_environment: exit 3),
 * our bug (an assert). */
#ifndef MLPC_DIAG_H
#define MLPC_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"

struct span {
    uint32_t begin, end;            /* bytes [begin, end) of the source */
};

struct source {
    const char *path;               /* as given on the command line; "<stdin>" for "-" */
    const char *text;               /* NUL-terminated after length bytes; may hold NUL bytes before */
    size_t length;
};

enum diag_slug {
#define DIAG(name, slug) DIAG_##name,
#include "diag.def"
#undef DIAG
};

enum diag_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct diags;

struct diags *diags_new(struct arena *arena, const struct source *source);

/* A new message at `span`. Formats must not end in a newline. */
void diag_error(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A second place for the newest message. */
void diag_note(struct diags *diags, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The environment failed (a file, a tool, the disk): `where` is a span or NULL. Marks exit status 3. */
void diag_environment(struct diags *diags, const struct span *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Warnings turn into errors. */
void diags_warnings_are_errors(struct diags *diags);

/* Prints what has been recorded since the last call (at most 20 errors, then how many more there are). */
void diags_print(struct diags *diags, FILE *to, enum diag_color color);

/* EXIT_DONE, EXIT_USER or EXIT_ENVIRONMENT, by what has been recorded so far. */
enum exit_status diags_status(const struct diags *diags);

/* 1-based; columns count bytes. */
void source_position(const struct source *source, uint32_t offset, int *line, int *column);

#endif
