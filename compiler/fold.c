#include "fold.h"

#include "rewrite.h"

/* Weights are evaluated by a walk over their expression, whose depth is what stands on the stack: far more than
 * anyone folds on purpose, far less than a stack holds. */
enum { DEPTH_MAX = 64 };

static struct param *combine(struct graph *graph, enum param_kind kind, struct param *a, struct param *b)
{
    return graph_param(graph, kind, a->rows, a->cols, (struct param *[]){a, b}, 2);
}

bool fold_is_full(const struct node *linear)
{
    return linear->param[0]->depth >= DEPTH_MAX;
}

/* linear, then affine: scale the product's rows. */
static void fold_behind(struct rewrite *rewrite, int index)
{
    const struct node *affine = graph_node(rewrite->from, index);
    struct graph *to = rewrite->to;
    struct node *linear = graph_node(to, rewrite->map[affine->in[0]]);
    struct param *scale = affine->param[0], *shift = affine->param[1];
    struct param *bias = linear->param[1];
    linear->param[0] = combine(to, PARAM_SCALE_ROWS, linear->param[0], scale);
    linear->param[1] = bias ? combine(to, PARAM_ADD, combine(to, PARAM_MULTIPLY, bias, scale), shift) : shift;
    linear->name = affine->name ? affine->name : linear->name;
    rewrite_replace(rewrite, index, rewrite->map[affine->in[0]]);
}

/* affine, then linear: scale the product's columns, and move the shift behind it. */
static void fold_before(struct rewrite *rewrite, int index)
{
    struct graph *to = rewrite->to;
    struct node *linear = graph_node(to, rewrite_copy(rewrite, index));
    const struct node *affine = graph_node(to, linear->in[0]);
    struct param *scale = affine->param[0], *shift = affine->param[1];
    struct param *weight = linear->param[0], *bias = linear->param[1];
    struct param *moved =
        graph_param(to, PARAM_MATVEC, 1, linear->width, (struct param *[]){weight, shift}, 2);
    linear->param[0] = combine(to, PARAM_SCALE_COLUMNS, weight, scale);
    linear->param[1] = bias ? combine(to, PARAM_ADD, moved, bias) : moved;
    linear->in[0] = affine->in[0];
}

/* Whether every reader of each node is a product (an affine is folded into all of them, or into none). */
static bool *read_by_products_only(const struct rewrite *rewrite)
{
    const struct graph *graph = rewrite->from;
    bool *only = ARENA_ARRAY(graph->arena, bool, graph->nodes.count);
    for (size_t i = 0; i < graph->nodes.count; i++)
        only[i] = true;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.at[i];
        for (int j = 0; rewrite->uses[i] && node->op != OP_LINEAR && j < node->in_count; j++)
            only[node->in[j]] = false;
    }
    for (size_t i = 0; i < graph->outputs.count; i++)
        only[graph->outputs.at[i].node] = false;
    return only;
}

struct graph *fold_batchnorm(const struct graph *graph)
{
    struct rewrite rewrite = rewrite_begin(graph);
    const bool *products_only = read_by_products_only(&rewrite);
    for (int i = 0; (size_t)i < graph->nodes.count; i++) {
        const struct node *node = graph_node(graph, i);
        int operand = node->in_count ? node->in[0] : -1;
        const struct node *before = operand < 0 ? node : graph_node(rewrite.to, rewrite.map[operand]);
        if (node->op == OP_AFFINE && before->op == OP_LINEAR && rewrite.uses[operand] == 1 && !fold_is_full(before))
            fold_behind(&rewrite, i);
        else if (node->op == OP_LINEAR && before->op == OP_AFFINE && products_only[operand])
            fold_before(&rewrite, i);
        else
            rewrite_copy(&rewrite, i);
    }
    return rewrite_end(&rewrite);
}
