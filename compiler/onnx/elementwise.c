/* Operators that work element by element. */
#include <math.h>
#include <string.h>

#include "../quote.h"
#include "attribute.h"
#include "tensor.h"
#include "translate.h"

/* x op number, and number op x. Neither can fail: the types are one, and a number fits to any shape. */
static struct term *with_number(struct translation *t, const struct onnx_node *node, enum term_op op, struct term *x,
                                double number)
{
    return term_make(t->net, node, op, x, term_number(t->net, x->type, number));
}

static struct term *number_with(struct translation *t, const struct onnx_node *node, enum term_op op, double number,
                                struct term *x)
{
    return term_make(t->net, node, op, term_number(t->net, x->type, number), x);
}

static struct term *call(struct translation *t, const struct onnx_node *node, enum term_op op, struct term *x)
{
    return term_make(t->net, node, op, x, NULL);
}

/* x / (1 + |x|) */
static struct term *softsign(struct translation *t, const struct onnx_node *node, struct term *x)
{
    return term_make(t->net, node, TERM_DIV, x, number_with(t, node, TERM_ADD, 1, call(t, node, TERM_ABS, x)));
}

bool translate_unary(struct translation *t, const struct onnx_node *node)
{
    static const struct { const char *name; enum term_op op; } simple[] = {
        {"Relu", TERM_RELU},     {"Sigmoid", TERM_SIGMOID},     {"Tanh", TERM_TANH}, {"Softplus", TERM_SOFTPLUS},
        {"Exp", TERM_EXP},       {"Log", TERM_LOG},             {"Sqrt", TERM_SQRT}, {"Abs", TERM_ABS},
        {"Mish", TERM_MISH},     {"HardSwish", TERM_HARDSWISH}, {"Neg", TERM_NEG},   {"Erf", TERM_ERF},
    };
    const struct rows *x = rows_input(t, node, 0, "its input");
    if (!x)
        return false;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        if (!strcmp(node->op, simple[i].name))
            return give_like(t, node, call(t, node, simple[i].op, x->term), x);
    }
    if (!strcmp(node->op, "Softsign"))
        return give_like(t, node, softsign(t, node, x->term), x);
    return give_like(t, node, number_with(t, node, TERM_DIV, 1, x->term), x);       /* Reciprocal */
}

static enum term_op binary_op(const char *name)
{
    switch (name[0]) {
    case 'A':
        return TERM_ADD;
    case 'D':
        return TERM_DIV;
    case 'G':
        return TERM_GREATER;
    default:
        return name[1] == 'u' && name[2] == 'b' ? TERM_SUB : TERM_MUL;
    }
}

bool translate_binary(struct translation *t, const struct onnx_node *node)
{
    struct rows result;
    return combine(t, node, binary_op(node->op), operand_of(node, 0), operand_of(node, 1), &result) &&
           give_like(t, node, result.term, &result);
}

/* Of values of one shape. */
bool translate_where(struct translation *t, const struct onnx_node *node)
{
    const struct rows *condition = rows_input(t, node, 0, "its condition");
    const struct rows *x = condition ? rows_input(t, node, 1, "its first choice") : NULL;
    const struct rows *y = x ? rows_input(t, node, 2, "its second choice") : NULL;
    if (!y)
        return false;
    for (int i = 0; i < 3; i++) {
        const struct rows *rows = node->inputs[i]->rows;
        if (rows->lead != x->lead || rows_rank(rows) != rows_rank(x) || rows->term->width != x->term->width ||
            rows->term->type != x->term->type)
            return model_refuse(t->model, node, "its inputs are not of one shape and type");
    }
    struct term *term = term_new(t->net, node, TERM_WHERE, 3, x->term->width, x->term->type);
    for (int i = 0; i < 3; i++)
        term->args[i] = node->inputs[i]->rows->term;
    return give_like(t, node, term, x);
}

/* Sum, Mean, Max, Min of any number of arguments, of which one is no constant. */
bool translate_variadic(struct translation *t, const struct onnx_node *node)
{
    bool add = !strcmp(node->op, "Sum") || !strcmp(node->op, "Mean");
    enum term_op op = add ? TERM_ADD : !strcmp(node->op, "Max") ? TERM_MAXIMUM : TERM_MINIMUM;
    struct rows sum = {0}, next;
    int first = 0;
    while (!operand_of(node, first).rows)
        first++;
    struct operand so_far = operand_of(node, first);
    for (int i = 0; i < node->input_count; i++) {
        if (i == first)
            continue;
        if (!combine(t, node, op, so_far, operand_of(node, i), &next))
            return false;
        sum = next;
        so_far.constant = NULL;
        so_far.rows = &sum;
    }
    struct term *term = so_far.rows->term;
    if (!strcmp(node->op, "Mean") && node->input_count > 1)
        term = with_number(t, node, TERM_DIV, term, node->input_count);
    return give_like(t, node, term, so_far.rows);
}

/* The largest and the smallest number of a type bound nothing. */
static struct term *clip(struct translation *t, const struct onnx_node *node, struct term *x, double low, double high)
{
    bool below = high < 3.4e38, above = low > -3.4e38;
    if (above && below && low == 0 && high == 6)
        return call(t, node, TERM_RELU6, x);
    if (above && below)
        return term_call(t->net, node, TERM_CLAMP, x, 2, low, high);
    if (above && low == 0)
        return call(t, node, TERM_RELU, x);
    if (above)
        return with_number(t, node, TERM_MAXIMUM, x, low);
    return below ? with_number(t, node, TERM_MINIMUM, x, high) : x;
}

bool translate_clip(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    double low = attribute_float(node, "min", -INFINITY), high = attribute_float(node, "max", INFINITY);
    if (!x || !number_input(t, node, 1, low, &low) || !number_input(t, node, 2, high, &high))
        return false;
    if (isnan(low) || isnan(high) || low == INFINITY || high == -INFINITY)
        return model_refuse(t->model, node, "its bounds are no numbers");
    return give_like(t, node, clip(t, node, x->term, low, high), x);
}

/* Small whole exponents as products, roots and reciprocals as such: these are exact where x is negative, too. */
static struct term *power(struct translation *t, const struct onnx_node *node, struct term *x, double exponent)
{
    if (exponent < 0) {
        struct term *positive = power(t, node, x, -exponent);
        return positive ? number_with(t, node, TERM_DIV, 1, positive) : NULL;
    }
    if (exponent == 0.5)
        return call(t, node, TERM_SQRT, x);
    if (exponent != floor(exponent) || exponent < 1 || exponent > 8)
        return NULL;
    struct term *result = x;
    for (int i = 1; i < (int)exponent; i++)
        result = term_make(t->net, node, TERM_MUL, result, x);
    return result;
}

bool translate_pow(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its base");
    double exponent;
    if (!x || !number_input(t, node, 1, 1, &exponent))
        return false;
    struct term *term = power(t, node, x->term, exponent);
    if (!term)
        return model_refuse(t->model, node, "the language has no power of %g", exponent);
    return give_like(t, node, term, x);
}

/* max(x, 0) + slope * min(x, 0) */
bool translate_prelu(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    struct constant *slope = x ? constant_input(t, node, 1, "its slope") : NULL;
    struct rows product;
    if (!slope)
        return false;
    if (slope->count == 1 && slope->type == x->term->type)
        return give_like(t, node, term_call(t->net, node, TERM_LEAKY_RELU, x->term, 1,
                                            tensor_numbers(t->arena, slope)[0], 0), x);
    struct operand negative = term_operand(t, with_number(t, node, TERM_MINIMUM, x->term, 0), x);
    if (!combine(t, node, TERM_MUL, (struct operand){.constant = slope}, negative, &product))
        return false;
    if (product.term->width != x->term->width)
        return model_refuse(t->model, node, "its slope is wider than its input");
    struct term *positive = call(t, node, TERM_RELU, x->term);
    return give_like(t, node, term_make(t->net, node, TERM_ADD, positive, product.term), x);
}

static struct term *hard_sigmoid(struct translation *t, const struct onnx_node *node, struct term *x)
{
    double alpha = attribute_float(node, "alpha", 0.2), beta = attribute_float(node, "beta", 0.5);
    if ((float)alpha == (float)(1.0 / 6) && beta == 0.5)
        return call(t, node, TERM_HARDSIGMOID, x);
    struct term *line = with_number(t, node, TERM_ADD, number_with(t, node, TERM_MUL, alpha, x), beta);
    return term_call(t->net, node, TERM_CLAMP, line, 2, 0, 1);
}

/* gamma * elu(x, alpha) */
static struct term *selu(struct translation *t, const struct onnx_node *node, struct term *x)
{
    double alpha = attribute_float(node, "alpha", 1.6732632423543772);
    double gamma = attribute_float(node, "gamma", 1.0507009873554805);
    return number_with(t, node, TERM_MUL, gamma, term_call(t->net, node, TERM_ELU, x, 1, alpha, 0));
}

/* alpha * elu(x / alpha) */
static struct term *celu(struct translation *t, const struct onnx_node *node, struct term *x)
{
    double alpha = attribute_float(node, "alpha", 1);
    if (alpha == 1)
        return term_call(t->net, node, TERM_ELU, x, 1, 1, 0);
    if (!(alpha > 0))
        return NULL;
    struct term *scaled = term_call(t->net, node, TERM_ELU, with_number(t, node, TERM_DIV, x, alpha), 1, 1, 0);
    return number_with(t, node, TERM_MUL, alpha, scaled);
}

/* x * sigmoid(alpha * x) */
static struct term *swish(struct translation *t, const struct onnx_node *node, struct term *x, double alpha)
{
    if (alpha == 1)
        return call(t, node, TERM_SILU, x);
    struct term *gate = call(t, node, TERM_SIGMOID, number_with(t, node, TERM_MUL, alpha, x));
    return term_make(t->net, node, TERM_MUL, x, gate);
}

/* Activations with numbers. */
bool translate_parametric(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    struct term *term = NULL;
    if (!x)
        return false;
    if (!strcmp(node->op, "LeakyRelu"))
        term = term_call(t->net, node, TERM_LEAKY_RELU, x->term, 1,
                         attribute_float(node, "alpha", 0.01), 0);
    else if (!strcmp(node->op, "Elu"))
        term = term_call(t->net, node, TERM_ELU, x->term, 1, attribute_float(node, "alpha", 1), 0);
    else if (!strcmp(node->op, "HardSigmoid"))
        term = hard_sigmoid(t, node, x->term);
    else if (!strcmp(node->op, "Selu"))
        term = selu(t, node, x->term);
    else if (!strcmp(node->op, "Celu"))
        term = celu(t, node, x->term);
    else if (!strcmp(node->op, "Swish"))
        term = swish(t, node, x->term, attribute_float(node, "alpha", 1));
    else if (!strcmp(node->op, "QuickGelu"))
        term = swish(t, node, x->term, attribute_float(node, "alpha", 1.702));
    else if (attribute_float(node, "alpha", 1) == 0)    /* ThresholdedRelu */
        term = call(t, node, TERM_RELU, x->term);
    if (!term)
        return model_refuse(t->model, node, "the language has no such function with its alpha");
    return give_like(t, node, term, x);
}

/* Gelu, and those of ONNX Runtime that add a bias first. */
bool translate_gelu(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    const char *approximate = attribute_string(t->arena, node, "approximate", "none");
    bool fast = !strcmp(node->op, "FastGelu") || !strcmp(approximate, "tanh");
    struct rows sum;
    if (!x)
        return false;
    if (!fast && strcmp(approximate, "none"))
        return model_refuse(t->model, node, "it has the unknown approximation %s", quote(t->arena, approximate));
    sum = *x;
    if (has_input(node, 1) && !combine(t, node, TERM_ADD, operand_of(node, 0), operand_of(node, 1), &sum))
        return false;
    return give_like(t, node, call(t, node, fast ? TERM_GELU_TANH : TERM_GELU, sum.term), &sum);
}

static struct operand float_list(struct translation *t, const struct onnx_node *node, const char *name)
{
    size_t count;
    const float *floats = attribute_floats(node, name, &count);
    struct constant *constant = ARENA_NEW(t->arena, struct constant);
    *constant = (struct constant){.name = name, .type = ELEMENT_F32, .count = count};
    constant->shape = (struct shape){1, {(int64_t)count}};
    constant->bytes = tensor_raw_32(t->arena, floats, count, sizeof *floats);
    return (struct operand){.constant = constant};
}

/* (x - offset) * scale, of ONNX's operators for classical models. */
bool translate_scaler(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    struct operand offset = float_list(t, node, "offset"), scale = float_list(t, node, "scale");
    struct rows shifted, scaled;
    if (!x)
        return false;
    if (!offset.constant->count || !scale.constant->count)
        return model_refuse(t->model, node, "it has no offset or no scale");
    struct operand input = {.rows = (struct rows *)(uintptr_t)x};
    if (!combine(t, node, TERM_SUB, input, offset, &shifted))
        return false;
    if (!combine(t, node, TERM_MUL, (struct operand){.rows = &shifted}, scale, &scaled))
        return false;
    return give_like(t, node, scaled.term, &scaled);
}

bool translate_same(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    return x && give_like(t, node, x->term, x);
}

/* Between types of floats: the language rounds by the model's type, see check_types of translate.c. */
bool translate_cast(struct translation *t, const struct onnx_node *node)
{
    const struct rows *x = rows_input(t, node, 0, "its input");
    enum element to = attribute_element(node, "to");
    if (!x)
        return false;
    if (!element_is_float(to))
        return model_refuse(t->model, node, "it turns values into %s", element_name(to));
    if (to == x->term->type)
        return give_like(t, node, x->term, x);
    struct term *cast = term_new(t->net, node, TERM_CAST, 1, x->term->width, to);
    cast->args[0] = x->term;
    return give_like(t, node, cast, x);
}

bool translate_dropout(struct translation *t, const struct onnx_node *node)
{
    const struct constant *training = has_input(node, 2) ? node->inputs[2]->constant : NULL;
    if (has_input(node, 2) && (!training || training->count != 1 ||
                               tensor_numbers(t->arena, node->inputs[2]->constant)[0] != 0))
        return model_refuse(t->model, node, "it is in training mode");
    return only_outputs(t, node, 1) && translate_same(t, node);
}
