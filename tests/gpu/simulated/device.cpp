/* The part of the CUDA runtime that generated programs use, on the host: memory is the host's, streams run what they
 * are given at once, a graph is a list of calls, and kernels run in threads.cpp. It shows whether results are right,
 * not whether they come fast or in order. Its time is made up: a clock that each kernel, product, copy and memset moves
 * on, and that events read.
 *
 * It is stricter than a device where that finds mistakes: fresh memory holds NaN, a copy must fit its pitch, nothing
 * may be allocated or waited for while a graph is captured, and every thread named in a shuffle's mask must take part
 * in it. */
#include <unistd.h>

#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels.h"
#include "simulated.h"

/* ---- Time ---- */

static const size_t cache_bytes = 256 * 1024;
static double now;                  /* microseconds */
static size_t moved;                /* bytes, since the last product */

void simulated_spend(double microseconds)
{
    now += microseconds;
}

/* A terabyte a second. */
static void move_bytes(size_t bytes)
{
    simulated_spend(1 + 1e-6 * double(bytes));
    moved += bytes;
}

bool simulated_cold()
{
    const bool cold = moved >= cache_bytes;
    moved = 0;
    return cold;
}

struct simulated_event {
    bool timed, recorded;
    double at;
};

static simulated_event &event_of(cudaEvent_t event)
{
    return *reinterpret_cast<simulated_event *>(event);
}

static void record(simulated_event *event)
{
    event->recorded = true;
    event->at = now;
}

/* ---- Streams and graphs ---- */

static simulated_work *capturing;
static int objects;                 /* made and not given back */

void simulated_submit(cudaGraphNodeType type, const std::function<void()> &call)
{
    if (capturing)
        capturing->push_back({type, call});
    else
        call();
}

static bool hung;

void simulated_hang()
{
    hung = true;
}

/* The host waits for the device, as long as it takes. */
static cudaError_t wait()
{
    assert(!capturing);
    while (hung)
        pause();
    return cudaSuccess;
}

void simulated_object(int change)
{
    assert(!capturing);
    objects += change;
}

static struct leak_check {
    ~leak_check()
    {
        if (objects)
            fprintf(stderr, "simulated device: %d objects were not given back\n", objects);
    }
} check_at_exit;

/* ---- The runtime's functions ---- */

static int device;

struct device_description {
    std::string name;
    int multiprocessors;
};

static device_description describe_device()
{
    const char *given = getenv("MLP_SIMULATED_DEVICE"), *slash = given ? strrchr(given, '/') : nullptr;
    if (!given)
        return {"a simulated device", 1};
    assert(slash);
    return {std::string(given, slash), atoi(slash + 1)};
}

static const int most_shared_bytes = 227 * 1024, shared_bytes_unasked = 48 * 1024, largest_block = 1024;
static std::map<const void *, int> shared_bytes_allowed, wide_clusters;

static cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                          bool together)
{
    const auto allowed = shared_bytes_allowed.find(function);
    if (shared_bytes > size_t(allowed == shared_bytes_allowed.end() ? shared_bytes_unasked : allowed->second))
        return cudaErrorInvalidValue;
    assert(grid.x >= 1 && block.x >= 1 && block.x <= largest_block);
    simulated_kernel kernel;
    kernel.function = reinterpret_cast<void (*)(unsigned char *, int64_t)>(const_cast<void *>(function));
    kernel.arena = *static_cast<unsigned char **>(arguments[0]);
    kernel.rows = *static_cast<int64_t *>(arguments[1]);
    kernel.grid = grid.x;
    kernel.block = block.x;
    kernel.shared_bytes = shared_bytes;
    kernel.together = together;
    simulated_submit(cudaGraphNodeTypeKernel, [=] {
        simulated_spend(2 + 0.01 * grid.x);
        simulated_run(kernel);
    });
    return cudaSuccess;
}

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) { return *count = 2, cudaSuccess; }
cudaError_t cudaGetDevice(int *which) { return *which = device, cudaSuccess; }
cudaError_t cudaSetDevice(int which) { return device = which, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    memset(properties, 0, sizeof *properties);
    describe_device().name.copy(properties->name, sizeof properties->name - 1);
    properties->multiProcessorCount = describe_device().multiprocessors;
    properties->l2CacheSize = int(cache_bytes);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    switch (attribute) {
    case cudaDevAttrL2CacheSize:
        return *value = int(cache_bytes), cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        return *value = describe_device().multiprocessors, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        return *value = 9, cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "an error"; }
const char *cudaGetErrorName(cudaError_t) { return "cudaErrorSimulated"; }

static void *fresh_memory(size_t bytes)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    simulated_object(1);
    return memset(memory, 0xff, bytes);
}

static cudaError_t give_back(void *memory)
{
    if (memory)
        simulated_object(-1);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) { return *memory = fresh_memory(bytes), cudaSuccess; }
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFree(void *memory) { return give_back(memory); }
cudaError_t cudaFreeHost(void *memory) { return give_back(memory); }
cudaError_t cudaMemGetInfo(size_t *left, size_t *all) { return *left = 1 << 30, *all = 2u << 30, cudaSuccess; }

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t)
{
    simulated_submit(cudaGraphNodeTypeMemset, [=] {
        move_bytes(bytes);
        memset(to, byte, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    wait();
    return cudaMemsetAsync(to, byte, bytes, nullptr);
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int byte, size_t width, size_t height)
{
    wait();
    move_bytes(width * height);
    for (size_t i = 0; i < height; i++)
        memset(static_cast<char *>(to) + i * pitch, byte, width);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    simulated_submit(cudaGraphNodeTypeMemcpy, [=] {
        move_bytes(bytes);
        memcpy(to, from, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    wait();
    return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t)
{
    assert(width <= to_pitch && width <= from_pitch);
    simulated_submit(cudaGraphNodeTypeMemcpy, [=] {
        move_bytes(width * height);
        for (size_t i = 0; i < height; i++)
            memcpy(static_cast<char *>(to) + i * to_pitch, static_cast<const char *>(from) + i * from_pitch, width);
    });
    return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind)
{
    wait();
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        return wide_clusters[function] = value, cudaSuccess;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value > most_shared_bytes)
        return cudaErrorInvalidValue;
    return shared_bytes_allowed[function] = value, cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t)
{
    return launch(function, grid, block, arguments, shared_bytes, false);
}

/* With one attribute: a cluster of all blocks, or a cooperative launch. */
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
    assert(config->numAttrs <= 1);
    if (!config->numAttrs)
        return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, false);
    const cudaLaunchAttribute &how = config->attrs[0];
    if (how.id == cudaLaunchAttributeClusterDimension) {
        const unsigned blocks = how.val.clusterDim.x;
        assert(blocks == config->gridDim.x && how.val.clusterDim.y == 1 && how.val.clusterDim.z == 1);
        if (blocks > (wide_clusters[function] ? 16 : 8))
            return cudaErrorInvalidClusterSize;
    } else if (how.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
        return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, false);
    } else {
        assert(how.id == cudaLaunchAttributeCooperative && how.val.cooperative);
    }
    return launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, true);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = static_cast<cudaStream_t>(fresh_memory(1));
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return give_back(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return wait(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return wait(); }
cudaError_t cudaStreamQuery(cudaStream_t) { return hung ? cudaErrorNotReady : wait(); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return wait(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return hung ? cudaErrorNotReady : wait(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = static_cast<cudaEvent_t>(fresh_memory(sizeof(simulated_event)));
    event_of(*event) = {!(flags & cudaEventDisableTiming), false, 0};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return give_back(event); }

/* In a capture, an event without the flag only says what comes before what. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t, unsigned flags)
{
    simulated_event *to = &event_of(event);
    const bool external = flags & cudaEventRecordExternal;
    if (external && !capturing)
        return cudaErrorInvalidValue;
    if (external || !capturing)
        simulated_submit(cudaGraphNodeTypeEventRecord, [=] { record(to); });
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    const simulated_event &begun = event_of(from), &done = event_of(to);
    if (!begun.timed || !done.timed || !begun.recorded || !done.recorded)
        return cudaErrorInvalidResourceHandle;
    return *milliseconds = float(1e-3 * (done.at - begun.at)), cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode)
{
    assert(!capturing);
    capturing = new simulated_work;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph)
{
    *graph = reinterpret_cast<cudaGraph_t>(capturing);
    capturing = nullptr;
    simulated_object(1);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long)
{
    simulated_object(1);
    *ready = reinterpret_cast<cudaGraphExec_t>(new simulated_work(*reinterpret_cast<simulated_work *>(graph)));
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    simulated_object(-1);
    delete reinterpret_cast<simulated_work *>(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    simulated_object(-1);
    delete reinterpret_cast<simulated_work *>(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    auto &work = *reinterpret_cast<simulated_work *>(graph);
    *count = work.size();
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = reinterpret_cast<cudaGraphNode_t>(&work[i]);
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type)
{
    return *type = reinterpret_cast<simulated_node *>(node)->type, cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    for (const auto &node : *reinterpret_cast<simulated_work *>(graph))
        node.call();
    return cudaSuccess;
}

} // extern "C"
