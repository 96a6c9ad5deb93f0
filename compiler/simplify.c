#include "simplify.h"

#include "rewrite.h"

static bool is_constant_row(const struct node *node)
{
    return node->op == OP_PARAM || node->op == OP_NUMBER;
}

/* A number or a parameter row becomes a tensor with the same row for every sample. */
static int materialise(struct graph *graph, int index)
{
    const struct node *node = graph_node(graph, index);
    if (!is_constant_row(node))
        return index;
    return graph_add(graph, OP_IDENTITY, node->width, &index, 1, node->span);
}

/* ---- Slices of concats ---- */

/* The operand of a concat that holds all columns of a slice, and where it begins; -1 where no single one does. */
static int part_of(const struct graph *graph, const struct node *concat, const struct node *slice, int64_t *begin)
{
    *begin = 0;
    for (int i = 0; i < concat->in_count; i++) {
        const int64_t width = graph_node(graph, concat->in[i])->width;
        if (slice->begin >= *begin && slice->begin + slice->width <= *begin + width)
            return concat->in[i];
        *begin += width;
    }
    return -1;
}

/* For each node whether it is a concat that nobody needs: all that read it take columns of a single operand. Where
 * anybody reads more, its memory is there anyway, and slices of it are views that cost nothing. */
static bool *find_needless(const struct graph *graph, const int *uses)
{
    bool *needless = ARENA_ARRAY(graph->arena, bool, graph->nodes.count);
    int64_t begin;
    for (size_t i = 0; i < graph->nodes.count; i++)
        needless[i] = graph->nodes.at[i].op == OP_CONCAT;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.at[i];
        for (int j = 0; uses[i] && j < node->in_count; j++) {
            if (node->op != OP_SLICE || part_of(graph, graph_node(graph, node->in[j]), node, &begin) < 0)
                needless[node->in[j]] = false;
        }
    }
    for (size_t i = 0; i < graph->outputs.count; i++)
        needless[graph->outputs.at[i].node] = false;
    return needless;
}

/* ---- Nodes ---- */

static int copy_slice(struct rewrite *rewrite, const bool *needless, int index)
{
    int slice = rewrite_copy(rewrite, index), part;
    int64_t begin;
    struct node *node = graph_node(rewrite->to, slice);
    const struct node *base = graph_node(rewrite->to, node->in[0]);
    if (needless[graph_node(rewrite->from, index)->in[0]] &&
        (part = part_of(rewrite->to, base, node, &begin)) >= 0) {
        node->begin -= begin;
        node->in[0] = part;
        base = graph_node(rewrite->to, part);
    }
    if (base->op == OP_SLICE) {
        node->begin += base->begin;
        node->in[0] = base->in[0];
        base = graph_node(rewrite->to, node->in[0]);
    }
    if (node->width == base->width)
        rewrite_replace(rewrite, index, node->in[0]);
    return slice;
}

/* An operand that is a concat nobody else reads gives its own operands instead. */
static void copy_concat(struct rewrite *rewrite, int index)
{
    const struct node *old = graph_node(rewrite->from, index);
    VEC(int) in = {0};
    for (int i = 0; i < old->in_count; i++) {
        int operand = rewrite->map[old->in[i]];
        const struct node *node = graph_node(rewrite->to, operand);
        bool inner = node->op == OP_CONCAT && rewrite->uses[old->in[i]] == 1;
        for (int j = 0; j < (inner ? node->in_count : 1); j++)
            VEC_PUSH(rewrite->to->arena, &in, inner ? node->in[j] : operand);
    }
    int concat = graph_add(rewrite->to, OP_CONCAT, old->width, in.at, (int)in.count, old->span);
    rewrite_replace(rewrite, index, concat);
}

static void copy_simplified(struct rewrite *rewrite, const bool *needless, int index)
{
    const struct node *old = graph_node(rewrite->from, index);
    if (op_info[old->op].kind != KIND_MAP) {
        for (int i = 0; i < old->in_count; i++)
            rewrite->map[old->in[i]] = materialise(rewrite->to, rewrite->map[old->in[i]]);
    }
    if (old->op == OP_SLICE)
        copy_slice(rewrite, needless, index);
    else if (old->op == OP_CONCAT)
        copy_concat(rewrite, index);
    else
        rewrite_copy(rewrite, index);
}

struct graph *simplify_graph(const struct graph *graph)
{
    struct rewrite rewrite = rewrite_begin(graph);
    const bool *needless = find_needless(graph, rewrite.uses);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (rewrite.uses[i] || graph->nodes.at[i].op == OP_INPUT)
            copy_simplified(&rewrite, needless, (int)i);
    }
    for (size_t i = 0; i < graph->outputs.count; i++) {
        int node = graph->outputs.at[i].node;
        rewrite.map[node] = materialise(rewrite.to, rewrite.map[node]);
    }
    return rewrite_end(&rewrite);
}
