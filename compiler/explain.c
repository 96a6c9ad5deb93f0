#include "explain.h"

#include <inttypes.h>

#include "cost.h"
#include "forms.h"
#include "plan_file.h"
#include "quantity.h"
#include "utf8.h"
#include "whole.h"

struct explainer {
    const struct why *why;
    const struct plan *plan;
    const struct device *device;
    struct arena *arena;
    FILE *to;
};

static void print_cost(const struct explainer *e, const struct cost *cost)
{
    if (cost->weights > 0)
        fprintf(e->to, "%s of weights; ", quantity_bytes(e->arena, cost->weights));
    double operations = cost->products + cost->others;
    fprintf(e->to, "a row moves %s in and %s out, and takes %s operation%s\n", quantity_bytes(e->arena, cost->in),
            quantity_bytes(e->arena, cost->out), quantity_count(e->arena, operations), operations == 1 ? "" : "s");
}

/* "14.7 ns (memory)" */
static const char *floor_text(const struct explainer *e, const struct cost *cost, int64_t rows)
{
    struct floor floor = cost_floor(cost, rows, e->plan->dtype, e->device);
    return arena_format(e->arena, "%s (%s)", quantity_time(e->arena, floor.seconds),
                        floor.memory ? "memory" : "arithmetic");
}

static bool by_steps(const struct plan *plan, int batch)
{
    return !plan->forms || plan->forms[batch].chosen == FORM_STEPS;
}

static bool any_by_steps(const struct plan *plan)
{
    bool any = false;
    for (int b = 0; b < plan->batch_count; b++)
        any |= by_steps(plan, b);
    return any;
}

/* ---- The network ---- */

static void print_device(const struct explainer *e)
{
    const struct device *device = e->device;
    double products = 1e9 * device->gflops[e->plan->dtype], others = 1e9 * device->gflops[DTYPE_F32];
    fprintf(e->to, "\"at least\": the least time on ");
    if (!device->name)
        fprintf(e->to, "a device of ");
    else if (device->target == TARGET_CPU)
        fprintf(e->to, "%d core%s with %s, weights and values in the nearest cache: ", e->plan->threads,
                e->plan->threads == 1 ? "" : "s", device->text);
    else
        fprintf(e->to, "one %s, by its data sheet: ", device->text);
    fprintf(e->to, "%.6g GB/s and %sFLOP/s", device->gbytes, quantity_count(e->arena, products));
    if (products > others)
        fprintf(e->to, " for products, %sFLOP/s for all else", quantity_count(e->arena, others));
    fputs(".\nEvery byte moved once, every operation done; launches and padding are not counted.\n", e->to);
}

static void print_network(const struct explainer *e, const struct cost *cost)
{
    const struct plan *plan = e->plan;
    fprintf(e->to, "%s in %s for %s, %zu step%s\n", plan->name, dtype_text(plan->dtype),
            plan->target == TARGET_CPU ? "cpu" : "cuda", plan->steps.count, plan->steps.count == 1 ? "" : "s");
    print_cost(e, cost);
    print_device(e);
    fputs("\n", e->to);
}

/* ---- Batch sizes ---- */

static void print_form(const struct explainer *e, int batch)
{
    const struct plan *plan = e->plan;
    int64_t rows = plan->batches[batch];
    const char *few = few_refusal(plan, rows), *many = rows_refusal(plan);
    if (!by_steps(plan, batch))
        fprintf(e->to, "one kernel for the whole network (%s)\n", form_name(plan->forms[batch].chosen));
    else
        fprintf(e->to, "step by step (one kernel for few rows: %s; for many: %s)\n", few ? few : "possible",
                many ? many : "possible");
}

static void print_chunks(const struct explainer *e, int64_t rows)
{
    int64_t chunks = (rows + e->plan->chunk - 1) / e->plan->chunk;
    if (chunks == 1)
        fputs("through all steps at once\n", e->to);
    else
        fprintf(e->to, "in %" PRId64 " chunks of at most %s, each through all steps\n", chunks,
                quantity_rows(e->arena, (rows + chunks - 1) / chunks));
}

/* The rests of a run that take this batch size, each as likely as the others. */
static void print_row_padding(const struct explainer *e, int batch)
{
    int64_t rows = e->plan->batches[batch], least = cost_least_rest(e->plan, batch);
    double most = (double)(cost_padded_rows(e->plan, least) - least);
    if (most > 0)
        fprintf(e->to, "    padding: %" PRId64 " to %" PRId64 " rows run as %" PRId64 ": %.4g %% of these are padding "
                       "on average, %.4g %% at most\n",
                least, rows, rows, 50 * most / (double)rows, 100 * most / (double)rows);
}

static void print_floor(const struct explainer *e, const struct cost *network, int batch)
{
    const struct plan *plan = e->plan;
    int64_t rows = plan->batches[batch];
    double seconds = 0;
    for (size_t i = 0; i < plan->steps.count; i++) {
        struct cost cost = cost_of_step(plan, &plan->steps.at[i]);
        seconds += cost_floor(&cost, rows, plan->dtype, e->device).seconds;
    }
    if (by_steps(plan, batch))
        fprintf(e->to, "    at least %s step by step, %s if nothing between inputs and outputs were stored\n",
                quantity_time(e->arena, seconds), floor_text(e, network, rows));
    else
        fprintf(e->to, "    at least %s\n", floor_text(e, network, rows));
}

static void print_batch(const struct explainer *e, const struct cost *network, int batch)
{
    int64_t rows = e->plan->batches[batch];
    fprintf(e->to, "%s: ", quantity_rows(e->arena, rows));
    if (e->plan->target == TARGET_CUDA)
        print_form(e, batch);
    else
        print_chunks(e, rows);
    print_floor(e, network, batch);
    if (e->plan->target == TARGET_CUDA)
        print_row_padding(e, batch);
}

/* ---- Tuned plans ---- */

static void print_lock(const struct explainer *e, int64_t rows, const struct lock *lock)
{
    const struct plan_device *device = &e->plan->plan_devices.at[lock->device];
    const mlp_plan_times *times = &lock->entry->times;
    fprintf(e->to, "    plan for %s on ", quantity_rows(e->arena, rows));
    utf8_print(e->to, device->name);
    fprintf(e->to, " (%d multiprocessors, cuBLASLt %zu.%zu.%zu): %.2f us", device->multiprocessors,
            device->library / 10000, device->library / 100 % 100, device->library % 100, times->warm);
    if (times->warm == times->first_warm && times->cold == times->first_cold)
        fputs(", the first choice\n", e->to);
    else
        fprintf(e->to, ", cold %.2f, for %.2f and %.2f of the first choice (%.1f and %.1f %% less)%s\n", times->cold,
                times->first_warm, times->first_cold, 100 * (1 - times->warm / times->first_warm),
                100 * (1 - times->cold / times->first_cold), lock->entry->apart ? "; epilogue apart" : "");
}

static void print_plans(const struct explainer *e, int step)
{
    const struct plan *plan = e->plan;
    for (size_t i = 0; i < plan->products.count; i++) {
        const struct product *product = &plan->products.at[i];
        if (product->step != step || !forms_run(plan, product))
            continue;
        for (size_t j = 0; j < product->lock_count; j++)
            print_lock(e, product->rows, &plan->locks.at[product->first_lock + j]);
        if (!product->lock_count)
            fprintf(e->to, "    plan for %s: none; cuBLASLt's first choice when the program starts\n",
                    quantity_rows(e->arena, product->rows));
    }
}

/* ---- Steps ---- */

static void print_product(const struct explainer *e, const struct step *step)
{
    struct padding padding = cost_padding(e->plan, step);
    fprintf(e->to, "    product: %" PRId64 " columns from %" PRId64, step->n, step->k);
    if (padding.share > 0)
        fprintf(e->to, ", computed as %" PRId64 " from %" PRId64 ": %.3g %% of it is padding", padding.n, padding.k,
                100 * padding.share);
    fputs("\n", e->to);
}

static void print_step_cost(const struct explainer *e, const struct step *step)
{
    const struct plan *plan = e->plan;
    struct cost cost = cost_of_step(plan, step);
    const char *floors = "";
    for (int b = 0; b < plan->batch_count; b++) {
        if (by_steps(plan, b))
            floors = arena_format(e->arena, "%s%s%s for %s", floors, *floors ? ", " : "",
                                  floor_text(e, &cost, plan->batches[b]), quantity_rows(e->arena, plan->batches[b]));
    }
    fputs("    ", e->to);
    print_cost(e, &cost);
    if (*floors)
        fprintf(e->to, "    at least %s\n", floors);
}

static void print_reasons(const struct explainer *e, const struct step *step)
{
    const char *fused = why_fused(e->why, step);
    fprintf(e->to, "    fused: %s\n", fused ? fused : "nothing");
    why_folded(e->why, step, "    ", e->to);
    fprintf(e->to, "    %s\n", why_ends(e->why, step));
}

static void print_step(const struct explainer *e, int index)
{
    const struct step *step = &e->plan->steps.at[index];
    fprintf(e->to, "\n%s: ", why_place(e->why, step->span));
    utf8_print(e->to, step->text);
    fputs("\n", e->to);
    if (step->product)
        print_product(e, step);
    if (step->group < 0)
        fprintf(e->to, "    %s\n", why_copied(e->why, step));
    else
        print_reasons(e, step);
    print_step_cost(e, step);
    if (any_by_steps(e->plan))
        print_plans(e, index);
}

void explain_print(const struct why *why, const struct device *device, FILE *to)
{
    const struct plan *plan = why->plan;
    struct device all = *device;
    if (device->name && plan->target == TARGET_CPU)
        all = device_times(device, plan->threads);
    struct explainer explainer = {why, plan, &all, plan->arena, to};
    struct cost network = cost_of_network(plan);
    print_network(&explainer, &network);
    for (int b = 0; b < plan->batch_count; b++)
        print_batch(&explainer, &network, b);
    if (!any_by_steps(plan))
        fputs("\nThe steps, of which the kernel is made. It rounds where they end, and stores nothing there.\n", to);
    for (int i = 0; (size_t)i < plan->steps.count; i++)
        print_step(&explainer, i);
}
