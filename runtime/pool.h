/* Threads that share the work of one call. The caller is one of them; the others wait between calls, spinning for a
 * moment, then asleep. One call at a time.
 *
 * A call is a number of stages, one after another; a stage, a number of parts that are done at the same time. A thread
 * takes the part of its own number where it can, so that it meets the same data each time, and else one that nobody has
 * taken: on a busy machine, where a thread may get no processor for a while, the others do not wait for it. */
#ifndef MLP_POOL_H
#define MLP_POOL_H

#include <stddef.h>

typedef struct mlp_pool mlp_pool;

enum { MLP_POOL_MOST = 32 };        /* threads of a pool, the caller included, and parts of a stage */

typedef struct mlp_part {
    size_t stage, part, parts;
    size_t thread;                  /* that does it; 0 for the caller */
} mlp_part;

typedef void mlp_pool_work(const mlp_part *part, void *context);

/* Starts threads - 1 threads. NULL if there is no memory or the system starts no more threads: *error (errno). */
mlp_pool *mlp_pool_open(size_t threads, int *error);
/* Ends them. NULL is harmless. */
void mlp_pool_close(mlp_pool *pool);

/* How many threads there can be: all, or 1 in a process that was forked since, which has the caller alone. */
size_t mlp_pool_threads(const mlp_pool *pool);
/* Calls work for each part of each stage, on so many threads (one more may help that was late in the call before), and
 * returns when all is done. What was written in one stage, all can read in the next. */
void mlp_pool_run(mlp_pool *pool, size_t threads, size_t stages, size_t parts, mlp_pool_work *work, void *context);

#endif
