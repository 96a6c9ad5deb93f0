/* Plans that were tuned on some machine and compiled in. At start each is rebuilt from its attributes, compared with
 * the bytes stored beside them, and checked by the library, once. One that cannot be used is never used in silence: its
 * state says why, and a network that insists on its plans fails. */
#include "cuda_gemm.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* ---- Algorithms by their attributes ---- */

enum { ATTRIBUTES = 8 };

struct attribute {
    cublasLtMatmulAlgoConfigAttributes_t name;
    size_t size;
};

/* In the order of mlp_algorithm, whose first member, the id, is no attribute that can be set. */
static const struct attribute attributes[ATTRIBUTES] = {
    {CUBLASLT_ALGO_CONFIG_TILE_ID, 4},          {CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},       {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},    {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},   {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
};

static void to_array(const mlp_algorithm *from, unsigned to[ATTRIBUTES])
{
    const unsigned numbers[ATTRIBUTES] = {from->tile,    from->stages, from->split_k,     from->reduction,
                                          from->swizzle, from->custom, from->inner_shape, from->cluster};
    memcpy(to, numbers, sizeof numbers);
}

static cublasStatus_t set_attribute(cublasLtMatmulAlgo_t *algorithm, const struct attribute *attribute, unsigned number)
{
    const uint32_t whole = number;
    const uint16_t half = (uint16_t)number;
    if (attribute->size == sizeof half && number > UINT16_MAX)
        return CUBLAS_STATUS_INVALID_VALUE;
    return cublasLtMatmulAlgoConfigSetAttribute(algorithm, attribute->name,
                                                attribute->size == sizeof half ? (const void *)&half : &whole,
                                                attribute->size);
}

cublasStatus_t mlp_algorithm_build(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_algorithm *from,
                                   cublasLtMatmulAlgo_t *algorithm)
{
    unsigned numbers[ATTRIBUTES];
    memset(algorithm, 0, sizeof *algorithm);
    cublasStatus_t status = cublasLtMatmulAlgoInit(
        (cublasLtHandle_t)cuda->handle, mlp_compute_type[gemm->compute], CUDA_R_32F, mlp_data_type[gemm->a.dtype],
        mlp_data_type[gemm->b.dtype], mlp_data_type[gemm->c.dtype], mlp_data_type[gemm->d.dtype], from->id, algorithm);
    to_array(from, numbers);
    for (int i = 0; i < ATTRIBUTES && status == CUBLAS_STATUS_SUCCESS; i++)
        status = set_attribute(algorithm, &attributes[i], numbers[i]);
    return status;
}

cublasStatus_t mlp_algorithm_read(const cublasLtMatmulAlgo_t *algorithm, mlp_algorithm *to)
{
    uint32_t numbers[ATTRIBUTES] = {0};
    size_t size;
    int id = 0;
    cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &size);
    for (int i = 0; i < ATTRIBUTES && status == CUBLAS_STATUS_SUCCESS; i++)   /* little-endian: two bytes fit as well */
        status = cublasLtMatmulAlgoConfigGetAttribute(algorithm, attributes[i].name, &numbers[i], attributes[i].size,
                                                      &size);
    *to = (mlp_algorithm){id,         numbers[0], numbers[1], numbers[2], numbers[3],
                          numbers[4], numbers[5], numbers[6], numbers[7]};
    return status;
}

mlp_status mlp_gemm_read(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_gemm_plan *plan, mlp_algorithm *to)
{
    cublasLtMatmulAlgo_t algorithm;
    memcpy(&algorithm, plan->algorithm, sizeof algorithm);
    cublasStatus_t status = mlp_algorithm_read(&algorithm, to);
    return status == CUBLAS_STATUS_SUCCESS
               ? MLP_OK
               : mlp_gemm_failed(cuda, gemm, "cublasLtMatmulAlgoConfigGetAttribute", status);
}

cublasStatus_t mlp_algorithm_check(mlp_cuda *cuda, mlp_gemm_plan *plan, const cublasLtMatmulAlgo_t *algorithm,
                                   uint64_t *workspace)
{
    cublasLtMatmulHeuristicResult_t result;
    memset(&result, 0, sizeof result);
    cublasStatus_t status = cublasLtMatmulAlgoCheck(
        (cublasLtHandle_t)cuda->handle, mlp_operation(plan), mlp_layout(plan->a), mlp_layout(plan->b),
        mlp_layout(plan->c), mlp_layout(plan->d), algorithm, &result);
    *workspace = result.workspaceSize;
    return status == CUBLAS_STATUS_SUCCESS ? result.state : status;
}

/* ---- This device ---- */

/* The device's name as plan files have it: what they cannot hold is replaced, and here is compared so. */
mlp_status mlp_gemm_here(mlp_cuda *cuda, char *name, mlp_plan_device *here)
{
    struct cudaDeviceProp properties;
    MLP_CUDA_CHECK(cuda, NULL, cudaGetDeviceProperties(&properties, cuda->device));
    snprintf(name, 256, "%s", properties.name);
    for (char *c = name; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c == '"' ? '\'' : *c;
    *here = (mlp_plan_device){
        .name = name, .multiprocessors = properties.multiProcessorCount, .library = cublasLtGetVersion()};
    return MLP_OK;
}

static int same_device(const mlp_plan_device *a, const mlp_plan_device *b)
{
    return a->multiprocessors == b->multiprocessors && !strcmp(a->name, b->name);
}

/* The plan for this device and library; or else for this device, or else any; NULL where the product has none. */
static const mlp_locked_plan *find_plan(const mlp_gemm *gemm, const mlp_plan_device *here)
{
    const mlp_locked_plan *best = gemm->locked_count ? &gemm->locked[0] : NULL;
    for (size_t i = 0; i < gemm->locked_count; i++) {
        const mlp_locked_plan *plan = &gemm->locked[i];
        if (!same_device(plan->device, here))
            continue;
        if (plan->device->library == here->library)
            return plan;
        best = plan;
    }
    return best;
}

/* ---- A locked plan ---- */

static mlp_plan_state restore(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_locked_plan *locked, mlp_gemm_plan *plan)
{
    cublasLtMatmulAlgo_t algorithm;
    uint64_t workspace;
    if (mlp_algorithm_build(cuda, gemm, &locked->algorithm, &algorithm) != CUBLAS_STATUS_SUCCESS ||
        memcmp(&algorithm, locked->bytes, sizeof algorithm) || (locked->apart && !gemm->apart))
        return MLP_PLAN_DAMAGED;
    if (mlp_algorithm_check(cuda, plan, &algorithm, &workspace) != CUBLAS_STATUS_SUCCESS ||
        workspace > cuda->config->workspace_bytes || !mlp_gemm_precise(gemm, &algorithm))
        return MLP_PLAN_REFUSED;
    mlp_gemm_use(plan, &algorithm, workspace);
    return workspace == locked->workspace ? MLP_PLAN_LOCKED : MLP_PLAN_DAMAGED;
}

static mlp_plan_state judge(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_plan_device *here, mlp_gemm_plan *plan)
{
    const mlp_locked_plan *locked = plan->locked;
    if (!locked)
        return MLP_PLAN_HEURISTIC;
    if (!same_device(locked->device, here))
        return MLP_PLAN_FOREIGN;
    return locked->device->library == here->library ? restore(cuda, gemm, locked, plan) : MLP_PLAN_STALE;
}

static mlp_status insist(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_plan_device *here, const mlp_gemm_plan *plan)
{
    const mlp_plan_device *made_for = plan->locked ? plan->locked->device : here;
    size_t made = made_for->library, found = here->library;
    return mlp_fail(&cuda->network, MLP_NO_PLAN,
                    "%s, %lld rows: the plan is %s (made for %s with %d multiprocessors and cuBLASLt %zu.%zu.%zu; this "
                    "is %s with %d and %zu.%zu.%zu)",
                    gemm->step, (long long)gemm->n, mlp_plan_state_text(plan->state), made_for->name,
                    made_for->multiprocessors, made / 10000, made / 100 % 100, made % 100, here->name,
                    here->multiprocessors, found / 10000, found / 100 % 100, found % 100);
}

mlp_status mlp_gemm_locked(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_plan_device *here, int insists,
                           mlp_gemm_plan *plan)
{
    plan->locked = find_plan(gemm, here);
    MLP_TRY(mlp_gemm_describe(cuda, gemm, plan->locked && plan->locked->apart, plan));
    plan->state = judge(cuda, gemm, here, plan);
    if (plan->state == MLP_PLAN_LOCKED || !insists)
        return MLP_OK;
    return insist(cuda, gemm, here, plan);
}

/* ---- For tools ---- */

mlp_status mlp_gemm_tell(mlp_cuda *cuda, size_t index, mlp_plan_info *info)
{
    const mlp_gemm *gemm = &cuda->config->gemms[index];
    const mlp_gemm_plan *plan = &cuda->config->plans[index];
    *info = (mlp_plan_info){.state = plan->state, .apart = plan->apart != NULL, .workspace = plan->workspace};
    MLP_TRY(mlp_gemm_read(cuda, gemm, plan, &info->algorithm));
    if (!plan->locked)
        return MLP_OK;
    info->device = plan->locked->device->name;
    info->multiprocessors = plan->locked->device->multiprocessors;
    info->library = plan->locked->device->library;
    if (plan->state == MLP_PLAN_LOCKED)
        info->times = plan->locked->times;
    return MLP_OK;
}
