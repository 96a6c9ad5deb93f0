/* The pool of threads: each part of a call runs once, barriers hold, and it survives forks and a lack of threads. */
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

enum { THREADS = 4, ROUNDS = 2000, BARRIERS = 5 };

struct count {
    mlp_pool *pool;
    int calls[THREADS];             /* each part its own */
    size_t parts[THREADS];
    int stages[THREADS];
    int early;                      /* parts that went past a barrier before another came to it */
};

static void count_call(size_t part, size_t parts, void *context)
{
    struct count *count = context;
    count->calls[part]++;
    count->parts[part] = parts;
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
    struct count count = {.pool = pool};
    int want[THREADS] = {0};
    assert_int_equal(mlp_pool_parts(pool), THREADS);
    for (int i = 0; i < ROUNDS; i++) {
        size_t parts = 1 + (size_t)i * 7 % THREADS;
        if (i % 500 == 499)
            usleep(3000);           /* so that they fall asleep */
        mlp_pool_run(pool, parts, count_call, &count);
        for (size_t j = 0; j < THREADS; j++) {
            want[j] += j < parts;
            assert_int_equal(count.calls[j], want[j]);
            if (j < parts)
                assert_int_equal(count.parts[j], parts);
        }
    }
    mlp_pool_close(pool);
}

/* Between two barriers each part looks at what the others wrote before the first. */
static void walk_stages(size_t part, size_t parts, void *context)
{
    struct count *count = context;
    for (int stage = 1; stage <= BARRIERS; stage++) {
        count->stages[part] = stage;
        mlp_pool_barrier(count->pool);
        for (size_t i = 0; i < parts; i++)
            if (count->stages[i] != stage)
                __atomic_store_n(&count->early, 1, __ATOMIC_RELAXED);
        mlp_pool_barrier(count->pool);
    }
}

static void barriers_hold(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(THREADS);
    struct count count = {.pool = pool};
    for (int i = 0; i < ROUNDS / 10; i++) {
        mlp_pool_run(pool, 1 + (size_t)i % THREADS, walk_stages, &count);
        assert_int_equal(count.early, 0);
    }
    mlp_pool_close(pool);
}

static void a_fork_has_the_caller_alone(void **state)
{
    (void)state;
    mlp_pool *pool = open_pool(THREADS);
    struct count count = {.pool = pool};
    int status;
    pid_t child = fork();
    if (!child) {
        int good = mlp_pool_parts(pool) == 1;
        mlp_pool_run(pool, mlp_pool_parts(pool), walk_stages, &count);
        mlp_pool_close(pool);
        pool = open_pool(2);
        mlp_pool_run(pool, 2, count_call, &count);
        mlp_pool_close(pool);
        _exit(good && count.stages[0] == BARRIERS && count.calls[1] == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    mlp_pool_run(pool, THREADS, count_call, &count);
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
        cmocka_unit_test(barriers_hold),
        cmocka_unit_test(a_fork_has_the_caller_alone),
        cmocka_unit_test(no_threads_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
