/* Arithmetic and functions on bounded numbers. A bound grows in two ways: the operand's own bound is carried through
 * by evaluating the function at its ends, and the f32 evaluation adds a few roundings. All functions here are monotone
 * near every point, or their extremum lies inside the interval and then the ends are farther away than it is. */
#include "bounded.h"

#include <math.h>

mlp_bounded mlp_bounded_settle(double value, double bound)
{
    if (isnan(bound))
        bound = INFINITY;
    if (isinf(bound) || !isfinite(value))
        return (mlp_bounded){value, isinf(bound) ? bound : 0};
    if (fabs(value) - bound >= MLP_OVERFLOW)
        return (mlp_bounded){copysign(INFINITY, value), 0};
    if (fabs(value) + bound >= MLP_OVERFLOW)
        return (mlp_bounded){value, INFINITY};
    return (mlp_bounded){value, value != 0 ? bound + 0x1p-126 : bound};
}

mlp_bounded mlp_bounded_number(double number)
{
    if (fabs(number) >= MLP_OVERFLOW)
        return mlp_bounded_settle(number, 0);
    return (mlp_bounded){number, fabs(number - (float)number)};
}

/* ---- Functions of one operand, as PyTorch defines them ---- */

static double relu(double x, const double *attr)
{
    (void)attr;
    return x <= 0 ? 0 : x;
}

static double relu6(double x, const double *attr)
{
    return x > 6 ? 6 : relu(x, attr);
}

static double gelu(double x, const double *attr)
{
    (void)attr;
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

static double gelu_tanh(double x, const double *attr)
{
    (void)attr;
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-2 * u));
}

static double sigmoid(double x, const double *attr)
{
    (void)attr;
    return 1 / (1 + exp(-x));
}

static double silu(double x, const double *attr)
{
    (void)attr;
    return x / (1 + exp(-x));
}

static double softplus(double x, const double *attr)
{
    (void)attr;
    return x > 20 ? x : log1p(exp(x));
}

static double mish(double x, const double *attr)
{
    (void)attr;
    return x * tanh(log1p(exp(x)));
}

static double hardsigmoid(double x, const double *attr)
{
    return relu6(x + 3, attr) / 6;
}

static double hardswish(double x, const double *attr)
{
    return x * relu6(x + 3, attr) / 6;
}

static double hyperbolic(double x, const double *attr)
{
    (void)attr;
    return tanh(x);
}

static double identity(double x, const double *attr)
{
    (void)attr;
    return x;
}

static double exponential(double x, const double *attr)
{
    (void)attr;
    return exp(x);
}

static double logarithm(double x, const double *attr)
{
    (void)attr;
    return log(x);
}

static double root(double x, const double *attr)
{
    (void)attr;
    return sqrt(x);
}

static double absolute(double x, const double *attr)
{
    (void)attr;
    return fabs(x);
}

static double negative(double x, const double *attr)
{
    (void)attr;
    return -x;
}

static double leaky_relu(double x, const double *attr)
{
    return x > 0 ? x : x * attr[0];
}

static double elu(double x, const double *attr)
{
    return x > 0 ? x : attr[0] * expm1(x);
}

static double clamp(double x, const double *attr)
{
    double raised = x < attr[0] ? attr[0] : x;
    return raised > attr[1] ? attr[1] : raised;
}

/* What an evaluation in f32 may add, in roundings: relative to the result; relative to the operand, for functions of
 * the form x * gate(x), whose gate may be 1 minus almost 1; relative to the result times the operand where exp is
 * inside, since an argument rounded before exp is off by that much; and absolute. */
static const struct function {
    double (*evaluate)(double x, const double *attr);
    double by_result, by_operand, by_exponent, absolute;
} functions[] = {
    [MLP_OP_RELU] = {relu, 0, 0, 0, 0},
    [MLP_OP_RELU6] = {relu6, 0, 0, 0, 0},
    [MLP_OP_GELU] = {gelu, 0, 4, 0, 0},
    [MLP_OP_GELU_TANH] = {gelu_tanh, 0, 4, 0, 0},
    [MLP_OP_SILU] = {silu, 0, 4, 0, 0},
    [MLP_OP_MISH] = {mish, 0, 4, 0, 0},
    [MLP_OP_HARDSWISH] = {hardswish, 0, 4, 0, 0},
    [MLP_OP_HARDSIGMOID] = {hardsigmoid, 2, 0, 0, 1},
    [MLP_OP_SIGMOID] = {sigmoid, 4, 0, 2, 0},
    [MLP_OP_TANH] = {hyperbolic, 4, 0, 0, 0},
    [MLP_OP_SOFTPLUS] = {softplus, 4, 0, 2, 0},
    [MLP_OP_IDENTITY] = {identity, 0, 0, 0, 0},
    [MLP_OP_EXP] = {exponential, 4, 0, 2, 0},
    [MLP_OP_LOG] = {logarithm, 4, 0, 0, 0},
    [MLP_OP_SQRT] = {root, 2, 0, 0, 0},
    [MLP_OP_ABS] = {absolute, 0, 0, 0, 0},
    [MLP_OP_NEG] = {negative, 0, 0, 0, 0},
    [MLP_OP_LEAKY_RELU] = {leaky_relu, 2, 0, 0, 0},
    [MLP_OP_ELU] = {elu, 4, 0, 2, 0},
    [MLP_OP_CLAMP] = {clamp, 1, 0, 0, 0},
};

/* NaN and NaN are the same, so are two infinities of one sign; nothing else is at a finite distance from them. */
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

static mlp_bounded map_one(const struct function *function, const double *attr, mlp_bounded a)
{
    double value = function->evaluate(a.value, attr), size = fabs(value), spread = 0;
    /* -inf times a gate of 0 is NaN or 0, by the formula that was chosen */
    if (isinf(a.bound) || (function->by_operand > 0 && a.value == -INFINITY))
        return (mlp_bounded){value, INFINITY};
    if (a.bound > 0)
        spread = fmax(distance(function->evaluate(a.value - a.bound, attr), value),
                      distance(function->evaluate(a.value + a.bound, attr), value));
    if (!isfinite(value))
        return (mlp_bounded){value, spread};
    if (isinf(a.value) || value == 0)
        return mlp_bounded_settle(value, spread);
    double roundings = size * (function->by_result + function->by_exponent * fmin(fabs(a.value), 104)) +
                       function->by_operand * fabs(a.value) + function->absolute;
    return mlp_bounded_settle(value, spread + MLP_UNIT * roundings);
}

/* ---- Functions of two operands ---- */

static double evaluate_two(mlp_op_code code, double a, double b)
{
    switch (code) {
    case MLP_OP_ADD:
        return a + b;
    case MLP_OP_SUB:
        return a - b;
    case MLP_OP_MUL:
        return a * b;
    case MLP_OP_DIV:
        return a / b;
    case MLP_OP_MAXIMUM:
        return a > b || isnan(a) ? a : b;
    default:
        return a < b || isnan(a) ? a : b;
    }
}

/* Monotone in each operand: the corners of the rectangle are as far as it gets, unless the divisor may be 0. */
static mlp_bounded map_two(mlp_op_code code, mlp_bounded a, mlp_bounded b)
{
    double value = evaluate_two(code, a.value, b.value), spread = 0;
    int pole = code == MLP_OP_DIV && b.bound > 0 && fabs(b.value) <= b.bound;
    if (isinf(a.bound) || isinf(b.bound) || pole)
        return (mlp_bounded){value, INFINITY};
    for (int corner = 0; corner < 4 && (a.bound > 0 || b.bound > 0); corner++) {
        double x = a.value + (corner & 1 ? a.bound : -a.bound), y = b.value + (corner & 2 ? b.bound : -b.bound);
        spread = fmax(spread, distance(evaluate_two(code, x, y), value));
    }
    if (!isfinite(value))
        return (mlp_bounded){value, spread};
    int exact = code == MLP_OP_MAXIMUM || code == MLP_OP_MINIMUM;
    return mlp_bounded_settle(value, spread + (exact ? 0 : (code == MLP_OP_DIV ? 4 : 2) * MLP_UNIT * fabs(value)));
}

mlp_bounded mlp_bounded_map(mlp_op_code code, const double attr[2], mlp_bounded a, mlp_bounded b)
{
    if ((size_t)code < sizeof functions / sizeof *functions && functions[code].evaluate)
        return map_one(&functions[code], attr, a);
    return map_two(code, a, b);
}
