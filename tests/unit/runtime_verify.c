/* --verify finds what is wrong, names the first step that is, and lets what is right pass. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image.h"
#include "npy.h"
#include "runtime_model.h"

static void says(const char *text)
{
    if (!strstr(said, text))
        fail_msg("no '%s' in:\n%s", text, said);
}

static void silent(const char *text)
{
    if (strstr(said, text))
        fail_msg("'%s' in:\n%s", text, said);
}

static int verify_with(enum fault fault)
{
    small_fault = fault;
    return call(&small_model, "--verify");
}

/* --verify of one row from a file. */
static int verify_row(enum fault fault, float a, float b, float c, float d)
{
    const float row[X] = {a, b, c, d};
    char path[64], arguments[128];
    mlp_staged_file output;
    snprintf(path, sizeof path, "/tmp/mlpc_unit_verify_%ld.npy", (long)getpid());
    assert_int_equal(mlp_npy_stage(&output, path, MLP_F32, 1, X, row), MLP_NPY_OK);
    assert_true(mlp_staged_commit(&output));
    mlp_staged_discard(&output);
    snprintf(arguments, sizeof arguments, "--verify x=%s", path);
    small_fault = fault;
    int code = call(&small_model, arguments);
    unlink(path);
    return code;
}

static void right_passes(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RIGHT), 0);
    says("1 of 1 rows");
    says("4 of 4 rows");
    says("h = gelu(linear(x, fc1))");
    silent("DIVERGES");
    assert_int_equal(verify_row(RIGHT, 2.7f, -2.7f, 0, 1), 0);
    assert_int_equal(verify_row(RIGHT, NAN, 1, INFINITY, 3e38f), 0);
    assert_int_equal(verify_row(RIGHT, -INFINITY, -1e30f, 1e30f, 0), 0);
}

/* The two forms differ most near 2.3 and by 4e-4 at 2.7; only the first element is off here. */
static void gelu_swapped_for_its_tanh_form(void **state)
{
    (void)state;
    assert_int_equal(verify_row(GELU_BY_TANH, 2.7f, -0.25f, 0.25f, -0.5f), 1);
    says("program: step 1 (small.mlp:3: h = gelu(linear(x, fc1))) diverges: row 0, column");
    assert_int_equal(verify_row(GELU_BY_TANH, -2.7f, 2.45f, 0.25f, -0.5f), 1);
    assert_int_equal(verify_with(GELU_BY_TANH), 1);
}

static void bias_along_the_wrong_axis(void **state)
{
    (void)state;
    assert_int_equal(verify_with(BIAS_DOWN_THE_ROWS), 1);
    says("step 1 (small.mlp:3");
}

static void residual_from_another_value(void **state)
{
    (void)state;
    assert_int_equal(verify_with(OTHER_RESIDUAL), 1);
    says("step 2 (small.mlp:4");
    says("ok        h = gelu");
    says("ok        z = softmax");
}

static void memory_overwritten_between_steps(void **state)
{
    (void)state;
    assert_int_equal(verify_with(HIDDEN_OVERWRITTEN), 1);
    says("step 3 (small.mlp:5: z = softmax(h[1:4])) reads h_1, which has changed since it was stored: row 0, column 1");
}

static void run_differs_from_its_steps(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RUN_DIFFERS), 1);
    says("a run differs from its steps: output y, row 0, column 0");
}

/* What the step left when it ran alone must not stand in for what the run has not computed. */
static void run_leaves_out_a_step(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RUN_LEAVES_OUT_A_STEP), 1);
    says("a run differs from its steps");
}

/* Each batch is right within its bounds, and yet not the same. */
static void bits_depend_on_the_batch(void **state)
{
    (void)state;
    assert_int_equal(verify_with(BITS_BY_BATCH), 1);
    says("output y, row 1, has other bits in a batch of 3 than in one of 4");
}

/* A network whose bits depend on how many threads share the work: it is opened again for each number of them. */
static void bits_depend_on_the_threads(void **state)
{
    (void)state;
    mlp_model model = small_model;
    model.threads = 3;
    small_fault = RIGHT;
    assert_int_equal(call(&model, "--verify"), 0);
    assert_int_equal(small_threads, 0);
    small_fault = BITS_BY_THREADS;
    assert_int_equal(call(&model, "--verify"), 1);
    says("output y, row 0, has other bits in a batch of 1 on 2 threads");
    assert_int_equal(call(&model, "--verify --threads 2"), 1);
    says("output y, row 0, has other bits in a batch of 1 on 1 thread");
}

/* A network whose steps take fewer rows than a run. */
static void rows_in_chunks(void **state)
{
    (void)state;
    for (size_t chunk = 1; chunk < MOST; chunk++) {
        mlp_model model = small_model;
        model.chunk = chunk;
        small_fault = RIGHT;
        assert_int_equal(call(&model, "--verify"), 0);
        says("4 of 4 rows checked, in batches of 4");
        small_fault = RUN_DIFFERS;
        assert_int_equal(call(&model, "--verify"), 1);
        says("a run differs from its steps");
        small_fault = NOT_ROUNDED;
        assert_int_equal(call(&model, "--verify"), 1);
        says("step 3 (small.mlp:5");
    }
}

static void nan_lost(void **state)
{
    (void)state;
    assert_int_equal(verify_with(NAN_LOST), 0);
    assert_int_equal(verify_row(NAN_LOST, NAN, 0, 0, 0), 1);
    says("step 1");
    says("should be nan");
}

static void cut_instead_of_rounded(void **state)
{
    (void)state;
    assert_int_equal(verify_with(NOT_ROUNDED), 1);
    says("step 3 (small.mlp:5");
}

static void network_that_fails(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RUN_FAILS), 3);
    says("program: device failed: a CUDA or cuBLASLt call failed: run");
}

/* ---- What the table shows ---- */

/* The figures in the line of a step. */
static void figures(const char *text, double *error, double *share)
{
    const char *line = strstr(said, text);
    assert_non_null(line);
    while (line > said && line[-1] != '\n')
        line--;
    assert_int_equal(sscanf(line, "%*d %*d %lf %lf", error, share), 2);
}

/* The tanh form is off by most at 2.7, where the bound is larger, too: 2.6 is farther beyond its own. */
static void largest_error_and_largest_share(void **state)
{
    (void)state;
    double error, share, off = 2.7 / (1 + exp(-2 * 0.79788456080286536 * (2.7 + 0.044715 * 2.7 * 2.7 * 2.7)));
    off = fabs(off - 0.5 * 2.7 * erfc(-2.7 * 0.70710678118654752));
    assert_int_equal(verify_row(GELU_BY_TANH, 2.7f, 2.35f, -5, 0), 1);
    says(" largest error  of bound  verdict   computes");
    says("diverges: row 0, column 1 is");
    figures("h = gelu", &error, &share);
    assert_true(fabs(error - off) < 0.01 * off && share > 100 && share < 1000);
    figures("y = linear", &error, &share);
    assert_true(error < 1e-5 && share <= 1);
    assert_int_equal(verify_row(NAN_LOST, NAN, 0, 0, 0), 1);
    figures("h = gelu", &error, &share);
    assert_true(isinf(error) && isinf(share));
    assert_int_equal(verify_with(HIDDEN_OVERWRITTEN), 1);
    figures("CHANGED   z = softmax", &error, &share);
    assert_true(fabs(error - 1) < 1e-3 && isinf(share));
}

/* A blank line between the tables of two batch sizes, and none behind the last. */
static void blank_lines(void **state)
{
    (void)state;
    assert_int_equal(verify_with(RIGHT), 0);
    const char *blank = strstr(said, "\n\n");
    assert_non_null(blank);
    assert_memory_equal(blank, "\n\n4 of 4 rows", 13);
    assert_null(strstr(blank + 2, "\n\n"));
}

/* ---- What one row sees of the memory ---- */

static void image_of_slices_and_parts(void **state)
{
    (void)state;
    const mlp_value values[] = {
        {.dtype = MLP_F32, .place = MLP_ARENA, .width = 4, .ld = 6, .offset = 64},     /* a whole, and two parts */
        {.dtype = MLP_F32, .place = MLP_ARENA, .width = 3, .ld = 6, .offset = 76},
        {.dtype = MLP_F32, .place = MLP_ARENA, .width = 2, .ld = 6, .offset = 68},
        {.dtype = MLP_F16, .place = MLP_ARENA, .width = 3, .ld = 3, .offset = 0},      /* elsewhere */
        {.dtype = MLP_F32, .place = MLP_INPUT, .port = 0, .width = 2, .ld = 2, .offset = 0},
        {.dtype = MLP_F32, .place = MLP_INPUT, .port = 1, .width = 2, .ld = 2, .offset = 0},
        {.dtype = MLP_F32, .place = MLP_OUTPUT, .port = 0, .width = 2, .ld = 2, .offset = 0},
    };
    const mlp_model model = {.values = values, .value_count = 7};
    const double whole[] = {0, 1, 2, 3}, part[] = {13, 14, 15}, other[] = {7, 8, 9, 10};
    double row[4];
    mlp_image image;
    assert_true(mlp_image_open(&image, &model, 2));
    mlp_image_write(&image, 1, 0, whole);
    mlp_image_write(&image, 1, 1, part);
    mlp_image_write(&image, 1, 3, other);
    for (size_t i = 4; i < 7; i++)
        mlp_image_write(&image, 1, i, &other[i - 4]);
    mlp_image_write(&image, 0, 0, other);
    mlp_image_read(&image, 1, 0, row);
    assert_true(row[0] == 0 && row[1] == 1 && row[2] == 2 && row[3] == 13);
    mlp_image_read(&image, 1, 2, row);
    assert_true(row[0] == 1 && row[1] == 2);
    mlp_image_read(&image, 1, 3, row);
    assert_true(row[0] == 7 && row[1] == 8 && row[2] == 9);
    mlp_image_read(&image, 1, 4, row);
    assert_true(row[0] == 7 && row[1] == 8);
    mlp_image_close(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_passes),
        cmocka_unit_test(gelu_swapped_for_its_tanh_form),
        cmocka_unit_test(bias_along_the_wrong_axis),
        cmocka_unit_test(residual_from_another_value),
        cmocka_unit_test(memory_overwritten_between_steps),
        cmocka_unit_test(run_differs_from_its_steps),
        cmocka_unit_test(run_leaves_out_a_step),
        cmocka_unit_test(bits_depend_on_the_batch),
        cmocka_unit_test(bits_depend_on_the_threads),
        cmocka_unit_test(rows_in_chunks),
        cmocka_unit_test(nan_lost),
        cmocka_unit_test(cut_instead_of_rounded),
        cmocka_unit_test(network_that_fails),
        cmocka_unit_test(largest_error_and_largest_share),
        cmocka_unit_test(blank_lines),
        cmocka_unit_test(image_of_slices_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
