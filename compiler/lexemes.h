/* A spec as a row of tokens and comments, with what is known of each without its neighbours' places: for layout, which
 * keeps every one of them and decides about nothing but the blanks between. */
#ifndef MLPC_LEXEMES_H
#define MLPC_LEXEMES_H

#include <stdbool.h>

#include "arena.h"
#include "diag.h"

enum { LEXEME_COMMENT = -1, NO_BREAK = -1 };

struct lexeme {
    int kind;                       /* a TOKEN_ of parse.h, or LEXEME_COMMENT */
    const char *text;               /* as written; of a comment without blanks at its end */
    size_t length;
    int line_ends;                  /* before it in the source, behind the lexeme before: 0, 1, or 2 for more */
    int column;                     /* a comment's in the source, from 0 */
    bool space;                     /* one stands between the token before and this one, on one line */
    int depth;                      /* brackets and parentheses around it */
    int rank;                       /* a line may break before it: at smaller ranks rather; or NO_BREAK */
};

struct lexemes {
    VEC(struct lexeme) list;
};

/* Cells that a text takes on a line. */
int lexeme_columns(const char *text, size_t length);

/* Of a source that parse_spec has found no error in. */
struct lexemes read_lexemes(struct arena *arena, struct diags *diags, const struct source *source);

#endif
