/* Two builds of one network in one process: with cuBLASLt's first choice for every product, and with tuned plans.
 *
 *     plans             times each product, and all steps together, in turn: lines of a Markdown table
 *     plans first       milliseconds from a CUDA context to the first result, in a process of its own,
 *     plans tuned       of either build
 *
 * Compile with -DFIRST=..._model -DTUNED=..._model; external weights are FIRST_WEIGHTS and TUNED_WEIGHTS. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "timing.h"

extern const mlp_model FIRST, TUNED;

enum { ROUNDS = 9, MOST_REPEATS = 50 };

static const double graph_seconds = 300e-6;

static void need(const mlp_model *model, mlp_status status)
{
    if (status == MLP_OK)
        return;
    printf("%s: %s\n", model->name, model->error());
    exit(1);
}

static void start(const mlp_model *model, const char *weights)
{
    const mlp_options options = {.weights = weights, .locked = model == &TUNED};
    need(model, model->init(&options));
}

/* Random rows for one batch size, and every step run once on them, so that each finds real numbers. */
static void prepare(const mlp_model *model, size_t batch)
{
    const mlp_command command = {.program = "plans", .model = model};
    mlp_arrays x = mlp_arrays_random(&command, batch), y = mlp_arrays_outputs(&command, batch);
    need(model, model->begin(batch, (const void *const *)x.at, y.at));
    for (size_t i = 0; i < model->step_count; i++)
        need(model, model->run_step(i));
    mlp_arrays_free(&x);
    mlp_arrays_free(&y);
}

static double time_once(const mlp_model *model, size_t step, size_t repeats)
{
    mlp_step_time time;
    need(model, model->time_step(step, repeats, &time));
    return time.seconds;
}

static double median(double *times)
{
    mlp_times_sort(times, ROUNDS);
    return mlp_times_quantile(times, ROUNDS, 0.5);
}

/* In turn, and first and second in turn. */
static void compare(size_t step, double *first, double *tuned)
{
    double times[2][ROUNDS], once = time_once(&FIRST, step, 1);
    double wanted = graph_seconds / once;
    size_t repeats = wanted < 1 ? 1 : wanted > MOST_REPEATS ? MOST_REPEATS : (size_t)wanted;
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < 2; j++) {
            int which = (i + j) % 2;
            times[which][i] = time_once(which ? &TUNED : &FIRST, step, repeats);
        }
    }
    *first = median(times[0]);
    *tuned = median(times[1]);
}

static void compare_batch(size_t index)
{
    double first, tuned;
    size_t batch = FIRST.batches[index];
    prepare(&FIRST, batch);
    prepare(&TUNED, batch);
    for (size_t i = 0; i < FIRST.step_count; i++) {
        mlp_plan_info plan;
        if (TUNED.describe_plan(index, i, &plan) != MLP_OK)
            continue;
        compare(i, &first, &tuned);
        printf("| %s | %zu | %s | %.2f | %.2f | %.3f | %s |\n", TUNED.name, batch, TUNED.steps[i].name, 1e6 * first,
               1e6 * tuned, first / tuned, plan.times.warm != plan.times.first_warm ? "tuned" : "first choice");
    }
    compare(FIRST.step_count, &first, &tuned);
    printf("| %s | %zu | **all steps** | %.2f | %.2f | %.3f | |\n", TUNED.name, batch, 1e6 * first, 1e6 * tuned,
           first / tuned);
    fflush(stdout);
}

static void time_start(const mlp_model *model, const char *weights)
{
    const mlp_command command = {.program = "plans", .model = model};
    mlp_arrays x = mlp_arrays_random(&command, 1), y = mlp_arrays_outputs(&command, 1);
    double begun = mlp_seconds();
    cudaFree(NULL);
    double ready = mlp_seconds();
    start(model, weights);
    need(model, model->run(1, (const void *const *)x.at, y.at));
    printf("%.3f %.3f\n", 1e3 * (ready - begun), 1e3 * (mlp_seconds() - ready));
    model->close();
    mlp_arrays_free(&x);
    mlp_arrays_free(&y);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "first")) {
        time_start(&FIRST, FIRST_WEIGHTS);
    } else if (argc == 2) {
        time_start(&TUNED, TUNED_WEIGHTS);
    } else {
        start(&FIRST, FIRST_WEIGHTS);
        start(&TUNED, TUNED_WEIGHTS);
        for (size_t i = 0; i < FIRST.batch_count; i++)
            compare_batch(i);
        FIRST.close();
        TUNED.close();
    }
    return 0;
}
