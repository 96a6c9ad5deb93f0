/* --info: what the network is made of. The same program always prints the same. */
#include "command.h"
#include "element.h"

#include <stdio.h>

static void print_ports(const char *title, const mlp_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%-9s%s: %s[%zu]\n", i ? "" : title, ports[i].name, mlp_dtype_text(ports[i].dtype), ports[i].width);
}

static void print_batches(const mlp_model *model)
{
    printf("%-9s", "batches");
    for (size_t i = 0; i < model->batch_count; i++)
        printf("%s%zu", i ? ", " : "", model->batches[i]);
    printf("\n");
}

static void print_steps(const mlp_model *model)
{
    printf("\nstep  line   width  computes\n");
    for (size_t i = 0; i < model->step_count; i++) {
        const mlp_step *step = &model->steps[i];
        printf("%4zu  %4d  %6zu  %s\n", i + 1, step->line, model->values[step->out].width, step->text);
    }
}

int mlp_info(const mlp_command *command)
{
    const mlp_model *model = command->model;
    printf("%-9s%s, from %s\n", "network", model->name, model->spec);
    printf("%-9s%s, %s\n", "target", model->target == MLP_CPU ? "cpu" : "cuda", mlp_dtype_text(model->dtype));
    print_batches(model);
    print_ports("inputs", model->inputs, model->input_count);
    print_ports("outputs", model->outputs, model->output_count);
    printf("%-9s%zu bytes between steps, %zu bytes of weights (%s)\n", "memory", model->arena_bytes,
           model->weights_bytes, model->weights_embedded ? "embedded" : "from a file: --weights");
    print_steps(model);
    return MLP_EXIT_DONE;
}
