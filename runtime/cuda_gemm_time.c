/* How long a product takes. A number of runs are recorded as one CUDA graph, so that no launch from the host is
 * measured; the operands are random, since constant ones draw less power and run faster than real ones. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <time.h>

#include "timing.h"

enum { AGAIN = 5, WARM_ROUNDS = 15, COLD_ROUNDS = 9, RESTED_ROUNDS = 7, MOST_RUNS = 20, MOST_FINALISTS = 12 };

static const double graph_seconds = 80e-6, longest_finals = 4.0, rested_graph_seconds = 1e-3;
static const long rest_nanoseconds = 20000000;

#define CHECK(call) MLP_CUDA_CHECK(tuner->cuda, tuner->gemm->step, call)

/* How the operands are found: where the last run left them; A in the next of its copies, which has left the cache; or
 * nothing in the cache. */
enum manner { WARM, ROTATED, FLUSHED };

/* ---- Graphs ---- */

struct recording {
    enum manner manner;
    size_t runs;
    cudaGraphExec_t ready;          /* NULL where the algorithm would not run */
};

static cudaStream_t stream_of(const mlp_tuner *tuner)
{
    return (cudaStream_t)tuner->cuda->stream;
}

static int queue_event(mlp_tuner *tuner, cudaEvent_t event)
{
    return cudaEventRecordWithFlags(event, stream_of(tuner), cudaEventRecordExternal) == cudaSuccess;
}

/* The product, with A in the copy of this number. */
static int queue_product(mlp_tuner *tuner, mlp_gemm_plan *plan, size_t copy)
{
    mlp_gemm gemm = *tuner->gemm;
    if (copy)
        gemm.a.offset = (size_t)((unsigned char *)tuner->flush - tuner->cuda->arena) +
                        (copy - 1) * mlp_copy_bytes(&gemm);
    return mlp_gemm_launch(tuner->cuda, &gemm, plan) == MLP_OK;
}

static int queue_runs(mlp_tuner *tuner, const mlp_candidate *candidate, const struct recording *recording)
{
    mlp_gemm_plan *plan = mlp_candidate_plan(tuner, candidate);
    int flushed = recording->manner == FLUSHED, good = 1;
    if (flushed)
        good = cudaMemsetAsync(tuner->flush, 0, tuner->flush_bytes, stream_of(tuner)) == cudaSuccess &&
               queue_event(tuner, tuner->begun);
    for (size_t i = 0; good && i < recording->runs; i++)
        good = queue_product(tuner, plan, recording->manner == ROTATED ? 1 + i % tuner->copies : 0);
    return good && (!flushed || queue_event(tuner, tuner->done));
}

static mlp_status record(mlp_tuner *tuner, mlp_candidate *candidate, struct recording *recording)
{
    cudaGraph_t graph = NULL;
    recording->ready = NULL;
    CHECK(cudaStreamBeginCapture(stream_of(tuner), cudaStreamCaptureModeThreadLocal));
    int good = queue_runs(tuner, candidate, recording);
    good = cudaStreamEndCapture(stream_of(tuner), &graph) == cudaSuccess && good;
    if (good && cudaGraphInstantiate(&recording->ready, graph, 0) != cudaSuccess)
        recording->ready = NULL;
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();             /* a refusal is this candidate's alone */
    candidate->failed |= !recording->ready;
    return MLP_OK;
}

static void forget(const struct recording *recording)
{
    if (recording->ready)
        cudaGraphExecDestroy(recording->ready);
}

/* The first of two launches keeps the device busy while the second is queued: no wait for the host is measured. Where
 * the cache is flushed, the graph itself holds the events. */
static mlp_status launch(mlp_tuner *tuner, const struct recording *recording)
{
    CHECK(cudaGraphLaunch(recording->ready, stream_of(tuner)));
    if (recording->manner == FLUSHED)
        return MLP_OK;
    CHECK(cudaEventRecord(tuner->begun, stream_of(tuner)));
    CHECK(cudaGraphLaunch(recording->ready, stream_of(tuner)));
    CHECK(cudaEventRecord(tuner->done, stream_of(tuner)));
    return MLP_OK;
}

/* Seconds a run. */
static mlp_status measure(mlp_tuner *tuner, const mlp_candidate *candidate, const struct recording *recording,
                          double *seconds)
{
    float milliseconds = 0;
    tuner->running = candidate;
    MLP_TRY(launch(tuner, recording));
    MLP_TRY(mlp_tuner_wait(tuner));
    CHECK(cudaEventElapsedTime(&milliseconds, tuner->begun, tuner->done));
    *seconds = 1e-3 * (double)milliseconds / (double)recording->runs;
    return MLP_OK;
}

static enum manner cold_manner(const mlp_tuner *tuner)
{
    if (mlp_copy_bytes(tuner->gemm) > tuner->cache_bytes)
        return WARM;                /* no run finds anything of A that the last one read */
    return tuner->copies ? ROTATED : FLUSHED;
}

/* As the network will find its operands; runs enough to measure, and whole rounds of copies. */
static struct recording recording_of(const mlp_tuner *tuner, enum manner manner)
{
    struct recording recording = {.manner = manner, .runs = tuner->best > 0 ? tuner->runs_per_graph : 1};
    if (manner == FLUSHED)
        recording.runs = 1;
    else if (manner == ROTATED)
        recording.runs = (recording.runs + tuner->copies - 1) / tuner->copies * tuner->copies;
    return recording;
}

static struct recording ranking_of(const mlp_tuner *tuner)
{
    return recording_of(tuner, tuner->ranks_cold ? cold_manner(tuner) : WARM);
}

/* ---- A short measurement ---- */

static void choose_runs(mlp_tuner *tuner, double seconds)
{
    double runs = seconds > 0 ? graph_seconds / seconds : MOST_RUNS;
    tuner->runs_per_graph = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : (size_t)runs;
}

static mlp_status measure_quick(mlp_tuner *tuner, mlp_candidate *candidate, const struct recording *recording)
{
    double again;
    MLP_TRY(measure(tuner, candidate, recording, &candidate->quick));
    if (tuner->best > 0 && candidate->quick > 1.2 * tuner->best)
        return MLP_OK;
    MLP_TRY(measure(tuner, candidate, recording, &again));
    candidate->quick = again < candidate->quick ? again : candidate->quick;
    return MLP_OK;
}

mlp_status mlp_time_quick(mlp_tuner *tuner, mlp_candidate *candidate)
{
    struct recording recording = ranking_of(tuner);
    MLP_TRY(record(tuner, candidate, &recording));
    if (!recording.ready)
        return MLP_OK;
    mlp_status status = measure_quick(tuner, candidate, &recording);
    forget(&recording);
    if (status == MLP_OK && (tuner->best <= 0 || candidate->quick < tuner->best)) {
        tuner->best = candidate->quick;
        choose_runs(tuner, tuner->best);
    }
    return status;
}

static mlp_status measure_again(mlp_tuner *tuner, mlp_candidate *candidate, const struct recording *recording)
{
    double times[AGAIN];
    for (int i = 0; i < AGAIN; i++)
        MLP_TRY(measure(tuner, candidate, recording, &times[i]));
    mlp_times_sort(times, AGAIN);
    candidate->quick = mlp_times_quantile(times, AGAIN, 0.5);
    return MLP_OK;
}

mlp_status mlp_time_again(mlp_tuner *tuner, mlp_candidate *candidate)
{
    struct recording recording = ranking_of(tuner);
    MLP_TRY(record(tuner, candidate, &recording));
    mlp_status status = recording.ready ? measure_again(tuner, candidate, &recording) : MLP_OK;
    forget(&recording);
    return status;
}

/* ---- The final measurement ---- */

struct finals {
    mlp_candidate **candidates;
    size_t count, rounds;
    int cold;
    struct recording recordings[MOST_FINALISTS];
    double times[MOST_FINALISTS][WARM_ROUNDS];
};

static void shuffle(mlp_tuner *tuner, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(mlp_tuner_random(tuner) % i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

static mlp_status one_round(mlp_tuner *tuner, struct finals *finals, size_t round)
{
    size_t order[MOST_FINALISTS];
    shuffle(tuner, order, finals->count);
    for (size_t i = 0; i < finals->count; i++) {
        size_t which = order[i];
        if (finals->recordings[which].ready)
            MLP_TRY(measure(tuner, finals->candidates[which], &finals->recordings[which],
                            &finals->times[which][round]));
    }
    return MLP_OK;
}

static void keep_medians(struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++) {
        mlp_times_sort(finals->times[i], finals->rounds);
        double median = mlp_times_quantile(finals->times[i], finals->rounds, 0.5);
        *(finals->cold ? &finals->candidates[i]->cold : &finals->candidates[i]->warm) = median;
    }
}

static mlp_status measure_finals(mlp_tuner *tuner, struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++)
        MLP_TRY(record(tuner, finals->candidates[i], &finals->recordings[i]));
    for (size_t i = 0; i < finals->rounds; i++)
        MLP_TRY(one_round(tuner, finals, i));
    keep_medians(finals);
    return MLP_OK;
}

/* An odd number of rounds, fewer where a run is long. */
static size_t rounds_within(const mlp_tuner *tuner, const struct finals *finals, size_t most)
{
    double round = 2 * (double)finals->count * (double)finals->recordings[0].runs * tuner->best;
    double rounds = round > 0 ? longest_finals / 2 / round : (double)most;
    return rounds >= (double)most ? most : rounds < 3 ? 3 : (size_t)rounds | 1;
}

static mlp_status finals_of(mlp_tuner *tuner, mlp_candidate **candidates, size_t count, int cold)
{
    struct finals finals = {.candidates = candidates, .count = count, .cold = cold};
    for (size_t i = 0; i < count; i++)
        finals.recordings[i] = recording_of(tuner, cold ? cold_manner(tuner) : WARM);
    finals.rounds = rounds_within(tuner, &finals, cold ? COLD_ROUNDS : WARM_ROUNDS);
    mlp_status status = measure_finals(tuner, &finals);
    for (size_t i = 0; i < count; i++)
        forget(&finals.recordings[i]);
    return status;
}

mlp_status mlp_time_finals(mlp_tuner *tuner, mlp_candidate **candidates, size_t count)
{
    count = count < MOST_FINALISTS ? count : MOST_FINALISTS;
    MLP_TRY(finals_of(tuner, candidates, count, 0));
    return finals_of(tuner, candidates, count, 1);
}

/* ---- After a rest ---- */

static mlp_status measure_rested(mlp_tuner *tuner, mlp_candidate *const pair[2], const struct recording recordings[2],
                                 double medians[2])
{
    const struct timespec rest = {.tv_nsec = rest_nanoseconds};
    double times[2][RESTED_ROUNDS];
    for (int round = 0; round < RESTED_ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            int which = (round + i) % 2;
            nanosleep(&rest, NULL);
            MLP_TRY(measure(tuner, pair[which], &recordings[which], &times[which][round]));
        }
    }
    for (int i = 0; i < 2; i++) {
        mlp_times_sort(times[i], RESTED_ROUNDS);
        medians[i] = mlp_times_quantile(times[i], RESTED_ROUNDS, 0.5);
    }
    return MLP_OK;
}

mlp_status mlp_time_rested(mlp_tuner *tuner, mlp_candidate *one, mlp_candidate *other, double *ratio)
{
    mlp_candidate *const pair[2] = {one, other};
    struct recording recordings[2];
    double medians[2] = {0, 1};
    mlp_status status = MLP_OK;
    for (int i = 0; i < 2; i++) {
        recordings[i] = (struct recording){.manner = WARM, .runs = 1 + (size_t)(rested_graph_seconds / pair[i]->warm)};
        status = status == MLP_OK ? record(tuner, pair[i], &recordings[i]) : status;
    }
    if (status == MLP_OK && recordings[0].ready && recordings[1].ready)
        status = measure_rested(tuner, pair, recordings, medians);
    for (int i = 0; i < 2; i++)
        forget(&recordings[i]);
    *ratio = medians[0] / medians[1];
    return status;
}
