/* The part of cuBLASLt that generated programs use, on the host. Products are summed in double. What the real library
 * asks of descriptors, types and addresses is asserted here; before each product the workspace is filled with NaN. */
#include <cublasLt.h>

#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "simulated.h"

namespace {

struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t ld;
};

struct operation {
    cublasComputeType_t compute;
    cublasOperation_t a;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    int32_t bias_type;
};

struct preference {
    uint64_t workspace;
    uint32_t reductions;
    uint32_t alignment[4];          /* of A, B, C, D */
};

struct matrix {
    layout shape;
    const void *at;

    float get(uint64_t row, uint64_t column) const
    {
        const uint64_t i = column * uint64_t(shape.ld) + row;
        switch (shape.type) {
        case CUDA_R_32F:
            return static_cast<const float *>(at)[i];
        case CUDA_R_16F:
            return __half2float(static_cast<const __half *>(at)[i]);
        case CUDA_R_16BF:
            return __bfloat162float(static_cast<const __nv_bfloat16 *>(at)[i]);
        default:
            abort();
        }
    }

    void put(uint64_t row, uint64_t column, float x) const
    {
        const uint64_t i = column * uint64_t(shape.ld) + row;
        void *to = const_cast<void *>(at);
        if (shape.type == CUDA_R_32F)
            static_cast<float *>(to)[i] = x;
        else if (shape.type == CUDA_R_16F)
            static_cast<__half *>(to)[i] = __float2half_rn(x);
        else
            static_cast<__nv_bfloat16 *>(to)[i] = __float2bfloat16_rn(x);
    }
};

struct product {
    operation op;
    matrix a, b, c, d;
    float beta;

    float element(uint64_t row, uint64_t column) const
    {
        double sum = 0;
        for (uint64_t k = 0; k < a.shape.rows; k++)
            sum += double(a.get(k, row)) * b.get(k, column);
        float x = float(sum);
        if (beta != 0)
            x += beta * c.get(row, column);
        if (op.epilogue & CUBLASLT_EPILOGUE_BIAS)
            x += matrix{{cudaDataType(op.bias_type), 0, 0, 0}, op.bias}.get(row, 0);
        if (op.epilogue & CUBLASLT_EPILOGUE_RELU)
            x = x <= 0 ? 0 : x;
        if (op.epilogue & CUBLASLT_EPILOGUE_GELU)
            x = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
        return x;
    }

    /* D may be C: all is computed before anything is stored. */
    void run() const
    {
        const uint64_t rows = d.shape.rows, columns = d.shape.columns;
        std::vector<float> result(rows * columns);
        for (uint64_t j = 0; j < columns; j++)
            for (uint64_t i = 0; i < rows; i++)
                result[j * rows + i] = element(i, j);
        for (uint64_t j = 0; j < columns; j++)
            for (uint64_t i = 0; i < rows; i++)
                d.put(i, j, result[j * rows + i]);
    }

    void check() const
    {
        assert(op.a == CUBLAS_OP_T && a.shape.columns == d.shape.rows && b.shape.columns == d.shape.columns);
        assert(a.shape.rows == b.shape.rows && c.shape.rows == d.shape.rows && c.shape.columns == d.shape.columns);
        assert(a.shape.type == b.shape.type && c.shape.type == d.shape.type);
        assert(d.shape.type == a.shape.type || d.shape.type == CUDA_R_32F);
        if (op.epilogue & CUBLASLT_EPILOGUE_BIAS)
            assert(op.bias_type == int(d.shape.type) && uintptr_t(op.bias) % 16 == 0);
    }
};

template <class Part>
Part &part(void *opaque)
{
    return *static_cast<Part *>(opaque);
}

} // namespace

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char *cublasLtGetStatusString(cublasStatus_t) { return "an error"; }
const char *cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_SIMULATED"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    simulated_object(1);
    *handle = static_cast<cublasLtHandle_t>(malloc(1));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    simulated_object(-1);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t, cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    assert(scale == CUDA_R_32F);
    part<operation>(desc) = {compute, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
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
    assert(rows && columns && ld >= int64_t(rows));
    part<layout>(shape) = {type, rows, columns, ld};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t wish, size_t)
{
    part<preference>(wish) = {0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t wish,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t size)
{
    const int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, last = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        memcpy(&part<preference>(wish).workspace, value, size);
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        memcpy(&part<preference>(wish).reductions, value, size);
    if (attribute >= first && attribute <= last)
        memcpy(&part<preference>(wish).alignment[attribute - first], value, size);
    return CUBLAS_STATUS_SUCCESS;
}

/* The algorithm it finds is the preference itself, to which the product is held. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t wish, int,
                                              cublasLtMatmulHeuristicResult_t *best, int *found)
{
    const operation &op = part<operation>(desc);
    *found = 0;
    if ((op.epilogue & CUBLASLT_EPILOGUE_BIAS) && op.bias_type != int(part<layout>(d).type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const int shorter = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE | CUBLASLT_REDUCTION_SCHEME_INPLACE;
    assert(!(part<preference>(wish).reductions & shorter));
    memset(best, 0, sizeof *best);
    memcpy(&best->algo, wish, sizeof(preference));
    best->workspaceSize = part<preference>(wish).workspace;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_shape, const void *b, cublasLtMatrixLayout_t b_shape,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_shape, void *d,
                              cublasLtMatrixLayout_t d_shape, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t)
{
    const void *addresses[] = {a, b, c, d};
    preference wish;
    memcpy(&wish, algorithm, sizeof wish);
    for (int i = 0; i < 4; i++)
        assert(uintptr_t(addresses[i]) % wish.alignment[i] == 0);
    assert(uintptr_t(workspace) % 256 == 0 && workspace_bytes == wish.workspace);
    assert(*static_cast<const float *>(alpha) == 1);
    const product p = {part<operation>(desc), {part<layout>(a_shape), a}, {part<layout>(b_shape), b},
                       {part<layout>(c_shape), c}, {part<layout>(d_shape), d}, *static_cast<const float *>(beta)};
    p.check();
    simulated_submit(true, [=] {
        memset(workspace, 0xff, workspace_bytes < 65536 ? workspace_bytes : 65536);
        p.run();
    });
    return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
