#include "plan_text.h"

#include <string.h>

#include "label.h"
#include "utf8.h"

enum { LONGEST_TEXT = 100 };

struct text {
    const struct plan *plan;
    const struct step *step;
    char at[LONGEST_TEXT + 1];
    size_t length;
};

static void say(struct text *text, const char *word)
{
    size_t length = strlen(word), left = LONGEST_TEXT - text->length;
    length = length < left ? length : left;
    memcpy(text->at + text->length, word, length);
    text->length += length;
}

static const char *infix_of(enum op op)
{
    static const char *const signs[OP_COUNT] = {
        [OP_ADD] = " + ", [OP_SUB] = " - ", [OP_MUL] = " * ", [OP_DIV] = " / "};
    return signs[op];
}

static void say_op(struct text *text, const struct tape_op *op);

static void say_operand(struct text *text, struct operand operand)
{
    char number[32];
    switch (operand.kind) {
    case OPERAND_OP:
        say_op(text, &text->step->tape.at[operand.index]);
        break;
    case OPERAND_VALUE:
        say(text, text->plan->values.at[operand.index].name);
        break;
    case OPERAND_PARAM:
        say(text, label_layer(text->plan->arena, text->plan->params.at[operand.index].param));
        break;
    case OPERAND_NUMBER:
        snprintf(number, sizeof number, "%.6g", operand.number);
        say(text, number);
        break;
    case OPERAND_NONE:
        break;
    }
}

/* An operand of + - * /: in parentheses where it has a sign of its own. */
static void say_term(struct text *text, struct operand operand)
{
    bool nested = operand.kind == OPERAND_OP && infix_of(text->step->tape.at[operand.index].op);
    say(text, nested ? "(" : "");
    say_operand(text, operand);
    say(text, nested ? ")" : "");
}

/* A function's tensors, then its layer by the first of its parameters. */
static void say_call(struct text *text, const struct tape_op *op)
{
    int shown = op_info[op->op].operands + 1;
    say(text, op_info[op->op].text);
    say(text, "(");
    for (int i = 0; i < 3 && i < shown && op->in[i].kind != OPERAND_NONE; i++) {
        say(text, i ? ", " : "");
        say_operand(text, op->in[i]);
    }
    say(text, ")");
}

static void say_op(struct text *text, const struct tape_op *op)
{
    if (text->length == LONGEST_TEXT)
        return;
    if (op->op == OP_IDENTITY) {
        say_operand(text, op->in[0]);
    } else if (infix_of(op->op)) {
        say_term(text, op->in[0]);
        say(text, infix_of(op->op));
        say_term(text, op->in[1]);
    } else {
        say_call(text, op);
    }
}

const char *plan_text(const struct plan *plan, const struct step *step)
{
    struct text text = {.plan = plan, .step = step};
    say(&text, step->name);
    say(&text, " = ");
    say_op(&text, &step->tape.at[step->tape.count - 1]);
    if (text.length == LONGEST_TEXT) {
        text.length = utf8_cut(text.at, LONGEST_TEXT - 3);
        memcpy(text.at + text.length, "...", 3);
        text.length += 3;
    }
    return arena_copy(plan->arena, text.at, text.length);
}
