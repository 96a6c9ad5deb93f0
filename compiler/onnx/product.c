/* Matrix products: rows times a constant matrix, with what Gemm adds. */
#include <inttypes.h>
#include <string.h>

#include "../quote.h"
#include "attribute.h"
#include "tensor.h"
#include "translate.h"

/* The constant times a number, rounded to f32; the constant itself where the number is 1. NULL after a refusal. */
static struct constant *scaled(struct translation *t, const struct onnx_node *node, struct constant *constant,
                               double by)
{
    if (by == 1)
        return constant;
    const double *numbers = tensor_numbers(t->arena, constant);
    struct constant *result = tensor_new(t->model, constant->name, ELEMENT_F32, &constant->shape);
    if (!result)
        model_refuse(t->model, node, "its operands are larger than the model's size accounts for");
    for (size_t i = 0; result && i < result->count; i++)
        result->numbers[i] = (double)(float)(by * numbers[i]);
    return result;
}

/* A matrix [in, out], or [out, in] where it is not transposed. */
static struct term *linear(struct translation *t, const struct onnx_node *node, struct term *x, struct constant *weight,
                           bool transposed)
{
    const int64_t *dims = weight->shape.dims;
    struct term *term = term_new(t->net, node, TERM_LINEAR, 1, dims[transposed], x->type);
    term->args[0] = x;
    term->weight = weight;
    term->transposed = transposed;
    return term;
}

static bool check_product(struct translation *t, const struct onnx_node *node, const struct rows *x,
                          const struct constant *weight, int64_t in)
{
    int64_t columns = x->row.rank ? x->row.dims[x->row.rank - 1] : 0;
    if (!x->row.rank)
        return model_refuse(t->model, node, "it multiplies the rows with each other");
    if (!is_vector(&x->row))
        return model_refuse(t->model, node, "its factor of %s columns is no vector for each row",
                            shape_text(t->arena, &x->row));
    if (columns != in || !weight->count)
        return model_refuse(t->model, node, "%s of shape %s does not fit to %" PRId64 " columns",
                            quote(t->arena, weight->name), shape_text(t->arena, &weight->shape), columns);
    if (weight->type != x->term->type)
        return model_refuse(t->model, node, "it combines %s with %s", element_name(x->term->type),
                            element_name(weight->type));
    return true;
}

/* A constant matrix with ones in front, as one of two dimensions; a vector as a column. */
static struct constant *as_matrix(struct translation *t, const struct onnx_node *node, struct constant *constant,
                                  int most)
{
    struct shape shape = constant->shape, matrix = {2, {1, 1}};
    bool good = shape.rank > 0 && shape.rank <= most;
    for (int i = 0; i + 2 < shape.rank; i++)
        good = good && shape.dims[i] == 1;
    if (!good) {
        model_refuse(t->model, node, "%s of shape %s is no matrix", quote(t->arena, constant->name),
                     shape_text(t->arena, &shape));
        return NULL;
    }
    if (shape.rank == 2)
        return constant;
    matrix.dims[0] = shape.dims[shape.rank == 1 ? 0 : shape.rank - 2];
    matrix.dims[1] = shape.rank == 1 ? 1 : shape.dims[shape.rank - 1];
    return constant_reshaped(t->arena, constant, &matrix);
}

/* A W, where W is [in, out], or a vector. */
static bool rows_times_matrix(struct translation *t, const struct onnx_node *node, const struct rows *x,
                              struct constant *w)
{
    struct constant *matrix = as_matrix(t, node, w, rows_rank(x) > 2 ? rows_rank(x) : 2);
    if (!matrix || !check_product(t, node, x, w, matrix->shape.dims[0]))
        return false;
    struct shape row = x->row;
    if (w->shape.rank > 1)
        row.dims[row.rank - 1] = matrix->shape.dims[1];
    else
        row.rank--;
    return give(t, node, 0, linear(t, node, x->term, matrix, true), x->lead, &row);
}

/* W x, where x is a single vector. */
static bool matrix_times_vector(struct translation *t, const struct onnx_node *node, struct constant *w,
                                const struct rows *x)
{
    if (x->lead || x->row.rank != 1)
        return model_refuse(t->model, node, "its second factor has the rows, which a product sums over");
    if (w->shape.rank < 1 || w->shape.rank > 2)
        return model_refuse(t->model, node, "%s is no matrix", quote(t->arena, w->name));
    struct shape row = {w->shape.rank - 1, {w->shape.dims[0]}};
    struct shape one = {2, {1, w->shape.dims[0]}};
    struct constant *matrix = w->shape.rank == 2 ? w : constant_reshaped(t->arena, w, &one);
    if (!check_product(t, node, x, matrix, matrix->shape.dims[1]))
        return false;
    return give(t, node, 0, linear(t, node, x->term, matrix, false), 0, &row);
}

bool translate_matmul(struct translation *t, const struct onnx_node *node)
{
    struct operand a = operand_of(node, 0), b = operand_of(node, 1);
    if (a.rows && b.rows)
        return model_refuse(t->model, node, "neither of its factors is a constant");
    return a.rows ? rows_times_matrix(t, node, a.rows, b.constant) : matrix_times_vector(t, node, a.constant, b.rows);
}

/* The bias of a product, beta times C, for each of `out` columns. */
static struct constant *bias_of(struct translation *t, const struct onnx_node *node, struct constant *c, int lead,
                                const struct shape *row)
{
    struct constant *bias = stretch_constant(t, node, c, lead, row);
    return bias ? scaled(t, node, bias, attribute_float(node, "beta", 1)) : NULL;
}

/* alpha A' B' + beta C */
bool translate_gemm(struct translation *t, const struct onnx_node *node)
{
    struct rows *a = rows_input(t, node, 0, "its first factor");
    struct constant *b = a ? constant_input(t, node, 1, "its second factor") : NULL;
    bool transposed = !attribute_int(node, "transB", 0);
    if (!b)
        return false;
    if (rows_rank(a) != 2 || b->shape.rank != 2)
        return model_refuse(t->model, node, "its factors are no matrices");
    if (attribute_int(node, "transA", 0))
        return model_refuse(t->model, node, "transA: the rows are in its second dimension");
    if (!check_product(t, node, a, b, b->shape.dims[!transposed]))
        return false;
    struct shape row = a->row;
    row.dims[row.rank - 1] = b->shape.dims[transposed];
    struct constant *weight = scaled(t, node, b, attribute_float(node, "alpha", 1));
    struct term *term = weight ? linear(t, node, a->term, weight, transposed) : NULL;
    if (!term || !has_input(node, 2) || attribute_float(node, "beta", 1) == 0)
        return term && give(t, node, 0, term, a->lead, &row);
    struct operand c = operand_of(node, 2), product = term_operand(t, term, &(struct rows){NULL, a->lead, row});
    struct rows sum;
    if (c.constant && c.constant->type == a->term->type) {
        term->bias = bias_of(t, node, c.constant, a->lead, &row);
        return term->bias && give(t, node, 0, term, a->lead, &row);
    }
    struct operand beta = number_operand(t, a->term->type, attribute_float(node, "beta", 1));
    if (attribute_float(node, "beta", 1) != 1) {
        if (!c.rows || !combine(t, node, TERM_MUL, beta, c, &sum))
            return false;
        struct rows *kept = ARENA_NEW(t->arena, struct rows);
        *kept = sum;
        c.rows = kept;
    }
    if (!combine(t, node, TERM_ADD, product, c, &sum))
        return false;
    return sum.term->width == term->width ? give(t, node, 0, sum.term, sum.lead, &sum.row)
                                          : model_refuse(t->model, node, "C is wider than the product");
}
