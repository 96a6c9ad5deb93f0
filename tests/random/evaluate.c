/* What a network must give, in float64, and how far off honest arithmetic may be.
 *
 * Every element carries three numbers: its value; `bound`, an upper bound of the error that roundings anywhere above it
 * can make (a running error analysis, infinite where anything may come out); and `size`, the sum of magnitudes that it
 * was added up from, since products, batchnorms and what is folded into them may be added up in any order.
 *
 * What is stored, and so rounded to the network's type, is decided by fusion. Here every operation may round to it.
 * Such bounds grow with the width of every layer and say little about a deep network of 16-bit numbers. So the network
 * is also evaluated `TRIALS` times with a random error of honest size in every element of every operation, and the
 * tolerance is the lesser of the bound and `MARGIN` times the largest deviation that these show for the element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

enum { TRIALS = 16, MARGIN = 8 };

static const double unit32 = 0x1p-24;

struct values {
    double *value, *bound, *size;   /* [rows, width] */
};

struct evaluation {
    const struct graph *graph;
    const struct array_in *inputs;
    int rows;
    double stored;                  /* what rounding to the network's type may do, relative; 0 in f32 */
    double weight;                  /* what rounding of weights and operands of products may do */
    double tiny;                    /* what rounding of the smallest numbers may do */
    double largest;                 /* beyond this, rounded values are infinite */
    double product_gelu;            /* what gelu_tanh of a product may be off, over its argument */
    struct values *nodes;
    struct rng *noise;              /* NULL: the exact evaluation, which also finds bounds */
};

/* An element in the making: what one operation adds. */
struct element {
    double value;
    double passed;                  /* the error that operands' errors make */
    double own;                     /* the error that this operation makes: at most, */
    double usual;                   /* and by chance */
    double size;
};

/* ---- Roundings ---- */

static double known(double bound)
{
    return isnan(bound) ? INFINITY : bound;
}

static void put(struct evaluation *e, struct values *to, size_t at, struct element element)
{
    double stored = e->stored * fabs(element.value) + e->tiny;
    double own = element.own + stored, usual = element.usual + stored;
    to->value[at] = element.value;
    if (e->noise) {
        to->value[at] += usual * rng_unit(e->noise);
        return;
    }
    to->size[at] = element.size;
    to->bound[at] = isnan(element.value) && element.passed == 0 ? 0 : known(element.passed + own);
    if (fabs(element.value) + to->bound[at] > e->largest)
        to->bound[at] = INFINITY;
}

/* A NaN that is sure makes a NaN that is sure: what follows from it has no error. */
static bool surely_nan(const struct evaluation *e, const struct values *x, size_t at)
{
    return isnan(x->value[at]) && (e->noise || x->bound[at] == 0);
}

static double bound_of(const struct evaluation *e, const struct values *x, size_t at)
{
    return e->noise ? 0 : x->bound[at];
}

static double size_of(const struct evaluation *e, const struct values *x, size_t at)
{
    return e->noise ? fabs(x->value[at]) : x->size[at];
}

/* ---- Element by element ---- */

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double softplus(double x)
{
    return x > 20 ? x : log1p(exp(x));
}

static double relu6(double x)
{
    return isnan(x) ? x : fmin(fmax(x, 0), 6);
}

static double map(const struct node *node, double x)
{
    if (isnan(x))
        return x;
    switch (node->op) {
    case OP_RELU: return fmax(x, 0);
    case OP_RELU6: return relu6(x);
    case OP_LEAKY_RELU: return x > 0 ? x : node->a * x;
    case OP_ELU: return x > 0 ? x : node->a * expm1(x);
    case OP_GELU: return x / 2 * erfc(-x / sqrt(2));
    case OP_GELU_TANH: return x * sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    case OP_SILU: return x * sigmoid(x);
    case OP_MISH: return x * tanh(softplus(x));
    case OP_HARDSWISH: return x * relu6(x + 3) / 6;
    case OP_HARDSIGMOID: return relu6(x + 3) / 6;
    case OP_SIGMOID: return sigmoid(x);
    case OP_TANH: return tanh(x);
    case OP_SOFTPLUS: return softplus(x);
    case OP_EXP: return exp(x);
    case OP_LOG: return log(x);
    case OP_SQRT: return sqrt(x);
    case OP_ABS: return fabs(x);
    case OP_CLAMP: return fmin(fmax(x, node->a), node->b);
    case OP_NEGATE: return -x;
    default: return x;
    }
}

/* How much steeper than 1 a function gets that does not rise everywhere, rounded up; 0: it rises everywhere. */
static double steepness(const struct node *node)
{
    switch (node->op) {
    case OP_GELU: case OP_GELU_TANH: return 1.14;
    case OP_SILU: case OP_MISH: return 1.11;
    case OP_HARDSWISH: return 1.5;
    case OP_ABS: case OP_NEGATE: return 1;
    case OP_LEAKY_RELU: case OP_ELU: return node->a < 0 ? fmax(1, -node->a) : 0;
    default: return 0;
    }
}

static bool rounds(enum op op)
{
    return op != OP_RELU && op != OP_RELU6 && op != OP_CLAMP && op != OP_ABS && op != OP_NEGATE && op != OP_IDENTITY;
}

static struct element map_element(const struct evaluation *e, const struct node *node, const struct values *x,
                                  size_t at)
{
    double v = x->value[at], bound = bound_of(e, x, at), steep = steepness(node);
    struct element result = {.value = map(node, v)};
    if (steep > 0)
        result.passed = steep * bound;
    else if (bound > 0)
        result.passed = isinf(bound) ? bound : fmax(fabs(map(node, v + bound) - result.value),
                                                    fabs(map(node, v - bound) - result.value));
    if ((node->op == OP_LOG || node->op == OP_SQRT) && !isnan(v) && v >= 0 && v - bound < 0)
        result.passed = INFINITY;
    if ((node->op == OP_LOG || node->op == OP_SQRT) && v < 0 && v + bound >= 0)
        result.passed = INFINITY;
    else if ((node->op == OP_LOG || node->op == OP_SQRT) && v < 0)
        result.passed = 0;
    if (rounds(node->op) && isfinite(result.value))
        result.own = unit32 * (16 * fabs(result.value) + 4 * fmin(fabs(v), 8)) + 1e-37;
    else if (node->op == OP_CLAMP)
        result.own = unit32 * fabs(result.value);   /* its limits are f32 */
    if (node->op == OP_GELU_TANH && e->graph->nodes[node->in[0]].op == OP_LINEAR && isfinite(v))
        result.own += e->product_gelu * fabs(v);
    result.usual = result.own;
    result.size = fabs(result.value);
    return result;
}

static struct element quotient(double a, double b, double ba, double bb)
{
    struct element result = {.value = a / b};
    double least = fabs(b) - bb;
    result.passed = bb == 0 && ba == 0 ? 0 : least > 0 ? (ba + fabs(result.value) * bb) / least : INFINITY;
    if (b == 0)
        result.passed = INFINITY;
    return result;
}

static struct element pair_element(const struct evaluation *e, enum op op, const struct values *x, size_t i,
                                   const struct values *y, size_t j)
{
    double a = x->value[i], b = y->value[j], ba = bound_of(e, x, i), bb = bound_of(e, y, j);
    struct element result = {.value = NAN};
    if (surely_nan(e, x, i) || surely_nan(e, y, j))
        return result;
    switch (op) {
    case OP_ADD: result = (struct element){.value = a + b, .passed = ba + bb}; break;
    case OP_SUBTRACT: result = (struct element){.value = a - b, .passed = ba + bb}; break;
    case OP_MULTIPLY: result = (struct element){.value = a * b, .passed = fabs(a) * bb + fabs(b) * ba + ba * bb}; break;
    case OP_DIVIDE: result = quotient(a, b, ba, bb); break;
    case OP_MAXIMUM:
        return (struct element){.value = a > b ? a : b, .passed = fmax(ba, bb), .size = fmax(fabs(a), fabs(b))};
    case OP_MINIMUM:
        return (struct element){.value = a < b ? a : b, .passed = fmax(ba, bb), .size = fmax(fabs(a), fabs(b))};
    default: abort();
    }
    result.own = 4 * unit32 * (op == OP_ADD || op == OP_SUBTRACT ? fabs(a) + fabs(b) : fabs(result.value)) + 1e-37;
    result.usual = result.own;
    result.size = op == OP_ADD || op == OP_SUBTRACT ? fabs(a) + fabs(b) : fabs(result.value);
    return result;
}

/* ---- Whole rows ---- */

struct row {
    const struct evaluation *e;
    const struct values *x;
    size_t at;                      /* of its first element */
    int width;
};

static double row_value(const struct row *row, int i)
{
    return row->x->value[row->at + (size_t)i];
}

static double row_bound(const struct row *row, int i)
{
    return bound_of(row->e, row->x, row->at + (size_t)i);
}

static bool row_surely_nan(const struct row *row)
{
    for (int i = 0; i < row->width; i++) {
        if (surely_nan(row->e, row->x, row->at + (size_t)i))
            return true;
    }
    return false;
}

/* The error of a sum of `count` terms of magnitude `size` in all, in any order. */
static void add_sum_error(struct element *element, int count, double unit, double size)
{
    element->own += (count + 4) * unit * size;
    element->usual += (2 * sqrt(count) + 4) * unit * size;
}

static void linear_row(struct evaluation *e, const struct node *node, const struct row *x, struct values *to, size_t at)
{
    const double *w = node->tensors[0]->at;
    const struct tensor *bias = node->tensors[1];
    const enum op above = e->graph->nodes[node->in[0]].op;
    bool nan = row_surely_nan(x);
    for (int j = 0; j < node->width; j++) {
        struct element element = {.value = bias ? bias->at[j] : 0};
        element.size = fabs(element.value);
        for (int i = 0; i < x->width; i++) {
            double weight = node->transposed ? w[i * node->width + j] : w[j * x->width + i];
            double size = above == OP_BATCHNORM ? size_of(e, x->x, x->at + (size_t)i) : fabs(row_value(x, i));
            element.value += weight * row_value(x, i);
            element.passed += weight ? fabs(weight) * row_bound(x, i) : 0;
            element.size += fabs(weight) * size;
        }
        if (nan)
            element = (struct element){.value = NAN};
        add_sum_error(&element, x->width, unit32, element.size);
        element.own += e->weight * element.size;
        element.usual += e->weight * element.size;
        put(e, to, at + (size_t)j, nan ? (struct element){.value = NAN} : element);
    }
}

static void batchnorm_row(struct evaluation *e, const struct node *node, const struct row *x, struct values *to,
                          size_t at)
{
    for (int j = 0; j < node->width; j++) {
        double scale = node->tensors[0]->at[j] / sqrt(node->tensors[3]->at[j] + node->a);
        double mean = node->tensors[2]->at[j], bias = node->tensors[1]->at[j];
        struct element element = {.value = (row_value(x, j) - mean) * scale + bias};
        element.passed = fabs(scale) * row_bound(x, j);
        element.size = fabs(scale) * (size_of(e, x->x, x->at + (size_t)j) + fabs(mean)) + fabs(bias);
        element.own = element.usual = (8 * unit32 + 2 * e->weight) * element.size;
        put(e, to, at + (size_t)j,
            surely_nan(e, x->x, x->at + (size_t)j) ? (struct element){.value = NAN} : element);
    }
}

/* Both norms divide by the length of a vector (the deviations from the mean, or the row itself, and the root of eps),
 * which changes by no more than the vector does. */
static void norm_row(struct evaluation *e, const struct node *node, const struct row *x, struct values *to, size_t at)
{
    bool layer = node->op == OP_LAYERNORM, nan = row_surely_nan(x);
    int n = x->width;
    double mean = 0, size = 0, mean_bound = 0, squares = 0, bounds = 0, usuals = 0;
    for (int i = 0; i < n; i++) {
        mean += layer ? row_value(x, i) / n : 0;
        size += layer ? fabs(row_value(x, i)) / n : 0;
        mean_bound += layer ? row_bound(x, i) / n : 0;
    }
    double mean_usual = (2 * sqrt(n) + 8) * unit32 * size;
    mean_bound += (n + 8) * unit32 * size;
    for (int i = 0; i < n; i++) {
        double d = row_value(x, i) - mean, own = layer ? 2 * unit32 * (fabs(d) + fabs(row_value(x, i))) : 0;
        squares += d * d / n;
        bounds += pow(row_bound(x, i) + (layer ? mean_bound : 0) + own, 2) / n;
        usuals += pow((layer ? mean_usual : 0) + own, 2) / n;
    }
    double length = sqrt(squares + node->a), length_bound = sqrt(bounds) + (n + 16) * unit32 * length;
    double length_usual = sqrt(usuals) + (2 * sqrt(n) + 16) * unit32 * length;
    for (int j = 0; j < n; j++) {
        double d = row_value(x, j) - mean, y = d / length;
        double weight = node->tensors[0] ? node->tensors[0]->at[j] + node->b : 1;
        double bias = node->tensors[1] ? node->tensors[1]->at[j] : 0;
        double own = layer ? 2 * unit32 * (fabs(d) + fabs(row_value(x, j))) : 0;
        double weight_size = node->tensors[0] ? fabs(node->tensors[0]->at[j]) : 0;
        double away = row_bound(x, j) + (layer ? mean_bound : 0) + own + fabs(y) * length_bound;
        struct element element = {.value = y * weight + bias, .size = fabs(y * weight) + fabs(bias)};
        double least = length - length_bound;
        element.passed = fabs(weight) * fmin(least > 0 ? away / least : INFINITY, fabs(y) + sqrt(n));
        double rounding = 8 * unit32 * element.size + e->weight * (fabs(y) * weight_size + fabs(bias));
        element.own = rounding;
        element.usual = rounding + fabs(weight) * ((layer ? mean_usual : 0) + own + fabs(y) * length_usual) / length;
        if (length == 0)
            element.passed = INFINITY;
        put(e, to, at + (size_t)j, nan ? (struct element){.value = NAN} : element);
    }
}

static void softmax_row(struct evaluation *e, const struct node *node, const struct row *x, struct values *to,
                        size_t at)
{
    bool nan = row_surely_nan(x);
    double most = -INFINITY, sum = 0, bound = 0;
    for (int i = 0; i < x->width; i++) {
        most = fmax(most, row_value(x, i));
        bound = fmax(bound, row_bound(x, i));
    }
    for (int i = 0; i < x->width; i++)
        sum += exp(row_value(x, i) - most);
    for (int j = 0; j < x->width; j++) {
        double below = row_value(x, j) - most, shift = row_bound(x, j) + bound;
        double own = unit32 * (4 * fabs(below) + 4 * fabs(most) + 24 + 2 * sqrt(x->width));
        double at_most = own + x->width * unit32;
        struct element element = {.value = exp(below) / sum, .passed = fmin(exp(below) / sum * expm1(shift), 1)};
        element.own = element.value * at_most + 1e-37;
        element.usual = element.value * own + 1e-37;
        if (node->op == OP_LOG_SOFTMAX) {
            element = (struct element){.value = below - log(sum), .passed = shift};
            element.own = at_most + 4 * unit32 * fabs(element.value);
            element.usual = own + 4 * unit32 * fabs(element.value);
        }
        element.size = fabs(element.value);
        put(e, to, at + (size_t)j, nan ? (struct element){.value = NAN} : element);
    }
}

static void sum_row(struct evaluation *e, const struct node *node, const struct row *x, const struct row *y,
                    struct values *to, size_t at)
{
    struct element element = {.value = 0};
    double divisor = node->op == OP_MEAN ? x->width : 1;
    for (int i = 0; i < x->width; i++) {
        double a = row_value(x, i), b = y ? row_value(y, i) : 1, ba = row_bound(x, i), bb = y ? row_bound(y, i) : 0;
        element.value += a * b / divisor;
        element.size += fabs(a * b) / divisor;
        element.passed += (fabs(a) * bb + fabs(b) * ba + (bb ? ba * bb : 0)) / divisor;
    }
    add_sum_error(&element, x->width, unit32, element.size);
    bool nan = row_surely_nan(x) || (y && row_surely_nan(y));
    put(e, to, at, nan ? (struct element){.value = NAN} : element);
}

/* ---- Nodes ---- */

static struct row row_of(const struct evaluation *e, int node, int r)
{
    int width = e->graph->nodes[node].width;
    return (struct row){e, &e->nodes[node], (size_t)r * (size_t)width, width};
}

static void copy_element(const struct evaluation *e, const struct row *x, int column, struct values *to, size_t at)
{
    size_t from = x->at + (size_t)column;
    to->value[at] = x->x->value[from];
    if (!e->noise) {
        to->bound[at] = x->x->bound[from];
        to->size[at] = x->x->size[from];
    }
}

/* Of inputs, parameters and numbers. */
static void put_given(struct evaluation *e, const struct node *node, int r, struct values *to, size_t at)
{
    for (int j = 0; j < node->width; j++) {
        double value = node->op == OP_INPUT   ? e->inputs[node->begin].at[r * node->width + j]
                       : node->op == OP_PARAM ? node->tensors[0]->at[j]
                                              : node->a;
        double own = node->op == OP_INPUT ? 0 : (unit32 + e->weight) * fabs(value);
        put(e, to, at + (size_t)j, (struct element){.value = value, .own = own, .usual = own, .size = fabs(value)});
    }
}

static void evaluate_row(struct evaluation *e, const struct node *node, int r, struct values *to)
{
    size_t at = (size_t)r * (size_t)node->width;
    struct row x = {0}, y = {0};
    if (node->count > 0)
        x = row_of(e, node->in[0], r);
    if (node->count > 1)
        y = row_of(e, node->in[1], r);
    switch (node->op) {
    case OP_INPUT: case OP_PARAM: case OP_NUMBER:
        put_given(e, node, r, to, at);
        break;
    case OP_LINEAR:
        linear_row(e, node, &x, to, at);
        break;
    case OP_LAYERNORM: case OP_RMSNORM:
        norm_row(e, node, &x, to, at);
        break;
    case OP_BATCHNORM:
        batchnorm_row(e, node, &x, to, at);
        break;
    case OP_SOFTMAX: case OP_LOG_SOFTMAX:
        softmax_row(e, node, &x, to, at);
        break;
    case OP_SUM: case OP_MEAN:
        sum_row(e, node, &x, NULL, to, at);
        break;
    case OP_DOT:
        sum_row(e, node, &x, &y, to, at);
        break;
    case OP_ADD: case OP_SUBTRACT: case OP_MULTIPLY: case OP_DIVIDE: case OP_MAXIMUM: case OP_MINIMUM:
        for (int j = 0; j < node->width; j++)
            put(e, to, at + (size_t)j, pair_element(e, node->op, x.x, x.at + (size_t)(x.width == 1 ? 0 : j), y.x,
                                                    y.at + (size_t)(y.width == 1 ? 0 : j)));
        break;
    case OP_COLUMNS: case OP_IDENTITY:
        for (int j = 0; j < node->width; j++)
            copy_element(e, &x, node->begin + j, to, at + (size_t)j);
        break;
    case OP_CONCAT:
        for (int i = 0; i < node->count; i++) {
            struct row part = row_of(e, node->in[i], r);
            for (int j = 0; j < part.width; j++)
                copy_element(e, &part, j, to, at++);
        }
        break;
    default:
        for (int j = 0; j < node->width; j++)
            put(e, to, at + (size_t)j, map_element(e, node, x.x, x.at + (size_t)j));
    }
}

static void evaluate_all(struct evaluation *e)
{
    for (int i = 0; i < e->graph->node_count; i++) {
        const struct node *node = &e->graph->nodes[i];
        for (int r = 0; r < e->rows; r++)
            evaluate_row(e, node, r, &e->nodes[i]);
    }
}

static void make_room(struct evaluation *e)
{
    e->nodes = pool_take((size_t)e->graph->node_count * sizeof *e->nodes);
    for (int i = 0; i < e->graph->node_count; i++) {
        size_t bytes = (size_t)e->rows * (size_t)e->graph->nodes[i].width * sizeof(double);
        e->nodes[i].value = pool_take(bytes);
        if (!e->noise)
            e->nodes[i].bound = pool_take(bytes), e->nodes[i].size = pool_take(bytes);
    }
}

/* The largest deviation of each element in all trials goes to `tolerance`. */
static void try_roundings(const struct evaluation *exact, struct expected *expected)
{
    struct rng rng = {rng_hash(exact->graph->network->seed, "roundings")};
    struct evaluation trial = *exact;
    trial.noise = &rng;
    make_room(&trial);
    for (int t = 0; t < TRIALS; t++) {
        evaluate_all(&trial);
        for (int o = 0; o < exact->graph->output_count; o++) {
            const double *off = trial.nodes[exact->graph->outputs[o].node].value;
            for (size_t i = 0; i < (size_t)exact->rows * (size_t)expected[o].width; i++)
                expected[o].tolerance[i] = fmax(expected[o].tolerance[i], known(fabs(off[i] - expected[o].value[i])));
        }
    }
}

static void set_tolerance(const struct evaluation *e, const struct output *output, struct expected *expected)
{
    const double *bounds = e->nodes[output->node].bound;
    for (size_t i = 0; i < (size_t)e->rows * (size_t)expected->width; i++) {
        double value = expected->value[i], at_most = bounds[i], usual = MARGIN * expected->tolerance[i];
        double tiny = output->type == F16 ? 0x1p-25 : 0x1p-140;
        double last = output->type == F32 ? 0 : type_unit(output->type) * (fabs(value) + at_most) + tiny;
        expected->tolerance[i] = isnan(value) && at_most == 0 ? 0 : known(fmin(at_most, usual) + last);
        if (isnan(value) != (at_most == 0 && isnan(value)) || isinf(at_most) ||
            fabs(value) + expected->tolerance[i] > type_largest(output->type) * (1 - type_unit(output->type)))
            expected->tolerance[i] = INFINITY;
    }
}

struct expected *evaluate(const struct graph *graph, const struct array_in *inputs, enum device device)
{
    const enum type type = graph->network->type;
    const bool small = type == F16 || type == BF16;
    struct expected *expected = pool_take((size_t)graph->output_count * sizeof *expected);
    struct evaluation e = {.graph = graph, .inputs = inputs, .rows = graph->network->rows};
    e.stored = small ? type_unit(type) : 0;
    e.weight = small ? 2 * type_unit(type) : type == TF32 ? 2 * type_unit(F16) : 0;
    e.tiny = type == F16 ? 0x1p-25 : type == BF16 ? 0x1p-134 : 0;
    e.largest = type_largest(type) * (1 - type_unit(type));
    e.product_gelu = device == ON_GPU ? 1e-5 : 0;   /* an H200's: some 3e-6 */
    make_room(&e);
    evaluate_all(&e);
    for (int o = 0; o < graph->output_count; o++) {
        int node = graph->outputs[o].node, width = graph->nodes[node].width;
        size_t bytes = (size_t)e.rows * (size_t)width * sizeof(double);
        expected[o] = (struct expected){e.nodes[node].value, pool_take(bytes), width};
    }
    try_roundings(&e, expected);
    for (int o = 0; o < graph->output_count; o++)
        set_tolerance(&e, &graph->outputs[o], &expected[o]);
    return expected;
}
