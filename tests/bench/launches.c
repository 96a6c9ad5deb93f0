#include "launches.h"

#include <time.h>

#define TRY(call)                                                                                                   \
    do {                                                                                                            \
        int error_ = (int)(call);                                                                                   \
        if (error_)                                                                                                 \
            return error_;                                                                                          \
    } while (0)

enum { STEADY_MEASUREMENTS = 5 };

/* Made at the first use and kept: they belong to the process, as the device does. */
static struct {
    cudaStream_t stream;
    cudaEvent_t begun, done;
} own;

static int prepare(void)
{
    if (own.done)
        return 0;
    TRY(cudaSetDevice(0));
    TRY(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&own.begun, cudaEventDefault));
    return (int)cudaEventCreateWithFlags(&own.done, cudaEventDefault);
}

void bench_end(void)
{
    if (own.done)
        cudaEventDestroy(own.done);
    if (own.begun)
        cudaEventDestroy(own.begun);
    if (own.stream)
        cudaStreamDestroy(own.stream);
    own.done = own.begun = NULL;
    own.stream = NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int launch_times(bench_launch *launch, void *work, size_t times)
{
    for (size_t i = 0; i < times; i++)
        TRY(launch(work, own.stream));
    return 0;
}

static int time_single(bench_launch *launch, void *work, size_t lead, double *seconds)
{
    float milliseconds;
    TRY(launch_times(launch, work, lead));
    TRY(cudaEventRecord(own.begun, own.stream));
    TRY(launch(work, own.stream));
    TRY(cudaEventRecord(own.done, own.stream));
    TRY(cudaEventSynchronize(own.done));
    TRY(cudaEventElapsedTime(&milliseconds, own.begun, own.done));
    *seconds = 1e-3 * (double)milliseconds;
    return 0;
}

int bench_single(bench_launch *launch, void *work, size_t lead, size_t count, double *seconds)
{
    double unused;
    TRY(prepare());
    TRY(time_single(launch, work, lead, &unused));
    for (size_t i = 0; i < count; i++)
        TRY(time_single(launch, work, lead, &seconds[i]));
    return 0;
}

static int time_latency(bench_launch *launch, void *work, double *seconds)
{
    double begun = now();
    TRY(launch(work, own.stream));
    TRY(cudaStreamSynchronize(own.stream));
    *seconds = now() - begun;
    return 0;
}

int bench_latency(bench_launch *launch, void *work, size_t count, double *seconds)
{
    double unused;
    TRY(prepare());
    TRY(time_latency(launch, work, &unused));
    for (size_t i = 0; i < count; i++)
        TRY(time_latency(launch, work, &seconds[i]));
    return 0;
}

/* ---- Graphs ---- */

static int launch_graph(void *ready, cudaStream_t stream)
{
    return (int)cudaGraphLaunch((cudaGraphExec_t)ready, stream);
}

int bench_ready(void *graph, void **ready)
{
    TRY(prepare());
    TRY(cudaGraphInstantiate((cudaGraphExec_t *)ready, (cudaGraph_t)graph, 0));
    return (int)cudaGraphUpload((cudaGraphExec_t)*ready, own.stream);
}

int bench_graph_run(void *ready)
{
    TRY(launch_graph(ready, own.stream));
    return (int)cudaStreamSynchronize(own.stream);
}

int bench_graph_steady(void *ready, double *seconds)
{
    double time;
    for (int i = 0; i < STEADY_MEASUREMENTS; i++) {
        TRY(time_single(launch_graph, ready, 1, &time));
        *seconds = i && *seconds < time ? *seconds : time;
    }
    return 0;
}

int bench_graph_single(void *ready, size_t lead, size_t count, double *seconds)
{
    return bench_single(launch_graph, ready, lead, count, seconds);
}

int bench_graph_latency(void *ready, size_t count, double *seconds)
{
    return bench_latency(launch_graph, ready, count, seconds);
}

int bench_release(void *ready)
{
    return (int)cudaGraphExecDestroy((cudaGraphExec_t)ready);
}

const char *bench_error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}
