#include "why.h"

#include <inttypes.h>

#include "fold.h"
#include "label.h"
#include "quote.h"
#include "utf8.h"

enum { MOST_NAMED = 4 };

const char *why_place(const struct why *why, struct span span)
{
    int line, column;
    source_position(why->source, span.begin, &line, &column);
    return arena_format(why->arena, "%s:%d", utf8_printable(why->arena, why->source->path), line);
}

static const struct node *node_at(const struct why *why, int index)
{
    return graph_node(why->graph, index);
}

/* What the spec calls it. */
static const char *function_of(const struct node *node)
{
    return node->op == OP_AFFINE ? "batchnorm" : op_info[node->op].text;
}

/* "relu (spec.mlp:7)" */
static const char *named(const struct why *why, int index)
{
    const struct node *node = node_at(why, index);
    return arena_format(why->arena, "%s (%s)", function_of(node), why_place(why, node->span));
}

static bool is_row(const struct node *node)
{
    return op_info[node->op].kind == KIND_ROW || op_info[node->op].kind == KIND_REDUCE;
}

static const struct group *group_at(const struct why *why, const struct step *step)
{
    return &why->fusion->groups.at[step->group];
}

static bool is_product_group(const struct why *why, int node)
{
    int group = why->fusion->group_of[node];
    return group >= 0 && node_at(why, why->fusion->groups.at[group].nodes[0])->op == OP_LINEAR;
}

/* ---- What was fused ---- */

static const char *join(const struct why *why, const char *list, const char *item)
{
    return list ? arena_format(why->arena, "%s, %s", list, item) : item;
}

const char *why_fused(const struct why *why, const struct step *step)
{
    const struct group *group = group_at(why, step);
    const struct node *head = node_at(why, group->nodes[0]);
    bool product = head->op == OP_LINEAR;
    const char *list = NULL;
    if (product && head->param[1])
        list = arena_format(why->arena, "bias (%s)", why_place(why, head->span));
    for (int i = product; group->count > 1 && i < group->count; i++)
        list = join(why, list, named(why, group->nodes[i]));
    return list;
}

/* ---- Who reads a result ---- */

struct readers {
    VEC(int) nodes;                 /* live ones, ascending */
    VEC(const struct port *) outputs;
};

static struct readers readers_of(const struct why *why, int node)
{
    struct readers readers = {0};
    const struct fusion *fusion = why->fusion;
    for (int i = fusion->reader_start[node]; i < fusion->reader_start[node + 1]; i++) {
        if (!readers.nodes.count || fusion->readers[i] != readers.nodes.at[readers.nodes.count - 1])
            VEC_PUSH(why->arena, &readers.nodes, fusion->readers[i]);
    }
    for (size_t i = 0; i < why->graph->outputs.count; i++) {
        const struct port *port = &why->graph->outputs.at[i];
        if (port->node == node)
            VEC_PUSH(why->arena, &readers.outputs, port);
    }
    return readers;
}

static const char *list_readers(const struct why *why, const struct readers *readers)
{
    const char *list = NULL;
    for (size_t i = 0; i < readers->nodes.count && i < MOST_NAMED; i++)
        list = join(why, list, named(why, readers->nodes.at[i]));
    if (readers->nodes.count > MOST_NAMED)
        list = arena_format(why->arena, "%s and %zu more", list, readers->nodes.count - MOST_NAMED);
    return list;
}

static const char *list_outputs(const struct why *why, const struct readers *readers)
{
    const char *list = NULL;
    for (size_t i = 0; i < readers->outputs.count && i < MOST_NAMED; i++) {
        const struct port *port = readers->outputs.at[i];
        list = join(why, list, arena_format(why->arena, "%s (%s)", port->name, why_place(why, port->span)));
    }
    if (readers->outputs.count > MOST_NAMED)
        list = arena_format(why->arena, "%s and %zu more", list, readers->outputs.count - MOST_NAMED);
    return list;
}

/* ---- Why a step ends ---- */

/* The operand of a sum beside `one`. */
static int other_operand(const struct node *sum, int one)
{
    return sum->in[0] == one ? sum->in[1] : sum->in[0];
}

/* CUDA: why the sum is no residual of the product, whose group is its linear alone; fuse.c decides it. */
static const char *not_residual(const struct why *why, int linear, const struct node *sum)
{
    int other = other_operand(sum, linear);
    const struct node *operand = node_at(why, other);
    if (other == linear)
        return "both operands are the product itself";
    if (operand->op == OP_NUMBER || operand->op == OP_PARAM)
        return "a residual is a tensor, not a number or a row of parameters";
    if (operand->op == OP_SLICE)
        return arena_format(why->arena, "the other operand is a slice (%s), and a residual a whole tensor",
                            why_place(why, operand->span));
    if (operand->width != sum->width)
        return arena_format(why->arena, "the other operand has %" PRId64 " of %" PRId64 " columns", operand->width,
                            sum->width);
    if (other > linear)
        return arena_format(why->arena, "the other operand is computed later (%s)", why_place(why, operand->span));
    return "a residual has the type in which the result is stored, and the other operand has another";
}

/* CUDA: why `next`, the only reader of the group's result, is not in cuBLASLt's epilogue. */
static const char *not_in_epilogue(const struct why *why, const struct group *group, const struct node *next)
{
    int result = group->nodes[group->count - 1];
    enum op last = node_at(why, result)->op;
    if (last == OP_RELU || last == OP_GELU_TANH)
        return "an epilogue of cuBLASLt ends with its activation";
    if (next->op == OP_ADD)
        return last == OP_ADD ? "an epilogue of cuBLASLt has one residual" : not_residual(why, result, next);
    if (next->op == OP_RELU || next->op == OP_GELU_TANH)
        return "behind it the residual would not have the type of the result";
    return "the epilogues of cuBLASLt are a bias, a residual, and relu or gelu_tanh";
}

/* CPU: what `next` reads and what cannot be had before the product `linear`, or -1. */
static int later_operand(const struct why *why, const struct group *group, int next)
{
    const struct node *node = node_at(why, next);
    for (int i = 0; i < node->in_count; i++) {
        const struct node *operand = node_at(why, node->in[i]);
        if (node->in[i] > group->nodes[0] && why->fusion->group_of[node->in[i]] != why->fusion->group_of[next] &&
            node->in[i] != group->nodes[group->count - 1] && operand->op != OP_NUMBER && operand->op != OP_PARAM)
            return node->in[i];
    }
    return -1;
}

/* An element-wise operation of the same width that is the only reader of the group's result. */
static const char *not_joined(const struct why *why, const struct group *group, int next)
{
    const char *reader = named(why, next);
    if (node_at(why, group->nodes[0])->op == OP_LINEAR && why->plan->target == TARGET_CUDA)
        return arena_format(why->arena, "%s is not fused: %s", reader,
                            not_in_epilogue(why, group, node_at(why, next)));
    if (is_product_group(why, next))
        return arena_format(why->arena, "stored: %s reads it behind a product", reader);
    int later = later_operand(why, group, next);
    if (later >= 0)
        return arena_format(why->arena, "%s is not fused: it also reads what comes later, %s", reader,
                            named(why, later));
    return arena_format(why->arena, "%s is not fused: a step has at most %d operations", reader, FUSION_LARGEST);
}

static const char *only_reader(const struct why *why, const struct group *group, int next)
{
    int result = group->nodes[group->count - 1];
    const struct node *reader = node_at(why, next);
    const char *name = named(why, next);
    int64_t from = node_at(why, result)->width;
    if (op_info[reader->op].kind == KIND_PRODUCT)
        return arena_format(why->arena, "stored: a product reads it, %s", name);
    if (op_info[reader->op].kind == KIND_VIEW)
        return arena_format(why->arena, "stored: it is read by way of a %s", name);
    if (is_row(node_at(why, result)))
        return arena_format(why->arena, "%s needs the whole row, so it ends its step; %s reads it",
                            function_of(node_at(why, result)), name);
    if (is_row(reader) && is_product_group(why, result))
        return arena_format(why->arena, "stored: %s needs the whole row of the product", name);
    if (reader->width != from && op_info[reader->op].kind == KIND_MAP)
        return arena_format(why->arena, "stored: %s stretches it from %" PRId64 " to %" PRId64 " columns", name, from,
                            reader->width);
    return not_joined(why, group, next);
}

const char *why_ends(const struct why *why, const struct step *step)
{
    const struct group *group = group_at(why, step);
    struct readers readers = readers_of(why, group->nodes[group->count - 1]);
    if (readers.outputs.count)
        return arena_format(why->arena, "stored: the output%s %s%s%s", readers.outputs.count > 1 ? "s" : "",
                            list_outputs(why, &readers), readers.nodes.count ? "; read by " : "",
                            readers.nodes.count ? list_readers(why, &readers) : "");
    if (readers.nodes.count == 1)
        return only_reader(why, group, readers.nodes.at[0]);
    return arena_format(why->arena, "stored: %zu operations read it: %s", readers.nodes.count,
                        list_readers(why, &readers));
}

/* ---- Copies ---- */

/* The output in whose place the value stands, or NULL. */
static const struct plan_port *output_of(const struct plan *plan, int value)
{
    for (size_t i = 0; i < plan->outputs.count; i++) {
        if (plan->outputs.at[i].value == value)
            return &plan->outputs.at[i];
    }
    return NULL;
}

/* Of a wider value in the same place: a concat. */
static bool is_part(const struct plan *plan, const struct value *value)
{
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *other = &plan->values.at[i];
        if (other->buffer == value->buffer && other->width > value->width)
            return true;
    }
    return false;
}

const char *why_copied(const struct why *why, const struct step *step)
{
    const struct plan *plan = why->plan;
    const struct value *from = &plan->values.at[step->tape.at[0].in[0].index], *to = &plan->values.at[step->out];
    const struct plan_port *output = output_of(plan, step->out);
    if (output)
        return arena_format(why->arena, "a copy: the output %s has a place%s of its own", output->name,
                            from->dtype == to->dtype ? "" : " and a type");
    if (is_part(plan, to))
        return arena_format(why->arena, "a copy: into its columns of a concat, from %" PRId64 " on", to->column);
    if (from->dtype != to->dtype)
        return arena_format(why->arena, "a copy: a product reads %s, this is %s", dtype_text(to->dtype),
                            dtype_text(from->dtype));
    return "a copy: a product reads rows that begin at multiples of 16 bytes, with zeros behind the last column";
}

/* ---- What was folded ---- */

static const char *label(const struct why *why, const struct param *param)
{
    return quote(why->arena, label_layer(why->arena, param));
}

static void print_batchnorm(const struct why *why, const struct param *scale, const char *side, const char *indent,
                            FILE *to)
{
    fprintf(to, "%sfolded: the batchnorm %s %s the product (%s) is in its weights\n", indent, label(why, scale), side,
            why_place(why, scale->span));
}

/* The first of the calls whose tensors a weight is made of. */
static const struct param *first_source(const struct param *param)
{
    while (param->kind != PARAM_SOURCE && param->of_count)
        param = param->of[0];
    return param;
}

static void print_merged(const struct why *why, const struct param *stack, const char *indent, FILE *to)
{
    const struct param *a = first_source(stack->of[0]), *b = first_source(stack->of[1]);
    fprintf(to, "%smerged: one product for %s (%s) and %s (%s), which read the same rows\n", indent, label(why, a),
            why_place(why, a->span), label(why, b), why_place(why, b->span));
}

/* The batchnorms of a product's weight, the inner one first. */
static void print_weight(const struct why *why, const struct param *weight, const char *indent, FILE *to)
{
    switch (weight->kind) {
    case PARAM_STACK_ROWS:
        print_merged(why, weight, indent, to);
        print_weight(why, weight->of[0], indent, to);
        print_weight(why, weight->of[1], indent, to);
        break;
    case PARAM_SCALE_ROWS:
        print_weight(why, weight->of[0], indent, to);
        print_batchnorm(why, weight->of[1], "behind", indent, to);
        break;
    case PARAM_SCALE_COLUMNS:
        print_weight(why, weight->of[0], indent, to);
        print_batchnorm(why, weight->of[1], "before", indent, to);
        break;
    default:
        break;
    }
}

/* fold.c folds into the product before, which nothing else may read, or else into those behind, if nothing but
 * products reads the batchnorm. */
static const char *not_folded(const struct why *why, int index)
{
    const struct node *affine = node_at(why, index), *before = node_at(why, affine->in[0]);
    struct readers readers = readers_of(why, index);
    const char *first = "no product stands before it";
    if (before->op == OP_LINEAR && fold_is_full(before))
        return arena_format(why->arena, "the product before it (%s) has all that it can hold",
                            why_place(why, before->span));
    if (before->op == OP_LINEAR)
        first = arena_format(why->arena, "the product before it (%s) has other readers", why_place(why, before->span));
    for (size_t i = 0; i < readers.nodes.count; i++) {
        if (node_at(why, readers.nodes.at[i])->op != OP_LINEAR)
            return arena_format(why->arena, "%s, and %s reads it, which is no product", first,
                                named(why, readers.nodes.at[i]));
    }
    return arena_format(why->arena, "%s, and it is an output", first);
}

void why_folded(const struct why *why, const struct step *step, const char *indent, FILE *to)
{
    const struct group *group = group_at(why, step);
    for (int i = 0; i < group->count; i++) {
        const struct node *node = node_at(why, group->nodes[i]);
        if (node->op == OP_LINEAR)
            print_weight(why, node->param[0], indent, to);
        else if (node->op == OP_AFFINE)
            fprintf(to, "%snot folded: the batchnorm %s (%s): %s\n", indent, label(why, node->param[0]),
                    why_place(why, node->span), not_folded(why, group->nodes[i]));
    }
}
