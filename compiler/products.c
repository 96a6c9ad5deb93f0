#include "products.h"

#include <inttypes.h>

#include "hash.h"

static const char *const dtype_name[] = {
    [DTYPE_F32] = "f32", [DTYPE_TF32] = "tf32", [DTYPE_F16] = "f16", [DTYPE_BF16] = "bf16"};

static const struct {
    const char *name;
    bool bias;
} epilogues[] = {
    [EPILOGUE_DEFAULT] = {"default", false},     [EPILOGUE_BIAS] = {"bias", true},
    [EPILOGUE_RELU] = {"relu", false},           [EPILOGUE_RELU_BIAS] = {"relu_bias", true},
    [EPILOGUE_GELU] = {"gelu_tanh", false},      [EPILOGUE_GELU_BIAS] = {"gelu_tanh_bias", true},
};

/* ---- What a plan depends on ---- */

/* Buffers and parameters start at plan->alignment, so that the column decides; more than 256 bytes is never asked. */
static int64_t alignment_of(const struct plan *plan, const struct value *value)
{
    int64_t offset = (value->column * (int64_t)dtype_size(value->dtype)) | plan->alignment;
    return offset & -offset;
}

static const struct packed *bias_of(const struct plan *plan, const struct step *step)
{
    const struct tape_op *linear = &step->tape.at[0];
    return epilogues[step->epilogue].bias ? &plan->params.at[linear->in[2].index] : NULL;
}

/* "c" is the residual, which alone may differ from d in its leading dimension. */
static const char *residual_text(const struct plan *plan, const struct step *step)
{
    if (step->residual < 0)
        return "";
    const struct value *value = &plan->values.at[step->residual];
    return arena_format(plan->arena, " c=%s/%" PRId64, dtype_name[value->dtype], value->ld);
}

static const char *product_text(const struct plan *plan, const struct step *step, int64_t rows)
{
    const struct tape_op *linear = &step->tape.at[0];
    const struct packed *weight = &plan->params.at[linear->in[1].index], *bias = bias_of(plan, step);
    const struct value *in = &plan->values.at[linear->in[0].index], *out = &plan->values.at[step->out];
    const struct value *residual = step->residual >= 0 ? &plan->values.at[step->residual] : out;
    return arena_format(plan->arena,
                        "m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " a=%s/%" PRId64 " b=%s/%" PRId64 "%s d=%s/%" PRId64
                        " compute=%s epilogue=%s%s%s align=%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64,
                        step->n_padded, rows, step->k_padded, dtype_name[weight->dtype], weight->ld,
                        dtype_name[in->dtype], in->ld, residual_text(plan, step), dtype_name[out->dtype], out->ld,
                        plan->dtype == DTYPE_TF32 ? "tf32" : "f32", epilogues[step->epilogue].name,
                        bias ? " bias=" : "", bias ? dtype_name[bias->dtype] : "", plan->alignment,
                        alignment_of(plan, in), alignment_of(plan, residual), alignment_of(plan, out));
}

/* ---- The epilogue as a kernel of its own ---- */

static struct operand operand_of(enum operand_kind kind, int index)
{
    return (struct operand){.kind = kind, .index = index};
}

/* On the product's result, in its place: the bias first, the activation behind it. The residual is C in either form.
 * Only where the result is stored in f32: a shorter type would be rounded twice. */
static const struct step *apart_step(const struct plan *plan, const struct step *step)
{
    const struct packed *bias = bias_of(plan, step);
    enum op last = step->tape.at[step->tape.count - 1].op;
    bool activation = last == OP_RELU || last == OP_GELU_TANH;
    if (plan->values.at[step->out].dtype != DTYPE_F32 || step->epilogue == EPILOGUE_DEFAULT)
        return NULL;
    struct step *apart = ARENA_NEW(plan->arena, struct step);
    *apart = (struct step){.name = step->name, .line = step->line, .span = step->span, .out = step->out,
                           .group = -1, .residual = -1, .sums = -1};
    apart->function = arena_format(plan->arena, "%s_epilogue", step->function);
    apart->text = arena_format(plan->arena, "the epilogue of %s, where a plan has it apart", step->name);
    struct operand in = operand_of(OPERAND_VALUE, step->out);
    if (bias) {
        struct tape_op add = {.op = OP_ADD, .width = step->n,
                              .in = {in, step->tape.at[0].in[2]}};
        VEC_PUSH(plan->arena, &apart->tape, add);
        in = operand_of(OPERAND_OP, 0);
    }
    if (activation) {
        struct tape_op act = {.op = last, .width = step->n, .in = {in}};
        VEC_PUSH(plan->arena, &apart->tape, act);
    }
    return apart;
}

/* ---- All of them ---- */

/* The text of all steps, by its checksum: names, functions, widths. */
static const char *network_text(const struct plan *plan)
{
    uint64_t hash = HASH_START ^ plan->weights_layout;
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        hash = hash_text(hash, arena_format(plan->arena, "%s %" PRId64 " ", step->text,
                                            plan->values.at[step->out].width));
    }
    return arena_format(plan->arena, "%s layout=%016" PRIx64, plan->name, hash);
}

void products_list(struct plan *plan)
{
    plan->network = network_text(plan);
    for (int i = 0; (size_t)i < plan->steps.count; i++) {
        struct step *step = &plan->steps.at[i];
        if (step->product)
            step->apart = apart_step(plan, step);
    }
    for (int b = 0; b < plan->batch_count; b++) {
        for (int i = 0; (size_t)i < plan->steps.count; i++) {
            const struct step *step = &plan->steps.at[i];
            struct product product = {.step = i, .batch = b, .rows = plan->batches[b]};
            if (!step->product)
                continue;
            product.text = product_text(plan, step, product.rows);
            VEC_PUSH(plan->arena, &plan->products, product);
        }
    }
}
