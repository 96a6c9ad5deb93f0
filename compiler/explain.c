#include "explain.h"

#include <inttypes.h>

#include "forms.h"
#include "plan_file.h"
#include "whole.h"

static bool is_output(const struct graph *graph, int node)
{
    for (size_t i = 0; i < graph->outputs.count; i++) {
        if (graph->outputs.at[i].node == node)
            return true;
    }
    return false;
}

/* The last live reader of a node; -1 if only outputs read it. */
static int reader_of(const struct graph *graph, const struct fusion *fusion, int node)
{
    for (int i = (int)graph->nodes.count; i-- > node + 1;) {
        const struct node *reader = graph_node(graph, i);
        for (int j = 0; fusion->uses[i] && j < reader->in_count; j++) {
            if (reader->in[j] == node)
                return i;
        }
    }
    return -1;
}

static void print_reason(const struct graph *graph, const struct fusion *fusion, enum target target,
                         const struct group *group, FILE *to)
{
    int result = group->nodes[group->count - 1];
    bool product = graph_node(graph, group->nodes[0])->op == OP_LINEAR;
    int reader = reader_of(graph, fusion, result);
    if (is_output(graph, result)) {
        fputs("an output: stored\n", to);
        return;
    }
    const struct node *next = graph_node(graph, reader);
    const char *name = op_info[next->op].text;
    if (op_info[graph_node(graph, result)->op].kind == KIND_ROW ||
        op_info[graph_node(graph, result)->op].kind == KIND_REDUCE)
        fprintf(to, "%s needs the whole row, so it ends its step\n", op_info[graph_node(graph, result)->op].text);
    else if (fusion->uses[result] > 1)
        fprintf(to, "stored: %d operations read it\n", fusion->uses[result]);
    else if (op_info[next->op].kind == KIND_PRODUCT)
        fputs("stored: a product reads it\n", to);
    else if (op_info[next->op].kind == KIND_VIEW)
        fprintf(to, "stored: a %s reads it\n", name);
    else if (op_info[next->op].kind != KIND_MAP)
        fprintf(to, "stored: %s needs the whole row of the product\n", name);
    else if (next->width != graph_node(graph, result)->width)
        fprintf(to, "stored: %s stretches it from %" PRId64 " to %" PRId64 " columns\n", name,
                graph_node(graph, result)->width, next->width);
    else if (product && target == TARGET_CUDA)
        fprintf(
            to,
            "%s is not fused: cuBLASLt's epilogues end with a bias, a residual of the same type, relu or gelu_tanh\n",
            name);
    else
        fprintf(to, "stored: %s also reads what is computed later, or its step is full\n", name);
}

static void print_fused(const struct graph *graph, const struct group *group, FILE *to)
{
    const struct node *head = graph_node(graph, group->nodes[0]);
    bool any = false;
    if (head->op == OP_LINEAR && head->param[1]) {
        fputs("    fused: bias", to);
        any = true;
    }
    for (int i = head->op == OP_LINEAR ? 1 : 0; group->count > 1 && i < group->count; i++) {
        fprintf(to, "%s%s", any ? ", " : "    fused: ", op_info[graph_node(graph, group->nodes[i])->op].text);
        any = true;
    }
    fputs(any ? "\n" : "    fused: nothing\n", to);
}

/* ---- Tuned plans ---- */

static void print_lock(const struct plan *plan, int64_t rows, const struct lock *lock, FILE *to)
{
    const struct plan_device *device = &plan->plan_devices.at[lock->device];
    const mlp_plan_times *times = &lock->entry->times;
    fprintf(to, "    plan for %" PRId64 " rows on %s (%d multiprocessors, cuBLASLt %zu.%zu.%zu): %.2f us", rows,
            device->name, device->multiprocessors, device->library / 10000, device->library / 100 % 100,
            device->library % 100, times->warm);
    if (times->warm == times->first_warm && times->cold == times->first_cold)
        fputs(", the first choice\n", to);
    else
        fprintf(to, ", cold %.2f, for %.2f and %.2f of the first choice (%.1f and %.1f %% less)%s\n", times->cold,
                times->first_warm, times->first_cold, 100 * (1 - times->warm / times->first_warm),
                100 * (1 - times->cold / times->first_cold), lock->entry->apart ? "; epilogue apart" : "");
}

static void print_plans(const struct plan *plan, int step, FILE *to)
{
    for (size_t i = 0; i < plan->products.count; i++) {
        const struct product *product = &plan->products.at[i];
        if (product->step != step)
            continue;
        for (size_t j = 0; j < product->lock_count; j++)
            print_lock(plan, product->rows, &plan->locks.at[product->first_lock + j], to);
        if (!product->lock_count)
            fprintf(to, "    plan for %" PRId64 " rows: none; cuBLASLt's first choice when the program starts\n",
                    product->rows);
    }
}

/* ---- The whole network in one kernel ---- */

static void print_forms(const struct plan *plan, FILE *to)
{
    const char *rows = rows_refusal(plan);
    for (int b = 0; b < plan->batch_count; b++) {
        const char *few = few_refusal(plan, plan->batches[b]);
        fprintf(to, "%" PRId64 " rows: ", plan->batches[b]);
        if (plan->forms[b].chosen == FORM_STEPS)
            fprintf(to, "step by step (one kernel for few rows: %s; for many: %s)\n", few ? few : "possible",
                    rows ? rows : "possible");
        else
            fprintf(to, "one kernel for the whole network (%s)\n", form_name(plan->forms[b].chosen));
    }
}

void explain_print(const struct graph *graph, const struct fusion *fusion, const struct plan *plan, FILE *to)
{
    if (plan->forms)
        print_forms(plan, to);
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        fprintf(to, "%s:%d: %s\n", plan->spec, step->line, step->text);
        if (step->product)
            fprintf(to, "    product: %" PRId64 " columns from %" PRId64 "\n", step->n, step->k);
        print_plans(plan, (int)i, to);
        if (step->group < 0) {
            fputs("    a copy: another place or type is needed\n", to);
            continue;
        }
        print_fused(graph, &fusion->groups.at[step->group], to);
        fputs("    ", to);
        print_reason(graph, fusion, plan->target, &fusion->groups.at[step->group], to);
    }
}
