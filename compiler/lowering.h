/* What the files of the lowering pass share: lower.c (statements), evaluate.c (expressions), call.c (functions). */
#ifndef MLPC_LOWERING_H
#define MLPC_LOWERING_H

#include "ast.h"
#include "functions.h"
#include "graph.h"
#include "scope.h"
#include "site.h"

struct lowering {
    struct arena *arena;
    const struct spec *spec;
    struct diags *diags;
    struct graph *graph;
    struct scopes scopes;
    struct datum *constants;        /* by the index of a name */
    const struct block **blocks;
    const struct function **functions;
    const struct block *block;      /* being expanded, or NULL in the model */
    VEC(struct datum) stack;        /* arguments of the calls that are being evaluated */
    int depth;                      /* of nested expressions, blocks and repeats */
    int64_t statements, work;       /* done so far */
    bool stopped;                   /* a limit is reached: unwinds */
    size_t errors;
    bool *reported;                 /* by byte of the source: an error that begins there has been recorded */
    bool *done, *read;              /* by statement: it has been expanded; something reads what it assigned */
};

/* An error at `span` is to be recorded: true the first time for this place. The caller adds the message and its notes,
 * and lowering_places last. */
bool lowering_fails(struct lowering *lowering, struct span span);
void lowering_places(const struct lowering *lowering);  /* notes that say which block and turn it is in */

#define LOWERING_FAIL(lowering, slug, span, ...)                                                                \
    do {                                                                                                        \
        if (lowering_fails((lowering), (span))) {                                                               \
            diag_error((lowering)->diags, DIAG_##slug, (span), __VA_ARGS__);                                    \
            lowering_places(lowering);                                                                          \
        }                                                                                                       \
    } while (0)

/* One level deeper; false, after an error, where that is too deep. lowering_rises takes it back. */
bool lowering_sinks(struct lowering *lowering, struct span span);
void lowering_rises(struct lowering *lowering);
/* Counts an expanded statement, or `work` in expressions; false, after an error, beyond the limits. */
bool lowering_counts(struct lowering *lowering, struct span span, int64_t statements, int64_t work);

/* lower.c */
struct datum lower_block(struct lowering *lowering, const struct block *block, const struct expr *call, size_t args);

/* evaluate.c. What is wrong comes out as DATUM_WRONG or false after a recorded error; `what` names it there. */
struct datum evaluate(struct lowering *lowering, const struct expr *expr);
const char *evaluate_string(struct lowering *lowering, const struct string *string);     /* or NULL */
const char *datum_text(struct lowering *lowering, struct datum datum);      /* "the number 5", "a tensor" */
bool datum_whole(struct lowering *lowering, struct datum datum, struct span span, const char *what, int64_t *number);
bool datum_width(struct lowering *lowering, struct datum datum, struct span span, const char *what, int64_t *width);
int datum_node(struct lowering *lowering, struct datum datum, struct span span);        /* of a tensor or a number */

/* `op` on two tensors, or a tensor and a number, that stretch; `text` is its name in messages. */
struct datum stretch(struct lowering *lowering, enum op op, const char *text, struct datum a, struct datum b,
                     struct span span);
/* The value's name; without one, the source text that makes it, if short. */
const char *node_text(const struct lowering *lowering, int index);
/* The place that decides its width. */
struct span width_span(const struct lowering *lowering, int index);
void fail_widths(struct lowering *lowering, const char *text, const char *rule, int a, int b, struct span span);

/* call.c: the arguments stand in the written order. */
struct datum call_function(struct lowering *lowering, const struct function *function, const struct expr *call,
                           const struct datum *args);

/* Widths and batch sizes. */
#define SIZE_LIMIT INT64_C(2147483647)

#endif
