/* The command line of a generated program: ways to name files, options, exit statuses, messages, and outputs that are
 * written whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "npy.h"
#include "runtime_model.h"
#include "timing.h"

/* One input and one output: the positional form. */
static mlp_model positional(void)
{
    mlp_model model = small_model;
    model.output_count = 1;
    return model;
}

static mlp_bf16 unused_z[64 * Z];

static mlp_status run_one_output(size_t rows, const void *const *inputs, void *const *outputs)
{
    void *both[] = {outputs[0], unused_z};
    return small_run(rows, inputs, both);
}

static void write_rows(const char *path, size_t rows, size_t width)
{
    float *data = calloc(rows * width + 1, sizeof *data);
    mlp_staged_file output;
    for (size_t i = 0; i < rows * width; i++)
        data[i] = (float)i / 8;
    assert_int_equal(mlp_npy_stage(&output, path, MLP_F32, rows, width, data), MLP_NPY_OK);
    assert_true(mlp_staged_commit(&output));
    mlp_staged_discard(&output);
    free(data);
}

/* Reads a whole array back as floats; returns its rows. */
static size_t read_rows(const char *path, size_t width, float *to)
{
    mlp_npy npy;
    assert_int_equal(mlp_npy_open(&npy, path), MLP_NPY_OK);
    assert_int_equal(npy.width, width);
    assert_int_equal(mlp_npy_load(&npy, MLP_F32, to), MLP_NPY_OK);
    mlp_npy_close(&npy);
    return npy.rows;
}

static int exists(const char *path)
{
    struct stat info;
    return !stat(path, &info);
}

static void says(const char *text)
{
    if (!strstr(said, text))
        fail_msg("no '%s' in:\n%s", text, said);
}

/* One line that begins with the program's name and holds `text`. */
static void complains(int expected, const mlp_model *model, const char *arguments, const char *text)
{
    small_fault = RIGHT;
    small_runs = 0;
    int code = call(model, arguments);
    if (code != expected)
        fail_msg("'%s' exits with %d, not %d:\n%s", arguments, code, expected, said);
    assert_memory_equal(said, "program: ", 9);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    says(text);
    assert_int_equal(small_runs, 0);
}

/* Every test works in a folder of its own. */
static char folder[64], home[1024];

static int enter_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mlpc_unit_program_XXXXXX");
    return !getcwd(home, sizeof home) || !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || chdir(home);
}

/* ---- Running ---- */

static void any_number_of_rows(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 3, 4, 5, 64};
    small_fault = RIGHT;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        float y[64 * X], z[64 * Z], x[64 * X], right_y[64 * X];
        mlp_bf16 right_z[64 * Z];
        const void *from[] = {x};
        void *to[] = {right_y, right_z};
        write_rows("x.npy", counts[i], X);
        assert_int_equal(call(&small_model, "z=z.npy x=x.npy y=y.npy"), 0);
        assert_string_equal(said, "");
        assert_int_equal(read_rows("x.npy", X, x), counts[i]);
        assert_int_equal(read_rows("y.npy", X, y), counts[i]);
        assert_int_equal(read_rows("z.npy", Z, z), counts[i]);
        small_run(counts[i], from, to);
        assert_memory_equal(y, right_y, counts[i] * X * sizeof *y);
        for (size_t j = 0; j < counts[i] * Z; j++)
            assert_true(z[j] == mlp_bf16_load(right_z[j]));
    }
}

static void files_without_names(void **state)
{
    (void)state;
    mlp_model model = positional();
    model.run = run_one_output;
    small_fault = RIGHT;
    write_rows("x.npy", 2, X);
    write_rows("-x.npy", 2, X);
    write_rows("a=b.npy", 2, X);
    assert_int_equal(call(&model, "x.npy y.npy"), 0);
    assert_int_equal(call(&model, "y=named.npy x=x.npy"), 0);
    assert_int_equal(call(&model, "a=b.npy c=d.npy"), 0);
    assert_true(exists("c=d.npy"));
    assert_int_equal(call(&model, "x=a=b.npy y=e=f.npy"), 0);
    assert_true(exists("e=f.npy"));
    assert_int_equal(call(&model, "-- -x.npy -y.npy"), 0);
    assert_true(exists("-y.npy"));
    assert_int_equal(call(&model, "x.npy x.npy"), 0);
    float y[2 * X];
    assert_int_equal(read_rows("x.npy", X, y), 2);
    assert_true(y[0] != 0);
}

static void wrong_command_lines(void **state)
{
    (void)state;
    mlp_model model = positional();
    complains(2, &small_model, "", "input x");
    complains(2, &small_model, "x=x.npy y=y.npy", "output z");
    complains(2, &small_model, "x=x.npy y=y.npy z=y.npy", "y and z both go to y.npy");
    complains(2, &small_model, "x=x.npy x=x.npy y=y.npy z=z.npy", "x is given twice");
    complains(2, &small_model, "x= y=y.npy z=z.npy", "names no file");
    complains(2, &small_model, "w=x.npy y=y.npy z=z.npy", "there is no input or output 'w'; there are x, y, z");
    complains(2, &small_model, "x.npy y.npy", "'x.npy': for which of x, y, z? Write NAME=x.npy");
    complains(2, &small_model, "x.npy y.npy z.npy", "'x.npy': for which of x, y, z? Write NAME=x.npy");
    complains(2, &small_model, "x=x.npy y=y.npy w=w.npy", "there is no input or output 'w'; there are x, y, z");
    complains(2, &small_model, "x=x.npy y=y.npy", "no file for the output z: add z=FILE.npy");
    complains(2, &model, "", "no file for the input x: program IN.npy OUT.npy");
    complains(2, &model, "x.npy", "no file for the output y: program IN.npy OUT.npy");
    complains(2, &model, "x=x.npy", "no file for the output y: add y=FILE.npy");
    complains(2, &model, "x.npy y.npy z.npy", "too many files: program IN.npy OUT.npy");
    complains(2, &model, "z=a.npy", "there is no input or output 'z'; there are x, y");
    complains(2, &model, "z=a.npy y.npy", "there is no input or output 'z'; there are x, y");
    complains(2, &model, "x.npy y=y.npy", "'x.npy': for which of x, y? Write NAME=x.npy");
    complains(2, &model, "--nothing", "unknown option --nothing");
    complains(2, &model, "-x", "unknown option -x");
    complains(2, &model, "--\x1b[2J\xc3\xa9\xc2\x9b\xed\xa0\x80\xc0\xaf\xf4\x90\xe2\x82",
              "unknown option --\\x1b[2J\xc3\xa9\\xc2\\x9b\\xed\\xa0\\x80\\xc0\\xaf\\xf4\\x90\\xe2\\x82;");
    complains(2, &model, "--inf", "unknown option --inf");
    complains(2, &model, "--info=1", "--info takes no value");
    complains(2, &model, "--bench --verify", "--bench and --verify");
    complains(2, &model, "--bench x=x.npy", "--bench takes no files");
    complains(2, &model, "--info x.npy", "--info takes no files");
    complains(2, &model, "--info x.npy y.npy z.npy", "--info takes no files");
    complains(2, &model, "--verify x=x.npy y=y.npy", "--verify takes inputs only: y is an output");
    complains(2, &model, "--verify x.npy y.npy", "--verify takes inputs only");
    complains(2, &model, "--verify x=x.npy y.npy", "--verify takes inputs only");
    complains(2, &small_model, "--verify x.npy y.npy z.npy", "--verify takes inputs only");
    complains(2, &model, "--verify z=x.npy", "there is no input or output 'z'; there are x, y");
    complains(2, &model, "--json", "--json goes with --bench");
    complains(2, &model, "--batch 3 --info", "--batch goes with");
    complains(2, &model, "--bench --batch", "--batch needs N");
    complains(2, &model, "--bench --batch 0", "--batch: '0'");
    complains(2, &model, "--bench --batch=-1", "--batch: '-1'");
    complains(2, &model, "--bench --batch 3x", "--batch: '3x'");
    complains(2, &model, "--bench --batch 99999999999999999999", "--batch");
    complains(2, &model, "--device x --info", "--device: 'x'");
    complains(2, &model, "--weights", "--weights needs FILE");
    complains(2, &model, "--tune plan", "nothing to tune");
    complains(2, &model, "--profile --batch 5", "at most 4 rows");
}

static void wrong_files(void **state)
{
    (void)state;
    write_rows("x.npy", 2, X);
    write_rows("narrow.npy", 2, X - 1);
    complains(3, &small_model, "x=none.npy y=y.npy z=z.npy", "input x: none.npy: No such file");
    complains(3, &small_model, "x=/tmp y=y.npy z=z.npy", "input x: /tmp: it is not a regular file");
    complains(1, &small_model, "x=narrow.npy y=y.npy z=z.npy",
              "input x: narrow.npy: expected rows of 4 numbers, found [2, 3]");
    complains(1, &small_model, "--verify x=narrow.npy", "narrow.npy");
    complains(3, &small_model, "--weights w x=x.npy y=y.npy z=z.npy", "weights unreadable");
    assert_false(exists("y.npy") || exists("z.npy"));
}

/* Two inputs that do not agree. */
static void rows_must_agree(void **state)
{
    (void)state;
    static const mlp_port inputs[] = {{"x", MLP_F32, X, 0}, {"k", MLP_F32, X, 0}};
    mlp_model model = small_model;
    model.inputs = inputs;
    model.input_count = 2;
    write_rows("x.npy", 2, X);
    write_rows("k.npy", 3, X);
    complains(1, &model, "x=x.npy k=k.npy y=y.npy z=z.npy", "input k: k.npy: expected 2 rows, as x.npy has, found 3");
    complains(2, &model, "--verify k=k.npy", "input x");
    complains(2, &model, "--verify x.npy k.npy", "'x.npy': for which of x, k, y, z? Write NAME=x.npy");
}

static void all_outputs_or_none(void **state)
{
    (void)state;
    float y[2 * X];
    write_rows("x.npy", 2, X);
    write_rows("y.npy", 1, X);
    small_fault = RIGHT;
    assert_int_equal(call(&small_model, "x=x.npy y=y.npy z=none/z.npy"), 3);
    says("output z: none/z.npy: No such file");
    assert_int_equal(read_rows("y.npy", X, y), 1);
    assert_int_equal(call(&small_model, "x=x.npy y=y.npy z=/dev/full"), 3);
    says("output z: /dev/full: No space left on device");
    assert_int_equal(read_rows("y.npy", X, y), 1);
    small_fault = RUN_FAILS;
    assert_int_equal(call(&small_model, "x=x.npy y=y.npy z=z.npy"), 3);
    says("program: device failed");
    assert_int_equal(read_rows("y.npy", X, y), 1);
    assert_false(exists("z.npy"));
    small_fault = RIGHT;
    assert_int_equal(call(&small_model, "x=x.npy y=y.npy z=z.npy"), 0);
    assert_int_equal(read_rows("y.npy", X, y), 2);
    assert_int_equal(system("test \"$(ls -A)\" = \"$(printf 'x.npy\\ny.npy\\nz.npy')\""), 0);
}

/* Weights in a file, and no word of which: said before anything else, in every mode that needs them. */
static void weights_forgotten(void **state)
{
    (void)state;
    static const char *const modes[] = {"x=x.npy y=y.npy z=z.npy", "--bench", "--bench --json", "--verify",
                                        "--profile"};
    mlp_model model = small_model;
    model.weights_embedded = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        complains(3, &model, modes[i], "");
        assert_string_equal(said, "program: no weights: give --weights FILE (a packed file; mlpc --weights=external "
                                  "makes one)\n");
    }
    assert_int_equal(call(&model, "--info"), 0);
    says("196 bytes of weights (from a file: --weights)");
    complains(3, &model, "--bench --weights w", "weights unreadable");
    model.weights_bytes = 0;
    assert_int_equal(call(&model, "--info"), 0);
    says("80 bytes between steps (4 rows at a time), no weights\n");
    assert_int_equal(call(&model, "--bench --batch 1"), 0);
}

/* ---- Other modes ---- */

static void help_and_info(void **state)
{
    (void)state;
    small_runs = 0;
    assert_int_equal(call(&small_model, "--help --nothing"), 0);
    says("usage: program x=FILE.npy y=FILE.npy z=FILE.npy");
    says("bf16[3]");
    says("\n--verify: the bound of an element is the most by which");
    char *help = strdup(said);
    assert_int_equal(call(&small_model, "-h"), 0);
    assert_string_equal(said, help);
    free(help);
    /* Options without a use are left out. */
    static const char *const of_cuda[] = {"--device", "--tune", "--seconds", "--forms", "--locked", "4 a product"};
    mlp_model other = small_model;
    for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++)
        assert_null(strstr(said, of_cuda[i]));
    assert_null(strstr(said, "--threads"));
    other.threads = 2;
    assert_int_equal(call(&other, "--help"), 0);
    says("  --threads N ");
    other.target = MLP_CUDA;
    assert_int_equal(call(&other, "--help"), 0);
    for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++)
        says(of_cuda[i]);
    assert_int_equal(call(&small_model, "--version"), 0);
    says("small, made from small.mlp");
    assert_int_equal(call(&small_model, "--info"), 0);
    says("x: f32[4]");
    says("z: bf16[3]");
    says("   2     4       4  y = linear(h, fc2) + x");
    says("80 bytes between steps (4 rows at a time), 196 bytes of weights (embedded)");
    char *first = strdup(said);
    assert_int_equal(call(&small_model, "--info"), 0);
    assert_string_equal(said, first);
    free(first);
    assert_int_equal(small_runs, 0);
}

static void bench_and_profile(void **state)
{
    (void)state;
    double rows, median, least;
    small_fault = RIGHT;
    assert_int_equal(call(&small_model, "--bench --json --batch 3"), 0);
    assert_memory_equal(said, "{\"network\": \"small\", \"spec\": \"small.mlp\"", 40);
    const char *batch = strstr(said, "{\"rows\"");
    assert_non_null(batch);
    assert_int_equal(sscanf(batch, "{\"rows\": %lf, \"median_us\": %lf, \"min_us\": %lf", &rows, &median, &least), 3);
    assert_true(rows == 3 && least > 0 && median >= least);
    assert_string_equal(said + strlen(said) - 4, "}]}\n");
    assert_int_equal(call(&small_model, "--profile"), 0);
    says("small, 4 rows");
    says("h = gelu(linear(x, fc1))");
    small_fault = RUN_FAILS;
    assert_int_equal(call(&small_model, "--bench"), 3);
}

static void another_runtime(void **state)
{
    (void)state;
    mlp_model model = small_model;
    model.version++;
    complains(3, &model, "--info", "made for runtime");
}

static void quantiles(void **state)
{
    (void)state;
    double times[100];
    for (int i = 0; i < 100; i++)
        times[i] = (i * 37 + 11) % 100 + 1;
    mlp_times_sort(times, 100);
    assert_true(mlp_times_quantile(times, 100, 0.5) == 50 && mlp_times_quantile(times, 100, 0.99) == 99);
    assert_true(mlp_times_quantile(times, 1, 0.99) == 1 && mlp_times_quantile(times, 3, 0.5) == 2);
    double before = mlp_seconds();
    assert_true(mlp_seconds() >= before);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(any_number_of_rows), IN_A_FOLDER(files_without_names), IN_A_FOLDER(wrong_command_lines),
        IN_A_FOLDER(wrong_files),        IN_A_FOLDER(rows_must_agree),     IN_A_FOLDER(all_outputs_or_none),
        cmocka_unit_test(help_and_info), cmocka_unit_test(bench_and_profile), cmocka_unit_test(another_runtime),
        cmocka_unit_test(weights_forgotten),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
