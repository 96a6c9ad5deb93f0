/* Operators that give values another shape, and keep every row together. */
#include <inttypes.h>
#include <string.h>

#include "attribute.h"
#include "tensor.h"
#include "translate.h"

/* ---- sizes ---- */

/* The size of a dimension of the rows, -1 where it is not known. */
static int64_t lead_size(const struct translation *t, int lead, int index)
{
    int64_t product = 1;
    if (lead == t->lead)
        return t->lead_sizes[index];
    for (int i = 0; i < t->lead; i++) {
        if (t->lead_sizes[i] < 0 || !CHECKED_MUL(product, t->lead_sizes[i], &product))
            return -1;
    }
    return product;
}

/* The symbol of a dimension of the rows. */
static int lead_symbol(const struct translation *t, int lead, int index)
{
    return lead == t->lead ? index + 1 : LEAD_ALL;
}

/* The sizes of rows, as a constant with symbols for what is known only later. */
bool translate_shape(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    if (!x)
        return false;
    int rank = rows_rank(x);
    int64_t begin = attribute_int(node, "start", 0), end = attribute_int(node, "end", rank);
    begin = begin < -rank ? 0 : begin < 0 ? begin + rank : begin > rank ? rank : begin;
    end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
    struct shape shape = {1, {end > begin ? end - begin : 0}};
    struct constant *sizes = tensor_new(t->model, node->outputs[0]->name, ELEMENT_I64, &shape);
    if (!sizes)
        return model_refuse(t->model, node, "the model is too small for it");
    int *symbols = ARENA_ARRAY(t->arena, int, (size_t)shape.dims[0]);
    for (int i = 0; i < shape.dims[0]; i++) {
        int at = (int)begin + i;
        symbols[i] = at < x->lead ? lead_symbol(t, x->lead, at) : 0;
        sizes->numbers[i] = (double)(at < x->lead ? lead_size(t, x->lead, at) : x->row.dims[at - x->lead]);
    }
    sizes->symbols = symbols;
    node->outputs[0]->constant = sizes;
    return true;
}

/* ---- reshape ---- */

/* A size that is asked for: a number, -1 for "what is left", or a dimension of the rows. */
struct target {
    int count;
    int64_t sizes[RANK_MAX];
    int symbols[RANK_MAX];
};

static bool read_target(struct translation *t, const struct onnx_node *node, const struct rows *x,
                        struct target *target)
{
    struct constant *shape = constant_input(t, node, 1, "its shape");
    if (!shape)
        return false;
    if (shape->count > RANK_MAX || !element_is_integer(shape->type))
        return model_refuse(t->model, node, "its shape has more than %d dimensions", RANK_MAX);
    target->count = (int)shape->count;
    for (int i = 0; i < target->count; i++) {
        target->sizes[i] = tensor_integer(tensor_numbers(t->arena, shape)[i]);
        target->symbols[i] = shape->symbols ? shape->symbols[i] : 0;
        if (target->sizes[i] || target->symbols[i] || attribute_int(node, "allowzero", 0))
            continue;
        if (i >= rows_rank(x))
            return model_refuse(t->model, node, "it copies a dimension that is not there");
        target->symbols[i] = i < x->lead ? lead_symbol(t, x->lead, i) : 0;
        target->sizes[i] = i < x->lead ? lead_size(t, x->lead, i) : x->row.dims[i - x->lead];
    }
    return true;
}

/* Whether a target is a dimension of the rows: by its symbol, by its size, or as what is left. */
static bool is_lead(const struct translation *t, const struct target *target, int at, int lead, int index, bool *rest)
{
    int64_t size = lead_size(t, lead, index);
    if (target->symbols[at])
        return target->symbols[at] == lead_symbol(t, lead, index);
    if (target->sizes[at] == -1 && !*rest) {
        *rest = true;
        return true;
    }
    return size > 0 && target->sizes[at] == size;
}

/* The rest of the target as a row of `width` columns. */
static bool row_of(const struct target *target, int lead, int64_t width, bool rest, struct shape *row)
{
    int64_t product = 1;
    int unknown = -1;
    *row = (struct shape){.rank = target->count - lead};
    for (int i = 0; i < row->rank; i++) {
        int64_t size = row->dims[i] = target->sizes[lead + i];
        if (target->symbols[lead + i])
            return false;
        if (size == -1 && !rest && unknown < 0)
            unknown = i;
        else if (size <= 0 || !CHECKED_MUL(product, size, &product))
            return false;
    }
    if (unknown >= 0 && width % product == 0) {
        row->dims[unknown] = width / product;
        product = width;
    }
    return product == width;
}

static bool fits(const struct translation *t, const struct target *target, int lead, int64_t width, struct shape *row)
{
    bool rest = false;
    if (target->count < lead)
        return false;
    for (int i = 0; i < lead; i++) {
        if (!is_lead(t, target, i, lead, i, &rest))
            return false;
    }
    return row_of(target, lead, width, rest, row);
}

static const char *target_text(const struct translation *t, const struct target *target)
{
    const char *text = "[";
    for (int i = 0; i < target->count; i++) {
        const char *comma = i ? ", " : "";
        text = target->symbols[i] ? arena_format(t->arena, "%s%srows", text, comma)
                                  : arena_format(t->arena, "%s%s%" PRId64, text, comma, target->sizes[i]);
    }
    return arena_format(t->arena, "%s]", text);
}

bool translate_reshape(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    struct target target;
    struct shape row;
    if (!x || !read_target(t, node, x, &target))
        return false;
    if (fits(t, &target, t->lead, x->term->width, &row))
        return give(t, node, 0, x->term, t->lead, &row);
    if (t->lead > 1 && fits(t, &target, 1, x->term->width, &row))
        return give(t, node, 0, x->term, 1, &row);
    return model_refuse(t->model, node, "the shape %s does not keep rows of %" PRId64 " columns for any number of rows",
                        target_text(t, &target), x->term->width);
}

/* The product of dimensions begin .. end - 1. */
static int64_t extent(const struct shape *row, int begin, int end)
{
    int64_t product = 1;
    for (int i = begin; i < end; i++)
        product *= row->dims[i];
    return product;
}

bool translate_flatten(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    if (!x)
        return false;
    int rank = rows_rank(x);
    int64_t axis = attribute_int(node, "axis", 1);
    if (axis < -rank || axis > rank)
        return model_refuse(t->model, node, "it has no axis %" PRId64, axis);
    int split = (int)(axis < 0 ? axis + rank : axis) - x->lead;
    struct shape row = {1, {x->term->width}}, two = {2, {0}};
    if (!x->lead) {
        two.dims[0] = extent(&x->row, 0, split);
        two.dims[1] = extent(&x->row, split, x->row.rank);
        return give(t, node, 0, x->term, 0, &two);
    }
    if (split < 0 || extent(&x->row, 0, split) != 1)
        return model_refuse(t->model, node, "axis %" PRId64 " does not keep the rows apart", axis);
    return give(t, node, 0, x->term, 1, &row);
}

/* The axes of a squeeze or unsqueeze, as marks; false after a refusal. */
static bool marked_axes(struct translation *t, const struct onnx_node *node, int rank, bool *marks, size_t *count)
{
    int64_t *axes;
    int axis;
    if (!integers(t, node, "axes", 1, &axes, count))
        return false;
    for (size_t i = 0; i < *count; i++) {
        if (!axis_of(t, node, axes[i], rank, &axis))
            return false;
        if (marks[axis])
            return model_refuse(t->model, node, "it names axis %d twice", axis);
        marks[axis] = true;
    }
    return true;
}

bool translate_squeeze(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    bool marks[RANK_MAX + 1] = {0};
    size_t count;
    if (!x || !marked_axes(t, node, rows_rank(x), marks, &count))
        return false;
    for (int i = 0; i < x->lead; i++) {
        if (marks[i] || (!count && (lead_size(t, x->lead, i) == 1 || lead_size(t, x->lead, i) < 0)))
            return model_refuse(t->model, node, "it would remove the rows");
    }
    struct shape row = {0};
    for (int i = 0; i < x->row.rank; i++) {
        bool one = x->row.dims[i] == 1, marked = marks[x->lead + i];
        if (marked && !one)
            return model_refuse(t->model, node, "axis %d is not 1", x->lead + i);
        if (count ? !marked : !one)
            row.dims[row.rank++] = x->row.dims[i];
    }
    return give(t, node, 0, x->term, x->lead, &row);
}

bool translate_unsqueeze(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    bool marks[2 * RANK_MAX + 2] = {0};
    int64_t *axes;
    size_t count;
    if (!x || !integers(t, node, "axes", 1, &axes, &count))
        return false;
    int rank = rows_rank(x) + (int)(count < RANK_MAX ? count : RANK_MAX);
    if (rank > RANK_MAX)
        return model_refuse(t->model, node, "its result has more than %d dimensions", RANK_MAX);
    if (!marked_axes(t, node, rank, marks, &count))
        return false;
    struct shape row = {0};
    for (int i = 0, from = 0; i < rank; i++) {
        if (i < x->lead && marks[i])
            return model_refuse(t->model, node, "it puts a dimension in front of the rows");
        if (i >= x->lead)
            row.dims[row.rank++] = marks[i] ? 1 : x->row.dims[from++];
    }
    return give(t, node, 0, x->term, x->lead, &row);
}

/* ---- columns in another order ---- */

/* The row's dimensions in the order of `from`, in blocks of columns that stay together. */
static bool permute(struct translation *t, const struct onnx_node *node, const struct rows *x, const int *from,
                    struct pieces *pieces)
{
    int kept = x->row.rank;         /* dimensions from here on stay where they are */
    int64_t at[RANK_MAX] = {0};
    while (kept > 0 && from[kept - 1] == kept - 1)
        kept--;
    int64_t block = extent(&x->row, kept, x->row.rank), blocks = extent(&x->row, 0, kept);
    for (int64_t i = 0; i < blocks; i++) {
        int64_t offset = 0;
        for (int j = 0; j < kept; j++)
            offset += at[j] * extent(&x->row, from[j] + 1, x->row.rank);
        if (!pieces_add(t, pieces, x->term, offset, offset + block))
            return refuse_pieces(t, node);
        for (int j = kept; j-- > 0;) {
            if (++at[j] < x->row.dims[from[j]])
                break;
            at[j] = 0;
        }
    }
    return true;
}

/* Whether only dimensions of 1 move. */
static bool keeps_order(const struct shape *row, const int *from)
{
    int last = -1;
    for (int i = 0; i < row->rank; i++) {
        if (row->dims[from[i]] == 1)
            continue;
        if (from[i] < last)
            return false;
        last = from[i];
    }
    return true;
}

bool translate_transpose(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    size_t count;
    const int64_t *perm = attribute_ints(node, "perm", &count);
    int from[RANK_MAX] = {0}, rank = x ? rows_rank(x) : 0;
    bool seen[RANK_MAX] = {0};
    struct shape row = {0};
    if (!x)
        return false;
    if (perm && (int)count != rank)
        return model_refuse(t->model, node, "its perm has not one entry for each dimension");
    for (int i = 0; i < rank; i++) {
        int64_t axis = perm ? perm[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank || seen[axis])
            return model_refuse(t->model, node, "its perm is no order of the dimensions");
        seen[axis] = true;
        if ((i < x->lead || axis < x->lead) && axis != i)
            return model_refuse(t->model, node, "it moves the rows to another dimension");
        if (i < x->lead)
            continue;
        from[row.rank] = (int)axis - x->lead;
        row.dims[row.rank++] = x->row.dims[axis - x->lead];
    }
    struct pieces pieces = {.most = 256};
    if (keeps_order(&x->row, from))
        return give(t, node, 0, x->term, x->lead, &row);
    if (!permute(t, node, x, from, &pieces))
        return false;
    return give(t, node, 0, pieces_term(t, node, &pieces), x->lead, &row);
}

/* ---- some columns ---- */

/* Indices of one axis of a row: begin, begin + step, ... of `count`; or a list of them. */
struct choice {
    int64_t begin, step, count;
    const double *list;
};

static int64_t chosen(const struct choice *choice, int64_t i)
{
    return choice->list ? (int64_t)choice->list[i] : choice->begin + i * choice->step;
}

/* The pieces of a term that a choice on one axis leaves. */
static bool choose(struct translation *t, const struct onnx_node *node, struct term *term, const struct shape *row,
                   int axis, const struct choice *choice, struct pieces *pieces)
{
    int64_t outer = extent(row, 0, axis), inner = extent(row, axis + 1, row->rank), size = row->dims[axis];
    bool run = !choice->list && choice->step == 1;
    if (run && choice->count == size)
        return pieces_add(t, pieces, term, 0, term->width);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < (run ? 1 : choice->count); j++) {
            int64_t begin = (i * size + chosen(choice, j)) * inner;
            if (!pieces_add(t, pieces, term, begin, begin + inner * (run ? choice->count : 1)))
                return refuse_pieces(t, node);
        }
    }
    return true;
}

/* `rows` becomes what a choice on an axis of its row leaves. */
static bool apply(struct translation *t, const struct onnx_node *node, struct rows *rows, int axis,
                  const struct choice *choice)
{
    struct pieces pieces = {.most = 256};
    if (choice->count < 1)
        return model_refuse(t->model, node, "it leaves no columns");
    if (!choose(t, node, rows->term, &rows->row, axis, choice, &pieces))
        return false;
    rows->term = pieces_term(t, node, &pieces);
    rows->row.dims[axis] = choice->count;
    return true;
}

static int64_t clamp(int64_t number, int64_t low, int64_t high)
{
    return number < low ? low : number > high ? high : number;
}

/* ONNX's rules for what lies outside. */
static struct choice slice_choice(int64_t begin, int64_t end, int64_t step, int64_t size)
{
    begin = begin < -size ? -size - 1 : begin;
    end = end < -size ? -size - 1 : end;
    begin += begin < 0 ? size : 0;
    end += end < 0 ? size : 0;
    begin = step > 0 ? clamp(begin, 0, size) : clamp(begin, 0, size - 1);
    end = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
    int64_t span = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
    return (struct choice){begin, step, span > 0 ? (span - 1) / stride + 1 : 0, NULL};
}

static bool slice_axis(struct translation *t, const struct onnx_node *node, struct rows *rows, int64_t named,
                       int64_t begin, int64_t end, int64_t step)
{
    int axis;
    if (!axis_of(t, node, named, rows_rank(rows), &axis))
        return false;
    if (!step || step == INT64_MIN)
        return model_refuse(t->model, node, "its step is 0");
    if (axis < rows->lead)
        return (step == 1 && begin == 0 && end >= INT32_MAX) ||
        model_refuse(t->model, node, "it takes some of the rows");
    struct choice choice = slice_choice(begin, end, step, rows->row.dims[axis - rows->lead]);
    return apply(t, node, rows, axis - rows->lead, &choice);
}

bool translate_slice(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    int64_t *starts, *ends, *axes, *steps;
    size_t count, end_count, axis_count, step_count;
    if (!x || !integers(t, node, "starts", 1, &starts, &count) || !integers(t, node, "ends", 2, &ends, &end_count) ||
        !integers(t, node, "axes", 3, &axes, &axis_count) || !integers(t, node, "steps", 4, &steps, &step_count))
        return false;
    if (!starts || !ends || end_count != count || (axes && axis_count != count) || (steps && step_count != count) ||
        count > RANK_MAX)
        return model_refuse(t->model, node, "its starts, ends, axes and steps are not equally many");
    struct rows rows = *x;
    for (size_t i = 0; i < count; i++) {
        if (!slice_axis(t, node, &rows, axes ? axes[i] : (int64_t)i, starts[i], ends[i], steps ? steps[i] : 1))
            return false;
    }
    return give(t, node, 0, rows.term, rows.lead, &rows.row);
}

bool translate_split(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    int64_t *sizes, begin = 0;
    size_t count;
    int axis;
    if (!x || !axis_of(t, node, attribute_int(node, "axis", 0), rows_rank(x), &axis) ||
        !integers(t, node, "split", 1, &sizes, &count))
        return false;
    if (axis < x->lead)
        return model_refuse(t->model, node, "it splits the rows");
    int64_t whole = x->row.dims[axis - x->lead], parts = node->output_count;
    if (sizes ? (int64_t)count != parts : attribute_int(node, "num_outputs", parts) != parts)
        return model_refuse(t->model, node, "it has not as many outputs as parts");
    for (int i = 0; i < node->output_count; i++) {
        int64_t equal = (whole - 1) / parts + 1, left = whole - begin;
        struct choice choice = {begin, 1, sizes ? sizes[i] : equal < left ? equal : left, NULL};
        struct rows rows = *x;
        if (choice.count < 0 || choice.count > left || (i + 1 == node->output_count && choice.count != left))
            return model_refuse(t->model, node, "its parts are not the whole");
        begin += choice.count;
        if (!node->outputs[i] || !node->outputs[i]->needed)
            continue;
        if (!apply(t, node, &rows, axis - x->lead, &choice) || !give(t, node, i, rows.term, rows.lead, &rows.row))
            return false;
    }
    return true;
}

bool translate_gather(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "what it picks from");
    struct constant *indices = x ? constant_input(t, node, 1, "the list that it picks by") : NULL;
    int axis;
    if (!indices || !axis_of(t, node, attribute_int(node, "axis", 0), rows_rank(x), &axis))
        return false;
    if (axis < x->lead)
        return model_refuse(t->model, node, "it picks some of the rows");
    axis -= x->lead;
    if (indices->symbols || !element_is_integer(indices->type) ||
        x->row.rank - 1 + indices->shape.rank + x->lead > RANK_MAX)
        return model_refuse(t->model, node, "its indices are no constant whole numbers");
    double *list = ARENA_ARRAY(t->arena, double, indices->count);
    for (size_t i = 0; i < indices->count; i++) {
        double index = tensor_numbers(t->arena, indices)[i];
        list[i] = index < 0 ? index + (double)x->row.dims[axis] : index;
        if (!(list[i] >= 0 && list[i] < (double)x->row.dims[axis]))
            return model_refuse(t->model, node, "it picks column %g of %" PRId64, index, x->row.dims[axis]);
    }
    struct choice choice = {.count = (int64_t)indices->count, .list = list};
    struct rows rows = *x;
    if (!apply(t, node, &rows, axis, &choice))
        return false;
    struct shape row = {x->row.rank - 1 + indices->shape.rank, {0}};
    memcpy(row.dims, x->row.dims, (size_t)axis * sizeof *row.dims);
    memcpy(row.dims + axis, indices->shape.dims, (size_t)indices->shape.rank * sizeof *row.dims);
    memcpy(row.dims + axis + indices->shape.rank, x->row.dims + axis + 1,
           (size_t)(x->row.rank - axis - 1) * sizeof *row.dims);
    return give(t, node, 0, rows.term, rows.lead, &row);
}

/* ---- concat ---- */

/* One argument as a term with its own size on the axis; NULL after a refusal. `like` has the other sizes. */
static struct term *part_term(struct translation *t, const struct onnx_node *node, int index, const struct rows *like,
                              int axis, int64_t *size)
{
    struct operand part = operand_of(node, index);
    struct shape row = like->row;
    const struct shape *own = part.rows ? &part.rows->row : &part.constant->shape;
    int offset = part.rows ? 0 : like->lead;    /* a constant's shape counts the rows */
    bool fits = part.rows ? part.rows->lead == like->lead && own->rank == row.rank : own->rank == rows_rank(like);
    for (int i = 0; fits && i < row.rank; i++)
        fits = i == axis || own->dims[offset + i] == row.dims[i];
    enum element type = part.rows ? part.rows->term->type : part.constant->type;
    if (!fits || type != like->term->type) {
        model_refuse(t->model, node, "its parts do not fit to each other");
        return NULL;
    }
    *size = row.dims[axis] = own->dims[offset + axis];
    if (part.rows)
        return part.rows->term;
    for (int i = 0; i < like->lead; i++) {
        if (lead_size(t, like->lead, i) != 1) {
            model_refuse(t->model, node, "its constant part has one row, its others any number");
            return NULL;
        }
    }
    struct constant *constant = stretch_constant(t, node, part.constant, like->lead, &row);
    return constant ? term_param(t->net, node, constant) : NULL;
}

bool translate_concat(struct translation *t, const struct onnx_node *node)
{
    int axis, count = node->input_count, first = 0;
    while (!operand_of(node, first).rows)
        first++;
    struct rows result = *operand_of(node, first).rows;
    struct term **terms = ARENA_ARRAY(t->arena, struct term *, (size_t)count);
    int64_t *sizes = ARENA_ARRAY(t->arena, int64_t, (size_t)count), total = 0;
    if (!axis_of(t, node, attribute_int(node, "axis", 1), rows_rank(&result), &axis))
        return false;
    if (axis < result.lead)
        return model_refuse(t->model, node, "it puts rows behind rows");
    axis -= result.lead;
    for (int i = 0; i < count; i++) {
        terms[i] = part_term(t, node, i, &result, axis, &sizes[i]);
        if (!terms[i])
            return false;
        if (!CHECKED_ADD(total, sizes[i], &total))
            return model_refuse(t->model, node, "its result is too wide");
    }
    int64_t outer = extent(&result.row, 0, axis), inner = extent(&result.row, axis + 1, result.row.rank), width;
    if (!CHECKED_MUL(total, outer * inner, &width) || width > INT32_MAX)
        return model_refuse(t->model, node, "its result is too wide");
    struct pieces pieces = {.most = (size_t)count + 256};
    for (int64_t i = 0; i < outer; i++) {
        for (int j = 0; j < count; j++) {
            int64_t length = sizes[j] * inner;
            if (!pieces_add(t, &pieces, terms[j], i * length, (i + 1) * length))
                return refuse_pieces(t, node);
        }
    }
    result.row.dims[axis] = total;
    return give(t, node, 0, pieces_term(t, node, &pieces), result.lead, &result.row);
}
