/* What names hold while blocks are expanded: each expansion is a scope of its own, which sees no other. */
#ifndef MLPC_SCOPE_H
#define MLPC_SCOPE_H

#include "ast.h"

enum datum_kind {
    DATUM_NONE,                     /* nothing yet */
    DATUM_WRONG,                    /* an error that has been reported */
    DATUM_NUMBER, DATUM_STRING, DATUM_TRUTH, DATUM_TENSOR,
};

struct datum {
    enum datum_kind kind;
    union {
        struct number number;
        const char *string;
        bool truth;
        int node;                   /* of the graph */
    };
};

struct binding {
    size_t scope;                   /* 0: none */
    struct datum datum;
    const struct stmt *stmt;        /* that assigned it; NULL for an argument or a repeat's variable */
};

struct undo {
    size_t name;
    struct binding binding;
};

struct scopes {
    struct arena *arena;
    struct binding *bindings;       /* by the index of a name: the innermost */
    VEC(struct undo) undos;         /* what the open scopes hide */
    size_t current, count;
};

void scopes_init(struct scopes *scopes, struct arena *arena, size_t names);

/* scope_leave takes what scope_enter gave. */
struct scope_mark { size_t scope, undos; };
struct scope_mark scope_enter(struct scopes *scopes);
void scope_leave(struct scopes *scopes, struct scope_mark mark);

/* The binding in the current scope, or NULL. */
const struct binding *scope_find(const struct scopes *scopes, const struct name *name);
void scope_bind(struct scopes *scopes, const struct name *name, struct datum datum, const struct stmt *stmt);
/* Takes back a binding of the current scope: the name holds `before` again, or nothing. */
void scope_restore(struct scopes *scopes, const struct name *name, struct binding before);

#endif
