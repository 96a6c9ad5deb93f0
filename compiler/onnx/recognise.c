#include "recognise.h"

#include <math.h>
#include <string.h>

/* ---- parts of patterns ---- */

static bool is(const struct term *term, enum term_op op)
{
    return term->op == op;
}

/* Constants of a model are rounded to its type. */
static double precision(enum element type)
{
    return type == ELEMENT_F32 ? 2e-6 : type == ELEMENT_F16 ? 1e-3 : 8e-3;
}

static bool is_near(double number, double expected, enum element type)
{
    return fabs(number - expected) <= precision(type) * fabs(expected);
}

static bool is_number(const struct term *term, double expected)
{
    return is(term, TERM_NUMBER) && is_near(term->numbers[0], expected, term->type);
}

/* The argument beside a number in a sum or product; NULL where none is one. */
static struct term *beside_number(const struct term *pair, double *number)
{
    for (int i = 0; i < 2; i++) {
        if (is(pair->args[i], TERM_NUMBER)) {
            *number = pair->args[i]->numbers[0];
            return pair->args[1 - i];
        }
    }
    return NULL;
}

/* `term` as a polynomial of x up to the third degree, coefficients from the lowest; false where it is none. */
static bool polynomial(const struct term *term, const struct term *x, int depth, double *c)
{
    double a[4] = {0}, b[4] = {0};
    memset(c, 0, 4 * sizeof *c);
    if (term == x) {
        c[1] = 1;
        return true;
    }
    if (is(term, TERM_NUMBER)) {
        c[0] = term->numbers[0];
        return true;
    }
    if (!depth || term->op < TERM_ADD || term->op > TERM_DIV || !polynomial(term->args[0], x, depth - 1, a) ||
        !polynomial(term->args[1], x, depth - 1, b))
        return false;
    bool fits = true;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; is(term, TERM_MUL) && j < 4; j++) {
            if (i + j < 4)
                c[i + j] += a[i] * b[j];
            else
                fits = fits && a[i] * b[j] == 0;
        }
        if (is(term, TERM_ADD) || is(term, TERM_SUB))
            c[i] = is(term, TERM_ADD) ? a[i] + b[i] : a[i] - b[i];
        if (is(term, TERM_DIV))
            c[i] = a[i] / b[0];
    }
    return fits && (!is(term, TERM_DIV) || (!b[1] && !b[2] && !b[3] && b[0] != 0));
}

/* Whether `term` is c1 x + c3 x³. */
static bool is_odd_cubic(const struct term *term, const struct term *x, double c1, double c3)
{
    double c[4];
    return polynomial(term, x, 7, c) && c[0] == 0 && c[2] == 0 && is_near(c[1], c1, x->type) &&
           (c3 != 0 ? is_near(c[3], c3, x->type) : c[3] == 0);
}

/* A product taken apart: numbers multiplied up, other factors in a list. */
struct factors {
    double number;
    int count;
    struct term *at[4];
};

static bool take_factors(struct term *term, int depth, struct factors *factors)
{
    if (is(term, TERM_NUMBER)) {
        factors->number *= term->numbers[0];
        return true;
    }
    if (is(term, TERM_MUL) && depth)
        return take_factors(term->args[0], depth - 1, factors) && take_factors(term->args[1], depth - 1, factors);
    if (is(term, TERM_DIV) && is(term->args[1], TERM_NUMBER) && depth) {
        factors->number /= term->args[1]->numbers[0];
        return take_factors(term->args[0], depth - 1, factors);
    }
    if (factors->count == 4)
        return false;
    factors->at[factors->count++] = term;
    return true;
}

static void become(struct term *term, enum term_op op, struct term *x)
{
    term->op = op;
    term->arg_count = 1;
    term->args[0] = x;
    term->number_count = 0;
}

/* ---- activations ---- */

/* 0.5 x (1 + erf(x / sqrt(2))), 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) */
static bool is_gelu(const struct term *x, const struct term *gate, double half, enum term_op *op)
{
    double one;
    const struct term *inner = is(gate, TERM_ADD) ? beside_number(gate, &one) : NULL;
    if (!inner || !is_near(one * half, 0.5, x->type) || one != 1)
        return false;
    *op = is(inner, TERM_ERF) ? TERM_GELU : TERM_GELU_TANH;
    if (is(inner, TERM_ERF))
        return is_odd_cubic(inner->args[0], x, sqrt(0.5), 0);
    return is(inner, TERM_TANH) && is_odd_cubic(inner->args[0], x, sqrt(2 / M_PI), sqrt(2 / M_PI) * 0.044715);
}

/* x relu6(x + 3) / 6 */
static bool is_hardswish(const struct term *x, const struct term *gate, double number)
{
    double three;
    return is(gate, TERM_RELU6) && is(gate->args[0], TERM_ADD) && beside_number(gate->args[0], &three) == x &&
           three == 3 && is_near(number, 1. / 6, x->type);
}

static bool gate_of(const struct term *x, const struct term *gate, double number, enum term_op *op)
{
    if (is_gelu(x, gate, number, op))
        return true;
    if (is_hardswish(x, gate, number)) {
        *op = TERM_HARDSWISH;
        return true;
    }
    if (number != 1 || !gate->arg_count)
        return false;
    const struct term *inner = gate->args[0];
    if (is(gate, TERM_SIGMOID) && inner == x)
        *op = TERM_SILU;
    else if (is(gate, TERM_HARDSIGMOID) && inner == x)
        *op = TERM_HARDSWISH;
    else if (is(gate, TERM_TANH) && is(inner, TERM_SOFTPLUS) && inner->args[0] == x)
        *op = TERM_MISH;
    else
        return false;
    return true;
}

static void find_activation(struct term *term)
{
    struct factors factors = {.number = 1};
    enum term_op op;
    if ((!is(term, TERM_MUL) && !is(term, TERM_DIV)) || !take_factors(term, 4, &factors) || factors.count != 2)
        return;
    for (int i = 0; i < 2; i++) {
        struct term *x = factors.at[i];
        if (x->width == term->width && gate_of(x, factors.at[1 - i], factors.number, &op)) {
            become(term, op, x);
            return;
        }
    }
}

/* x > 20 ? x : softplus(x), which is what the language calls softplus. */
static void find_softplus(struct term *term)
{
    if (!is(term, TERM_WHERE) || !is(term->args[0], TERM_GREATER) || !is(term->args[2], TERM_SOFTPLUS))
        return;
    struct term *x = term->args[1];
    if (term->args[2]->args[0] == x && term->args[0]->args[0] == x && is_number(term->args[0]->args[1], 20))
        become(term, TERM_SOFTPLUS, x);
}

/* ---- norms ---- */

/* The square of a term, as a product. */
static bool is_square(const struct term *term, const struct term *of)
{
    return is(term, TERM_MUL) && term->args[0] == of && term->args[1] == of;
}

/* sqrt(mean(d²) + eps) of some d: d, or NULL. */
static struct term *deviation(const struct term *term, double *eps)
{
    const struct term *mean = is(term, TERM_SQRT) ? term->args[0] : NULL;
    *eps = 0;
    if (mean && is(mean, TERM_ADD))
        mean = beside_number(mean, eps);
    if (!mean || !is(mean, TERM_MEAN) || !is(mean->args[0], TERM_MUL) || *eps < 0)
        return NULL;
    struct term *d = mean->args[0]->args[0];
    return is_square(mean->args[0], d) ? d : NULL;
}

/* d / sqrt(...), or d times 1 / sqrt(...): d, or NULL. */
static struct term *normalised(const struct term *term, double *eps)
{
    if (is(term, TERM_DIV))
        return deviation(term->args[1], eps) == term->args[0] ? term->args[0] : NULL;
    for (int i = 0; is(term, TERM_MUL) && i < 2; i++) {
        const struct term *inverse = term->args[1 - i];
        if (is(inverse, TERM_DIV) && is_number(inverse->args[0], 1) &&
            deviation(inverse->args[1], eps) == term->args[i])
            return term->args[i];
    }
    return NULL;
}

static void find_norm(struct term *term)
{
    double eps;
    struct term *d = normalised(term, &eps);
    if (!d)
        return;
    bool centred = is(d, TERM_SUB) && is(d->args[1], TERM_MEAN) && d->args[1]->args[0] == d->args[0];
    become(term, centred ? TERM_LAYERNORM : TERM_RMSNORM, centred ? d->args[0] : d);
    term->number_count = 1;
    term->numbers[0] = eps;
    term->weight = term->bias = NULL;
}

/* ---- weights and biases ---- */

/* Takes over what `from` computes; the model's name for the whole stays. */
static void absorb(struct term *term, const struct term *from)
{
    const struct term whole = *term;
    *term = *from;
    term->hint = whole.hint ? whole.hint : from->hint;
    term->node = whole.node;
    term->uses = whole.uses;
}

/* A row of parameters as wide as the other argument of a sum or product, which nothing else uses. */
static struct term *beside_param(const struct term *pair, enum term_op op, struct constant **param)
{
    for (int i = 0; is(pair, op) && i < 2; i++) {
        struct term *other = pair->args[1 - i];
        if (is(pair->args[i], TERM_PARAM) && pair->args[i]->width == other->width && other->uses == 1) {
            *param = pair->args[i]->weight;
            return other;
        }
    }
    return NULL;
}

static void find_parameters(struct term *term)
{
    struct constant *param;
    const struct term *sum = beside_param(term, TERM_ADD, &param);
    if (sum && !sum->bias && (is(sum, TERM_LINEAR) || (is(sum, TERM_LAYERNORM) && sum->weight))) {
        absorb(term, sum);
        term->bias = param;
        return;
    }
    const struct term *product = beside_param(term, TERM_MUL, &param);
    if (product && !product->weight && (is(product, TERM_LAYERNORM) || is(product, TERM_RMSNORM))) {
        absorb(term, product);
        term->weight = param;
    }
}

/* ---- all ---- */

static void find_dot(struct term *term)
{
    if (is(term, TERM_SUM) && is(term->args[0], TERM_MUL) && term->args[0]->uses == 1 &&
        term->args[0]->args[0]->width == term->args[0]->args[1]->width &&
        !is(term->args[0]->args[0], TERM_PARAM) && !is(term->args[0]->args[1], TERM_PARAM)) {
        struct term **factors = term->args[0]->args;
        term->op = TERM_DOT;
        term->arg_count = 2;
        term->args = factors;
    }
}

/* Types are checked by now; a cast says nothing that the language does not decide itself. */
static void strip_casts(struct net *net)
{
    for (size_t i = 0; i < net->terms.count; i++) {
        struct term *term = net->terms.at[i];
        for (int j = 0; j < term->arg_count; j++) {
            while (is(term->args[j], TERM_CAST))
                term->args[j] = term->args[j]->args[0];
        }
    }
    for (size_t i = 0; i < net->outputs.count; i++) {
        while (is(net->outputs.at[i], TERM_CAST))
            net->outputs.at[i] = net->outputs.at[i]->args[0];
    }
}

static void for_all(struct net *net, void (*find)(struct term *term))
{
    for (size_t i = 0; i < net->terms.count; i++) {
        if (net->terms.at[i]->reached)
            find(net->terms.at[i]);
    }
    terms_count_uses(net);
}

bool recognise_functions(struct model *model, struct net *net)
{
    bool good = true;
    strip_casts(net);
    terms_count_uses(net);
    for_all(net, find_softplus);
    for_all(net, find_activation);
    for_all(net, find_norm);
    for_all(net, find_parameters);
    for_all(net, find_parameters);      /* the bias of a norm that found its weight */
    for_all(net, find_dot);
    for (size_t i = 0; i < net->terms.count; i++) {
        const struct term *term = net->terms.at[i];
        if (term->reached && is(term, TERM_ERF))
            good = model_refuse(model, term->node, "the language has erf only inside of gelu");
        if (term->reached && (is(term, TERM_GREATER) || is(term, TERM_WHERE)))
            good = model_refuse(model, term->node, "the language has no choice between values");
    }
    return good;
}
