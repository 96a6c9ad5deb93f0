/* cuda_gemm.h -- between the files that speak to cuBLASLt: how a product is described to the library, where its
 * algorithm comes from, and how failures are said. Included by cuda_gemm*.c alone. */
#ifndef MLP_CUDA_GEMM_H
#define MLP_CUDA_GEMM_H

#include "mlp_cuda.h"

#include <cublasLt.h>

#define GEMM_CHECK(gemm, call)                                                                                      \
    do {                                                                                                            \
        cublasStatus_t status_ = (call);                                                                            \
        if (status_ != CUBLAS_STATUS_SUCCESS)                                                                       \
            return mlp_gemm_failed(cuda, (gemm), #call, status_);                                                   \
    } while (0)

/* Records what a call of the library said about a product (or NULL), and returns the status for it. */
mlp_status mlp_gemm_failed(mlp_cuda *cuda, const mlp_gemm *gemm, const char *call, cublasStatus_t status);

/* Fills descriptor and layouts. With `apart` the library computes the product alone. */
mlp_status mlp_gemm_describe(mlp_cuda *cuda, const mlp_gemm *gemm, int apart, mlp_gemm_plan *plan);

/* Up to `most` algorithms that the heuristic proposes within so many bytes of workspace, best first; or none. */
mlp_status mlp_gemm_propose(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan, uint64_t workspace, int most,
                            cublasLtMatmulHeuristicResult_t *results, int *found);

/* Describes the product, with the algorithm that the heuristic proposes first. */
mlp_status mlp_gemm_choose_first(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan);

/* Whether an algorithm keeps to the rules of this project: f32 sums, also of the parts of a split product, and f32
 * operands not rounded to anything shorter. */
int mlp_gemm_precise(const mlp_gemm *gemm, const cublasLtMatmulAlgo_t *algorithm);

/* An algorithm from its attributes. Fails where the library knows no such id or refuses a value. */
cublasStatus_t mlp_algorithm_build(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_algorithm *attributes,
                                   cublasLtMatmulAlgo_t *algorithm);
cublasStatus_t mlp_algorithm_read(const cublasLtMatmulAlgo_t *algorithm, mlp_algorithm *attributes);

/* The attributes of the algorithm that a plan uses. */
mlp_status mlp_gemm_read(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_gemm_plan *plan, mlp_algorithm *attributes);

/* Asks whether the algorithm can run this product; *workspace is what it needs. */
cublasStatus_t mlp_algorithm_check(mlp_cuda *cuda, mlp_gemm_plan *plan, const cublasLtMatmulAlgo_t *algorithm,
                                   uint64_t *workspace);

/* Puts an algorithm in its place in the plan. */
void mlp_gemm_use(mlp_gemm_plan *plan, const cublasLtMatmulAlgo_t *algorithm, uint64_t workspace);

/* Runs the product, and behind it the epilogue where that is a kernel of its own. */
mlp_status mlp_gemm_launch(mlp_cuda *cuda, const mlp_gemm *gemm, mlp_gemm_plan *plan);

/* The device and library of this process, as a plan names them. `name` holds 256 bytes. */
mlp_status mlp_gemm_here(mlp_cuda *cuda, char *name, mlp_plan_device *here);

/* The locked plan for this product here, ready in `plan` with state MLP_PLAN_LOCKED; else plan->state says why there
 * is none, and is an error where the network insists on it. */
mlp_status mlp_gemm_locked(mlp_cuda *cuda, const mlp_gemm *gemm, const mlp_plan_device *here, int insists,
                           mlp_gemm_plan *plan);

/* What mlp_model.describe_plan says of a product. */
mlp_status mlp_gemm_tell(mlp_cuda *cuda, size_t gemm, mlp_plan_info *info);

/* By mlp_dtype and mlp_compute. */
extern const cudaDataType_t mlp_data_type[];
extern const cublasComputeType_t mlp_compute_type[];

cublasLtMatmulDesc_t mlp_operation(mlp_gemm_plan *plan);
cublasLtMatrixLayout_t mlp_layout(uint64_t *layout);

#endif
