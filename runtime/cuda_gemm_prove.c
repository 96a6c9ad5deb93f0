/* Whether an algorithm computes what it should, before a plan with it is kept.
 *
 * Operands are filled from short patterns of numbers, repeated, so that the host knows every element without reading it
 * back. A sample of the results (corners, edges, and positions at random) is compared with float64 sums:
 *   - random numbers, within what honest f32 arithmetic may show;
 *   - whole numbers 1 and -1, whose sums are exact in f32 and small enough for every type of result, to the bit: an
 *     algorithm that drops the last terms of a sum, as has been reported of split products, cannot pass;
 *   - the same with other lengths of the sum, odd ones and a long one, where the algorithm takes them;
 *   - random numbers again: every byte of the result must be as in the first run. */
#include "cuda_gemm_tune.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

enum {
    PATTERN = 65521,                /* numbers in a pattern: a prime, so that rows do not repeat */
    SAMPLES = 12,                   /* rows, and columns in each, that are compared */
    LONG_SUM = 16387,
};

enum { RANDOM, WHOLE };

#define CHECK(call) MLP_CUDA_CHECK(tuner->cuda, tuner->gemm->step, call)

/* ---- Patterns ---- */

/* Four patterns: of A, B, C and the bias. */
struct proof {
    mlp_tuner *tuner;
    mlp_gemm gemm;                  /* as it is run: k may differ from the product's */
    mlp_gemm_plan plan;
    int kind;
    double *patterns;               /* [4, PATTERN], rounded to the types of their operands */
    unsigned char *bytes;           /* one pattern as stored, or one row of results */
    int lenient;                    /* the library's own choice: it may round a product once more before the bias */
    int wrong;                      /* a proof failed; the tuner's `why` says which */
};

enum { OF_A, OF_B, OF_C, OF_BIAS };

static double element(const struct proof *proof, int of, uint64_t index)
{
    return proof->patterns[(size_t)of * PATTERN + index % PATTERN];
}

static double uniform(mlp_tuner *tuner)
{
    return (double)(mlp_tuner_random(tuner) >> 11) / 4503599627370496.0 - 1.0;
}

/* A is scaled so that sums are about as large as one number of B. Biases of a gelu are large in whole numbers: far from
 * zero gelu(x) is x, and exact. */
static double draw(const struct proof *proof, int of)
{
    mlp_tuner *tuner = proof->tuner;
    const mlp_gemm *gemm = &proof->gemm;
    int gelu = gemm->epilogue == MLP_EPILOGUE_GELU || gemm->epilogue == MLP_EPILOGUE_GELU_BIAS;
    if (proof->kind == RANDOM)
        return uniform(tuner) * (of == OF_A ? 1.7 / sqrt((double)gemm->k) : of == OF_B ? 1.7 : 1);
    if (of == OF_A || of == OF_B)
        return mlp_tuner_random(tuner) >> 63 ? 1 : -1;
    return (double)(mlp_tuner_random(tuner) >> 62) + (of == OF_BIAS && gelu ? 64 : -2);
}

/* The pattern once, then twice as much with each copy. */
static mlp_status repeat(mlp_tuner *tuner, unsigned char *to, size_t unit, size_t bytes)
{
    for (size_t done = unit; done < bytes; done *= 2) {
        size_t more = bytes - done < done ? bytes - done : done;
        CHECK(cudaMemcpyAsync(to + done, to, more, cudaMemcpyDeviceToDevice, (cudaStream_t)tuner->cuda->stream));
    }
    return MLP_OK;
}

static void draw_all(struct proof *proof, int of, mlp_dtype dtype)
{
    double *pattern = proof->patterns + (size_t)of * PATTERN;
    for (int i = 0; i < PATTERN; i++)
        pattern[i] = draw(proof, of);
    mlp_row_store(dtype, pattern, PATTERN, proof->bytes);
    mlp_row_load(dtype, proof->bytes, PATTERN, pattern);
}

static mlp_status fill(struct proof *proof, int of, const mlp_matrix *matrix, int64_t columns)
{
    mlp_tuner *tuner = proof->tuner;
    unsigned char *to = tuner->cuda->arena + matrix->offset;
    size_t size = mlp_dtype_size(matrix->dtype), bytes = (size_t)(matrix->ld * columns) * size;
    mlp_row_store(matrix->dtype, proof->patterns + (size_t)of * PATTERN, PATTERN, proof->bytes);
    size_t unit = bytes < PATTERN * size ? bytes : PATTERN * size;
    CHECK(cudaMemcpyAsync(to, proof->bytes, unit, cudaMemcpyHostToDevice, (cudaStream_t)tuner->cuda->stream));
    MLP_TRY(repeat(tuner, to, unit, bytes));
    CHECK(cudaStreamSynchronize((cudaStream_t)tuner->cuda->stream));
    return MLP_OK;
}

static int has_bias(const mlp_gemm *gemm)
{
    return gemm->epilogue == MLP_EPILOGUE_BIAS || gemm->epilogue == MLP_EPILOGUE_RELU_BIAS ||
           gemm->epilogue == MLP_EPILOGUE_GELU_BIAS;
}

static mlp_status fill_all(struct proof *proof, int kind)
{
    const mlp_gemm *gemm = &proof->gemm;
    const mlp_matrix bias = {.offset = gemm->bias, .ld = gemm->m, .dtype = gemm->bias_dtype};
    proof->kind = kind;
    draw_all(proof, OF_A, gemm->a.dtype);
    draw_all(proof, OF_B, gemm->b.dtype);
    draw_all(proof, OF_C, gemm->c.dtype);
    draw_all(proof, OF_BIAS, gemm->bias_dtype);
    MLP_TRY(fill(proof, OF_A, &gemm->a, gemm->m));
    MLP_TRY(fill(proof, OF_B, &gemm->b, gemm->n));
    if (gemm->beta != 0)
        MLP_TRY(fill(proof, OF_C, &gemm->c, gemm->n));
    return has_bias(gemm) ? fill(proof, OF_BIAS, &bias, 1) : MLP_OK;
}

/* ---- A run ---- */

/* D and the workspace hold NaN before; C, which may be where D is, its numbers again. Not MLP_OK: it failed. */
static mlp_status run(struct proof *proof)
{
    mlp_tuner *tuner = proof->tuner;
    const mlp_gemm *gemm = &proof->gemm;
    const mlp_cuda_config *config = tuner->cuda->config;
    cudaStream_t stream = (cudaStream_t)tuner->cuda->stream;
    size_t bytes = (size_t)(gemm->d.ld * (gemm->n - 1) + gemm->m) * mlp_dtype_size(gemm->d.dtype);
    CHECK(cudaMemsetAsync(tuner->cuda->arena + config->workspace, 0xff, config->workspace_bytes, stream));
    CHECK(cudaMemsetAsync(tuner->cuda->arena + gemm->d.offset, 0xff, bytes, stream));
    if (gemm->beta != 0)
        MLP_TRY(fill(proof, OF_C, &gemm->c, gemm->n));
    MLP_TRY(mlp_gemm_launch(tuner->cuda, gemm, &proof->plan));
    return mlp_tuner_wait(tuner);
}

/* ---- Comparing ---- */

static void refuse(struct proof *proof, const char *why)
{
    proof->wrong = 1;
    snprintf(proof->tuner->why, sizeof proof->tuner->why, "%s", why);
}

static double activation(const mlp_gemm *gemm, double x)
{
    switch (gemm->epilogue) {
    case MLP_EPILOGUE_RELU:
    case MLP_EPILOGUE_RELU_BIAS:
        return x > 0 ? x : 0;
    case MLP_EPILOGUE_GELU:
    case MLP_EPILOGUE_GELU_BIAS:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case MLP_EPILOGUE_DEFAULT:
    case MLP_EPILOGUE_BIAS:
        break;
    }
    return x;
}

/* What an operand of a TF32 product loses at most, of its size. */
static double operand_step(const mlp_gemm *gemm)
{
    return gemm->compute == MLP_COMPUTE_TF32 ? 1.0 / 1024 : 0;
}

/* The sum in float64, before the activation; *bound is what f32 arithmetic in any order may be off. */
static double exact_sum(const struct proof *proof, int64_t row, int64_t column, double *bound)
{
    const mlp_gemm *gemm = &proof->gemm;
    double sum = 0, size = 0, extra = 0;
    for (int64_t i = 0; i < gemm->k; i++) {
        double term = element(proof, OF_A, (uint64_t)(column * gemm->a.ld + i)) *
                      element(proof, OF_B, (uint64_t)(row * gemm->b.ld + i));
        sum += term;
        size += fabs(term);
    }
    if (gemm->beta != 0)
        extra += (double)gemm->beta * element(proof, OF_C, (uint64_t)(row * gemm->c.ld + column));
    if (has_bias(gemm))
        extra += element(proof, OF_BIAS, (uint64_t)column);
    *bound = size * (2 * operand_step(gemm) + (double)(gemm->k + 8) * 0x1p-23) + fabs(extra) * 0x1p-22;
    return sum + extra;
}

/* The library's gelu is off by some 4e-6; behind far from zero whole numbers it is exact. */
static int right(const struct proof *proof, double sum, double bound, double got)
{
    const mlp_gemm *gemm = &proof->gemm;
    double want = activation(gemm, sum), rounded = want;
    unsigned char stored[8];
    if (proof->kind == WHOLE) {
        mlp_row_store(gemm->d.dtype, &want, 1, stored);
        mlp_row_load(gemm->d.dtype, stored, 1, &rounded);
        int gelu = gemm->epilogue == MLP_EPILOGUE_GELU || gemm->epilogue == MLP_EPILOGUE_GELU_BIAS;
        return gelu && sum < 16 ? fabs(got - want) < 0.5 : got == rounded;
    }
    bound = 1.2 * bound + 2 * mlp_dtype_half_step(gemm->d.dtype, want) + 1e-5 * (fabs(sum) + 1e-3);
    if (proof->lenient)
        bound += 1.2 * mlp_dtype_half_step(gemm->d.dtype, fabs(sum) + 2);  /* C and the bias are at most 1 each */
    return fabs(got - want) <= bound;   /* NaN is not */
}

static int64_t sample(mlp_tuner *tuner, int i, int64_t count)
{
    const int64_t edges[] = {0, count - 1, count / 2, count - 1 - count / 3};
    return i < 4 ? edges[i] : (int64_t)(mlp_tuner_random(tuner) % (uint64_t)count);
}

static int row_right(const struct proof *proof, int64_t row, const char *why)
{
    const mlp_gemm *gemm = &proof->gemm;
    mlp_tuner *tuner = proof->tuner;
    size_t size = mlp_dtype_size(gemm->d.dtype);
    int good = 1;
    for (int i = 0; i < SAMPLES && good; i++) {
        int64_t column = sample(tuner, i, gemm->m);
        double got, bound, sum = exact_sum(proof, row, column, &bound);
        mlp_row_load(gemm->d.dtype, proof->bytes + (size_t)column * size, 1, &got);
        good = right(proof, sum, bound, got);
        if (!good)
            snprintf(tuner->why, sizeof tuner->why, "%s: row %" PRId64 ", column %" PRId64 ": %.9g, not %.9g", why, row,
                     column, got, activation(gemm, sum));
    }
    return good;
}

static mlp_status compare(struct proof *proof, const char *why)
{
    mlp_tuner *tuner = proof->tuner;
    const mlp_gemm *gemm = &proof->gemm;
    size_t size = mlp_dtype_size(gemm->d.dtype);
    for (int i = 0; i < SAMPLES && !proof->wrong; i++) {
        int64_t row = sample(tuner, i, gemm->n);
        CHECK(cudaMemcpy(proof->bytes, tuner->cuda->arena + gemm->d.offset + (size_t)(row * gemm->d.ld) * size,
                         (size_t)gemm->m * size, cudaMemcpyDeviceToHost));
        if (!row_right(proof, row, why))
            proof->wrong = 1;
    }
    return MLP_OK;
}

/* ---- The same bits twice ---- */

static mlp_status download(const struct proof *proof, unsigned char *to, size_t bytes)
{
    const mlp_tuner *tuner = proof->tuner;
    CHECK(cudaMemcpy(to, tuner->cuda->arena + proof->gemm.d.offset, bytes, cudaMemcpyDeviceToHost));
    return MLP_OK;
}

/* Between the rows there may be columns that are not D's: they hold the same NaN both times. */
static mlp_status run_twice(struct proof *proof, unsigned char *first, unsigned char *second, size_t bytes)
{
    MLP_TRY(run(proof));
    MLP_TRY(download(proof, first, bytes));
    MLP_TRY(run(proof));
    MLP_TRY(download(proof, second, bytes));
    if (memcmp(first, second, bytes))
        refuse(proof, "gives other bits in another run");
    return MLP_OK;
}

static mlp_status prove_steady(struct proof *proof)
{
    const mlp_gemm *gemm = &proof->gemm;
    size_t bytes = (size_t)(gemm->d.ld * (gemm->n - 1) + gemm->m) * mlp_dtype_size(gemm->d.dtype);
    unsigned char *both = malloc(2 * bytes);
    if (!both)
        return mlp_fail(&proof->tuner->cuda->network, MLP_NO_MEMORY, "%zu bytes of results", 2 * bytes);
    mlp_status status = run_twice(proof, both, both + bytes, bytes);
    free(both);
    return status;
}

/* ---- The proofs ---- */

static mlp_status prove_kind(struct proof *proof, int kind, const char *why)
{
    MLP_TRY(fill_all(proof, kind));
    MLP_TRY(run(proof));
    return compare(proof, why);
}

/* The library takes odd sizes less often. */
static int64_t whole_vectors(int64_t count)
{
    return count > 8 ? count / 8 * 8 : count;
}

/* The same algorithm with sums of another length, where it takes them: with all rows and columns of the operands. */
static mlp_status prove_length(struct proof *proof, const mlp_candidate *candidate, int64_t k)
{
    mlp_tuner *tuner = proof->tuner;
    const mlp_gemm *gemm = tuner->gemm;
    int64_t ld = (k + 7) / 8 * 8;
    uint64_t workspace;
    proof->gemm = *gemm;
    proof->gemm.k = k;
    if (k > gemm->k) {
        proof->gemm.a.ld = proof->gemm.b.ld = ld;
        proof->gemm.m = whole_vectors(gemm->a.ld * gemm->m / ld);
        proof->gemm.n = whole_vectors(gemm->b.ld * gemm->n / ld);
    }
    if (k < 1 || proof->gemm.m < 1 || proof->gemm.n < 1)
        return MLP_OK;
    MLP_TRY(mlp_gemm_describe(tuner->cuda, &proof->gemm, candidate->apart, &proof->plan));
    if (mlp_algorithm_check(tuner->cuda, &proof->plan, &candidate->algorithm, &workspace) != CUBLAS_STATUS_SUCCESS ||
        workspace > tuner->cuda->config->workspace_bytes)
        return MLP_OK;
    mlp_gemm_use(&proof->plan, &candidate->algorithm, workspace);
    return prove_kind(proof, WHOLE, "drops or repeats terms of a sum of another length");
}

static mlp_status prove_lengths(struct proof *proof, const mlp_candidate *candidate)
{
    const int64_t k = proof->tuner->gemm->k, lengths[] = {k - 1, k - 3, k - 8, LONG_SUM, LONG_SUM + 5};
    if (candidate->apart)           /* its epilogue is a kernel for the product's own sizes */
        return MLP_OK;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && !proof->wrong; i++)
        MLP_TRY(prove_length(proof, candidate, lengths[i]));
    return MLP_OK;
}

/* The first choice is only asked for what it would have to do: its plan is no other than what runs without one. For one
 * row and few columns it was seen to add the bias to sums that are rounded already. */
static mlp_status prove(struct proof *proof, const mlp_candidate *candidate)
{
    int first = candidate == &proof->tuner->candidates.at[0];
    proof->lenient = first;
    MLP_TRY(prove_kind(proof, WHOLE, "is not exact on whole numbers"));
    if (!proof->wrong)
        MLP_TRY(prove_kind(proof, RANDOM, "is not what float64 gives"));
    if (!proof->wrong)
        MLP_TRY(prove_steady(proof));
    return proof->wrong || first ? MLP_OK : prove_lengths(proof, candidate);
}

static mlp_status open_proof(struct proof *proof, mlp_tuner *tuner)
{
    size_t row = (size_t)tuner->gemm->m > PATTERN ? (size_t)tuner->gemm->m : PATTERN;
    *proof = (struct proof){.tuner = tuner, .gemm = *tuner->gemm};
    proof->patterns = malloc(4 * PATTERN * sizeof *proof->patterns);
    proof->bytes = malloc((row + LONG_SUM) * 8);
    if (proof->patterns && proof->bytes)
        return MLP_OK;
    return mlp_fail(&tuner->cuda->network, MLP_NO_MEMORY, "numbers to test a product with");
}

static void close_proof(struct proof *proof)
{
    free(proof->patterns);
    free(proof->bytes);
}

mlp_status mlp_prove(mlp_tuner *tuner, const mlp_candidate *candidate, int *good)
{
    struct proof proof;
    mlp_status status = open_proof(&proof, tuner);
    proof.plan = *mlp_candidate_plan(tuner, candidate);
    tuner->running = candidate;
    if (status == MLP_OK)
        status = prove(&proof, candidate);
    *good = status == MLP_OK && !proof.wrong;
    if (status == MLP_NO_PLAN || status == MLP_DEVICE_FAILED) {
        refuse(&proof, "does not run");     /* a device that no longer works fails in what comes next */
        cudaGetLastError();
        status = MLP_OK;
    }
    close_proof(&proof);
    return status == MLP_OK ? mlp_fill_random(tuner) : status;
}

size_t mlp_copy_bytes(const mlp_gemm *gemm)
{
    return ((size_t)(gemm->a.ld * gemm->m) * mlp_dtype_size(gemm->a.dtype) + 255) / 256 * 256;
}

static mlp_status fill_copies(mlp_tuner *tuner)
{
    const mlp_gemm *gemm = tuner->gemm;
    size_t stride = mlp_copy_bytes(gemm), bytes = (size_t)(gemm->a.ld * gemm->m) * mlp_dtype_size(gemm->a.dtype);
    for (size_t i = 0; i < tuner->copies; i++)
        CHECK(cudaMemcpyAsync((unsigned char *)tuner->flush + i * stride, tuner->cuda->arena + gemm->a.offset, bytes,
                              cudaMemcpyDeviceToDevice, (cudaStream_t)tuner->cuda->stream));
    return MLP_OK;
}

mlp_status mlp_fill_random(mlp_tuner *tuner)
{
    struct proof proof;
    mlp_status status = open_proof(&proof, tuner);
    if (status == MLP_OK)
        status = fill_all(&proof, RANDOM);
    if (status == MLP_OK)
        status = fill_copies(tuner);
    close_proof(&proof);
    return status;
}
