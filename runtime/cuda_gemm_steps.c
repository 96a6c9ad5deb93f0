/* What the tuned plans do in the network. Each was chosen alone; between others it may cost its neighbours more than it
 * gains: by the clusters it takes, by what it leaves in the cache. For each batch size all steps are timed, with the
 * plans and with first choices. Where the plans lose, one after the other is given up for as long as that helps. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "random.h"
#include "timing.h"

enum { ROUNDS = 15, MOST_REPEATS = 50 };

static const double graph_seconds = 300e-6, noise = 0.004;

#define CHECK(call) MLP_CUDA_CHECK(tuner->cuda, NULL, call)

/* ---- Plans in use ---- */

static const mlp_plan_entry *find_entry(const mlp_plan_file *plans, const mlp_plan_device *here, const char *product)
{
    for (size_t i = 0; i < plans->count; i++) {
        const mlp_plan_entry *entry = &plans->entries[i];
        if (entry->library == here->library && entry->multiprocessors == here->multiprocessors &&
            !strcmp(entry->device, here->name) && !strcmp(entry->product, product))
            return entry;
    }
    return NULL;
}

static mlp_status use_entry(mlp_tuner *tuner, size_t index, const mlp_plan_entry *entry)
{
    mlp_cuda *cuda = tuner->cuda;
    const mlp_gemm *gemm = &cuda->config->gemms[index];
    mlp_gemm_plan *plan = &cuda->config->plans[index];
    cublasLtMatmulAlgo_t algorithm;
    MLP_TRY(mlp_gemm_describe(cuda, gemm, entry->apart, plan));
    cublasStatus_t status = mlp_algorithm_build(cuda, gemm, &entry->algorithm, &algorithm);
    if (status != CUBLAS_STATUS_SUCCESS)
        return mlp_gemm_failed(cuda, gemm, "cublasLtMatmulAlgoInit, or a setting of it", status);
    mlp_gemm_use(plan, &algorithm, entry->workspace);
    return MLP_OK;
}

mlp_status mlp_use_tuned_plans(mlp_tuner *tuner, const mlp_plan_device *here)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    for (size_t i = 0; i < config->gemm_count; i++) {
        const mlp_plan_entry *entry = find_entry(tuner->tuning->plans, here, config->gemms[i].product);
        if (entry)
            MLP_TRY(use_entry(tuner, i, entry));
    }
    return MLP_OK;
}

/* Of every product of this batch size that is `like`, or of all (NULL). */
static mlp_status use_first_choices(mlp_tuner *tuner, const mlp_cuda_batch *batch, const char *like)
{
    mlp_cuda *cuda = tuner->cuda;
    for (size_t i = 0; i < cuda->config->gemm_count; i++) {
        const mlp_gemm *gemm = &cuda->config->gemms[i];
        if ((size_t)gemm->n == batch->rows && (!like || !strcmp(gemm->product, like)))
            MLP_TRY(mlp_gemm_choose_first(cuda, gemm, &cuda->config->plans[i]));
    }
    return MLP_OK;
}

/* ---- The time of all steps ---- */

mlp_status mlp_fill_inputs(mlp_tuner *tuner, size_t rows)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    for (size_t i = 0; i < config->input_count; i++) {
        const mlp_cuda_port *port = &config->inputs[i];
        unsigned char *staged = tuner->cuda->staging + port->staging;
        mlp_random_rows(port->dtype, rows, port->row_bytes / port->element, i + 1, staged);
        CHECK(cudaMemcpy2D(tuner->cuda->arena + port->offset, port->pitch, staged, port->row_bytes, port->row_bytes,
                           rows, cudaMemcpyHostToDevice));
    }
    return MLP_OK;
}

struct steps {
    cudaGraphExec_t ready;
    size_t repeats;
};

static mlp_status queue(mlp_tuner *tuner, mlp_cuda_forward *forward, size_t repeats)
{
    for (size_t i = 0; i < repeats; i++)
        MLP_TRY(forward(tuner->cuda));
    return MLP_OK;
}

mlp_status mlp_record_form(mlp_tuner *tuner, mlp_cuda_forward *forward, size_t repeats, cudaGraphExec_t *ready)
{
    cudaStream_t stream = (cudaStream_t)tuner->cuda->stream;
    cudaGraph_t graph = NULL;
    MLP_TRY(queue(tuner, forward, 1));      /* outside of the recording, to load the kernels */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    mlp_status status = queue(tuner, forward, repeats);
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (status == MLP_OK && error != cudaSuccess)
        status = mlp_cuda_failed(tuner->cuda, NULL, "cudaStreamEndCapture", error);
    if (status == MLP_OK && (error = cudaGraphInstantiate(ready, graph, 0)) != cudaSuccess)
        status = mlp_cuda_failed(tuner->cuda, NULL, "cudaGraphInstantiate", error);
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

/* All steps, with the plans that are in use now. */
static mlp_status record(mlp_tuner *tuner, const mlp_cuda_batch *batch, struct steps *steps)
{
    return mlp_record_form(tuner, batch->forms[MLP_FORM_STEPS], steps->repeats, &steps->ready);
}

static void forget(struct steps *steps)
{
    if (steps->ready)
        cudaGraphExecDestroy(steps->ready);
    steps->ready = NULL;
}

/* Seconds a run. The first of two launches keeps the device busy while the second is queued. */
static mlp_status measure(mlp_tuner *tuner, const struct steps *steps, double *seconds)
{
    cudaStream_t stream = (cudaStream_t)tuner->cuda->stream;
    float milliseconds = 0;
    CHECK(cudaGraphLaunch(steps->ready, stream));
    CHECK(cudaEventRecord(tuner->begun, stream));
    CHECK(cudaGraphLaunch(steps->ready, stream));
    CHECK(cudaEventRecord(tuner->done, stream));
    CHECK(cudaEventSynchronize(tuner->done));
    CHECK(cudaEventElapsedTime(&milliseconds, tuner->begun, tuner->done));
    *seconds = 1e-3 * (double)milliseconds / (double)steps->repeats;
    return MLP_OK;
}

/* How many times as long `one` takes as `other`: medians, in turn. */
static mlp_status compare(mlp_tuner *tuner, const struct steps *one, const struct steps *other, double *ratio)
{
    const struct steps *const pair[] = {one, other};
    double times[2][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            int which = (round + i) % 2;
            MLP_TRY(measure(tuner, pair[which], &times[which][round]));
        }
    }
    mlp_times_sort(times[0], ROUNDS);
    mlp_times_sort(times[1], ROUNDS);
    *ratio = mlp_times_quantile(times[0], ROUNDS, 0.5) / mlp_times_quantile(times[1], ROUNDS, 0.5);
    return MLP_OK;
}

/* ---- Giving plans up ---- */

/* What was found for the product, with the first choice, which is in use for gemm number `index`. */
static mlp_status tell(mlp_tuner *tuner, size_t index, const mlp_plan_entry *entry)
{
    mlp_cuda *cuda = tuner->cuda;
    const mlp_gemm *gemm = &cuda->config->gemms[index];
    const mlp_gemm_plan *plan = &cuda->config->plans[index];
    mlp_plan_entry first = *entry;
    MLP_TRY(mlp_gemm_read(cuda, gemm, plan, &first.algorithm));
    memcpy(first.bytes, plan->algorithm, sizeof first.bytes);
    first.apart = 0;
    first.workspace = plan->workspace;
    first.times.warm = entry->times.first_warm;
    first.times.cold = entry->times.first_cold;
    if (tuner->tuning->gave_up(tuner->tuning->context, &first, gemm->step, (size_t)gemm->n))
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "the plan could not be kept");
    return MLP_OK;
}

/* The steps without the plan of one product, where they are faster than *best, become *best. */
static mlp_status try_without(mlp_tuner *tuner, const mlp_cuda_batch *batch, const mlp_plan_device *here, size_t index,
                              struct steps *best)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    const char *product = config->gemms[index].product;
    const mlp_plan_entry *entry = find_entry(tuner->tuning->plans, here, product);
    struct steps without = {.repeats = best->repeats};
    double ratio = 1;
    if (!entry)
        return MLP_OK;
    MLP_TRY(use_first_choices(tuner, batch, product));
    if (!entry->apart && !memcmp(config->plans[index].algorithm, entry->bytes, sizeof entry->bytes))
        return MLP_OK;              /* it was the first choice */
    mlp_status status = record(tuner, batch, &without);
    if (status == MLP_OK)
        status = compare(tuner, &without, best, &ratio);
    if (status == MLP_OK && ratio < 1 - noise) {
        forget(best);
        *best = without;
        return tell(tuner, index, entry);
    }
    forget(&without);
    MLP_TRY(status);
    return mlp_use_tuned_plans(tuner, here);
}

static mlp_status give_up_plans(mlp_tuner *tuner, const mlp_cuda_batch *batch, const mlp_plan_device *here,
                                struct steps *best)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    MLP_TRY(mlp_use_tuned_plans(tuner, here));
    for (size_t i = 0; i < config->gemm_count && !*tuner->tuning->stop; i++) {
        if ((size_t)config->gemms[i].n == batch->rows && !mlp_product_seen(config, i))
            MLP_TRY(try_without(tuner, batch, here, i, best));
    }
    return MLP_OK;
}

static mlp_status weigh(mlp_tuner *tuner, const mlp_cuda_batch *batch, const mlp_plan_device *here, struct steps *tuned,
                        struct steps *first)
{
    double ratio, seconds;
    MLP_TRY(mlp_fill_inputs(tuner, batch->rows));
    MLP_TRY(record(tuner, batch, tuned));
    MLP_TRY(measure(tuner, tuned, &seconds));
    forget(tuned);
    double repeats = seconds > 0 ? graph_seconds / seconds : 1;
    tuned->repeats = first->repeats = repeats < 1 ? 1 : repeats > MOST_REPEATS ? MOST_REPEATS : (size_t)repeats;
    MLP_TRY(record(tuner, batch, tuned));
    MLP_TRY(use_first_choices(tuner, batch, NULL));
    MLP_TRY(record(tuner, batch, first));
    MLP_TRY(compare(tuner, tuned, first, &ratio));
    return ratio > 1 + noise ? give_up_plans(tuner, batch, here, tuned) : MLP_OK;
}

mlp_status mlp_tune_steps(mlp_tuner *tuner, const mlp_plan_device *here)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    for (size_t i = 0; i < config->batch_count && !*tuner->tuning->stop; i++) {
        struct steps tuned = {.repeats = 1}, first = {.repeats = 1};
        if (!config->batches[i].forms[MLP_FORM_STEPS])
            continue;
        mlp_status status = mlp_use_tuned_plans(tuner, here);
        if (status == MLP_OK)
            status = weigh(tuner, &config->batches[i], here, &tuned, &first);
        forget(&tuned);
        forget(&first);
        MLP_TRY(status);
    }
    return MLP_OK;
}
