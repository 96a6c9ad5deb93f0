/* One batch of rows, step by step, against the float64 reference; where it is more than a chunk, each chunk of it in
 * which there are rows to check.
 *
 * Before a step, its operands are read as they are stored (a later step may reuse their memory); after it, its result,
 * which must be as close to the reference computed from those operands as f32 arithmetic can be. Each step is thus
 * judged by itself. Operands must also still be what was stored, and a run of the whole batch must give the same bits
 * as its steps. Beside all this goes a chain of references that starts at the inputs and never looks at the network. */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

/* Multiplications that the references of one batch may take: some seconds. At least two rows are checked. */
static const double budget = 4e8;

/* ---- Reading the network's memory ---- */

static mlp_status read_value(const mlp_verification *v, size_t index, size_t row, double *to)
{
    const mlp_value *value = &v->model->values[index];
    size_t size = mlp_dtype_size(value->dtype), offset = value->offset + row * value->ld * size;
    unsigned char *copy = NULL;
    const unsigned char *from;
    mlp_status status = MLP_OK;
    if (value->place == MLP_INPUT) {
        from = (const unsigned char *)v->from[value->port] + offset;
    } else if (value->place == MLP_OUTPUT) {
        from = (const unsigned char *)v->to[value->port] + offset;
    } else {
        from = copy = mlp_take(v->command, value->width, size);
        status = v->model->read_arena(offset, value->width * size, copy);
    }
    if (status == MLP_OK)
        mlp_row_load(value->dtype, from, value->width, to);
    free(copy);
    return status;
}

/* The chosen rows of a value. */
static mlp_status read_rows(const mlp_verification *v, size_t index, double *to)
{
    mlp_status status = MLP_OK;
    for (size_t i = 0; status == MLP_OK && i < v->chosen_count; i++)
        status = read_value(v, index, v->chosen[i], to + i * v->model->values[index].width);
    return status;
}

/* Calls visit(v, index) once for each value (or parameter) that the step reads. */
static mlp_status each_operand(mlp_verification *v, const mlp_step *step, mlp_operand_kind kind,
                               mlp_status (*visit)(mlp_verification *v, size_t index))
{
    mlp_status status = MLP_OK;
    for (size_t i = 0; i < step->op_count; i++)
        for (int j = 0; j < 3; j++)
            if (status == MLP_OK && step->ops[i].in[j].kind == kind)
                status = visit(v, (size_t)step->ops[i].in[j].index);
    return status;
}

static mlp_status open_value(mlp_verification *v, size_t index)
{
    if (v->values[index])
        return MLP_OK;
    v->values[index] = mlp_take(v->command, v->chosen_count * v->model->values[index].width, sizeof(double));
    return read_rows(v, index, v->values[index]);
}

static mlp_status open_param(mlp_verification *v, size_t index)
{
    const mlp_param *param = &v->model->params[index];
    size_t rows = param->panel ? (param->rows + param->panel - 1) / param->panel * param->panel : param->rows;
    size_t bytes = rows * param->ld * mlp_dtype_size(param->dtype);
    if (v->params[index])
        return MLP_OK;
    v->params[index] = mlp_take(v->command, bytes, 1);
    return v->model->read_weights(param->offset, bytes, v->params[index]);
}

static mlp_status close_value(mlp_verification *v, size_t index)
{
    free(v->values[index]);
    free(v->spreads[index]);
    v->values[index] = v->spreads[index] = NULL;
    return MLP_OK;
}

static mlp_status close_param(mlp_verification *v, size_t index)
{
    free(v->params[index]);
    v->params[index] = NULL;
    return MLP_OK;
}

/* ---- One step ---- */

static int same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Between two infinities of one sign or two NaN there is none; to nothing else are they at a finite one. */
static double difference(double a, double b)
{
    if (same(a, b))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

/* Whether what the step is about to read is still what was stored there. */
static mlp_status check_unchanged(mlp_verification *v, size_t index)
{
    size_t width = v->model->values[index].width;
    double *row = mlp_take(v->command, width, sizeof *row);
    for (size_t i = 0; i < v->chosen_count; i++) {
        mlp_image_read(&v->stored, i, index, row);
        for (size_t c = 0; c < width; c++) {
            double got = v->values[index][i * width + c];
            if (!same(got, row[c]) && v->finding->changed < 0)
                *v->finding = (mlp_finding){.excess = INFINITY, .got = got, .error = difference(got, row[c]),
                                            .want = {row[c], 0}, .row = v->start + v->first + v->chosen[i], .column = c,
                                            .changed = (int)index};
        }
    }
    free(row);
    return MLP_OK;
}

static void compare(const mlp_verification *v, const mlp_value *out, const mlp_bounded *want, const double *got)
{
    mlp_finding *finding = v->finding;
    for (size_t i = 0; i < v->chosen_count * out->width; i++) {
        mlp_bounded stored = mlp_reference_stored(out->round, want[i]);
        double excess = mlp_reference_excess(got[i], stored);
        if (isinf(stored.bound))
            finding->undecided++;
        else
            finding->error = fmax(finding->error, difference(got[i], stored.value));
        if (excess > finding->excess) {
            finding->excess = excess;
            finding->got = got[i];
            finding->want = stored;
            finding->row = v->start + v->first + v->chosen[i / out->width];
            finding->column = i % out->width;
        }
    }
}

static mlp_bounded *reference(const mlp_verification *v, const mlp_step *step, double *const *bounds)
{
    mlp_reading reading = {v->model, step, v->chosen_count, v->values, v->params, bounds};
    mlp_bounded *result = mlp_reference_step(&reading);
    if (!result)
        exit(mlp_complain(v->command, MLP_EXIT_FAILED, "out of memory"));
    return result;
}

/* The chain goes on with its own operands: float64 from the inputs to here, and what roundings may have added. */
static mlp_status exact_value(mlp_verification *v, size_t index)
{
    size_t width = v->model->values[index].width;
    if (!v->values[index])
        v->values[index] = mlp_take(v->command, v->chosen_count * width, sizeof(double));
    if (!v->spreads[index])
        v->spreads[index] = mlp_take(v->command, v->chosen_count * width, sizeof(double));
    for (size_t i = 0; i < v->chosen_count; i++) {
        mlp_image_read(&v->exact, i, index, v->values[index] + i * width);
        mlp_image_read(&v->bounds, i, index, v->spreads[index] + i * width);
    }
    return MLP_OK;
}

/* The value is not rounded, but the bound allows for it: three times what one rounding may do, since of many one finds
 * a neighbour that is farther away. */
static double chain_bound(const mlp_value *out, mlp_bounded exact)
{
    return exact.bound + 3 * (mlp_reference_stored(out->round, exact).bound - exact.bound);
}

static void continue_chain(mlp_verification *v, const mlp_step *step)
{
    const mlp_value *out = &v->model->values[step->out];
    each_operand(v, step, MLP_VALUE, exact_value);
    mlp_bounded *result = reference(v, step, v->spreads);
    double *row = mlp_take(v->command, 2 * out->width, sizeof *row), *bounds = row + out->width;
    for (size_t i = 0; i < v->chosen_count; i++) {
        for (size_t c = 0; c < out->width; c++) {
            row[c] = result[i * out->width + c].value;
            bounds[c] = chain_bound(out, result[i * out->width + c]);
        }
        mlp_image_write(&v->exact, i, (size_t)step->out, row);
        mlp_image_write(&v->bounds, i, (size_t)step->out, bounds);
    }
    free(row);
    free(result);
}

static mlp_status run_and_compare(mlp_verification *v, size_t index)
{
    const mlp_step *step = &v->model->steps[index];
    const mlp_value *out = &v->model->values[step->out];
    mlp_bounded *want = reference(v, step, NULL);
    double *got = mlp_take(v->command, v->chosen_count * out->width, sizeof *got);
    mlp_status status = v->model->run_step(index);
    if (status == MLP_OK)
        status = read_rows(v, (size_t)step->out, got);
    if (status == MLP_OK)
        compare(v, out, want, got);
    for (size_t i = 0; i < v->chosen_count; i++)
        mlp_image_write(&v->stored, i, (size_t)step->out, got + i * out->width);
    free(want);
    free(got);
    return status;
}

static mlp_status judge_step(mlp_verification *v, size_t index)
{
    const mlp_step *step = &v->model->steps[index];
    mlp_status status = each_operand(v, step, MLP_VALUE, open_value);
    if (status == MLP_OK)
        status = each_operand(v, step, MLP_VALUE, check_unchanged);
    return status == MLP_OK ? run_and_compare(v, index) : status;
}

static mlp_status verify_step(mlp_verification *v, size_t index)
{
    const mlp_step *step = &v->model->steps[index];
    v->finding = &v->steps[index];
    mlp_status status = each_operand(v, step, MLP_PARAM, open_param);
    if (status == MLP_OK && !v->model->whole_only)
        status = judge_step(v, index);
    if (status == MLP_OK)
        continue_chain(v, step);
    each_operand(v, step, MLP_VALUE, close_value);
    each_operand(v, step, MLP_PARAM, close_param);
    return status;
}

/* ---- The whole network ---- */

static void compare_chain(mlp_verification *v, double got, double exact)
{
    if (isfinite(exact))
        v->chain_size = fmax(v->chain_size, fabs(exact));
    if (isfinite(got) && isfinite(exact))
        v->chain_error = fmax(v->chain_error, fabs(got - exact));
    else if (!same(got, exact))
        v->chain_broken = 1;
}

/* One row of an output: as a run left it, as the steps left it, as float64 has it. */
static void compare_row(mlp_verification *v, size_t output, size_t row, const double *run, const double *steps,
                        const double *exact)
{
    for (size_t c = 0; c < v->model->outputs[output].width; c++) {
        compare_chain(v, run[c], exact[c]);
        if (v->whole_output < 0 && !same(run[c], steps[c])) {
            v->whole_output = (int)output;
            v->whole = (mlp_finding){.got = run[c], .want = {steps[c], 0}, .row = v->start + row, .column = c};
        }
    }
}

/* The same where a run is one kernel: it rounds as the steps do, but sums in another order, so that now and then a
 * rounding falls the other way. */
static void bound_row(mlp_verification *v, size_t output, size_t row, const double *run, const double *bounds,
                      const double *exact)
{
    const mlp_value *value = &v->model->values[v->model->outputs[output].value];
    for (size_t c = 0; c < v->model->outputs[output].width; c++) {
        mlp_bounded want = mlp_reference_stored(value->round, (mlp_bounded){exact[c], bounds[c]});
        double excess = mlp_reference_excess(run[c], want);
        compare_chain(v, run[c], exact[c]);
        if (excess > v->whole.excess) {
            v->whole_output = (int)output;
            v->whole = (mlp_finding){.excess = excess, .got = run[c], .want = want, .row = v->start + row, .column = c};
        }
    }
}

/* `whole`: what a run of the whole batch gave for the output. */
static void compare_output(mlp_verification *v, size_t output, const unsigned char *whole)
{
    const mlp_port *port = &v->model->outputs[output];
    double *run = mlp_take(v->command, 4 * port->width, sizeof *run);
    double *steps = run + port->width, *exact = steps + port->width, *bounds = exact + port->width;
    for (size_t i = 0; i < v->chosen_count; i++) {
        size_t row = v->first + v->chosen[i];
        mlp_row_load(port->dtype, whole + row * port->width * mlp_dtype_size(port->dtype), port->width, run);
        mlp_image_read(&v->exact, i, (size_t)port->value, exact);
        mlp_image_read(&v->stored, i, (size_t)port->value, steps);
        mlp_image_read(&v->bounds, i, (size_t)port->value, bounds);
        if (v->form == MLP_FORM_STEPS)
            compare_row(v, output, row, run, steps, exact);
        else
            bound_row(v, output, row, run, bounds, exact);
    }
    free(run);
}

/* Steps the network through a chunk of rows that are all NaN: a step that a run leaves out cannot find its old results
 * in memory afterwards. */
static mlp_status poison(mlp_verification *v, void *const *outputs)
{
    const size_t rows = v->rows < v->model->chunk ? v->rows : v->model->chunk;
    mlp_arrays inputs = mlp_arrays_random(v->command, rows);
    for (size_t i = 0; i < inputs.count; i++)
        memset(inputs.at[i], 0xff, rows * inputs.ports[i].width * mlp_dtype_size(inputs.ports[i].dtype));
    mlp_status status = v->model->begin(rows, (const void *const *)inputs.at, outputs);
    if (v->model->whole_only && status == MLP_OK)
        status = v->model->run(rows, (const void *const *)inputs.at, outputs);
    for (size_t i = 0; status == MLP_OK && i < v->model->step_count && !v->model->whole_only; i++)
        status = v->model->run_step(i);
    mlp_arrays_free(&inputs);
    return status;
}

static mlp_status run_whole(mlp_verification *v, const mlp_arrays *whole)
{
    mlp_status status = poison(v, whole->at);
    mlp_arrays_from(&v->inputs, v->start, v->from);
    return status == MLP_OK ? v->model->run(v->rows, (const void *const *)v->from, whole->at) : status;
}

/* ---- One batch ---- */

static double row_cost(const mlp_model *model)
{
    double cost = 0;
    for (size_t i = 0; i < model->param_count; i++)
        cost += 2 * (double)model->params[i].rows * (double)model->params[i].cols;
    for (size_t i = 0; i < model->step_count; i++)
        for (size_t j = 0; j < model->steps[i].op_count; j++)
            cost += 40 * (double)model->steps[i].ops[j].width;
    return cost + 1;
}

/* As many rows as the budget allows, the first and the last among them, evenly spread; how many goes to *count. */
static size_t *choose_rows(const mlp_verification *v, size_t *count)
{
    double affordable = budget / row_cost(v->model);
    size_t rows = v->rows;
    *count = affordable >= (double)rows ? rows : (size_t)affordable;
    if (*count < 2)
        *count = rows < 2 ? rows : 2;
    size_t *chosen = mlp_take(v->command, *count, sizeof *chosen);
    for (size_t i = 0; i < *count; i++)
        chosen[i] = *count == 1 ? 0 : (size_t)((double)i * (double)(rows - 1) / (double)(*count - 1));
    return chosen;
}

/* The chunk that begins at v->first, and which of the rows chosen of the batch, from *next on, are in it. */
static void enter_chunk(mlp_verification *v, const size_t *chosen, size_t count, size_t *next)
{
    v->count = v->rows - v->first < v->model->chunk ? v->rows - v->first : v->model->chunk;
    v->chosen_count = 0;
    for (; *next < count && chosen[*next] < v->first + v->count; ++*next)
        v->chosen[v->chosen_count++] = chosen[*next] - v->first;
}

static mlp_status begin(mlp_verification *v)
{
    for (size_t i = 0; i < v->inputs.count; i++) {
        const mlp_port *port = &v->model->inputs[i];
        double *row = mlp_take(v->command, port->width, sizeof *row);
        for (size_t j = 0; j < v->chosen_count; j++) {
            size_t offset = v->chosen[j] * port->width * mlp_dtype_size(port->dtype);
            mlp_row_load(port->dtype, (unsigned char *)v->from[i] + offset, port->width, row);
            mlp_image_write(&v->stored, j, (size_t)port->value, row);
            mlp_image_write(&v->exact, j, (size_t)port->value, row);
        }
        memset(row, 0, port->width * sizeof *row);
        for (size_t j = 0; j < v->chosen_count; j++)
            mlp_image_write(&v->bounds, j, (size_t)port->value, row);
        free(row);
    }
    return v->model->begin(v->count, (const void *const *)v->from, v->to);
}

static mlp_form form_of(const mlp_model *model, size_t rows)
{
    size_t batch = 0;
    while (batch + 1 < model->batch_count && model->batches[batch] < rows)
        batch++;
    return model->forms ? model->forms[batch] : MLP_FORM_STEPS;
}

/* Steps the chunk, and compares with what a run of the whole batch gave. */
static mlp_status verify_chunk(mlp_verification *v, const mlp_arrays *whole)
{
    mlp_arrays outputs = mlp_arrays_outputs(v->command, v->count);
    v->to = outputs.at;
    mlp_arrays_from(&v->inputs, v->start + v->first, v->from);
    if (!mlp_image_open(&v->stored, v->model, v->chosen_count) ||
        !mlp_image_open(&v->exact, v->model, v->chosen_count) ||
        !mlp_image_open(&v->bounds, v->model, v->chosen_count))
        exit(mlp_complain(v->command, MLP_EXIT_FAILED, "out of memory"));
    mlp_status status = begin(v);
    for (size_t i = 0; status == MLP_OK && i < v->model->step_count; i++)
        status = verify_step(v, i);
    for (size_t i = 0; status == MLP_OK && i < whole->count; i++)
        compare_output(v, i, whole->at[i]);
    v->checked += v->chosen_count;
    mlp_image_close(&v->stored);
    mlp_image_close(&v->exact);
    mlp_image_close(&v->bounds);
    mlp_arrays_free(&outputs);
    return status;
}

mlp_status mlp_verify_batch(mlp_verification *v)
{
    size_t count, next = 0, *chosen = choose_rows(v, &count);
    mlp_arrays whole = mlp_arrays_outputs(v->command, v->rows);
    v->form = form_of(v->model, v->rows);
    v->chosen = mlp_take(v->command, count, sizeof *v->chosen);
    mlp_status status = run_whole(v, &whole);
    for (v->first = 0; status == MLP_OK && v->first < v->rows; v->first += v->count) {
        enter_chunk(v, chosen, count, &next);
        if (v->chosen_count)
            status = verify_chunk(v, &whole);
    }
    if (status == MLP_OK)
        status = mlp_verify_alone(v, chosen, count, &whole);
    free(chosen);
    free(v->chosen);
    mlp_arrays_free(&whole);
    return status;
}
