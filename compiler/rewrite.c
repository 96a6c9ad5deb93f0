#include "rewrite.h"

#include <string.h>

struct rewrite rewrite_begin(const struct graph *from)
{
    struct arena *arena = from->arena;
    struct rewrite rewrite = {.from = from, .to = graph_new(arena)};
    rewrite.map = ARENA_ARRAY(arena, int, from->nodes.count);
    for (size_t i = 0; i < from->nodes.count; i++)
        rewrite.map[i] = -1;
    rewrite.uses = graph_uses(from, arena);
    struct graph *to = rewrite.to;
    to->name = from->name;
    to->dtype = from->dtype;
    to->weights = from->weights;
    to->weights_span = from->weights_span;
    to->budget = from->budget;
    to->batches.at = from->batches.at;
    to->batches.count = to->batches.capacity = from->batches.count;
    return rewrite;
}

int rewrite_copy(struct rewrite *rewrite, int index)
{
    const struct node *old = graph_node(rewrite->from, index);
    int copy = graph_add(rewrite->to, old->op, old->width, old->in, old->in_count, old->span);
    struct node *node = graph_node(rewrite->to, copy);
    int *in = node->in;
    *node = *old;
    node->in = in;
    for (int i = 0; i < node->in_count; i++)
        in[i] = rewrite->map[old->in[i]];
    rewrite->map[index] = copy;
    return copy;
}

void rewrite_replace(struct rewrite *rewrite, int index, int by)
{
    struct node *node = graph_node(rewrite->to, by);
    if (!node->name)
        node->name = graph_node(rewrite->from, index)->name;
    rewrite->map[index] = by;
}

/* The sources that live nodes still read, each once, in the order of first use. */
static void collect_sources(struct graph *graph, struct param *param)
{
    if (param->kind == PARAM_SOURCE) {
        if (!param->seen) {
            param->seen = true;
            VEC_PUSH(graph->arena, &graph->sources, param);
        }
        return;
    }
    for (int i = 0; i < param->of_count; i++)
        collect_sources(graph, param->of[i]);
}

struct graph *rewrite_end(struct rewrite *rewrite)
{
    const struct graph *from = rewrite->from;
    struct graph *to = rewrite->to;
    for (size_t i = 0; i < from->inputs.count; i++) {
        struct port port = from->inputs.at[i];
        port.node = rewrite->map[port.node];
        VEC_PUSH(to->arena, &to->inputs, port);
    }
    for (size_t i = 0; i < from->outputs.count; i++) {
        struct port port = from->outputs.at[i];
        port.node = rewrite->map[port.node];
        VEC_PUSH(to->arena, &to->outputs, port);
    }
    for (size_t i = 0; i < from->sources.count; i++)
        from->sources.at[i]->seen = false;
    int *uses = graph_uses(to, to->arena);
    for (size_t i = 0; i < to->nodes.count; i++) {
        for (int j = 0; uses[i] && j < 2; j++) {
            if (to->nodes.at[i].param[j])
                collect_sources(to, to->nodes.at[i].param[j]);
        }
    }
    graph_check(to);
    return to;
}
