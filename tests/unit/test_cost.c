/* Bytes, operations, floors and padding, against figures computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost.h"
#include "quantity.h"

static void add_value(struct plan *plan, enum dtype dtype, int64_t width, int buffer)
{
    struct value value = {.dtype = dtype, .width = width, .ld = width, .buffer = buffer};
    VEC_PUSH(plan->arena, &plan->values, value);
}

static void add_param(struct plan *plan, enum dtype dtype, int64_t rows, int64_t cols, int64_t stored_rows)
{
    struct packed packed = {.dtype = dtype, .rows = rows, .cols = cols, .stored_rows = stored_rows, .ld = cols};
    VEC_PUSH(plan->arena, &plan->params, packed);
}

static struct operand value(int index)
{
    return (struct operand){.kind = OPERAND_VALUE, .index = index};
}

static struct operand param(int index)
{
    return (struct operand){.kind = OPERAND_PARAM, .index = index};
}

static struct operand op(int index)
{
    return (struct operand){.kind = OPERAND_OP, .index = index};
}

static void add_op(struct plan *plan, struct step *step, struct tape_op tape_op)
{
    VEC_PUSH(plan->arena, &step->tape, tape_op);
}

/* f16: h = relu(linear(x, w, b)) of 10 columns from 30; y = sum(h * h), in f32. Columns go up to multiples of
 * eight: 16 from 32. */
static struct plan *small_plan(struct arena *arena, enum target target)
{
    static int64_t batches[] = {1, 128, 2048};
    struct plan *plan = ARENA_NEW(arena, struct plan);
    *plan = (struct plan){.arena = arena, .target = target, .dtype = DTYPE_F16, .batches = batches, .batch_count = 3,
                          .max_batch = 2048, .chunk = 64};
    add_value(plan, DTYPE_F16, 30, 0);
    add_value(plan, DTYPE_F16, 10, 1);
    add_value(plan, DTYPE_F32, 1, 2);
    add_param(plan, DTYPE_F16, 10, 30, 16);
    add_param(plan, DTYPE_F16, 1, 10, 1);
    struct step first = {.product = true, .n = 10, .k = 30, .n_padded = 16, .k_padded = 32, .out = 1};
    add_op(plan, &first, (struct tape_op){.op = OP_LINEAR, .width = 10, .in = {value(0), param(0), param(1)}});
    add_op(plan, &first, (struct tape_op){.op = OP_RELU, .width = 10, .in = {op(0)}});
    VEC_PUSH(arena, &plan->steps, first);
    struct step second = {.out = 2};
    add_op(plan, &second, (struct tape_op){.op = OP_MUL, .width = 10, .in = {value(1), value(1)}});
    add_op(plan, &second, (struct tape_op){.op = OP_SUM, .width = 1, .in = {op(0)}});
    VEC_PUSH(arena, &plan->steps, second);
    struct plan_port input = {.dtype = DTYPE_F16, .width = 30, .value = 0}, output = {.width = 1, .value = 2};
    VEC_PUSH(arena, &plan->inputs, input);
    VEC_PUSH(arena, &plan->outputs, output);
    return plan;
}

static void costs_of_steps(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *plan = small_plan(arena, TARGET_CUDA);
    struct cost product = cost_of_step(plan, &plan->steps.at[0]), rest = cost_of_step(plan, &plan->steps.at[1]);
    assert_true(product.weights == 2 * (10 * 30 + 10));
    assert_true(product.in == 2 * 30 && product.out == 2 * 10);
    assert_true(product.products == 2 * 10 * 30);
    assert_true(product.others == 10 + 10);             /* bias, relu */
    assert_true(rest.weights == 0);
    assert_true(rest.in == 2 * 10 && rest.out == 4);    /* what is read twice moves once */
    assert_true(rest.products == 0 && rest.others == 10 + 10);
    arena_free(arena);
}

static void cost_of_all(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *plan = small_plan(arena, TARGET_CUDA);
    add_value(plan, DTYPE_F32, 7, 3);                   /* an input that nothing reads */
    struct plan_port unread = {.dtype = DTYPE_F32, .width = 7, .value = 3};
    VEC_PUSH(arena, &plan->inputs, unread);
    struct cost all = cost_of_network(plan);
    assert_true(all.weights == 2 * (10 * 30 + 10));
    assert_true(all.in == 2 * 30 && all.out == 4);
    assert_true(all.products == 600 && all.others == 40);
    arena_free(arena);
}

static bool near(double a, double b)
{
    return a > b * (1 - 1e-12) && a < b * (1 + 1e-12);
}

static void floors(void **unused)
{
    (void)unused;
    /* 10 GB/s; 1000 GFLOP/s for products in f16, 100 for all else. */
    struct device device = {.gbytes = 10, .gflops = {[DTYPE_F32] = 100, [DTYPE_F16] = 1000}};
    struct cost cost = {.weights = 1000, .in = 60, .out = 40, .products = 2e5, .others = 1e4};
    struct floor few = cost_floor(&cost, 1, DTYPE_F16, &device), many = cost_floor(&cost, 100, DTYPE_F16, &device);
    assert_true(near(few.seconds, 200e-9) && !few.memory);
    assert_true(near(many.seconds, 20e-6));
    cost.products = 5e4;                                /* now the bytes take longer, 110 ns for one row */
    few = cost_floor(&cost, 1, DTYPE_F16, &device);
    assert_true(near(few.seconds, 110e-9) && few.memory);
    cost.others = 2e4;                                  /* 200 ns */
    few = cost_floor(&cost, 1, DTYPE_F16, &device);
    assert_true(near(few.seconds, 200e-9) && !few.memory);
    struct device two = device_times(&device, 2);
    assert_true(near(cost_floor(&cost, 1, DTYPE_F16, &two).seconds, 100e-9));
}

static void rows_go_up_to_batch_sizes(void **unused)
{
    (void)unused;
    static const int64_t computed[][2] = {{0, 0}, {1, 1}, {2, 128}, {128, 128}, {129, 2048}, {2048, 2048},
                                          {2049, 2049}, {2050, 2176}, {4224, 4224}, {4225, 6144}};
    struct arena *arena = arena_new();
    struct plan *cuda = small_plan(arena, TARGET_CUDA), *cpu = small_plan(arena, TARGET_CPU);
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++) {
        assert_int_equal(cost_padded_rows(cuda, computed[i][0]), computed[i][1]);
        assert_int_equal(cost_padded_rows(cpu, computed[i][0]), computed[i][0]);
    }
    assert_int_equal(cost_least_rest(cuda, 0), 1);
    assert_int_equal(cost_least_rest(cuda, 1), 2);
    assert_int_equal(cost_least_rest(cuda, 2), 129);
    arena_free(arena);
}

static void columns_go_up_to_16_bytes_or_a_panel(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    struct plan *cuda = small_plan(arena, TARGET_CUDA), *cpu = small_plan(arena, TARGET_CPU);
    struct padding on_gpu = cost_padding(cuda, &cuda->steps.at[0]), on_cpu = cost_padding(cpu, &cpu->steps.at[0]);
    assert_true(on_gpu.n == 16 && on_gpu.k == 32 && near(on_gpu.share, 1 - 300. / 512));
    assert_true(on_cpu.n == 16 && on_cpu.k == 30 && near(on_cpu.share, 1 - 10. / 16));
    arena_free(arena);
}

static void devices(void **unused)
{
    (void)unused;
    struct device device;
    assert_true(device_parse("50,200.5", &device) && device.gbytes == 50 && device.gflops[DTYPE_BF16] == 200.5);
    static const char *const wrong[] = {"",     "50",    "50,",  ",200",  "0,1",  "1,0",
                                        "-1,1", "1,2,3", "1,2x", "nan,1", "inf,1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(device_parse(wrong[i], &device));
    assert_ptr_equal(device_usual(TARGET_CUDA), device_find("h200"));
    assert_true(device_usual(TARGET_CPU)->target == TARGET_CPU);
    assert_null(device_find("H201"));
}

static void words(void **unused)
{
    (void)unused;
    struct arena *arena = arena_new();
    assert_string_equal(quantity_bytes(arena, 0), "0 B");
    assert_string_equal(quantity_bytes(arena, 1023), "1023 B");
    assert_string_equal(quantity_bytes(arena, 1024), "1 KiB");
    assert_string_equal(quantity_bytes(arena, 1536), "1.50 KiB");
    assert_string_equal(quantity_bytes(arena, 1048575), "1.00 MiB");
    assert_string_equal(quantity_bytes(arena, 352321536), "336 MiB");
    assert_string_equal(quantity_count(arena, 999), "999");
    assert_string_equal(quantity_count(arena, 12345), "12.3 k");
    assert_string_equal(quantity_time(arena, 14.44e-9), "14.4 ns");
    assert_string_equal(quantity_time(arena, 999.9e-6), "1.00 ms");
    assert_string_equal(quantity_time(arena, 12), "12 s");
    assert_string_equal(quantity_rows(arena, 1), "1 row");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_of_steps),
        cmocka_unit_test(cost_of_all),
        cmocka_unit_test(floors),
        cmocka_unit_test(rows_go_up_to_batch_sizes),
        cmocka_unit_test(columns_go_up_to_16_bytes_or_a_panel),
        cmocka_unit_test(devices),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
