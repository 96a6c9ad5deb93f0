#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "name.h"
#include "statement.h"

struct printer {
    struct arena *arena;
    const struct model *model;
    const struct net *net;
    struct store *store;
    struct names *names;
    struct page page;
};

/* ---- what is written where ---- */

enum { DEEPEST = 3 };               /* calls in calls */

static bool is_leaf(const struct term *term)
{
    return term->op == TERM_INPUT || term->op == TERM_NUMBER || term->op == TERM_PARAM;
}

/* Whether a term may be written inside of its user: calls that do much get a line of their own. */
static bool takes_in(const struct term *user, const struct term *term)
{
    switch (user->op) {
    case TERM_LINEAR:
    case TERM_LAYERNORM:
    case TERM_RMSNORM:
    case TERM_SLICE:
    case TERM_DOT:
        return false;
    case TERM_BATCHNORM:
        return term->op == TERM_LINEAR;
    case TERM_CONCAT:
        return term->op == TERM_SLICE;
    case TERM_SOFTMAX:
    case TERM_LOG_SOFTMAX:
        return term->op == TERM_LINEAR;
    default:
        return term->op != TERM_CONCAT;
    }
}

static bool is_inlined(const struct term *term)
{
    return is_leaf(term) || (term->uses == 1 && term->user && takes_in(term->user, term) && term->depth <= DEEPEST);
}

static void set_depths(const struct net *net)
{
    for (size_t i = 0; i < net->terms.count; i++) {
        struct term *term = net->terms.at[i];
        term->depth = !is_leaf(term);
        for (int j = 0; j < term->arg_count; j++) {
            const struct term *arg = term->args[j];
            if (is_inlined(arg) && arg->depth >= term->depth)
                term->depth = arg->depth + 1;
        }
    }
}

/* ---- tokens ---- */

static void add(struct printer *p, struct statement *to, enum token_kind kind, const char *text, struct term *value)
{
    struct token token = {.kind = kind, .text = text, .value = value};
    VEC_PUSH(p->arena, &to->tokens, token);
}

static void add_text(struct printer *p, struct statement *to, const char *text)
{
    add(p, to, TOKEN_TEXT, text, NULL);
}

static void add_string(struct printer *p, struct statement *to, const char *before, const char *name)
{
    add_text(p, to, before);
    add(p, to, TOKEN_STRING, name, NULL);
}

/* The shortest decimal that is this number: of the model's type, which is f32 or less, where it is one. */
static const char *number_text(struct arena *arena, double number)
{
    char text[40], *exponent;
    bool single = (double)(float)number == number;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        double back = strtod(text, NULL);
        if (single ? (float)back == (float)number : back == number)
            break;
    }
    exponent = strchr(text, 'e');
    if (exponent) {                 /* 1e-05 is 1e-5 */
        char *digits = exponent + 1 + (exponent[1] == '-' || exponent[1] == '+');
        int power = (int)strtol(digits, NULL, 10);
        snprintf(exponent + 1, 8, "%s%d", exponent[1] == '-' ? "-" : "", power);
    }
    return arena_copy(arena, text, strlen(text));
}

/* ---- expressions ---- */

enum precedence { SUM = 1, PRODUCT, SIGN, PRIMARY };

static void add_term(struct printer *p, struct statement *to, struct term *term, enum precedence least);

static const char *const function_names[] = {
    [TERM_RELU] = "relu",         [TERM_RELU6] = "relu6",         [TERM_LEAKY_RELU] = "leaky_relu",
    [TERM_ELU] = "elu",           [TERM_GELU] = "gelu",           [TERM_GELU_TANH] = "gelu_tanh",
    [TERM_SILU] = "silu",         [TERM_MISH] = "mish",           [TERM_HARDSWISH] = "hardswish",
    [TERM_HARDSIGMOID] = "hardsigmoid", [TERM_SIGMOID] = "sigmoid", [TERM_TANH] = "tanh",
    [TERM_SOFTPLUS] = "softplus", [TERM_EXP] = "exp",             [TERM_LOG] = "log",
    [TERM_SQRT] = "sqrt",         [TERM_ABS] = "abs",             [TERM_CLAMP] = "clamp",
    [TERM_MAXIMUM] = "maximum",   [TERM_MINIMUM] = "minimum",     [TERM_SOFTMAX] = "softmax",
    [TERM_LOG_SOFTMAX] = "log_softmax", [TERM_SUM] = "sum",       [TERM_MEAN] = "mean",
    [TERM_DOT] = "dot",           [TERM_CONCAT] = "concat",
};

static bool same_float(double a, double b)
{
    return (float)a == (float)b;
}

static void add_call(struct printer *p, struct statement *to, const struct term *term)
{
    static const struct { enum term_op op; double usual; } defaults[] = {{TERM_LEAKY_RELU, 0.01}, {TERM_ELU, 1}};
    int numbers = term->number_count;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (term->op == defaults[i].op && same_float(term->numbers[0], defaults[i].usual))
            numbers = 0;
    }
    add_text(p, to, arena_format(p->arena, "%s(", function_names[term->op]));
    for (int i = 0; i < term->arg_count; i++) {
        add_text(p, to, i ? ", " : "");
        add_term(p, to, term->args[i], SUM);
    }
    for (int i = 0; i < numbers; i++)
        add_text(p, to, arena_format(p->arena, ", %s", number_text(p->arena, term->numbers[i])));
    add_text(p, to, ")");
}

/* "fc1" of "fc1.weight", NULL where a name has another ending. */
static const char *prefix_of(struct arena *arena, const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    if (length <= tail || strcmp(name + length - tail, ending))
        return NULL;
    return arena_copy(arena, name, length - tail);
}

static bool has_prefix(const char *name, const char *prefix, const char *ending)
{
    size_t length = strlen(prefix);
    return !strncmp(name, prefix, length) && !strcmp(name + length, ending);
}

/* The names of weight and bias: a prefix where both are named after one, else in full. */
static void add_parameters(struct printer *p, struct statement *to, const char *weight, const char *bias)
{
    const char *prefix = prefix_of(p->arena, weight, ".weight");
    if (prefix && (!bias || has_prefix(bias, prefix, ".bias"))) {
        add_string(p, to, ", ", prefix);
        add_text(p, to, bias ? "" : ", bias=false");
        return;
    }
    add_string(p, to, ", weight=", weight);
    if (bias)
        add_string(p, to, ", bias=", bias);
    else
        add_text(p, to, ", bias=false");
}

static void add_linear(struct printer *p, struct statement *to, const struct term *term)
{
    const char *bias = term->bias ? store_vector(p->store, term->bias) : NULL;
    const char *prefix = bias ? prefix_of(p->arena, bias, ".bias") : NULL;
    const char *better = prefix ? arena_format(p->arena, "%s.weight", prefix) : NULL;
    bool transposed = term->transposed;
    const char *weight = store_matrix(p->store, term->weight, &transposed, better);
    add_text(p, to, "linear(");
    add_term(p, to, term->args[0], SUM);
    add_text(p, to, arena_format(p->arena, ", %" PRId64, term->width));
    add_parameters(p, to, weight, bias);
    add_text(p, to, transposed ? ", transposed=true)" : ")");
}

static void add_norm(struct printer *p, struct statement *to, const struct term *term)
{
    bool layer = term->op == TERM_LAYERNORM;
    const char *weight = term->weight ? store_vector(p->store, term->weight) : NULL;
    const char *bias = term->bias ? store_vector(p->store, term->bias) : NULL;
    const char *prefix = weight ? prefix_of(p->arena, weight, ".weight") : NULL;
    add_text(p, to, layer ? "layernorm(" : "rmsnorm(");
    add_term(p, to, term->args[0], SUM);
    if (!weight)
        add_text(p, to, ", affine=false");
    else if (layer)
        add_parameters(p, to, weight, bias);
    else
        add_string(p, to, prefix ? ", " : ", weight=", prefix ? prefix : weight);
    if (!same_float(term->numbers[0], layer ? 1e-5 : 1e-6))
        add_text(p, to, arena_format(p->arena, ", eps=%s", number_text(p->arena, term->numbers[0])));
    add_text(p, to, ")");
}

static void add_batchnorm(struct printer *p, struct statement *to, const struct term *term)
{
    const char *weight = store_vector(p->store, term->weight), *bias = store_vector(p->store, term->bias);
    const char *mean = store_vector(p->store, term->mean), *var = store_vector(p->store, term->var);
    const char *prefix = prefix_of(p->arena, weight, ".weight");
    add_text(p, to, "batchnorm(");
    add_term(p, to, term->args[0], SUM);
    if (prefix && has_prefix(bias, prefix, ".bias") && has_prefix(mean, prefix, ".running_mean") &&
        has_prefix(var, prefix, ".running_var")) {
        add_string(p, to, ", ", prefix);
    } else {
        add_string(p, to, ", weight=", weight);
        add_string(p, to, ", bias=", bias);
        add_string(p, to, ", mean=", mean);
        add_string(p, to, ", var=", var);
    }
    if (!same_float(term->numbers[0], 1e-5))
        add_text(p, to, arena_format(p->arena, ", eps=%s", number_text(p->arena, term->numbers[0])));
    add_text(p, to, ")");
}

static bool is_negative_number(const struct term *term)
{
    return term->op == TERM_NUMBER && signbit(term->numbers[0]);
}

/* a + b, a - b, a * b, a / b: what stands on the right binds tighter, so that the order is the model's. */
static void add_arithmetic(struct printer *p, struct statement *to, struct term *term, enum precedence least)
{
    static const char *const signs[] = {" + ", " - ", " * ", " / "};
    bool sum = term->op == TERM_ADD || term->op == TERM_SUB, turn = sum && is_negative_number(term->args[1]);
    enum precedence own = sum ? SUM : PRODUCT;
    enum term_op op = !turn ? term->op : term->op == TERM_ADD ? TERM_SUB : TERM_ADD;
    add_text(p, to, own < least ? "(" : "");
    add_term(p, to, term->args[0], own);
    add_text(p, to, signs[op - TERM_ADD]);
    if (turn)
        add_text(p, to, number_text(p->arena, -term->args[1]->numbers[0]));
    else
        add_term(p, to, term->args[1], (enum precedence)(own + 1));
    add_text(p, to, own < least ? ")" : "");
}

static void add_expression(struct printer *p, struct statement *to, struct term *term, enum precedence least)
{
    switch (term->op) {
    case TERM_INPUT:
        add(p, to, TOKEN_VALUE, NULL, term);
        break;
    case TERM_NUMBER:
        add_text(p, to, number_text(p->arena, term->numbers[0]));
        break;
    case TERM_PARAM:
        add_string(p, to, "param(", store_vector(p->store, term->weight));
        add_text(p, to, arena_format(p->arena, ", %" PRId64 ")", term->width));
        break;
    case TERM_ADD:
    case TERM_SUB:
    case TERM_MUL:
    case TERM_DIV:
        add_arithmetic(p, to, term, least);
        break;
    case TERM_NEG:
        add_text(p, to, least > SIGN ? "(-" : "-");
        add_term(p, to, term->args[0], SIGN);
        add_text(p, to, least > SIGN ? ")" : "");
        break;
    case TERM_SLICE:
        add_term(p, to, term->args[0], PRIMARY);
        add_text(p, to, arena_format(p->arena, "[%" PRId64 ":%" PRId64 "]", term->begin, term->end));
        break;
    case TERM_LINEAR:
        add_linear(p, to, term);
        break;
    case TERM_LAYERNORM:
    case TERM_RMSNORM:
        add_norm(p, to, term);
        break;
    case TERM_BATCHNORM:
        add_batchnorm(p, to, term);
        break;
    default:
        add_call(p, to, term);
        break;
    }
}

static void add_term(struct printer *p, struct statement *to, struct term *term, enum precedence least)
{
    if (is_inlined(term))
        add_expression(p, to, term, least);
    else
        add(p, to, TOKEN_VALUE, NULL, term);
}

/* ---- the spec ---- */

static const char *plain(struct arena *arena, const char *text)
{
    char *copy = arena_copy(arena, text, strlen(text));
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '_';
    }
    return copy;
}

/* A shape that is not [rows, width] is worth a comment. */
static const char *shape_comment(struct arena *arena, const struct value *value, const struct term *term)
{
    const struct shape *shape = &value->shape;
    if (shape->rank == 2 && shape->dims[1] == term->width)
        return "";
    return arena_format(arena, "     # %s", shape_text(arena, shape));
}

static void print_head(struct printer *p, const struct print_request *request)
{
    page_line(&p->page, arena_format(p->arena, "# From %s, by mlpc import.", plain(p->arena, request->source)));
    page_line(&p->page, arena_format(p->arena, "model %s {", request->name));
    page_line(&p->page, arena_format(p->arena, "batch   %s;", request->batch));
    if (request->type != ELEMENT_F32)
        page_line(&p->page, arena_format(p->arena, "dtype   %s;", element_name(request->type)));
    if (!store_is_empty(p->store))
        page_line(&p->page, arena_format(p->arena, "weights \"%s\";", request->weights));
    page_add(&p->page, "\n");
    for (size_t i = 0; i < p->net->inputs.count; i++) {
        const struct term *term = p->net->inputs.at[i];
        page_line(&p->page, arena_format(p->arena, "input %s: %s[%" PRId64 "];%s", term->name, element_name(term->type),
                                            term->width, shape_comment(p->arena, p->model->inputs.at[i], term)));
    }
    page_add(&p->page, "\n");
}

static bool is_output(const struct net *net, const struct term *term, size_t *index)
{
    for (size_t i = 0; i < net->outputs.count; i++) {
        if (net->outputs.at[i] == term) {
            *index = i;
            return true;
        }
    }
    return false;
}

static struct statement *statement_of(struct printer *p, struct term *term)
{
    struct statement *statement = ARENA_NEW(p->arena, struct statement);
    statement->term = term;
    add_expression(p, statement, term, SUM);
    return statement;
}

/* An output that nothing else reads is computed where it is declared, at the end; one that is read has its name from
 * where it is computed on. */
static bool is_deferred(const struct term *term)
{
    return term->uses == 1 && !term->user;
}

static void print_output(struct printer *p, size_t i, const struct print_request *request, const char *name,
                         struct statement *const *deferred)
{
    const struct term *term = p->net->outputs.at[i];
    enum element type = p->net->output_types.at[i];
    const char *colon = type == request->type ? "" : arena_format(p->arena, ": %s", element_name(type));
    const char *value = term->name ? term->name : statement_text(p->arena, deferred[i], NULL);
    if (value == name)
        page_line(&p->page, arena_format(p->arena, "output %s%s;", name, colon));
    else
        page_line(&p->page, arena_format(p->arena, "output %s%s = %s;", name, colon, value));
}

/* Inputs and outputs have the model's names, as far as those are names. */
static void name_ports(struct printer *p, const char **output_names)
{
    const struct net *net = p->net;
    for (size_t i = 0; i < net->inputs.count; i++)
        net->inputs.at[i]->name = name_value(p->names, p->arena, p->model->inputs.at[i]->name);
    for (size_t i = 0; i < net->outputs.count; i++) {
        struct term *term = net->outputs.at[i];
        output_names[i] = name_value(p->names, p->arena, p->model->outputs.at[i]->name);
        if (!term->name && !is_leaf(term) && !is_deferred(term))
            term->name = output_names[i];
    }
}

static statement_list make_statements(struct printer *p, struct statement **deferred)
{
    statement_list list = {0};
    size_t index = 0;
    for (size_t i = 0; i < p->net->terms.count; i++) {
        struct term *term = p->net->terms.at[i];
        if (!term->reached || is_inlined(term))
            continue;
        struct statement *statement = statement_of(p, term);
        statement->deferred = is_deferred(term) && is_output(p->net, term, &index);
        if (statement->deferred)
            deferred[index] = statement;
        VEC_PUSH(p->arena, &list, statement);
    }
    return list;
}

const char *print_spec(const struct model *model, const struct net *net, const struct print_request *request,
                       struct store *store, const char ***output_names)
{
    struct printer p = {.arena = model->arena, .model = model, .net = net, .store = store};
    struct statement **deferred = ARENA_ARRAY(p.arena, struct statement *, net->outputs.count);
    p.page.arena = p.arena;
    p.names = name_set(p.arena);
    *output_names = ARENA_ARRAY(p.arena, const char *, net->outputs.count);
    name_ports(&p, *output_names);
    set_depths(net);
    const statement_list list = make_statements(&p, deferred);
    print_head(&p, request);
    statements_print(&p.page, &list, p.names);
    for (size_t i = 0; i < net->outputs.count; i++)
        print_output(&p, i, request, (*output_names)[i], deferred);
    page_add(&p.page, "}\n");
    VEC_PUSH(p.arena, &p.page.text, '\0');
    return layout_spec(p.arena, p.page.text.at);
}
