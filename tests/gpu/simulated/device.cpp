/* The part of the CUDA runtime that generated programs use, on the host: memory is the host's, streams run what they
 * are given at once, a graph is a list of calls, a kernel runs block after block, and a block's threads are coroutines
 * that switch where they wait for each other. It shows whether results are right, not whether they come fast or in
 * order. Its time is made up: a clock that each kernel, product, copy and memset moves on, and that events read.
 *
 * It is stricter than a device where that finds mistakes: fresh memory holds NaN, a copy must fit its pitch, nothing
 * may be allocated or waited for while a graph is captured, and every thread named in a shuffle's mask must take part
 * in it. */
#include <ucontext.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "device.h"
#include "simulated.h"

dim3 simulated_thread, simulated_block, simulated_block_size, simulated_grid_size;

/* ---- Threads of a block ---- */

namespace {

constexpr size_t stack_bytes = 64 * 1024, largest_block = 1024;

struct kernel_call {
    void (*kernel)(unsigned char *arena, int64_t rows);
    unsigned char *arena;
    int64_t rows;
} running;

struct thread {
    ucontext_t context;
    char *stack;
    bool finished;
    long shuffles, barriers;        /* how many it has come to */
    float passed[2];                /* what it passed to the last two shuffles */
};

thread threads[largest_block];
ucontext_t scheduler;
unsigned current;

void thread_body()
{
    running.kernel(running.arena, running.rows);
    threads[current].finished = true;
    swapcontext(&threads[current].context, &scheduler);
}

void let_others_run()
{
    const unsigned self = current;
    swapcontext(&threads[self].context, &scheduler);
}

void start_thread(thread &t)
{
    if (!t.stack)
        t.stack = static_cast<char *>(malloc(stack_bytes));
    t.finished = false;
    t.shuffles = t.barriers = 0;
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack;
    t.context.uc_stack.ss_size = stack_bytes;
    t.context.uc_link = nullptr;
    makecontext(&t.context, thread_body, 0);
}

void run_block()
{
    const unsigned count = simulated_block_size.x;
    for (unsigned i = 0; i < count; i++)
        start_thread(threads[i]);
    for (unsigned left = count; left > 0;) {
        left = 0;
        for (current = 0; current < count; current++) {
            if (threads[current].finished)
                continue;
            simulated_thread = dim3(current);
            swapcontext(&scheduler, &threads[current].context);
            left += !threads[current].finished;
        }
    }
}

void run_kernel(const kernel_call &call, dim3 grid, dim3 block)
{
    running = call;
    simulated_spend(2 + 0.01 * grid.x);
    simulated_grid_size = grid;
    simulated_block_size = block;
    for (unsigned i = 0; i < grid.x; i++) {
        simulated_block = dim3(i);
        run_block();
    }
}

} // namespace

/* A thread cannot be two shuffles ahead of another one, so that two places are enough. */
float __shfl_xor_sync(unsigned mask, float x, int distance)
{
    const unsigned self = current, warp = self / 32 * 32, other = (self % 32) ^ unsigned(distance);
    const long turn = threads[self].shuffles++;
    assert(mask >> self % 32 & 1 && mask >> other & 1);
    threads[self].passed[turn % 2] = x;
    for (unsigned lane = 0; lane < 32; lane++) {
        while (mask >> lane & 1 && threads[warp + lane].shuffles <= turn) {
            assert(!threads[warp + lane].finished);
            let_others_run();
        }
    }
    return threads[warp + other].passed[turn % 2];
}

void __syncthreads()
{
    const long turn = threads[current].barriers++;
    for (unsigned i = 0; i < simulated_block_size.x; i++) {
        while (threads[i].barriers <= turn) {
            assert(!threads[i].finished);
            let_others_run();
        }
    }
}

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

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t)
{
    kernel_call call;
    call.kernel = reinterpret_cast<void (*)(unsigned char *, int64_t)>(const_cast<void *>(function));
    call.arena = *static_cast<unsigned char **>(arguments[0]);
    call.rows = *static_cast<int64_t *>(arguments[1]);
    assert(grid.x >= 1 && block.x >= 1 && block.x <= largest_block);
    simulated_submit(cudaGraphNodeTypeKernel, [=] { run_kernel(call, grid, block); });
    return cudaSuccess;
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
