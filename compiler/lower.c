/* Statements: a walk over the model in its order, through repeats turn by turn and into blocks call by call. */
#include "lower.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lowering.h"
#include "unused.h"

enum {
    DEPTH_MAX = 4000,               /* of nested expressions, blocks and repeats together */
    STATEMENTS_MAX = 1000000,
    NODES_MAX = 8000000,
    WORK_MAX = 20000000,
};

/* ---- Errors and limits ---- */

bool lowering_fails(struct lowering *lowering, struct span span)
{
    lowering->errors++;
    if (lowering->stopped || lowering->reported[span.begin])
        return false;
    lowering->reported[span.begin] = true;
    return true;
}

void lowering_places(const struct lowering *lowering)
{
    site_notes(lowering->diags, lowering->graph->site);
}

static bool stop(struct lowering *lowering, enum diag_slug slug, struct span span, const char *text)
{
    if (lowering_fails(lowering, span)) {
        diag_error(lowering->diags, slug, span, "%s", text);
        lowering_places(lowering);
    }
    lowering->stopped = true;
    return false;
}

bool lowering_counts(struct lowering *lowering, struct span span, int64_t statements, int64_t work)
{
    if (lowering->stopped)
        return false;
    lowering->statements += statements;
    lowering->work += work;
    if (lowering->statements > STATEMENTS_MAX)
        return stop(lowering, DIAG_TOO_MANY_STATEMENTS, span, "the model expands to more than 1,000,000 statements");
    if (lowering->graph->nodes.count > NODES_MAX)
        return stop(lowering, DIAG_TOO_MANY_STATEMENTS, span, "the model expands to more than 8,000,000 operations");
    if (lowering->work > WORK_MAX)
        return stop(lowering, DIAG_TOO_MANY_STATEMENTS, span, "the model's expressions take too long to compute");
    return true;
}

bool lowering_sinks(struct lowering *lowering, struct span span)
{
    if (!lowering_counts(lowering, span, 0, 1))
        return false;
    if (lowering->depth >= DEPTH_MAX)
        return stop(lowering, DIAG_NESTING_TOO_DEEP, span, "blocks and expressions are nested too deeply");
    lowering->depth++;
    return true;
}

void lowering_rises(struct lowering *lowering)
{
    lowering->depth--;
}

/* ---- Assignments ---- */

/* A value is named by the outermost statement that made it: only nodes from `first` on are new. */
static void name_node(struct lowering *lowering, struct datum datum, size_t first, const struct name *name)
{
    if (datum.kind == DATUM_TENSOR && (size_t)datum.node >= first)
        graph_node(lowering->graph, datum.node)->name = name->text;
}

static struct datum assign(struct lowering *lowering, const struct stmt *stmt)
{
    size_t first = lowering->graph->nodes.count;
    struct datum datum = evaluate(lowering, stmt->value);
    name_node(lowering, datum, first, stmt->target.name);
    scope_bind(&lowering->scopes, stmt->target.name, datum, stmt);
    return datum;
}

/* ---- Blocks and repeats ---- */

static void lower_stmts(struct lowering *lowering, const struct stmts *stmts);

static void enter_site(struct lowering *lowering, struct site site)
{
    struct site *kept = ARENA_NEW(lowering->arena, struct site);
    *kept = site;
    kept->outer = lowering->graph->site;
    lowering->graph->site = kept;
}

static void leave_site(struct lowering *lowering)
{
    lowering->graph->site = lowering->graph->site->outer;
}

static void bind_arguments(struct lowering *lowering, const struct block *block, const struct expr *call, size_t first)
{
    for (size_t i = 0; i < call->call.args.list.count; i++) {
        const struct name *keyword = call->call.args.list.at[i].keyword.name;
        const struct name *name = keyword ? keyword : block->params->list.at[i].name;
        scope_bind(&lowering->scopes, name, lowering->stack.at[first + i], NULL);
    }
}

struct datum lower_block(struct lowering *lowering, const struct block *block, const struct expr *call, size_t args)
{
    struct datum result = {.kind = DATUM_WRONG};
    const struct block *caller = lowering->block;
    struct scope_mark mark = scope_enter(&lowering->scopes);
    bind_arguments(lowering, block, call, args);
    lowering->block = block;
    enter_site(lowering, (struct site){.span = call->span, .block = block->name.name->text});
    lower_stmts(lowering, block->body);
    if (lowering_counts(lowering, call->span, 1, 0))
        result = evaluate(lowering, block->result);
    leave_site(lowering);
    lowering->block = caller;
    scope_leave(&lowering->scopes, mark);
    return result;
}

/* One turn; false where no further one makes sense. */
static bool lower_turn(struct lowering *lowering, const struct stmt *stmt, int64_t turn)
{
    size_t errors = lowering->errors;
    int64_t statements = lowering->statements;
    struct datum variable = {.kind = DATUM_NUMBER, .number = {.integer = turn}};
    scope_bind(&lowering->scopes, stmt->target.name, variable, NULL);
    enter_site(lowering, (struct site){.span = stmt->target.span, .variable = stmt->target.name->text, .turn = turn});
    lower_stmts(lowering, stmt->body);
    leave_site(lowering);
    bool empty = lowering->statements == statements;    /* a turn of nothing counts too */
    return lowering_counts(lowering, stmt->span, empty, 0) && lowering->errors == errors;
}

static bool find_bounds(struct lowering *lowering, const struct stmt *stmt, int64_t *from, int64_t *to)
{
    struct datum first = evaluate(lowering, stmt->from), last = evaluate(lowering, stmt->to);
    bool sound = datum_whole(lowering, first, stmt->from->span, "the bound of a repeat", from);
    sound = datum_whole(lowering, last, stmt->to->span, "the bound of a repeat", to) && sound;
    if (!sound || *from <= *to)
        return sound;
    struct span span = {stmt->from->span.begin, stmt->to->span.end};
    LOWERING_FAIL(lowering, BAD_REPEAT, span, "%" PRId64 "..%" PRId64 " runs backwards", *from, *to);
    return false;
}

static void lower_repeat(struct lowering *lowering, const struct stmt *stmt)
{
    int64_t from, to;
    if (!find_bounds(lowering, stmt, &from, &to) || !lowering_sinks(lowering, stmt->span))
        return;
    const struct binding *found = scope_find(&lowering->scopes, stmt->target.name);
    struct binding before = found ? *found : (struct binding){.scope = 0};
    for (int64_t turn = from; turn < to && lower_turn(lowering, stmt, turn); turn++)
        ;
    if (from < to)
        scope_restore(&lowering->scopes, stmt->target.name, before);
    lowering_rises(lowering);
}

/* ---- Inputs, outputs, settings ---- */

static enum dtype port_type(const struct identifier *type, enum dtype otherwise)
{
    enum dtype dtype = otherwise;
    if (type->name)
        dtype_parse(type->name->text, &dtype);
    return dtype == DTYPE_TF32 ? DTYPE_F32 : dtype;
}

static void lower_input(struct lowering *lowering, const struct stmt *stmt)
{
    struct datum datum = evaluate(lowering, stmt->value);
    const char *what = arena_format(lowering->arena, "the width of '%s'", stmt->target.name->text);
    int64_t width;
    if (datum_width(lowering, datum, stmt->value->span, what, &width)) {
        int node = graph_add(lowering->graph, OP_INPUT, width, NULL, 0, stmt->target.span);
        graph_node(lowering->graph, node)->name = stmt->target.name->text;
        struct port port = {stmt->target.name->text, port_type(&stmt->type, DTYPE_F32), width, node,
                            stmt->target.span};
        VEC_PUSH(lowering->arena, &lowering->graph->inputs, port);
        datum = (struct datum){.kind = DATUM_TENSOR, .node = node};
    } else {
        datum = (struct datum){.kind = DATUM_WRONG};
    }
    scope_bind(&lowering->scopes, stmt->target.name, datum, stmt);
}

static void lower_output(struct lowering *lowering, const struct stmt *stmt)
{
    const struct name *name = stmt->target.name;
    struct expr itself = {.kind = EXPR_NAME, .span = stmt->target.span, .name = name};
    struct datum datum = stmt->value ? assign(lowering, stmt) : evaluate(lowering, &itself);
    lowering->read[stmt->index] = true;
    if (datum.kind != DATUM_TENSOR) {
        if (datum.kind != DATUM_WRONG)
            LOWERING_FAIL(lowering, WRONG_KIND, stmt->target.span, "the output '%s' must be a tensor, not %s",
                          name->text, datum_text(lowering, datum));
        return;
    }
    int64_t width = graph_node(lowering->graph, datum.node)->width;
    struct port port = {name->text, port_type(&stmt->type, lowering->graph->dtype), width, datum.node,
                        stmt->target.span};
    VEC_PUSH(lowering->arena, &lowering->graph->outputs, port);
}

static int compare_sizes(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Ascending; a size that stands twice counts once. */
static void lower_batch(struct lowering *lowering, const struct stmt *stmt)
{
    struct graph *graph = lowering->graph;
    for (size_t i = 0; i < stmt->sizes->list.count; i++) {
        const struct expr *expr = stmt->sizes->list.at[i];
        int64_t size;
        if (!datum_whole(lowering, evaluate(lowering, expr), expr->span, "a batch size", &size))
            continue;
        if (size >= 1 && size <= SIZE_LIMIT)
            VEC_PUSH(lowering->arena, &graph->batches, size);
        else
            LOWERING_FAIL(lowering, BAD_BATCH, expr->span, "a batch size must be from 1 to %" PRId64 ", not %" PRId64,
                          SIZE_LIMIT, size);
    }
    if (!graph->batches.count)
        return;
    qsort(graph->batches.at, graph->batches.count, sizeof *graph->batches.at, compare_sizes);
    size_t kept = 1;
    for (size_t i = 1; i < graph->batches.count; i++) {
        if (graph->batches.at[i] != graph->batches.at[kept - 1])
            graph->batches.at[kept++] = graph->batches.at[i];
    }
    graph->batches.count = kept;
}

static int64_t bytes_of_unit(const char *unit)
{
    switch (*unit) {
    case 'K':
        return INT64_C(1) << 10;
    case 'M':
        return INT64_C(1) << 20;
    case 'G':
        return INT64_C(1) << 30;
    default:
        return 1;
    }
}

static void lower_budget(struct lowering *lowering, const struct stmt *stmt)
{
    struct budget *budget = &lowering->graph->budget;
    for (size_t i = 0; i < stmt->limits->list.count; i++) {
        const struct limit *limit = &stmt->limits->list.at[i];
        enum budget_entry entry = budget_entry(limit->what.name->text);
        int64_t count, bytes;
        if (!datum_whole(lowering, evaluate(lowering, limit->value), limit->value->span, "a budget", &count))
            continue;
        if (count < 0 || !CHECKED_MUL(count, bytes_of_unit(limit->unit.name->text), &bytes)) {
            LOWERING_FAIL(lowering, BAD_BUDGET, limit->value->span,
                          "a budget must be from 0 to 2^63 - 1 bytes, not %" PRId64 " %s", count,
                          limit->unit.name->text);
            continue;
        }
        budget->given[entry] = true;
        budget->bytes[entry] = bytes;
        budget->span[entry] = (struct span){limit->what.span.begin, limit->unit.span.end};
    }
}

static void lower_stmt(struct lowering *lowering, const struct stmt *stmt)
{
    switch (stmt->kind) {
    case STMT_ASSIGN:
        assign(lowering, stmt);
        break;
    case STMT_REPEAT:
        lower_repeat(lowering, stmt);
        break;
    case STMT_INPUT:
        lower_input(lowering, stmt);
        break;
    case STMT_OUTPUT:
        lower_output(lowering, stmt);
        break;
    case STMT_BATCH:
        lower_batch(lowering, stmt);
        break;
    case STMT_WEIGHTS:
        lowering->graph->weights = evaluate_string(lowering, stmt->value->string);
        lowering->graph->weights_span = stmt->value->span;
        break;
    case STMT_BUDGET:
        lower_budget(lowering, stmt);
        break;
    case STMT_DTYPE:
        break;                      /* read before all others */
    }
}

static void lower_stmts(struct lowering *lowering, const struct stmts *stmts)
{
    for (size_t i = 0; i < stmts->list.count; i++) {
        const struct stmt *stmt = stmts->list.at[i];
        if (!lowering_counts(lowering, stmt->span, stmt->kind != STMT_REPEAT, 0))
            return;
        lower_stmt(lowering, stmt);
        lowering->done[stmt->index] = true;
    }
}

/* ---- The whole model ---- */

static void lower_constants(struct lowering *lowering)
{
    for (size_t i = 0; i < lowering->spec->constants.count; i++) {
        const struct constant *constant = &lowering->spec->constants.at[i];
        struct datum datum = evaluate(lowering, constant->value);
        if (datum.kind != DATUM_NUMBER && datum.kind != DATUM_WRONG) {
            LOWERING_FAIL(lowering, WRONG_KIND, constant->value->span, "a constant must be a number, not %s",
                          datum_text(lowering, datum));
            datum.kind = DATUM_WRONG;
        }
        lowering->constants[constant->name.name->index] = datum;
    }
}

static void find_dtype(struct graph *graph, const struct stmts *stmts)
{
    for (size_t i = 0; i < stmts->list.count; i++) {
        if (stmts->list.at[i]->kind == STMT_DTYPE)
            dtype_parse(stmts->list.at[i]->type.name->text, &graph->dtype);
    }
}

static void lower_model(struct lowering *lowering, const struct model *model)
{
    struct graph *graph = lowering->graph;
    graph->name = model->name.name->text;
    graph->weights_span = model->name.span;
    find_dtype(graph, model->body);
    lower_stmts(lowering, model->body);
    if (!graph->batches.count)
        VEC_PUSH(lowering->arena, &graph->batches, 1);
}

static void prepare(struct lowering *lowering)
{
    const struct spec *spec = lowering->spec;
    struct arena *arena = lowering->arena;
    size_t names = spec->names.count + 1;
    scopes_init(&lowering->scopes, arena, names);
    lowering->constants = ARENA_ARRAY(arena, struct datum, names);
    lowering->blocks = ARENA_ARRAY(arena, const struct block *, names);
    lowering->functions = ARENA_ARRAY(arena, const struct function *, names);
    lowering->reported = ARENA_ARRAY(arena, bool, spec->source->length + 1);
    lowering->done = ARENA_ARRAY(arena, bool, spec->stmt_count + 1);
    lowering->read = ARENA_ARRAY(arena, bool, spec->stmt_count + 1);
    for (size_t i = 0; i < spec->blocks.count; i++)
        lowering->blocks[spec->blocks.at[i]->name.name->index] = spec->blocks.at[i];
    for (size_t i = 0; i < spec->names.count; i++)
        lowering->functions[i] = function_find(spec->names.at[i]->text);
}

struct graph *lower_spec(struct arena *arena, const struct spec *spec, struct diags *diags)
{
    struct lowering lowering = {.arena = arena, .spec = spec, .diags = diags, .graph = graph_new(arena)};
    const struct model *model = spec->models.at[0];
    prepare(&lowering);
    lower_constants(&lowering);
    lower_model(&lowering, model);
    if (lowering.errors)
        return NULL;
    warn_unused(&lowering);
    return lowering.graph;
}
