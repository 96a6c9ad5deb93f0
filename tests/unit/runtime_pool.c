/* The pool of threads: each part of a stage runs once, stages follow each other, nobody waits for who is late, and it
 * survives forks and a lack of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool.h"

enum { THREADS = 4, ROUNDS = 2000, STAGES = 5 };

struct count {
    int calls[MLP_POOL_MOST];       /* each part its own */
    size_t parts[MLP_POOL_MOST];
    size_t stages[MLP_POOL_MOST];   /* that it has done */
    int early;                      /* a part that began before all of the last stage had ended */
    int strange;                    /* a thread that is not the pool's */
};

static void count_call(const mlp_part *part, void *context)
{
    struct count *count = context;
    count->calls[part->part]++;
    count->parts[part->part] = part->parts;
    if (part->thread >= THREADS)
        __atomic_store_n(&count->strange, 1, __ATOMIC_RELAXED);
}

static mlp_pool *open_pool(size_t threads)
{
    int error = 0;
    mlp_pool *pool = mlp_pool_open(threads, &error);
    if (!pool)
        fail_msg("no pool: %s", strerror(error));
    return pool;
}

static void each_part_runs_once(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(THREADS);
    struct count count = {0};
    int want[MLP_POOL_MOST] = {0};
    assert_int_equal(mlp_pool_threads(pool), THREADS);
    for (int i = 0; i < ROUNDS; i++) {
        const size_t parts = 1 + (size_t)i * 7 % MLP_POOL_MOST, threads = 1 + (size_t)i % THREADS;
        if (i % 500 == 499)
            usleep(3000);           /* so that they fall asleep */
        mlp_pool_run(pool, threads, 1, parts, count_call, &count);
        for (size_t j = 0; j < MLP_POOL_MOST; j++) {
            want[j] += j < parts;
            assert_int_equal(count.calls[j], want[j]);
            if (j < parts)
                assert_int_equal(count.parts[j], parts);
        }
    }
    assert_int_equal(count.strange, 0);
    mlp_pool_close(pool);
}

/* Each part looks at what all of them wrote in the stage before. */
static void walk_stage(const mlp_part *part, void *context)
{
    struct count *count = context;
    for (size_t i = 0; i < part->parts; i++) {
        const size_t others = __atomic_load_n(&count->stages[i], __ATOMIC_RELAXED);
        if (others != part->stage && (i == part->part || others != part->stage + 1))
            __atomic_store_n(&count->early, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&count->stages[part->part], part->stage + 1, __ATOMIC_RELAXED);
}

static void stages_follow_each_other(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(THREADS);
    for (int i = 0; i < ROUNDS / 10; i++) {
        struct count count = {0};
        const size_t parts = 1 + (size_t)i % MLP_POOL_MOST;
        mlp_pool_run(pool, 1 + (size_t)i % THREADS, STAGES, parts, walk_stage, &count);
        assert_int_equal(count.early, 0);
        for (size_t j = 0; j < parts; j++)
            assert_int_equal(count.stages[j], STAGES);
    }
    mlp_pool_close(pool);
}

/* A part that does not end before the others have done all the rest: they must not wait for its thread to take more. */
static void be_late(const mlp_part *part, void *context)
{
    struct count *count = context;
    if (part->thread) {
        while (__atomic_load_n(&count->calls[0], __ATOMIC_RELAXED) < MLP_POOL_MOST - 1)
            usleep(100);
        return;
    }
    usleep(1000);                   /* the other thread has taken one by now */
    __atomic_fetch_add(&count->calls[0], 1, __ATOMIC_RELAXED);
}

static void nobody_waits_for_a_thread_that_is_late(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(2);
    struct count count = {0};
    mlp_pool_run(pool, 2, 1, MLP_POOL_MOST, be_late, &count);
    assert_in_range(count.calls[0], MLP_POOL_MOST - 1, MLP_POOL_MOST);
    mlp_pool_close(pool);
}

static void a_fork_has_the_caller_alone(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(THREADS);
    struct count count = {0};
    int status;
    pid_t child = fork();
    if (!child) {
        int good = mlp_pool_threads(pool) == 1;
        mlp_pool_run(pool, mlp_pool_threads(pool), STAGES, 1, walk_stage, &count);
        mlp_pool_close(pool);
        pool = open_pool(2);
        mlp_pool_run(pool, 2, 1, 2, count_call, &count);
        mlp_pool_close(pool);
        _exit(good && !count.early && count.stages[0] == STAGES && count.calls[1] == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    mlp_pool_run(pool, THREADS, 1, THREADS, count_call, &count);
    assert_int_equal(count.calls[THREADS - 1], 1);
    mlp_pool_close(pool);
}

/* In a child without room for the stacks of so many threads. */
static void no_threads_is_an_error(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();                         /* which would not live in so little either */
#endif
    int status;
    pid_t child = fork();
    if (!child) {
        const struct rlimit little = {1 << 20, 1 << 20};
        int error = 0;
        setrlimit(RLIMIT_AS, &little);
        mlp_pool *pool = mlp_pool_open(MLP_POOL_MOST, &error);
        mlp_pool_close(NULL);
        _exit(!pool && error ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_runs_once),
        cmocka_unit_test(stages_follow_each_other),
        cmocka_unit_test(nobody_waits_for_a_thread_that_is_late),
        cmocka_unit_test(a_fork_has_the_caller_alone),
        cmocka_unit_test(no_threads_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
