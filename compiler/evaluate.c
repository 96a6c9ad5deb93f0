/* Expressions: numbers and strings are computed, tensors become nodes. */
#include "lowering.h"

#include <inttypes.h>
#include <string.h>

static const struct datum wrong = {.kind = DATUM_WRONG};

static struct datum number_datum(struct number number)
{
    return (struct datum){.kind = DATUM_NUMBER, .number = number};
}

static struct datum tensor_datum(int node)
{
    return (struct datum){.kind = DATUM_TENSOR, .node = node};
}

const char *datum_text(struct lowering *lowering, struct datum datum)
{
    switch (datum.kind) {
    case DATUM_NUMBER:
        return arena_format(lowering->arena, "the number %s", number_text(lowering->arena, datum.number));
    case DATUM_STRING:
        return "a string";
    case DATUM_TRUTH:
        return datum.truth ? "true" : "false";
    case DATUM_TENSOR:
        return "a tensor";
    case DATUM_NONE:
    case DATUM_WRONG:
        break;
    }
    return "nothing";
}

/* ---- Numbers ---- */

bool datum_whole(struct lowering *lowering, struct datum datum, struct span span, const char *what, int64_t *number)
{
    if (datum.kind == DATUM_WRONG)
        return false;
    if (datum.kind != DATUM_NUMBER) {
        LOWERING_FAIL(lowering, WRONG_KIND, span, "%s must be a number, not %s", what, datum_text(lowering, datum));
        return false;
    }
    if (number_whole(datum.number, number))
        return true;
    LOWERING_FAIL(lowering, NOT_WHOLE, span, "%s must be a whole number, not %s", what,
                  number_text(lowering->arena, datum.number));
    return false;
}

bool datum_width(struct lowering *lowering, struct datum datum, struct span span, const char *what, int64_t *width)
{
    if (!datum_whole(lowering, datum, span, what, width))
        return false;
    if (*width >= 1 && *width <= SIZE_LIMIT)
        return true;
    LOWERING_FAIL(lowering, BAD_WIDTH, span, "%s must be from 1 to %" PRId64 ", not %" PRId64, what, SIZE_LIMIT,
                  *width);
    return false;
}

static struct datum check_number(struct lowering *lowering, enum number_result result, struct number number,
                                 struct span span, const char *text)
{
    switch (result) {
    case NUMBER_OK:
        return number_datum(number);
    case NUMBER_OVERFLOWS:
        LOWERING_FAIL(lowering, NUMBER_OVERFLOW, span, "%s does not fit a %s", text,
                      number.real ? "double" : "64-bit integer");
        break;
    case NUMBER_DIVIDES_BY_ZERO:
        LOWERING_FAIL(lowering, DIVISION_BY_ZERO, span, "%s divides by zero", text);
        break;
    case NUMBER_DIVIDES_INEXACTLY:
        LOWERING_FAIL(lowering, INEXACT_DIVISION, span,
                      "%s is no whole number; integers divide exactly, and a point makes a double: 7. / 2", text);
        break;
    }
    return wrong;
}

static struct datum apply_numbers(struct lowering *lowering, char op, struct number a, struct number b,
                                  struct span span)
{
    struct number result;
    enum number_result outcome = number_apply(op, a, b, &result);
    if (outcome == NUMBER_OK)
        return number_datum(result);
    const char *text = arena_format(lowering->arena, "%s %c %s", number_text(lowering->arena, a), op,
                                    number_text(lowering->arena, b));
    return check_number(lowering, outcome, result, span, text);
}

/* ---- Tensors ---- */

int datum_node(struct lowering *lowering, struct datum datum, struct span span)
{
    if (datum.kind == DATUM_TENSOR)
        return datum.node;
    int node = graph_add(lowering->graph, OP_NUMBER, 1, NULL, 0, span);
    graph_node(lowering->graph, node)->attr[0] = number_real(datum.number);
    return node;
}

enum { QUOTED_MAX = 40, ORIGIN_MAX = 100 };

const char *node_text(const struct lowering *lowering, int index)
{
    const struct node *node = graph_node(lowering->graph, index);
    const char *text = lowering->spec->source->text + node->span.begin;
    int length = (int)(node->span.end - node->span.begin);
    if (node->name)
        return arena_format(lowering->arena, "'%s'", node->name);
    if (length <= QUOTED_MAX && !memchr(text, '\n', (size_t)length))
        return arena_format(lowering->arena, "'%.*s'", length, text);
    return op_info[node->op].text;
}

/* An operand whose width the node keeps, or NULL. */
static const struct node *kept_width(const struct graph *graph, const struct node *node)
{
    const enum op_kind kind = op_info[node->op].kind;
    for (int i = 0; (kind == KIND_MAP || kind == KIND_ROW) && i < node->in_count; i++) {
        const struct node *operand = graph_node(graph, node->in[i]);
        if (operand->width == node->width)
            return operand;
    }
    return NULL;
}

struct span width_span(const struct lowering *lowering, int index)
{
    const struct node *node = graph_node(lowering->graph, index), *operand;
    for (int i = 0; i < ORIGIN_MAX && (operand = kept_width(lowering->graph, node)); i++)
        node = operand;
    return node->span;
}

static void note_width(struct lowering *lowering, int index, struct span span)
{
    const int64_t width = graph_node(lowering->graph, index)->width;
    const struct span from = width_span(lowering, index);
    if (from.begin >= span.begin && from.end <= span.end)
        return;                         /* the message shows it */
    diag_note(lowering->diags, from, "%s has its %" PRId64 " column%s from here", node_text(lowering, index), width,
              width == 1 ? "" : "s");
}

void fail_widths(struct lowering *lowering, const char *text, const char *rule, int a, int b, struct span span)
{
    if (!lowering_fails(lowering, span))
        return;
    diag_error(lowering->diags, DIAG_WIDTH_MISMATCH, span,
               "'%s' needs %s: %s has %" PRId64 " columns, %s has %" PRId64, text, rule, node_text(lowering, a),
               graph_node(lowering->graph, a)->width, node_text(lowering, b),
               graph_node(lowering->graph, b)->width);
    note_width(lowering, a, span);
    note_width(lowering, b, span);
    lowering_places(lowering);
}

struct datum stretch(struct lowering *lowering, enum op op, const char *text, struct datum a, struct datum b,
                     struct span span)
{
    int in[] = {datum_node(lowering, a, span), datum_node(lowering, b, span)};
    int64_t left = graph_node(lowering->graph, in[0])->width, right = graph_node(lowering->graph, in[1])->width;
    if (left != right && left != 1 && right != 1) {
        fail_widths(lowering, text, "equal widths, or one of 1", in[0], in[1], span);
        return wrong;
    }
    return tensor_datum(graph_add(lowering->graph, op, left > right ? left : right, in, 2, span));
}

/* ---- Operators ---- */

static const enum op operators[] = {['+'] = OP_ADD, ['-'] = OP_SUB, ['*'] = OP_MUL, ['/'] = OP_DIV};

static bool is_operand(struct lowering *lowering, struct datum datum, const char *op, struct span span)
{
    if (datum.kind == DATUM_NUMBER || datum.kind == DATUM_TENSOR)
        return true;
    if (datum.kind != DATUM_WRONG)
        LOWERING_FAIL(lowering, WRONG_KIND, span, "'%s' needs tensors or numbers, not %s", op,
                      datum_text(lowering, datum));
    return false;
}

static struct datum apply_link(struct lowering *lowering, struct datum left, struct span left_span,
                               const struct link *link)
{
    struct datum right = evaluate(lowering, link->right);
    struct span span = {left_span.begin, link->right->span.end};
    char text[] = {link->op, '\0'};
    bool sound = is_operand(lowering, left, text, left_span);
    if (!is_operand(lowering, right, text, link->right->span) || !sound)
        return wrong;
    if (left.kind == DATUM_NUMBER && right.kind == DATUM_NUMBER)
        return apply_numbers(lowering, link->op, left.number, right.number, span);
    return stretch(lowering, operators[(unsigned char)link->op], text, left, right, span);
}

static struct datum evaluate_chain(struct lowering *lowering, const struct expr *expr)
{
    struct datum datum = evaluate(lowering, expr->chain.first);
    struct span span = expr->chain.first->span;
    for (size_t i = 0; i < expr->chain.links.count && !lowering->stopped; i++) {
        datum = apply_link(lowering, datum, span, &expr->chain.links.at[i]);
        span.end = expr->chain.links.at[i].right->span.end;
    }
    return datum;
}

static struct datum evaluate_negation(struct lowering *lowering, const struct expr *expr)
{
    struct datum datum = evaluate(lowering, expr->negated);
    if (!is_operand(lowering, datum, "-", expr->negated->span))
        return wrong;
    if (datum.kind == DATUM_TENSOR) {
        int64_t width = graph_node(lowering->graph, datum.node)->width;
        return tensor_datum(graph_add(lowering->graph, OP_NEG, width, &datum.node, 1, expr->span));
    }
    struct number result;
    enum number_result outcome = number_negate(datum.number, &result);
    if (outcome == NUMBER_OK)
        return number_datum(result);
    const char *text = arena_format(lowering->arena, "-(%s)", number_text(lowering->arena, datum.number));
    return check_number(lowering, outcome, result, expr->span, text);
}

/* ---- Slices ---- */

static void fail_slice(struct lowering *lowering, int of, int64_t begin, int64_t end, struct span span)
{
    if (!lowering_fails(lowering, span))
        return;
    const char *text = node_text(lowering, of);
    int64_t width = graph_node(lowering->graph, of)->width;
    const int64_t first = begin < 0 ? begin + width : begin, last = end < 0 ? end + width : end;
    if ((begin < 0 || end < 0) && first >= 0 && first < last && last <= width)
        diag_error(lowering->diags, DIAG_BAD_SLICE, span, "columns count from 0, and not from the end: [%" PRId64 ":%"
                   PRId64 "] of %s is [%" PRId64 ":%" PRId64 "] here", begin, end, text, first, last);
    else if (begin >= end)
        diag_error(lowering->diags, DIAG_BAD_SLICE, span, "the slice [%" PRId64 ":%" PRId64 "] of %s holds no column",
                   begin, end, text);
    else
        diag_error(lowering->diags, DIAG_BAD_SLICE, span,
                   "the slice [%" PRId64 ":%" PRId64 "] is not within the %" PRId64 " columns of %s", begin, end,
                   width, text);
    note_width(lowering, of, span);
    lowering_places(lowering);
}

static struct datum slice_node(struct lowering *lowering, int of, int64_t begin, int64_t end, struct span span)
{
    int64_t width = graph_node(lowering->graph, of)->width;
    if (begin < 0 || begin >= end || end > width) {
        fail_slice(lowering, of, begin, end, span);
        return wrong;
    }
    if (end - begin == width)
        return tensor_datum(of);
    int node = graph_add(lowering->graph, OP_SLICE, end - begin, &of, 1, span);
    graph_node(lowering->graph, node)->begin = begin;
    return tensor_datum(node);
}

static struct datum evaluate_slice(struct lowering *lowering, const struct expr *expr)
{
    struct datum of = evaluate(lowering, expr->slice.of);
    struct datum begin = evaluate(lowering, expr->slice.begin), end = evaluate(lowering, expr->slice.end);
    int64_t from, to;
    bool sound = datum_whole(lowering, begin, expr->slice.begin->span, "a column", &from);
    sound = datum_whole(lowering, end, expr->slice.end->span, "a column", &to) && sound;
    if (of.kind != DATUM_TENSOR && of.kind != DATUM_WRONG)
        LOWERING_FAIL(lowering, WRONG_KIND, expr->slice.of->span, "only a tensor has columns, not %s",
                      datum_text(lowering, of));
    if (!sound || of.kind != DATUM_TENSOR)
        return wrong;
    return slice_node(lowering, of.node, from, to, expr->span);
}

/* ---- Names and strings ---- */

static struct datum evaluate_name(struct lowering *lowering, const struct name *name, struct span span)
{
    const struct binding *binding = scope_find(&lowering->scopes, name);
    if (binding) {
        if (binding->stmt)
            lowering->read[binding->stmt->index] = true;
        return binding->datum;
    }
    struct datum constant = lowering->constants[name->index];
    if (constant.kind != DATUM_NONE)
        return constant;
    LOWERING_FAIL(lowering, UNDEFINED_NAME, span, "'%s' has no value here: the repeat that assigns it ran no turn",
                  name->text);
    return wrong;
}

static const char *piece_text(struct lowering *lowering, const struct piece *piece)
{
    if (!piece->name)
        return piece->text;
    struct datum datum = evaluate_name(lowering, piece->name, piece->span);
    if (datum.kind == DATUM_NUMBER)
        return number_text(lowering->arena, datum.number);
    if (datum.kind == DATUM_STRING)
        return datum.string;
    if (datum.kind != DATUM_WRONG)
        LOWERING_FAIL(lowering, WRONG_KIND, piece->span, "a number or a string can be inserted, not %s",
                      datum_text(lowering, datum));
    return NULL;
}

static char *join(struct arena *arena, const char *const *parts, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += strlen(parts[i]);
    char *text = ARENA_ARRAY(arena, char, length + 1), *to = text;
    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, parts[i]);
    return text;
}

const char *evaluate_string(struct lowering *lowering, const struct string *string)
{
    size_t count = string->pieces.count;
    const char **parts = ARENA_ARRAY(lowering->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &string->pieces.at[i];
        parts[i] = piece_text(lowering, piece);
        if (!parts[i] || !lowering_counts(lowering, piece->span, 0, (int64_t)strlen(parts[i]) / 4))
            return NULL;
    }
    return count == 1 ? parts[0] : join(lowering->arena, parts, count);
}

/* ---- Calls ---- */

/* As check.c has it: a block hides the function of its name, in what stands below it. */
static const struct block *find_block(const struct lowering *lowering, const struct name *name)
{
    const struct block *block = lowering->blocks[name->index];
    if (block && lowering->block && block->index >= lowering->block->index)
        return NULL;
    return block;
}

static struct datum evaluate_call(struct lowering *lowering, const struct expr *expr)
{
    const struct name *name = expr->call.function.name;
    size_t first = lowering->stack.count;
    for (size_t i = 0; i < expr->call.args.list.count && !lowering->stopped; i++) {
        struct datum datum = evaluate(lowering, expr->call.args.list.at[i].value);
        VEC_PUSH(lowering->arena, &lowering->stack, datum);
    }
    const struct block *block = find_block(lowering, name);
    struct datum datum = wrong;
    if (!lowering->stopped && block)
        datum = lower_block(lowering, block, expr, first);
    else if (!lowering->stopped)
        datum = call_function(lowering, lowering->functions[name->index], expr, lowering->stack.at + first);
    lowering->stack.count = first;
    return datum;
}

static struct datum evaluate_kind(struct lowering *lowering, const struct expr *expr)
{
    const char *text;
    switch (expr->kind) {
    case EXPR_NUMBER:
        return number_datum(expr->number);
    case EXPR_STRING:
        text = evaluate_string(lowering, expr->string);
        return text ? (struct datum){.kind = DATUM_STRING, .string = text} : wrong;
    case EXPR_TRUTH:
        return (struct datum){.kind = DATUM_TRUTH, .truth = expr->truth};
    case EXPR_NAME:
        return evaluate_name(lowering, expr->name, expr->span);
    case EXPR_CALL:
        return evaluate_call(lowering, expr);
    case EXPR_CHAIN:
        return evaluate_chain(lowering, expr);
    case EXPR_NEGATE:
        return evaluate_negation(lowering, expr);
    case EXPR_SLICE:
        return evaluate_slice(lowering, expr);
    }
    return wrong;
}

struct datum evaluate(struct lowering *lowering, const struct expr *expr)
{
    if (!lowering_sinks(lowering, expr->span))
        return wrong;
    struct datum datum = evaluate_kind(lowering, expr);
    lowering_rises(lowering);
    return datum;
}
