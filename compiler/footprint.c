#include "footprint.h"

#include <stdlib.h>
#include <string.h>

#include "emit_cuda.h"
#include "quantity.h"
#include "quote.h"

static const char weights_name[] = "weights", values_name[] = "values between steps";

static void add(const struct plan *plan, struct footprint *footprint, const char *name, int64_t bytes)
{
    struct footprint_part part = {name, bytes};
    if (!bytes)
        return;
    VEC_PUSH(plan->arena, &footprint->parts, part);
    footprint->bytes += bytes;
}

struct footprint footprint_device(const struct plan *plan)
{
    struct footprint footprint = {.bytes = 0};
    if (plan->target != TARGET_CUDA)
        return footprint;
    struct cuda_arena arena = cuda_arena(plan);
    add(plan, &footprint, weights_name, plan->weights_bytes);
    add(plan, &footprint, values_name, plan->arena_bytes);
    add(plan, &footprint, "state of the kernels for few rows", arena.state_bytes);
    add(plan, &footprint, "workspace of the products", arena.workspace_bytes);
    return footprint;
}

static int64_t staging(const struct plan *plan)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < plan->inputs.count; i++)
        bytes += cuda_port_staging(plan, &plan->inputs.at[i]);
    for (size_t i = 0; i < plan->outputs.count; i++)
        bytes += cuda_port_staging(plan, &plan->outputs.at[i]);
    return bytes;
}

struct footprint footprint_host(const struct plan *plan, bool embedded)
{
    struct footprint footprint = {.bytes = 0};
    bool cpu = plan->target == TARGET_CPU;
    if (plan->weights_bytes && (cpu || embedded))
        add(plan, &footprint, weights_name, WEIGHTS_HEADER_BYTES + plan->weights_bytes);
    if (cpu)
        add(plan, &footprint, values_name, plan->threads * plan->arena_bytes);
    else
        add(plan, &footprint, "pinned memory for rows on their way", staging(plan));
    return footprint;
}

/* ---- The largest ---- */

static int compare_parts(const void *left, const void *right)
{
    const struct footprint_part *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static const char *name_of_buffer(const struct plan *plan, size_t buffer)
{
    for (size_t i = 0; i < plan->values.count; i++) {
        if ((size_t)plan->values.at[i].buffer == buffer)
            return plan->values.at[i].name;
    }
    return "";
}

/* Weights and values one by one, all else as it is. */
static struct footprint single_parts(const struct plan *plan, const struct footprint *footprint)
{
    struct footprint single = {.bytes = 0};
    for (size_t i = 0; i < footprint->parts.count; i++) {
        const struct footprint_part *part = &footprint->parts.at[i];
        if (part->name == weights_name) {
            for (size_t j = 0; j < plan->params.count; j++) {
                const struct packed *packed = &plan->params.at[j];
                add(plan, &single, quote(plan->arena, packed->label),
                    packed->stored_rows * packed->ld * (int64_t)dtype_size(packed->dtype));
            }
        } else if (part->name == values_name) {
            for (size_t j = 0; j < plan->buffers.count; j++) {
                if (plan->buffers.at[j].place == PLACE_ARENA)
                    add(plan, &single, name_of_buffer(plan, j), plan->buffers.at[j].row_bytes * plan->chunk);
            }
        } else {
            add(plan, &single, part->name, part->bytes);
        }
    }
    return single;
}

const char *footprint_largest(const struct plan *plan, const struct footprint *footprint)
{
    struct footprint single = single_parts(plan, footprint);
    const char *list = "";
    if (single.parts.count)
        qsort(single.parts.at, single.parts.count, sizeof *single.parts.at, compare_parts);
    for (size_t i = 0; i < single.parts.count && i < 3; i++)
        list = arena_format(plan->arena, "%s%s%s %s", list, i ? ", " : "", single.parts.at[i].name,
                            quantity_bytes(plan->arena, (double)single.parts.at[i].bytes));
    return list;
}
