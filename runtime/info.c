/* --info: what the network is made of, and on which device it finds itself. What does not depend on the machine comes
 * first, and is always the same. */
#include "command.h"
#include "element.h"

#include <stdio.h>

/* ---- What is known when building ---- */

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

static void print_memory(const mlp_model *model)
{
    printf("%-9s%zu bytes between steps, ", "memory", model->arena_bytes);
    if (model->weights_bytes)
        printf("%zu bytes of weights (%s)\n", model->weights_bytes,
               model->weights_embedded ? "embedded" : "from a file: --weights");
    else
        printf("no weights\n");
}

static void print_steps(const mlp_model *model)
{
    printf("\nstep  line   width  computes\n");
    for (size_t i = 0; i < model->step_count; i++) {
        const mlp_step *step = &model->steps[i];
        printf("%4zu  %4d  %6zu  %s\n", i + 1, step->line, model->values[step->out].width, step->text);
    }
}

/* ---- On a device ---- */

static void print_device_memory(const mlp_device_info *device)
{
    printf("%-9s%zu bytes on the device (%s)", "", device->arena_bytes,
           device->arena_static ? "a static array" : "allocated at start");
    if (device->workspace_bytes)
        printf(", %zu of them workspace of the products", device->workspace_bytes);
    printf("; %zu pinned on the host\n", device->staging_bytes);
    if (device->products)
        printf("%-9s%zu: cuBLASLt heuristic, asked once at start\n", "plans", device->products);
}

static void print_device(const mlp_device_info *device)
{
    printf("%-9s%s (device %d), %d multiprocessors; CUDA %d.%d, driver for %d.%d", "device", device->name,
           device->device, device->multiprocessors, device->runtime / 1000, device->runtime / 10 % 100,
           device->driver / 1000, device->driver / 10 % 100);
    if (device->library)
        printf("; cuBLASLt %zu.%zu.%zu", device->library / 10000, device->library / 100 % 100, device->library % 100);
    printf("\n");
}

/* A machine without a device is no error here. */
static void print_on_device(const mlp_command *command)
{
    const mlp_model *model = command->model;
    mlp_device_info device;
    model->describe(&device);
    print_device_memory(&device);
    mlp_status status = model->init(&command->options);
    if (status == MLP_OK)
        status = model->describe(&device);
    if (status == MLP_OK)
        print_device(&device);
    else
        printf("%-9s%s\n", "device", model->error());
    model->close();
}

/* ---- All of it ---- */

int mlp_info(const mlp_command *command)
{
    const mlp_model *model = command->model;
    printf("%-9s%s, from %s\n", "network", model->name, model->spec);
    printf("%-9s%s, %s\n", "target", model->target == MLP_CPU ? "cpu" : "cuda", mlp_dtype_text(model->dtype));
    print_batches(model);
    print_ports("inputs", model->inputs, model->input_count);
    print_ports("outputs", model->outputs, model->output_count);
    print_memory(model);
    if (model->describe)
        print_on_device(command);
    print_steps(model);
    return MLP_EXIT_DONE;
}
