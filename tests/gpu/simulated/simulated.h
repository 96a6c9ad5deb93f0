/* Between the parts of the simulated device. What the environment changes about it:
 *   MLP_SIMULATED_DEVICE    its name and number of multiprocessors: "another device/99"
 *   MLP_SIMULATED_CUBLASLT  the version of the library: 130200
 *   MLP_SIMULATED_REFUSE=1  cublasLtMatmulAlgoCheck refuses every algorithm
 *   MLP_SIMULATED_FAULTS    what is wrong with some algorithms: see algorithms.cpp */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <driver_types.h>

#include <functional>
#include <vector>

struct simulated_node {
    cudaGraphNodeType type;
    std::function<void()> call;
};
typedef std::vector<simulated_node> simulated_work;

/* Runs the call, or adds it to the graph that is being captured. */
void simulated_submit(cudaGraphNodeType type, const std::function<void()> &call);
/* The clock goes on. */
void simulated_spend(double microseconds);
/* Whether a product's operands have left the cache: as much as it holds has been set or copied since the last one. */
bool simulated_cold();
/* From now on the device never comes to an end of what it was given. */
void simulated_hang();
/* Something was made (1) or given back (-1). */
void simulated_object(int change);

#endif
