/* Which form of a network is the fastest for a batch size: its steps one by one, with the plans that were just tuned,
 * or one generated kernel for all of it. Single launches are timed, in turn, since that is how networks are run; the
 * inputs are random. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "timing.h"

enum { ROUNDS = 31 };

#define CHECK(call) MLP_CUDA_CHECK(tuner->cuda, NULL, call)

/* ---- The time of a form ---- */

struct race {
    const mlp_cuda_batch *batch;
    cudaGraphExec_t ready[MLP_FORMS];
    double times[MLP_FORMS][ROUNDS];
};

static mlp_status time_form(mlp_tuner *tuner, cudaGraphExec_t ready, double *seconds)
{
    cudaStream_t stream = (cudaStream_t)tuner->cuda->stream;
    float milliseconds = 0;
    CHECK(cudaEventRecord(tuner->begun, stream));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaEventRecord(tuner->done, stream));
    CHECK(cudaEventSynchronize(tuner->done));
    CHECK(cudaEventElapsedTime(&milliseconds, tuner->begun, tuner->done));
    *seconds = 1e-3 * (double)milliseconds;
    return MLP_OK;
}

static mlp_status run_race(mlp_tuner *tuner, struct race *race)
{
    MLP_TRY(mlp_fill_inputs(tuner, race->batch->rows));
    for (int form = 0; form < MLP_FORMS; form++) {
        if (race->batch->forms[form])
            MLP_TRY(mlp_record_form(tuner, race->batch->forms[form], 1, &race->ready[form]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MLP_FORMS; i++) {
            int form = (i + round) % MLP_FORMS;
            if (race->ready[form])
                MLP_TRY(time_form(tuner, race->ready[form], &race->times[form][round]));
        }
    }
    return MLP_OK;
}

static void close_race(const struct race *race)
{
    for (int form = 0; form < MLP_FORMS; form++) {
        if (race->ready[form])
            cudaGraphExecDestroy(race->ready[form]);
    }
}

/* ---- All batch sizes ---- */

static mlp_form_entry judge(struct race *race, const mlp_plan_device *here, const char *network)
{
    mlp_form_entry entry = {.device = here->name, .multiprocessors = here->multiprocessors, .library = here->library,
                            .network = network};
    double best = 0;
    for (int form = 0; form < MLP_FORMS; form++) {
        if (!race->ready[form])
            continue;
        mlp_times_sort(race->times[form], ROUNDS);
        double median = mlp_times_quantile(race->times[form], ROUNDS, 0.5);
        entry.microseconds[form] = 1e6 * median;
        if (best <= 0 || median < best) {
            best = median;
            entry.form = (mlp_form)form;
        }
    }
    return entry;
}

static mlp_status tune_batch(mlp_tuner *tuner, const mlp_cuda_batch *batch, const mlp_plan_device *here)
{
    struct race race = {.batch = batch};
    char network[256];
    mlp_status status = run_race(tuner, &race);
    close_race(&race);
    MLP_TRY(status);
    snprintf(network, sizeof network, "%s rows=%zu", tuner->cuda->config->network, batch->rows);
    const mlp_form_entry entry = judge(&race, here, network);
    if (tuner->tuning->formed(tuner->tuning->context, &entry, batch->rows))
        return mlp_fail(&tuner->cuda->network, MLP_BAD_ARGUMENT, "the plan could not be kept");
    return MLP_OK;
}

static size_t count_forms(const mlp_cuda_batch *batch)
{
    size_t count = 0;
    for (int form = 0; form < MLP_FORMS; form++)
        count += batch->forms[form] != NULL;
    return count;
}

mlp_status mlp_tune_forms(mlp_tuner *tuner, const mlp_plan_device *here)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    MLP_TRY(mlp_use_tuned_plans(tuner, here));
    for (size_t i = 0; i < config->batch_count && !*tuner->tuning->stop; i++) {
        if (count_forms(&config->batches[i]) > 1)
            MLP_TRY(tune_batch(tuner, &config->batches[i], here));
    }
    return MLP_OK;
}
