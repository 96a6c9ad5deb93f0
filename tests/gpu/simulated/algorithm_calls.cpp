/* cuBLASLt's functions on algorithms alone: which there are, what they can do, and their attributes. They check no more
 * than the library's own. */
#include "algorithms.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "simulated.h"

namespace {

/* Gives an attribute in the way of the library. A scalar wants its own size; of an array, what fits is given. */
cublasStatus_t give(const void *value, size_t bytes, bool array, void *to, size_t room, size_t *written)
{
    if (room ? !to || (!array && room != bytes) : !written)
        return CUBLAS_STATUS_INVALID_VALUE;
    const size_t given = room && room < bytes ? room : bytes;
    if (room)
        memcpy(to, value, given);
    if (written)
        *written = given;
    return CUBLAS_STATUS_SUCCESS;
}

/* Those that are one number of 32 bits; false: there is no such one. */
bool capability(const algorithm &how, cublasLtMatmulAlgoCapAttributes_t attribute, uint32_t &number)
{
    const bool tiled = how.id != SIMPLE;
    switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
        return number = tiled, true;
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
        return number = tiled ? uint32_t(CUBLASLT_REDUCTION_SCHEME_MASK) : 0, true;
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
        return number = tiled ? CUSTOM_MOST : 0, true;
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
        number = uint32_t(size_of(how.types[attribute - CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES]));
        return number = tiled ? uint32_t(TILED_ALIGNMENT) : number, true;
    default:
        return false;
    }
}

/* By cublasLtMatmulAlgoConfigAttributes_t. */
const struct {
    size_t offset, bytes;
} settings[] = {{offsetof(algorithm, id), 4},          {offsetof(algorithm, tile), 4},
                {offsetof(algorithm, splits), 4},      {offsetof(algorithm, reduction), 4},
                {offsetof(algorithm, swizzle), 4},     {offsetof(algorithm, custom), 4},
                {offsetof(algorithm, stages), 4},      {offsetof(algorithm, inner_shape), 2},
                {offsetof(algorithm, cluster), 2}};

bool is_setting(cublasLtMatmulAlgoConfigAttributes_t attribute)
{
    return size_t(attribute) < sizeof settings / sizeof *settings;
}

} // namespace

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t compute, cudaDataType_t scale,
                                        cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cudaDataType_t d,
                                        int most, int numbers[], int *count)
{
    LIBRARY_MAY_FAIL(false);
    const int32_t types[] = {a, b, c, d};
    if (most <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (scale != CUDA_R_32F || !known_types(compute, types))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::vector<int> all = ids(compute, types);
    *count = std::min(most, int(all.size()));
    std::copy_n(all.begin(), *count, numbers);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t compute, cudaDataType_t scale,
                                      cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cudaDataType_t d, int id,
                                      cublasLtMatmulAlgo_t *made)
{
    LIBRARY_MAY_FAIL(false);
    const int32_t types[] = {a, b, c, d};
    if (!made || (id != SIMPLE && id != TILED && id != TILED_ROUNDED))
        return CUBLAS_STATUS_INVALID_VALUE;
    const std::vector<int> all = ids(compute, types);
    if (scale != CUDA_R_32F || std::find(all.begin(), all.end(), id) == all.end())
        return CUBLAS_STATUS_NOT_SUPPORTED;
    write_algorithm(bare_algorithm(id, compute, types), made);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *bytes,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void *to, size_t room,
                                                 size_t *written)
{
    LIBRARY_MAY_FAIL(false);
    algorithm how;
    uint32_t number;
    if (!read_algorithm(bytes, how))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (capability(how, attribute, number))
        return give(&number, sizeof number, false, to, room, written);
    if (attribute == CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS) {
        const uint64_t flags = numerical_flags(how);
        return give(&flags, sizeof flags, false, to, room, written);
    }
    if (attribute != CUBLASLT_ALGO_CAP_TILE_IDS && attribute != CUBLASLT_ALGO_CAP_STAGES_IDS)
        return CUBLAS_STATUS_INVALID_VALUE;
    const std::vector<uint32_t> list = attribute == CUBLASLT_ALGO_CAP_TILE_IDS ? tile_ids(how) : stage_ids(how);
    return give(list.data(), list.size() * sizeof list[0], true, to, room, written);
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *bytes,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, const void *from,
                                                    size_t size)
{
    LIBRARY_MAY_FAIL(false);
    algorithm how;
    if (!read_algorithm(bytes, how) || !is_setting(attribute) || attribute == CUBLASLT_ALGO_CONFIG_ID)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!from || size != settings[attribute].bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(reinterpret_cast<char *>(&how) + settings[attribute].offset, from, size);
    write_algorithm(how, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *bytes,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *to,
                                                    size_t room, size_t *written)
{
    LIBRARY_MAY_FAIL(false);
    algorithm how;
    if (!read_algorithm(bytes, how) || !is_setting(attribute))
        return CUBLAS_STATUS_INVALID_VALUE;
    return give(reinterpret_cast<const char *>(&how) + settings[attribute].offset, settings[attribute].bytes, false,
                to, room, written);
}

} // extern "C"
