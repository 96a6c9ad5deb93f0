#include "term.h"

#include <string.h>

enum { LOOK_BACK = 48 };            /* terms among which an equal one is looked for */

struct term *term_new(struct net *net, const struct onnx_node *node, enum term_op op, int args, int64_t width,
                      enum element type)
{
    struct term *term = ARENA_NEW(net->arena, struct term);
    *term = (struct term){.op = op, .arg_count = args, .width = width, .type = type, .node = node};
    term->args = ARENA_ARRAY(net->arena, struct term *, (size_t)args);
    VEC_PUSH(net->arena, &net->terms, term);
    return term;
}

static bool is_reduction(enum term_op op)
{
    return op == TERM_SUM || op == TERM_MEAN || op == TERM_DOT;
}

static bool same(const struct term *a, const struct term *b)
{
    return a->op == b->op && a->arg_count == b->arg_count && a->number_count == b->number_count &&
           a->weight == b->weight && a->type == b->type && !memcmp(a->numbers, b->numbers, sizeof a->numbers) &&
           (!a->arg_count || !memcmp(a->args, b->args, (size_t)a->arg_count * sizeof *a->args));
}

/* The newest term, or an older one that is the same. */
static struct term *share(struct net *net)
{
    struct term *term = net->terms.at[net->terms.count - 1];
    size_t back = net->terms.count - 1 < LOOK_BACK ? net->terms.count - 1 : LOOK_BACK;
    for (size_t i = net->terms.count - 1; back-- > 0;) {
        if (same(net->terms.at[--i], term)) {
            net->terms.count--;
            return net->terms.at[i];
        }
    }
    return term;
}

struct term *term_make(struct net *net, const struct onnx_node *node, enum term_op op, struct term *a, struct term *b)
{
    int64_t width = is_reduction(op) ? 1 : b && b->width > a->width ? b->width : a->width;
    enum element type = a->op == TERM_NUMBER && b ? b->type : a->type;
    struct term *term = term_new(net, node, op, b ? 2 : 1, width, type);
    term->args[0] = a;
    if (b)
        term->args[1] = b;
    return share(net);
}

struct term *term_number(struct net *net, enum element type, double number)
{
    struct term *term = term_new(net, NULL, TERM_NUMBER, 0, 1, type);
    term->numbers[0] = number;
    return share(net);
}

struct term *term_param(struct net *net, const struct onnx_node *node, struct constant *constant)
{
    struct term *term = term_new(net, node, TERM_PARAM, 0, (int64_t)constant->count, constant->type);
    term->weight = constant;
    return share(net);
}

struct term *term_call(struct net *net, const struct onnx_node *node, enum term_op op, struct term *x, int count,
                       double first, double second)
{
    struct term *term = term_new(net, node, op, 1, x->width, x->type);
    term->args[0] = x;
    term->number_count = count;
    term->numbers[0] = first;
    term->numbers[1] = second;
    return share(net);
}

void terms_count_uses(struct net *net)
{
    for (size_t i = 0; i < net->terms.count; i++) {
        net->terms.at[i]->uses = 0;
        net->terms.at[i]->reached = false;
        net->terms.at[i]->user = NULL;
    }
    for (size_t i = 0; i < net->outputs.count; i++) {
        net->outputs.at[i]->uses++;
        net->outputs.at[i]->reached = true;
    }
    for (size_t i = net->terms.count; i-- > 0;) {
        const struct term *term = net->terms.at[i];
        for (int j = 0; term->reached && j < term->arg_count; j++) {
            term->args[j]->uses++;
            term->args[j]->reached = true;
            term->args[j]->user = term;
        }
    }
}
