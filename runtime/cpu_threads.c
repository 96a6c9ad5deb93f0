/* A CPU network on several threads. Many rows are split into pieces, which threads take one after another, each with
 * memory of its own. Of few rows all threads do all steps together: of a product each does some columns, of other steps
 * some rows. Either way a row has the bits that it has on one thread.
 *
 * The rule: a thread must have so much to do that it is worth to begin, and to wait. */
#include "mlp_cpu_network.h"
#include "pool.h"

#include <string.h>

enum {
    ROWS_EACH = 8,                  /* many rows: at least so many a thread */
    WORK_EACH = 25000,              /* and so many multiplications with addition, some microseconds; */
    STEP_WORK_EACH = 5000,          /* few rows: so many in a step on average */
    PIECES_EACH = 4                 /* many rows: pieces, at most, a thread */
};

struct call {
    const mlp_cpu_network *network;
    const mlp_rows *all;
    size_t rows;
};

/* ---- Many rows ---- */

static void run_piece(const mlp_part *part, void *context)
{
    const struct call *call = (const struct call *)context;
    const size_t first = call->rows * part->part / part->parts, end = call->rows * (part->part + 1) / part->parts;
    mlp_rows mine = *call->all;
    mine.first += first;
    mine.arena += part->thread * (call->network->parts->model->arena_bytes / sizeof *mine.arena);
    mlp_cpu_run_chunks(call->network, &mine, end - first);
}

/* Several for each thread, so that one which comes late takes fewer; but no smaller than what goes through all layers
 * together anyway. */
static size_t pieces_of(const mlp_cpu_network *network, size_t rows, size_t threads)
{
    const size_t chunks = rows / network->parts->model->chunk, wanted = PIECES_EACH * threads;
    const size_t pieces = chunks < wanted ? chunks : wanted;
    return pieces < threads ? threads : pieces < MLP_POOL_MOST ? pieces : MLP_POOL_MOST;
}

/* ---- Few rows ---- */

/* A stage is one step of one chunk. */
static void run_share(const mlp_part *part, void *context)
{
    const struct call *call = (const struct call *)context;
    const mlp_model *model = call->network->parts->model;
    const size_t done = part->stage / model->step_count * model->chunk, left = call->rows - done;
    mlp_rows mine = *call->all;
    mine.first += done;
    mine.count = left < model->chunk ? left : model->chunk;
    mine.part = part->part;
    mine.parts = part->parts;
    call->network->level->steps->steps[part->stage % model->step_count](&mine);
}

/* ---- Either ---- */

static size_t at_most(double parts, size_t most)
{
    return parts < (double)most ? (size_t)parts : most;
}

static void run(const mlp_cpu_network *network, mlp_rows *all, size_t rows)
{
    const mlp_model *model = network->parts->model;
    const size_t most = mlp_pool_threads(network->pool), together = rows < model->chunk ? rows : model->chunk;
    const double work = network->parts->row_work;
    struct call call = {network, all, rows};
    const int many = rows >= ROWS_EACH * most;
    const size_t threads = many ? at_most(work * (double)rows / WORK_EACH, most)
                                : at_most(work * (double)together / (double)model->step_count / STEP_WORK_EACH, most);
    if (threads < 2)
        mlp_cpu_run_chunks(network, all, rows);
    else if (many)
        mlp_pool_run(network->pool, threads, 1, pieces_of(network, rows, threads), run_piece, &call);
    else
        mlp_pool_run(network->pool, threads, (rows + model->chunk - 1) / model->chunk * model->step_count, threads,
                     run_share, &call);
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
