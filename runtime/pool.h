/* Threads that share the work of one call. The caller is one of them; the others wait between calls, spinning for a
 * moment, then asleep. One call at a time. */
#ifndef MLP_POOL_H
#define MLP_POOL_H

#include <stddef.h>

typedef struct mlp_pool mlp_pool;

enum { MLP_POOL_MOST = 64 };        /* threads of a pool, the caller included */

/* What each thread does: its part, 0 for the caller, of so many. */
typedef void mlp_pool_work(size_t part, size_t parts, void *context);

/* Starts threads - 1 threads. NULL if there is no memory or the system starts no more threads: *error (errno). */
mlp_pool *mlp_pool_open(size_t threads, int *error);
/* Ends them. NULL is harmless. */
void mlp_pool_close(mlp_pool *pool);

/* How many parts there can be: all threads, or 1 in a process that was forked since, which has the caller alone. */
size_t mlp_pool_parts(const mlp_pool *pool);
/* Calls work for each of `parts` parts, at most mlp_pool_parts, at the same time, and returns when all have. */
void mlp_pool_run(mlp_pool *pool, size_t parts, mlp_pool_work *work, void *context);
/* Inside the work: waits until all parts have come here. What each wrote before, all can read behind. */
void mlp_pool_barrier(mlp_pool *pool);

#endif
