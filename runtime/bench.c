/* --bench: how long a run takes, from host memory to host memory, for each batch size. Runs shorter than 10
 * microseconds are timed several at a time, since the clock itself takes a part of one. */
#include "arrays.h"
#include "element.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

static const double warm_up_seconds = 0.1, measured_seconds = 0.5, shortest_sample = 10e-6;

enum { LEAST_RUNS = 3, LEAST_SAMPLES = 5, MOST_SAMPLES = 20000 };

struct bench {
    const mlp_command *command;
    size_t batch;
    mlp_arrays inputs, outputs;
    mlp_status status;              /* of the first run that failed */
};

struct result {
    size_t batch, samples, burst;   /* burst: runs in a sample */
    double median, least, p99;      /* seconds a run */
};

static double time_runs(struct bench *bench, size_t count)
{
    double started = mlp_seconds();
    for (size_t i = 0; i < count && bench->status == MLP_OK; i++)
        bench->status = bench->command->model->run(bench->batch, (const void *const *)bench->inputs.at,
                                                   bench->outputs.at);
    return (mlp_seconds() - started) / (double)count;
}

/* Returns the shortest run seen. */
static double warm_up(struct bench *bench)
{
    double started = mlp_seconds(), least = time_runs(bench, 1);
    for (int runs = 1; runs < LEAST_RUNS || mlp_seconds() - started < warm_up_seconds; runs++) {
        double time = time_runs(bench, 1);
        least = time < least ? time : least;
    }
    return least;
}

static struct result measure(struct bench *bench)
{
    struct result result = {.batch = bench->batch, .burst = 1};
    double *times = mlp_take(bench->command, MOST_SAMPLES, sizeof *times), least = warm_up(bench);
    if (least < shortest_sample)
        result.burst = (size_t)(shortest_sample / (least > 1e-9 ? least : 1e-9)) + 1;
    double started = mlp_seconds();
    while (result.samples < LEAST_SAMPLES ||
           (result.samples < MOST_SAMPLES && mlp_seconds() - started < measured_seconds))
        times[result.samples++] = time_runs(bench, result.burst);
    mlp_times_sort(times, result.samples);
    result.least = times[0];
    result.median = mlp_times_quantile(times, result.samples, 0.5);
    result.p99 = mlp_times_quantile(times, result.samples, 0.99);
    free(times);
    return result;
}

/* Strings here are names and paths: quotes, backslashes and control characters are what could break out. */
static void print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)*text);
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    putchar('"');
}

static void print_head(const mlp_command *command)
{
    const mlp_model *model = command->model;
    const char *target = model->target == MLP_CPU ? "cpu" : "cuda", *dtype = mlp_dtype_text(model->dtype);
    if (command->json) {
        printf("{\"network\": ");
        print_json_string(model->name);
        printf(", \"spec\": ");
        print_json_string(model->spec);
        printf(", \"target\": \"%s\", \"dtype\": \"%s\", \"batches\": [", target, dtype);
    } else {
        printf("%s, %s, %s; microseconds a run of random rows, host memory to host memory\n", model->name, target,
               dtype);
        printf("%10s %12s %12s %12s %12s %14s %10s\n", "rows", "median", "min", "p99", "a row", "rows/s", "runs");
    }
}

static void print_result(const mlp_command *command, const struct result *result, int first)
{
    double median = 1e6 * result->median, least = 1e6 * result->least, p99 = 1e6 * result->p99;
    double rate = (double)result->batch / result->median;
    if (command->json)
        printf("%s{\"rows\": %zu, \"median_us\": %.6g, \"min_us\": %.6g, \"p99_us\": %.6g, \"rows_per_second\": %.6g, "
               "\"samples\": %zu, \"runs_per_sample\": %zu}",
               first ? "" : ", ", result->batch, median, least, p99, rate, result->samples, result->burst);
    else
        printf("%10zu %12.2f %12.2f %12.2f %12.3f %14.0f %10zu\n", result->batch, median, least, p99,
               median / (double)result->batch, rate, result->samples * result->burst);
    fflush(stdout);
}

static int bench_batch(const mlp_command *command, size_t batch, int first)
{
    struct bench bench = {.command = command, .batch = batch};
    bench.inputs = mlp_arrays_random(command, batch);
    bench.outputs = mlp_arrays_outputs(command, batch);
    struct result result = measure(&bench);
    mlp_arrays_free(&bench.inputs);
    mlp_arrays_free(&bench.outputs);
    if (bench.status != MLP_OK)
        return mlp_complain_model(command, bench.status);
    print_result(command, &result, first);
    return MLP_EXIT_DONE;
}

int mlp_bench(const mlp_command *command)
{
    const size_t *batches = command->batch ? &command->batch : command->model->batches;
    size_t count = command->batch ? 1 : command->model->batch_count;
    int code = MLP_EXIT_DONE;
    print_head(command);
    for (size_t i = 0; code == MLP_EXIT_DONE && i < count; i++)
        code = bench_batch(command, batches[i], i == 0);
    if (command->json)
        printf("]}\n");
    return code;
}
