/* Rows from files through the network into files. Nothing is written before all rows have run; then every output is
 * complete on the disk before the first one takes its place. */
#include "arrays.h"
#include "npy.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Many batches at a time, so that a progress line costs nothing: a multiple of the largest batch, so that rows are
 * grouped as they would be in one call. */
static size_t rows_at_a_time(const mlp_model *model, size_t rows)
{
    size_t largest = model->batches[model->batch_count - 1];
    if (!isatty(STDERR_FILENO))
        return rows;
    return largest * (1 + 4096 / largest);
}

static void show_progress(const mlp_command *command, double started, size_t done, size_t rows)
{
    if (!isatty(STDERR_FILENO) || mlp_seconds() - started < 1.0)
        return;
    if (done < rows)
        fprintf(stderr, "\r%s: %zu of %zu rows", command->program, done, rows);
    else
        fprintf(stderr, "\r\033[K");
}

static int run_rows(const mlp_command *command, const mlp_arrays *inputs, const mlp_arrays *outputs)
{
    size_t rows = inputs->rows, part = rows_at_a_time(command->model, rows);
    void **from = mlp_take(command, inputs->count, sizeof *from), **to = mlp_take(command, outputs->count, sizeof *to);
    double started = mlp_seconds();
    mlp_status status = MLP_OK;
    for (size_t done = 0; status == MLP_OK && done < rows; done += part) {
        part = part < rows - done ? part : rows - done;
        mlp_arrays_from(inputs, done, from);
        mlp_arrays_from(outputs, done, to);
        show_progress(command, started, done, rows);
        status = command->model->run(part, (const void *const *)from, to);
    }
    show_progress(command, started, rows, rows);
    free(from);
    free(to);
    return status == MLP_OK ? MLP_EXIT_DONE : mlp_complain_model(command, status);
}

static int complain_output(const mlp_command *command, size_t index, const mlp_staged_file *output)
{
    return mlp_complain(command, MLP_EXIT_FAILED, "output %s: %s: %s", command->model->outputs[index].name,
                        command->outputs[index], output->error);
}

static int write_outputs(const mlp_command *command, const mlp_arrays *outputs)
{
    mlp_staged_file *files = mlp_take(command, outputs->count, sizeof *files);
    int code = MLP_EXIT_DONE;
    for (size_t i = 0; code == MLP_EXIT_DONE && i < outputs->count; i++) {
        const mlp_port *port = &outputs->ports[i];
        if (mlp_npy_stage(&files[i], command->outputs[i], port->dtype, outputs->rows, port->width, outputs->at[i]))
            code = complain_output(command, i, &files[i]);
    }
    for (size_t i = 0; code == MLP_EXIT_DONE && i < outputs->count; i++)
        if (!mlp_staged_commit(&files[i]))
            code = complain_output(command, i, &files[i]);
    for (size_t i = 0; code != MLP_EXIT_DONE && i < outputs->count; i++)
        mlp_staged_undo(&files[i]);
    for (size_t i = 0; i < outputs->count; i++)
        mlp_staged_discard(&files[i]);
    free(files);
    return code;
}

int mlp_run_files(const mlp_command *command)
{
    mlp_arrays inputs;
    int code = mlp_arrays_load(command, &inputs);
    if (code != MLP_EXIT_DONE)
        return code;
    mlp_arrays outputs = mlp_arrays_outputs(command, inputs.rows);
    code = run_rows(command, &inputs, &outputs);
    if (code == MLP_EXIT_DONE)
        code = write_outputs(command, &outputs);
    mlp_arrays_free(&inputs);
    mlp_arrays_free(&outputs);
    return code;
}
