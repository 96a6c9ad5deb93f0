/* How long a launch on a GPU takes: one way of measuring for everything that is compared, be it a function of a library
 * or a CUDA graph that PyTorch recorded. Times are in seconds. */
#ifndef BENCH_LAUNCHES_H
#define BENCH_LAUNCHES_H

#include <cuda_runtime_api.h>
#include <stddef.h>

/* Queues the work on a stream; returns 0, or what bench_error_text explains. */
typedef int bench_launch(void *work, cudaStream_t stream);

/* Between device events, one launch at a time: `count` times into `seconds`. `lead` launches go ahead of each, so that
 * the device is busy while the measured one is queued and no wait for the host is measured. */
int bench_single(bench_launch *launch, void *work, size_t lead, size_t count, double *seconds);
/* On the host's clock, from the call to the end of the work; nothing else is queued. */
int bench_latency(bench_launch *launch, void *work, size_t count, double *seconds);

/* The same for a cudaGraph_t, made ready by bench_ready. `bench_graph_steady`: of a graph that holds many runs, the
 * least of some launches, as mlp_model.time_step measures. */
int bench_ready(void *graph, void **ready);
int bench_graph_run(void *ready);
int bench_graph_steady(void *ready, double *seconds);
int bench_graph_single(void *ready, size_t lead, size_t count, double *seconds);
int bench_graph_latency(void *ready, size_t count, double *seconds);
int bench_release(void *ready);

/* Gives back the stream and the events that all of these share; they come again with the next call. */
void bench_end(void);

const char *bench_error_text(int error);

#endif
