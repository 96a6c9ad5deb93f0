#include "emit_map.h"

#include "emit.h"

/* %a, %b, %c are the operands, %0, %1 the attributes. */
static const char *const templates[OP_COUNT] = {
    [OP_AFFINE] = "%a * %b + %c",
    [OP_RELU] = "mlp_relu(%a)",
    [OP_RELU6] = "mlp_relu6(%a)",
    [OP_GELU] = "mlp_gelu(%a)",
    [OP_GELU_TANH] = "mlp_gelu_tanh(%a)",
    [OP_SILU] = "mlp_silu(%a)",
    [OP_MISH] = "mlp_mish(%a)",
    [OP_HARDSWISH] = "mlp_hardswish(%a)",
    [OP_HARDSIGMOID] = "mlp_hardsigmoid(%a)",
    [OP_SIGMOID] = "mlp_sigmoid(%a)",
    [OP_TANH] = "mlp_tanh(%a)",
    [OP_SOFTPLUS] = "mlp_softplus(%a)",
    [OP_IDENTITY] = "%a",
    [OP_EXP] = "mlp_exp(%a)",
    [OP_LOG] = "mlp_log(%a)",
    [OP_SQRT] = "mlp_sqrt(%a)",
    [OP_ABS] = "mlp_abs(%a)",
    [OP_NEG] = "-%a",
    [OP_LEAKY_RELU] = "mlp_leaky_relu(%a, %0)",
    [OP_ELU] = "mlp_elu(%a, %0)",
    [OP_CLAMP] = "mlp_clamp(%a, %0, %1)",
    [OP_ADD] = "%a + %b",
    [OP_SUB] = "%a - %b",
    [OP_MUL] = "%a * %b",
    [OP_DIV] = "%a / %b",
    [OP_MAXIMUM] = "mlp_maximum(%a, %b)",
    [OP_MINIMUM] = "mlp_minimum(%a, %b)",
    [OP_SUM] = "%a",
    [OP_MEAN] = "%a",
    [OP_DOT] = "%a * %b",
};

const char *emit_map(struct arena *arena, const struct tape_op *op, emit_operand *operand, const void *target)
{
    const char *text = "";
    for (const char *c = templates[op->op]; *c; c++) {
        if (*c != '%')
            text = arena_format(arena, "%s%c", text, *c);
        else if (*++c <= '1')
            text = arena_format(arena, "%s%s", text, emit_float(arena, op->attr[*c - '0']));
        else
            text = arena_format(arena, "%s%s", text, operand(target, op->in[*c - 'a']));
    }
    return text;
}

const char *emit_number(struct arena *arena, double number)
{
    const char *text = emit_float(arena, number);
    return *text == '-' ? arena_format(arena, "(%s)", text) : text;
}
