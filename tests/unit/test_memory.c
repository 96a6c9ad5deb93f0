/* The buffer planner: what is alive together never overlaps, offsets are aligned, and chains get the smallest arena
 * that there is. Expected sizes come from the definition: the largest sum of sizes alive at one step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan.h"

static uint64_t state = 1;

static int64_t draw(int64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static struct plan *new_plan(struct arena *arena)
{
    struct plan *plan = ARENA_NEW(arena, struct plan);
    plan->arena = arena;
    plan->alignment = 64;
    plan->chunk = 1 + draw(9);
    return plan;
}

static void add_buffer(struct plan *plan, int64_t row_bytes, int first, int last)
{
    struct buffer buffer = {.row_bytes = row_bytes, .first = first, .last = last};
    VEC_PUSH(plan->arena, &plan->buffers, buffer);
}

static int64_t size_of(const struct plan *plan, size_t index)
{
    int64_t bytes = plan->buffers.at[index].row_bytes * plan->chunk;
    return (bytes + plan->alignment - 1) / plan->alignment * plan->alignment;
}

static int64_t load_at(const struct plan *plan, int step)
{
    int64_t sum = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        if (plan->buffers.at[i].first <= step && step <= plan->buffers.at[i].last)
            sum += size_of(plan, i);
    }
    return sum;
}

static int64_t largest_load(const struct plan *plan, int steps)
{
    int64_t largest = 0;
    for (int step = -1; step <= steps; step++)
        largest = load_at(plan, step) > largest ? load_at(plan, step) : largest;
    return largest;
}

static void expect_no_overlap(const struct plan *plan)
{
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const struct buffer *a = &plan->buffers.at[i];
        assert_int_equal(a->offset % plan->alignment, 0);
        assert_true(a->offset >= 0 && a->offset + size_of(plan, i) <= plan->arena_bytes);
        for (size_t j = 0; j < i; j++) {
            const struct buffer *b = &plan->buffers.at[j];
            bool together = a->first <= b->last && b->first <= a->last;
            assert_true(!together || a->offset + size_of(plan, i) <= b->offset ||
                        b->offset + size_of(plan, j) <= a->offset);
        }
    }
}

static void chains_are_minimal(void **unused)
{
    (void)unused;
    for (int round = 0; round < 300; round++) {
        struct arena *arena = arena_new();
        struct plan *plan = new_plan(arena);
        int length = 1 + (int)draw(60);
        for (int i = 0; i < length; i++)
            add_buffer(plan, 1 + draw(2000), i, i + 1);
        assert_true(memory_assign(plan));
        expect_no_overlap(plan);
        assert_int_equal(plan->arena_bytes, largest_load(plan, length + 1));
        arena_free(arena);
    }
}

/* One buffer may live long beside others that come and go. */
static void pairs_are_minimal(void **unused)
{
    (void)unused;
    for (int round = 0; round < 300; round++) {
        struct arena *arena = arena_new();
        struct plan *plan = new_plan(arena);
        int free_from[2] = {0, 0}, count = 1 + (int)draw(60), step = 0;
        for (int i = 0; i < count; i++) {
            int place = free_from[0] <= free_from[1] ? 0 : 1;
            step = (step > free_from[place] ? step : free_from[place]) + (int)draw(2);
            free_from[place] = step + 1 + (int)draw(5);
            add_buffer(plan, 1 + draw(2000), step, free_from[place] - 1);
        }
        assert_true(memory_assign(plan));
        expect_no_overlap(plan);
        assert_int_equal(plan->arena_bytes, largest_load(plan, 10 * count));
        arena_free(arena);
    }
}

static void branches_never_overlap(void **unused)
{
    (void)unused;
    for (int round = 0; round < 300; round++) {
        struct arena *arena = arena_new();
        struct plan *plan = new_plan(arena);
        int count = 1 + (int)draw(80);
        for (int i = 0; i < count; i++)
            add_buffer(plan, 1 + draw(3000), i, i + (int)draw(1 + draw(20)));
        assert_true(memory_assign(plan));
        expect_no_overlap(plan);
        assert_true(plan->arena_bytes >= largest_load(plan, 2 * count));
        arena_free(arena);
    }
}

static void many_buffers_never_overlap(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *plan = new_plan(arena);
    for (int i = 0; i < 6000; i++)
        add_buffer(plan, 1 + draw(500), i, i + (int)draw(8));
    assert_true(memory_assign(plan));
    expect_no_overlap(plan);
    arena_free(arena);
}

static void sizes_do_not_wrap(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *plan = new_plan(arena);
    plan->chunk = INT64_C(1) << 31;
    add_buffer(plan, INT64_C(1) << 33, 0, 1);
    assert_false(memory_assign(plan));
    arena_free(arena);
}

static void an_empty_plan_needs_nothing(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *plan = new_plan(arena);
    assert_true(memory_assign(plan));
    assert_int_equal(plan->arena_bytes, 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_minimal),
        cmocka_unit_test(pairs_are_minimal),
        cmocka_unit_test(branches_never_overlap),
        cmocka_unit_test(many_buffers_never_overlap),
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(an_empty_plan_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
