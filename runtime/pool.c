#include "pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
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
    struct event calls;             /* calls so far; in the lower bits, how many threads the one at hand has, or 0 */
    struct event stage;             /* stages so far, of all calls */
    _Alignas(CACHE_LINE) _Atomic uint64_t turn; /* the stage at hand, and in the lower half a bit for each part of it
                                                   that nobody has taken */
    _Alignas(CACHE_LINE) atomic_uint ended;     /* parts of the stage */
    /* Of the call. Read by who has taken a part; until that has ended, nothing here changes. */
    _Alignas(CACHE_LINE) size_t stages, parts;
    uint32_t first;                 /* stage */
    mlp_pool_work *work;
    void *context;
    /* of the pool */
    atomic_int ends;
    size_t threads, started;
    unsigned forks;                 /* of the process when it was opened */
    pthread_t ids[MLP_POOL_MOST];
};

struct seat {
    mlp_pool *pool;
    size_t thread;
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

/* ---- Calls ---- */

enum { THREADS_BITS = 8 };
_Static_assert(MLP_POOL_MOST < 1 << THREADS_BITS, "the number of threads fits beside that of the call");

static void announce(mlp_pool *pool, size_t threads)
{
    const unsigned last = atomic_load_explicit(&pool->calls.value, memory_order_relaxed);
    atomic_store(&pool->calls.value, ((last >> THREADS_BITS) + 1) << THREADS_BITS | (unsigned)threads);
    if (threads)
        wake_sleepers(&pool->calls);
}

/* ---- Parts ---- */

static uint64_t turn_of(uint32_t stage, size_t parts)
{
    return (uint64_t)stage << 32 | (UINT32_MAX >> (MLP_POOL_MOST - parts));
}

/* Takes the thread's own part, or the first that is free; 0 where there is none. */
static int take(mlp_pool *pool, size_t thread, uint32_t *stage, size_t *part)
{
    uint64_t turn = atomic_load_explicit(&pool->turn, memory_order_acquire);
    while ((uint32_t)turn) {
        const uint32_t left = (uint32_t)turn;
        const size_t which = left >> thread & 1 ? thread : (size_t)__builtin_ctz(left);
        *stage = (uint32_t)(turn >> 32);
        *part = which;
        if (atomic_compare_exchange_weak_explicit(&pool->turn, &turn, turn & ~(UINT64_C(1) << which),
                                                  memory_order_acq_rel, memory_order_acquire))
            return 1;
    }
    return 0;
}

/* By the thread that did the last part of a stage. A call is closed before its last stage is seen to have ended: who
 * waits for that finds nothing more to wait for. */
static void end_stage(mlp_pool *pool, uint32_t stage)
{
    const int more = stage + 1 - pool->first < pool->stages;
    atomic_store_explicit(&pool->ended, 0, memory_order_relaxed);
    if (more)
        atomic_store_explicit(&pool->turn, turn_of(stage + 1, pool->parts), memory_order_release);
    else
        announce(pool, 0);
    atomic_store(&pool->stage.value, stage + 1);
    wake_sleepers(&pool->stage);
}

/* Does a part, if one can be had. */
static int do_part(mlp_pool *pool, size_t thread)
{
    uint32_t stage;
    size_t which;
    if (!take(pool, thread, &stage, &which))
        return 0;
    const mlp_part part = {stage - pool->first, which, pool->parts, thread};
    pool->work(&part, pool->context);
    if (atomic_fetch_add_explicit(&pool->ended, 1, memory_order_acq_rel) + 1 == part.parts)
        end_stage(pool, stage);
    return 1;
}

/* ---- Threads ---- */

static void *serve(void *argument)
{
    struct seat seat = *(struct seat *)argument;
    mlp_pool *pool = seat.pool;
    free(argument);
    for (unsigned call = 0;;) {
        call = wait_for(&pool->calls, call);
        if (atomic_load(&pool->ends))
            return NULL;
        if (seat.thread >= (call & ((1u << THREADS_BITS) - 1)))
            continue;
        while (atomic_load(&pool->calls.value) == call) {
            const unsigned stage = atomic_load(&pool->stage.value);
            if (!do_part(pool, seat.thread))
                wait_for(&pool->stage, stage);
        }
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
        atomic_store(&pool->ends, 1);
        announce(pool, pool->started + 1);
        for (size_t i = 0; i < pool->started; i++)
            pthread_join(pool->ids[i], NULL);
    }
    free(pool);
}

size_t mlp_pool_threads(const mlp_pool *pool)
{
    return pool->forks == forks ? pool->threads : 1;
}

static void run_alone(size_t stages, size_t parts, mlp_pool_work *work, void *context)
{
    for (size_t stage = 0; stage < stages; stage++) {
        for (size_t part = 0; part < parts; part++)
            work(&(mlp_part){stage, part, parts, 0}, context);
    }
}

void mlp_pool_run(mlp_pool *pool, size_t threads, size_t stages, size_t parts, mlp_pool_work *work, void *context)
{
    if (threads == 1 || !stages) {
        run_alone(stages, parts, work, context);
        return;
    }
    const uint32_t first = atomic_load_explicit(&pool->stage.value, memory_order_relaxed);
    pool->stages = stages;
    pool->parts = parts;
    pool->first = first;
    pool->work = work;
    pool->context = context;
    atomic_store_explicit(&pool->turn, turn_of(first, parts), memory_order_release);
    announce(pool, threads);
    for (uint32_t stage; (stage = atomic_load(&pool->stage.value)) != first + (uint32_t)stages;) {
        if (!do_part(pool, 0))
            wait_for(&pool->stage, stage);
    }
}
