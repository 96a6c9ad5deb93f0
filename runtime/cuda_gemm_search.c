/* Which algorithms of cuBLASLt to try for a product. Asking whether one can run takes a microsecond, timing it a
 * thousand times that; there are millions of combinations of attributes, of which some ten thousand can run. So: what
 * the heuristic proposes is timed first; then the neighbours of the fastest, those that differ in one attribute before
 * those that differ in two (which custom option goes with which tile and cluster follows no rule that the library
 * tells: combinations are tried); and what time is left goes to combinations drawn at random from all there are. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum {
    LISTED = 8,                     /* what the heuristic tells at most, however many are asked for */
    MOST_IDS = 64,
    MOST_VALUES = 1024,             /* of one attribute */
    EXPANDED = 8,                   /* of the fastest, whose neighbours are tried */
    SHORTEST_PART = 16,             /* of a split sum */
    DRAWS = 4000,                   /* at random, before the search looks whether its time is over */
};

/* ---- Candidates ---- */

/* One number for an algorithm, never 0. */
static uint64_t code_of(const mlp_algorithm *a, int apart)
{
    uint64_t code = (uint64_t)a->id & 0x3ff;
    code = code << 12 | (a->tile & 0xfff);
    code = code << 7 | (a->stages & 0x7f);
    code = code << 8 | (a->split_k & 0xff);
    code = code << 3 | (a->reduction & 7);
    code = code << 2 | (a->swizzle & 3);
    code = code << 7 | (a->custom & 0x7f);
    code = code << 5 | (a->inner_shape & 0x1f);
    code = code << 7 | (a->cluster & 0x7f);
    return code << 2 | (unsigned)(apart != 0) << 1 | 1;
}

/* The place of a code in the table, or the free place where it belongs. */
static size_t place_of(const mlp_candidates *all, uint64_t code)
{
    size_t mask = all->seen_capacity - 1, place = (size_t)((code * 0x9e3779b97f4a7c15u) >> 20) & mask;
    while (all->seen[place] && all->seen[place] != code)
        place = (place + 1) & mask;
    return place;
}

static int grow_seen(mlp_candidates *all)
{
    mlp_candidates larger = *all;
    larger.seen_capacity = all->seen_capacity ? 2 * all->seen_capacity : 65536;
    larger.seen = calloc(larger.seen_capacity, sizeof *larger.seen);
    if (!larger.seen)
        return 0;
    for (size_t i = 0; i < all->seen_capacity; i++) {
        if (all->seen[i])
            larger.seen[place_of(&larger, all->seen[i])] = all->seen[i];
    }
    free(all->seen);
    *all = larger;
    return 1;
}

/* Whether this is the first look at an algorithm. -1: no memory. */
static int first_look(mlp_candidates *all, uint64_t code)
{
    if (2 * all->seen_count >= all->seen_capacity && !grow_seen(all))
        return -1;
    size_t place = place_of(all, code);
    if (all->seen[place])
        return 0;
    all->seen[place] = code;
    all->seen_count++;
    return 1;
}

static mlp_status no_memory(mlp_tuner *tuner)
{
    return mlp_fail(&tuner->cuda->network, MLP_NO_MEMORY, "%zu algorithms of a product", tuner->candidates.count);
}

static mlp_status add(mlp_tuner *tuner, const mlp_candidate *candidate)
{
    mlp_candidates *all = &tuner->candidates;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 1024;
        mlp_candidate *larger = realloc(all->at, capacity * sizeof *larger);
        if (!larger)
            return no_memory(tuner);
        all->at = larger;
        all->capacity = capacity;
    }
    all->at[all->count++] = *candidate;
    return MLP_OK;
}

void mlp_candidates_free(mlp_candidates *candidates)
{
    free(candidates->at);
    free(candidates->seen);
    memset(candidates, 0, sizeof *candidates);
}

/* With parts shorter than one step of the tensor cores kernels were seen to hang. */
static int splits_too_much(const mlp_gemm *gemm, const mlp_algorithm *attributes)
{
    return attributes->split_k > 1 && gemm->k / SHORTEST_PART < (int64_t)attributes->split_k;
}

static int has_hung(const mlp_tuner *tuner, const mlp_algorithm *attributes, int apart)
{
    for (size_t i = 0; i < tuner->tuning->hung_count; i++) {
        const mlp_hung *one = &tuner->tuning->all_hung[i];
        if (!strcmp(one->product, tuner->gemm->product) &&
            code_of(&one->algorithm, one->apart) == code_of(attributes, apart))
            return 1;
    }
    return 0;
}

/* Adds the algorithm if it is new, keeps to the rules, and can run this product. */
static mlp_status consider(mlp_tuner *tuner, const mlp_algorithm *attributes, int apart, int listed)
{
    mlp_candidate candidate = {.attributes = *attributes, .apart = apart, .listed = listed};
    int look = first_look(&tuner->candidates, code_of(attributes, apart));
    if (look < 0)
        return no_memory(tuner);
    if (look == 0 || has_hung(tuner, attributes, apart) || splits_too_much(tuner->gemm, attributes))
        return MLP_OK;
    if (mlp_algorithm_build(tuner->cuda, tuner->gemm, attributes, &candidate.algorithm) != CUBLAS_STATUS_SUCCESS ||
        mlp_algorithm_check(tuner->cuda, &tuner->plans[apart], &candidate.algorithm, &candidate.workspace) !=
            CUBLAS_STATUS_SUCCESS ||
        candidate.workspace > tuner->cuda->config->workspace_bytes ||
        !mlp_gemm_precise(tuner->gemm, &candidate.algorithm))
        return MLP_OK;
    tuner->checked++;
    return add(tuner, &candidate);
}

/* ---- What the heuristic proposes, and what was found before ---- */

static mlp_status list_within(mlp_tuner *tuner, int apart, uint64_t workspace)
{
    cublasLtMatmulHeuristicResult_t results[LISTED];
    mlp_algorithm attributes;
    int found = 0;
    MLP_TRY(mlp_gemm_propose(tuner->cuda, tuner->gemm, &tuner->plans[apart], workspace, LISTED, results, &found));
    for (int i = 0; i < found; i++) {
        if (results[i].state == CUBLAS_STATUS_SUCCESS &&
            mlp_algorithm_read(&results[i].algo, &attributes) == CUBLAS_STATUS_SUCCESS)
            MLP_TRY(consider(tuner, &attributes, apart, 1));
    }
    return MLP_OK;
}

static mlp_status list_known(mlp_tuner *tuner)
{
    const mlp_plan_file *known = tuner->tuning->plans;
    for (size_t i = 0; i < known->count; i++) {
        const mlp_plan_entry *entry = &known->entries[i];
        if (!strcmp(entry->product, tuner->gemm->product) && (!entry->apart || tuner->gemm->apart))
            MLP_TRY(consider(tuner, &entry->algorithm, entry->apart, 0));
    }
    return MLP_OK;
}

mlp_status mlp_search_list(mlp_tuner *tuner)
{
    const uint64_t limits[] = {tuner->cuda->config->workspace_bytes, 4 << 20, 0};
    for (int apart = 0; apart <= (tuner->gemm->apart != NULL); apart++) {
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
            MLP_TRY(list_within(tuner, apart, limits[i]));
    }
    return list_known(tuner);
}

/* ---- The space of attributes ---- */

enum { TILE, STAGES, SPLIT_K, SWIZZLE, CUSTOM, INNER_SHAPE, CLUSTER, DIMENSIONS };

struct values {
    uint32_t at[MOST_VALUES];
    size_t count;
};

struct space {
    int ids[MOST_IDS];
    int id_count;
    int id;                         /* whose attributes these are */
    struct values values[DIMENSIONS];
};

static unsigned *member(mlp_algorithm *a, int dimension)
{
    unsigned *const members[DIMENSIONS] = {&a->tile,   &a->stages,      &a->split_k, &a->swizzle,
                                           &a->custom, &a->inner_shape, &a->cluster};
    return members[dimension];
}

/* Parts of a split product are summed in f32, in the workspace. */
static void set_member(mlp_algorithm *a, int dimension, uint32_t value)
{
    *member(a, dimension) = value;
    if (dimension == SPLIT_K)
        a->reduction = value > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_NONE;
}

static void read_list(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoCapAttributes_t which,
                      struct values *values)
{
    size_t bytes = 0;
    cublasStatus_t status =
        cublasLtMatmulAlgoCapGetAttribute(algorithm, which, values->at, sizeof values->at, &bytes);
    values->count = status == CUBLAS_STATUS_SUCCESS ? bytes / sizeof *values->at : 0;
    if (!values->count)
        values->at[values->count++] = 0;
}

static uint32_t read_number(const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoCapAttributes_t which)
{
    uint32_t number = 0;
    size_t bytes;
    return cublasLtMatmulAlgoCapGetAttribute(algorithm, which, &number, sizeof number, &bytes) ? 0 : number;
}

static void count_up(struct values *values, uint32_t last)
{
    values->count = 0;
    for (uint32_t i = 0; i <= last && i < MOST_VALUES; i++)
        values->at[values->count++] = i;
}

static void read_splits(const cublasLtMatmulAlgo_t *algorithm, struct values *values)
{
    static const uint32_t splits[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
    values->count = read_number(algorithm, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) ? sizeof splits / sizeof *splits : 1;
    memcpy(values->at, splits, sizeof splits);
}

static void single_values(struct space *space)
{
    for (int i = 0; i < DIMENSIONS; i++)
        space->values[i] = (struct values){.at = {0}, .count = 1};
}

/* An algorithm that the library does not let us begin with has no values but 0. */
static void read_space(mlp_tuner *tuner, int id, struct space *space)
{
    const mlp_gemm *gemm = tuner->gemm;
    cublasLtMatmulAlgo_t algorithm;
    struct values *values = space->values;
    if (space->id == id)
        return;
    space->id = id;
    single_values(space);
    if (cublasLtMatmulAlgoInit((cublasLtHandle_t)tuner->cuda->handle, mlp_compute_type[gemm->compute], CUDA_R_32F,
                               mlp_data_type[gemm->a.dtype], mlp_data_type[gemm->b.dtype],
                               mlp_data_type[gemm->c.dtype], mlp_data_type[gemm->d.dtype], id, &algorithm))
        return;
    read_list(&algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, &values[TILE]);
    read_list(&algorithm, CUBLASLT_ALGO_CAP_STAGES_IDS, &values[STAGES]);
    read_splits(&algorithm, &values[SPLIT_K]);
    count_up(&values[SWIZZLE], read_number(&algorithm, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT) ? 1 : 0);
    count_up(&values[CUSTOM], read_number(&algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX));
    count_up(&values[INNER_SHAPE], CUBLASLT_MATMUL_INNER_SHAPE_END - 1);
    count_up(&values[CLUSTER], CUBLASLT_CLUSTER_SHAPE_END - 1);
}

static mlp_status read_ids(mlp_tuner *tuner, struct space *space)
{
    const mlp_gemm *gemm = tuner->gemm;
    mlp_cuda *cuda = tuner->cuda;
    space->id = -1;
    GEMM_CHECK(gemm, cublasLtMatmulAlgoGetIds((cublasLtHandle_t)cuda->handle, mlp_compute_type[gemm->compute],
                                              CUDA_R_32F, mlp_data_type[gemm->a.dtype], mlp_data_type[gemm->b.dtype],
                                              mlp_data_type[gemm->c.dtype], mlp_data_type[gemm->d.dtype], MOST_IDS,
                                              space->ids, &space->id_count));
    return MLP_OK;
}

/* ---- Timing what was found ---- */

static void report(mlp_tuner *tuner)
{
    double now = mlp_seconds();
    if (!tuner->tuning->progress || now - tuner->reported < 0.1)
        return;
    tuner->reported = now;
    tuner->progress.best = 1e6 * tuner->best;
    tuner->progress.first = 1e6 * tuner->candidates.at[0].quick;
    tuner->tuning->progress(tuner->tuning->context, &tuner->progress);
}

/* Candidates [first, ...) in random order: where time runs out, those that were timed are a sample of all. */
static mlp_status time_from(mlp_tuner *tuner, size_t first)
{
    mlp_candidates *all = &tuner->candidates;
    for (size_t i = first; i < all->count && !mlp_tuner_stops(tuner); i++) {
        size_t j = i + (size_t)(mlp_tuner_random(tuner) % (all->count - i));
        mlp_candidate swap = all->at[i];
        all->at[i] = all->at[j];
        all->at[j] = swap;
        MLP_TRY(mlp_time_quick(tuner, &all->at[i]));
        tuner->progress.timed++;
        report(tuner);
    }
    return MLP_OK;
}

/* ---- Neighbours ---- */

static mlp_status vary_one(mlp_tuner *tuner, const struct space *space, const mlp_candidate *centre, int dimension)
{
    const struct values *values = &space->values[dimension];
    for (size_t i = 0; i < values->count; i++) {
        mlp_algorithm attributes = centre->attributes;
        set_member(&attributes, dimension, values->at[i]);
        MLP_TRY(consider(tuner, &attributes, centre->apart, 0));
    }
    return MLP_OK;
}

static mlp_status vary_two(mlp_tuner *tuner, const struct space *space, const mlp_candidate *centre, int first,
                           int second)
{
    const struct values *values = &space->values[first];
    for (size_t i = 0; i < values->count && !mlp_tuner_stops(tuner); i++) {
        mlp_candidate moved = *centre;
        set_member(&moved.attributes, first, values->at[i]);
        MLP_TRY(vary_one(tuner, space, &moved, second));
    }
    return MLP_OK;
}

static mlp_status expand(mlp_tuner *tuner, struct space *space, size_t index)
{
    mlp_candidate centre = tuner->candidates.at[index];     /* a copy: the array may move */
    size_t first = tuner->candidates.count;
    tuner->candidates.at[index].expanded = 1;
    read_space(tuner, centre.attributes.id, space);
    for (int i = 0; i < DIMENSIONS; i++)
        MLP_TRY(vary_one(tuner, space, &centre, i));
    MLP_TRY(time_from(tuner, first));
    first = tuner->candidates.count;
    for (int i = 0; i < DIMENSIONS; i++) {
        for (int j = i + 1; j < DIMENSIONS; j++)
            MLP_TRY(vary_two(tuner, space, &centre, i, j));
    }
    return time_from(tuner, first);
}

/* The fastest of those whose neighbours have not been tried, if it is among the fastest of all; else count. */
static size_t next_centre(const mlp_candidates *all)
{
    size_t best = all->count, faster = 0;
    for (size_t i = 0; i < all->count; i++) {
        const mlp_candidate *one = &all->at[i];
        if (!one->expanded && one->quick > 0 && !one->failed &&
            (best == all->count || one->quick < all->at[best].quick))
            best = i;
    }
    for (size_t i = 0; best < all->count && i < all->count; i++)
        faster += all->at[i].expanded && all->at[i].quick < all->at[best].quick;
    return faster < EXPANDED ? best : all->count;
}

/* ---- At random ---- */

/* One that can run with about half of its attributes drawn anew, for most combinations of all of them cannot; or, now
 * and then, another algorithm altogether. */
static mlp_candidate mutate(mlp_tuner *tuner, struct space *space)
{
    const mlp_candidates *all = &tuner->candidates;
    mlp_candidate base = all->at[mlp_tuner_random(tuner) % all->count];
    if (mlp_tuner_random(tuner) % 8 == 0)
        base.attributes.id = space->ids[mlp_tuner_random(tuner) % (uint64_t)space->id_count];
    read_space(tuner, base.attributes.id, space);
    for (int i = 0; i < DIMENSIONS; i++) {
        const struct values *values = &space->values[i];
        if (mlp_tuner_random(tuner) % 2)
            set_member(&base.attributes, i, values->at[mlp_tuner_random(tuner) % values->count]);
    }
    return base;
}

static mlp_status draw(mlp_tuner *tuner, struct space *space)
{
    for (int i = 0; i < DRAWS && !mlp_tuner_stops(tuner); i++) {
        mlp_candidate drawn = mutate(tuner, space);
        MLP_TRY(consider(tuner, &drawn.attributes, drawn.apart, 0));
    }
    return MLP_OK;
}

/* ---- All of it ---- */

mlp_status mlp_search(mlp_tuner *tuner)
{
    struct space *space = malloc(sizeof *space);
    if (!space)
        return no_memory(tuner);
    size_t centre, first;
    mlp_status status = read_ids(tuner, space);
    while (status == MLP_OK && !mlp_tuner_stops(tuner)) {
        first = tuner->candidates.count;
        centre = next_centre(&tuner->candidates);
        if (centre < first) {
            status = expand(tuner, space, centre);
        } else {
            status = draw(tuner, space);
            if (status == MLP_OK)
                status = time_from(tuner, first);
        }
    }
    free(space);
    return status;
}
