/* A CPU network on several threads. Many rows are split among them, each thread with memory of its own, and none waits
 * for another. Of few rows all threads do all steps together: a product's columns are split, other steps' rows, and
 * after each step they wait for one another. Either way a row has the bits that it has on one thread.
 *
 * The rule: a thread must have so much to do that it is worth to begin, and to wait. */
#include "mlp_cpu_network.h"
#include "pool.h"

#include <string.h>

enum {
    ROWS_EACH = 8,                  /* many rows: at least so many a thread */
    WORK_EACH = 25000,              /* and so many multiplications with addition, some microseconds; */
    STEP_WORK_EACH = 5000           /* few rows: so many in a step on average */
};

struct call {
    const mlp_cpu_network *network;
    const mlp_rows *all;
    size_t rows;
};

/* ---- Many rows ---- */

static void run_rows(size_t part, size_t parts, void *context)
{
    const struct call *call = (const struct call *)context;
    const size_t first = call->rows * part / parts, end = call->rows * (part + 1) / parts;
    mlp_rows mine = *call->all;
    mine.first += first;
    mine.arena += part * (call->network->parts->model->arena_bytes / sizeof *mine.arena);
    mlp_cpu_run_chunks(call->network, &mine, end - first);
}

/* ---- Few rows ---- */

static void run_steps(size_t part, size_t parts, void *context)
{
    const struct call *call = (const struct call *)context;
    const mlp_model *model = call->network->parts->model;
    mlp_rows mine = *call->all;
    mine.part = part;
    mine.parts = parts;
    for (size_t done = 0; done < call->rows; done += mine.count, mine.first += mine.count) {
        mine.count = call->rows - done < model->chunk ? call->rows - done : model->chunk;
        for (size_t i = 0; i < model->step_count; i++) {
            call->network->level->steps->steps[i](&mine);
            mlp_pool_barrier(call->network->pool);
        }
    }
}

/* ---- Either ---- */

static size_t at_most(double parts, size_t most)
{
    return parts < (double)most ? (size_t)parts : most;
}

static void run(const mlp_cpu_network *network, mlp_rows *all, size_t rows)
{
    const mlp_model *model = network->parts->model;
    const size_t most = mlp_pool_parts(network->pool), together = rows < model->chunk ? rows : model->chunk;
    const double work = network->parts->row_work;
    struct call call = {network, all, rows};
    if (rows >= ROWS_EACH * most) {
        size_t parts = at_most(work * (double)rows / WORK_EACH, most);
        mlp_pool_run(network->pool, parts ? parts : 1, run_rows, &call);
        return;
    }
    size_t parts = at_most(work * (double)together / (double)model->step_count / STEP_WORK_EACH, most);
    if (parts > 1)
        mlp_pool_run(network->pool, parts, run_steps, &call);
    else
        mlp_cpu_run_chunks(network, all, rows);
}

/* ---- Start and end ---- */

static mlp_status open_pool(mlp_cpu_network *network, size_t threads)
{
    int error = 0;
    network->pool = mlp_pool_open(threads, &error);
    if (network->pool)
        return MLP_OK;
    return mlp_fail(&network->guard, MLP_NO_THREADS, "%zu were asked for: %s", threads, strerror(error));
}

static void close_pool(mlp_cpu_network *network)
{
    mlp_pool_close(network->pool);
    network->pool = NULL;
}

const mlp_cpu_threads mlp_cpu_threads_shared = {open_pool, close_pool, run};
