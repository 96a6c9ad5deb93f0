/* Calls of the language's functions become nodes with their parameters. */
#include "lowering.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct call {
    struct lowering *lowering;
    const struct function *function;
    struct span span, name_span;    /* of the whole call; of the function's name in it */
    /* by parameter */
    struct datum values[FUNCTION_PARAMETERS_MAX];   /* DATUM_NONE where it is left out */
    struct span spans[FUNCTION_PARAMETERS_MAX];
};

static const struct datum wrong = {.kind = DATUM_WRONG};

static int64_t width_of(const struct call *call, int node)
{
    return graph_node(call->lowering->graph, node)->width;
}

/* ---- Arguments ---- */

static const char *const kind_text[] = {
    [ARGUMENT_TENSOR] = "a tensor",
    [ARGUMENT_OPERAND] = "a tensor or a number",
    [ARGUMENT_WIDTH] = "a number",
    [ARGUMENT_NUMBER] = "a number",
    [ARGUMENT_EPS] = "a number",
    [ARGUMENT_STRING] = "a string",
    [ARGUMENT_TRUTH] = "true or false",
    [ARGUMENT_TRUTH_OR_STRING] = "true, false or a string",
};

static bool is_kind(enum argument_kind kind, enum datum_kind given)
{
    switch (kind) {
    case ARGUMENT_TENSOR:
        return given == DATUM_TENSOR;
    case ARGUMENT_OPERAND:
        return given == DATUM_TENSOR || given == DATUM_NUMBER;
    case ARGUMENT_WIDTH:
    case ARGUMENT_NUMBER:
    case ARGUMENT_EPS:
        return given == DATUM_NUMBER;
    case ARGUMENT_STRING:
        return given == DATUM_STRING;
    case ARGUMENT_TRUTH:
        return given == DATUM_TRUTH;
    case ARGUMENT_TRUTH_OR_STRING:
        return given == DATUM_TRUTH || given == DATUM_STRING;
    }
    return false;
}

/* Behind an error: how the call is written. A function of one argument needs no telling. */
static void note_usage(const struct call *call)
{
    if (call->function->parameter_count > 1)
        diag_note(call->lowering->diags, call->name_span, "it is called as %s", call->function->usage);
}

static void fail_kind(const struct call *call, const struct parameter *parameter, struct datum datum,
                      struct span span)
{
    struct lowering *lowering = call->lowering;
    if (!lowering_fails(lowering, span))
        return;
    diag_error(lowering->diags, DIAG_WRONG_KIND, span, "the argument '%s' of '%s' must be %s, not %s",
               parameter->name, call->function->name, kind_text[parameter->kind], datum_text(lowering, datum));
    note_usage(call);
    lowering_places(lowering);
}

static bool check_argument(const struct call *call, const struct parameter *parameter, struct datum datum,
                           struct span span)
{
    struct lowering *lowering = call->lowering;
    if (datum.kind == DATUM_WRONG)
        return false;
    if (!is_kind(parameter->kind, datum.kind)) {
        fail_kind(call, parameter, datum, span);
        return false;
    }
    if (parameter->kind == ARGUMENT_EPS && number_real(datum.number) < 0) {
        LOWERING_FAIL(lowering, BAD_ARGUMENT, span, "the argument '%s' of '%s' must not be negative",
                      parameter->name, call->function->name);
        return false;
    }
    int64_t width;
    const char *what = arena_format(lowering->arena, "the width of '%s'", call->function->name);
    return parameter->kind != ARGUMENT_WIDTH || datum_width(lowering, datum, span, what, &width);
}

/* The first wrong argument ends it: where one is missing or stands elsewhere, all behind it look wrong. */
static bool take_arguments(struct call *call, const struct args *args, const struct datum *data)
{
    for (size_t i = 0; i < args->list.count; i++) {
        const struct arg *arg = &args->list.at[i];
        int at = arg->keyword.name ? function_parameter(call->function, arg->keyword.name->text) : (int)i;
        if (!check_argument(call, &call->function->parameters[at], data[i], arg->value->span))
            return false;
        call->values[at] = data[i];
        call->spans[at] = arg->value->span;
    }
    return true;
}

/* -1 where there is none. */
static int find_parameter(const struct call *call, const char *name)
{
    for (int i = 0; i < call->function->parameter_count; i++) {
        if (!strcmp(call->function->parameters[i].name, name))
            return i;
    }
    return -1;
}

static int parameter_index(const struct call *call, const char *name)
{
    int i = find_parameter(call, name);
    assert(i >= 0);
    return i;
}

static int tensor_argument(const struct call *call, const char *name)
{
    return call->values[parameter_index(call, name)].node;
}

static int64_t width_argument(const struct call *call, const char *name)
{
    int64_t width = 0;
    number_whole(call->values[parameter_index(call, name)].number, &width);
    return width;
}

static double number_argument(const struct call *call, int i)
{
    if (call->values[i].kind == DATUM_NONE)
        return call->function->parameters[i].fallback;
    return number_real(call->values[i].number);
}

/* True also where a string stands: it names what is there. */
static bool truth_argument(const struct call *call, const char *name)
{
    int i = parameter_index(call, name);
    if (call->values[i].kind == DATUM_NONE)
        return call->function->parameters[i].fallback != 0;
    return call->values[i].kind == DATUM_STRING || call->values[i].truth;
}

/* ---- Parameters of the weights file ---- */

static void fail_unnamed(const struct call *call, const char *keyword)
{
    struct lowering *lowering = call->lowering;
    if (!lowering_fails(lowering, call->span))
        return;
    enum argument_kind kind = call->function->parameters[parameter_index(call, keyword)].kind;
    diag_error(lowering->diags, DIAG_MISSING_PARAMETER, call->span,
               "nothing names the %s of '%s': give \"name\", or %s=\"...\"%s", keyword, call->function->name, keyword,
               kind == ARGUMENT_TRUTH_OR_STRING ? ", or bias=false" : "");
    note_usage(call);
    lowering_places(lowering);
}

/* Whoever finds that the tensor has another shape will want to say why this one is needed. */
static void note_needs(const struct call *call, struct param *source)
{
    int x = find_parameter(call, "x"), size = find_parameter(call, "out");
    size = size < 0 ? find_parameter(call, "n") : size;
    if (x >= 0) {
        const int node = call->values[x].node;
        source->operand = node_text(call->lowering, node);
        source->operand_width = width_of(call, node);
        source->operand_span = width_span(call->lowering, node);
    }
    if (size >= 0)
        source->size_span = call->spans[size];
}

static struct param *find_source(const struct call *call, const char *tensor, int64_t rows, int64_t cols,
                                 bool transposed, enum param_role role, struct span span)
{
    struct graph *graph = call->lowering->graph;
    const size_t before = graph->sources.count;
    struct param *source = graph_source(graph, tensor, rows, cols, transposed, role, call->function->name, span);
    if (graph->sources.count > before)
        note_needs(call, source);
    return source;
}

/* The tensor that `keyword` names, or "name.suffix"; NULL after an error where neither is given. */
static struct param *source(const struct call *call, const char *keyword, const char *suffix, int64_t rows,
                            int64_t cols, bool transposed, enum param_role role)
{
    struct lowering *lowering = call->lowering;
    int named = parameter_index(call, keyword), prefix = parameter_index(call, "name");
    const char *tensor = call->values[named].string;
    struct span span = call->spans[named];
    if (call->values[named].kind != DATUM_STRING) {
        if (call->values[prefix].kind != DATUM_STRING) {
            fail_unnamed(call, keyword);
            return NULL;
        }
        tensor = arena_format(lowering->arena, "%s.%s", call->values[prefix].string, suffix);
        span = call->spans[prefix];
    }
    return find_source(call, tensor, rows, cols, transposed, role, span);
}

static struct param *vector(const struct call *call, const char *keyword, const char *suffix, int64_t width,
                            enum param_role role)
{
    return source(call, keyword, suffix, 1, width, false, role);
}

/* Without `affine` nothing is read, so nothing may be named. */
static bool check_not_affine(const struct call *call)
{
    bool sound = true;
    for (int i = 0; i < call->function->parameter_count; i++) {
        const char *name = call->function->parameters[i].name;
        bool names = call->values[i].kind == DATUM_STRING && strcmp(name, "name");
        bool shifts = !strcmp(name, "offset") && number_argument(call, i) != 0;
        if (names || shifts) {
            LOWERING_FAIL(call->lowering, BAD_ARGUMENT, call->spans[i],
                          "the argument '%s' of '%s' has no use: with affine=false there is no weight", name,
                          call->function->name);
            sound = false;
        }
    }
    return sound;
}

/* ---- Nodes ---- */

static struct datum add(const struct call *call, enum op op, int64_t width, const int *in, int in_count)
{
    int node = graph_add(call->lowering->graph, op, width, in, in_count, call->span);
    return (struct datum){.kind = DATUM_TENSOR, .node = node};
}

static struct datum add_with_params(const struct call *call, enum op op, int64_t width, int in, struct param *first,
                                    struct param *second)
{
    struct datum datum = add(call, op, width, &in, 1);
    graph_node(call->lowering->graph, datum.node)->param[0] = first;
    graph_node(call->lowering->graph, datum.node)->param[1] = second;
    return datum;
}

static struct datum call_linear(const struct call *call)
{
    int x = tensor_argument(call, "x");
    int64_t out = width_argument(call, "out");
    bool biased = truth_argument(call, "bias");
    struct param *weight = source(call, "weight", "weight", out, width_of(call, x),
                                  truth_argument(call, "transposed"), ROLE_LINEAR_WEIGHT);
    struct param *bias = weight && biased ? vector(call, "bias", "bias", out, ROLE_LINEAR_BIAS) : NULL;
    if (!weight || (biased && !bias))
        return wrong;
    return add_with_params(call, OP_LINEAR, out, x, weight, bias);
}

/* layernorm and rmsnorm, which has no bias. */
static struct datum call_norm(const struct call *call)
{
    int x = tensor_argument(call, "x");
    int64_t width = width_of(call, x);
    bool affine = truth_argument(call, "affine");
    bool biased = affine && call->function->op == OP_LAYERNORM && truth_argument(call, "bias");
    if (!affine && !check_not_affine(call))
        return wrong;
    struct param *weight = affine ? vector(call, "weight", "weight", width, ROLE_NORM_WEIGHT) : NULL;
    struct param *bias = weight && biased ? vector(call, "bias", "bias", width, ROLE_NORM_BIAS) : NULL;
    if ((affine && !weight) || (biased && !bias))
        return wrong;
    struct datum datum = add_with_params(call, call->function->op, width, x, weight, bias);
    struct node *node = graph_node(call->lowering->graph, datum.node);
    node->attr[0] = number_argument(call, parameter_index(call, "eps"));
    if (call->function->op == OP_RMSNORM)
        node->attr[1] = number_argument(call, parameter_index(call, "offset"));
    return datum;
}

static struct datum call_batchnorm(const struct call *call)
{
    struct graph *graph = call->lowering->graph;
    int x = tensor_argument(call, "x");
    int64_t width = width_of(call, x);
    struct param *weight = vector(call, "weight", "weight", width, ROLE_NORM_WEIGHT);
    struct param *bias = weight ? vector(call, "bias", "bias", width, ROLE_NORM_BIAS) : NULL;
    struct param *mean = bias ? vector(call, "mean", "running_mean", width, ROLE_RUNNING_MEAN) : NULL;
    struct param *var = mean ? vector(call, "var", "running_var", width, ROLE_RUNNING_VAR) : NULL;
    if (!var)
        return wrong;
    struct param *scale = graph_param(graph, PARAM_BN_SCALE, 1, width, (struct param *[]){weight, var}, 2);
    struct param *shift = graph_param(graph, PARAM_BN_SHIFT, 1, width, (struct param *[]){weight, bias, mean, var}, 4);
    scale->eps = shift->eps = number_argument(call, parameter_index(call, "eps"));
    scale->span = shift->span = call->span;
    return add_with_params(call, OP_AFFINE, width, x, scale, shift);
}

static struct datum call_param(const struct call *call)
{
    int name = parameter_index(call, "name");
    int64_t width = width_argument(call, "n");
    struct datum datum = add(call, OP_PARAM, width, NULL, 0);
    graph_node(call->lowering->graph, datum.node)->param[0] =
        find_source(call, call->values[name].string, 1, width, false, ROLE_ROW, call->spans[name]);
    return datum;
}

/* Attributes are the arguments behind the first. */
static struct datum call_map(const struct call *call)
{
    int x = tensor_argument(call, "x");
    struct datum datum = add(call, call->function->op, width_of(call, x), &x, 1);
    for (int i = 1; i < call->function->parameter_count; i++)
        graph_node(call->lowering->graph, datum.node)->attr[i - 1] = number_argument(call, i);
    return datum;
}

static bool is_less(struct number a, struct number b)
{
    if (!a.real && !b.real)
        return a.integer < b.integer;
    return number_real(a) < number_real(b);
}

/* maximum and minimum: of two numbers a number. */
static struct datum call_choice(const struct call *call)
{
    struct datum a = call->values[0], b = call->values[1];
    if (a.kind == DATUM_NUMBER && b.kind == DATUM_NUMBER)
        return is_less(a.number, b.number) == (call->function->op == OP_MINIMUM) ? a : b;
    return stretch(call->lowering, call->function->op, call->function->name, a, b, call->span);
}

static struct datum call_dot(const struct call *call)
{
    int in[] = {tensor_argument(call, "a"), tensor_argument(call, "b")};
    if (width_of(call, in[0]) == width_of(call, in[1]))
        return add(call, OP_DOT, 1, in, 2);
    fail_widths(call->lowering, call->function->name, "equal widths", in[0], in[1], call->span);
    return wrong;
}

/* Any number of arguments; numbers among tensors are columns of their own. */
static struct datum call_concat(const struct call *call, const struct args *args, const struct datum *data)
{
    struct lowering *lowering = call->lowering;
    size_t count = args->list.count;
    bool sound = true, tensors = false;
    for (size_t i = 0; i < count; i++) {
        sound = check_argument(call, call->function->parameters, data[i], args->list.at[i].value->span) && sound;
        tensors = tensors || data[i].kind == DATUM_TENSOR;
    }
    if (!sound)
        return wrong;
    if (!tensors) {
        LOWERING_FAIL(lowering, WRONG_KIND, call->span, "'%s' needs a tensor among its arguments",
                      call->function->name);
        return wrong;
    }
    int *in = ARENA_ARRAY(lowering->arena, int, count);
    int64_t width = 0;
    for (size_t i = 0; i < count; i++) {
        in[i] = datum_node(lowering, data[i], args->list.at[i].value->span);
        width += width_of(call, in[i]);
    }
    if (width > SIZE_LIMIT) {
        LOWERING_FAIL(lowering, BAD_WIDTH, call->span, "the width of '%s' is %" PRId64 ", more than %" PRId64,
                      call->function->name, width, SIZE_LIMIT);
        return wrong;
    }
    return count == 1 ? data[0] : add(call, OP_CONCAT, width, in, (int)count);
}

static struct datum build(const struct call *call)
{
    int x;
    switch (call->function->op) {
    case OP_LINEAR:
        return call_linear(call);
    case OP_LAYERNORM:
    case OP_RMSNORM:
        return call_norm(call);
    case OP_AFFINE:
        return call_batchnorm(call);
    case OP_PARAM:
        return call_param(call);
    case OP_IDENTITY:
        return call->values[0];
    case OP_MAXIMUM:
    case OP_MINIMUM:
        return call_choice(call);
    case OP_DOT:
        return call_dot(call);
    case OP_SUM:
    case OP_MEAN:
        x = tensor_argument(call, "x");
        return add(call, call->function->op, 1, &x, 1);
    default:
        return call_map(call);
    }
}

struct datum call_function(struct lowering *lowering, const struct function *function, const struct expr *expr,
                           const struct datum *args)
{
    struct call call = {.lowering = lowering, .function = function, .span = expr->span,
                        .name_span = expr->call.function.span};
    if (function->variadic)
        return call_concat(&call, &expr->call.args, args);
    return take_arguments(&call, &expr->call.args, args) ? build(&call) : wrong;
}
