/* What no way of computing a network goes below here: for one row the time to load its weights, for more the time of
 * its multiply-adds with everything in registers. Argument: how many weights there are. Its results are zeros.
 *
 * Each thread does an equal part; they meet at the end of a run. */
#include "peer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
enum { CHAINS = 12 };               /* as many sums as hide the latency of an addition */
enum { SPINS = 100000 };

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int bits __attribute__((vector_size(LANES * sizeof(float))));

static size_t weight_count, outputs;
static size_t thread_count;
static const float *weights;
static size_t run_rows;
static atomic_uint begun, ended;    /* runs; threads that are through, of all runs */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

/* Keeps a value in a register, and the compiler from knowing it. */
#define HIDE(value) __asm__ volatile("" : "+x"(value))

/* The twelve chains by name: arrays of vectors end up in memory. */
#define EACH(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)

/* Four streams of three vectors: one alone does not get all that memory has to give. */
static void load(const float *from, size_t count)
{
    const size_t step = 3 * LANES, stream = count / (4 * step) * step;
#define AT(i) ((const bits *)(const void *)(from + (i) / 3 * stream + done))[(i) % 3]
#define ZERO(i) bits sum_##i = {0};
#define ADD(i) sum_##i |= AT(i);
#define KEEP(i) HIDE(sum_##i);
    EACH(ZERO)
    for (size_t done = 0; done < stream; done += step) {
        EACH(ADD)
    }
    EACH(KEEP)
#undef ZERO
#undef ADD
}

static void multiply_add(size_t count)
{
#define ZERO(i) vector sum_##i = {0};
#define ADD(i) sum_##i += a * b;
    vector a = {0}, b = {0};
    EACH(ZERO)
    for (size_t done = 0; done < count; done += CHAINS * LANES) {
        HIDE(a);
        HIDE(b);
        EACH(ADD)
        EACH(KEEP)
    }
}

static void work(size_t thread)
{
    size_t part = weight_count / thread_count / LANES * LANES;
    if (run_rows == 1)
        load(weights + thread * part, part);
    else
        multiply_add(run_rows * weight_count / thread_count);
}

/* Spins for a while, and sleeps when nothing comes, so that others have the processor. */
static void wait_for_run(unsigned run)
{
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load(&begun) != run)
            return;
    }
    pthread_mutex_lock(&mutex);
    while (atomic_load(&begun) == run)
        pthread_cond_wait(&more, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *thread)
{
    for (unsigned run = 0;; run++) {
        wait_for_run(run);
        work((size_t)thread);
        atomic_fetch_add(&ended, 1);
    }
    return NULL;
}

const char *peer_open(const struct peer_network *network)
{
    weight_count = network->arguments[0] ? strtoul(network->arguments[0], NULL, 10) : 0;
    thread_count = (size_t)network->threads;
    outputs = network->outputs;
    float *zeros = peer_floats(weight_count);
    if (!zeros || !weight_count)
        return "argument: how many weights";
    memset(zeros, 0, weight_count * sizeof *zeros);
    weights = zeros;
    for (size_t i = 1; i < thread_count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, (void *)i))
            return "cannot start a thread";
    }
    return NULL;
}

const char *peer_run(size_t rows, const float *x, float *y)
{
    unsigned before = atomic_load(&ended);
    (void)x;
    run_rows = rows;
    memset(y, 0, rows * outputs * sizeof *y);
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&begun, 1);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&mutex);
    work(0);
    while (atomic_load(&ended) - before != thread_count - 1)
        ;
    return NULL;
}
