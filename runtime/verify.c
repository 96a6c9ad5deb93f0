/* --verify: all rows, batch by batch; then a table of the steps, and the first that is off by name. */
#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *verdict(const mlp_finding *finding)
{
    if (finding->changed >= 0)
        return "CHANGED";
    return finding->excess > 1 ? "DIVERGES" : "ok";
}

static void print_step(const mlp_verification *v, size_t index)
{
    const mlp_step *step = &v->model->steps[index];
    const mlp_finding *finding = &v->steps[index];
    printf("%4zu %5d %13.2e %9.2g  %-8s  %s\n", index + 1, step->line, finding->error, fmax(finding->excess, 0),
           verdict(finding), step->text);
    if (finding->undecided)
        printf("%46s%zu elements may be anything: their bound is infinite\n", "", finding->undecided);
}

static void print_report(const mlp_verification *v)
{
    printf("%zu of %zu rows checked, in batches of %zu\n", v->checked, v->inputs.rows, v->rows);
    printf("%4s %5s %13s %9s  %-8s  %s\n", "step", "line", "largest error", "of bound", "verdict", "computes");
    for (size_t i = 0; i < v->model->step_count && !v->model->whole_only; i++)
        print_step(v, i);
    if (v->form != MLP_FORM_STEPS)
        printf("in one kernel (%s): %.2g of the bound that roundings of all steps together make\n",
               mlp_form_text(v->form), fmax(v->whole.excess, 0));
    if (v->chain_broken)
        printf("whole network: NaN or infinite in other places than float64\n");
    printf("whole network: %.2e from float64, whose largest output is %.3g\n", v->chain_error, v->chain_size);
}

/* "nan" and never "-nan": which of the two an operation makes is the C compiler's choice. */
static double shown(double value)
{
    return isnan(value) ? fabs(value) : value;
}

static int complain_step(const mlp_verification *v, size_t index)
{
    const mlp_step *step = &v->model->steps[index];
    const mlp_finding *f = &v->steps[index];
    char place[96];
    snprintf(place, sizeof place, "row %zu, column %zu is %.9g", f->row, f->column, shown(f->got));
    if (f->changed >= 0)
        return mlp_complain(v->command, MLP_EXIT_WRONG,
                            "step %zu (%s:%d: %s) reads %s, which has changed since it was stored: %s, was %.9g",
                            index + 1, v->model->spec, step->line, step->text, v->model->values[f->changed].name, place,
                            shown(f->want.value));
    return mlp_complain(v->command, MLP_EXIT_WRONG, "step %zu (%s:%d: %s) diverges: %s, should be %.9g within %.2e",
                        index + 1, v->model->spec, step->line, step->text, place, shown(f->want.value), f->want.bound);
}

static int judge(const mlp_verification *v)
{
    for (size_t i = 0; i < v->model->step_count; i++)
        if (v->steps[i].excess > 1)
            return complain_step(v, i);
    if (v->form != MLP_FORM_STEPS && v->whole.excess > 1)
        return mlp_complain(v->command, MLP_EXIT_WRONG,
                            "the network in one kernel diverges: output %s, row %zu, column %zu is %.9g, should be "
                            "%.9g within %.2e", v->model->outputs[v->whole_output].name, v->whole.row, v->whole.column,
                            shown(v->whole.got), shown(v->whole.want.value), v->whole.want.bound);
    if (v->form == MLP_FORM_STEPS && v->whole_output >= 0)
        return mlp_complain(v->command, MLP_EXIT_WRONG,
                            "a run differs from its steps: output %s, row %zu, column %zu is %.9g, by steps %.9g",
                            v->model->outputs[v->whole_output].name, v->whole.row, v->whole.column,
                            shown(v->whole.got), shown(v->whole.want.value));
    if (v->alone_output >= 0 && v->alone_threads)
        return mlp_complain(v->command, MLP_EXIT_WRONG, "output %s, row %zu, has other bits in a batch of %zu on %zu "
                            "thread%s", v->model->outputs[v->alone_output].name, v->alone_row, v->alone_rows,
                            v->alone_threads, v->alone_threads == 1 ? "" : "s");
    if (v->alone_output >= 0)
        return mlp_complain(v->command, MLP_EXIT_WRONG,
                            "output %s, row %zu, has other bits in a batch of %zu than in one of %zu",
                            v->model->outputs[v->alone_output].name, v->alone_row, v->alone_rows, v->rows);
    return MLP_EXIT_DONE;
}

/* Verifies all rows of `inputs`, at most `batch` at a time. */
static int verify_rows(const mlp_command *command, mlp_arrays inputs, size_t batch)
{
    const mlp_model *model = command->model;
    mlp_verification v = {.command = command, .model = model, .inputs = inputs, .whole_output = -1,
                          .whole = {.excess = -1}, .alone_output = -1};
    mlp_status status = MLP_OK;
    v.from = mlp_take(command, inputs.count, sizeof *v.from);
    v.values = mlp_take(command, model->value_count, sizeof *v.values);
    v.spreads = mlp_take(command, model->value_count, sizeof *v.spreads);
    v.params = mlp_take(command, model->param_count, sizeof *v.params);
    v.steps = mlp_take(command, model->step_count, sizeof *v.steps);
    for (size_t i = 0; i < model->step_count; i++)
        v.steps[i] = (mlp_finding){.excess = -1, .changed = -1};
    for (; status == MLP_OK && v.start < inputs.rows; v.start += v.rows) {
        v.rows = batch < inputs.rows - v.start ? batch : inputs.rows - v.start;
        status = mlp_verify_batch(&v);
    }
    v.rows = batch;
    int code = MLP_EXIT_DONE;
    if (status == MLP_OK) {
        print_report(&v);
        code = judge(&v);
    }
    free(v.from);
    free(v.values);
    free(v.spreads);
    free(v.params);
    free(v.steps);
    return status == MLP_OK ? code : mlp_complain_model(command, status);
}

static int verify_random(const mlp_command *command)
{
    int code = MLP_EXIT_DONE;
    for (size_t i = 0; code == MLP_EXIT_DONE && i < command->model->batch_count; i++) {
        size_t batch = command->model->batches[i];
        mlp_arrays inputs = mlp_arrays_random(command, batch);
        if (i)
            printf("\n");
        code = verify_rows(command, inputs, batch);
        mlp_arrays_free(&inputs);
    }
    return code;
}

int mlp_verify(const mlp_command *command)
{
    const mlp_model *model = command->model;
    mlp_arrays inputs;
    if (!model->input_count || !command->inputs[0])
        return verify_random(command);
    int code = mlp_arrays_load(command, &inputs);
    if (code != MLP_EXIT_DONE)
        return code;
    code = verify_rows(command, inputs, model->batches[model->batch_count - 1]);
    mlp_arrays_free(&inputs);
    return code;
}
