/* Memory by lifetime: alignment, zeroing, growth, and arithmetic that does not wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena.h"

static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void assert_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes[i], 0);
}

/* Objects of every size, through several chunks: aligned, zeroed, and none touches another. */
static void test_objects_are_apart(void **state)
{
    (void)state;
    enum { OBJECTS = 1000 };
    unsigned char *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = arena_alloc(arena, i);
        assert_int_equal((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        assert_zero(objects[i], i);
        memset(objects[i], (int)(i % 255 + 1), i);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        for (size_t j = 0; j < i; j++)
            assert_int_equal(objects[i][j], i % 255 + 1);
    }
}

/* Sizes around a chunk's, and far beyond it. */
static void test_large_objects(void **state)
{
    (void)state;
    static const size_t sizes[] = {65519, 65520, 65521, 65535, 65536, 65537, 1, 10000000, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *object = arena_alloc(arena, sizes[i]);
        assert_zero(object, sizes[i]);
        memset(object, 0xff, sizes[i]);
    }
}

static void test_grow(void **state)
{
    (void)state;
    int *numbers = ARENA_ARRAY(arena, int, 3);
    for (int i = 0; i < 3; i++)
        numbers[i] = i + 1;
    int *more = arena_grow(arena, numbers, 3, 8, sizeof *numbers);
    for (int i = 0; i < 8; i++)
        assert_int_equal(more[i], i < 3 ? i + 1 : 0);
    assert_zero(arena_grow(arena, NULL, 0, 16, 1), 16);
}

static void test_vec(void **state)
{
    (void)state;
    VEC(int64_t) numbers = {0};
    for (int64_t i = 0; i < 10000; i++)
        VEC_PUSH(arena, &numbers, i * i);
    assert_int_equal(numbers.count, 10000);
    assert_true(numbers.capacity >= numbers.count);
    for (int64_t i = 0; i < 10000; i++)
        assert_int_equal(numbers.at[i], i * i);
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(arena_copy(arena, "weights", 3), "wei");
    assert_string_equal(arena_copy(arena, "", 0), "");
    assert_string_equal(arena_format(arena, "%s[%d]", "fc", 31), "fc[31]");
    assert_string_equal(arena_format(arena, "%s", ""), "");
    for (int length = 254; length <= 258; length++) {
        const char *text = arena_format(arena, "%*d|", length - 1, 7);
        assert_int_equal(strlen(text), length);
        assert_memory_equal(text + length - 2, "7|", 3);
    }
    const char *wide = arena_format(arena, "%100000d", 7);
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '7');
}

static void test_checked_arithmetic(void **state)
{
    (void)state;
    int64_t number = 5;
    assert_false(CHECKED_ADD(INT64_MAX, INT64_C(1), &number));
    assert_false(CHECKED_MUL(INT64_C(1) << 32, INT64_C(1) << 31, &number));
    assert_true(CHECKED_MUL(INT64_C(1) << 31, INT64_C(1) << 31, &number));
    assert_true(number == INT64_C(1) << 62);
    assert_true(CHECKED_ADD(INT64_MAX, INT64_C(-1), &number));
    assert_true(number == INT64_MAX - 1);
}

/* How a process ends that asks for too much: its exit status. */
static int status_of(size_t count, size_t size)
{
    int status;
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(126);
        arena_array(arena, count, size);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(status_of(10, 10), 0);
    assert_int_equal(status_of(SIZE_MAX / 2 + 2, 2), EXIT_ENVIRONMENT);
    assert_int_equal(status_of(SIZE_MAX, 1), EXIT_ENVIRONMENT);
    assert_int_equal(status_of(SIZE_MAX - 8, 1), EXIT_ENVIRONMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_objects_are_apart, begin, end),
        cmocka_unit_test_setup_teardown(test_large_objects, begin, end),
        cmocka_unit_test_setup_teardown(test_grow, begin, end),
        cmocka_unit_test_setup_teardown(test_vec, begin, end),
        cmocka_unit_test_setup_teardown(test_texts, begin, end),
        cmocka_unit_test_setup_teardown(test_checked_arithmetic, begin, end),
        cmocka_unit_test_setup_teardown(test_out_of_memory, begin, end),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
