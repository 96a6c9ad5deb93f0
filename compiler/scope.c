/* One array holds the innermost binding of each name; what a scope hides waits in a log until the scope is left. */
#include "scope.h"

void scopes_init(struct scopes *scopes, struct arena *arena, size_t names)
{
    *scopes = (struct scopes){.arena = arena, .bindings = ARENA_ARRAY(arena, struct binding, names + 1)};
    scope_enter(scopes);
}

struct scope_mark scope_enter(struct scopes *scopes)
{
    struct scope_mark mark = {scopes->current, scopes->undos.count};
    scopes->current = ++scopes->count;
    return mark;
}

void scope_leave(struct scopes *scopes, struct scope_mark mark)
{
    while (scopes->undos.count > mark.undos) {
        const struct undo *undo = &scopes->undos.at[--scopes->undos.count];
        scopes->bindings[undo->name] = undo->binding;
    }
    scopes->current = mark.scope;
}

const struct binding *scope_find(const struct scopes *scopes, const struct name *name)
{
    const struct binding *binding = &scopes->bindings[name->index];
    return binding->scope == scopes->current && binding->datum.kind != DATUM_NONE ? binding : NULL;
}

void scope_bind(struct scopes *scopes, const struct name *name, struct datum datum, const struct stmt *stmt)
{
    struct binding *binding = &scopes->bindings[name->index];
    if (binding->scope != scopes->current) {
        struct undo undo = {name->index, *binding};
        VEC_PUSH(scopes->arena, &scopes->undos, undo);
    }
    *binding = (struct binding){scopes->current, datum, stmt};
}

void scope_restore(struct scopes *scopes, const struct name *name, struct binding before)
{
    scopes->bindings[name->index].datum = before.datum;
    scopes->bindings[name->index].stmt = before.stmt;
}
