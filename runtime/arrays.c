/* Arrays for the ports of a network: read from files, drawn at random, or empty for what comes out. */
#include "arrays.h"

#include <stdlib.h>

#include "element.h"
#include "npy.h"
#include "random.h"

static mlp_arrays arrays_new(const mlp_command *command, const mlp_port *ports, size_t count, size_t rows)
{
    return (mlp_arrays){ports, count, rows, mlp_take(command, count, sizeof(void *))};
}

static void *take_rows(const mlp_command *command, const mlp_port *port, size_t rows)
{
    size_t elements;
    if (__builtin_mul_overflow(rows, port->width, &elements))
        elements = SIZE_MAX;
    return mlp_take(command, elements, mlp_dtype_size(port->dtype));
}

mlp_arrays mlp_arrays_random(const mlp_command *command, size_t rows)
{
    const mlp_model *model = command->model;
    mlp_arrays inputs = arrays_new(command, model->inputs, model->input_count, rows);
    for (size_t i = 0; i < inputs.count; i++) {
        inputs.at[i] = take_rows(command, &inputs.ports[i], rows);
        mlp_random_rows(inputs.ports[i].dtype, rows, inputs.ports[i].width, i, inputs.at[i]);
    }
    return inputs;
}

mlp_arrays mlp_arrays_outputs(const mlp_command *command, size_t rows)
{
    const mlp_model *model = command->model;
    mlp_arrays outputs = arrays_new(command, model->outputs, model->output_count, rows);
    for (size_t i = 0; i < outputs.count; i++)
        outputs.at[i] = take_rows(command, &outputs.ports[i], rows);
    return outputs;
}

static int complain_file(const mlp_command *command, size_t input, const mlp_npy *npy, mlp_npy_result result)
{
    return mlp_complain(command, result == MLP_NPY_WRONG ? MLP_EXIT_WRONG : MLP_EXIT_FAILED, "input %s: %s: %s",
                        command->model->inputs[input].name, command->inputs[input], npy->error);
}

/* The first file decides how many rows there are. */
static int check_shape(const mlp_command *command, const mlp_arrays *inputs, size_t input, const mlp_npy *npy)
{
    const mlp_port *port = &inputs->ports[input];
    const char *path = command->inputs[input];
    if (npy->width != port->width)
        return mlp_complain(command, MLP_EXIT_WRONG, "input %s: %s: expected rows of %zu numbers, found [%zu, %zu]",
                            port->name, path, port->width, npy->rows, npy->width);
    if (input > 0 && npy->rows != inputs->rows)
        return mlp_complain(command, MLP_EXIT_WRONG, "input %s: %s: expected %zu rows, as %s has, found %zu",
                            port->name, path, inputs->rows, command->inputs[0], npy->rows);
    return MLP_EXIT_DONE;
}

static int load_one(const mlp_command *command, mlp_arrays *inputs, size_t input)
{
    mlp_npy npy;
    mlp_npy_result result = mlp_npy_open(&npy, command->inputs[input]);
    if (result != MLP_NPY_OK)
        return complain_file(command, input, &npy, result);
    int code = check_shape(command, inputs, input, &npy);
    if (code == MLP_EXIT_DONE) {
        inputs->rows = npy.rows;
        inputs->at[input] = take_rows(command, &inputs->ports[input], npy.rows);
        result = mlp_npy_load(&npy, inputs->ports[input].dtype, inputs->at[input]);
        if (result != MLP_NPY_OK)
            code = complain_file(command, input, &npy, result);
    }
    mlp_npy_close(&npy);
    return code;
}

/* A network without inputs gives one row. */
int mlp_arrays_load(const mlp_command *command, mlp_arrays *inputs)
{
    const mlp_model *model = command->model;
    *inputs = arrays_new(command, model->inputs, model->input_count, 1);
    for (size_t i = 0; i < inputs->count; i++) {
        int code = load_one(command, inputs, i);
        if (code != MLP_EXIT_DONE) {
            mlp_arrays_free(inputs);
            return code;
        }
    }
    return MLP_EXIT_DONE;
}

void mlp_arrays_free(mlp_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++)
        free(arrays->at[i]);
    free(arrays->at);
    *arrays = (mlp_arrays){.at = NULL};
}

void mlp_arrays_from(const mlp_arrays *arrays, size_t row, void **pointers)
{
    for (size_t i = 0; i < arrays->count; i++) {
        size_t row_bytes = arrays->ports[i].width * mlp_dtype_size(arrays->ports[i].dtype);
        pointers[i] = (unsigned char *)arrays->at[i] + row * row_bytes;
    }
}
