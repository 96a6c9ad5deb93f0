#include "pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Looks at a word before sleep: some 50 microseconds, in which most calls follow one another. */
enum { SPINS = 2000, CACHE_LINE = 64 };

/* What threads wait for: a number that changes. Each has cache lines of its own. */
struct event {
    _Alignas(CACHE_LINE) atomic_uint value;
    atomic_uint sleepers;
};

struct mlp_pool {
    struct event start;             /* calls so far, and in the lower bits how many parts the last one has */
    struct event running;           /* parts, but for the caller's, that have not ended */
    struct event passed;            /* barriers so far */
    _Alignas(CACHE_LINE) atomic_uint arrived;   /* parts at the barrier */
    _Alignas(CACHE_LINE) size_t parts;          /* of the call */
    mlp_pool_work *work;            /* NULL: the thread ends */
    void *context;
    size_t threads, started;
    unsigned forks;                 /* of the process when it was opened */
    pthread_t ids[MLP_POOL_MOST];
};

struct seat {
    mlp_pool *pool;
    size_t part;
};

/* ---- Waiting ---- */

static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Until the event's value is no longer `old`; returns the new one. */
static unsigned wait_for(struct event *event, unsigned old)
{
    unsigned value = atomic_load_explicit(&event->value, memory_order_acquire);
    for (int i = 0; value == old && i < SPINS; i++) {
        pause_a_moment();
        value = atomic_load_explicit(&event->value, memory_order_acquire);
    }
    while (value == old) {
        atomic_fetch_add(&event->sleepers, 1);
        syscall(SYS_futex, &event->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
        atomic_fetch_sub(&event->sleepers, 1);
        value = atomic_load(&event->value);
    }
    return value;
}

/* Who sleeps either has counted itself, or finds the value changed. */
static void wake_sleepers(struct event *event)
{
    if (atomic_load(&event->sleepers))
        syscall(SYS_futex, &event->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- Threads ---- */

enum { PARTS_BITS = 8 };
_Static_assert(MLP_POOL_MOST < 1 << PARTS_BITS, "the number of parts fits beside that of the call");

static void announce(mlp_pool *pool, size_t parts, mlp_pool_work *work, void *context)
{
    unsigned call = (atomic_load_explicit(&pool->start.value, memory_order_relaxed) >> PARTS_BITS) + 1;
    pool->work = work;
    pool->context = context;
    pool->parts = parts;
    atomic_store_explicit(&pool->running.value, (unsigned)parts - 1, memory_order_relaxed);
    atomic_store(&pool->start.value, call << PARTS_BITS | (unsigned)parts);
    wake_sleepers(&pool->start);
}

static void *serve(void *argument)
{
    struct seat seat = *(struct seat *)argument;
    mlp_pool *pool = seat.pool;
    free(argument);
    for (unsigned call = 0;;) {
        call = wait_for(&pool->start, call);
        if (seat.part >= (call & ((1u << PARTS_BITS) - 1)))
            continue;               /* a call of fewer parts, of which nothing but the number may be read */
        if (!pool->work)
            return NULL;
        pool->work(seat.part, pool->parts, pool->context);
        if (atomic_fetch_sub(&pool->running.value, 1) == 1)
            wake_sleepers(&pool->running);
    }
}

static int start_thread(mlp_pool *pool)
{
    struct seat *seat = malloc(sizeof *seat);
    if (!seat)
        return ENOMEM;
    *seat = (struct seat){pool, pool->started + 1};
    int error = pthread_create(&pool->ids[pool->started], NULL, serve, seat);
    if (error)
        free(seat);
    else
        pool->started++;
    return error;
}

/* The threads take no signals: those are for the program's own. */
static int start_threads(mlp_pool *pool)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!error && pool->started + 1 < pool->threads)
        error = start_thread(pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* ---- Forks: the child has the thread that forked, and no other ---- */

static unsigned forks;

static void count_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* ---- The pool ---- */

mlp_pool *mlp_pool_open(size_t threads, int *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    mlp_pool *pool = aligned_alloc(CACHE_LINE, sizeof *pool);
    if (!pool) {
        *error = ENOMEM;
        return NULL;
    }
    *pool = (mlp_pool){.threads = threads, .forks = forks};
    *error = start_threads(pool);
    if (*error) {
        mlp_pool_close(pool);
        return NULL;
    }
    return pool;
}

void mlp_pool_close(mlp_pool *pool)
{
    if (!pool)
        return;
    if (pool->forks == forks) {
        announce(pool, pool->started + 1, NULL, NULL);
        for (size_t i = 0; i < pool->started; i++)
            pthread_join(pool->ids[i], NULL);
    }
    free(pool);
}

size_t mlp_pool_parts(const mlp_pool *pool)
{
    return pool->forks == forks ? pool->threads : 1;
}

void mlp_pool_run(mlp_pool *pool, size_t parts, mlp_pool_work *work, void *context)
{
    if (parts == 1) {
        pool->parts = 1;
        work(0, 1, context);
        return;
    }
    announce(pool, parts, work, context);
    work(0, parts, context);
    for (unsigned left = atomic_load(&pool->running.value); left;)
        left = wait_for(&pool->running, left);
}

void mlp_pool_barrier(mlp_pool *pool)
{
    unsigned passed = atomic_load_explicit(&pool->passed.value, memory_order_relaxed);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 < pool->parts) {
        wait_for(&pool->passed, passed);
        return;
    }
    atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
    atomic_fetch_add(&pool->passed.value, 1);
    wake_sleepers(&pool->passed);
}
