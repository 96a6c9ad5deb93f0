/* A seed -> a valid network. It grows from its inputs: each statement binds a name to an expression of a wanted width,
 * which is made of names in scope, functions, blocks and columns. */
#include <string.h>

#include "network.h"

struct name {
    const char *text;
    int width;
    bool read;
};

enum { MAX_SCOPE = 128 };

struct maker {
    struct rng rng;
    struct network *network;
    struct name names[MAX_SCOPE];   /* tensors in scope */
    int name_count;
    int serial;                     /* of layers and values */
    const char *loop;               /* a running loop's variable, or NULL */
    bool nested;                    /* in another loop, of i */
    int blocks;                     /* that can be called */
    bool in_block;                  /* layers are named behind the argument `name` */
    int budget;                     /* how many operations more there may be, about */
};

/* ---- Small trees ---- */

static struct expr *integer(int64_t value)
{
    struct expr *expr = expr_new(E_INTEGER);
    expr->integer = value;
    return expr;
}

static struct expr *real(double value)
{
    struct expr *expr = expr_new(E_REAL);
    expr->real = value < 0 ? -value : value;
    if (value >= 0)
        return expr;
    struct expr *negative = expr_new(E_NEGATE);
    negative->args[negative->count++] = expr;
    return negative;
}

static struct expr *truth(bool value)
{
    struct expr *expr = expr_new(E_TRUE);
    expr->integer = value;
    return expr;
}

static struct expr *text(enum expr_kind kind, const char *value)
{
    struct expr *expr = expr_new(kind);
    expr->text = value;
    return expr;
}

static struct expr *pair(enum expr_kind kind, struct expr *a, struct expr *b)
{
    struct expr *expr = expr_new(kind);
    expr->count = 2;
    expr->args[0] = a;
    expr->args[1] = b;
    return expr;
}

static struct expr *call(const char *function, struct expr *x)
{
    struct expr *expr = text(E_CALL, function);
    if (x)
        expr->args[expr->count++] = x;
    return expr;
}

static void give(struct expr *expr, const char *keyword, struct expr *value)
{
    expr->keywords[expr->count] = keyword;
    expr->args[expr->count++] = value;
}

static struct expr *columns(struct expr *x, int begin, int end)
{
    struct expr *expr = expr_new(E_COLUMNS);
    expr->count = 3;
    expr->args[0] = x;
    expr->args[1] = integer(begin);
    expr->args[2] = integer(end);
    return expr;
}

static int below(struct maker *m, int end)
{
    return rng_below(&m->rng, end);
}

static bool chance(struct maker *m, int percent)
{
    return rng_chance(&m->rng, percent);
}

/* ---- Names and numbers ---- */

/* Any identifier that is not reserved is good: words of C, of its library and of the language's functions, too. */
static const char *new_name(struct maker *m)
{
    static const char *const words[] = {"int", "double", "register", "main", "printf", "NULL", "relu", "linear", "sum",
                                        "x", "y", "h", "t0", "count", "rows", "p", "arena", "union", "_", "mlp_run",
                                        "EOF", "inline", "size_t", "errno", "A", "this", "new", "class", "step_0"};
    const char *word = words[below(m, sizeof words / sizeof *words)];
    for (int i = 0; i < m->name_count; i++) {
        if (!strcmp(m->names[i].text, word))
            return pool_text("v%d", m->serial++);
    }
    return chance(m, 60) || m->in_block || m->loop ? pool_text("v%d", m->serial++) : word;
}

static int some_width(struct maker *m)
{
    static const int usual[] = {1,  2,  3,  4,  5,  7,  8,  9,  10, 12, 15, 16,
                                17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 100};
    return chance(m, 3) ? 128 + below(m, 200) : usual[below(m, chance(m, 80) ? 18 : sizeof usual / sizeof *usual)];
}

/* A width as it may be written: a number, an expression of numbers, a constant. */
static struct expr *width_expr(struct maker *m, int width)
{
    const struct network *network = m->network;
    if (chance(m, 25)) {
        for (int i = 0; i < network->constant_count; i++) {
            const struct constant *constant = &network->constants[i];
            int64_t value = constant->expr->integer;
            if (constant->expr->kind != E_INTEGER || value < 1)
                continue;
            if (value == width)
                return text(E_NAME, constant->name);
            if (width % value == 0)
                return pair(E_MULTIPLY, integer(width / value), text(E_NAME, constant->name));
            if (chance(m, 50))
                return pair(width > value ? E_ADD : E_SUBTRACT, text(E_NAME, constant->name),
                            integer(width > value ? width - value : value - width));
        }
    }
    if (chance(m, 5))
        return real(width);
    if (chance(m, 5))
        return pair(E_DIVIDE, integer(2 * width), integer(2));
    return integer(width);
}

static double some_number(struct maker *m)
{
    static const double numbers[] = {0.5, 2, 0.125, 3, 1e-1, 0.7, 1.5, 0.25, 1, 0};
    return numbers[below(m, sizeof numbers / sizeof *numbers)] * (chance(m, 25) ? -1 : 1);
}

static struct expr *number_expr(struct maker *m)
{
    double value = some_number(m);
    if (m->loop && chance(m, 20))
        return pair(E_ADD, text(E_NAME, m->loop), real(0.5));
    return value == (int)value && value >= 0 && chance(m, 50) ? integer((int)value) : real(value);
}

/* Of a layer: new each time, or its tensors would be read in two shapes. */
static const char *layer_name(struct maker *m)
{
    static const char *const ends[] = {"fc", "up", "a.b", "layers.0.w", "\\\"quoted\\\"", "{{x}}", "tab\\t", "\xc3\xa4",
                                       "$(id)", "semi;colon", "%s", "back\\\\slash", "/etc"};
    const char *end = ends[chance(m, 70) ? below(m, 4) : below(m, sizeof ends / sizeof *ends)];
    const char *outer = m->nested ? ".{i}" : "";
    if (m->in_block)
        return pool_text("{name}.%s%d", end, m->serial++);
    if (m->loop)
        return pool_text("%s%s.{%s}.%d", end, outer, m->loop, m->serial++);
    if (m->network->constant_count && chance(m, 15))
        return pool_text("{%s}.%s%d", m->network->constants[0].name, end, m->serial++);
    return pool_text("%s%d", end, m->serial++);
}

/* ---- Expressions of a width ---- */

static struct expr *make(struct maker *m, int width, int depth);

/* The index of a name: mostly of one that nothing reads yet, or of one made last, so that networks get deep. */
static int pick(struct maker *m, int last)
{
    for (int i = m->name_count; chance(m, 70) && i-- > 0;) {
        if (!m->names[i].read)
            return i;
    }
    return m->name_count - 1 - (chance(m, 60) ? below(m, m->name_count < last ? m->name_count : last)
                                              : below(m, m->name_count));
}

static struct expr *read_name(struct name *name)
{
    name->read = true;
    return text(E_NAME, name->text);
}

/* A name of the width, or columns of a wider one; NULL where there is none. */
static struct expr *existing(struct maker *m, int width)
{
    for (int tries = 0; tries < 8 && m->name_count; tries++) {
        struct name *name = &m->names[pick(m, 3)];
        if (name->width == width)
            return read_name(name);
        if (name->width > width && chance(m, 60)) {
            int begin = chance(m, 30) ? 0 : below(m, name->width - width + 1);
            return columns(read_name(name), begin, begin + width);
        }
    }
    return NULL;
}

/* Of any width; mostly a name. */
static struct expr *anything(struct maker *m, int depth)
{
    if (m->name_count && chance(m, 75))
        return read_name(&m->names[pick(m, 2)]);
    return make(m, some_width(m), depth + 1);
}

static struct expr *make_linear(struct maker *m, int width, int depth)
{
    struct expr *expr = call("linear", anything(m, depth));
    bool full = chance(m, 15), bias = chance(m, 80), transposed = chance(m, 20);
    expr->args[expr->count++] = width_expr(m, width);
    if (chance(m, 10))
        expr->keywords[1] = "out";
    if (full || expr->keywords[1]) {
        give(expr, "weight", text(E_STRING, layer_name(m)));
        give(expr, "bias", bias ? text(E_STRING, layer_name(m)) : truth(false));
    } else {
        expr->args[expr->count++] = text(E_STRING, layer_name(m));
        if (!bias || chance(m, 10))
            give(expr, chance(m, 50) ? "bias" : NULL, truth(bias));
    }
    if (transposed || chance(m, 5))
        give(expr, "transposed", truth(transposed));
    return expr;
}

static struct expr *make_norm(struct maker *m, int width, int depth)
{
    static const double eps[] = {1e-5, 1e-6, 1e-3, 0.1};
    bool layer = chance(m, 50), affine = chance(m, 80);
    struct expr *expr = call(layer ? "layernorm" : "rmsnorm", make(m, width, depth + 1));
    if (affine && chance(m, 15)) {
        give(expr, "weight", text(E_STRING, layer_name(m)));
        if (layer)
            give(expr, "bias", text(E_STRING, layer_name(m)));
    } else if (affine) {
        expr->args[expr->count++] = text(E_STRING, layer_name(m));
        if (chance(m, 30))
            give(expr, chance(m, 50) ? "eps" : NULL, real(eps[below(m, 4)]));
        if (layer && chance(m, 20))
            give(expr, "bias", truth(chance(m, 50)));
        else if (!layer && chance(m, 30))
            give(expr, "offset", chance(m, 50) ? integer(1) : real(0.5));
    } else {
        give(expr, "affine", truth(false));
        give(expr, "eps", real(eps[below(m, 4)]));
    }
    return expr;
}

static struct expr *make_batchnorm(struct maker *m, int width, int depth)
{
    struct expr *x = chance(m, 50) ? make_linear(m, width, depth + 1) : make(m, width, depth + 1);
    struct expr *expr = call("batchnorm", x);
    expr->args[expr->count++] = text(E_STRING, layer_name(m));
    if (chance(m, 20))
        give(expr, "eps", real(1e-3));
    if (chance(m, 10))
        give(expr, "mean", text(E_STRING, layer_name(m)));
    return expr;
}

/* What would leave the domain of a function, or grow without end, is mostly kept from it. */
static struct expr *guarded(struct maker *m, const char *function, struct expr *x)
{
    if (chance(m, 5))
        return call(function, x);
    if (!strcmp(function, "exp")) {
        struct expr *clamp = call("clamp", x);
        give(clamp, NULL, real(-3));
        give(clamp, chance(m, 50) ? "hi" : NULL, integer(3));
        return call("exp", clamp);
    }
    struct expr *positive = chance(m, 50) ? call("abs", x) : call("softplus", x);
    return call(function, pair(E_ADD, positive, real(0.1)));
}

static struct expr *make_map(struct maker *m, int width, int depth)
{
    static const char *const maps[] = {"relu", "relu6", "gelu", "gelu_tanh", "silu", "mish", "hardswish", "hardsigmoid",
                                       "sigmoid", "tanh", "softplus", "identity", "abs", "leaky_relu", "elu", "clamp",
                                       "exp", "log", "sqrt"};
    enum { MAPS = sizeof maps / sizeof *maps };
    const char *function = maps[below(m, MAPS)];
    struct expr *x = chance(m, 50) ? make_linear(m, width, depth + 1) : make(m, width, depth + 1);
    if (!strcmp(function, "exp") || !strcmp(function, "log") || !strcmp(function, "sqrt"))
        return guarded(m, function, x);
    struct expr *expr = call(function, x);
    if (!strcmp(function, "leaky_relu") && chance(m, 70))
        give(expr, chance(m, 50) ? "slope" : NULL, real(0.2));
    if (!strcmp(function, "elu") && chance(m, 70))
        give(expr, chance(m, 50) ? "alpha" : NULL, real(1.5));
    if (!strcmp(function, "clamp")) {
        bool keywords = chance(m, 50);
        give(expr, keywords ? "lo" : NULL, real(-0.8));
        give(expr, keywords ? "hi" : NULL, chance(m, 50) ? integer(1) : real(0.6));
    }
    return expr;
}

static struct expr *make_pair(struct maker *m, int width, int depth)
{
    static const enum expr_kind kinds[] = {E_ADD, E_ADD, E_SUBTRACT, E_MULTIPLY, E_MULTIPLY, E_DIVIDE};
    enum expr_kind kind = kinds[below(m, 6)];
    struct expr *a = make(m, width, depth + 1), *b;
    int other = below(m, 10);
    if (other < 5) {
        b = make(m, width, depth + 1);
    } else if (other < 7) {
        b = number_expr(m);
    } else if (other < 8) {
        b = call("param", text(E_STRING, layer_name(m)));
        b->args[b->count++] = integer(chance(m, 70) ? width : 1);
    } else {
        b = make(m, 1, depth + 2);
    }
    if (kind == E_DIVIDE && !chance(m, 3)) {
        b = pair(E_ADD, call("abs", other >= 5 && other < 7 ? make(m, width, depth + 1) : b), real(0.5));
    } else if (chance(m, 15)) {
        struct expr *extreme = call(chance(m, 50) ? "maximum" : "minimum", a);
        extreme->args[extreme->count++] = b;
        return extreme;
    } else if (chance(m, 25)) {
        return pair(kind, b, a);
    }
    return pair(kind, a, b);
}

static struct expr *make_concat(struct maker *m, int width, int depth)
{
    struct expr *expr = call("concat", NULL);
    while (width > 0 && expr->count < 5) {
        int part = expr->count == 4 || width == 1 ? width : 1 + below(m, width);
        bool last = part == width;
        if (part == 1 && expr->count && chance(m, 15))
            expr->args[expr->count++] = number_expr(m);
        else
            expr->args[expr->count++] = make(m, part, depth + 1);
        width -= part;
        if (last)
            break;
    }
    return expr;
}

static struct expr *make_reduction(struct maker *m, int depth)
{
    if (chance(m, 40)) {
        int width = some_width(m);
        struct expr *expr = call("dot", make(m, width, depth + 1));
        expr->args[expr->count++] = make(m, width, depth + 1);
        return expr;
    }
    return call(chance(m, 50) ? "sum" : "mean", anything(m, depth));
}

/* The gate of a transformer's feed-forward part: two products of one input. */
static struct expr *make_gate(struct maker *m, int width, int depth)
{
    static const char *const maps[] = {"silu", "gelu", "gelu_tanh", "sigmoid", "relu"};
    struct expr *x = anything(m, depth + 3);
    struct expr *gate = make_linear(m, width, depth), *up = make_linear(m, width, depth);
    gate->args[0] = up->args[0] = x;
    return pair(E_MULTIPLY, call(maps[below(m, 5)], gate), up);
}

/* Blocks keep the width of their first argument, or give that of their second: see make_block. */
static struct expr *make_block_call(struct maker *m, int width, int depth)
{
    const struct block *block = &m->network->blocks[below(m, m->blocks)];
    bool keeps = block->name[0] == 'k';
    struct expr *expr = call(block->name, keeps ? make(m, width, depth + 1) : anything(m, depth));
    bool keywords = chance(m, 30);
    give(expr, keywords ? "width" : NULL, width_expr(m, keeps ? some_width(m) : width));
    give(expr, keywords || chance(m, 20) ? "name" : NULL, text(E_STRING, layer_name(m)));
    return expr;
}

static struct expr *make(struct maker *m, int width, int depth)
{
    struct expr *old = existing(m, width);
    if (old && (depth >= 3 || m->budget <= 0 || chance(m, 25 + 20 * depth)))
        return old;
    m->budget--;
    if (!old && (depth >= 3 || m->budget <= 0))
        return make_linear(m, width, depth);
    if (width == 1 && chance(m, 40))
        return make_reduction(m, depth);
    int kind = below(m, 100);
    if (kind < 22)
        return make_linear(m, width, depth);
    if (kind < 50)
        return make_map(m, width, depth);
    if (kind < 65)
        return make_pair(m, width, depth);
    if (kind < 72)
        return make_norm(m, width, depth);
    if (kind < 78)
        return make_batchnorm(m, width, depth);
    if (kind < 81)
        return call(chance(m, 50) ? "softmax" : "log_softmax", make(m, width, depth + 1));
    if (kind < 87)
        return make_concat(m, width, depth);
    if (kind < 90)
        return make_gate(m, width, depth);
    if (kind < 93 && m->blocks)
        return make_block_call(m, width, depth);
    if (kind < 96) {
        int wider = width + below(m, 9), begin = below(m, wider - width + 1);
        return columns(make(m, wider, depth + 1), begin, begin + width);
    }
    struct expr *negative = expr_new(E_NEGATE);
    negative->args[negative->count++] = make(m, width, depth + 1);
    return negative;
}

/* ---- Statements ---- */

static struct stmt *add_stmt(struct body *body, enum stmt_kind kind, const char *name, struct expr *expr)
{
    struct stmt *stmt = pool_take(sizeof *stmt);
    stmt->kind = kind;
    stmt->name = name;
    stmt->expr = expr;
    body->at[body->count++] = stmt;
    return stmt;
}

static void know(struct maker *m, const char *name, int width)
{
    for (int i = 0; i < m->name_count; i++) {
        if (!strcmp(m->names[i].text, name)) {
            memmove(&m->names[i], &m->names[i + 1], (size_t)(--m->name_count - i) * sizeof *m->names);
            break;
        }
    }
    if (m->name_count < MAX_SCOPE)
        m->names[m->name_count++] = (struct name){name, width, false};
}

static bool is_input(const struct maker *m, const char *name)
{
    for (int i = 0; i < m->network->input_count; i++) {
        if (!strcmp(m->network->inputs[i].name, name))
            return true;
    }
    return false;
}

/* A name bound once more, to a value of the same width where `keep`. */
static bool rebind(struct maker *m, struct body *body, bool keep)
{
    const struct name *name = &m->names[m->name_count - 1 - below(m, m->name_count < 3 ? m->name_count : 3)];
    const char *bound = name->text;
    int width = keep ? name->width : some_width(m);
    if (is_input(m, bound))
        return false;
    struct expr *expr = make(m, width, 0);
    if (keep && chance(m, 40))
        expr = pair(E_ADD, text(E_NAME, bound), expr);
    add_stmt(body, S_ASSIGN, bound, expr);
    know(m, bound, width);
    return true;
}

static void assign(struct maker *m, struct body *body)
{
    int width = some_width(m);
    struct expr *expr = make(m, width, 0);
    const char *name = new_name(m);
    add_stmt(body, S_ASSIGN, name, expr);
    know(m, name, width);
}

/* Its body binds names above it to values of the same width, since the next turn reads them. */
static void add_repeat(struct maker *m, struct body *body)
{
    struct maker outer = *m;
    int begin = chance(m, 70) ? 0 : below(m, 4), turns = chance(m, 5) ? 0 : 1 + below(m, 3);
    const char *variable = outer.loop ? "j" : "i";
    struct stmt *stmt = add_stmt(body, S_REPEAT, variable, integer(begin));
    stmt->end = integer(begin + turns);
    m->loop = variable;
    m->nested = outer.loop;
    m->budget = m->budget < 4 ? m->budget : 4;
    for (int i = 1 + below(m, 2); i > 0; i--) {
        if (!outer.loop && chance(m, 10))
            add_repeat(m, &stmt->body);
        else if (chance(m, 60))
            rebind(m, &stmt->body, true);
        else
            assign(m, &stmt->body);
    }
    if (!stmt->body.count)
        assign(m, &stmt->body);
    m->loop = outer.loop;
    m->nested = outer.nested;
    m->budget = outer.budget - 4;
    if (!turns)                         /* nothing of it was bound, or kept its old value */
        memcpy(m->names, outer.names, sizeof m->names), m->name_count = outer.name_count;
}

/* A block is made for any width of its first argument `x`: k... gives the same width back, g... gives `width`. */
static void make_block(struct maker *m, int index)
{
    static const char *const maps[] = {"relu", "gelu", "silu", "tanh", "identity", "sigmoid"};
    bool keeps = chance(m, 50);
    struct block *block = &m->network->blocks[m->network->block_count++];
    block->name = pool_text("%s%d", keeps ? "keep" : "give", index);
    block->parameter_count = 3;
    block->parameters[0] = "x";
    block->parameters[1] = "width";
    block->parameters[2] = "name";
    m->in_block = true;
    struct expr *up = call("linear", text(E_NAME, "x"));
    up->args[up->count++] = chance(m, 50) ? text(E_NAME, "width")
                                          : pair(E_MULTIPLY, text(E_NAME, "width"), integer(2));
    up->args[up->count++] = text(E_STRING, layer_name(m));
    add_stmt(&block->body, S_ASSIGN, "h", call(maps[below(m, 6)], up));
    if (chance(m, 40)) {
        struct expr *norm = call(chance(m, 50) ? "layernorm" : "rmsnorm", text(E_NAME, "h"));
        norm->args[norm->count++] = text(E_STRING, layer_name(m));
        add_stmt(&block->body, S_ASSIGN, "h", norm);
    }
    if (keeps) {
        struct expr *gate = call("mean", text(E_NAME, "h"));
        block->result = pair(chance(m, 50) ? E_MULTIPLY : E_ADD, text(E_NAME, "x"), call("tanh", gate));
    } else {
        struct expr *down = call("linear", text(E_NAME, "h"));
        down->args[down->count++] = text(E_NAME, "width");
        down->args[down->count++] = text(E_STRING, layer_name(m));
        block->result = down;
        if (index && chance(m, 50)) {
            struct expr *inner = call(m->network->blocks[0].name, down);
            inner->args[inner->count++] = text(E_NAME, "width");
            inner->args[inner->count++] = text(E_STRING, layer_name(m));
            block->result = inner;
        }
    }
    m->in_block = false;
}

static void make_head(struct maker *m, int only)
{
    static const enum type types[] = {F32, F32, F32, TF32, F16, BF16};
    static const enum type array_types[] = {F32, F32, F32, F16, BF16};
    struct network *network = m->network;
    network->type = only >= 0 ? (enum type)only : types[below(m, 6)];
    network->rows = chance(m, 10) ? 1 : 1 + below(m, 12);
    for (int i = below(m, 3); i > 0; i--)
        network->batches[network->batch_count++] = chance(m, 30) ? 1 : 1 + below(m, 40);
    for (int i = below(m, 3); i > 0; i--)
        network->constants[network->constant_count] = (struct constant){
            pool_text("%s%d", chance(m, 50) ? "width" : "N", network->constant_count), integer(1 + below(m, 40))},
        network->constant_count++;
    for (int i = 1 + (chance(m, 40) ? below(m, 3) : 0); i > 0; i--) {
        int width = some_width(m);
        const char *name = new_name(m);
        network->inputs[network->input_count++] =
            (struct input){name, array_types[below(m, 5)], width_expr(m, width)};
        know(m, name, width);
    }
    for (int i = chance(m, 30) ? 1 + below(m, 2) : 0; i > 0; i--)
        make_block(m, network->block_count);
    m->blocks = network->block_count;
}

/* Something that reads what nothing else has read. */
static struct expr *everything(struct maker *m)
{
    struct expr *expr = call("concat", make(m, some_width(m), 0));
    for (int i = 0; i < m->name_count && expr->count < MAX_ARGS; i++) {
        if (!m->names[i].read)
            expr->args[expr->count++] = chance(m, 50) ? read_name(&m->names[i]) : call("sum", read_name(&m->names[i]));
    }
    return expr->count == 1 ? expr->args[0] : expr;
}

/* Types of outputs are those of inputs, whatever the network's. */
static const char *output_type(struct maker *m)
{
    static const char *const types[] = {"f32", "f16", "bf16"};
    return chance(m, 60) ? NULL : types[chance(m, 60) ? 0 : below(m, 3)];
}

static void add_outputs(struct maker *m)
{
    struct body *body = &m->network->body;
    for (int i = 0, count = 1 + (chance(m, 35) ? below(m, 3) : 0); i < count; i++) {
        const struct name *last = &m->names[m->name_count - 1];
        struct stmt *stmt;
        if (!i && !is_input(m, last->text) && chance(m, 30)) {
            stmt = add_stmt(body, S_OUTPUT, last->text, NULL);
        } else {
            struct expr *expr = i && chance(m, 20) ? text(E_NAME, last->text)
                                : i + 1 == count   ? everything(m)
                                                   : make(m, some_width(m), 0);
            stmt = add_stmt(body, S_OUTPUT, pool_text("out%d", i), expr);
        }
        stmt->type = output_type(m);
    }
}

static struct network *generate_once(uint64_t seed, uint64_t turn, int only)
{
    struct maker m = {.rng = {rng_hash(seed, "network") + turn}};
    m.network = pool_take(sizeof *m.network);
    m.network->seed = seed;
    m.network->name = pool_text("n%llu", (unsigned long long)seed);
    make_head(&m, only);
    m.budget = 3 + below(&m, 10);
    for (int i = 1 + below(&m, 5); i > 0; i--) {
        if (chance(&m, 15))
            add_repeat(&m, &m.network->body);
        else if (!chance(&m, 15) || !rebind(&m, &m.network->body, chance(&m, 50)))
            assign(&m, &m.network->body);
    }
    add_outputs(&m);
    return m.network;
}

struct network *generate(uint64_t seed, int only)
{
    const char *error;
    for (uint64_t turn = 0;; turn++) {
        struct network *network = generate_once(seed, turn, only);
        if (expand(network, &error))
            return network;
        if (turn == 100) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, error);
            print_network(network, stderr);
            return NULL;
        }
    }
}
