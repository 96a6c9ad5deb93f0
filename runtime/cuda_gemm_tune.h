/* cuda_gemm_tune.h -- the search for the fastest algorithm of a product: its state, and what each file does with it.
 *
 *   cuda_gemm_tune.c    takes the products one by one, decides, and tells what was found
 *   cuda_gemm_search.c  which algorithms there are, and in which order they are tried
 *   cuda_gemm_time.c    how long one takes
 *   cuda_gemm_prove.c   whether one computes what it should
 *   cuda_gemm_steps.c   whether the plans that were chosen are faster in the network, too
 *   cuda_gemm_forms.c   whether the steps are faster than the whole network in one kernel
 *
 * Products are tuned in an arena of the tuner's own, laid out like the network's; steps and forms, in the network's. */
#ifndef MLP_CUDA_GEMM_TUNE_H
#define MLP_CUDA_GEMM_TUNE_H

#include "cuda_gemm.h"
#include "mlp_tuning.h"

typedef struct mlp_candidate {
    mlp_algorithm attributes;
    cublasLtMatmulAlgo_t algorithm;
    uint64_t workspace;
    int apart;                      /* the epilogue is a kernel of its own */
    int listed;                     /* the heuristic proposed it */
    int expanded;                   /* its neighbours were tried */
    int failed;                     /* it would not run, or failed a proof */
    double quick;                   /* seconds, from a short measurement; 0 before it */
    double warm, cold;              /* seconds, medians of the final measurement; 0 before it */
} mlp_candidate;

typedef struct mlp_candidates {
    mlp_candidate *at;
    size_t count, capacity;
    uint64_t *seen;                 /* open hash table of the codes of all algorithms that were ever looked at */
    size_t seen_count, seen_capacity;   /* a power of two */
} mlp_candidates;

typedef struct mlp_tuner {
    mlp_cuda *cuda;                 /* the network's, whose arena is the tuner's meanwhile */
    const mlp_tuning *tuning;
    const mlp_gemm *gemm;           /* the product at hand */
    mlp_gemm_plan plans[2];         /* its descriptors, fused and apart */
    mlp_candidates candidates;      /* [0]: the heuristic's first choice */
    size_t checked, refused;
    char why[160];                  /* the last one was refused, or "" */
    double deadline;                /* of the search for this product, in mlp_seconds() */
    double best;                    /* quickest so far, seconds */
    size_t runs_per_graph;
    uint64_t random;
    int ranks_cold;                 /* the network's weights do not fit in the L2 cache: cold times decide */
    size_t cache_bytes;
    void *flush;                    /* device memory larger than the L2 cache: to flush it, */
    size_t flush_bytes;
    size_t copies;                  /* or for so many copies of A, together larger than the cache; 0: it is flushed */
    cudaEvent_t begun, done;
    const mlp_candidate *running;   /* what the device works on, for whoever must tell that it never ended */
    mlp_tuning_progress progress;
    double reported;                /* when progress was last shown */
} mlp_tuner;

/* The descriptors with this candidate's algorithm. */
mlp_gemm_plan *mlp_candidate_plan(mlp_tuner *tuner, const mlp_candidate *candidate);
/* The user has had enough, or the time for this product is over. */
int mlp_tuner_stops(const mlp_tuner *tuner);
uint64_t mlp_tuner_random(mlp_tuner *tuner);
/* Waits until the device has done what it was given. Where that takes too long, the algorithm that is running has hung,
 * and the device with it for this process: tuning->hung is told, and does not return. */
mlp_status mlp_tuner_wait(mlp_tuner *tuner);

/* Search. `list` finds what the heuristic proposes, the plans known already, and the first choice as candidate 0;
 * `search` adds candidates and times them until the deadline. */
mlp_status mlp_search_list(mlp_tuner *tuner);
mlp_status mlp_search(mlp_tuner *tuner);
void mlp_candidates_free(mlp_candidates *candidates);

/* Time. A candidate that does not run is marked as failed; other failures are returned. `quick` gives up on one that is
 * clearly slower than the best. `again` takes a few more launches, since the quickest of thousands were partly lucky.
 * `finals` measures the candidates in turn, each round in another order. */
mlp_status mlp_time_quick(mlp_tuner *tuner, mlp_candidate *candidate);
mlp_status mlp_time_again(mlp_tuner *tuner, mlp_candidate *candidate);
mlp_status mlp_time_finals(mlp_tuner *tuner, mlp_candidate **candidates, size_t count);
/* How many times as long `one` takes as `other`, each on a device that has rested. */
mlp_status mlp_time_rested(mlp_tuner *tuner, mlp_candidate *one, mlp_candidate *other, double *ratio);

/* Proof. Runs the candidate on random numbers against float64, on whole numbers against exact sums, twice for the same
 * bits, and with other sums of odd and large length; *good is 0, and the tuner's `why` says it, where one fails. Leaves
 * random numbers in the operands. */
mlp_status mlp_prove(mlp_tuner *tuner, const mlp_candidate *candidate, int *good);

/* Whether an earlier step or batch size has the same product. */
int mlp_product_seen(const mlp_cuda_config *config, size_t gemm);
/* Plans that make the network slower are given up, and told. */
mlp_status mlp_tune_steps(mlp_tuner *tuner, const mlp_plan_device *here);
/* The plans that are known for this device, in use by the network; its inputs, random. */
mlp_status mlp_use_tuned_plans(mlp_tuner *tuner, const mlp_plan_device *here);
mlp_status mlp_fill_inputs(mlp_tuner *tuner, size_t rows);
/* So many runs of the network in one form, as a graph that the caller destroys. */
mlp_status mlp_record_form(mlp_tuner *tuner, mlp_cuda_forward *forward, size_t repeats, cudaGraphExec_t *ready);

/* Forms of all batch sizes, told one by one. */
mlp_status mlp_tune_forms(mlp_tuner *tuner, const mlp_plan_device *here);

/* Bytes from one copy of A to the next: a multiple of 256. */
size_t mlp_copy_bytes(const mlp_gemm *gemm);
/* Random numbers in all operands, and in the copies of A, to measure on. */
mlp_status mlp_fill_random(mlp_tuner *tuner);

#endif
