#include "forms.h"

#include <assert.h>

#include "whole.h"

const char *form_name(enum form form)
{
    static const char *const names[FORM_COUNT] = {[FORM_STEPS] = "steps", [FORM_ROWS] = "rows", [FORM_FEW] = "few"};
    return names[form];
}

bool forms_emit(const struct plan *plan, enum form form)
{
    bool any = false;
    for (int b = 0; plan->forms && b < plan->batch_count; b++)
        any |= plan->forms[b].emitted[form];
    return any;
}

bool forms_run(const struct plan *plan, const struct product *product)
{
    return plan->forms[product->batch].chosen == FORM_STEPS;
}

/* ---- Choosing ---- */

/* Measured on an H200, against tuned steps: few rows win as long as their number does not multiply the work on weights
 * that come from memory; the kernel for many rows wins once it has some rows for every multiprocessor. */
enum { FEW_ROWS = 16, FEW_ROWS_OF_LARGE = 4, MANY_ROWS = 8192 };

static const int64_t large_weights = INT64_C(16) << 20;

static enum form rule(const struct plan *plan, int64_t rows, const bool *possible)
{
    int64_t few = plan->weights_bytes > large_weights ? FEW_ROWS_OF_LARGE : FEW_ROWS;
    if (possible[FORM_FEW] && rows <= few)
        return FORM_FEW;
    return possible[FORM_ROWS] && rows >= MANY_ROWS ? FORM_ROWS : FORM_STEPS;
}

/* A form for every device that the plan file knows: the first that says one. */
static enum form planned(const struct plan *plan, int batch, const bool *possible)
{
    enum form form = plan->form_locks ? plan->form_locks[batch] : FORM_COUNT;
    return form < FORM_COUNT && possible[form] ? form : FORM_COUNT;
}

static enum form choose(const struct plan *plan, int batch, enum whole whole, const bool *possible)
{
    enum form form = planned(plan, batch, possible);
    switch (whole) {
    case WHOLE_NEVER:
        return FORM_STEPS;
    case WHOLE_ROWS:
        return possible[FORM_ROWS] ? FORM_ROWS : FORM_STEPS;
    case WHOLE_FEW:
        return possible[FORM_FEW] ? FORM_FEW : FORM_STEPS;
    case WHOLE_AUTO:
    case WHOLE_ALL:
        break;
    }
    return form < FORM_COUNT ? form : rule(plan, plan->batches[batch], possible);
}

static struct batch_form form_of(const struct plan *plan, int batch, enum whole whole)
{
    int64_t rows = plan->batches[batch];
    const bool possible[FORM_COUNT] = {
        [FORM_STEPS] = true,
        [FORM_ROWS] = whole != WHOLE_NEVER && whole != WHOLE_FEW && !rows_refusal(plan),
        [FORM_FEW] = whole != WHOLE_NEVER && whole != WHOLE_ROWS && !few_refusal(plan, rows)};
    struct batch_form form = {.chosen = choose(plan, batch, whole, possible)};
    for (int i = 0; i < FORM_COUNT; i++)
        form.emitted[i] = whole == WHOLE_ALL ? possible[i] : i == (int)form.chosen;
    return form;
}

/* Values that are nowhere in memory keep places of their own behind the arena: the description of the network tells
 * them apart by these. */
static void place_behind(struct plan *plan, const int64_t *dropped)
{
    int64_t offset = plan->arena_bytes;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        if (!dropped[i])
            continue;
        plan->buffers.at[i].offset = offset;
        offset += (dropped[i] + plan->alignment - 1) / plan->alignment * plan->alignment;
    }
}

/* Only inputs and outputs are in memory where every batch size is one kernel: the rest never leaves the chip. They all
 * live from beginning to end, so that they still do not overlap. */
static void drop_steps(struct plan *plan)
{
    bool *port = ARENA_ARRAY(plan->arena, bool, plan->buffers.count);
    int64_t *dropped = ARENA_ARRAY(plan->arena, int64_t, plan->buffers.count);  /* bytes of a row, or 0 */
    for (size_t i = 0; i < plan->inputs.count; i++)
        port[plan->values.at[plan->inputs.at[i].value].buffer] = true;
    for (size_t i = 0; i < plan->outputs.count; i++)
        port[plan->values.at[plan->outputs.at[i].value].buffer] = true;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        struct buffer *buffer = &plan->buffers.at[i];
        dropped[i] = port[i] ? 0 : buffer->row_bytes;
        buffer->row_bytes -= dropped[i];
        buffer->first = -1;
        buffer->last = (int)plan->steps.count;
    }
    plan->products.count = 0;
    bool fits = memory_assign(plan);
    assert(fits);                   /* what is left takes less than all of it did */
    (void)fits;
    place_behind(plan, dropped);
}

void forms_choose(struct plan *plan, enum whole whole)
{
    if (plan->target != TARGET_CUDA)
        return;
    plan->forms = ARENA_ARRAY(plan->arena, struct batch_form, (size_t)plan->batch_count);
    for (int b = 0; b < plan->batch_count; b++)
        plan->forms[b] = form_of(plan, b, whole);
    if (!forms_emit(plan, FORM_STEPS))
        drop_steps(plan);
}
