#include "fold.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../convert.h"
#include "../quote.h"
#include "attribute.h"
#include "elementary.h"
#include "tensor.h"

struct fold {
    struct translation *t;
    const struct onnx_node *node;
};

static const double exact_integers = 0x1p53;

/* ---- results ---- */

static bool refuse_size(const struct fold *f)
{
    return model_refuse(f->t->model, f->node, "its result is larger than the model's size accounts for");
}

static struct constant *result_new(const struct fold *f, int index, enum element type, const struct shape *shape)
{
    struct constant *constant = tensor_new(f->t->model, f->node->outputs[index]->name, type, shape);
    if (!constant)
        refuse_size(f);
    else
        f->node->outputs[index]->constant = constant;
    return constant;
}

/* Rounds what was computed; whole numbers that a double cannot tell apart are refused. */
static bool finish(const struct fold *f, struct constant *result)
{
    if (result->type == ELEMENT_F32)
        convert_round(result->numbers, result->count, DTYPE_F32);
    else if (result->type == ELEMENT_F16)
        convert_round(result->numbers, result->count, DTYPE_F16);
    else if (result->type == ELEMENT_BF16)
        convert_round(result->numbers, result->count, DTYPE_BF16);
    for (size_t i = 0; element_is_integer(result->type) && i < result->count; i++) {
        if (!(fabs(result->numbers[i]) <= exact_integers))
            return model_refuse(f->t->model, f->node, "its whole numbers are too large");
    }
    return true;
}

/* One that the operator must have. */
static struct constant *input(const struct fold *f, int index)
{
    assert(has_input(f->node, index) && f->node->inputs[index]->constant);
    return f->node->inputs[index]->constant;
}

static const double *numbers(const struct fold *f, struct constant *constant)
{
    return tensor_numbers(f->t->arena, constant);
}

/* The same elements under another shape: nothing is copied, and a weight keeps its name. */
static bool give_view(const struct fold *f, struct constant *from, const struct shape *shape)
{
    size_t count;
    if (!shape_count(shape, &count) || count != from->count)
        return model_refuse(f->t->model, f->node, "the shape %s has not as many elements as %s",
                            shape_text(f->t->arena, shape), shape_text(f->t->arena, &from->shape));
    f->node->outputs[0]->constant = constant_reshaped(f->t->arena, from, shape);
    return true;
}

/* out[i, j, ...] = in[base + i * strides[0] + j * strides[1] + ...] */
static bool give_strided(const struct fold *f, int index, struct constant *from, const struct shape *shape,
                         int64_t base, const int64_t *strides)
{
    struct constant *out = result_new(f, index, from->type, shape);
    int64_t at[RANK_MAX] = {0}, offset = base;
    if (!out)
        return false;
    out->name = from->name;
    const double *in = numbers(f, from);
    int *symbols = from->symbols ? ARENA_ARRAY(f->t->arena, int, out->count) : NULL;
    out->symbols = symbols;
    for (size_t i = 0; i < out->count; i++) {
        out->numbers[i] = in[offset];
        if (symbols)
            symbols[i] = from->symbols[offset];
        for (int j = shape->rank; j-- > 0;) {
            offset += strides[j];
            if (++at[j] < shape->dims[j])
                break;
            offset -= strides[j] * shape->dims[j];
            at[j] = 0;
        }
    }
    return true;
}

static void strides_of(const struct shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = shape->rank; i-- > 0; stride *= shape->dims[i])
        strides[i] = stride;
}

/* ---- sources ---- */

static bool fold_constant(const struct fold *f)
{
    size_t float_count, int_count;
    const float *floats = attribute_floats(f->node, "value_floats", &float_count);
    const int64_t *ints = attribute_ints(f->node, "value_ints", &int_count);
    struct shape scalar = {0}, list = {1, {(int64_t)(floats ? float_count : int_count)}};
    struct constant *result;
    if (attribute_tensor(f->node, "value")) {
        result = tensor_load(f->t->model, f->node, attribute_tensor(f->node, "value"));
        if (result)
            result->name = f->node->outputs[0]->name;
        f->node->outputs[0]->constant = result;
        return result;
    }
    bool real = attribute_has(f->node, "value_float") || attribute_has(f->node, "value_floats");
    bool single = attribute_has(f->node, "value_float") || attribute_has(f->node, "value_int");
    if (attribute_count(f->node) != 1)
        return model_refuse(f->t->model, f->node, "it has not one value");
    result = result_new(f, 0, real ? ELEMENT_F32 : ELEMENT_I64, single ? &scalar : &list);
    for (size_t i = 0; result && i < result->count; i++)
        result->numbers[i] = attribute_has(f->node, "value_float") ? attribute_float(f->node, "value_float", 0)
                             : attribute_has(f->node, "value_int") ? (double)attribute_int(f->node, "value_int", 0)
                             : floats ? (double)floats[i] : (double)ints[i];
    return result;
}

/* A shape that an input holds. */
static bool read_shape(const struct fold *f, int index, struct shape *shape)
{
    struct constant *constant = input(f, index);
    if (constant->symbols || constant->count > RANK_MAX || !element_is_integer(constant->type))
        return model_refuse(f->t->model, f->node, "its shape is not known, or has more than %d dimensions", RANK_MAX);
    shape->rank = (int)constant->count;
    for (int i = 0; i < shape->rank; i++)
        shape->dims[i] = tensor_integer(numbers(f, constant)[i]);
    return true;
}

static bool fold_constant_of_shape(const struct fold *f)
{
    struct shape shape;
    struct constant *value = NULL;
    if (!read_shape(f, 0, &shape))
        return false;
    if (attribute_tensor(f->node, "value")) {
        value = tensor_load(f->t->model, f->node, attribute_tensor(f->node, "value"));
        if (!value || value->count != 1)
            return value && model_refuse(f->t->model, f->node, "its value is not one number");
    }
    struct constant *result = result_new(f, 0, value ? value->type : ELEMENT_F32, &shape);
    for (size_t i = 0; result && value && i < result->count; i++)
        result->numbers[i] = numbers(f, value)[0];
    return result;
}

/* ---- shapes ---- */

static bool fold_shape(const struct fold *f)
{
    const struct shape *of = &input(f, 0)->shape;
    int64_t begin = attribute_int(f->node, "start", 0), end = attribute_int(f->node, "end", of->rank);
    begin = begin < -of->rank ? 0 : begin < 0 ? begin + of->rank : begin > of->rank ? of->rank : begin;
    end = end < -of->rank ? 0 : end < 0 ? end + of->rank : end > of->rank ? of->rank : end;
    struct shape shape = {1, {end > begin ? end - begin : 0}};
    struct constant *result = result_new(f, 0, ELEMENT_I64, &shape);
    for (int64_t i = begin; result && i < end; i++)
        result->numbers[i - begin] = (double)of->dims[i];
    return result;
}

static bool fold_reshape(const struct fold *f)
{
    struct constant *from = input(f, 0);
    struct shape shape;
    int64_t product = 1;
    int unknown = -1;
    if (!read_shape(f, 1, &shape))
        return false;
    for (int i = 0; i < shape.rank; i++) {
        if (!shape.dims[i] && i < from->shape.rank && !attribute_int(f->node, "allowzero", 0))
            shape.dims[i] = from->shape.dims[i];
        if (shape.dims[i] == -1 && unknown < 0)
            unknown = i;
        else if (shape.dims[i] < 0 || !CHECKED_MUL(product, shape.dims[i], &product))
            return model_refuse(f->t->model, f->node, "its shape is none");
    }
    if (unknown >= 0)
        shape.dims[unknown] = product ? (int64_t)from->count / product : 0;
    return give_view(f, from, &shape);
}

static bool fold_flatten(const struct fold *f)
{
    struct constant *from = input(f, 0);
    int64_t axis = attribute_int(f->node, "axis", 1);
    axis += axis < 0 ? from->shape.rank : 0;
    struct shape shape = {2, {1, 1}};
    if (axis < 0 || axis > from->shape.rank)
        return model_refuse(f->t->model, f->node, "it has no such axis");
    for (int i = 0; i < from->shape.rank; i++)
        shape.dims[i >= axis] *= from->shape.dims[i];
    return give_view(f, from, &shape);
}

static bool fold_squeeze(const struct fold *f, bool insert)
{
    struct constant *from = input(f, 0);
    int64_t *axes;
    size_t count;
    bool marks[2 * RANK_MAX + 2] = {0};
    if (!integers(f->t, f->node, "axes", 1, &axes, &count))
        return false;
    int rank = from->shape.rank + (insert ? (int)(count < RANK_MAX ? count : RANK_MAX) : 0);
    struct shape shape = {0};
    for (size_t i = 0; i < count; i++) {
        int axis;
        if (!axis_of(f->t, f->node, axes[i], rank, &axis))
            return false;
        if (marks[axis] || rank > RANK_MAX)
            return model_refuse(f->t->model, f->node, "its axes are none of its result");
        marks[axis] = true;
    }
    for (int i = 0, at = 0; i < rank; i++) {
        if (insert)
            shape.dims[shape.rank++] = marks[i] ? 1 : from->shape.dims[at++];
        else if (count ? !marks[i] : from->shape.dims[i] != 1)
            shape.dims[shape.rank++] = from->shape.dims[i];
    }
    return give_view(f, from, &shape);
}

static bool fold_transpose(const struct fold *f)
{
    struct constant *from = input(f, 0);
    int64_t strides[RANK_MAX], turned[RANK_MAX];
    size_t count;
    const int64_t *perm = attribute_ints(f->node, "perm", &count);
    struct shape shape = {.rank = from->shape.rank};
    bool seen[RANK_MAX] = {0};
    strides_of(&from->shape, strides);
    for (int i = 0; i < shape.rank; i++) {
        int64_t axis = perm && (int)count == shape.rank ? perm[i] : shape.rank - 1 - i;
        if (axis < 0 || axis >= shape.rank || seen[axis] || (perm && (int)count != shape.rank))
            return model_refuse(f->t->model, f->node, "its perm is no order of the dimensions");
        seen[axis] = true;
        shape.dims[i] = from->shape.dims[axis];
        turned[i] = strides[axis];
    }
    return give_strided(f, 0, from, &shape, 0, turned);
}

/* `from` stretched to `shape`, which must be wide enough. */
static bool stretch_strides(const struct shape *from, const struct shape *to, int64_t *strides)
{
    int64_t own[RANK_MAX];
    strides_of(from, own);
    memset(strides, 0, RANK_MAX * sizeof *strides);
    for (int i = 1; i <= from->rank; i++) {
        int64_t size = from->dims[from->rank - i];
        if (i > to->rank || (size != 1 && size != to->dims[to->rank - i]))
            return false;
        strides[to->rank - i] = size == 1 ? 0 : own[from->rank - i];
    }
    return true;
}

/* The shape that both stretch to. */
static bool common_shape(const struct fold *f, const struct shape *a, const struct shape *b, struct shape *common)
{
    const struct shape *narrow = a->rank >= b->rank ? b : a;
    *common = a->rank >= b->rank ? *a : *b;
    for (int i = 1; i <= narrow->rank; i++) {
        int64_t *size = &common->dims[common->rank - i], with = narrow->dims[narrow->rank - i];
        if (*size != with && *size != 1 && with != 1)
            return model_refuse(f->t->model, f->node, "the shapes %s and %s do not fit to each other",
                                shape_text(f->t->arena, a), shape_text(f->t->arena, b));
        if (*size == 1)
            *size = with;
    }
    return true;
}

static bool fold_expand(const struct fold *f)
{
    struct constant *from = input(f, 0);
    struct shape asked, shape;
    int64_t strides[RANK_MAX];
    if (!read_shape(f, 1, &asked) || !common_shape(f, &from->shape, &asked, &shape))
        return false;
    return stretch_strides(&from->shape, &shape, strides) && give_strided(f, 0, from, &shape, 0, strides);
}

static int64_t clamp(int64_t number, int64_t low, int64_t high)
{
    return number < low ? low : number > high ? high : number;
}

static bool fold_slice(const struct fold *f)
{
    struct constant *from = input(f, 0);
    struct shape shape = from->shape;
    int64_t *starts, *ends, *axes, *steps, strides[RANK_MAX], base = 0;
    size_t count, end_count, axis_count, step_count;
    if (!integers(f->t, f->node, "starts", 1, &starts, &count) ||
        !integers(f->t, f->node, "ends", 2, &ends, &end_count) ||
        !integers(f->t, f->node, "axes", 3, &axes, &axis_count) ||
        !integers(f->t, f->node, "steps", 4, &steps, &step_count))
        return false;
    if (!starts || !ends || end_count != count || (axes && axis_count != count) || (steps && step_count != count))
        return model_refuse(f->t->model, f->node, "its starts, ends, axes and steps are not equally many");
    strides_of(&shape, strides);
    for (size_t i = 0; i < count; i++) {
        int axis;
        if (!axis_of(f->t, f->node, axes ? axes[i] : (int64_t)i, shape.rank, &axis))
            return false;
        if (steps && steps[i] != 1)
            return model_refuse(f->t->model, f->node, "a constant is cut with steps");
        int64_t size = shape.dims[axis];
        int64_t begin = clamp(starts[i] < 0 && starts[i] >= -size ? starts[i] + size : starts[i], 0, size);
        int64_t end = clamp(ends[i] < 0 && ends[i] >= -size ? ends[i] + size : ends[i], begin, size);
        base += begin * strides[axis];
        shape.dims[axis] = end - begin;
    }
    return give_strided(f, 0, from, &shape, base, strides);
}

static bool fold_gather(const struct fold *f)
{
    struct constant *from = input(f, 0), *indices = input(f, 1);
    int axis, rank = from->shape.rank - 1 + indices->shape.rank;
    if (!axis_of(f->t, f->node, attribute_int(f->node, "axis", 0), from->shape.rank, &axis))
        return false;
    if (rank > RANK_MAX || indices->symbols || !element_is_integer(indices->type))
        return model_refuse(f->t->model, f->node, "its indices are no whole numbers, or of too many dimensions");
    struct shape shape = {.rank = rank};
    int64_t inner = 1, size = from->shape.dims[axis];
    for (int i = 0; i < rank; i++)
        shape.dims[i] = i < axis ? from->shape.dims[i] : i < axis + indices->shape.rank
                        ? indices->shape.dims[i - axis] : from->shape.dims[i - indices->shape.rank + 1];
    for (int i = axis + 1; i < from->shape.rank; i++)
        inner *= from->shape.dims[i];
    struct constant *out = result_new(f, 0, from->type, &shape);
    if (!out)
        return false;
    int *symbols = from->symbols ? ARENA_ARRAY(f->t->arena, int, out->count) : NULL;
    out->symbols = symbols;
    const double *in = numbers(f, from), *index = numbers(f, indices);
    for (size_t i = 0; i < out->count; i++) {
        int64_t column = (int64_t)i % inner, at = (int64_t)i / inner % (int64_t)indices->count;
        double picked = index[at] < 0 ? index[at] + (double)size : index[at];
        if (!(picked >= 0 && picked < (double)size))
            return model_refuse(f->t->model, f->node, "it picks an element that is not there");
        int64_t source = ((int64_t)i / inner / (int64_t)indices->count * size + (int64_t)picked) * inner + column;
        out->numbers[i] = in[source];
        if (symbols)
            symbols[i] = from->symbols[source];
    }
    return true;
}

static bool fold_concat(const struct fold *f)
{
    struct constant *first = input(f, 0);
    struct shape shape = first->shape;
    int axis, count = f->node->input_count;
    int64_t outer = 1, inner = 1, done = 0;
    bool symbolic = false;
    if (!axis_of(f->t, f->node, attribute_int(f->node, "axis", 1), shape.rank, &axis))
        return false;
    shape.dims[axis] = 0;
    for (int i = 0; i < count; i++) {
        const struct constant *part = input(f, i);
        bool fits = part->shape.rank == shape.rank && part->type == first->type;
        for (int j = 0; fits && j < shape.rank; j++)
            fits = j == axis || part->shape.dims[j] == shape.dims[j];
        if (!fits || !CHECKED_ADD(shape.dims[axis], part->shape.dims[axis], &shape.dims[axis]))
            return model_refuse(f->t->model, f->node, "its parts do not fit to each other");
        symbolic |= part->symbols != NULL;
    }
    struct constant *out = result_new(f, 0, first->type, &shape);
    if (!out || !out->count)
        return out;
    for (int i = 0; i < shape.rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : shape.dims[i];
    int *symbols = symbolic ? ARENA_ARRAY(f->t->arena, int, out->count) : NULL;
    out->symbols = symbols;
    for (int i = 0; i < count; i++) {
        struct constant *part = input(f, i);
        int64_t length = part->shape.dims[axis] * inner, row = shape.dims[axis] * inner;
        const double *in = numbers(f, part);
        for (int64_t j = 0; j < (int64_t)part->count; j++) {
            int64_t to = j / length * row + done + j % length;
            out->numbers[to] = in[j];
            if (symbols)
                symbols[to] = part->symbols ? part->symbols[j] : 0;
        }
        done += length;
    }
    return true;
}

static bool fold_split(const struct fold *f)
{
    struct constant *from = input(f, 0);
    struct shape shape = from->shape;
    int64_t *sizes, strides[RANK_MAX], begin = 0, parts = f->node->output_count;
    size_t count;
    int axis;
    if (!axis_of(f->t, f->node, attribute_int(f->node, "axis", 0), shape.rank, &axis) ||
        !integers(f->t, f->node, "split", 1, &sizes, &count))
        return false;
    int64_t whole = shape.dims[axis], equal = whole ? (whole - 1) / parts + 1 : 0;
    strides_of(&shape, strides);
    if (sizes && (int64_t)count != parts)
        return model_refuse(f->t->model, f->node, "it has not as many outputs as parts");
    for (int i = 0; i < parts; i++) {
        shape.dims[axis] = sizes ? sizes[i] : equal < whole - begin ? equal : whole - begin;
        if (shape.dims[axis] < 0 || shape.dims[axis] > whole - begin)
            return model_refuse(f->t->model, f->node, "its parts are more than the whole");
        if (f->node->outputs[i] && !give_strided(f, i, from, &shape, begin * strides[axis], strides))
            return false;
        begin += shape.dims[axis];
    }
    return true;
}

/* ---- arithmetic ---- */

/* Sizes of the rows have a number only where the model fixes it. */
static bool plain(const struct fold *f, struct constant *constant)
{
    const double *known = numbers(f, constant);
    for (size_t i = 0; constant->symbols && i < constant->count; i++) {
        if (constant->symbols[i] && known[i] < 0)
            return model_refuse(f->t->model, f->node, "it computes with the number of rows");
    }
    return true;
}

static double cast(double number, enum element to)
{
    static const double limits[][2] = {
        [ELEMENT_U8] = {0, 255},       [ELEMENT_I8] = {-128, 127},         [ELEMENT_U16] = {0, 65535},
        [ELEMENT_I16] = {-32768, 32767}, [ELEMENT_I32] = {-0x1p31, 0x1p31 - 1}, [ELEMENT_U32] = {0, 0x1p32 - 1},
        [ELEMENT_I64] = {-0x1p53, 0x1p53}, [ELEMENT_U64] = {0, 0x1p53},
    };
    if (to == ELEMENT_BOOL)
        return number != 0;
    if (!element_is_integer(to))
        return number;
    number = trunc(number);
    return number >= limits[to][0] && number <= limits[to][1] ? number : NAN;
}

static bool fold_cast(const struct fold *f)
{
    struct constant *from = input(f, 0);
    enum element to = attribute_element(f->node, "to");
    if (!element_size(to) || !element_size(from->type))
        return model_refuse(f->t->model, f->node, "it turns numbers into what is none, or the reverse");
    if (to == from->type) {
        f->node->outputs[0]->constant = from;
        return true;
    }
    bool symbolic = from->symbols && element_is_integer(to);
    if (!symbolic && !plain(f, from))
        return false;
    struct constant *result = result_new(f, 0, to, &from->shape);
    const double *in = numbers(f, from);
    for (size_t i = 0; result && i < result->count; i++)
        result->numbers[i] = cast(in[i], to);
    if (!result)
        return false;
    result->name = from->name;
    result->symbols = symbolic ? from->symbols : NULL;
    return finish(f, result);
}

static double unary(const char *op, double x)
{
    switch (op[0]) {
    case 'N':
        return -x;                                          /* Neg */
    case 'A':
        return fabs(x);                                     /* Abs */
    case 'E':
        return op[1] == 'r' ? elementary_erf(x) : elementary_exp(x);            /* Erf, Exp */
    case 'L':
        return elementary_log(x);                           /* Log */
    case 'T':
        return elementary_tanh(x);                          /* Tanh */
    case 'S':
        return op[1] == 'q' ? sqrt(x) : 1 / (1 + elementary_exp(-x));           /* Sqrt, Sigmoid */
    default:
        return op[2] == 'l' ? (x < 0 ? 0 : x) : 1 / x;      /* Relu, Reciprocal */
    }
}

static bool fold_unary(const struct fold *f)
{
    struct constant *from = input(f, 0);
    if (!plain(f, from))
        return false;
    struct constant *result = result_new(f, 0, from->type, &from->shape);
    const double *in = numbers(f, from);
    for (size_t i = 0; result && i < result->count; i++)
        result->numbers[i] = unary(f->node->op, in[i]);
    return result && finish(f, result);
}

static double binary(const char *op, double a, double b, bool whole)
{
    switch (op[0]) {
    case 'A':
        return a + b;                                       /* Add */
    case 'D':
        return whole ? trunc(a / b) : a / b;                /* Div */
    case 'P':
        return elementary_pow(a, b);                        /* Pow */
    case 'M':
        return op[1] == 'u' ? a * b : isnan(a) || isnan(b) ? NAN : (op[1] == 'a') == (a > b) ? a : b;   /* Mul, Max,
        Min */
    default:
        return op[2] == 'b' ? a - b : a + b;                /* Sub, Sum */
    }
}

/* One more operand of Add, Max, ... */
static struct constant *fold_pair(const struct fold *f, struct constant *a, struct constant *b)
{
    struct shape shape;
    int64_t strides[2][RANK_MAX], at[RANK_MAX] = {0}, offsets[2] = {0};
    bool power = f->node->op[0] == 'P';
    if (a->type != b->type && !power) {
        model_refuse(f->t->model, f->node, "it combines %s with %s", element_name(a->type), element_name(b->type));
        return NULL;
    }
    if (!plain(f, a) || !plain(f, b) || !common_shape(f, &a->shape, &b->shape, &shape))
        return NULL;
    stretch_strides(&a->shape, &shape, strides[0]);
    stretch_strides(&b->shape, &shape, strides[1]);
    struct constant *result = result_new(f, 0, a->type, &shape);
    const double *left = numbers(f, a), *right = numbers(f, b);
    for (size_t i = 0; result && i < result->count; i++) {
        result->numbers[i] = binary(f->node->op, left[offsets[0]], right[offsets[1]], element_is_integer(a->type));
        for (int j = shape.rank; j-- > 0;) {
            offsets[0] += strides[0][j];
            offsets[1] += strides[1][j];
            if (++at[j] < shape.dims[j])
                break;
            offsets[0] -= strides[0][j] * shape.dims[j];
            offsets[1] -= strides[1][j] * shape.dims[j];
            at[j] = 0;
        }
    }
    return result && finish(f, result) ? result : NULL;
}

static bool fold_binary(const struct fold *f)
{
    struct constant *result = input(f, 0);
    for (int i = 1; result && i < f->node->input_count; i++)
        result = fold_pair(f, result, input(f, i));
    if (f->node->input_count == 1)
        f->node->outputs[0]->constant = result;
    return result;
}

static bool fold_same(const struct fold *f)
{
    f->node->outputs[0]->constant = input(f, 0);
    return true;
}

static bool fold_matmul(const struct fold *f)
{
    struct constant *a = input(f, 0), *b = input(f, 1);
    if (a->shape.rank != 2 || b->shape.rank != 2 || a->shape.dims[1] != b->shape.dims[0] || a->type != b->type)
        return model_refuse(f->t->model, f->node, "its constant factors are no matrices that fit");
    int64_t rows = a->shape.dims[0], inner = a->shape.dims[1], columns = b->shape.dims[1];
    struct shape shape = {2, {rows, columns}};
    struct constant *result = result_new(f, 0, a->type, &shape);
    if (!result)
        return false;
    f->t->model->work += (double)result->count * (double)inner;
    if (f->t->model->work > 0x1p32)
        return refuse_size(f);
    const double *left = numbers(f, a), *right = numbers(f, b);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < inner; k++) {
            for (int64_t j = 0; j < columns; j++)
                result->numbers[i * columns + j] += left[i * inner + k] * right[k * columns + j];
        }
    }
    return finish(f, result);
}

static bool fold_slice_like(const struct fold *f)
{
    switch (f->node->op[0]) {
    case 'G':
        return fold_gather(f);
    case 'C':
        return fold_concat(f);
    default:
        return f->node->op[1] == 'p' ? fold_split(f) : fold_slice(f);
    }
}

static bool fold_squeezes(const struct fold *f)
{
    return fold_squeeze(f, f->node->op[0] == 'U');
}

static const struct { const char *name; bool (*fold)(const struct fold *f); } folds[] = {
    {"Constant", fold_constant}, {"ConstantOfShape", fold_constant_of_shape}, {"Shape", fold_shape},
    {"Reshape", fold_reshape}, {"Flatten", fold_flatten}, {"Squeeze", fold_squeezes}, {"Unsqueeze", fold_squeezes},
    {"Transpose", fold_transpose}, {"Expand", fold_expand}, {"Slice", fold_slice_like}, {"Split", fold_slice_like},
    {"Gather", fold_slice_like}, {"Concat", fold_slice_like}, {"Cast", fold_cast}, {"Identity", fold_same},
    {"Dropout", fold_same}, {"Add", fold_binary}, {"Sub", fold_binary}, {"Mul", fold_binary}, {"Div", fold_binary},
    {"Pow", fold_binary}, {"Max", fold_binary}, {"Min", fold_binary}, {"Sum", fold_binary}, {"MatMul", fold_matmul},
    {"Neg", fold_unary}, {"Abs", fold_unary}, {"Erf", fold_unary}, {"Exp", fold_unary}, {"Log", fold_unary},
    {"Tanh", fold_unary}, {"Sqrt", fold_unary}, {"Sigmoid", fold_unary}, {"Relu", fold_unary},
    {"Reciprocal", fold_unary},
};

bool fold_can(const struct onnx_node *node)
{
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        if (!*node->domain && !strcmp(folds[i].name, node->op))
            return true;
    }
    return false;
}

bool fold_node(struct translation *t, const struct onnx_node *node)
{
    struct fold fold = {t, node};
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        if (!strcmp(folds[i].name, node->op))
            return folds[i].fold(&fold);
    }
    return false;
}
