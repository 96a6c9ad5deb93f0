/* A step's tape of operations evaluated in double, whole rows at a time, with bounds carried along. What counts as
 * honest: any order of summation in f32, two passes or Welford for a variance, every result rounded once or a few
 * times. Not honest: less precision than that, or another function. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

#include "element.h"

/* An operand as the operations see it: element (r, c) is at[r * stride + c], or column 0 where the width is 1. */
struct view {
    const mlp_bounded *at;
    size_t stride, width;
};

struct evaluation {
    const mlp_reading *reading;
    const mlp_op *op;               /* the operation under way */
    mlp_bounded **results;          /* of each operation: dense rows */
    mlp_bounded *operands[3];       /* made for the operation under way */
    struct view in[3];
    mlp_bounded *out;
};

static mlp_bounded element(struct view view, size_t row, size_t column)
{
    return view.at[row * view.stride + (view.width == 1 ? 0 : column)];
}

/* `bounds` may be NULL: then there are none. */
static mlp_bounded *within(const double *values, const double *bounds, size_t count)
{
    mlp_bounded *all = malloc(count * sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        all[i] = (mlp_bounded){values[i], bounds ? bounds[i] : 0};
    return all;
}

static mlp_bounded *parameter_row(const mlp_param *param, const unsigned char *bytes)
{
    double *values = malloc(param->cols * sizeof *values);
    mlp_bounded *row = NULL;
    if (values) {
        mlp_row_load(param->dtype, bytes, param->cols, values);
        row = within(values, NULL, param->cols);
    }
    free(values);
    return row;
}

static mlp_bounded *number_row(double number)
{
    mlp_bounded *row = malloc(sizeof *row);
    if (row)
        *row = mlp_bounded_number(number);
    return row;
}

/* The weight of a product stays packed: linear() unpacks it row by row. */
static int open_operand(struct evaluation *e, int which)
{
    const mlp_operand *operand = &e->op->in[which];
    const mlp_model *model = e->reading->model;
    const mlp_op *ops = e->reading->step->ops;
    size_t index = (size_t)operand->index;
    struct view *view = &e->in[which];
    *view = (struct view){.at = NULL};
    switch (operand->kind) {
    case MLP_NONE:
        return 1;
    case MLP_OP:
        *view = (struct view){e->results[index], ops[index].width, ops[index].width};
        return 1;
    case MLP_VALUE:
        view->stride = view->width = model->values[index].width;
        view->at = e->operands[which] =
            within(e->reading->values[index], e->reading->bounds ? e->reading->bounds[index] : NULL,
                   e->reading->rows * view->width);
        break;
    case MLP_PARAM:
        if (e->op->code == MLP_OP_LINEAR && which == 1)
            return 1;
        view->width = model->params[index].cols;
        view->at = e->operands[which] = parameter_row(&model->params[index], e->reading->params[index]);
        break;
    case MLP_NUMBER:
        view->width = 1;
        view->at = e->operands[which] = number_row(operand->number);
        break;
    }
    return view->at != NULL;
}

/* ---- Sums ----
 *
 * Each addition rounds a partial sum. Where terms cancel, partial sums stay small in any order that does not sort
 * them, and their roundings go either way; where terms have one sign, partial sums grow and roundings may all go one
 * way. So the bound counts the partial sums as they come, and the square root of the number of terms for other
 * orders. */

struct sum {
    double value, spread;           /* spread: from the bounds of the terms */
    double squares;                 /* of these bounds, added up */
    double size, partial;           /* absolute values of finite terms, of finite partial sums, added up */
};

static void sum_add(struct sum *sum, double term, double bound)
{
    sum->value += term;
    sum->spread += bound;
    sum->squares += bound * bound;
    sum->size += isfinite(term) ? fabs(term) : 0;
    sum->partial += isfinite(sum->value) ? fabs(sum->value) : 0;
}

/* `each`: relative error of a term, beyond a rounding. A sum of infinite terms is infinite or NaN in any order. */
static mlp_bounded sum_bounded(const struct sum *sum, size_t count, double roundings, double each)
{
    double spread = sum->spread, units = 2 * sum->partial + (8 + sqrt((double)count)) * sum->size;
    if (isnan(spread) || sum->size + spread >= MLP_OVERFLOW)
        spread = INFINITY;
    return mlp_bounded_settle(sum->value, spread + roundings * MLP_UNIT * units + each * sum->size);
}

/* Tensor cores cut digits where others round. In TF32 each factor of a term is cut to 10 digits behind the first, not
 * rounded: both are off by as much as 2^-10. */
static mlp_bounded product_bounded(const mlp_model *model, const struct sum *sum, size_t count)
{
    int cuda = model->target == MLP_CUDA;
    return sum_bounded(sum, count, cuda ? 2 : 1, cuda && model->dtype == MLP_TF32 ? 2 * 0x1p-10 : 0);
}

/* A product of values that went through many roundings each: they are independent, so that their squares add up. */
static void spread_independent(struct sum *sum)
{
    if (isfinite(sum->spread))
        sum->spread = sqrt(sum->squares);
}

static void linear_row(const struct evaluation *e, size_t n, const double *weight)
{
    size_t k = e->in[0].width;
    for (size_t r = 0; r < e->reading->rows; r++) {
        const mlp_bounded *x = e->in[0].at + r * e->in[0].stride;
        struct sum sum = {0};
        for (size_t i = 0; i < k; i++)
            sum_add(&sum, x[i].value * weight[i], x[i].bound * fabs(weight[i]));
        if (e->reading->bounds)
            spread_independent(&sum);
        if (e->in[2].at)
            sum_add(&sum, element(e->in[2], r, n).value, 0);
        e->out[r * e->op->width + n] = product_bounded(e->reading->model, &sum, k);
    }
}

/* One row of a packed weight. */
static void load_weight(const mlp_param *param, const unsigned char *packed, size_t row, double *weight)
{
    size_t size = mlp_dtype_size(param->dtype);
    if (!param->panel) {
        mlp_row_load(param->dtype, packed + row * param->ld * size, param->cols, weight);
        return;
    }
    packed += (row / param->panel * param->cols * param->panel + row % param->panel) * size;
    for (size_t i = 0; i < param->cols; i++)
        mlp_row_load(param->dtype, packed + i * param->panel * size, 1, weight + i);
}

static int linear(const struct evaluation *e)
{
    const mlp_param *param = &e->reading->model->params[e->op->in[1].index];
    const unsigned char *packed = e->reading->params[e->op->in[1].index];
    double *weight = malloc(param->cols * sizeof *weight);
    for (size_t n = 0; weight && n < param->rows; n++) {
        load_weight(param, packed, n, weight);
        linear_row(e, n, weight);
    }
    free(weight);
    return weight != NULL;
}

static void reduce(const struct evaluation *e, size_t r)
{
    size_t width = e->op->code == MLP_OP_DOT && e->in[1].width > e->in[0].width ? e->in[1].width : e->in[0].width;
    struct sum sum = {0};
    for (size_t c = 0; c < width; c++) {
        mlp_bounded a = element(e->in[0], r, c), b = {1, 0};
        if (e->op->code == MLP_OP_DOT)
            b = element(e->in[1], r, c);
        double carried = fabs(a.value) * b.bound + fabs(b.value) * a.bound + a.bound * b.bound;
        sum_add(&sum, a.value * b.value, a.bound > 0 || b.bound > 0 ? carried : 0);
    }
    mlp_bounded total = sum_bounded(&sum, width, 1, 0);
    if (e->op->code == MLP_OP_MEAN)
        total = mlp_bounded_map(MLP_OP_DIV, e->op->attr, total, (mlp_bounded){(double)width, 0});
    e->out[r] = total;
}

/* ---- Softmax ---- */

/* What the whole row has in common. */
struct softmax {
    double largest, sum;            /* of exp(x - largest) */
    double bound;                   /* the largest bound of an element */
    double growth;                  /* relative error of the sum: its order, and rounded arguments of exp */
};

static struct softmax softmax_of(const struct evaluation *e, size_t r)
{
    size_t width = e->in[0].width;
    struct softmax s = {element(e->in[0], r, 0).value, 0, 0, MLP_UNIT * ((double)width + 10)};
    for (size_t c = 0; c < width; c++) {
        mlp_bounded x = element(e->in[0], r, c);
        s.largest = x.value > s.largest || isnan(x.value) ? x.value : s.largest;
        s.bound = fmax(s.bound, x.bound);
    }
    double arguments = 0;
    for (size_t c = 0; c < width; c++) {
        double argument = element(e->in[0], r, c).value - s.largest;
        s.sum += exp(argument);
        arguments += exp(argument) > 0 ? exp(argument) * fabs(argument) : 0;
    }
    s.growth += MLP_UNIT * arguments / s.sum;
    return s;
}

/* NaN and infinities are certain, unless an element of the row is not. */
static mlp_bounded softmax_bounded(const struct softmax *s, double value, double bound)
{
    return mlp_bounded_settle(value, isfinite(value) && isfinite(s->bound) ? bound : s->bound);
}

static void softmax(const struct evaluation *e, size_t r)
{
    struct softmax s = softmax_of(e, r);
    for (size_t c = 0; c < e->op->width; c++) {
        mlp_bounded x = element(e->in[0], r, c);
        double value = exp(x.value - s.largest) / s.sum;
        double relative = x.bound + s.bound + s.growth + MLP_UNIT * fmin(fabs(x.value - s.largest), 104);
        e->out[r * e->op->width + c] = softmax_bounded(&s, value, value * expm1(relative));
    }
}

static void log_softmax(const struct evaluation *e, size_t r)
{
    struct softmax s = softmax_of(e, r);
    for (size_t c = 0; c < e->op->width; c++) {
        mlp_bounded x = element(e->in[0], r, c);
        double value = x.value - s.largest - log(s.sum);
        double rounded = fabs(x.value) + fabs(s.largest) + fabs(log(s.sum)) + fabs(value);
        double bound = x.bound + s.bound + s.growth + 2 * MLP_UNIT * rounded;
        e->out[r * e->op->width + c] = softmax_bounded(&s, value, bound);
    }
}

/* ---- Norms ---- */

/* 1 / sqrt(x + eps), for an x >= 0 that is known up to its bound. */
static mlp_bounded inverse_root(mlp_bounded x, double eps)
{
    double value = 1 / sqrt(x.value + eps);
    if (isinf(x.bound) || !isfinite(value))
        return (mlp_bounded){value, x.bound > 0 ? INFINITY : 0};
    double low = 1 / sqrt(x.value + x.bound + eps), high = 1 / sqrt(fmax(x.value - x.bound, 0) + eps);
    return (mlp_bounded){value, fmax(value - low, high - value) + 4 * MLP_UNIT * value};
}

/* The mean of the squares of d[0 .. width - 1]. */
static mlp_bounded mean_square(const mlp_bounded *d, size_t width)
{
    struct sum sum = {0};
    for (size_t c = 0; c < width; c++)
        sum_add(&sum, d[c].value * d[c].value, 2 * fabs(d[c].value) * d[c].bound + d[c].bound * d[c].bound);
    mlp_bounded total = sum_bounded(&sum, width, 1, 0);
    return (mlp_bounded){total.value / (double)width, total.bound / (double)width};
}

/* d * scale, then times weight plus bias where they are there. */
static mlp_bounded scaled(mlp_bounded d, mlp_bounded scale, const mlp_bounded *weight, const mlp_bounded *bias)
{
    static const double none[2];
    mlp_bounded y = mlp_bounded_map(MLP_OP_MUL, none, d, scale);
    if (weight)
        y = mlp_bounded_map(MLP_OP_MUL, none, y, *weight);
    return bias ? mlp_bounded_map(MLP_OP_ADD, none, y, *bias) : y;
}

static void centre(const struct evaluation *e, size_t r, mlp_bounded *d)
{
    size_t width = e->op->width;
    struct sum sum = {0};
    for (size_t c = 0; c < width; c++)
        sum_add(&sum, element(e->in[0], r, c).value, element(e->in[0], r, c).bound);
    mlp_bounded total = sum_bounded(&sum, width, 1, 0);
    mlp_bounded mean = {total.value / (double)width, total.bound / (double)width};
    for (size_t c = 0; c < width; c++)
        d[c] = mlp_bounded_map(MLP_OP_SUB, e->op->attr, element(e->in[0], r, c), mean);
}

static void layernorm(const struct evaluation *e, size_t r)
{
    mlp_bounded *d = e->out + r * e->op->width;
    centre(e, r, d);
    mlp_bounded scale = inverse_root(mean_square(d, e->op->width), e->op->attr[0]);
    for (size_t c = 0; c < e->op->width; c++)
        d[c] = scaled(d[c], scale, e->in[1].at ? &e->in[1].at[c] : NULL, e->in[2].at ? &e->in[2].at[c] : NULL);
}

static void rmsnorm(const struct evaluation *e, size_t r)
{
    mlp_bounded *y = e->out + r * e->op->width;
    for (size_t c = 0; c < e->op->width; c++)
        y[c] = element(e->in[0], r, c);
    mlp_bounded scale = inverse_root(mean_square(y, e->op->width), e->op->attr[0]);
    for (size_t c = 0; c < e->op->width; c++) {
        mlp_bounded weight = {1, 0}, offset = mlp_bounded_number(e->op->attr[1]);
        if (e->in[1].at)
            weight = mlp_bounded_map(MLP_OP_ADD, e->op->attr, offset, e->in[1].at[c]);
        y[c] = scaled(y[c], scale, e->in[1].at ? &weight : NULL, NULL);
    }
}

/* ---- One operation, one step ---- */

/* The GELU that cuBLASLt puts behind a product takes a fast tanh: on an H200 it was off by 3e-6 |x|. The CPU's and the
 * generated kernels' GELU is not, and is not allowed to be. */
static const double product_gelu_error = 1e-5;

static int is_product_gelu(const struct evaluation *e)
{
    return e->op->code == MLP_OP_GELU_TANH && e->reading->model->target == MLP_CUDA &&
           e->reading->step->ops[0].code == MLP_OP_LINEAR;
}

static mlp_bounded map_element(const struct evaluation *e, mlp_bounded a, mlp_bounded b)
{
    mlp_bounded y = mlp_bounded_map(e->op->code, e->op->attr, a, b);
    if (is_product_gelu(e) && isfinite(a.value))
        y.bound += product_gelu_error * fabs(a.value);
    return y;
}

static void map(const struct evaluation *e, size_t r)
{
    for (size_t c = 0; c < e->op->width; c++) {
        mlp_bounded a = element(e->in[0], r, c), b = {0, 0};
        if (e->in[1].at)
            b = element(e->in[1], r, c);
        if (e->op->code == MLP_OP_AFFINE) {
            mlp_bounded product = mlp_bounded_map(MLP_OP_MUL, e->op->attr, a, b);
            a = mlp_bounded_map(MLP_OP_ADD, e->op->attr, product, element(e->in[2], r, c));
        } else {
            a = map_element(e, a, b);
        }
        e->out[r * e->op->width + c] = a;
    }
}

static void (*row_function(mlp_op_code code))(const struct evaluation *e, size_t r)
{
    switch (code) {
    case MLP_OP_SOFTMAX:
        return softmax;
    case MLP_OP_LOG_SOFTMAX:
        return log_softmax;
    case MLP_OP_LAYERNORM:
        return layernorm;
    case MLP_OP_RMSNORM:
        return rmsnorm;
    case MLP_OP_SUM:
    case MLP_OP_MEAN:
    case MLP_OP_DOT:
        return reduce;
    default:
        return map;
    }
}

static int evaluate(struct evaluation *e, size_t index)
{
    e->op = &e->reading->step->ops[index];
    e->out = e->results[index] = malloc(e->reading->rows * e->op->width * sizeof *e->out);
    int ready = e->out != NULL;
    for (int i = 0; i < 3; i++) {
        e->operands[i] = NULL;
        ready = ready && open_operand(e, i);
    }
    if (ready && e->op->code == MLP_OP_LINEAR)
        ready = linear(e);
    else if (ready)
        for (size_t r = 0; r < e->reading->rows; r++)
            row_function(e->op->code)(e, r);
    for (int i = 0; i < 3; i++)
        free(e->operands[i]);
    return ready;
}

mlp_bounded *mlp_reference_step(const mlp_reading *reading)
{
    size_t count = reading->step->op_count;
    struct evaluation e = {.reading = reading, .results = calloc(count, sizeof *e.results)};
    int ready = e.results != NULL;
    for (size_t i = 0; ready && i < count; i++)
        ready = evaluate(&e, i);
    mlp_bounded *result = NULL;
    for (size_t i = 0; e.results && i < count; i++) {
        if (ready && i == count - 1)
            result = e.results[i];
        else
            free(e.results[i]);
    }
    free(e.results);
    return result;
}

mlp_bounded mlp_reference_stored(mlp_dtype dtype, mlp_bounded exact)
{
    if (isinf(exact.bound) || !isfinite(exact.value))
        return exact;
    double size = fabs(exact.value);
    if (size - exact.bound >= mlp_dtype_limit(dtype))
        return (mlp_bounded){copysign(INFINITY, exact.value), 0};
    if (size + exact.bound >= mlp_dtype_limit(dtype))
        return (mlp_bounded){exact.value, INFINITY};
    return (mlp_bounded){exact.value, exact.bound + mlp_dtype_half_step(dtype, size + exact.bound)};
}

double mlp_reference_excess(double got, mlp_bounded stored)
{
    if (isinf(stored.bound) || got == stored.value || (isnan(got) && isnan(stored.value)))
        return 0;
    if (!isfinite(got) || !isfinite(stored.value))
        return INFINITY;
    return fabs(got - stored.value) / stored.bound;
}
