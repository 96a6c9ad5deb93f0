/* Rows through a network on a GPU. A run of any size is cut into the largest batch size, and what is left goes through
 * the smallest batch size that holds it; the rows that pad it are computed and never seen. Host rows go through pinned
 * memory; device rows are copied from device to device, in order with the caller's stream. */
#include "mlp_cuda.h"

#include <cuda_runtime_api.h>
#include <string.h>

#define CHECK(call) MLP_CUDA_CHECK(cuda, NULL, call)

/* The smallest batch size that holds `rows`, or the largest there is. */
static size_t choose_batch(const mlp_cuda_config *config, size_t rows)
{
    size_t batch = 0;
    while (batch + 1 < config->batch_count && config->batches[batch].rows < rows)
        batch++;
    return batch;
}

static mlp_status check_pointers(mlp_cuda *cuda, const void *const *inputs, void *const *outputs)
{
    for (size_t i = 0; i < cuda->config->input_count; i++) {
        if (!inputs[i])
            return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "input %zu is NULL", i);
    }
    for (size_t i = 0; i < cuda->config->output_count; i++) {
        if (!outputs[i])
            return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "output %zu is NULL", i);
    }
    return MLP_OK;
}

static mlp_status launch(mlp_cuda *cuda, size_t batch, cudaStream_t stream)
{
    CHECK(cudaGraphLaunch((cudaGraphExec_t)cuda->config->graphs[batch], stream));
    return MLP_OK;
}

/* Rows first .. first + count - 1 of the caller's inputs go to the network's own buffers. */
static mlp_status rows_in(mlp_cuda *cuda, size_t first, size_t count, const void *const *inputs)
{
    for (size_t i = 0; i < cuda->config->input_count; i++) {
        const mlp_cuda_port *port = &cuda->config->inputs[i];
        unsigned char *staging = cuda->staging + port->staging;
        memcpy(staging, (const unsigned char *)inputs[i] + first * port->row_bytes, count * port->row_bytes);
        CHECK(cudaMemcpy2DAsync(cuda->arena + port->offset, port->pitch, staging, port->row_bytes, port->row_bytes,
                                count, cudaMemcpyHostToDevice, (cudaStream_t)cuda->stream));
    }
    return MLP_OK;
}

static mlp_status rows_out(mlp_cuda *cuda, size_t first, size_t count, void *const *outputs)
{
    const mlp_cuda_config *config = cuda->config;
    for (size_t i = 0; i < config->output_count; i++) {
        const mlp_cuda_port *port = &config->outputs[i];
        CHECK(cudaMemcpy2DAsync(cuda->staging + port->staging, port->row_bytes, cuda->arena + port->offset, port->pitch,
                                port->row_bytes, count, cudaMemcpyDeviceToHost, (cudaStream_t)cuda->stream));
    }
    CHECK(cudaStreamSynchronize((cudaStream_t)cuda->stream));
    for (size_t i = 0; i < config->output_count; i++) {
        const mlp_cuda_port *port = &config->outputs[i];
        memcpy((unsigned char *)outputs[i] + first * port->row_bytes, cuda->staging + port->staging,
               count * port->row_bytes);
    }
    return MLP_OK;
}

static mlp_status run_host(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs)
{
    size_t count;
    MLP_TRY(mlp_cuda_need_weights(cuda));
    MLP_TRY(check_pointers(cuda, inputs, outputs));
    CHECK(cudaStreamWaitEvent((cudaStream_t)cuda->stream, (cudaEvent_t)cuda->idle, 0));
    for (size_t first = 0; first < rows; first += count) {
        size_t batch = choose_batch(cuda->config, rows - first), most = cuda->config->batches[batch].rows;
        count = rows - first < most ? rows - first : most;
        MLP_TRY(rows_in(cuda, first, count, inputs));
        MLP_TRY(launch(cuda, batch, (cudaStream_t)cuda->stream));
        MLP_TRY(rows_out(cuda, first, count, outputs));
    }
    return MLP_OK;
}

mlp_status mlp_cuda_run(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, rows ? run_host(cuda, rows, inputs, outputs) : MLP_OK);
}

/* ---- Running on device memory ---- */

void *mlp_cuda_buffer(const mlp_cuda *cuda, const mlp_cuda_port *port)
{
    return cuda->network.ready ? cuda->arena + port->offset : NULL;
}

static mlp_status check_port(mlp_cuda *cuda, size_t rows, const mlp_cuda_port *port, const void *at, const char *what,
                             size_t index)
{
    const mlp_cuda_config *config = cuda->config;
    if ((uintptr_t)at % port->element)
        return mlp_fail(&cuda->network, MLP_MISALIGNED, "%s %zu is at %p, its elements have %zu bytes", what, index, at,
                        port->element);
    if (at == cuda->arena + port->offset && rows > config->batches[config->batch_count - 1].rows)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "%s %zu: the network's own buffer holds %zu rows, not %zu",
                        what, index, config->batches[config->batch_count - 1].rows, rows);
    return MLP_OK;
}

static mlp_status check_ports(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs)
{
    for (size_t i = 0; i < cuda->config->input_count; i++)
        MLP_TRY(check_port(cuda, rows, &cuda->config->inputs[i], inputs[i], "input", i));
    for (size_t i = 0; i < cuda->config->output_count; i++)
        MLP_TRY(check_port(cuda, rows, &cuda->config->outputs[i], outputs[i], "output", i));
    return MLP_OK;
}

static mlp_status device_rows_in(mlp_cuda *cuda, size_t first, size_t count, const void *const *inputs,
                                 cudaStream_t stream)
{
    for (size_t i = 0; i < cuda->config->input_count; i++) {
        const mlp_cuda_port *port = &cuda->config->inputs[i];
        if (inputs[i] != cuda->arena + port->offset)
            CHECK(cudaMemcpy2DAsync(cuda->arena + port->offset, port->pitch,
                                    (const unsigned char *)inputs[i] + first * port->row_bytes, port->row_bytes,
                                    port->row_bytes, count, cudaMemcpyDeviceToDevice, stream));
    }
    return MLP_OK;
}

static mlp_status device_rows_out(mlp_cuda *cuda, size_t first, size_t count, void *const *outputs, cudaStream_t stream)
{
    for (size_t i = 0; i < cuda->config->output_count; i++) {
        const mlp_cuda_port *port = &cuda->config->outputs[i];
        if (outputs[i] != cuda->arena + port->offset)
            CHECK(cudaMemcpy2DAsync((unsigned char *)outputs[i] + first * port->row_bytes, port->row_bytes,
                                    cuda->arena + port->offset, port->pitch, port->row_bytes, count,
                                    cudaMemcpyDeviceToDevice, stream));
    }
    return MLP_OK;
}

static mlp_status queue_rows(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs,
                             cudaStream_t stream)
{
    size_t count;
    for (size_t first = 0; first < rows; first += count) {
        size_t batch = choose_batch(cuda->config, rows - first), most = cuda->config->batches[batch].rows;
        count = rows - first < most ? rows - first : most;
        MLP_TRY(device_rows_in(cuda, first, count, inputs, stream));
        MLP_TRY(launch(cuda, batch, stream));
        MLP_TRY(device_rows_out(cuda, first, count, outputs, stream));
    }
    return MLP_OK;
}

/* The arena is free again when the stream has come this far; where the event cannot say so, this waits for it. */
static mlp_status record_idle(mlp_cuda *cuda, cudaStream_t stream)
{
    cudaError_t error = cudaEventRecord((cudaEvent_t)cuda->idle, stream);
    if (error == cudaSuccess)
        return MLP_OK;
    cudaStreamSynchronize(stream);
    return mlp_cuda_failed(cuda, NULL, "cudaEventRecord", error);
}

/* Work of several streams on the one arena is put in order by the event: each waits for what came before. */
static mlp_status run_device(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs,
                             cudaStream_t stream)
{
    MLP_TRY(mlp_cuda_need_weights(cuda));
    MLP_TRY(check_pointers(cuda, inputs, outputs));
    MLP_TRY(check_ports(cuda, rows, inputs, outputs));
    CHECK(cudaStreamWaitEvent(stream, (cudaEvent_t)cuda->idle, 0));
    mlp_status queued = queue_rows(cuda, rows, inputs, outputs, stream);
    mlp_status recorded = record_idle(cuda, stream);
    return queued != MLP_OK ? queued : recorded;
}

mlp_status mlp_cuda_run_device(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs,
                               void *stream)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, rows ? run_device(cuda, rows, inputs, outputs, (cudaStream_t)stream) : MLP_OK);
}

/* ---- One step at a time, for tools ---- */

static mlp_status begin(mlp_cuda *cuda, size_t rows, const void *const *inputs)
{
    const mlp_cuda_config *config = cuda->config;
    if (!rows || rows > config->batches[config->batch_count - 1].rows)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "%zu rows, at most %zu can be run step by step", rows,
                        config->batches[config->batch_count - 1].rows);
    MLP_TRY(mlp_cuda_need_weights(cuda));
    CHECK(cudaStreamWaitEvent((cudaStream_t)cuda->stream, (cudaEvent_t)cuda->idle, 0));
    cuda->batch = choose_batch(config, rows);
    MLP_TRY(rows_in(cuda, 0, rows, inputs));
    CHECK(cudaStreamSynchronize((cudaStream_t)cuda->stream));
    return MLP_OK;
}

static mlp_status run_step(mlp_cuda *cuda, size_t index)
{
    const mlp_cuda_config *config = cuda->config;
    if (index >= config->step_count)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "step %zu of %zu", index, config->step_count);
    MLP_TRY(mlp_cuda_queue(cuda, index));
    MLP_CUDA_CHECK(cuda, config->steps[index].name, cudaStreamSynchronize((cudaStream_t)cuda->stream));
    return MLP_OK;
}

static mlp_status read_bytes(mlp_cuda *cuda, size_t offset, size_t bytes, void *to)
{
    if (offset > cuda->config->arena_bytes || bytes > cuda->config->arena_bytes - offset)
        return mlp_fail(&cuda->network, MLP_BAD_ARGUMENT, "%zu bytes at %zu of an arena of %zu", bytes, offset,
                        cuda->config->arena_bytes);
    CHECK(cudaStreamWaitEvent((cudaStream_t)cuda->stream, (cudaEvent_t)cuda->idle, 0));
    CHECK(cudaMemcpyAsync(to, cuda->arena + offset, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)cuda->stream));
    CHECK(cudaStreamSynchronize((cudaStream_t)cuda->stream));
    return MLP_OK;
}

mlp_status mlp_cuda_begin(mlp_cuda *cuda, size_t rows, const void *const *inputs)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, begin(cuda, rows, inputs));
}

mlp_status mlp_cuda_run_step(mlp_cuda *cuda, size_t step)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, run_step(cuda, step));
}

mlp_status mlp_cuda_read(mlp_cuda *cuda, size_t offset, size_t bytes, void *to)
{
    int before = 0;
    MLP_TRY(mlp_cuda_enter(cuda, &before));
    return mlp_cuda_leave(cuda, before, read_bytes(cuda, offset, bytes, to));
}
