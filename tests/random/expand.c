/* From a tree to operations in order, by the rules of the language: names and their scopes, numbers, strings, blocks
 * and repeats. What breaks a rule that generated or shrunk trees could break is an error here too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

enum kind { NOTHING, WHOLE, REAL, TRUTH, STRING, TENSOR };

struct meaning {
    enum kind kind;
    int64_t whole;                  /* WHOLE, TRUTH; TENSOR: the node */
    double real;
    const char *text;
};

enum { MAX_NAMES = 256 };

struct scope {
    int count;
    struct {
        const char *name;
        struct meaning meaning;
        bool fixed;                 /* an input or a loop's variable: not to be assigned */
    } at[MAX_NAMES];
};

struct expansion {
    struct graph *graph;
    const struct network *network;
    struct scope *scope;
    int blocks;                     /* that can be called here: those above */
    const char *error;
};

static const struct meaning nothing = {NOTHING, 0, 0, NULL};

static struct meaning fail(struct expansion *e, const char *error)
{
    if (!e->error)
        e->error = error;
    return nothing;
}

/* ---- Names ---- */

static struct meaning *find(struct scope *scope, const char *name, bool **fixed)
{
    for (int i = 0; i < scope->count; i++) {
        if (!strcmp(scope->at[i].name, name)) {
            *fixed = &scope->at[i].fixed;
            return &scope->at[i].meaning;
        }
    }
    return NULL;
}

static void set(struct expansion *e, const char *name, struct meaning meaning, bool fixed)
{
    bool *was_fixed;
    struct meaning *there = find(e->scope, name, &was_fixed);
    if (there) {
        if (*was_fixed)
            fail(e, "a fixed name is assigned");
        *there = meaning;
        *was_fixed = fixed;
    } else if (e->scope->count == MAX_NAMES) {
        fail(e, "too many names");
    } else {
        e->scope->at[e->scope->count].name = name;
        e->scope->at[e->scope->count].meaning = meaning;
        e->scope->at[e->scope->count++].fixed = fixed;
    }
}

static void forget(struct scope *scope, const char *name)
{
    for (int i = 0; i < scope->count; i++) {
        if (!strcmp(scope->at[i].name, name)) {
            scope->at[i] = scope->at[--scope->count];
            return;
        }
    }
}

/* ---- Nodes ---- */

static struct meaning add_node(struct expansion *e, struct node node)
{
    struct graph *graph = e->graph;
    if (node.width < 1)
        return fail(e, "a width below 1");
    if (graph->node_count == graph->node_room) {
        struct node *old = graph->nodes;
        graph->node_room = 2 * graph->node_room + 64;
        graph->nodes = pool_take((size_t)graph->node_room * sizeof node);
        if (old)
            memcpy(graph->nodes, old, (size_t)graph->node_count * sizeof node);
    }
    graph->nodes[graph->node_count] = node;
    return (struct meaning){TENSOR, graph->node_count++, 0, NULL};
}

static int width_of(const struct expansion *e, struct meaning meaning)
{
    return e->graph->nodes[meaning.whole].width;
}

static bool is_number(struct meaning meaning)
{
    return meaning.kind == WHOLE || meaning.kind == REAL;
}

static double number(struct meaning meaning)
{
    return meaning.kind == WHOLE ? (double)meaning.whole : meaning.real;
}

/* A number becomes a column, which stretches. */
static struct meaning as_tensor(struct expansion *e, struct meaning meaning)
{
    if (is_number(meaning))
        return add_node(e, (struct node){.op = OP_NUMBER, .width = 1, .a = number(meaning)});
    return meaning.kind == TENSOR ? meaning : fail(e, "no tensor");
}

static int whole(struct expansion *e, struct meaning meaning)
{
    if (meaning.kind == REAL && meaning.real == floor(meaning.real) && fabs(meaning.real) < 1e9)
        return (int)meaning.real;
    if (meaning.kind != WHOLE || meaning.whole < -1000000 || meaning.whole > 1000000)
        fail(e, "no whole number");
    return (int)meaning.whole;
}

/* ---- Tensors of the weights file ---- */

static double draw(struct rng *rng, const struct tensor *tensor, int inputs)
{
    switch (tensor->role) {
    case ROLE_WEIGHT:
        return rng_unit(rng) * sqrt(3.0 / inputs);
    case ROLE_BIAS:
        return rng_unit(rng) * 0.5;
    case ROLE_SCALE:
        return 1 + rng_unit(rng) * 0.5;
    case ROLE_VARIANCE:
        return 0.3 + 1.5 * fabs(rng_unit(rng));
    }
    abort();
}

/* As it is in the file: its numbers follow from its name and the seed. A mean is drawn as a bias. */
static const struct tensor *read_tensor(struct expansion *e, const char *name, enum role role, int rows, int columns,
                                        int inputs)
{
    static const enum type types[] = {F32, F32, F16, BF16, F64};
    struct graph *graph = e->graph;
    for (int i = 0; i < graph->tensor_count; i++) {
        struct tensor *tensor = graph->tensors[i];
        int count = tensor->rank == 2 ? tensor->shape[0] * tensor->shape[1] : tensor->rank ? tensor->shape[0] : 1;
        if (strcmp(tensor->name, name))
            continue;
        if (tensor->role != role || count != (rows ? rows * columns : columns) ||
            (rows && (tensor->rank != 2 || tensor->shape[0] != rows)))
            fail(e, "a tensor is read in two shapes");
        return tensor;
    }
    struct rng rng = {rng_hash(e->network->seed, name)};
    struct tensor *tensor = pool_take(sizeof *tensor);
    *tensor = (struct tensor){.name = name, .role = role, .rank = 1, .shape = {columns}};
    if (rows)
        *tensor = (struct tensor){.name = name, .role = role, .rank = 2, .shape = {rows, columns}};
    tensor->type = types[rng_below(&rng, 5)];
    size_t count = (size_t)(rows ? rows : 1) * (size_t)columns;
    tensor->at = pool_take(count * sizeof *tensor->at);
    for (size_t i = 0; i < count; i++)
        tensor->at[i] = type_round(draw(&rng, tensor, inputs), tensor->type);
    if (graph->tensor_count == graph->tensor_room) {
        struct tensor **old = graph->tensors;
        graph->tensor_room = 2 * graph->tensor_room + 64;
        graph->tensors = pool_take((size_t)graph->tensor_room * sizeof *old);
        if (old)
            memcpy(graph->tensors, old, (size_t)graph->tensor_count * sizeof *old);
    }
    return graph->tensors[graph->tensor_count++] = tensor;
}

/* ---- Calls ---- */

struct call {
    const struct expr *expr;
    struct meaning args[MAX_ARGS];
    int by_place;
};

/* The argument at a place, or by its keyword. */
static struct meaning argument(const struct call *call, int place, const char *keyword)
{
    if (place >= 0 && place < call->by_place)
        return call->args[place];
    for (int i = call->by_place; i < call->expr->count; i++) {
        if (keyword && !strcmp(call->expr->keywords[i], keyword))
            return call->args[i];
    }
    return nothing;
}

static double option(const struct call *call, int place, const char *keyword, double fallback)
{
    struct meaning found = argument(call, place, keyword);
    return is_number(found) ? number(found) : fallback;
}

static bool truth(const struct call *call, int place, const char *keyword, bool fallback)
{
    struct meaning found = argument(call, place, keyword);
    return found.kind == TRUTH ? found.whole : found.kind == STRING ? true : fallback;
}

/* The name of a tensor: in full by keyword, or behind the prefix. */
static const char *tensor_name(struct expansion *e, const struct call *call, int prefix_at, int place,
                               const char *keyword, const char *end)
{
    struct meaning full = argument(call, place, keyword), prefix = argument(call, prefix_at, NULL);
    if (full.kind == STRING)
        return full.text;
    if (prefix.kind != STRING)
        fail(e, "a tensor without a name");
    return prefix.kind == STRING ? pool_text("%s.%s", prefix.text, end) : "";
}

static struct meaning tensor_argument(struct expansion *e, const struct call *call, int place)
{
    struct meaning found = argument(call, place, NULL);
    return found.kind == TENSOR ? found : fail(e, "an argument is no tensor");
}

static struct meaning linear(struct expansion *e, const struct call *call)
{
    struct meaning x = tensor_argument(e, call, 0);
    int out = whole(e, argument(call, 1, "out"));
    struct node node = {.op = OP_LINEAR, .width = out, .count = 1, .in = {(int)x.whole}};
    if (e->error)
        return nothing;
    int in = width_of(e, x);
    if (out < 1 || out > 5000)
        return fail(e, "a width that is none");
    node.transposed = truth(call, 4, "transposed", false);
    node.tensors[0] = read_tensor(e, tensor_name(e, call, 2, -1, "weight", "weight"), ROLE_WEIGHT,
                                  node.transposed ? in : out, node.transposed ? out : in, in);
    if (truth(call, 3, "bias", true))
        node.tensors[1] = read_tensor(e, tensor_name(e, call, 2, 3, "bias", "bias"), ROLE_BIAS, 0, out, 0);
    return add_node(e, node);
}

static struct meaning norm(struct expansion *e, const struct call *call, enum op op)
{
    struct meaning x = tensor_argument(e, call, 0);
    struct node node = {.op = op, .count = 1, .in = {(int)x.whole}};
    bool layer = op == OP_LAYERNORM;
    if (e->error)
        return nothing;
    node.width = width_of(e, x);
    node.a = option(call, 2, "eps", layer ? 1e-5 : 1e-6);
    node.b = layer ? 0 : option(call, 3, "offset", 0);
    if (!truth(call, layer ? 3 : 4, "affine", true))
        return add_node(e, node);
    node.tensors[0] = read_tensor(e, tensor_name(e, call, 1, -1, "weight", "weight"), ROLE_SCALE, 0, node.width, 0);
    if (layer && truth(call, 4, "bias", true))
        node.tensors[1] = read_tensor(e, tensor_name(e, call, 1, 4, "bias", "bias"), ROLE_BIAS, 0, node.width, 0);
    return add_node(e, node);
}

static struct meaning batchnorm(struct expansion *e, const struct call *call)
{
    static const struct { const char *keyword, *end; enum role role; } read[] = {
        {"weight", "weight", ROLE_SCALE}, {"bias", "bias", ROLE_BIAS}, {"mean", "running_mean", ROLE_BIAS},
        {"var", "running_var", ROLE_VARIANCE}};
    struct meaning x = tensor_argument(e, call, 0);
    struct node node = {.op = OP_BATCHNORM, .count = 1, .in = {(int)x.whole}, .a = option(call, 2, "eps", 1e-5)};
    if (e->error)
        return nothing;
    node.width = width_of(e, x);
    for (int i = 0; i < 4; i++)
        node.tensors[i] = read_tensor(e, tensor_name(e, call, 1, -1, read[i].keyword, read[i].end), read[i].role, 0,
                                      node.width, 0);
    return add_node(e, node);
}

static struct meaning param(struct expansion *e, const struct call *call)
{
    struct meaning name = argument(call, 0, NULL);
    int width = whole(e, argument(call, 1, "n"));
    if (name.kind != STRING || width < 1 || width > 5000)
        return fail(e, "a param without name or width");
    const struct tensor *tensor = read_tensor(e, name.text, ROLE_BIAS, 0, width, 0);
    return add_node(e, (struct node){.op = OP_PARAM, .width = width, .tensors = {tensor}});
}

static struct meaning concat(struct expansion *e, const struct call *call)
{
    struct node node = {.op = OP_CONCAT, .count = call->expr->count};
    bool tensors = false;
    for (int i = 0; i < node.count; i++) {
        tensors = tensors || call->args[i].kind == TENSOR;
        struct meaning part = as_tensor(e, call->args[i]);
        if (e->error)
            return nothing;
        node.in[i] = (int)part.whole;
        node.width += width_of(e, part);
    }
    return tensors ? add_node(e, node) : fail(e, "a concat without a tensor");
}

/* Element by element: widths are equal, or one is 1. */
static struct meaning pair(struct expansion *e, enum op op, struct meaning a, struct meaning b)
{
    a = as_tensor(e, a);
    b = as_tensor(e, b);
    if (e->error)
        return nothing;
    int wa = width_of(e, a), wb = width_of(e, b);
    if (wa != wb && wa != 1 && wb != 1)
        return fail(e, "unequal widths");
    return add_node(e, (struct node){.op = op, .width = wa > wb ? wa : wb, .count = 2,
                                     .in = {(int)a.whole, (int)b.whole}});
}

static struct meaning extreme(struct expansion *e, const struct call *call, enum op op)
{
    struct meaning a = argument(call, 0, NULL), b = argument(call, 1, NULL);
    if (is_number(a) && is_number(b))
        return fail(e, "an extreme of two numbers");
    return pair(e, op, a, b);
}

static struct meaning dot(struct expansion *e, const struct call *call)
{
    struct meaning a = tensor_argument(e, call, 0), b = tensor_argument(e, call, 1);
    if (!e->error && width_of(e, a) != width_of(e, b))
        fail(e, "a dot of unequal widths");
    return e->error ? nothing : add_node(e, (struct node){.op = OP_DOT, .width = 1, .count = 2,
                                                          .in = {(int)a.whole, (int)b.whole}});
}

static const struct {
    const char *name;
    enum op op;
    const char *keywords[2];
    double fallbacks[2];
} functions[] = {
    {"relu", OP_RELU, {0}, {0}}, {"relu6", OP_RELU6, {0}, {0}}, {"gelu", OP_GELU, {0}, {0}},
    {"gelu_tanh", OP_GELU_TANH, {0}, {0}}, {"silu", OP_SILU, {0}, {0}}, {"mish", OP_MISH, {0}, {0}},
    {"hardswish", OP_HARDSWISH, {0}, {0}}, {"hardsigmoid", OP_HARDSIGMOID, {0}, {0}},
    {"sigmoid", OP_SIGMOID, {0}, {0}}, {"tanh", OP_TANH, {0}, {0}}, {"softplus", OP_SOFTPLUS, {0}, {0}},
    {"exp", OP_EXP, {0}, {0}}, {"log", OP_LOG, {0}, {0}}, {"sqrt", OP_SQRT, {0}, {0}}, {"abs", OP_ABS, {0}, {0}},
    {"identity", OP_IDENTITY, {0}, {0}}, {"leaky_relu", OP_LEAKY_RELU, {"slope"}, {0.01}},
    {"elu", OP_ELU, {"alpha"}, {1}}, {"clamp", OP_CLAMP, {"lo", "hi"}, {0}},
    {"softmax", OP_SOFTMAX, {0}, {0}}, {"log_softmax", OP_LOG_SOFTMAX, {0}, {0}},
    {"sum", OP_SUM, {0}, {0}}, {"mean", OP_MEAN, {0}, {0}},
};

static struct meaning function(struct expansion *e, const struct call *call)
{
    const char *name = call->expr->text;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(name, functions[i].name))
            continue;
        struct meaning x = tensor_argument(e, call, 0);
        struct node node = {.op = functions[i].op, .count = 1, .in = {(int)x.whole}};
        if (e->error)
            return nothing;
        node.width = node.op == OP_SUM || node.op == OP_MEAN ? 1 : width_of(e, x);
        node.a = option(call, 1, functions[i].keywords[0], functions[i].fallbacks[0]);
        node.b = option(call, 2, functions[i].keywords[1], functions[i].fallbacks[1]);
        return add_node(e, node);
    }
    return !strcmp(name, "linear")      ? linear(e, call)
           : !strcmp(name, "layernorm") ? norm(e, call, OP_LAYERNORM)
           : !strcmp(name, "rmsnorm")   ? norm(e, call, OP_RMSNORM)
           : !strcmp(name, "batchnorm") ? batchnorm(e, call)
           : !strcmp(name, "param")     ? param(e, call)
           : !strcmp(name, "concat")    ? concat(e, call)
           : !strcmp(name, "maximum")   ? extreme(e, call, OP_MAXIMUM)
           : !strcmp(name, "minimum")   ? extreme(e, call, OP_MINIMUM)
           : !strcmp(name, "dot")       ? dot(e, call)
                                        : fail(e, "no such function");
}

static struct meaning eval(struct expansion *e, const struct expr *expr);
static void run_body(struct expansion *e, const struct body *body);

static struct meaning call_block(struct expansion *e, const struct block *block, int index, const struct call *call)
{
    struct scope *outer = e->scope, *own = pool_take(sizeof *own);
    int blocks = e->blocks;
    e->scope = own;
    for (int i = 0; i < e->network->constant_count; i++)
        set(e, e->network->constants[i].name, eval(e, e->network->constants[i].expr), true);
    for (int i = 0; i < block->parameter_count; i++) {
        struct meaning given = argument(call, i, block->parameters[i]);
        if (given.kind == NOTHING)
            fail(e, "a block's argument is missing");
        set(e, block->parameters[i], given, false);
    }
    e->blocks = index;
    run_body(e, &block->body);
    struct meaning result = e->error ? nothing : eval(e, block->result);
    e->scope = outer;
    e->blocks = blocks;
    return result;
}

static struct meaning eval_call(struct expansion *e, const struct expr *expr)
{
    struct call call = {.expr = expr};
    for (int i = 0; i < expr->count && !e->error; i++) {
        call.args[i] = eval(e, expr->args[i]);
        call.by_place += !expr->keywords[i];
    }
    if (e->error)
        return nothing;
    for (int i = 0; i < e->blocks; i++) {
        if (!strcmp(e->network->blocks[i].name, expr->text))
            return call_block(e, &e->network->blocks[i], i, &call);
    }
    return function(e, &call);
}

/* ---- Expressions ---- */

/* Escapes, and names in braces. */
static struct meaning eval_string(struct expansion *e, const char *text)
{
    char *result = pool_text("%s", "");
    while (*text && !e->error) {
        char name[64];
        bool *fixed;
        size_t length = strcspn(text, "}");
        if (*text == '\\') {
            result = pool_text("%s%c", result, text[1] == 'n' ? '\n' : text[1] == 't' ? '\t' : text[1]);
            text += 2;
        } else if ((*text == '{' || *text == '}') && text[1] == *text) {
            result = pool_text("%s%c", result, *text);
            text += 2;
        } else if (*text == '{') {
            snprintf(name, sizeof name, "%.*s", (int)length - 1, text + 1);
            struct meaning *found = find(e->scope, name, &fixed);
            if (!found || (found->kind != WHOLE && found->kind != STRING))
                return fail(e, "a name in braces that is no number or string");
            result = found->kind == WHOLE ? pool_text("%s%lld", result, (long long)found->whole)
                                          : pool_text("%s%s", result, found->text);
            text += length + 1;
        } else {
            result = pool_text("%s%c", result, *text++);
        }
    }
    return (struct meaning){STRING, 0, 0, result};
}

static struct meaning compute(struct expansion *e, enum expr_kind kind, struct meaning a, struct meaning b)
{
    if (a.kind == WHOLE && b.kind == WHOLE) {
        if (kind == E_DIVIDE && (!b.whole || a.whole % b.whole))
            return fail(e, "a division with a remainder");
        int64_t result = kind == E_ADD        ? a.whole + b.whole
                         : kind == E_SUBTRACT ? a.whole - b.whole
                         : kind == E_MULTIPLY ? a.whole * b.whole
                                              : a.whole / b.whole;
        return (struct meaning){WHOLE, result, 0, NULL};
    }
    double x = number(a), y = number(b);
    double result = kind == E_ADD ? x + y : kind == E_SUBTRACT ? x - y : kind == E_MULTIPLY ? x * y : x / y;
    return isfinite(result) ? (struct meaning){REAL, 0, result, NULL} : fail(e, "an infinite number");
}

static struct meaning eval_binary(struct expansion *e, const struct expr *expr)
{
    static const enum op ops[] = {[E_ADD] = OP_ADD, [E_SUBTRACT] = OP_SUBTRACT, [E_MULTIPLY] = OP_MULTIPLY,
                                  [E_DIVIDE] = OP_DIVIDE};
    struct meaning a = eval(e, expr->args[0]), b = eval(e, expr->args[1]);
    if (e->error)
        return nothing;
    return is_number(a) && is_number(b) ? compute(e, expr->kind, a, b) : pair(e, ops[expr->kind], a, b);
}

static struct meaning eval_negation(struct expansion *e, const struct expr *expr)
{
    struct meaning x = eval(e, expr->args[0]);
    if (x.kind == WHOLE)
        return (struct meaning){WHOLE, -x.whole, 0, NULL};
    if (x.kind == REAL)
        return (struct meaning){REAL, 0, -x.real, NULL};
    if (x.kind != TENSOR)
        return fail(e, "a negation of what is no number");
    return add_node(e, (struct node){.op = OP_NEGATE, .width = width_of(e, x), .count = 1, .in = {(int)x.whole}});
}

static struct meaning eval_columns(struct expansion *e, const struct expr *expr)
{
    struct meaning x = eval(e, expr->args[0]);
    int begin = whole(e, eval(e, expr->args[1])), end = whole(e, eval(e, expr->args[2]));
    if (e->error || x.kind != TENSOR)
        return fail(e, "columns of no tensor");
    if (begin < 0 || begin >= end || end > width_of(e, x))
        return fail(e, "columns out of range");
    return add_node(e, (struct node){.op = OP_COLUMNS, .width = end - begin, .count = 1, .in = {(int)x.whole},
                                     .begin = begin});
}

static struct meaning eval(struct expansion *e, const struct expr *expr)
{
    bool *fixed;
    struct meaning *found;
    if (e->error)
        return nothing;
    switch (expr->kind) {
    case E_INTEGER:
        return (struct meaning){WHOLE, expr->integer, 0, NULL};
    case E_REAL:
        return (struct meaning){REAL, 0, expr->real, NULL};
    case E_TRUE:
        return (struct meaning){TRUTH, expr->integer, 0, NULL};
    case E_STRING:
        return eval_string(e, expr->text);
    case E_NAME:
        found = find(e->scope, expr->text, &fixed);
        return found ? *found : fail(e, "an unknown name");
    case E_NEGATE:
        return eval_negation(e, expr);
    case E_COLUMNS:
        return eval_columns(e, expr);
    case E_CALL:
        return eval_call(e, expr);
    default:
        return eval_binary(e, expr);
    }
}

/* ---- Statements ---- */

static void add_output(struct expansion *e, const struct stmt *stmt)
{
    struct graph *graph = e->graph;
    bool *fixed;
    if (stmt->expr)
        set(e, stmt->name, as_tensor(e, eval(e, stmt->expr)), false);
    struct meaning *value = find(e->scope, stmt->name, &fixed);
    if (e->error || !value || value->kind != TENSOR || *fixed) {
        fail(e, "an output of no tensor");
        return;
    }
    for (int i = 0; i < graph->output_count; i++) {
        if (!strcmp(graph->outputs[i].name, stmt->name))
            fail(e, "an output stands twice");
    }
    enum type type = e->network->type == TF32 ? F32 : e->network->type;
    for (enum type t = F32; stmt->type && t <= F64; t++)
        type = !strcmp(stmt->type, type_name(t)) ? t : type;
    graph->outputs[graph->output_count++] = (struct output){stmt->name, type, (int)value->whole};
}

static void run_repeat(struct expansion *e, const struct stmt *stmt)
{
    int begin = whole(e, eval(e, stmt->expr)), end = whole(e, eval(e, stmt->end));
    bool *fixed;
    if (begin > end || end - begin > 100)
        fail(e, "a repeat that ends before it begins, or late");
    if (!e->error && find(e->scope, stmt->name, &fixed))
        fail(e, "a loop's variable has a value's name");
    for (int i = begin; i < end && !e->error; i++) {
        forget(e->scope, stmt->name);
        set(e, stmt->name, (struct meaning){WHOLE, i, 0, NULL}, true);
        run_body(e, &stmt->body);
    }
    forget(e->scope, stmt->name);
}

static void run_body(struct expansion *e, const struct body *body)
{
    for (int i = 0; i < body->count && !e->error; i++) {
        const struct stmt *stmt = body->at[i];
        switch (stmt->kind) {
        case S_ASSIGN:
            set(e, stmt->name, eval(e, stmt->expr), false);
            break;
        case S_OUTPUT:
            add_output(e, stmt);
            break;
        case S_REPEAT:
            run_repeat(e, stmt);
            break;
        }
    }
}

static void add_inputs(struct expansion *e)
{
    for (int i = 0; i < e->network->input_count && !e->error; i++) {
        const struct input *input = &e->network->inputs[i];
        struct node node = {.op = OP_INPUT, .width = whole(e, eval(e, input->width)), .begin = i};
        set(e, input->name, add_node(e, node), true);
    }
}

struct graph *expand(const struct network *network, const char **error)
{
    struct graph *graph = pool_take(sizeof *graph);
    struct expansion e = {.graph = graph, .network = network, .blocks = network->block_count};
    graph->network = network;
    e.scope = pool_take(sizeof *e.scope);
    for (int i = 0; i < network->constant_count; i++)
        set(&e, network->constants[i].name, eval(&e, network->constants[i].expr), true);
    add_inputs(&e);
    run_body(&e, &network->body);
    if (!graph->output_count)
        fail(&e, "no output");
    if (graph->node_count > 400)
        fail(&e, "too large");
    *error = e.error;
    return e.error ? NULL : graph;
}
