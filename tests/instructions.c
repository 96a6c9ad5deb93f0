/* Runs a network's library so that callgrind can count the instructions of one run: of what `counted` calls.
 *
 *     instructions ROWS
 *
 * The run before it is not counted: what happens once, happens there. Compile with -DHEADER='"digits.h"'
 * -DMODEL=digits_model. */
#include HEADER

#include <stdio.h>
#include <stdlib.h>

static const mlp_model *const model = &MODEL;

__attribute__((noinline)) static mlp_status counted(size_t rows, const void *const *inputs, void *const *outputs)
{
    mlp_status status = model->run(rows, inputs, outputs);
    __asm__ volatile("");           /* no tail call: callgrind has to see the end */
    return status;
}

/* Zeros, of the widest type. */
static void *rows_of(const mlp_port *port, size_t rows)
{
    void *memory = calloc(rows * port->width, sizeof(float));
    if (!memory)
        exit(3);
    return memory;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const void *input = rows_of(&model->inputs[0], rows);
    void *output = rows_of(&model->outputs[0], rows);
    if (model->input_count != 1 || model->output_count != 1 || model->init(NULL) != MLP_OK ||
        model->run(rows, &input, &output) != MLP_OK || counted(rows, &input, &output) != MLP_OK) {
        fprintf(stderr, "%s\n", model->error());
        return 1;
    }
    return 0;
}
