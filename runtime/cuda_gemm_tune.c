/* --tune on a device: for each different product of the network, the fastest algorithm that proves right, or the
 * heuristic's first choice where nothing is at least 2 % faster. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum { SHORT_LIST = 40, FINALISTS = 10, MOST_COPIES = 32 };

static const double least_gain = 0.02,  /* of a plan over the first choice, warm */
    cold_noise = 0.02,                  /* how much slower it may look with a cold cache */
    long_seconds = 20e-6,
    rested_noise = 0.003,
    settling_seconds = 0.5,
    patience_seconds = 3,               /* with the longest graph, which takes a tenth of that */
    search_share = 0.8;                 /* of the time; the rest is for the final measurement and the proofs */

#define CHECK(call) MLP_CUDA_CHECK(tuner->cuda, tuner->gemm->step, call)

mlp_gemm_plan *mlp_candidate_plan(mlp_tuner *tuner, const mlp_candidate *candidate)
{
    mlp_gemm_plan *plan = &tuner->plans[candidate->apart];
    mlp_gemm_use(plan, &candidate->algorithm, candidate->workspace);
    return plan;
}

int mlp_tuner_stops(const mlp_tuner *tuner)
{
    return *tuner->tuning->stop || mlp_seconds() > tuner->deadline;
}

/* xorshift: any order will do, as long as it is no order. */
uint64_t mlp_tuner_random(mlp_tuner *tuner)
{
    uint64_t x = tuner->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return tuner->random = x;
}

mlp_status mlp_tuner_wait(mlp_tuner *tuner)
{
    const double begun = mlp_seconds();
    cudaError_t error;
    while ((error = cudaStreamQuery((cudaStream_t)tuner->cuda->stream)) == cudaErrorNotReady) {
        if (mlp_seconds() - begun < patience_seconds)
            continue;
        mlp_hung hung = {.algorithm = tuner->running->attributes, .apart = tuner->running->apart};
        snprintf(hung.product, sizeof hung.product, "%s", tuner->gemm->product);
        tuner->tuning->hung(tuner->tuning->context, &hung);
    }
    return error == cudaSuccess ? MLP_OK
                                : mlp_cuda_failed(tuner->cuda, tuner->gemm->step, "cudaStreamQuery", (int)error);
}

/* ---- Choosing ---- */

struct choice {
    mlp_candidate *first, *listed, *best;   /* listed: the fastest of what the heuristic proposed */
    mlp_candidate *quickest[SHORT_LIST];    /* of all, in order */
    size_t count, next;                     /* next: the first that has not been a finalist */
};

static int by_quick(const void *left, const void *right)
{
    double a = (*(mlp_candidate *const *)left)->quick, b = (*(mlp_candidate *const *)right)->quick;
    return (a > b) - (a < b);
}

/* Puts a candidate in its place in the short list, if it is quick enough. */
static void enlist(struct choice *choice, mlp_candidate *one)
{
    size_t place = choice->count < SHORT_LIST ? choice->count++ : SHORT_LIST - 1;
    if (place == SHORT_LIST - 1 && choice->quickest[place] && choice->quickest[place]->quick <= one->quick)
        return;
    for (; place > 0 && choice->quickest[place - 1]->quick > one->quick; place--)
        choice->quickest[place] = choice->quickest[place - 1];
    choice->quickest[place] = one;
}

static void fill_short_list(mlp_tuner *tuner, struct choice *choice)
{
    for (size_t i = 1; i < tuner->candidates.count; i++) {
        mlp_candidate *one = &tuner->candidates.at[i];
        if (one->quick > 0 && !one->failed)
            enlist(choice, one);
    }
}

/* The quickest of many were partly lucky: before their order counts they are measured once more, as many as there is
 * time for. */
static mlp_status settle(mlp_tuner *tuner, struct choice *choice)
{
    double end = mlp_seconds() + settling_seconds;
    size_t settled = 0;
    while (settled < choice->count && (settled < FINALISTS / 2 || mlp_seconds() < end))
        MLP_TRY(mlp_time_again(tuner, choice->quickest[settled++]));
    choice->count = settled;
    qsort(choice->quickest, choice->count, sizeof *choice->quickest, by_quick);
    return MLP_OK;
}

static mlp_status make_short_list(mlp_tuner *tuner, struct choice *choice)
{
    choice->first = choice->listed = &tuner->candidates.at[0];
    choice->count = choice->next = 0;
    fill_short_list(tuner, choice);
    MLP_TRY(settle(tuner, choice));
    for (size_t i = 1; i < tuner->candidates.count; i++) {
        mlp_candidate *one = &tuner->candidates.at[i];
        if (one->listed && one->quick > 0 && !one->failed && one->quick < choice->listed->quick)
            choice->listed = one;
    }
    return MLP_OK;
}

/* The first choice, the best that is listed, and the next quickest. */
static size_t choose_finalists(struct choice *choice, mlp_candidate **finalists)
{
    size_t count = 0;
    if (!choice->first->failed)
        finalists[count++] = choice->first;
    if (choice->listed != choice->first && !choice->listed->failed)
        finalists[count++] = choice->listed;
    for (int i = 0; i < FINALISTS && choice->next < choice->count; choice->next++) {
        mlp_candidate *one = choice->quickest[choice->next];
        if (one == choice->listed || one->failed)
            continue;
        finalists[count++] = one;
        i++;
    }
    return count;
}

static int by_warm(const void *left, const void *right)
{
    double a = (*(mlp_candidate *const *)left)->warm, b = (*(mlp_candidate *const *)right)->warm;
    return (a > b) - (a < b);
}

static int by_cold(const void *left, const void *right)
{
    double a = (*(mlp_candidate *const *)left)->cold, b = (*(mlp_candidate *const *)right)->cold;
    return (a > b) - (a < b);
}

/* Whether the other kind of time is at most noise worse. */
static int fast_enough(const mlp_tuner *tuner, const struct choice *choice, const mlp_candidate *one)
{
    const mlp_candidate *first = choice->first;
    double warm = one->warm / first->warm, cold = one->cold / first->cold;
    if (one->failed || one == first)
        return 0;
    return first->failed ||
           (tuner->ranks_cold ? cold <= 1 - least_gain : warm <= 1 - least_gain && cold <= 1 + cold_noise);
}

/* The bytes of a locked plan must come out of its attributes again. */
static int can_be_rebuilt(mlp_tuner *tuner, const mlp_candidate *one)
{
    cublasLtMatmulAlgo_t again;
    return mlp_algorithm_build(tuner->cuda, tuner->gemm, &one->attributes, &again) == CUBLAS_STATUS_SUCCESS &&
           !memcmp(&again, &one->algorithm, sizeof again);
}

static mlp_status prove(mlp_tuner *tuner, mlp_candidate *one, int *good)
{
    MLP_TRY(mlp_prove(tuner, one, good));
    if (*good && !can_be_rebuilt(tuner, one)) {
        *good = 0;
        snprintf(tuner->why, sizeof tuner->why, "cannot be rebuilt from its attributes");
    }
    one->failed = !*good;
    tuner->refused += !*good;
    return MLP_OK;
}

static int beats_best(const mlp_tuner *tuner, const struct choice *choice, const mlp_candidate *one)
{
    const mlp_candidate *best = choice->best;
    return fast_enough(tuner, choice, one) &&
           (!best || (tuner->ranks_cold ? one->cold < best->cold : one->warm < best->warm));
}

/* A device that is busy for long is held back by the power it draws, and by how much depends on the algorithm: what
 * wins there may lose where work comes in bursts. Short products never draw so much. */
static mlp_status holds_rested(mlp_tuner *tuner, const struct choice *choice, mlp_candidate *one, int *holds)
{
    double ratio = 0;
    if (!choice->first->failed && one->warm > long_seconds)
        MLP_TRY(mlp_time_rested(tuner, one, choice->first, &ratio));
    *holds = ratio <= 1 + rested_noise;
    return MLP_OK;
}

/* Sets choice->best where one of the finalists is faster than it, and right. */
static mlp_status judge(mlp_tuner *tuner, struct choice *choice, mlp_candidate **finalists, size_t count)
{
    int good = 0;
    MLP_TRY(mlp_time_finals(tuner, finalists, count));
    qsort(finalists, count, sizeof *finalists, tuner->ranks_cold ? by_cold : by_warm);
    for (size_t i = 0; i < count && !good; i++) {
        int holds = beats_best(tuner, choice, finalists[i]);
        if (holds)
            MLP_TRY(holds_rested(tuner, choice, finalists[i], &holds));
        if (!holds)
            continue;
        MLP_TRY(prove(tuner, finalists[i], &good));
        choice->best = good ? finalists[i] : choice->best;
    }
    return MLP_OK;
}

/* By the final measurement, and not known to be wrong. */
static mlp_candidate *best_listed(const mlp_tuner *tuner, const struct choice *choice)
{
    mlp_candidate *best = choice->first;
    for (size_t i = 0; i < tuner->candidates.count; i++) {
        mlp_candidate *one = &tuner->candidates.at[i];
        double gain = tuner->ranks_cold ? best->cold - one->cold : best->warm - one->warm;
        if (one->listed && !one->failed && one->warm > 0 && gain > 0)
            best = one;
    }
    return best;
}

/* Whether one that has not been a finalist may be faster than what has been chosen. */
static int may_get_better(const struct choice *choice)
{
    return choice->next < choice->count &&
           (!choice->best || choice->quickest[choice->next]->quick < choice->best->quick);
}

/* The whole short list has failed. */
static int nothing_left(const struct choice *choice)
{
    return !choice->best && choice->next == choice->count;
}

/* Where some of the fastest fail their proofs, the next fastest follow; where a whole list does, another list. */
static mlp_status choose(mlp_tuner *tuner, struct choice *choice)
{
    mlp_candidate *finalists[FINALISTS + 2];
    int good = 0;
    MLP_TRY(make_short_list(tuner, choice));
    MLP_TRY(prove(tuner, choice->first, &good));
    size_t refused;
    do {
        if (nothing_left(choice))
            MLP_TRY(make_short_list(tuner, choice));
        refused = tuner->refused;
        MLP_TRY(judge(tuner, choice, finalists, choose_finalists(choice, finalists)));
    } while (tuner->refused > refused && (nothing_left(choice) || may_get_better(choice)));
    if (!choice->best && !choice->first->failed)
        choice->best = choice->first;
    choice->listed = best_listed(tuner, choice);
    return MLP_OK;
}

/* ---- What is told ---- */

static mlp_plan_entry entry_of(const mlp_tuner *tuner, const struct choice *choice, const mlp_plan_device *here)
{
    const mlp_candidate *best = choice->best, *listed = choice->listed;
    mlp_plan_entry entry = {.device = here->name, .multiprocessors = here->multiprocessors, .library = here->library,
                            .product = tuner->gemm->product, .apart = best->apart, .algorithm = best->attributes,
                            .workspace = best->workspace};
    memcpy(entry.bytes, &best->algorithm, sizeof entry.bytes);
    entry.times = (mlp_plan_times){.warm = 1e6 * best->warm, .cold = 1e6 * best->cold,
                                   .first_warm = 1e6 * choice->first->warm, .first_cold = 1e6 * choice->first->cold,
                                   .listed_warm = 1e6 * listed->warm, .listed_cold = 1e6 * listed->cold};
    return entry;
}

static mlp_status tell(const mlp_tuner *tuner, const struct choice *choice, const mlp_plan_device *here)
{
    mlp_tuned tuned = {.step = tuner->gemm->step, .rows = (size_t)tuner->gemm->n, .checked = tuner->checked,
                       .timed = tuner->progress.timed, .refused = tuner->refused, .why = tuner->why,
                       .kept_first = choice->best == choice->first, .none = !choice->best};
    if (choice->best)
        tuned.entry = entry_of(tuner, choice, here);
    if (tuner->tuning->tuned(tuner->tuning->context, &tuned))
        return mlp_fail(&tuner->cuda->network, MLP_BAD_ARGUMENT, "the plan could not be kept");
    return MLP_OK;
}

/* ---- One product ---- */

static mlp_status time_listed(mlp_tuner *tuner)
{
    for (size_t i = 0; i < tuner->candidates.count; i++) {
        MLP_TRY(mlp_time_quick(tuner, &tuner->candidates.at[i]));
        tuner->progress.timed++;
    }
    return MLP_OK;
}

static mlp_status no_candidate(mlp_tuner *tuner)
{
    return mlp_fail(&tuner->cuda->network, MLP_NO_PLAN, "%s, %lld rows: cuBLASLt proposes no algorithm",
                    tuner->gemm->step, (long long)tuner->gemm->n);
}

static mlp_status tune_product(mlp_tuner *tuner, const mlp_plan_device *here)
{
    struct choice choice = {.first = NULL};
    for (int apart = 0; apart <= (tuner->gemm->apart != NULL); apart++)
        MLP_TRY(mlp_gemm_describe(tuner->cuda, tuner->gemm, apart, &tuner->plans[apart]));
    MLP_TRY(mlp_fill_random(tuner));
    MLP_TRY(mlp_search_list(tuner));
    if (!tuner->candidates.count)
        return no_candidate(tuner);
    MLP_TRY(time_listed(tuner));
    MLP_TRY(mlp_search(tuner));
    MLP_TRY(choose(tuner, &choice));
    return tell(tuner, &choice, here);
}

/* ---- All products ---- */

int mlp_product_seen(const mlp_cuda_config *config, size_t gemm)
{
    for (size_t i = 0; i < gemm; i++) {
        if (!strcmp(config->gemms[i].product, config->gemms[gemm].product))
            return 1;
    }
    return 0;
}

static size_t count_products(const mlp_cuda_config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->gemm_count; i++)
        count += !mlp_product_seen(config, i);
    return count;
}

/* Of A, to be read in turn, where cold times decide: as layers that come one after another read their weights. A small
 * A is flushed out instead, and so is one that is larger than all of the flush. */
static size_t copies_of(const mlp_tuner *tuner, const mlp_gemm *gemm)
{
    size_t copies = tuner->flush_bytes / mlp_copy_bytes(gemm);
    return tuner->ranks_cold && copies <= MOST_COPIES ? copies : 0;
}

static void begin_product(mlp_tuner *tuner, const mlp_gemm *gemm, double end)
{
    double now = mlp_seconds();
    size_t left = tuner->progress.products - tuner->progress.product;
    tuner->gemm = gemm;
    tuner->deadline = now + search_share * (end > now ? end - now : 0) / (double)left;
    tuner->checked = tuner->refused = 0;
    *tuner->why = 0;
    tuner->best = 0;
    tuner->runs_per_graph = 1;
    tuner->copies = copies_of(tuner, gemm);
    tuner->progress.product++;
    tuner->progress.step = gemm->step;
    tuner->progress.rows = (size_t)gemm->n;
    tuner->progress.timed = 0;
    tuner->progress.seconds_left = end > now ? end - now : 0;
}

static mlp_status tune_all(mlp_tuner *tuner, const mlp_plan_device *here)
{
    const mlp_cuda_config *config = tuner->cuda->config;
    const double end = mlp_seconds() + tuner->tuning->seconds;
    tuner->progress.products = count_products(config);
    for (size_t i = 0; i < config->gemm_count && !*tuner->tuning->stop; i++) {
        if (mlp_product_seen(config, i))
            continue;
        if (tuner->progress.product < tuner->tuning->done) {
            tuner->progress.product++;
            continue;
        }
        begin_product(tuner, &config->gemms[i], end);
        mlp_status status = tune_product(tuner, here);
        mlp_candidates_free(&tuner->candidates);
        MLP_TRY(status);
    }
    return MLP_OK;
}

/* ---- The tuner's own memory ---- */

static mlp_status open_tuner(mlp_tuner *tuner, void **arena)
{
    int cache = 0;
    tuner->gemm = &tuner->cuda->config->gemms[0];
    CHECK(cudaStreamSynchronize((cudaStream_t)tuner->cuda->stream));
    CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, tuner->cuda->device));
    tuner->cache_bytes = (size_t)cache;
    tuner->ranks_cold = tuner->cuda->config->weights_bytes > (size_t)cache;
    tuner->flush_bytes = 3 * (size_t)cache + 1;
    CHECK(cudaMalloc(&tuner->flush, tuner->flush_bytes));
    CHECK(cudaMalloc(arena, tuner->cuda->config->arena_bytes));
    CHECK(cudaMemset(*arena, 0, tuner->cuda->config->arena_bytes));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventCreateWithFlags(&tuner->begun, cudaEventDefault));
    CHECK(cudaEventCreateWithFlags(&tuner->done, cudaEventDefault));
    return MLP_OK;
}

static void close_tuner(const mlp_tuner *tuner, void *arena)
{
    if (tuner->begun)
        cudaEventDestroy(tuner->begun);
    if (tuner->done)
        cudaEventDestroy(tuner->done);
    cudaFree(arena);
    cudaFree(tuner->flush);
}

static mlp_status tune(mlp_cuda *cuda, const mlp_tuning *tuning)
{
    mlp_tuner tuner = {.cuda = cuda, .tuning = tuning, .random = 0x9e3779b97f4a7c15u};
    unsigned char *own = cuda->arena;
    void *arena = NULL;
    char name[256];
    mlp_plan_device here;
    mlp_status status = open_tuner(&tuner, &arena);
    if (status == MLP_OK)
        status = mlp_gemm_here(cuda, name, &here);
    if (status == MLP_OK && !tuning->forms_only) {
        cuda->arena = arena;
        status = tune_all(&tuner, &here);
        cuda->arena = own;
        if (status == MLP_OK)
            status = mlp_tune_steps(&tuner, &here);
    }
    if (status == MLP_OK)
        status = mlp_tune_forms(&tuner, &here);
    close_tuner(&tuner, arena);
    return status;
}

mlp_status mlp_cuda_tune(mlp_cuda *cuda, const struct mlp_tuning *tuning)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, tune(cuda, tuning));
}
