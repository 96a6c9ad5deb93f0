/* The plan as text, and the checks that it keeps its promises. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "plan.h"

static const char *epilogue_text[] = {
    [EPILOGUE_DEFAULT] = "default",     [EPILOGUE_BIAS] = "bias",
    [EPILOGUE_RELU] = "relu",           [EPILOGUE_RELU_BIAS] = "relu_bias",
    [EPILOGUE_GELU] = "gelu_tanh",      [EPILOGUE_GELU_BIAS] = "gelu_tanh_bias",
};

static const char *place_text[] = {
    [PLACE_ARENA] = "arena", [PLACE_INPUT] = "input", [PLACE_OUTPUT] = "output"};

static void operand_dump(const struct plan *plan, struct operand operand, FILE *to)
{
    switch (operand.kind) {
    case OPERAND_OP:
        fprintf(to, " t%d", operand.index);
        break;
    case OPERAND_VALUE:
        fprintf(to, " %s", plan->values.at[operand.index].name);
        break;
    case OPERAND_PARAM:
        fprintf(to, " $%s", plan->params.at[operand.index].name);
        break;
    case OPERAND_NUMBER:
        fprintf(to, " %.17g", operand.number);
        break;
    case OPERAND_NONE:
        break;
    }
}

static void step_dump(const struct plan *plan, const struct step *step, FILE *to)
{
    const struct value *out = &plan->values.at[step->out];
    fprintf(to, "%s (line %d)", step->function, step->line);
    if (step->product) {
        fprintf(to, " product n=%" PRId64 " k=%" PRId64, step->n, step->k);
        if (plan->target == TARGET_CUDA)
            fprintf(to, " epilogue=%s", epilogue_text[step->epilogue]);
        if (step->residual >= 0)
            fprintf(to, " residual=%s", plan->values.at[step->residual].name);
    }
    fputs("\n", to);
    for (size_t i = 0; i < step->tape.count; i++) {
        const struct tape_op *op = &step->tape.at[i];
        fprintf(to, "    t%zu [%" PRId64 "] = %s", i, op->width, op_info[op->op].text);
        for (int j = 0; j < 3; j++)
            operand_dump(plan, op->in[j], to);
        for (int j = 0; j < op_info[op->op].attributes; j++)
            fprintf(to, " %.17g", op->attr[j]);
        fputs("\n", to);
    }
    fprintf(to, "    -> %s %s[%" PRId64 "]\n", out->name, dtype_text(out->dtype), out->width);
}

void plan_dump(const struct plan *plan, FILE *to)
{
    fprintf(to, "plan %s %s for %s, %zu steps\n", plan->name, dtype_text(plan->dtype),
            plan->target == TARGET_CPU ? "cpu" : "cuda", plan->steps.count);
    for (size_t i = 0; i < plan->steps.count; i++)
        step_dump(plan, &plan->steps.at[i], to);
}

void memory_dump(const struct plan *plan, FILE *to)
{
    int buffers = 0;
    for (size_t i = 0; i < plan->buffers.count; i++)
        buffers += plan->buffers.at[i].place == PLACE_ARENA;
    fprintf(to, "arena %" PRId64 " bytes for %" PRId64 " rows, %d buffers\n", plan->arena_bytes, plan->chunk,
            buffers);
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        const struct buffer *buffer = &plan->buffers.at[value->buffer];
        fprintf(to, "  %s %s[%" PRId64 "] ld=%" PRId64 " column=%" PRId64 " buffer=%d %s", value->name,
                dtype_text(value->dtype), value->width, value->ld, value->column, value->buffer,
                place_text[buffer->place]);
        if (buffer->place == PLACE_ARENA)
            fprintf(to, " offset=%" PRId64 " bytes=%" PRId64 " steps=%d..%d", buffer->offset,
                    buffer->row_bytes * plan->chunk, buffer->first, buffer->last);
        fputs("\n", to);
    }
    fprintf(to, "weights %" PRId64 " bytes\n", plan->weights_bytes);
    for (size_t i = 0; i < plan->params.count; i++) {
        const struct packed *packed = &plan->params.at[i];
        fprintf(to, "  %s %s[%" PRId64 ", %" PRId64 "] offset=%" PRId64 "\n", packed->name, dtype_text(packed->dtype),
                packed->rows, packed->cols, packed->offset);
    }
}

static void check_step(const struct plan *plan, int index)
{
    const struct step *step = &plan->steps.at[index];
    assert(step->tape.count > 0);
    assert(step->product == (step->tape.at[0].op == OP_LINEAR));
    for (size_t i = 0; i < step->tape.count; i++) {
        enum op_kind kind = op_info[step->tape.at[i].op].kind;
        assert(kind == KIND_MAP || (kind == KIND_PRODUCT && i == 0) || i + 1 == step->tape.count);
        for (int j = 0; j < 3; j++) {
            struct operand operand = step->tape.at[i].in[j];
            assert(operand.kind != OPERAND_OP || (size_t)operand.index < i);
            if (operand.kind == OPERAND_VALUE) {
                const struct buffer *buffer = &plan->buffers.at[plan->values.at[operand.index].buffer];
                assert(buffer->first < index && buffer->last >= index);
            }
        }
    }
}

struct interval {
    int first, last;
    int64_t begin, end;
};

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Walks the buffers in order of birth beside those that are still alive. */
static void check_overlap(const struct plan *plan)
{
    struct interval *all = ARENA_ARRAY(plan->arena, struct interval, plan->buffers.count);
    struct interval *live = ARENA_ARRAY(plan->arena, struct interval, plan->buffers.count);
    size_t count = 0, alive = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const struct buffer *buffer = &plan->buffers.at[i];
        if (buffer->place != PLACE_ARENA)
            continue;
        assert(buffer->offset % plan->alignment == 0);
        assert(buffer->offset + buffer->row_bytes * plan->chunk <= plan->arena_bytes);
        all[count++] = (struct interval){buffer->first, buffer->last, buffer->offset,
                                         buffer->offset + buffer->row_bytes * plan->chunk};
    }
    qsort(all, count, sizeof *all, compare_intervals);
    for (size_t i = 0; i < count; i++) {
        size_t kept = 0;
        for (size_t j = 0; j < alive; j++) {
            if (live[j].last < all[i].first)
                continue;
            assert(live[j].end <= all[i].begin || all[i].end <= live[j].begin);
            live[kept++] = live[j];
        }
        live[kept++] = all[i];
        alive = kept;
    }
}

void plan_check(const struct plan *plan)
{
    for (int i = 0; (size_t)i < plan->steps.count; i++)
        check_step(plan, i);
    check_overlap(plan);
}
