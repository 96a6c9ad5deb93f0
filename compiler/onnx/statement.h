/* Statements of a spec before they are text, so that those of equal layers can be found and rolled up. */
#ifndef MLPC_ONNX_STATEMENT_H
#define MLPC_ONNX_STATEMENT_H

#include "../names.h"
#include "term.h"

enum token_kind {
    TOKEN_TEXT,
    TOKEN_VALUE,                    /* another statement's */
    TOKEN_STRING,                   /* a tensor's name */
};

struct token {
    enum token_kind kind;
    const char *text;
    struct term *value;
    size_t begin, end;              /* of a string's number that a repeat counts; equal: none */
};

struct statement {
    struct term *term;              /* what it computes */
    bool deferred;                  /* an output, written where that is declared unless it is part of a repeat */
    VEC(struct token) tokens;
};

typedef VEC(struct statement *) statement_list;

/* Text that grows; the formatter lays it out. */
struct page {
    struct arena *arena;
    VEC(char) text;
};

void page_add(struct page *page, const char *text);
void page_line(struct page *page, const char *line);

/* The right side of a statement, once the values that it reads have names. `number`: the name that counts, or NULL. */
const char *statement_text(struct arena *arena, const struct statement *statement, const char *number);

/* Writes statements as assignments, layers that differ in a number of their tensors' names as a repeat. Values get
 * their names here; a deferred statement's gets one only if it was written. */
void statements_print(struct page *page, const statement_list *list, struct names *names);

#endif
