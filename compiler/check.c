/* A walk over the spec in its own order that keeps, for every name, what it stands for at this point. Names are
 * dense indices, so each kind of knowledge is an array over them. */
#include "check.h"

#include <string.h>
#include <strings.h>

#include "functions.h"
#include "nearest.h"

struct checker {
    const struct spec *spec;
    struct arena *arena;
    struct diags *diags;
    bool sound;
    /* By the index of a name; NULL: it does not stand for such a thing. */
    const struct constant **constants;
    const struct block **blocks;
    const struct function **functions;
    const struct stmt **inputs, **outputs;
    const struct stmt **running;        /* the repeat around this point whose variable it is */
    size_t *ended;                      /* the scope in which a repeat of which it was the variable has ended */
    size_t *scopes;                     /* the scope in which it was last assigned */
    size_t *missed;                     /* the scope in which its lack was last reported */
    size_t scope;                       /* scopes are numbered from 1: constants, each block, the model */
    const struct block *block;          /* the block that is being checked, or NULL */
    bool in_constants;
    int suggestions;                    /* made so far: looking for one takes time for every name of the spec */
};

enum { SUGGESTIONS_MAX = 20, SHORTEST_MISSPELT = 3 };

#define FAIL(checker, slug, span, ...)                                                                          \
    ((checker)->sound = false, diag_error((checker)->diags, DIAG_##slug, (span), __VA_ARGS__))

/* ---- Names ---- */

static bool has_value(const struct checker *checker, size_t n)
{
    return checker->running[n] || checker->scopes[n] == checker->scope || checker->constants[n];
}

static bool is_callable(const struct checker *checker, size_t n)
{
    return checker->blocks[n] && (!checker->block || checker->blocks[n]->index < checker->block->index);
}

/* Names like this one for which `fits` holds. */
static struct nearest find_nearest(struct checker *checker, const char *name,
                                   bool (*fits)(const struct checker *checker, size_t n))
{
    struct nearest nearest = nearest_to(name);
    if (checker->suggestions++ >= SUGGESTIONS_MAX || strlen(name) < SHORTEST_MISSPELT)
        return nearest;
    for (size_t i = 0; i < checker->spec->names.count; i++) {
        if (fits(checker, i))
            nearest_offer(&nearest, checker->spec->names.at[i]->text);
    }
    return nearest;
}

/* Where one name is nearer than all others, it is what to write. */
static void fix_name(struct checker *checker, struct span span, const struct nearest *nearest)
{
    if (nearest_only(nearest))
        diag_fix(checker->diags, span, "%s", nearest_only(nearest));
}

/* What Python writes for true and false. */
static const char *find_truth(const char *name)
{
    if (!strcasecmp(name, "true"))
        return "true";
    return !strcasecmp(name, "false") || !strcmp(name, "None") ? "false" : NULL;
}

static void fail_undefined(struct checker *checker, const struct name *name, struct span span)
{
    struct nearest nearest = find_nearest(checker, name->text, has_value);
    const bool alone = checker->in_constants && !nearest.count;
    const char *truth = find_truth(name->text);
    if (truth) {
        FAIL(checker, UNDEFINED_NAME, span, "'%s' has no value here; did you mean '%s'?", name->text, truth);
        diag_fix(checker->diags, span, "%s", truth);
        return;
    }
    FAIL(checker, UNDEFINED_NAME, span, "'%s' has no value here%s", name->text,
         alone ? ": a constant sees those above it" : nearest_text(checker->arena, &nearest));
    fix_name(checker, span, &nearest);
}

static void check_name(struct checker *checker, const struct name *name, struct span span)
{
    size_t n = name->index;
    if (has_value(checker, n) || checker->missed[n] == checker->scope)
        return;
    if (checker->block && checker->inputs[n])
        FAIL(checker, UNDEFINED_NAME, span, "'%s' is an input of the model, which a block sees only as an argument",
             name->text);
    else if (checker->inputs[n])
        FAIL(checker, UNDEFINED_NAME, span, "the input '%s' is declared below", name->text);
    else if (checker->ended[n] == checker->scope)
        FAIL(checker, UNDEFINED_NAME, span, "'%s' has no value here: the variable of a repeat ends with it",
             name->text);
    else if (checker->blocks[n] || checker->functions[n])
        FAIL(checker, UNDEFINED_NAME, span, "'%s' has no value; to call it, write '%s(...)'", name->text, name->text);
    else
        fail_undefined(checker, name, span);
    checker->missed[n] = checker->scope;        /* one message for a name is enough */
}

/* What a name stands for that cannot be assigned at this point, and where that is declared; NULL: it can be. */
static const char *find_fixed(const struct checker *checker, size_t n, struct span *where)
{
    if (checker->running[n]) {
        *where = checker->running[n]->target.span;
        return "the variable of this repeat";
    }
    if (!checker->block && checker->inputs[n]) {
        *where = checker->inputs[n]->target.span;
        return "an input";
    }
    if (checker->scopes[n] == checker->scope)
        return NULL;                    /* an argument of this block may hide a constant or a block */
    if (checker->constants[n]) {
        *where = checker->constants[n]->name.span;
        return "a constant";
    }
    if (checker->blocks[n]) {
        *where = checker->blocks[n]->name.span;
        return "a block";
    }
    return NULL;
}

static bool check_target(struct checker *checker, const struct identifier *target)
{
    struct span where;
    const char *what = find_fixed(checker, target->name->index, &where);
    if (!what)
        return true;
    FAIL(checker, FIXED_NAME, target->span, "'%s' is %s and cannot be assigned", target->name->text, what);
    diag_note(checker->diags, where, "'%s' is declared here", target->name->text);
    return false;
}

static void fail_duplicate(struct checker *checker, const struct identifier *name, const char *what,
                           struct span first)
{
    FAIL(checker, DUPLICATE_NAME, name->span, "'%s' is already %s", name->name->text, what);
    diag_note(checker->diags, first, "'%s' is declared here", name->name->text);
}

/* ---- Calls ---- */

static void check_expr(struct checker *checker, const struct expr *expr);

/* What can be called: a function, or a block by its parameters. */
struct callee {
    const struct function *function;
    const struct block *block;
};

static size_t callee_parameters(const struct callee *callee)
{
    return callee->block ? callee->block->params->list.count : (size_t)callee->function->parameter_count;
}

static const char *callee_parameter(const struct callee *callee, size_t i)
{
    return callee->block ? callee->block->params->list.at[i].name->text : callee->function->parameters[i].name;
}

static int find_parameter(const struct callee *callee, const char *keyword)
{
    if (callee->function)
        return function_parameter(callee->function, keyword);
    for (size_t i = 0; i < callee_parameters(callee); i++) {
        if (!strcmp(callee_parameter(callee, i), keyword))
            return (int)i;
    }
    return -1;
}

static bool is_required(const struct callee *callee, size_t i)
{
    return callee->block || callee->function->parameters[i].required;
}

static void note_usage(struct checker *checker, const struct callee *callee, struct span call)
{
    if (callee->block)
        diag_note(checker->diags, callee->block->name.span, "the block is here");
    else
        diag_note(checker->diags, call, "it is called as %s", callee->function->usage);
}

static size_t callee_places(const struct callee *callee)
{
    return callee->block ? callee_parameters(callee) : (size_t)function_places(callee->function);
}

/* The argument exists, but has no keyword: its place tells it. */
static bool is_by_place(const struct callee *callee, const char *keyword)
{
    for (int i = 0; callee->function && i < callee->function->parameter_count; i++) {
        if (!strcmp(callee->function->parameters[i].name, keyword))
            return true;
    }
    return false;
}

/* "softmax(x, dim=-1)": what is to go goes with the comma before it. */
static void fail_keyword_elsewhere(struct checker *checker, const struct keyword_elsewhere *elsewhere,
                                   const struct expr *call, size_t i)
{
    const struct args *args = &call->call.args;
    const struct arg *arg = &args->list.at[i];
    FAIL(checker, UNKNOWN_KEYWORD, arg->keyword.span, "'%s' has no argument '%s': %s", call->call.function.name->text,
         arg->keyword.name->text, elsewhere->advice);
    if (elsewhere->keyword && *elsewhere->keyword)
        diag_fix(checker->diags, arg->keyword.span, "%s", elsewhere->keyword);
    else if (elsewhere->keyword && i)
        diag_fix(checker->diags, (struct span){args->list.at[i - 1].value->span.end, arg->value->span.end}, "%s", "");
}

static void fail_keyword(struct checker *checker, const struct callee *callee, const struct expr *call, size_t i)
{
    const struct identifier *function = &call->call.function, *keyword = &call->call.args.list.at[i].keyword;
    const char *text = keyword->name->text;
    const struct keyword_elsewhere *elsewhere =
        callee->function ? function_keyword_elsewhere(callee->function, text) : NULL;
    if (elsewhere && !is_by_place(callee, text)) {
        fail_keyword_elsewhere(checker, elsewhere, call, i);
        note_usage(checker, callee, function->span);
        return;
    }
    struct nearest nearest = nearest_to(text);
    for (size_t j = 0; j < callee_parameters(callee); j++) {
        if (find_parameter(callee, callee_parameter(callee, j)) >= 0)
            nearest_offer(&nearest, callee_parameter(callee, j));
    }
    if (is_by_place(callee, text))
        FAIL(checker, UNKNOWN_KEYWORD, keyword->span,
             "the argument '%s' of '%s' is told by its place, not by '%s='", text, function->name->text, text);
    else
        FAIL(checker, UNKNOWN_KEYWORD, keyword->span, "'%s' has no argument '%s'%s", function->name->text, text,
             nearest_text(checker->arena, &nearest));
    if (!is_by_place(callee, text))
        fix_name(checker, keyword->span, &nearest);
    note_usage(checker, callee, function->span);
}

/* The parameter that argument `i` is for; -1 after an error. */
static int match_argument(struct checker *checker, const struct callee *callee, const struct expr *call, size_t i)
{
    const struct args *args = &call->call.args;
    const struct arg *arg = &args->list.at[i];
    const struct identifier *function = &call->call.function;
    size_t places = callee_places(callee);
    if (arg->keyword.name) {
        int parameter = find_parameter(callee, arg->keyword.name->text);
        if (parameter < 0)
            fail_keyword(checker, callee, call, i);
        return parameter;
    }
    if (i && args->list.at[i - 1].keyword.name) {
        FAIL(checker, ARGUMENT_ORDER, arg->value->span, "arguments without a keyword stand before those with one");
        return -1;
    }
    if (i < places || (callee->function && callee->function->variadic))
        return i < places ? (int)i : 0;
    FAIL(checker, ARGUMENT_COUNT, arg->value->span, "'%s' takes %zu argument%s%s, not %zu", function->name->text,
         places, places == 1 ? "" : "s", callee->block ? "" : " by place", args->list.count);
    note_usage(checker, callee, function->span);
    return -1;
}

static void check_missing(struct checker *checker, const struct callee *callee, const struct expr *call,
                          const bool *given)
{
    for (size_t i = 0; i < callee_parameters(callee); i++) {
        if (given[i] || !is_required(callee, i))
            continue;
        FAIL(checker, ARGUMENT_COUNT, call->span, "'%s' needs its argument '%s'", call->call.function.name->text,
             callee_parameter(callee, i));
        note_usage(checker, callee, call->call.function.span);
        return;
    }
}

static void check_arguments(struct checker *checker, const struct callee *callee, const struct expr *call)
{
    bool *given = ARENA_ARRAY(checker->arena, bool, callee_parameters(callee) + 1);
    for (size_t i = 0; i < call->call.args.list.count; i++) {
        const struct identifier *keyword = &call->call.args.list.at[i].keyword;
        int parameter = match_argument(checker, callee, call, i);
        if (parameter < 0)
            return;
        if (given[parameter] && keyword->name)
            FAIL(checker, DUPLICATE_ARGUMENT, keyword->span, "the argument '%s' of '%s' is given twice",
                 keyword->name->text, call->call.function.name->text);
        given[parameter] = true;
    }
    check_missing(checker, callee, call, given);
}

static void fail_block_call(struct checker *checker, const struct block *block, struct span span)
{
    const char *name = block->name.name->text;
    if (block == checker->block)
        FAIL(checker, BLOCK_RECURSION, span, "the block '%s' calls itself", name);
    else if (checker->block)
        FAIL(checker, BLOCK_BELOW, span, "the block '%s' stands below: a block can call those above it", name);
    else
        FAIL(checker, BLOCK_BELOW, span, "a constant cannot call a block");
    diag_note(checker->diags, block->name.span, "'%s' is declared here", name);
}

static void fail_function(struct checker *checker, const struct identifier *name)
{
    const char *advice = function_elsewhere(name->name->text);
    struct nearest nearest = find_nearest(checker, name->name->text, is_callable);
    for (int i = 0; i < function_count; i++)
        nearest_offer(&nearest, functions[i].name);
    FAIL(checker, UNKNOWN_FUNCTION, name->span, "there is no function or block '%s'%s%s", name->name->text,
         advice ? ": " : "", advice ? advice : nearest_text(checker->arena, &nearest));
    if (!advice)
        fix_name(checker, name->span, &nearest);
}

/* A block hides the function of its name, in what stands below it. */
static bool find_callee(struct checker *checker, const struct identifier *name, struct callee *callee)
{
    const struct block *block = checker->blocks[name->name->index];
    const struct function *function = checker->functions[name->name->index];
    if (is_callable(checker, name->name->index) && !checker->in_constants) {
        *callee = (struct callee){.block = block};
        return true;
    }
    if (block && (block == checker->block || !function)) {
        fail_block_call(checker, block, name->span);
        return false;
    }
    *callee = (struct callee){.function = function};
    if (!function)
        fail_function(checker, name);
    return function;
}

/* A bare name where a weight's name belongs: that is a string. */
static bool lacks_quotes(const struct checker *checker, const struct callee *callee, const struct arg *arg, size_t i)
{
    if (!callee->function || arg->value->kind != EXPR_NAME || has_value(checker, arg->value->name->index))
        return false;
    int parameter = arg->keyword.name ? find_parameter(callee, arg->keyword.name->text) : (int)i;
    if (parameter < 0 || parameter >= callee->function->parameter_count)
        return false;
    enum argument_kind kind = callee->function->parameters[parameter].kind;
    return kind == ARGUMENT_STRING || (kind == ARGUMENT_TRUTH_OR_STRING && !find_truth(arg->value->name->text));
}

static void fail_quotes(struct checker *checker, const char *name, struct span span)
{
    FAIL(checker, UNDEFINED_NAME, span, "'%s' has no value here; names of weights stand in quotes: \"%s\"", name, name);
    diag_fix(checker->diags, span, "\"%s\"", name);
}

static void check_call(struct checker *checker, const struct expr *call)
{
    struct callee callee = {.function = NULL};
    if (find_callee(checker, &call->call.function, &callee))
        check_arguments(checker, &callee, call);
    for (size_t i = 0; i < call->call.args.list.count; i++) {
        const struct arg *arg = &call->call.args.list.at[i];
        if (lacks_quotes(checker, &callee, arg, i))
            fail_quotes(checker, arg->value->name->text, arg->value->span);
        else
            check_expr(checker, arg->value);
    }
}

/* ---- Expressions ---- */

static void check_string(struct checker *checker, const struct string *string)
{
    for (size_t i = 0; i < string->pieces.count; i++) {
        if (string->pieces.at[i].name)
            check_name(checker, string->pieces.at[i].name, string->pieces.at[i].span);
    }
}

static void check_expr(struct checker *checker, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_NUMBER:
    case EXPR_TRUTH:
        break;
    case EXPR_STRING:
        check_string(checker, expr->string);
        break;
    case EXPR_NAME:
        check_name(checker, expr->name, expr->span);
        break;
    case EXPR_CALL:
        check_call(checker, expr);
        break;
    case EXPR_CHAIN:
        check_expr(checker, expr->chain.first);
        for (size_t i = 0; i < expr->chain.links.count; i++)
            check_expr(checker, expr->chain.links.at[i].right);
        break;
    case EXPR_NEGATE:
        check_expr(checker, expr->negated);
        break;
    case EXPR_SLICE:
        check_expr(checker, expr->slice.of);
        check_expr(checker, expr->slice.begin);
        check_expr(checker, expr->slice.end);
        break;
    }
}

/* ---- Statements ---- */

static void check_stmts(struct checker *checker, const struct stmts *stmts);

static void check_repeat(struct checker *checker, const struct stmt *stmt)
{
    const struct stmt **running = &checker->running[stmt->target.name->index], *outer = *running;
    check_expr(checker, stmt->from);
    check_expr(checker, stmt->to);
    check_target(checker, &stmt->target);
    *running = stmt;
    check_stmts(checker, stmt->body);
    *running = outer;
    checker->ended[stmt->target.name->index] = checker->scope;
}

static void check_assignment(struct checker *checker, const struct stmt *stmt)
{
    check_expr(checker, stmt->value);
    if (check_target(checker, &stmt->target))
        checker->scopes[stmt->target.name->index] = checker->scope;
}

/* Other people's names of the types, in any case. */
static const char *find_type(const char *name)
{
    static const struct { const char *other, *type; } types[] = {
        {"f32", "f32"}, {"float32", "f32"}, {"fp32", "f32"}, {"float", "f32"}, {"single", "f32"},
        {"f16", "f16"}, {"float16", "f16"}, {"fp16", "f16"}, {"half", "f16"},
        {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"bfloat", "bf16"},
        {"tf32", "tf32"}, {"tfloat32", "tf32"}, {"tensorfloat32", "tf32"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcasecmp(types[i].other, name))
            return types[i].type;
    }
    return NULL;
}

static void fail_type(struct checker *checker, const struct identifier *type, bool of_model)
{
    const char *meant = find_type(type->name->text);
    if (!meant || (!of_model && !strcmp(meant, "tf32"))) {
        FAIL(checker, UNKNOWN_TYPE, type->span, "there is no type '%s': %s", type->name->text,
             of_model ? "models are f32, tf32, f16 or bf16" : "inputs and outputs are f32, f16 or bf16");
        return;
    }
    FAIL(checker, UNKNOWN_TYPE, type->span, "there is no type '%s'; did you mean '%s'?", type->name->text, meant);
    diag_fix(checker->diags, type->span, "%s", meant);
}

static void check_port_type(struct checker *checker, const struct identifier *type)
{
    enum dtype dtype;
    if (type->name && (!dtype_parse(type->name->text, &dtype) || dtype == DTYPE_TF32))
        fail_type(checker, type, false);
}

static void check_output(struct checker *checker, const struct stmt *stmt)
{
    check_port_type(checker, &stmt->type);
    if (checker->inputs[stmt->target.name->index])
        return;                         /* reported as a name declared twice */
    if (stmt->value)
        check_assignment(checker, stmt);
    else
        check_name(checker, stmt->target.name, stmt->target.span);
}

/* The unit that a word is likely to mean, by its first letter: "MB", "mib", "m". NULL: none. */
static const char *find_unit(const char *word)
{
    static const struct { const char *unit, *rest[4]; } units[] = {
        {"B", {"", "yte", "ytes"}}, {"KiB", {"", "b", "ib"}}, {"MiB", {"", "b", "ib"}}, {"GiB", {"", "b", "ib"}},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (int j = 0; j < 3; j++) {
            if (!strncasecmp(word, units[i].unit, 1) && !strcasecmp(word + 1, units[i].rest[j]))
                return units[i].unit;
        }
    }
    return NULL;
}

static void check_unit(struct checker *checker, const struct limit *limit)
{
    const struct identifier *unit = &limit->unit;
    const char *meant = unit->name ? find_unit(unit->name->text) : NULL;
    if (!unit->name)
        FAIL(checker, BAD_BUDGET, limit->value->span, "a budget has a unit: B, KiB, MiB or GiB");
    else if (!meant)
        FAIL(checker, BAD_BUDGET, unit->span, "there is no unit '%s': a budget is in B, KiB, MiB or GiB",
             unit->name->text);
    if (!meant || !strcmp(meant, unit->name->text))
        return;
    FAIL(checker, BAD_BUDGET, unit->span, "there is no unit '%s'; did you mean '%s'?", unit->name->text, meant);
    diag_fix(checker->diags, unit->span, "%s", meant);
}

static void check_limited(struct checker *checker, const struct identifier *what)
{
    struct nearest nearest = nearest_to(what->name->text);
    if (budget_entry(what->name->text) != BUDGET_ENTRIES)
        return;
    nearest_offer(&nearest, "device");
    nearest_offer(&nearest, "host");
    FAIL(checker, BAD_BUDGET, what->span, "there is no budget for '%s': it is for device or host%s", what->name->text,
         nearest_text(checker->arena, &nearest));
    if (nearest_only(&nearest))
        diag_fix(checker->diags, what->span, "%s", nearest_only(&nearest));
}

static void check_budget(struct checker *checker, const struct stmt *stmt)
{
    const struct identifier *first[BUDGET_ENTRIES + 1] = {NULL};
    if (!stmt->limits->list.count)
        FAIL(checker, BAD_BUDGET, stmt->span, "an empty budget: it is for device, host or both");
    for (size_t i = 0; i < stmt->limits->list.count; i++) {
        const struct limit *limit = &stmt->limits->list.at[i];
        const char *what = limit->what.name->text;
        const struct identifier **before = &first[budget_entry(what)];
        check_limited(checker, &limit->what);
        check_expr(checker, limit->value);
        check_unit(checker, limit);
        if (*before && budget_entry(what) != BUDGET_ENTRIES) {
            FAIL(checker, DUPLICATE_SETTING, limit->what.span, "'%s' stands twice", what);
            diag_note(checker->diags, (*before)->span, "the first is here");
        }
        *before = &limit->what;
    }
}

static void check_stmt(struct checker *checker, const struct stmt *stmt)
{
    switch (stmt->kind) {
    case STMT_ASSIGN:
        check_assignment(checker, stmt);
        break;
    case STMT_REPEAT:
        check_repeat(checker, stmt);
        break;
    case STMT_INPUT:
        check_port_type(checker, &stmt->type);
        check_expr(checker, stmt->value);
        checker->scopes[stmt->target.name->index] = checker->scope;
        break;
    case STMT_OUTPUT:
        check_output(checker, stmt);
        break;
    case STMT_BATCH:
        for (size_t i = 0; i < stmt->sizes->list.count; i++)
            check_expr(checker, stmt->sizes->list.at[i]);
        break;
    case STMT_WEIGHTS:
        check_expr(checker, stmt->value);
        break;
    case STMT_BUDGET:
        check_budget(checker, stmt);
        break;
    case STMT_DTYPE:
        if (!dtype_parse(stmt->type.name->text, &(enum dtype){DTYPE_F32}))
            fail_type(checker, &stmt->type, true);
        break;
    }
}

static void check_stmts(struct checker *checker, const struct stmts *stmts)
{
    for (size_t i = 0; i < stmts->list.count; i++)
        check_stmt(checker, stmts->list.at[i]);
}

/* ---- Declarations ---- */

static void declare_blocks(struct checker *checker)
{
    for (size_t i = 0; i < checker->spec->blocks.count; i++) {
        const struct block *block = checker->spec->blocks.at[i];
        const struct block **slot = &checker->blocks[block->name.name->index];
        if (*slot)
            fail_duplicate(checker, &block->name, "a block", (*slot)->name.span);
        else
            *slot = block;
    }
}

/* Constants see those above them, and are seen everywhere. */
static void check_constants(struct checker *checker)
{
    checker->in_constants = true;
    checker->scope++;
    for (size_t i = 0; i < checker->spec->constants.count; i++) {
        const struct constant *constant = &checker->spec->constants.at[i];
        size_t n = constant->name.name->index;
        check_expr(checker, constant->value);
        if (checker->constants[n])
            fail_duplicate(checker, &constant->name, "a constant", checker->constants[n]->name.span);
        else if (checker->blocks[n])
            fail_duplicate(checker, &constant->name, "a block", checker->blocks[n]->name.span);
        else
            checker->constants[n] = constant;
    }
    checker->in_constants = false;
}

static void check_block(struct checker *checker, const struct block *block)
{
    checker->scope++;
    checker->block = block;
    for (size_t i = 0; i < block->params->list.count; i++) {
        const struct identifier *param = &block->params->list.at[i];
        if (checker->scopes[param->name->index] == checker->scope)
            FAIL(checker, DUPLICATE_NAME, param->span, "the block has two arguments '%s'", param->name->text);
        checker->scopes[param->name->index] = checker->scope;
    }
    check_stmts(checker, block->body);
    check_expr(checker, block->result);
    checker->block = NULL;
}

static void declare_input(struct checker *checker, const struct stmt *stmt)
{
    size_t n = stmt->target.name->index;
    if (checker->inputs[n])
        fail_duplicate(checker, &stmt->target, "an input", checker->inputs[n]->target.span);
    else if (checker->constants[n])
        fail_duplicate(checker, &stmt->target, "a constant", checker->constants[n]->name.span);
    else if (checker->blocks[n])
        fail_duplicate(checker, &stmt->target, "a block", checker->blocks[n]->name.span);
    else
        checker->inputs[n] = stmt;
}

static void declare_output(struct checker *checker, const struct stmt *stmt)
{
    size_t n = stmt->target.name->index;
    if (checker->outputs[n])
        fail_duplicate(checker, &stmt->target, "an output", checker->outputs[n]->target.span);
    else if (checker->inputs[n])
        fail_duplicate(checker, &stmt->target, "an input", checker->inputs[n]->target.span);
    else
        checker->outputs[n] = stmt;
}

static void declare_ports(struct checker *checker, const struct model *model)
{
    for (size_t i = 0; i < model->body->list.count; i++) {
        if (model->body->list.at[i]->kind == STMT_INPUT)
            declare_input(checker, model->body->list.at[i]);
    }
    bool output = false;
    for (size_t i = 0; i < model->body->list.count; i++) {
        if (model->body->list.at[i]->kind == STMT_OUTPUT) {
            declare_output(checker, model->body->list.at[i]);
            output = true;
        }
    }
    if (!output)
        FAIL(checker, MISSING_OUTPUT, model->name.span, "the model '%s' has no output", model->name.name->text);
}

static void check_settings(struct checker *checker, const struct model *model)
{
    static const char *const settings[] = {
        [STMT_BATCH] = "batch", [STMT_DTYPE] = "dtype", [STMT_WEIGHTS] = "weights",
        [STMT_BUDGET] = "budget",
    };
    const struct stmt *first[STMT_BUDGET + 1] = {NULL};
    for (size_t i = 0; i < model->body->list.count; i++) {
        const struct stmt *stmt = model->body->list.at[i];
        if (stmt->kind < STMT_BATCH)
            continue;
        if (first[stmt->kind]) {
            FAIL(checker, DUPLICATE_SETTING, stmt->span, "'%s' stands twice", settings[stmt->kind]);
            diag_note(checker->diags, first[stmt->kind]->span, "the first is here");
        }
        first[stmt->kind] = stmt;
    }
}

static void check_model(struct checker *checker)
{
    const struct spec *spec = checker->spec;
    if (!spec->models.count) {
        FAIL(checker, MISSING_MODEL, ((struct span){0, 0}), "the file holds no model");
        return;
    }
    const struct model *model = spec->models.at[0];
    for (size_t i = 1; i < spec->models.count; i++) {
        FAIL(checker, DUPLICATE_MODEL, spec->models.at[i]->name.span, "a file holds one model");
        diag_note(checker->diags, model->name.span, "the first is here");
    }
    checker->scope++;
    check_settings(checker, model);
    check_stmts(checker, model->body);
}

static void find_functions(struct checker *checker)
{
    for (size_t i = 0; i < checker->spec->names.count; i++)
        checker->functions[i] = function_find(checker->spec->names.at[i]->text);
}

bool check_spec(const struct spec *spec, struct arena *arena, struct diags *diags)
{
    size_t names = spec->names.count + 1;
    struct checker checker = {
        .spec = spec, .arena = arena, .diags = diags, .sound = true,
        .constants = ARENA_ARRAY(arena, const struct constant *, names),
        .blocks = ARENA_ARRAY(arena, const struct block *, names),
        .functions = ARENA_ARRAY(arena, const struct function *, names),
        .inputs = ARENA_ARRAY(arena, const struct stmt *, names),
        .outputs = ARENA_ARRAY(arena, const struct stmt *, names),
        .running = ARENA_ARRAY(arena, const struct stmt *, names),
        .ended = ARENA_ARRAY(arena, size_t, names),
        .scopes = ARENA_ARRAY(arena, size_t, names),
        .missed = ARENA_ARRAY(arena, size_t, names),
    };
    find_functions(&checker);
    declare_blocks(&checker);
    check_constants(&checker);
    if (spec->models.count)
        declare_ports(&checker, spec->models.at[0]);
    for (size_t i = 0; i < spec->blocks.count; i++)
        check_block(&checker, spec->blocks.at[i]);
    check_model(&checker);
    return checker.sound;
}
