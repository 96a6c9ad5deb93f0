#include "unused.h"

#include <inttypes.h>

/* ---- Values and inputs: read by name, or not ---- */

static bool is_unread(const struct lowering *lowering, const struct stmt *stmt)
{
    return lowering->done[stmt->index] && !lowering->read[stmt->index];
}

/* `covered`, by byte of the source: an unread value has been reported that begins at or around it. */
static void warn_value(const struct lowering *lowering, const struct stmt *stmt, bool *covered)
{
    diag_warning(lowering->diags, DIAG_UNUSED_VALUE, stmt->target.span, "nothing reads this '%s'",
                 stmt->target.name->text);
    for (uint32_t i = stmt->span.begin; diag_warns(lowering->diags, DIAG_UNUSED_VALUE) && i < stmt->span.end; i++)
        covered[i] = true;
}

static void warn_stmts(const struct lowering *lowering, const struct stmts *stmts, bool *covered)
{
    for (size_t i = 0; i < stmts->list.count; i++) {
        const struct stmt *stmt = stmts->list.at[i];
        if (stmt->kind == STMT_REPEAT)
            warn_stmts(lowering, stmt->body, covered);
        else if (stmt->kind == STMT_ASSIGN && is_unread(lowering, stmt))
            warn_value(lowering, stmt, covered);
        else if (stmt->kind == STMT_INPUT && is_unread(lowering, stmt))
            diag_warning(lowering->diags, DIAG_UNUSED_INPUT, stmt->target.span, "nothing reads the input '%s'",
                         stmt->target.name->text);
    }
}

/* ---- Layers: what reads weights, and reaches an output or not ---- */

struct layer {                      /* a place of the source, over all its expansions */
    uint32_t dead, count;
    int first_dead;                 /* node */
};

/* The function that reads the weights, or NULL where there are none. */
static const char *function_of(const struct node *node)
{
    const struct param *param = node->param[0];
    while (param && param->of_count)
        param = param->of[0];
    return param ? param->user : NULL;
}

/* An unread value that it is part of says enough. */
static bool is_covered(const struct node *node, const bool *covered)
{
    if (covered[node->span.begin])
        return true;
    for (const struct site *site = node->site; site; site = site->outer) {
        if (covered[site->span.begin])
            return true;
    }
    return false;
}

static void warn_layer(const struct lowering *lowering, const struct layer *layer)
{
    const struct node *node = graph_node(lowering->graph, layer->first_dead);
    if (layer->dead == layer->count)
        diag_warning(lowering->diags, DIAG_DEAD_LAYER, node->span,
                     "this %s reaches no output: it is not computed, and its weights are not read", function_of(node));
    else
        diag_warning(lowering->diags, DIAG_DEAD_LAYER, node->span,
                     "this %s reaches no output in %" PRIu32 " of its %" PRIu32 " expansions", function_of(node),
                     layer->dead, layer->count);
    site_notes(lowering->diags, node->site);
}

static void warn_layers(const struct lowering *lowering, const bool *covered)
{
    const struct graph *graph = lowering->graph;
    const int *uses = graph_uses(graph, lowering->arena);
    struct layer *layers = ARENA_ARRAY(lowering->arena, struct layer, lowering->spec->source->length + 1);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = graph_node(graph, (int)i);
        struct layer *layer = &layers[node->span.begin];
        if (!function_of(node))
            continue;
        layer->count++;
        if (!uses[i] && !is_covered(node, covered) && !layer->dead++)
            layer->first_dead = (int)i;
    }
    for (size_t i = 0; i < lowering->spec->source->length; i++) {
        if (layers[i].dead)
            warn_layer(lowering, &layers[i]);
    }
}

void warn_unused(const struct lowering *lowering)
{
    const struct spec *spec = lowering->spec;
    bool *covered = ARENA_ARRAY(lowering->arena, bool, spec->source->length + 1);
    for (size_t i = 0; i < spec->blocks.count; i++)
        warn_stmts(lowering, spec->blocks.at[i]->body, covered);
    warn_stmts(lowering, spec->models.at[0]->body, covered);
    if (diag_warns(lowering->diags, DIAG_DEAD_LAYER))
        warn_layers(lowering, covered);
}
