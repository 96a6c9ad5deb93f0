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

/* " (few)": where a generated kernel computes the whole network. */
static const char *form_text(const mlp_model *model, size_t batch)
{
    static const char *const texts[MLP_FORMS] = {"", " (one kernel: rows)", " (one kernel: few)"};
    return model->forms ? texts[model->forms[batch]] : "";
}

static void print_batches(const mlp_model *model)
{
    printf("%-9s", "batches");
    for (size_t i = 0; i < model->batch_count; i++)
        printf("%s%zu%s", i ? ", " : "", model->batches[i], form_text(model, i));
    printf("\n");
}

static void print_memory(const mlp_model *model)
{
    printf("%-9s%zu bytes between steps (%zu row%s at a time), ", "memory", model->arena_bytes, model->chunk,
           model->chunk == 1 ? "" : "s");
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

/* ---- Plans of products ---- */

static void print_algorithm(const mlp_plan_info *plan)
{
    const mlp_algorithm *a = &plan->algorithm;
    printf("id %d, tile %u, stages %u, split %u, swizzle %u, custom %u, cluster %u", a->id, a->tile, a->stages,
           a->split_k, a->swizzle, a->custom, a->cluster);
    if (plan->apart)
        printf(", epilogue apart");
}

static void print_gain(const mlp_plan_info *plan)
{
    const mlp_plan_times *times = &plan->times;
    if (plan->state == MLP_PLAN_LOCKED && times->warm == times->first_warm && times->cold == times->first_cold)
        printf("; when tuned %.2f us, cold %.2f: the first choice", times->warm, times->cold);
    else if (plan->state == MLP_PLAN_LOCKED)
        printf("; when tuned %.2f us, cold %.2f, for %.2f and %.2f of the first choice (%.1f and %.1f %% less)",
               times->warm, times->cold, times->first_warm, times->first_cold,
               100 * (1 - times->warm / times->first_warm), 100 * (1 - times->cold / times->first_cold));
    else if (plan->device)
        printf("; the plan is %s (%s, %d multiprocessors, cuBLASLt %zu.%zu.%zu)", mlp_plan_state_text(plan->state),
               plan->device, plan->multiprocessors, plan->library / 10000, plan->library / 100 % 100,
               plan->library % 100);
    printf("\n");
}

static mlp_status print_plan(const mlp_model *model, size_t batch, size_t step)
{
    mlp_plan_info plan;
    mlp_status status = model->describe_plan(batch, step, &plan);
    if (status != MLP_OK)
        return status == MLP_BAD_ARGUMENT ? MLP_OK : status;    /* no product */
    printf("%10zu  %4zu  %-9s  ", model->batches[batch], step + 1,
           plan.state == MLP_PLAN_LOCKED ? "locked" : "heuristic");
    print_algorithm(&plan);
    print_gain(&plan);
    return MLP_OK;
}

static mlp_status print_plans(const mlp_model *model, const mlp_device_info *device)
{
    size_t locked = device->plans[MLP_PLAN_LOCKED];
    mlp_status status = MLP_OK;
    if (!device->products)
        return MLP_OK;
    printf("%-9s%zu locked; %zu by cuBLASLt's heuristic, asked once at start", "plans", locked,
           device->products - locked);
    for (int state = MLP_PLAN_LOCKED + 1; state < MLP_PLAN_STATES; state++) {
        if (device->plans[state])
            printf("; %zu %s", device->plans[state], mlp_plan_state_text((mlp_plan_state)state));
    }
    printf("\n\n%10s  step  plan\n", "rows");
    for (size_t i = 0; i < model->batch_count; i++) {
        for (size_t j = 0; status == MLP_OK && j < model->step_count && model->forms[i] == MLP_FORM_STEPS; j++)
            status = print_plan(model, i, j);
    }
    return status;
}

/* The exit status for what became of init. A machine that has no such device or processor is no error here. */
static int code_of(const mlp_command *command, mlp_status status)
{
    switch (status) {
    case MLP_OK:
    case MLP_NO_DEVICE:
    case MLP_WRONG_DEVICE:
    case MLP_WRONG_CPU:
    case MLP_WRONG_LIBRARY:
        return MLP_EXIT_DONE;
    default:
        return mlp_complain_model(command, status);
    }
}

static int print_on_device(const mlp_command *command)
{
    const mlp_model *model = command->model;
    mlp_device_info device;
    model->describe(&device);
    print_device_memory(&device);
    mlp_status status = model->init(&command->options);
    if (status == MLP_OK)
        status = model->describe(&device);
    int code = MLP_EXIT_DONE;
    if (status == MLP_OK) {
        print_device(&device);
        status = print_plans(model, &device);
        code = status == MLP_OK ? MLP_EXIT_DONE : mlp_complain_model(command, status);
    } else {
        printf("%-9s%s\n", "device", model->error());
        code = code_of(command, status);
    }
    model->close();
    return code;
}

/* ---- On a processor ---- */

static int print_processor(const mlp_command *command)
{
    const mlp_model *model = command->model;
    mlp_status status = model->init(&command->options);
    const char *instructions = model->instructions();
    printf("%-9s%s\n", "cpu", status == MLP_OK || instructions ? instructions : model->error());
    int code = code_of(command, status);
    model->close();
    return code;
}

/* ---- All of it ---- */

int mlp_info(const mlp_command *command)
{
    const mlp_model *model = command->model;
    int code = MLP_EXIT_DONE;
    printf("%-9s%s, from %s\n", "network", model->name, model->spec);
    printf("%-9s%s, %s\n", "target", model->target == MLP_CPU ? "cpu" : "cuda", mlp_dtype_text(model->dtype));
    print_batches(model);
    print_ports("inputs", model->inputs, model->input_count);
    print_ports("outputs", model->outputs, model->output_count);
    print_memory(model);
    if (model->describe)
        code = print_on_device(command);
    if (model->threads > 1)
        printf("%-9s%zu\n", "threads", model->threads);
    if (model->instructions)
        code = print_processor(command);
    print_steps(model);
    return code;
}
