/* What the operators share: arguments, and how they stretch to one shape. */
#include <math.h>
#include <string.h>

#include "../quote.h"
#include "attribute.h"
#include "tensor.h"
#include "translate.h"

/* ---- arguments ---- */

bool has_input(const struct onnx_node *node, int index)
{
    return index < node->input_count && node->inputs[index];
}

struct operand operand_of(const struct onnx_node *node, int index)
{
    const struct value *value = node->inputs[index];
    return (struct operand){value->constant, value->rows};
}

struct constant *constant_input(struct translation *t, const struct onnx_node *node, int index, const char *what)
{
    struct constant *constant = has_input(node, index) ? node->inputs[index]->constant : NULL;
    if (!constant)
        model_refuse(t->model, node, has_input(node, index) ? "%s is not a constant" : "%s is missing", what);
    return constant;
}

struct rows *rows_input(struct translation *t, const struct onnx_node *node, int index, const char *what)
{
    struct rows *rows = has_input(node, index) ? node->inputs[index]->rows : NULL;
    if (!rows)
        model_refuse(t->model, node, has_input(node, index) ? "%s is a constant" : "%s is missing", what);
    return rows;
}

bool number_input(struct translation *t, const struct onnx_node *node, int index, double fallback, double *number)
{
    *number = fallback;
    if (!has_input(node, index))
        return true;
    struct constant *constant = node->inputs[index]->constant;
    if (!constant || constant->count != 1 || constant->symbols || !element_size(constant->type))
        return model_refuse(t->model, node, "its input %s is not a constant number",
                            quote(t->arena, node->inputs[index]->name));
    *number = tensor_numbers(t->arena, constant)[0];
    return true;
}

bool integers(struct translation *t, const struct onnx_node *node, const char *attribute, int index, int64_t **numbers,
              size_t *count)
{
    *numbers = NULL;
    *count = 0;
    if (!has_input(node, index)) {
        const int64_t *list = attribute_ints(node, attribute, count);
        if (list || *count || attribute_has(node, attribute)) {
            *numbers = ARENA_ARRAY(t->arena, int64_t, *count + 1);
            if (*count)
                memcpy(*numbers, list, *count * sizeof *list);
        }
        return true;
    }
    struct constant *constant = node->inputs[index]->constant;
    if (!constant || !element_is_integer(constant->type) || constant->symbols || constant->shape.rank > 1)
        return model_refuse(t->model, node, "its %s are not constant whole numbers", attribute);
    *count = constant->count;
    *numbers = ARENA_ARRAY(t->arena, int64_t, *count + 1);
    for (size_t i = 0; i < *count; i++)
        (*numbers)[i] = tensor_integer(tensor_numbers(t->arena, constant)[i]);
    return true;
}

/* ---- results ---- */

bool give(struct translation *t, const struct onnx_node *node, int index, struct term *term, int lead,
          const struct shape *row)
{
    if (index >= node->output_count || !node->outputs[index])
        return true;
    struct value *value = node->outputs[index];
    value->rows = ARENA_NEW(t->arena, struct rows);
    *value->rows = (struct rows){term, lead, *row};
    if (!term->hint)
        term->hint = value->name;
    return true;
}

bool give_like(struct translation *t, const struct onnx_node *node, struct term *term, const struct rows *like)
{
    return give(t, node, 0, term, like->lead, &like->row);
}

bool only_outputs(struct translation *t, const struct onnx_node *node, int count)
{
    for (int i = count; i < node->output_count; i++) {
        if (node->outputs[i] && node->outputs[i]->needed)
            return model_refuse(t->model, node, "its output %s is used; mlpc has only its first",
                                quote(t->arena, node->outputs[i]->name));
    }
    return true;
}

/* ---- shapes ---- */

int rows_rank(const struct rows *rows)
{
    return rows->lead + rows->row.rank;
}

bool axis_of(struct translation *t, const struct onnx_node *node, int64_t axis, int rank, int *result)
{
    if (axis < -rank || axis >= rank)
        return model_refuse(t->model, node, "it has no axis %lld", (long long)axis);
    *result = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool is_vector(const struct shape *row)
{
    for (int i = 0; i + 1 < row->rank; i++) {
        if (row->dims[i] != 1)
            return false;
    }
    return row->rank > 0;
}

static int64_t width_of(const struct shape *row)
{
    int64_t width = 1;
    for (int i = 0; i < row->rank; i++)
        width *= row->dims[i];
    return width;
}

struct constant *constant_reshaped(struct arena *arena, struct constant *constant, const struct shape *shape)
{
    struct constant *copy = ARENA_NEW(arena, struct constant);
    *copy = *constant;
    copy->origin = constant->origin ? constant->origin : constant;
    copy->shape = *shape;
    return copy;
}

/* Whether `shape` is `row` with ones and without some of them: the same elements in the same order. */
static bool same_order(const struct shape *shape, const struct shape *row)
{
    size_t count;
    return shape_count(shape, &count) && (int64_t)count == width_of(row);
}

/* For each column of `to`, the element of `from` that stretches to it; shapes are aligned at their ends. */
struct stretch {
    struct shape to;
    int64_t strides[RANK_MAX];      /* of `from`, 0 where it stretches */
    int64_t at[RANK_MAX];
    int64_t offset;
};

static struct stretch stretch_begin(const struct shape *from, const struct shape *to)
{
    struct stretch stretch = {.to = *to};
    int64_t stride = 1;
    for (int i = 0; i < to->rank && i < from->rank; i++) {
        int64_t size = from->dims[from->rank - 1 - i];
        stretch.strides[to->rank - 1 - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return stretch;
}

static void stretch_next(struct stretch *stretch)
{
    for (int i = stretch->to.rank; i-- > 0;) {
        stretch->offset += stretch->strides[i];
        if (++stretch->at[i] < stretch->to.dims[i])
            return;
        stretch->offset -= stretch->strides[i] * stretch->to.dims[i];
        stretch->at[i] = 0;
    }
}

/* The part of a constant's shape that meets the row; false after a refusal where it has a value for each row. */
static bool row_part(struct translation *t, const struct onnx_node *node, const struct constant *constant, int lead,
                     const struct shape *row, struct shape *part)
{
    const struct shape *shape = &constant->shape;
    const char *name = quote(t->arena, constant->name);
    int front = shape->rank - row->rank;
    *part = *shape;
    if (front <= 0 || !lead)
        return true;
    if (front > lead)
        return model_refuse(t->model, node, "%s of shape %s puts a dimension in front of the rows", name,
                            shape_text(t->arena, shape));
    for (int i = 0; i < front; i++) {
        if (shape->dims[i] != 1)
            return model_refuse(t->model, node, "%s of shape %s has other values for each row", name,
                                shape_text(t->arena, shape));
    }
    *part = (struct shape){.rank = row->rank};
    memcpy(part->dims, shape->dims + front, (size_t)row->rank * sizeof *part->dims);
    return true;
}

static bool refuse_shape(struct translation *t, const struct onnx_node *node, const struct constant *constant,
                         const struct shape *row)
{
    return model_refuse(t->model, node, "%s of shape %s does not fit to %s columns", quote(t->arena, constant->name),
                        shape_text(t->arena, &constant->shape), shape_text(t->arena, row));
}

static struct constant *stretch_part(struct translation *t, const struct onnx_node *node, struct constant *constant,
                                     const struct shape *part, const struct shape *row)
{
    struct shape flat = {1, {width_of(row)}};
    for (int i = 1; i <= part->rank; i++) {
        int64_t size = part->dims[part->rank - i];
        if (size != 1 && (i > row->rank || size != row->dims[row->rank - i])) {
            refuse_shape(t, node, constant, row);
            return NULL;
        }
    }
    if (same_order(part, row))
        return constant_reshaped(t->arena, constant, &flat);
    struct constant *whole = tensor_new(t->model, constant->name, constant->type, &flat);
    if (!whole) {
        model_refuse(t->model, node, "%s would become larger than the model", quote(t->arena, constant->name));
        return NULL;
    }
    const double *numbers = tensor_numbers(t->arena, constant);
    struct stretch stretch = stretch_begin(part, row);
    for (size_t i = 0; i < whole->count; i++, stretch_next(&stretch))
        whole->numbers[i] = numbers[stretch.offset];
    return whole;
}

struct constant *stretch_constant(struct translation *t, const struct onnx_node *node, struct constant *constant,
                                  int lead, const struct shape *row)
{
    struct shape part;
    if (!row_part(t, node, constant, lead, row, &part))
        return NULL;
    return stretch_part(t, node, constant, &part, row);
}

/* ---- two operands ---- */

struct operand number_operand(struct translation *t, enum element type, double number)
{
    struct constant *constant = ARENA_NEW(t->arena, struct constant);
    *constant = (struct constant){.name = "", .type = type, .count = 1};
    constant->numbers = ARENA_NEW(t->arena, double);
    *constant->numbers = number;
    return (struct operand){.constant = constant};
}

struct operand term_operand(struct translation *t, struct term *term, const struct rows *like)
{
    struct rows *rows = ARENA_NEW(t->arena, struct rows);
    *rows = *like;
    rows->term = term;
    return (struct operand){.rows = rows};
}

/* Stretches `row` to take `other` in. */
static bool widen(struct shape *row, const struct shape *other)
{
    struct shape wide = row->rank >= other->rank ? *row : *other;
    const struct shape *narrow = row->rank >= other->rank ? other : row;
    for (int i = 1; i <= narrow->rank; i++) {
        int64_t *size = &wide.dims[wide.rank - i], with = narrow->dims[narrow->rank - i];
        if (*size != with && *size != 1 && with != 1)
            return false;
        if (*size == 1)
            *size = with;
    }
    *row = wide;
    return true;
}

static enum element operand_type(const struct operand *operand)
{
    return operand->rows ? operand->rows->term->type : operand->constant->type;
}

static bool check_types(struct translation *t, const struct onnx_node *node, const struct operand *a,
                        const struct operand *b)
{
    enum element first = operand_type(a), second = operand_type(b);
    return (element_is_float(first) && first == second) ||
           model_refuse(t->model, node, "it combines %s with %s", element_name(first), element_name(second));
}

/* Columns of a term repeated, where one dimension of several stretches. */
static struct term *stretch_term(struct translation *t, const struct onnx_node *node, const struct rows *rows,
                                 const struct shape *row)
{
    struct pieces pieces = {.most = 64};
    struct stretch stretch = stretch_begin(&rows->row, row);
    int64_t width = width_of(row);
    if (rows->term->width == width || rows->term->width == 1)
        return rows->term;
    for (int64_t i = 0; i < width; i++, stretch_next(&stretch)) {
        if (!pieces_add(t, &pieces, rows->term, stretch.offset, stretch.offset + 1)) {
            refuse_pieces(t, node);
            return NULL;
        }
    }
    return pieces_term(t, node, &pieces);
}

/* What is added to a product of one column is its bias, not a number. */
static bool is_bias(enum term_op op, const struct operand *other)
{
    return op == TERM_ADD && other->rows && other->rows->term->op == TERM_LINEAR && other->rows->term->width == 1;
}

static struct term *operand_term(struct translation *t, const struct onnx_node *node, const struct operand *operand,
                                 int lead, const struct shape *row, bool as_param)
{
    struct constant *constant = operand->constant;
    if (operand->rows)
        return stretch_term(t, node, operand->rows, row);
    if (!as_param && constant->count == 1 && isfinite(tensor_numbers(t->arena, constant)[0]))
        return term_number(t->net, constant->type, constant->numbers[0]);
    struct constant *whole = stretch_constant(t, node, constant, lead, row);
    return whole ? term_param(t->net, node, whole) : NULL;
}

static bool meet(struct translation *t, const struct onnx_node *node, const struct operand *operand,
                 struct rows *result)
{
    struct shape part;
    if (operand->rows) {
        if (operand->rows->lead != result->lead || (result->lead && rows_rank(operand->rows) != rows_rank(result)))
            return model_refuse(t->model, node, "the rows of its operands are in different dimensions");
        part = operand->rows->row;
    } else if (!row_part(t, node, operand->constant, result->lead, &result->row, &part)) {
        return false;
    }
    return widen(&result->row, &part) ||
           model_refuse(t->model, node, "its operands of %s and %s columns do not fit to each other",
                        shape_text(t->arena, &result->row), shape_text(t->arena, &part));
}

static bool wide_enough(const struct shape *row)
{
    size_t count;
    return shape_count(row, &count) && count <= INT32_MAX;
}

bool combine(struct translation *t, const struct onnx_node *node, enum term_op op, struct operand a, struct operand b,
             struct rows *result)
{
    const struct operand *first = a.rows ? &a : &b, *second = a.rows ? &b : &a;
    if (!check_types(t, node, &a, &b))
        return false;
    *result = *first->rows;
    if (!meet(t, node, second, result))
        return false;
    if (!wide_enough(&result->row))
        return model_refuse(t->model, node, "its rows are wider than 2147483647 columns");
    struct term *left = operand_term(t, node, &a, result->lead, &result->row, is_bias(op, &b));
    struct term *right = left ? operand_term(t, node, &b, result->lead, &result->row, is_bias(op, &a)) : NULL;
    if (!right)
        return false;
    result->term = term_make(t->net, node, op, left, right);
    return true;
}

/* ---- pieces ---- */

bool pieces_add(struct translation *t, struct pieces *pieces, struct term *term, int64_t begin, int64_t end)
{
    struct piece *last = pieces->at.count ? &pieces->at.at[pieces->at.count - 1] : NULL;
    if (begin == end)
        return true;
    if (last && last->term == term && last->end == begin) {
        last->end = end;
        return true;
    }
    if (pieces->at.count == pieces->most)
        return false;
    struct piece piece = {term, begin, end};
    VEC_PUSH(t->arena, &pieces->at, piece);
    return true;
}

bool refuse_pieces(struct translation *t, const struct onnx_node *node)
{
    return model_refuse(t->model, node, "it takes columns out of their order in too many pieces");
}

static struct term *piece_term(struct translation *t, const struct onnx_node *node, const struct piece *piece)
{
    if (piece->end - piece->begin == piece->term->width)
        return piece->term;
    struct term *slice = term_new(t->net, node, TERM_SLICE, 1, piece->end - piece->begin, piece->term->type);
    slice->args[0] = piece->term;
    slice->begin = piece->begin;
    slice->end = piece->end;
    return slice;
}

struct term *pieces_term(struct translation *t, const struct onnx_node *node, const struct pieces *pieces)
{
    size_t count = pieces->at.count;
    struct term **args = ARENA_ARRAY(t->arena, struct term *, count);
    int64_t width = 0;
    for (size_t i = 0; i < count; i++) {
        args[i] = piece_term(t, node, &pieces->at.at[i]);
        width += args[i]->width;
    }
    if (count == 1)
        return args[0];
    struct term *concat = term_new(t->net, node, TERM_CONCAT, (int)count, width, args[0]->type);
    concat->args = args;
    return concat;
}
