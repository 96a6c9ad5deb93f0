/* A network for the CPU: the steps that fit this processor, chosen once, and rows of any number through them. */
#include "mlp_cpu_network.h"

#include <string.h>

/* ---- Start and end ---- */

static const char *level_text(int level)
{
    static const char *const texts[] = {"nothing", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "as compiled"};
    return texts[level];
}

static mlp_status choose_level(mlp_cpu_network *network)
{
    const int here = mlp_cpu_level_here();
    for (size_t i = 0; i < network->parts->level_count; i++) {
        if (network->parts->levels[i].level <= here) {
            network->level = &network->parts->levels[i];
            return MLP_OK;
        }
    }
    return mlp_fail(&network->guard, MLP_WRONG_CPU, "it has %s, this network needs %s", level_text(here),
                    level_text(network->parts->levels[network->parts->level_count - 1].level));
}

static mlp_status open_weights(mlp_cpu_network *network, const char *path)
{
    const mlp_model *model = network->parts->model;
    mlp_network *guard = &network->guard;
    mlp_status status = MLP_OK;
    if (network->parts->packed)
        status = mlp_weights_check(guard, network->parts->packed, MLP_WEIGHTS_HEADER + model->weights_bytes,
                                   model->weights_bytes, model->weights_layout, "the embedded weights");
    if (status == MLP_OK && network->parts->packed && !guard->loaded)
        guard->weights = network->parts->packed + MLP_WEIGHTS_HEADER;
    if (status != MLP_OK || !path)
        return status;
    if (!model->weights_bytes)
        return mlp_fail(guard, MLP_BAD_ARGUMENT, "this network has no weights to load");
    return mlp_weights_load(guard, path, model->weights_bytes, model->weights_layout);
}

/* 0: as many as the network was built for. */
static mlp_status open_threads(mlp_cpu_network *network, int threads)
{
    const size_t most = network->parts->model->threads, wanted = threads ? (size_t)threads : most;
    if (threads < 0 || wanted > most)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "%d threads: this network was built for %zu", threads, most);
    return wanted > 1 ? network->parts->threads->open(network, wanted) : MLP_OK;
}

mlp_status mlp_cpu_init(mlp_cpu_network *network, const mlp_cpu_parts *parts, const mlp_options *options)
{
    mlp_status status = mlp_enter_init(&network->guard);
    if (status != MLP_OK)
        return status;
    network->parts = parts;
    status = choose_level(network);
    if (status == MLP_OK)
        status = open_weights(network, options ? options->weights : NULL);
    if (status == MLP_OK)
        status = open_threads(network, options ? options->threads : 0);
    if (status != MLP_OK)
        mlp_weights_unload(&network->guard);    /* the next init begins with nothing */
    network->guard.ready = status == MLP_OK;
    mlp_leave(&network->guard);
    return status;
}

mlp_status mlp_cpu_load_weights(mlp_cpu_network *network, const char *path)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    const mlp_model *model = network->parts->model;
    if (model->weights_bytes)
        status = mlp_weights_load(&network->guard, path, model->weights_bytes, model->weights_layout);
    else
        status = mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "this network has no weights to load");
    mlp_leave(&network->guard);
    return status;
}

void mlp_cpu_close(mlp_cpu_network *network)
{
    if (mlp_enter_any(&network->guard) != MLP_OK)
        return;
    if (network->pool)
        network->parts->threads->close(network);
    mlp_weights_unload(&network->guard);
    network->begun = (mlp_rows){.parts = 0};
    network->guard.ready = 0;
    mlp_leave(&network->guard);
}

const char *mlp_cpu_instructions(const mlp_cpu_network *network)
{
    return network->level ? level_text(network->level->level) : NULL;
}

/* ---- Rows ---- */

static int any_null(const void *const *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!arrays[i])
            return 1;
    }
    return 0;
}

static mlp_status check_weights(mlp_cpu_network *network)
{
    if (network->parts->model->weights_bytes && !network->guard.weights)
        return mlp_fail(&network->guard, MLP_NO_WEIGHTS, "give a packed weights file to init or load_weights");
    return MLP_OK;
}

/* No memory holds so many, and what is computed from their number stays in range. */
static const size_t most_rows = SIZE_MAX / 4096;

static mlp_status check_run(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs)
{
    const mlp_model *model = network->parts->model;
    if (rows > most_rows)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "%zu rows are more than there can be", rows);
    if (rows && (any_null(inputs, model->input_count) ||
                 any_null((const void *const *)outputs, model->output_count)))
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "an array is NULL");
    return check_weights(network);
}

static mlp_rows all_rows(const mlp_cpu_network *network, const void *const *inputs, void *const *outputs)
{
    return (mlp_rows){.inputs = inputs, .outputs = outputs, .weights = network->guard.weights,
                      .arena = network->parts->arena, .parts = 1};
}

/* One chunk, the usual case where time counts, takes no division. */
void mlp_cpu_run_chunks(const mlp_cpu_network *network, mlp_rows *part, size_t rows)
{
    const size_t most = network->parts->model->chunk;
    for (size_t chunks = rows > most ? (rows + most - 1) / most : 1; rows; chunks--, part->first += part->count) {
        part->count = chunks > 1 ? (rows + chunks - 1) / chunks : rows;
        rows -= part->count;
        network->level->steps->forward(part);
    }
}

mlp_status mlp_cpu_run(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    status = check_run(network, rows, inputs, outputs);
    if (status == MLP_OK) {
        mlp_rows all = all_rows(network, inputs, outputs);
        if (network->pool)
            network->parts->threads->run(network, &all, rows);
        else
            mlp_cpu_run_chunks(network, &all, rows);
    }
    mlp_leave(&network->guard);
    return status;
}

/* ---- One step at a time, for tools ---- */

static mlp_status begin(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs)
{
    if (rows > network->parts->model->chunk)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "%zu rows, at most %zu can be run step by step", rows,
                        network->parts->model->chunk);
    mlp_status status = check_weights(network);
    if (status != MLP_OK)
        return status;
    network->begun = all_rows(network, inputs, outputs);
    network->begun.count = rows;
    return MLP_OK;
}

static mlp_status run_step(mlp_cpu_network *network, size_t step)
{
    if (step >= network->parts->model->step_count)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "step %zu of %zu", step, network->parts->model->step_count);
    if (!network->begun.parts)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "a step before begin");
    network->begun.weights = network->guard.weights;    /* others than those of begin, maybe */
    network->level->steps->steps[step](&network->begun);
    return MLP_OK;
}

static mlp_status read_bytes(mlp_cpu_network *network, const void *from, size_t size, size_t offset, size_t bytes,
                             void *to)
{
    if (offset > size || bytes > size - offset)
        return mlp_fail(&network->guard, MLP_BAD_ARGUMENT, "%zu bytes at %zu of %zu", bytes, offset, size);
    if (bytes)
        memcpy(to, (const char *)from + offset, bytes);
    return MLP_OK;
}

mlp_status mlp_cpu_begin(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    status = begin(network, rows, inputs, outputs);
    mlp_leave(&network->guard);
    return status;
}

mlp_status mlp_cpu_run_step(mlp_cpu_network *network, size_t step)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    status = run_step(network, step);
    mlp_leave(&network->guard);
    return status;
}

mlp_status mlp_cpu_read_arena(mlp_cpu_network *network, size_t offset, size_t bytes, void *to)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    status = read_bytes(network, network->parts->arena, network->parts->model->arena_bytes, offset, bytes, to);
    mlp_leave(&network->guard);
    return status;
}

mlp_status mlp_cpu_read_weights(mlp_cpu_network *network, size_t offset, size_t bytes, void *to)
{
    mlp_status status = mlp_enter(&network->guard);
    if (status != MLP_OK)
        return status;
    status = check_weights(network);
    if (status == MLP_OK)
        status = read_bytes(network, network->guard.weights, network->parts->model->weights_bytes, offset, bytes, to);
    mlp_leave(&network->guard);
    return status;
}
