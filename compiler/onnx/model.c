#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../quote.h"
#include "../utf8.h"

bool model_refuse(struct model *model, const struct onnx_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct refusal refusal = {node, arena_format_list(model->arena, format, args)};
    va_end(args);
    VEC_PUSH(model->arena, &model->refusals, refusal);
    return false;
}

/* "Gemm 'fc1'"; a node without a name is told by its place and by what it gives. */
static const char *node_text(struct arena *arena, const struct onnx_node *node)
{
    const char *op = quote(arena, node->op);
    op = arena_format(arena, "%.*s", (int)strlen(op) - 2, op + 1);
    if (*node->name)
        return arena_format(arena, "%s %s", op, quote(arena, node->name));
    if (node->output_count && node->outputs[0])
        return arena_format(arena, "%s (node %d, which gives %s)", op, node->index,
                            quote(arena, node->outputs[0]->name));
    return arena_format(arena, "%s (node %d)", op, node->index);
}

void model_print_refusals(const struct model *model)
{
    for (size_t i = 0; i < model->refusals.count; i++) {
        const struct refusal *refusal = &model->refusals.at[i];
        const char *node = refusal->node ? node_text(model->arena, refusal->node) : "";
        utf8_print(stderr, arena_format(model->arena, "%s: error: %s%s%s", model->path, node, *node ? ": " : "",
                                        refusal->reason));
        fputs("\n", stderr);
    }
}

const char *element_name(enum element type)
{
    static const char *const names[] = {
        [ELEMENT_F32] = "f32", [ELEMENT_U8] = "uint8",     [ELEMENT_I8] = "int8",     [ELEMENT_U16] = "uint16",
        [ELEMENT_I16] = "int16", [ELEMENT_I32] = "int32",  [ELEMENT_I64] = "int64",   [ELEMENT_STRING] = "string",
        [ELEMENT_BOOL] = "bool", [ELEMENT_F16] = "f16",    [ELEMENT_F64] = "float64", [ELEMENT_U32] = "uint32",
        [ELEMENT_U64] = "uint64", [ELEMENT_BF16] = "bf16",
    };
    bool known = (int)type > 0 && (size_t)type < sizeof names / sizeof *names && names[type];
    return known ? names[type] : "an unusual type";
}

bool element_is_float(enum element type)
{
    return type == ELEMENT_F32 || type == ELEMENT_F16 || type == ELEMENT_BF16;
}

bool element_is_integer(enum element type)
{
    return (type >= ELEMENT_U8 && type <= ELEMENT_I64) || type == ELEMENT_U32 || type == ELEMENT_U64;
}

bool shape_count(const struct shape *shape, size_t *count)
{
    int64_t product = 1;            /* without zeros: strides and parts of a shape must not overflow beside one */
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dims[i];
        if (size < 0 || !CHECKED_MUL(product, size ? size : 1, &product))
            return false;
        empty = empty || !size;
    }
    return CHECKED_ADD(empty ? 0 : product, 0, count);
}

const char *shape_text(struct arena *arena, const struct shape *shape)
{
    const char *text = "[";
    for (int i = 0; i < shape->rank; i++) {
        const char *comma = i ? ", " : "";
        text = shape->dims[i] < 0 ? arena_format(arena, "%s%s?", text, comma)
                                  : arena_format(arena, "%s%s%" PRId64, text, comma, shape->dims[i]);
    }
    return arena_format(arena, "%s]", text);
}
