#include "gate.h"

#include "rewrite.h"

/* The product at the end of a chain of one-operand MAP operations that nobody else reads, or -1. */
static int product_behind(const struct graph *graph, const int *uses, int index)
{
    for (;;) {
        const struct node *node = graph_node(graph, index);
        if (uses[index] != 1)
            return -1;
        if (node->op == OP_LINEAR)
            return index;
        if (op_info[node->op].kind != KIND_MAP || node->in_count != 1)
            return -1;
        index = node->in[0];
    }
}

/* partner[i]: the product that product i is merged with, or -1. */
static int *find_partners(const struct graph *graph, const int *uses)
{
    int *partner = ARENA_ARRAY(graph->arena, int, graph->nodes.count);
    for (size_t i = 0; i < graph->nodes.count; i++)
        partner[i] = -1;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.at[i];
        if (node->op != OP_MUL || !uses[i])
            continue;
        int a = product_behind(graph, uses, node->in[0]), b = product_behind(graph, uses, node->in[1]);
        if (a < 0 || b < 0 || a == b)
            continue;
        const struct node *gate = graph_node(graph, a), *up = graph_node(graph, b);
        if (gate->in[0] == up->in[0] && gate->width == up->width) {
            partner[a] = b;
            partner[b] = a;
        }
    }
    return partner;
}

static struct param *bias_or_zero(struct graph *graph, const struct node *linear)
{
    return linear->param[1] ? linear->param[1] : graph_param(graph, PARAM_ZERO, 1, linear->width, NULL, 0);
}

static void merge(struct rewrite *rewrite, int first, int second)
{
    struct graph *to = rewrite->to;
    const struct node *a = graph_node(rewrite->from, first), *b = graph_node(rewrite->from, second);
    int both = graph_add(to, OP_LINEAR, a->width + b->width, &rewrite->map[a->in[0]], 1, a->span);
    struct param *weights[] = {a->param[0], b->param[0]};
    struct param *biases[] = {bias_or_zero(to, a), bias_or_zero(to, b)};
    struct node *node = graph_node(to, both);
    node->param[0] = graph_param(to, PARAM_STACK_ROWS, node->width, a->param[0]->cols, weights, 2);
    if (a->param[1] || b->param[1])
        node->param[1] = graph_param(to, PARAM_JOIN, 1, node->width, biases, 2);
    for (int half = 0; half < 2; half++) {
        int slice = graph_add(to, OP_SLICE, a->width, &both, 1, half ? b->span : a->span);
        graph_node(to, slice)->begin = half * a->width;
        rewrite_replace(rewrite, half ? second : first, slice);
    }
}

struct graph *gate_merge(const struct graph *graph)
{
    struct rewrite rewrite = rewrite_begin(graph);
    const int *partner = find_partners(graph, rewrite.uses);
    for (int i = 0; (size_t)i < graph->nodes.count; i++) {
        if (partner[i] > i)
            merge(&rewrite, i, partner[i]);
        else if (partner[i] < 0)
            rewrite_copy(&rewrite, i);
    }
    return rewrite_end(&rewrite);
}
