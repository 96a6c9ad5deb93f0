/* How many rows of a CPU network go through all of its steps at once.
 *
 * Each chunk of rows reads all weights again, and writes and reads the values between steps, for which there is memory
 * for one chunk. With few rows to a chunk the weights are most of what is moved, with many the values leave the cache.
 * So:
 *   - 64 rows, or as many as keep the values in half of an L2 cache of 512 KB, but no less than 16: with these a
 *     product is fast;
 *   - more where the weights are large: until a chunk moves as many bytes of values as of weights, but no more than
 *     512;
 *   - at most the largest batch size, of which all chunks have the same share. */
#include "plan.h"

enum { LEAST_ROWS = 16, USUAL_ROWS = 64, MOST_ROWS = 512, CACHE_BYTES = 256 << 10 };

/* Of one row: values between steps are written and read, inputs read, outputs written. */
static int64_t moved_bytes(const struct plan *plan)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < plan->buffers.count; i++)
        bytes += plan->buffers.at[i].row_bytes * (plan->buffers.at[i].place == PLACE_ARENA ? 2 : 1);
    return bytes;
}

static int64_t at_least(int64_t rows, int64_t least)
{
    return rows > least ? rows : least;
}

static int64_t at_most(int64_t rows, int64_t most)
{
    return rows < most ? rows : most;
}

int64_t chunk_rows(const struct plan *plan, int64_t row_bytes)
{
    int64_t rows = at_most(USUAL_ROWS, CACHE_BYTES / at_least(row_bytes, 1));
    rows = at_least(rows, LEAST_ROWS);
    rows = at_least(rows, plan->weights_bytes / at_least(moved_bytes(plan), 1));
    rows = at_most(at_most(rows, MOST_ROWS), plan->max_batch);
    int64_t chunks = (plan->max_batch + rows - 1) / rows;
    return (plan->max_batch + chunks - 1) / chunks;
}
