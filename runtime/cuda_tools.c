/* What tools ask of a network on a GPU beyond its rows: how long a step takes there and how many kernels it is made of,
 * and what the device is. Nothing here is called by a run. */
#include "mlp_cuda.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) MLP_CUDA_CHECK(cuda, NULL, call)

/* ---- The time of a step ---- */

enum { MEASUREMENTS = 5 };

struct measurement {
    size_t step, repeats;
    void *graph;
    cudaGraphExec_t ready;
    cudaEvent_t begun, done;
};

static mlp_status count_kinds(mlp_cuda *cuda, const cudaGraphNode_t *nodes, size_t count, mlp_step_time *time)
{
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        time->kernels += type == cudaGraphNodeTypeKernel;
        time->copies += type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset;
    }
    return MLP_OK;
}

static mlp_status count_nodes(mlp_cuda *cuda, const struct measurement *measurement, mlp_step_time *time)
{
    cudaGraph_t graph = (cudaGraph_t)measurement->graph;
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &count));
    cudaGraphNode_t *nodes = malloc((count + 1) * sizeof *nodes);
    if (!nodes)
        return mlp_fail(&cuda->network, MLP_NO_MEMORY, "%zu nodes of a graph", count);
    cudaError_t error = cudaGraphGetNodes(graph, nodes, &count);
    mlp_status status = error == cudaSuccess ? count_kinds(cuda, nodes, count, time)
                                             : mlp_cuda_failed(cuda, NULL, "cudaGraphGetNodes", error);
    free(nodes);
    time->kernels /= measurement->repeats;
    time->copies /= measurement->repeats;
    return status;
}

/* The first of two launches keeps the device busy while the second one is queued, so that no wait for the host is
 * measured. */
static mlp_status time_launch(mlp_cuda *cuda, const struct measurement *measurement, float *milliseconds)
{
    cudaStream_t stream = (cudaStream_t)cuda->stream;
    CHECK(cudaGraphLaunch(measurement->ready, stream));
    CHECK(cudaEventRecord(measurement->begun, stream));
    CHECK(cudaGraphLaunch(measurement->ready, stream));
    CHECK(cudaEventRecord(measurement->done, stream));
    CHECK(cudaEventSynchronize(measurement->done));
    CHECK(cudaEventElapsedTime(milliseconds, measurement->begun, measurement->done));
    return MLP_OK;
}

static mlp_status measure(mlp_cuda *cuda, struct measurement *measurement, mlp_step_time *time)
{
    float least = 0, milliseconds;
    MLP_TRY(mlp_cuda_capture(cuda, measurement->step, measurement->repeats, &measurement->graph));
    MLP_TRY(count_nodes(cuda, measurement, time));
    CHECK(cudaGraphInstantiate(&measurement->ready, (cudaGraph_t)measurement->graph, 0));
    CHECK(cudaEventCreateWithFlags(&measurement->begun, cudaEventDefault));
    CHECK(cudaEventCreateWithFlags(&measurement->done, cudaEventDefault));
    for (int i = 0; i < MEASUREMENTS; i++) {
        MLP_TRY(time_launch(cuda, measurement, &milliseconds));
        least = i && least < milliseconds ? least : milliseconds;
    }
    time->seconds = 1e-3 * least / (double)measurement->repeats;
    return MLP_OK;
}

static void release(const struct measurement *measurement)
{
    if (measurement->done)
        cudaEventDestroy(measurement->done);
    if (measurement->begun)
        cudaEventDestroy(measurement->begun);
    if (measurement->ready)
        cudaGraphExecDestroy(measurement->ready);
    if (measurement->graph)
        cudaGraphDestroy((cudaGraph_t)measurement->graph);
}

mlp_status mlp_cuda_time_step(mlp_cuda *cuda, size_t step, size_t repeats, mlp_step_time *time)
{
    struct measurement measurement = {.step = step, .repeats = repeats};
    int before = 0;
    memset(time, 0, sizeof *time);
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    mlp_status status = step <= cuda->config->step_count && repeats
                            ? measure(cuda, &measurement, time)
                            : mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "step %zu, %zu times", step, repeats);
    release(&measurement);
    return mlp_cuda_leave(cuda, before, status);
}

/* ---- The device ---- */

static void describe_network(const mlp_cuda_config *config, mlp_device_info *info)
{
    memset(info, 0, sizeof *info);
    info->arena_bytes = config->arena_bytes;
    info->arena_static = config->find_arena != NULL;
    info->workspace_bytes = config->workspace_bytes;
    info->staging_bytes = config->staging_bytes;
    for (size_t i = 0; i < config->gemm_count; i++)
        info->products += (size_t)mlp_cuda_takes(config, i);
}

static mlp_status describe_device(mlp_cuda *cuda, mlp_device_info *info)
{
    struct cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, cuda->device));
    memcpy(info->name, properties.name, sizeof info->name - 1);
    info->device = cuda->device;
    info->multiprocessors = properties.multiProcessorCount;
    CHECK(cudaDriverGetVersion(&info->driver));
    CHECK(cudaRuntimeGetVersion(&info->runtime));
    if (cuda->config->gemm_calls)
        info->library = cuda->config->gemm_calls->version();
    for (size_t i = 0; i < cuda->config->gemm_count; i++)
        info->plans[cuda->config->plans[i].state] += (size_t)mlp_cuda_takes(cuda->config, i);
    return MLP_OK;
}

mlp_status mlp_cuda_describe(mlp_cuda *cuda, const mlp_cuda_config *config, mlp_device_info *info)
{
    int before = 0;
    describe_network(config, info);
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, describe_device(cuda, info));
}

/* ---- The plan of a step ---- */

static mlp_status describe_plan(mlp_cuda *cuda, size_t batch, size_t step, mlp_plan_info *info)
{
    const mlp_cuda_config *config = cuda->config;
    if (batch >= config->batch_count || step >= config->step_count || config->steps[step].launch)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "step %zu of batch size %zu is no product", step, batch);
    return config->gemm_calls->describe(
        cuda, batch * (config->gemm_count / config->batch_count) + config->steps[step].gemm, info);
}

mlp_status mlp_cuda_describe_plan(mlp_cuda *cuda, size_t batch, size_t step, mlp_plan_info *info)
{
    int before = 0;
    memset(info, 0, sizeof *info);
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, describe_plan(cuda, batch, step, info));
}
