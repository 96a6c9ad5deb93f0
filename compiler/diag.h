/* Messages about the user's input. A message is recorded first and printed at the end of a pass, in the order of
 * the source: `path:line:col: error: text [slug]`, the source line, a caret under the span, what to write instead where
 * that is known, then its notes in the same form; or all together as one SARIF document. Spans are byte offsets; line
 * and column exist only in print.
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
    DIAG_COUNT
};

enum diag_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum diag_form { DIAG_TEXT, DIAG_SARIF };

/* What the command line says about messages. Zeros hold unless told; settings are 1, -1 (no) or 0 (untold). */
struct diag_options {
    enum diag_color color;
    enum diag_form form;
    bool limited;                   /* by --error-limit */
    size_t limit;                   /* errors shown, and warnings; 0: all */
    int all;                        /* -Wall */
    bool warnings_are_errors;       /* -Werror */
    signed char shown[DIAG_COUNT], fatal[DIAG_COUNT];   /* one warning: -WNAME, -Werror=NAME */
};

struct diags;

/* Both are read when messages come, not before. */
struct diags *diags_new(struct arena *arena, const struct source *source, const struct diag_options *options);

/* A new message at `span`. Formats must not end in a newline. */
void diag_error(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same where the warning is shown; else nothing happens, and notes and fixes that follow are dropped. */
void diag_warning(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether it is: for what is costly to find out. */
bool diag_warns(const struct diags *diags, enum diag_slug slug);
/* A second place for the newest message. */
void diag_note(struct diags *diags, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What would mend the newest message: this text in the place of the span, which may be empty, as may be the text.
 * Several belong together; they come in the order of the source. */
void diag_fix(struct diags *diags, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A mistake in another file than the source. */
void diag_error_in(struct diags *diags, enum diag_slug slug, const char *path, size_t line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* What is worth a word, and about no place. */
void diag_remark(struct diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The command line asks for what cannot be, as the files show. Marks exit status 2. */
void diag_command_line(struct diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The environment failed (a file, a tool, the disk): `where` is a span or NULL. Marks exit status 3. */
void diag_environment(struct diags *diags, const struct span *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the source has this text there. */
bool diag_reads(const struct diags *diags, struct span span, const char *text);

/* Prints what has been recorded since the last call (at most 20 errors unless told, then how many more there are). As
 * SARIF there is one document, which diags_finish prints, with all of them. */
void diags_print(struct diags *diags, FILE *to);
void diags_finish(struct diags *diags, FILE *to, enum exit_status status);

enum diag_form diags_form(const struct diags *diags);

/* EXIT_DONE, EXIT_USER, EXIT_COMMAND_LINE or EXIT_ENVIRONMENT, by what has been recorded so far. */
enum exit_status diags_status(const struct diags *diags);

/* 1-based; columns count bytes. */
void source_position(const struct source *source, uint32_t offset, int *line, int *column);

#endif
