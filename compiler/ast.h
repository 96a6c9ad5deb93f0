/* What the spec says, as written, with the span of each piece. Names are interned: equal names are the same struct,
 * and their indices are dense, so that a pass can keep what it knows about names in an array.
 *
 * Operators of a chain such as a * b + c - d stand side by side in one expression, in the order in which they apply, so
 * that a chain of any length is one level of nesting. Levels are bounded by AST_DEPTH_MAX: walks may recurse. */
#ifndef MLPC_AST_H
#define MLPC_AST_H

#include <stdio.h>

#include "arena.h"
#include "diag.h"
#include "number.h"

enum { AST_DEPTH_MAX = 2000 };

struct name {
    const char *text;
    size_t index;
};

struct identifier {                 /* a name at a place */
    const struct name *name;        /* NULL where it is absent */
    struct span span;
};

/* A string is text and names by turns: "l{i}.{part}" has the pieces "l", {i}, ".", {part}. */
struct piece {
    const char *text;               /* escapes resolved; unless name */
    size_t length;
    const struct name *name;
    struct span span;               /* of a name, without its braces */
};

struct string {
    VEC(struct piece) pieces;
};

enum expr_kind {
    EXPR_NUMBER, EXPR_STRING, EXPR_TRUTH, EXPR_NAME, EXPR_CALL, EXPR_CHAIN, EXPR_NEGATE, EXPR_SLICE,
};

struct expr;

struct arg {
    struct identifier keyword;      /* without a name in a positional argument */
    struct expr *value;
};

struct args {
    VEC(struct arg) list;
};

struct link {                       /* op right, applied to all that stands left of it */
    char op;                        /* one of + - * / */
    struct expr *right;
};

struct expr {
    enum expr_kind kind;
    int depth;
    struct span span;
    union {
        struct number number;
        struct string *string;
        bool truth;                 /* true, false: only as an argument */
        const struct name *name;
        struct {
            struct identifier function;
            struct args args;
        } call;
        struct {
            struct expr *first;
            VEC(struct link) links;
        } chain;
        struct expr *negated;
        struct {
            struct expr *of, *begin, *end;
        } slice;
    };
};

enum stmt_kind { STMT_ASSIGN, STMT_REPEAT, STMT_INPUT, STMT_OUTPUT, STMT_BATCH, STMT_DTYPE, STMT_WEIGHTS, STMT_BUDGET };

struct stmts {
    VEC(struct stmt *) list;
    int depth;
};

struct exprs {
    VEC(struct expr *) list;
};

struct limit {                      /* device 64 MiB */
    struct identifier what;
    struct expr *value;
    struct identifier unit;         /* may be absent */
};

struct limits {
    VEC(struct limit) list;
};

struct stmt {
    enum stmt_kind kind;
    size_t index;                   /* dense over the whole spec */
    struct span span;
    struct identifier target;       /* the name assigned, an input's, an output's, a repeat's variable */
    struct identifier type;         /* of an input, an output, the model; may be absent of an output */
    struct expr *value;             /* assigned; an output's, or NULL; an input's width; the weights' path */
    struct expr *from, *to;         /* of a repeat */
    struct stmts *body;
    struct exprs *sizes;            /* batch sizes */
    struct limits *limits;          /* of a budget */
};

struct identifiers {
    VEC(struct identifier) list;
};

struct constant {
    struct identifier name;
    struct expr *value;
};

struct block {
    struct identifier name;
    size_t index;                   /* order in the file: a block may call those of smaller index */
    struct identifiers *params;
    struct stmts *body;
    struct expr *result;
};

struct model {
    struct identifier name;
    struct stmts *body;
};

struct spec {
    const struct source *source;
    VEC(struct name *) names;
    VEC(struct constant) constants;
    VEC(struct block *) blocks;
    VEC(struct model *) models;     /* exactly one after check_spec */
    size_t stmt_count;
    struct name **name_table;       /* open addressing over names; a power of two */
    size_t name_table_size;
};

/* The parser: NULL, or recorded errors, where the source is not a spec. */
struct spec *parse_spec(struct arena *arena, struct diags *diags, const struct source *source);

/* Prints the tree as a spec with every operator in parentheses. */
void ast_dump(const struct spec *spec, FILE *to);

/* What the parser builds with. The constructors of what can nest take its depth from its parts. */
const struct name *ast_name(struct spec *spec, struct arena *arena, const char *text, size_t length);
struct expr *ast_leaf(struct arena *arena, enum expr_kind kind, struct span span);
struct expr *ast_call(struct arena *arena, struct identifier function, const struct args *args, struct span span);
struct expr *ast_parens(struct expr *inner, struct span span);
struct expr *ast_binary(struct arena *arena, char op, struct expr *left, struct expr *right);
struct expr *ast_negate(struct arena *arena, struct expr *negated, struct span span);
struct expr *ast_slice(struct arena *arena, struct expr *of, struct expr *begin, struct expr *end, struct span span);
struct stmt *ast_stmt(struct spec *spec, struct arena *arena, enum stmt_kind kind, struct span span);
void ast_append(struct arena *arena, struct stmts *stmts, struct stmt *stmt);

#endif
