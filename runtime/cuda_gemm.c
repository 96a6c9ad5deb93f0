/* Products through cuBLASLt. At init each product of each batch size becomes descriptors, layouts and an algorithm:
 * that of its locked plan, or what the library's heuristic chooses, asked once. A run only calls cublasLtMatmul.
 * Everything is column-major, A is transposed (as it stands in memory, a weight [out, in] is the matrix in x out), sums
 * are f32.
 *
 * f32 stays f32: algorithms that round their operands to a shorter type are excluded, and a process in which
 * NVIDIA_TF32_OVERRIDE would change that behind the network's back is refused. Partial sums of a split product are
 * kept in f32, never in the type of the output. */
#include "cuda_gemm.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHECK GEMM_CHECK

_Static_assert(sizeof(cublasLtMatmulDescOpaque_t) == sizeof ((mlp_gemm_plan *)0)->operation, "room for a descriptor");
_Static_assert(sizeof(cublasLtMatrixLayoutOpaque_t) == sizeof ((mlp_gemm_plan *)0)->a, "room for a layout");
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof ((mlp_gemm_plan *)0)->algorithm, "room for an algorithm");

const cudaDataType_t mlp_data_type[] = {
    [MLP_F32] = CUDA_R_32F, [MLP_TF32] = CUDA_R_32F, [MLP_F16] = CUDA_R_16F, [MLP_BF16] = CUDA_R_16BF};

const cublasComputeType_t mlp_compute_type[] = {
    [MLP_COMPUTE_F32] = CUBLAS_COMPUTE_32F, [MLP_COMPUTE_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32};

static const struct {
    cublasLtEpilogue_t epilogue;
    int bias;
} epilogues[] = {
    [MLP_EPILOGUE_DEFAULT] = {CUBLASLT_EPILOGUE_DEFAULT, 0},
    [MLP_EPILOGUE_BIAS] = {CUBLASLT_EPILOGUE_BIAS, 1},
    [MLP_EPILOGUE_RELU] = {CUBLASLT_EPILOGUE_RELU, 0},
    [MLP_EPILOGUE_RELU_BIAS] = {CUBLASLT_EPILOGUE_RELU_BIAS, 1},
    [MLP_EPILOGUE_GELU] = {CUBLASLT_EPILOGUE_GELU, 0},
    [MLP_EPILOGUE_GELU_BIAS] = {CUBLASLT_EPILOGUE_GELU_BIAS, 1},
};

/* ---- Errors ---- */

static mlp_status status_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return MLP_NO_MEMORY;
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return MLP_WRONG_DEVICE;
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return MLP_NO_PLAN;
    default:
        return MLP_DEVICE_FAILED;
    }
}

mlp_status mlp_gemm_failed(mlp_cuda *cuda, const mlp_gemm *gemm, const char *call, cublasStatus_t status)
{
    const char *words = cublasLtGetStatusString(status), *name = cublasLtGetStatusName(status);
    int length = (int)strcspn(call, "(");
    cudaGetLastError();             /* the library calls the CUDA runtime */
    if (!gemm)
        return mlp_fail(&cuda->network, status_of(status), "%.*s: %s (%s)", length, call, words, name);
    return mlp_fail(&cuda->network, status_of(status), "%s, %lld rows: %.*s: %s (%s)", gemm->step, (long long)gemm->n,
                    length, call, words, name);
}

/* ---- Checks of the process ---- */

static mlp_status check_library(mlp_cuda *cuda)
{
    size_t version = cublasLtGetVersion();
    if (version / 10000 == CUBLAS_VER_MAJOR)
        return MLP_OK;
    return mlp_fail(&cuda->network, MLP_WRONG_LIBRARY, "built with %d.%d, found %zu.%zu", CUBLAS_VER_MAJOR,
                    CUBLAS_VER_MINOR, version / 10000, version / 100 % 100);
}

/* Whether operands must keep all their 24 bits. */
static int exact(const mlp_gemm *gemm)
{
    return gemm->compute == MLP_COMPUTE_F32 && gemm->a.dtype == MLP_F32;
}

static const uint64_t short_operands = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
                                       CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F |
                                       CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;

int mlp_gemm_precise(const mlp_gemm *gemm, const cublasLtMatmulAlgo_t *algorithm)
{
    uint64_t flags = 0;
    uint32_t reduction = 0;
    size_t size;
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags,
                                          &size) ||
        cublasLtMatmulAlgoConfigGetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction,
                                             sizeof reduction, &size))
        return 0;
    if (reduction != CUBLASLT_REDUCTION_SCHEME_NONE && reduction != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
        return 0;
    return flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F && !(exact(gemm) && flags & short_operands);
}

static mlp_status check_override(mlp_cuda *cuda)
{
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    if (!override || !strcmp(override, "0") || !exact(&cuda->config->gemms[0]))
        return MLP_OK;
    return mlp_fail(&cuda->network, MLP_NO_PLAN,
                    "NVIDIA_TF32_OVERRIDE=%.20s would turn the f32 products of this network into TF32: unset it, or "
                    "build the network with dtype tf32", override);
}

/* ---- Making a plan ---- */

static unsigned char *at(const mlp_cuda *cuda, size_t offset)
{
    return cuda->arena + offset;
}

cublasLtMatmulDesc_t mlp_operation(mlp_gemm_plan *plan)
{
    return (cublasLtMatmulDesc_t)(void *)plan->operation;
}

cublasLtMatrixLayout_t mlp_layout(uint64_t *layout)
{
    return (cublasLtMatrixLayout_t)(void *)layout;
}

static mlp_status make_operation(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_epilogue form, mlp_gemm_plan *plan)
{
    cublasLtMatmulDesc_t operation = mlp_operation(plan);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = epilogues[form].epilogue;
    CHECK(gemm, cublasLtMatmulDescInit(operation, mlp_compute_type[gemm->compute], CUDA_R_32F));
    CHECK(gemm, cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    CHECK(gemm, cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (!epilogues[form].bias)
        return MLP_OK;
    const void *bias = at(cuda, gemm->bias);
    const int32_t type = mlp_data_type[gemm->bias_dtype];
    CHECK(gemm, cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    CHECK(gemm, cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type));
    return MLP_OK;
}

static mlp_status make_layout(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_matrix *matrix, int64_t rows,
                              int64_t columns, uint64_t *layout)
{
    CHECK(gemm, cublasLtMatrixLayoutInit(mlp_layout(layout), mlp_data_type[matrix->dtype], (uint64_t)rows,
                                         (uint64_t)columns, matrix->ld));
    return MLP_OK;
}

mlp_status mlp_gemm_describe(mlp_cuda *cuda, const mlp_gemm *gemm, int apart, mlp_gemm_plan *plan)
{
    plan->apart = apart ? gemm->apart : NULL;
    MLP_TRY(make_operation(cuda, gemm, apart ? MLP_EPILOGUE_DEFAULT : gemm->epilogue, plan));
    MLP_TRY(make_layout(cuda, gemm, &gemm->a, gemm->k, gemm->m, plan->a));
    MLP_TRY(make_layout(cuda, gemm, &gemm->b, gemm->k, gemm->n, plan->b));
    MLP_TRY(make_layout(cuda, gemm, &gemm->c, gemm->m, gemm->n, plan->c));
    return make_layout(cuda, gemm, &gemm->d, gemm->m, gemm->n, plan->d);
}

/* The arena itself starts at a multiple of 256 bytes. */
static uint32_t alignment_of(const mlp_matrix *matrix)
{
    size_t offset = matrix->offset | 256;
    return (uint32_t)(offset & (~offset + 1));
}

static mlp_status set_preference(mlp_cuda *cuda, const mlp_gemm *gemm, cublasLtMatmulPreference_t preference,
                                 cublasLtMatmulPreferenceAttributes_t attribute, const void *value, size_t size)
{
    CHECK(gemm, cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, size));
    return MLP_OK;
}

static mlp_status make_preference(mlp_cuda *cuda, const mlp_gemm *gemm, uint64_t workspace,
                                  cublasLtMatmulPreference_t preference)
{
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint64_t allowed = exact(gemm) ? ~short_operands : ~UINT64_C(0);
    const uint32_t alignments[] = {alignment_of(&gemm->a), alignment_of(&gemm->b), alignment_of(&gemm->c),
                                   alignment_of(&gemm->d)};
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t size;
    } settings[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_IMPL_MASK, &allowed, sizeof allowed},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignments[0], sizeof alignments[0]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignments[1], sizeof alignments[1]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignments[2], sizeof alignments[2]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignments[3], sizeof alignments[3]},
    };
    CHECK(gemm, cublasLtMatmulPreferenceInit(preference));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        MLP_TRY(set_preference(cuda, gemm, preference, settings[i].attribute, settings[i].value, settings[i].size));
    return MLP_OK;
}

static mlp_status no_plan(mlp_cuda *cuda, const mlp_gemm *gemm, cublasStatus_t status)
{
    return mlp_fail(&cuda->network, MLP_NO_PLAN,
                    "%s, product of %lld rows, %lld columns in, %lld out: cublasLtMatmulAlgoGetHeuristic: %s",
                    gemm->step, (long long)gemm->n, (long long)gemm->k, (long long)gemm->m,
                    status == CUBLAS_STATUS_SUCCESS ? "no candidate" : cublasLtGetStatusString(status));
}

mlp_status mlp_gemm_propose(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan, uint64_t workspace, int most,
                            cublasLtMatmulHeuristicResult_t *results, int *found)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    *found = 0;
    MLP_TRY(make_preference(cuda, gemm, workspace, &preference));
    __atomic_add_fetch(&mlp_cuda_counted.heuristic_queries, 1, __ATOMIC_RELAXED);
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        (cublasLtHandle_t)cuda->handle, mlp_operation(plan), mlp_layout(plan->a), mlp_layout(plan->b),
        mlp_layout(plan->c), mlp_layout(plan->d), &preference, most, results, found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)
        return no_plan(cuda, gemm, status);
    return status == CUBLAS_STATUS_SUCCESS ? MLP_OK
                                           : mlp_gemm_failed(cuda, gemm, "cublasLtMatmulAlgoGetHeuristic", status);
}

void mlp_gemm_use(mlp_gemm_plan *plan, const cublasLtMatmulAlgo_t *algorithm, uint64_t workspace)
{
    memcpy(plan->algorithm, algorithm, sizeof plan->algorithm);
    plan->workspace = workspace;
}

mlp_status mlp_gemm_choose_first(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan)
{
    cublasLtMatmulHeuristicResult_t best;
    int found;
    MLP_TRY(mlp_gemm_describe(cuda, gemm, 0, plan));
    MLP_TRY(mlp_gemm_propose(cuda, gemm, plan, cuda->config->workspace_bytes, 1, &best, &found));
    if (!found || best.state != CUBLAS_STATUS_SUCCESS || best.workspaceSize > cuda->config->workspace_bytes)
        return no_plan(cuda, gemm, found ? best.state : CUBLAS_STATUS_SUCCESS);
    mlp_gemm_use(plan, &best.algo, best.workspaceSize);
    return MLP_OK;
}

/* ---- The three calls ---- */

/* A locked plan needs no question to the heuristic. */
static mlp_status open_gemm(mlp_cuda *cuda, size_t index, const mlp_plan_device *here)
{
    const mlp_gemm *gemm = &cuda->config->gemms[index];
    mlp_gemm_plan *plan = &cuda->config->plans[index];
    MLP_TRY(mlp_gemm_locked(cuda, gemm, here, cuda->locked && mlp_cuda_takes(cuda->config, index), plan));
    return plan->state == MLP_PLAN_LOCKED ? MLP_OK : mlp_gemm_choose_first(cuda, gemm, plan);
}

static bool any_plan(const mlp_cuda_config *config)
{
    for (size_t i = 0; i < config->gemm_count; i++) {
        if (config->gemms[i].locked_count)
            return true;
    }
    return false;
}

static mlp_status gemms_open(mlp_cuda *cuda)
{
    const mlp_cuda_config *config = cuda->config;
    cublasLtHandle_t handle = NULL;
    char name[256];
    mlp_plan_device here = {.name = ""};
    MLP_TRY(check_library(cuda));
    MLP_TRY(check_override(cuda));
    CHECK(NULL, cublasLtCreate(&handle));
    cuda->handle = handle;
    if (any_plan(config) || cuda->locked)
        MLP_TRY(mlp_gemm_here(cuda, name, &here));
    for (size_t i = 0; i < config->gemm_count; i++)
        MLP_TRY(open_gemm(cuda, i, &here));
    return MLP_OK;
}

static void gemms_close(mlp_cuda *cuda)
{
    cublasLtDestroy((cublasLtHandle_t)cuda->handle);
    cuda->handle = NULL;
}

/* The library itself does not say so in every case. */
static mlp_status check_workspace(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_gemm_plan *plan)
{
    const mlp_cuda_config *config = cuda->config;
    if (plan->workspace <= config->workspace_bytes && config->workspace % 256 == 0)
        return MLP_OK;
    return mlp_fail(&cuda->network, MLP_NO_PLAN,
                    "%s, %lld rows: the plan needs %llu bytes of workspace at a multiple of 256, there are %zu at %zu",
                    gemm->step, (long long)gemm->n, (unsigned long long)plan->workspace, config->workspace_bytes,
                    config->workspace);
}

mlp_status mlp_gemm_launch(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan)
{
    const float alpha = 1.0f;
    MLP_TRY(check_workspace(cuda, gemm, plan));
    CHECK(gemm, cublasLtMatmul((cublasLtHandle_t)cuda->handle, mlp_operation(plan), &alpha, at(cuda, gemm->a.offset),
                               mlp_layout(plan->a), at(cuda, gemm->b.offset), mlp_layout(plan->b), &gemm->beta,
                               at(cuda, gemm->c.offset), mlp_layout(plan->c), at(cuda, gemm->d.offset),
                               mlp_layout(plan->d), (const cublasLtMatmulAlgo_t *)(const void *)plan->algorithm,
                               at(cuda, cuda->config->workspace), cuda->config->workspace_bytes,
                               (cudaStream_t)cuda->stream));
    return plan->apart ? mlp_cuda_kernel(cuda, gemm->step, plan->apart, gemm->n) : MLP_OK;
}

mlp_status mlp_gemm_run(mlp_cuda *cuda, size_t index)
{
    return mlp_gemm_launch(cuda, &cuda->config->gemms[index], &cuda->config->plans[index]);
}

const mlp_gemm_calls mlp_gemms = {.open = gemms_open,
                                  .run = mlp_gemm_run,
                                  .close = gemms_close,
                                  .version = cublasLtGetVersion,
                                  .describe = mlp_gemm_tell};
