/* --profile: how long each step takes, in a run of one batch of random rows, step by step. On a CPU that is the host's
 * clock, around each call; on a GPU the device's, around many repetitions that are recorded as one CUDA graph. */
#include "arrays.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

static const double warm_up_seconds = 0.1, measured_seconds = 0.5;

enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 1000 };

struct profile {
    const mlp_command *command;
    size_t batch;
    mlp_arrays inputs, outputs;
    void **from, **to;              /* the chunk's first row of each input and output */
    double *times;                  /* [steps, MOST_ROUNDS] */
};

/* Adds the times of the rows from `first` on. */
static mlp_status steps_of_chunk(struct profile *profile, size_t round, size_t first)
{
    const mlp_model *model = profile->command->model;
    const size_t left = profile->batch - first, count = left < model->chunk ? left : model->chunk;
    mlp_arrays_from(&profile->inputs, first, profile->from);
    mlp_arrays_from(&profile->outputs, first, profile->to);
    mlp_status status = model->begin(count, (const void *const *)profile->from, profile->to);
    for (size_t i = 0; status == MLP_OK && i < model->step_count; i++) {
        double started = mlp_seconds();
        status = model->run_step(i);
        profile->times[i * MOST_ROUNDS + round] += mlp_seconds() - started;
    }
    return status;
}

static mlp_status round_of_steps(struct profile *profile, size_t round)
{
    const mlp_model *model = profile->command->model;
    mlp_status status = MLP_OK;
    for (size_t i = 0; i < model->step_count; i++)
        profile->times[i * MOST_ROUNDS + round] = 0;
    for (size_t first = 0; status == MLP_OK && first < profile->batch; first += model->chunk)
        status = steps_of_chunk(profile, round, first);
    return status;
}

/* Rounds of the warm-up are overwritten by those that count. */
static mlp_status measure(struct profile *profile, double seconds, size_t *rounds)
{
    double started = mlp_seconds();
    mlp_status status = MLP_OK;
    for (*rounds = 0; status == MLP_OK && *rounds < MOST_ROUNDS; ++*rounds) {
        if (*rounds >= LEAST_ROUNDS && mlp_seconds() - started > seconds)
            break;
        status = round_of_steps(profile, *rounds);
    }
    return status;
}

static void print_profile(const struct profile *profile, size_t rounds)
{
    const mlp_model *model = profile->command->model;
    double *medians = mlp_take(profile->command, model->step_count, sizeof *medians), total = 0;
    for (size_t i = 0; i < model->step_count; i++) {
        double *times = profile->times + i * MOST_ROUNDS;
        mlp_times_sort(times, rounds);
        medians[i] = mlp_times_quantile(times, rounds, 0.5);
        total += medians[i];
    }
    printf("%s, %zu rows; medians of %zu rounds, %.2f us in all steps\n", model->name, profile->batch, rounds,
           1e6 * total);
    printf("%4s %5s %12s %7s  %s\n", "step", "line", "us", "share", "computes");
    for (size_t i = 0; i < model->step_count; i++)
        printf("%4zu %5d %12.2f %5.1f %%  %s\n", i + 1, model->steps[i].line, 1e6 * medians[i],
               total > 0 ? 100 * medians[i] / total : 0, model->steps[i].text);
    free(medians);
}

static mlp_status profile_host(struct profile *profile)
{
    size_t rounds;
    profile->times = mlp_take(profile->command, profile->command->model->step_count * MOST_ROUNDS,
                              sizeof *profile->times);
    profile->from = mlp_take(profile->command, profile->inputs.count, sizeof *profile->from);
    profile->to = mlp_take(profile->command, profile->outputs.count, sizeof *profile->to);
    mlp_status status = measure(profile, warm_up_seconds, &rounds);
    if (status == MLP_OK)
        status = measure(profile, measured_seconds, &rounds);
    if (status == MLP_OK)
        print_profile(profile, rounds);
    free(profile->times);
    free(profile->from);
    free(profile->to);
    return status;
}

/* ---- On a device ---- */

enum { REPEATS = 20 };

/* Of the smallest batch size that holds the rows. */
static size_t batch_index(const struct profile *profile)
{
    size_t index = 0;
    while (profile->command->model->batches[index] < profile->batch)
        index++;
    return index;
}

static size_t graph_rows(const struct profile *profile)
{
    return profile->command->model->batches[batch_index(profile)];
}

static int in_one_kernel(const struct profile *profile)
{
    return profile->command->model->forms[batch_index(profile)] != MLP_FORM_STEPS;
}

/* Each step is run once before it is timed, so that it finds what it would find in a run. The last time is that of all
 * steps in a row. */
static mlp_status time_steps(const struct profile *profile, mlp_step_time *times)
{
    const mlp_model *model = profile->command->model;
    mlp_status status = model->begin(profile->batch, (const void *const *)profile->inputs.at, profile->outputs.at);
    for (size_t i = 0; status == MLP_OK && i < model->step_count && !in_one_kernel(profile); i++) {
        status = model->run_step(i);
        if (status == MLP_OK)
            status = model->time_step(i, REPEATS, &times[i]);
    }
    return status == MLP_OK ? model->time_step(model->step_count, REPEATS, &times[model->step_count]) : status;
}

static void print_device_profile(const struct profile *profile, const mlp_step_time *times, const char *device)
{
    const mlp_model *model = profile->command->model;
    const mlp_step_time *run = &times[model->step_count];
    double total = 0;
    for (size_t i = 0; i < model->step_count; i++)
        total += times[i].seconds;
    printf(
        "%s, the graph for %zu rows on %s; each step %d times without pause, its data in the caches where they fit\n",
        model->name, graph_rows(profile), device, REPEATS);
    if (!in_one_kernel(profile))
        printf("%4s %5s %12s %7s %8s  %s\n", "step", "line", "us", "share", "kernels", "computes");
    for (size_t i = 0; i < model->step_count && !in_one_kernel(profile); i++)
        printf("%4zu %5d %12.2f %5.1f %% %8zu  %s\n", i + 1, model->steps[i].line, 1e6 * times[i].seconds,
               total > 0 ? 100 * times[i].seconds / total : 0, times[i].kernels, model->steps[i].text);
    printf("a run: %zu kernel%s in %zu step%s, %.2f us", run->kernels, run->kernels == 1 ? "" : "s",
           model->step_count, model->step_count == 1 ? "" : "s", 1e6 * run->seconds);
    if (!in_one_kernel(profile))
        printf(" (the steps one by one: %.2f us)", 1e6 * total);
    if (run->copies)
        printf("; and %zu copies or memsets", run->copies);
    printf("\n");
}

static mlp_status profile_device(const struct profile *profile)
{
    const mlp_model *model = profile->command->model;
    mlp_step_time *times = mlp_take(profile->command, model->step_count + 1, sizeof *times);
    mlp_device_info device;
    mlp_status status = model->describe(&device);
    if (status == MLP_OK)
        status = time_steps(profile, times);
    if (status == MLP_OK)
        print_device_profile(profile, times, device.name);
    free(times);
    return status;
}

int mlp_profile(const mlp_command *command)
{
    const mlp_model *model = command->model;
    size_t largest = model->batches[model->batch_count - 1];
    struct profile profile = {.command = command, .batch = command->batch ? command->batch : largest};
    if (profile.batch > largest)
        return mlp_complain(command, MLP_EXIT_USAGE, "--batch %zu: steps take at most %zu rows at a time",
                            profile.batch, largest);
    profile.inputs = mlp_arrays_random(command, profile.batch);
    profile.outputs = mlp_arrays_outputs(command, profile.batch);
    mlp_status status = model->time_step ? profile_device(&profile) : profile_host(&profile);
    mlp_arrays_free(&profile.inputs);
    mlp_arrays_free(&profile.outputs);
    return status == MLP_OK ? MLP_EXIT_DONE : mlp_complain_model(command, status);
}
