/* The part of cuBLASLt that generated programs and the tuner use, on the host: descriptors, the heuristic, checks of
 * algorithms, and products. What the real library asks of descriptors, types and addresses is asserted here; before
 * each product what it uses of the workspace is filled with NaN. */
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

#include "product.h"
#include "simulated.h"

namespace {

struct preference {
    limits allowed;
    uint32_t alignment[4];
};

/* Operands that are not in the cache come at a terabyte a second. */
double time_of(const product &p, const problem &what)
{
    const uint64_t bytes = (what.m + what.n) * what.k * size_of(p.a.shape.type);
    return microseconds(p.how, what) + (simulated_cold() ? 1e-6 * double(bytes) : 0);
}

template <class Part>
Part &part(void *opaque)
{
    return *static_cast<Part *>(opaque);
}

/* The descriptors of a product, as every call has them. */
struct description {
    operation *op;
    layout shapes[4];               /* A, B, C, D */
    int32_t types[4];

    bool bias_fits() const
    {
        return !(op->epilogue & CUBLASLT_EPILOGUE_BIAS) || op->bias_type == types[3];
    }

    bool fits(const algorithm &how) const
    {
        return how.compute == op->compute && std::equal(types, types + 4, how.types);
    }

    /* Each address is a multiple of its `at`, which may be the address itself. */
    problem product(const uint64_t at[4]) const
    {
        problem what = {shapes[3].rows, shapes[3].columns, shapes[0].rows, {}, false};
        what.gelu = op->epilogue & CUBLASLT_EPILOGUE_GELU;
        for (int i = 0; i < 4; i++) {
            const uint64_t both = at[i] | uint64_t(shapes[i].ld) * size_of(types[i]) | 256;
            what.alignment[i] = uint32_t(both & -both);
        }
        return what;
    }
};

description describe(cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    description all = {&part<operation>(op), {part<layout>(a), part<layout>(b), part<layout>(c), part<layout>(d)}, {}};
    for (int i = 0; i < 4; i++)
        all.types[i] = all.shapes[i].type;
    return all;
}

void report(const algorithm &how, const problem &what, cublasLtMatmulHeuristicResult_t *result)
{
    const int multiprocessors = simulated_multiprocessors();
    result->workspaceSize = workspace_of(how, what);
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = float(what.m) * float(what.n) * float(how.splits) / 8192 / float(multiprocessors);
}

} // namespace

extern "C" {

size_t cublasLtGetVersion()
{
    const char *version = getenv("MLP_SIMULATED_CUBLASLT");
    return version ? strtoull(version, nullptr, 10) : CUBLAS_VERSION;
}

const char *cublasLtGetStatusString(cublasStatus_t) { return "an error"; }
const char *cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_SIMULATED"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    LIBRARY_MAY_FAIL(true);
    simulated_object(1);
    *handle = static_cast<cublasLtHandle_t>(operator new(1));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    const cublasStatus_t status = simulated_library_call(__func__, false);
    simulated_object(-1);
    operator delete(handle);
    return status;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t, cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    LIBRARY_MAY_FAIL(false);
    assert(scale == CUDA_R_32F);
    part<operation>(desc) = {compute, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr, 0, {1, 1, 1, 1}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
    LIBRARY_MAY_FAIL(false);
    operation &op = part<operation>(desc);
    void *to = attribute == CUBLASLT_MATMUL_DESC_TRANSA           ? static_cast<void *>(&op.a)
               : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE       ? static_cast<void *>(&op.epilogue)
               : attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER   ? static_cast<void *>(&op.bias)
               : attribute == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE ? static_cast<void *>(&op.bias_type)
                                                                  : nullptr;
    assert(to && size == (to == &op.bias ? sizeof op.bias : 4));
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t shape, size_t, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t ld)
{
    LIBRARY_MAY_FAIL(false);
    assert(rows && columns && ld >= int64_t(rows));
    part<layout>(shape) = {type, rows, columns, ld};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t wish, size_t)
{
    LIBRARY_MAY_FAIL(false);
    part<preference>(wish) = {{0, CUBLASLT_REDUCTION_SCHEME_MASK, ~UINT64_C(0)}, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t wish,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t size)
{
    LIBRARY_MAY_FAIL(false);
    const int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, last = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES;
    preference &wishes = part<preference>(wish);
    limits &allowed = wishes.allowed;
    void *to = attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES     ? static_cast<void *>(&allowed.workspace)
               : attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK ? static_cast<void *>(&allowed.reductions)
               : attribute == CUBLASLT_MATMUL_PREF_IMPL_MASK             ? static_cast<void *>(&allowed.flags)
               : attribute >= first && attribute <= last ? static_cast<void *>(&wishes.alignment[attribute - first])
                                                         : nullptr;
    const bool wide = to == &allowed.workspace || to == &allowed.flags;
    assert(to && size == (wide ? 8 : 4));
    memcpy(to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

/* A product with this descriptor is held to the alignments that the question promised. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t wish, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    LIBRARY_MAY_FAIL(false);
    const description asked = describe(op, a, b, c, d);
    const preference &wishes = part<preference>(wish);
    const uint64_t at[] = {wishes.alignment[0], wishes.alignment[1], wishes.alignment[2], wishes.alignment[3]};
    *found = 0;
    if (most <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!asked.bias_fits())
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memcpy(asked.op->promised, wishes.alignment, sizeof wishes.alignment);
    const problem what = asked.product(at);
    for (const algorithm &how : heuristic(asked.op->compute, asked.types, what, wishes.allowed)) {
        if (*found == std::min(most, 8))
            break;
        cublasLtMatmulHeuristicResult_t *result = &results[(*found)++];
        memset(result, 0, sizeof *result);
        write_algorithm(how, &result->algo);
        report(how, what, result);
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* Addresses are not known here: only rows can be misaligned. */
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *bytes, cublasLtMatmulHeuristicResult_t *result)
{
    LIBRARY_MAY_FAIL(false);
    const description asked = describe(op, a, b, c, d);
    const uint64_t at[] = {0, 0, 0, 0};
    const char *refuse = getenv("MLP_SIMULATED_REFUSE");
    algorithm how;
    if (!read_algorithm(bytes, how) || !asked.fits(how))
        return CUBLAS_STATUS_INVALID_VALUE;
    const problem what = asked.product(at);
    if (!asked.bias_fits() || !can_run(how, what) || (refuse && !strcmp(refuse, "1")))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    report(how, what, result);
    return CUBLAS_STATUS_SUCCESS;
}

/* What the product before this one, which writes to d, costs it. */
static double burden_of(const algorithm &how, const void *d)
{
    static const void *last;
    static bool last_heavy;
    const double burden = last_heavy && last != d ? 5 : 0;
    last = d;
    last_heavy = heavy(how);
    return burden;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t op, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_shape, const void *b, cublasLtMatrixLayout_t b_shape,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_shape, void *d,
                              cublasLtMatrixLayout_t d_shape, const cublasLtMatmulAlgo_t *bytes, void *workspace,
                              size_t workspace_bytes, cudaStream_t)
{
    LIBRARY_MAY_FAIL(true);
    const description asked = describe(op, a_shape, b_shape, c_shape, d_shape);
    const uint64_t addresses[] = {uintptr_t(a), uintptr_t(b), uintptr_t(c), uintptr_t(d)};
    algorithm how;
    const bool whole = read_algorithm(bytes, how);
    assert(whole && asked.fits(how));
    for (int i = 0; i < 4; i++)
        assert(addresses[i] % asked.op->promised[i] == 0);
    assert(*static_cast<const float *>(alpha) == 1);
    const product p = {*asked.op, {asked.shapes[0], a}, {asked.shapes[1], b}, {asked.shapes[2], c},
                       {asked.shapes[3], d}, *static_cast<const float *>(beta), how, faults_of(how)};
    p.check();
    const problem what = asked.product(addresses);
    if (!can_run(how, what) || p.faults & REFUSED)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const uint64_t needed = workspace_of(how, what);
    assert(uintptr_t(workspace) % 256 == 0 && workspace_bytes >= needed);
    simulated_submit(cudaGraphNodeTypeKernel, [=] {
        if (p.faults & HANGS)
            simulated_hang();
        simulated_spend(time_of(p, what) + burden_of(how, d));
        if (needed)
            memset(workspace, 0xff, needed);
        p.run();
    });
    return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
