#include "cost.h"

/* Which values and parameters a walk over steps has met. */
struct met {
    bool *values, *params;
};

static struct met met_nothing(const struct plan *plan, struct arena *scratch)
{
    return (struct met){ARENA_ARRAY(scratch, bool, plan->values.count),
                        ARENA_ARRAY(scratch, bool, plan->params.count)};
}

static bool first_time(bool *met)
{
    bool first = !*met;
    *met = true;
    return first;
}

static double row_bytes(const struct value *value)
{
    return (double)value->width * (double)dtype_size(value->dtype);
}

static double packed_bytes(const struct packed *packed)
{
    return (double)packed->rows * (double)packed->cols * (double)dtype_size(packed->dtype);
}

/* ---- Operations ---- */

static int64_t width_of(const struct plan *plan, const struct step *step, struct operand operand)
{
    switch (operand.kind) {
    case OPERAND_OP:
        return step->tape.at[operand.index].width;
    case OPERAND_VALUE:
        return plan->values.at[operand.index].width;
    case OPERAND_NONE:
    case OPERAND_PARAM:
    case OPERAND_NUMBER:
        break;
    }
    return 0;
}

/* A sum of a row has one element, and works on all of its operand's. */
static double elements(const struct plan *plan, const struct step *step, const struct tape_op *op)
{
    int64_t most = op->width;
    for (int i = 0; i < 3; i++) {
        int64_t width = width_of(plan, step, op->in[i]);
        most = width > most ? width : most;
    }
    return (double)most;
}

static void add_operations(const struct plan *plan, const struct step *step, struct cost *cost)
{
    for (size_t i = 0; i < step->tape.count; i++) {
        const struct tape_op *op = &step->tape.at[i];
        if (op->op == OP_LINEAR) {
            cost->products += 2 * (double)step->n * (double)step->k;
            cost->others += op->in[2].kind == OPERAND_PARAM ? (double)step->n : 0;
        } else if (op->op != OP_IDENTITY) {
            cost->others += elements(plan, step, op);
        }
    }
}

/* ---- Bytes ---- */

static void add_weights(const struct plan *plan, const struct step *step, struct met *met, struct cost *cost)
{
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand operand = step->tape.at[i].in[j];
            if (operand.kind == OPERAND_PARAM && first_time(&met->params[operand.index]))
                cost->weights += packed_bytes(&plan->params.at[operand.index]);
        }
    }
}

static void add_values(const struct plan *plan, const struct step *step, struct met *met, struct cost *cost)
{
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand operand = step->tape.at[i].in[j];
            if (operand.kind == OPERAND_VALUE && first_time(&met->values[operand.index]))
                cost->in += row_bytes(&plan->values.at[operand.index]);
        }
    }
    cost->out += row_bytes(&plan->values.at[step->out]);
}

struct cost cost_of_step(const struct plan *plan, const struct step *step)
{
    struct cost cost = {0};
    struct arena *scratch = arena_new();
    struct met met = met_nothing(plan, scratch);
    add_operations(plan, step, &cost);
    add_weights(plan, step, &met, &cost);
    add_values(plan, step, &met, &cost);
    arena_free(scratch);
    return cost;
}

/* Whether any step reads a value that stands in the buffer. */
static bool is_read(const struct plan *plan, const struct met *met, int buffer)
{
    for (size_t i = 0; i < plan->values.count; i++) {
        if (met->values[i] && plan->values.at[i].buffer == buffer)
            return true;
    }
    return false;
}

struct cost cost_of_network(const struct plan *plan)
{
    struct cost cost = {0}, between = {0};
    struct arena *scratch = arena_new();
    struct met met = met_nothing(plan, scratch);
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        add_operations(plan, step, &cost);
        add_weights(plan, step, &met, &cost);
        add_values(plan, step, &met, &between);
    }
    for (size_t i = 0; i < plan->inputs.count; i++) {
        const struct value *value = &plan->values.at[plan->inputs.at[i].value];
        cost.in += is_read(plan, &met, value->buffer) ? row_bytes(value) : 0;
    }
    for (size_t i = 0; i < plan->outputs.count; i++)
        cost.out += row_bytes(&plan->values.at[plan->outputs.at[i].value]);
    arena_free(scratch);
    return cost;
}

/* ---- Time ---- */

struct floor cost_floor(const struct cost *cost, int64_t rows, enum dtype dtype, const struct device *device)
{
    double bytes = cost->weights + (cost->in + cost->out) * (double)rows;
    double memory = bytes / (1e9 * device->gbytes);
    double products = cost->products * (double)rows / (1e9 * device->gflops[dtype]);
    double others = cost->others * (double)rows / (1e9 * device->gflops[DTYPE_F32]);
    double arithmetic = products > others ? products : others;
    return (struct floor){memory > arithmetic ? memory : arithmetic, memory > arithmetic};
}

/* ---- Padding ---- */

int64_t cost_padded_rows(const struct plan *plan, int64_t rows)
{
    int64_t rest = rows % plan->max_batch;
    if (plan->target == TARGET_CPU || !rest)
        return rows;
    for (int b = 0; b < plan->batch_count; b++) {
        if (plan->batches[b] >= rest)
            return rows - rest + plan->batches[b];
    }
    return rows;
}

int64_t cost_least_rest(const struct plan *plan, int batch)
{
    return batch ? plan->batches[batch - 1] + 1 : 1;
}

struct padding cost_padding(const struct plan *plan, const struct step *step)
{
    struct padding padding = {step->n_padded, step->k_padded, 0};
    if (plan->target == TARGET_CPU)
        padding = (struct padding){plan->params.at[step->tape.at[0].in[1].index].stored_rows, step->k, 0};
    padding.share = 1 - (double)step->n * (double)step->k / ((double)padding.n * (double)padding.k);
    return padding;
}
