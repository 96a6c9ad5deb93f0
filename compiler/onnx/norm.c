/* Operators that look at whole rows: softmax, sums and means, norms. */
#include <string.h>

#include "../quote.h"
#include "attribute.h"
#include "tensor.h"
#include "translate.h"

/* Whether the dimensions of the row in front of `from` are all 1. */
static bool ones_before(const struct rows *x, int from)
{
    for (int i = 0; i < from - x->lead; i++) {
        if (x->row.dims[i] != 1)
            return false;
    }
    return true;
}

static bool ones_behind(const struct rows *x, int from)
{
    for (int i = from - x->lead; i < x->row.rank; i++) {
        if (x->row.dims[i] != 1)
            return false;
    }
    return true;
}

/* Up to version 12 along all dimensions from the axis on, since 13 along the axis. */
bool translate_softmax(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    bool coerces = t->model->opset < 13;
    int axis;
    if (!x)
        return false;
    if (!axis_of(t, node, attribute_int(node, "axis", coerces ? 1 : -1), rows_rank(x), &axis))
        return false;
    bool whole = axis >= x->lead && ones_before(x, axis) && (coerces || ones_behind(x, axis + 1));
    if (!whole)
        return model_refuse(t->model, node, "its axis %d is not that of whole rows", axis);
    enum term_op op = !strcmp(node->op, "Softmax") ? TERM_SOFTMAX : TERM_LOG_SOFTMAX;
    return give_like(t, node, term_make(t->net, node, op, x->term, NULL), x);
}

/* The axes that a reduction is over; false after a refusal. Without axes it is over all. */
static bool reduced_axes(struct translation *t, const struct onnx_node *node, const struct rows *x, bool *over,
                         bool *none)
{
    int64_t *axes;
    size_t count;
    int axis, rank = rows_rank(x);
    if (!integers(t, node, "axes", 1, &axes, &count))
        return false;
    *none = !count && attribute_int(node, "noop_with_empty_axes", 0);
    for (int i = 0; i < rank; i++)
        over[i] = !count && !*none;
    for (size_t i = 0; i < count; i++) {
        if (!axis_of(t, node, axes[i], rank, &axis))
            return false;
        over[axis] = true;
    }
    for (int i = 0; i < x->lead; i++) {
        if (over[i])
            return model_refuse(t->model, node, "it is over axis %d, which is one of the rows", i);
    }
    return true;
}

static struct term *reduction(struct translation *t, const struct onnx_node *node, struct term *x)
{
    const char *name = node->op + strlen("Reduce");
    if (!strcmp(name, "Sum"))
        return term_make(t->net, node, TERM_SUM, x, NULL);
    if (!strcmp(name, "Mean"))
        return term_make(t->net, node, TERM_MEAN, x, NULL);
    if (!strcmp(name, "L1"))
        return term_make(t->net, node, TERM_SUM, term_make(t->net, node, TERM_ABS, x, NULL), NULL);
    struct term *squares = term_make(t->net, node, TERM_DOT, x, x);
    return !strcmp(name, "L2") ? term_make(t->net, node, TERM_SQRT, squares, NULL) : squares;
}

bool translate_reduce(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    bool over[RANK_MAX + 1] = {0}, none, whole = true;
    if (!x || !reduced_axes(t, node, x, over, &none))
        return false;
    if (none)
        return give_like(t, node, x->term, x);
    struct shape row = {0};
    for (int i = 0; i < x->row.rank; i++) {
        whole &= over[x->lead + i] || x->row.dims[i] == 1;
        if (!over[x->lead + i] || attribute_int(node, "keepdims", 1))
            row.dims[row.rank++] = 1;
    }
    if (!whole)
        return model_refuse(t->model, node, "it is over a part of a row of %s columns", shape_text(t->arena, &x->row));
    return give(t, node, 0, reduction(t, node, x->term), x->lead, &row);
}

/* ---- norms ---- */

/* A weight or bias of a norm over whole rows, an optional input: *result is NULL where there is none. */
static bool norm_input(struct translation *t, const struct onnx_node *node, int index, const char *what,
                       const struct rows *x, struct constant **result)
{
    *result = NULL;
    if (!has_input(node, index))
        return true;
    struct constant *constant = constant_input(t, node, index, what);
    if (!constant)
        return false;
    if (!element_is_float(constant->type))
        return model_refuse(t->model, node, "%s is of %s", what, element_name(constant->type));
    *result = stretch_constant(t, node, constant, x->lead, &x->row);
    return *result;
}

static bool norm_axis(struct translation *t, const struct onnx_node *node, const struct rows *x)
{
    int axis;
    if (!axis_of(t, node, attribute_int(node, "axis", -1), rows_rank(x), &axis))
        return false;
    return (axis >= x->lead && ones_before(x, axis)) ||
           model_refuse(t->model, node, "it is not over whole rows, but from axis %d on", axis);
}

static struct term *norm(struct translation *t, const struct onnx_node *node, enum term_op op, const struct rows *x)
{
    struct term *term = term_new(t->net, node, op, 1, x->term->width, x->term->type);
    term->args[0] = x->term;
    term->number_count = 1;
    term->numbers[0] = attribute_float(node, "epsilon", 1e-5);
    return term;
}

/* The outputs beside the normalised row: its mean and 1 / sqrt(mean((x - mean)²) + eps). */
static bool give_statistics(struct translation *t, const struct onnx_node *node, const struct rows *x, double eps)
{
    bool wanted = false;
    struct shape row = x->row;
    for (int i = 1; i < node->output_count; i++)
        wanted |= node->outputs[i] && node->outputs[i]->needed;
    if (!wanted)
        return true;
    for (int i = 0; i < row.rank; i++)
        row.dims[i] = 1;
    enum element type = x->term->type;
    struct term *mean = term_make(t->net, node, TERM_MEAN, x->term, NULL);
    struct term *centred = term_make(t->net, node, TERM_SUB, x->term, mean);
    struct term *square = term_make(t->net, node, TERM_MUL, centred, centred);
    struct term *variance = term_make(t->net, node, TERM_MEAN, square, NULL);
    struct term *sum = term_make(t->net, node, TERM_ADD, variance, term_number(t->net, type, eps));
    struct term *deviation = term_make(t->net, node, TERM_SQRT, sum, NULL);
    return give(t, node, 1, mean, x->lead, &row) &&
           give(t, node, 2, term_make(t->net, node, TERM_DIV, term_number(t->net, type, 1), deviation), x->lead, &row);
}

/* LayerNormalization; RMSNormalization and SimplifiedLayerNormalization, which have no bias. */
bool translate_layernorm(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    bool plain = !strcmp(node->op, "LayerNormalization");
    if (!x || !norm_axis(t, node, x) || (!plain && !only_outputs(t, node, 1)))
        return false;
    struct term *term = norm(t, node, plain ? TERM_LAYERNORM : TERM_RMSNORM, x);
    return norm_input(t, node, 1, "its scale", x, &term->weight) &&
           norm_input(t, node, 2, "its bias", x, &term->bias) && give_like(t, node, term, x) &&
           give_statistics(t, node, x, term->numbers[0]);
}

/* Of x + skip + bias; the sum is an output, too. */
bool translate_skip_layernorm(struct translation *t, const struct onnx_node *node)
{
    bool plain = !strcmp(node->op, "SkipLayerNormalization");
    const int bias = plain ? 4 : 3;
    struct rows sum, biased;
    if (!operand_of(node, 0).rows && !operand_of(node, 1).rows)
        return model_refuse(t->model, node, "its inputs are constants");
    if (!combine(t, node, TERM_ADD, operand_of(node, 0), operand_of(node, 1), &sum))
        return false;
    if (has_input(node, bias)) {
        if (!combine(t, node, TERM_ADD, (struct operand){.rows = &sum}, operand_of(node, bias), &biased))
            return false;
        sum = biased;
    }
    for (int i = 1; i < 3 && i < node->output_count; i++) {
        if (node->outputs[i] && node->outputs[i]->needed)
            return model_refuse(t->model, node, "its mean or deviation is used");
    }
    struct term *term = norm(t, node, plain ? TERM_LAYERNORM : TERM_RMSNORM, &sum);
    if (!attribute_has(node, "epsilon"))
        term->numbers[0] = (double)(float)1e-12;
    if (!is_vector(&sum.row))
        return model_refuse(t->model, node, "it is over a part of a row");
    return norm_input(t, node, 2, "its scale", &sum, &term->weight) &&
           (!plain || norm_input(t, node, 3, "its bias", &sum, &term->bias)) &&
           give(t, node, 3, sum.term, sum.lead, &sum.row) && give_like(t, node, term, &sum);
}

/* A channel's number for each of the columns of that channel. */
static struct constant *channel_input(struct translation *t, const struct onnx_node *node, int index,
                                      const struct rows *x)
{
    static const char *const what[] = {NULL, "its scale", "its bias", "its mean", "its variance"};
    struct constant *constant = constant_input(t, node, index, what[index]);
    if (!constant)
        return NULL;
    if (constant->shape.rank != 1 || constant->shape.dims[0] != x->row.dims[0] || !element_is_float(constant->type)) {
        model_refuse(t->model, node, "%s has not one float for each channel", what[index]);
        return NULL;
    }
    struct shape aligned = {x->row.rank, {constant->shape.dims[0], 1, 1, 1, 1, 1, 1, 1}};
    return stretch_constant(t, node, constant_reshaped(t->arena, constant, &aligned), x->lead, &x->row);
}

bool translate_batchnorm(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    if (!x || !only_outputs(t, node, 1))
        return false;
    if (attribute_int(node, "training_mode", 0) || !attribute_int(node, "spatial", 1))
        return model_refuse(t->model, node, "it is in training mode, or not spatial");
    if (x->lead != 1 || !x->row.rank)
        return model_refuse(t->model, node, "its channels are not columns");
    struct term *term = norm(t, node, TERM_BATCHNORM, x);
    term->weight = channel_input(t, node, 1, x);
    term->bias = channel_input(t, node, 2, x);
    term->mean = channel_input(t, node, 3, x);
    term->var = channel_input(t, node, 4, x);
    return term->weight && term->bias && term->mean && term->var && give_like(t, node, term, x);
}
