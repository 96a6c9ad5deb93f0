/* Between the parts of the simulated device. What the environment changes about it:
 *   MLP_SIMULATED_DEVICE    its name and number of multiprocessors: "another device/99"
 *   MLP_SIMULATED_CUBLASLT  the version of the library: 130200
 *   MLP_SIMULATED_REFUSE=1  cublasLtMatmulAlgoCheck refuses every algorithm
 *   MLP_SIMULATED_FAULTS    what is wrong with some algorithms: see algorithms.cpp
 *   MLP_SIMULATED_FAIL      which call fails: see faults.h */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <cublas_api.h>
#include <driver_types.h>

#include <functional>
#include <vector>

struct simulated_node {
    cudaGraphNodeType type;
    std::function<void()> call;
};
typedef std::vector<simulated_node> simulated_work;

/* Runs the call, or adds it to the graph that is being captured. False: it is never done. */
bool simulated_submit(cudaGraphNodeType type, const std::function<void()> &call);
/* The clock goes on. */
void simulated_spend(double microseconds);
/* Whether a product's operands have left the cache: as much as it holds has been set or copied since the last one. */
bool simulated_cold();
/* From now on the device never comes to an end of what it was given. */
void simulated_hang();
int simulated_multiprocessors();
/* Something was made (1) or given back (-1). */
void simulated_object(int change);

/* ---- Faults: faults.cpp ---- */

/* What each call asks first, and returns where it is not success. `on_device`: needs a device that works. */
cudaError_t simulated_call(const char *name, cudaError_t error);
cublasStatus_t simulated_library_call(const char *name, bool on_device);
/* Whether work that the device was given is never done. */
bool simulated_work_fails(const char *name);
/* What somebody who has waited for the device is told. */
cudaError_t simulated_waited();
/* The result of a call that found its arguments wrong. */
cudaError_t simulated_result(cudaError_t error);
cudaError_t simulated_last(bool forget);

#define MAY_FAIL(error)                                                                                             \
    do {                                                                                                            \
        if (const cudaError_t error_ = simulated_call(__func__, (error)))                                           \
            return error_;                                                                                          \
    } while (0)
#define LIBRARY_MAY_FAIL(on_device)                                                                                 \
    do {                                                                                                            \
        if (const cublasStatus_t status_ = simulated_library_call(__func__, (on_device)))                           \
            return status_;                                                                                         \
    } while (0)

#endif
