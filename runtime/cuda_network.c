/* The life of a network on a GPU: init finds the device and the arena, copies the weights, opens the products and
 * records one CUDA graph for each batch size; close undoes it. After init nothing allocates. Rows go through in
 * cuda_run.c; products are in cuda_gemm.c, which alone needs cuBLASLt. */
#include "mlp_cuda.h"

#include <cuda_runtime_api.h>
#include <string.h>

mlp_cuda_counts mlp_cuda_counted;

/* ---- Errors ---- */

static mlp_status status_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return MLP_NO_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
        return MLP_NO_DEVICE;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidSymbol:
    case cudaErrorUnsupportedPtxVersion:
        return MLP_WRONG_DEVICE;
    default:
        return MLP_DEVICE_FAILED;
    }
}

mlp_status mlp_cuda_failed(mlp_cuda *cuda, const char *step, const char *call, int error)
{
    cudaError_t code = (cudaError_t)error;
    cudaGetLastError();             /* so that nobody else finds it there */
    return mlp_fail(&cuda->network, status_of(code), "%s%s%.*s: %s (%s)", step ? step : "", step ? ": " : "",
                    (int)strcspn(call, "("), call, cudaGetErrorString(code), cudaGetErrorName(code));
}

#define CHECK(call) MLP_CUDA_CHECK(cuda, NULL, call)

/* ---- The device ---- */

static mlp_status enter_device(mlp_cuda *cuda, int *before)
{
    CHECK(cudaGetDevice(before));
    if (*before != cuda->device)
        CHECK(cudaSetDevice(cuda->device));
    return MLP_OK;
}

/* `status`, or that of a caller's device that cannot be given back. */
static mlp_status leave_device(mlp_cuda *cuda, int before, mlp_status status)
{
    cudaError_t error = before != cuda->device ? cudaSetDevice(before) : cudaSuccess;
    if (error == cudaSuccess)
        return status;
    if (status == MLP_OK)
        return mlp_cuda_failed(cuda, NULL, "cudaSetDevice", error);
    cudaGetLastError();
    return status;
}

/* The caller's current device stays the caller's: every call from outside works between these two. */
mlp_status mlp_cuda_enter(mlp_cuda *cuda, int *device_before)
{
    MLP_TRY(mlp_enter(&cuda->network));
    mlp_status status = enter_device(cuda, device_before);
    if (status != MLP_OK)
        mlp_leave(&cuda->network);
    return status;
}

mlp_status mlp_cuda_leave(mlp_cuda *cuda, int device_before, mlp_status status)
{
    status = leave_device(cuda, device_before, status);
    mlp_leave(&cuda->network);
    return status;
}

static mlp_status find_device(mlp_cuda *cuda, int device)
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    if (device < 0 || device >= count)
        return mlp_fail(&cuda->network, MLP_NO_DEVICE, "device %d was asked for, there %s %d", device,
                        count == 1 ? "is" : "are", count);
    cuda->device = device;
    return MLP_OK;
}

/* ---- Memory ---- */

static void count_allocation(void)
{
    __atomic_add_fetch(&mlp_cuda_counted.allocations, 1, __ATOMIC_RELAXED);
}

static mlp_status find_arena(mlp_cuda *cuda)
{
    const mlp_cuda_config *config = cuda->config;
    void *arena = NULL;
    if (config->find_arena) {
        int error = config->find_arena(&arena);
        if (error)
            return mlp_cuda_failed(cuda, NULL, "cudaGetSymbolAddress", error);
    } else {
        count_allocation();
        CHECK(cudaMalloc(&arena, config->arena_bytes));
    }
    cuda->arena = (unsigned char *)arena;
    CHECK(cudaMemsetAsync(arena, 0, config->arena_bytes, (cudaStream_t)cuda->stream));
    return MLP_OK;
}

static mlp_status make_staging(mlp_cuda *cuda)
{
    void *staging = NULL;
    count_allocation();
    CHECK(cudaHostAlloc(&staging, cuda->config->staging_bytes, cudaHostAllocDefault));
    cuda->staging = (unsigned char *)staging;
    return MLP_OK;
}

static mlp_status make_stream(mlp_cuda *cuda)
{
    cudaStream_t stream = NULL;
    cudaEvent_t idle = NULL;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda->stream = stream;
    CHECK(cudaEventCreateWithFlags(&idle, cudaEventDisableTiming));
    cuda->idle = idle;
    return MLP_OK;
}

/* ---- Weights ---- */

/* What has been queued may still read the old weights: this waits for it. Where the copy fails there are no weights:
 * some may be the new ones, and some the old. */
static mlp_status copy_weights(mlp_cuda *cuda)
{
    cudaStream_t stream = (cudaStream_t)cuda->stream;
    CHECK(cudaStreamWaitEvent(stream, (cudaEvent_t)cuda->idle, 0));
    cuda->uploaded = 0;
    CHECK(cudaMemcpyAsync(cuda->arena, cuda->network.weights, cuda->config->weights_bytes, cudaMemcpyHostToDevice,
                          stream));
    CHECK(cudaStreamSynchronize(stream));
    cuda->uploaded = 1;
    return MLP_OK;
}

static mlp_status upload(mlp_cuda *cuda)
{
    mlp_status status = copy_weights(cuda);
    mlp_weights_unload(&cuda->network);
    return status;
}

static mlp_status read_weights_file(mlp_cuda *cuda, const char *path)
{
    if (!cuda->config->weights_bytes)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "this network has no weights to load");
    return mlp_weights_load(&cuda->network, path, cuda->config->weights_bytes, cuda->config->weights_layout);
}

static mlp_status embedded_weights(mlp_cuda *cuda)
{
    const mlp_cuda_config *config = cuda->config;
    cuda->network.weights = config->weights + MLP_WEIGHTS_HEADER;
    return mlp_weights_check(&cuda->network, config->weights, MLP_WEIGHTS_HEADER + config->weights_bytes,
                             config->weights_bytes, config->weights_layout, "the embedded weights");
}

/* A file named in the options comes before the embedded weights. There may be neither: then load_weights follows. */
static mlp_status init_weights(mlp_cuda *cuda, const char *path)
{
    if (path)
        MLP_TRY(read_weights_file(cuda, path));
    else if (cuda->config->weights)
        MLP_TRY(embedded_weights(cuda));
    else
        return MLP_OK;
    return upload(cuda);
}

mlp_status mlp_cuda_need_weights(mlp_cuda *cuda)
{
    if (cuda->uploaded || !cuda->config->weights_bytes)
        return MLP_OK;
    return mlp_fail(&cuda->network, MLP_NO_WEIGHTS, "give a packed weights file to init or load_weights");
}

static mlp_status exchange_weights(mlp_cuda *cuda, const char *path)
{
    if (!path)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "the path is NULL");
    MLP_TRY(read_weights_file(cuda, path));
    return upload(cuda);
}

mlp_status mlp_cuda_load_weights(mlp_cuda *cuda, const char *path)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, exchange_weights(cuda, path));
}

/* ---- Graphs ---- */

mlp_status mlp_cuda_kernel(mlp_cuda *cuda, const char *step, mlp_cuda_launch *launch, int64_t rows)
{
    int error = launch(cuda->arena, rows, cuda->stream);
    return error ? mlp_cuda_failed(cuda, step, "kernel launch", error) : MLP_OK;
}

mlp_status mlp_cuda_queue(mlp_cuda *cuda, size_t index)
{
    const mlp_cuda_config *config = cuda->config;
    const mlp_cuda_batch *batch = &config->batches[cuda->batch];
    if (index == config->step_count)
        return batch->forms[batch->form](cuda);
    const mlp_cuda_step *step = &config->steps[index];
    if (!step->launch && !config->gemm_calls)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "%s: this network runs as a whole, not step by step",
                        step->name);
    if (step->launch)
        return mlp_cuda_kernel(cuda, step->name, step->launch, (int64_t)batch->rows);
    return config->gemm_calls->run(cuda, cuda->batch * (config->gemm_count / config->batch_count) + step->gemm);
}

int mlp_cuda_takes(const mlp_cuda_config *config, size_t gemm)
{
    return config->batches[gemm / (config->gemm_count / config->batch_count)].form == MLP_FORM_STEPS;
}

mlp_status mlp_cuda_capture(mlp_cuda *cuda, size_t step, size_t repeats, void **graph)
{
    cudaGraph_t captured = NULL;
    mlp_status status = MLP_OK;
    CHECK(cudaStreamBeginCapture((cudaStream_t)cuda->stream, cudaStreamCaptureModeThreadLocal));
    for (size_t i = 0; i < repeats && status == MLP_OK; i++)
        status = mlp_cuda_queue(cuda, step);
    cudaError_t error = cudaStreamEndCapture((cudaStream_t)cuda->stream, &captured);
    if (status == MLP_OK && error != cudaSuccess)
        status = mlp_cuda_failed(cuda, NULL, "cudaStreamEndCapture", error);
    if (status != MLP_OK && captured) {
        cudaGraphDestroy(captured);
        captured = NULL;
    }
    *graph = captured;
    return status;
}

/* The first run is outside the recording: it loads the kernels, and shows what fails only when running. */
static mlp_status record(mlp_cuda *cuda, size_t batch)
{
    size_t all = cuda->config->step_count;
    void *graph = NULL;
    cudaGraphExec_t ready = NULL;
    cuda->batch = batch;
    MLP_TRY(mlp_cuda_queue(cuda, all));
    CHECK(cudaStreamSynchronize((cudaStream_t)cuda->stream));
    MLP_TRY(mlp_cuda_capture(cuda, all, 1, &graph));
    cudaError_t error = cudaGraphInstantiate(&ready, (cudaGraph_t)graph, 0);
    cudaGraphDestroy((cudaGraph_t)graph);
    if (error != cudaSuccess)
        return mlp_cuda_failed(cuda, NULL, "cudaGraphInstantiate", error);
    cuda->config->graphs[batch] = ready;
    CHECK(cudaGraphUpload(ready, (cudaStream_t)cuda->stream));
    return MLP_OK;
}

static mlp_status record_all(mlp_cuda *cuda)
{
    for (size_t i = 0; i < cuda->config->batch_count; i++)
        MLP_TRY(record(cuda, i));
    CHECK(cudaStreamSynchronize((cudaStream_t)cuda->stream));
    return MLP_OK;
}

/* ---- init and close ---- */

/* Gives back whatever is there, when nothing works on it any more. On a device that has failed each call fails, and is
 * made all the same: what it holds on the host goes. */
static void tear_down(mlp_cuda *cuda)
{
    const mlp_cuda_config *config = cuda->config;
    if (cuda->idle)
        cudaEventSynchronize((cudaEvent_t)cuda->idle);
    if (cuda->stream)
        cudaStreamSynchronize((cudaStream_t)cuda->stream);
    for (size_t i = 0; i < config->batch_count; i++) {
        if (config->graphs[i])
            cudaGraphExecDestroy((cudaGraphExec_t)config->graphs[i]);
        config->graphs[i] = NULL;
    }
    if (cuda->handle)
        config->gemm_calls->close(cuda);
    mlp_weights_unload(&cuda->network);
    if (!config->find_arena)
        cudaFree(cuda->arena);
    cudaFreeHost(cuda->staging);
    if (cuda->idle)
        cudaEventDestroy((cudaEvent_t)cuda->idle);
    if (cuda->stream)
        cudaStreamDestroy((cudaStream_t)cuda->stream);
    cuda->arena = cuda->staging = NULL;
    cuda->stream = cuda->idle = NULL;
    cuda->uploaded = 0;
    cudaGetLastError();
}

static mlp_status set_up(mlp_cuda *cuda, const char *weights)
{
    MLP_TRY(make_stream(cuda));
    MLP_TRY(find_arena(cuda));
    MLP_TRY(make_staging(cuda));
    MLP_TRY(init_weights(cuda, weights));
    if (cuda->config->gemm_calls)
        MLP_TRY(cuda->config->gemm_calls->open(cuda));
    return record_all(cuda);
}

static mlp_status init_entered(mlp_cuda *cuda, const mlp_options *options)
{
    int before = 0;
    if (cuda->network.ready)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "init was called twice without close");
    cuda->locked = options && options->locked ? options->locked > 0 : cuda->config->locked;
    MLP_TRY(find_device(cuda, options ? options->device : 0));
    MLP_TRY(enter_device(cuda, &before));
    mlp_status status = set_up(cuda, options ? options->weights : NULL);
    if (status == MLP_OK)
        status = leave_device(cuda, before, status);
    cuda->network.ready = status == MLP_OK;
    if (status == MLP_OK)
        return MLP_OK;
    tear_down(cuda);
    return leave_device(cuda, before, status);
}

mlp_status mlp_cuda_init(mlp_cuda *cuda, const mlp_cuda_config *config, const mlp_options *options)
{
    MLP_TRY(mlp_enter_any(&cuda->network));
    cuda->config = config;
    mlp_status status = init_entered(cuda, options);
    mlp_leave(&cuda->network);
    return status;
}

void mlp_cuda_close(mlp_cuda *cuda)
{
    int before = cuda->device;
    if (mlp_enter_any(&cuda->network) != MLP_OK)
        return;
    if (cuda->network.ready) {
        enter_device(cuda, &before);
        tear_down(cuda);
        leave_device(cuda, before, MLP_OK);
    }
    cuda->network.ready = 0;
    mlp_leave(&cuda->network);
}
