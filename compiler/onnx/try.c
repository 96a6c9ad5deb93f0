#include "try.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../quote.h"
#include "../utf8.h"
#include "npy.h"
#include "tensor.h"

/* ---- the program ---- */

static bool command(const char *const *words)
{
    pid_t child;
    int status;
    fflush(NULL);
    int error = posix_spawn(&child, words[0], NULL, NULL, (char **)(uintptr_t)words, environ);
    if (error) {
        utf8_print_line(stderr, "mlpc: error: cannot run '%s': %s", words[0], strerror(error));
        return false;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool write_sources(struct try *try)
{
    struct outputs outputs = {.arena = try->arena};
    for (size_t i = 0; i < try->files->files.count; i++) {
        const struct output_file *file = &try->files->files.at[i];
        outputs_add(&outputs, arena_format(try->arena, "%s/%s", try->folder, file->path), file->bytes, file->size);
    }
    return outputs_commit(&outputs);
}

/* This very program compiles the spec: for one instruction set, since only the numbers count. */
static bool compile(struct try *try)
{
    const char *spec = arena_format(try->arena, "%s/%s.mlp", try->folder, try->name);
    const char *program = arena_format(try->arena, "%s/program", try->folder);
    const char *const words[] = {"/proc/self/exe", "--exe", "--target=cpu", "--cpu=native", "-o", program, spec, NULL};
    return command(words);
}

/* ---- arrays ---- */

/* The index of an input or output of the model or the spec by its name, or -1. */
static int find_input(const struct try *try, const char *name)
{
    for (size_t i = 0; i < try->model->inputs.count; i++) {
        if (!strcmp(try->model->inputs.at[i]->name, name) || !strcmp(try->net->inputs.at[i]->name, name))
            return (int)i;
    }
    return -1;
}

static int find_output(const struct try *try, const char *name)
{
    for (size_t i = 0; i < try->model->outputs.count; i++) {
        if (!strcmp(try->model->outputs.at[i]->name, name) || !strcmp(try->output_names[i], name))
            return (int)i;
    }
    return -1;
}

/* `what` is NULL where a file cannot be read, which has been said. */
static enum exit_status wrong(const char *path, const char *what)
{
    if (!what)
        return EXIT_ENVIRONMENT;
    utf8_print_line(stderr, "mlpc: error: '%s' %s", path, what);
    return EXIT_USER;
}

/* What a program reads, as rows; the word of its command line in *word. */
static enum exit_status give_input(const struct try *try, size_t index, const char *path, const char **word)
{
    const struct term *term = try->net->inputs.at[index];
    const char *message, *copy = arena_format(try->arena, "%s/in_%zu.npy", try->folder, index);
    const struct constant *array = npy_constant(try->arena, path, term->name, &message);
    if (!array)
        return wrong(path, message);
    if (!element_is_float(array->type) && array->type != ELEMENT_F64)
        return wrong(path, "holds no floats");
    if (array->count % (size_t)term->width)
        return wrong(path, arena_format(try->arena, "holds no whole rows of %lld columns", (long long)term->width));
    *word = arena_format(try->arena, "%s=%s", term->name, copy);
    return npy_write_rows(copy, array, (size_t)term->width) ? EXIT_DONE : EXIT_ENVIRONMENT;
}

static double tolerance_of(const struct try *try, enum element type)
{
    if (try->tolerance > 0)
        return try->tolerance;
    return type == ELEMENT_F16 ? 4e-3 : type == ELEMENT_BF16 ? 3e-2 : 1e-5;
}

/* The largest difference; infinite where a NaN or an infinity stands on one side alone. */
static double difference(const double *got, const double *expected, size_t count, double *largest)
{
    double worst = 0;
    *largest = 1;
    for (size_t i = 0; i < count; i++) {
        bool same = got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i]));
        double off = same ? 0 : fabs(got[i] - expected[i]);
        if (!(off <= worst))
            worst = isnan(off) ? INFINITY : off;
        if (isfinite(expected[i]) && fabs(expected[i]) > *largest)
            *largest = fabs(expected[i]);
    }
    return worst;
}

static const char *got_path(const struct try *try, size_t index)
{
    return arena_format(try->arena, "%s/out_%zu.npy", try->folder, index);
}

static enum exit_status compare(const struct try *try, size_t index, const char *path)
{
    const char *message, *name = quote(try->arena, try->model->outputs.at[index]->name);
    struct constant *expected = npy_constant(try->arena, path, "", &message);
    if (!expected)
        return wrong(path, message);
    struct constant *got = npy_constant(try->arena, got_path(try, index), "", &message);
    if (!got)
        return wrong(got_path(try, index), message);
    if (got->count != expected->count)
        return wrong(path, arena_format(try->arena, "holds %zu numbers, the network gives %zu", expected->count,
                                        got->count));
    if (!got->count)
        return wrong(path, "holds no numbers, so nothing is compared");
    double tolerance = tolerance_of(try, try->net->inputs.at[0]->type), largest;
    if (tolerance < tolerance_of(try, try->net->output_types.at[index]))
        tolerance = tolerance_of(try, try->net->output_types.at[index]);
    double worst = difference(tensor_numbers(try->arena, got), tensor_numbers(try->arena, expected), got->count,
                              &largest);
    bool good = worst <= tolerance * largest;
    utf8_print_line(good ? stdout : stderr, "%s: output %s: largest difference %.2g, %s %.2g (%g of %.3g)", path, name,
                    worst, good ? "of at most" : "more than", tolerance * largest, tolerance, largest);
    return good ? EXIT_DONE : EXIT_USER;
}

/* ---- checks ---- */

/* Files for the inputs and outputs of one run; NULL: not given. */
struct arrays {
    const char **inputs, **outputs;
};

static enum exit_status run_once(const struct try *try, const struct arrays *arrays)
{
    size_t inputs = try->model->inputs.count, outputs = try->model->outputs.count;
    const char **words = ARENA_ARRAY(try->arena, const char *, inputs + outputs + 2);
    words[0] = arena_format(try->arena, "%s/program", try->folder);
    for (size_t i = 0; i < inputs; i++) {
        if (!arrays->inputs[i])
            return wrong(try->model->inputs.at[i]->name, "is an input that --check-with gives no array for");
        enum exit_status status = give_input(try, i, arrays->inputs[i], &words[1 + i]);
        if (status != EXIT_DONE)
            return status;
    }
    for (size_t i = 0; i < outputs; i++)
        words[1 + inputs + i] = arena_format(try->arena, "%s=%s", try->output_names[i], got_path(try, i));
    return command(words) ? EXIT_DONE : EXIT_ENVIRONMENT;
}

static enum exit_status compare_all(const struct try *try, const struct arrays *arrays)
{
    enum exit_status status = EXIT_DONE;
    for (size_t i = 0; i < try->model->outputs.count; i++) {
        enum exit_status one = arrays->outputs[i] ? compare(try, i, arrays->outputs[i]) : EXIT_DONE;
        status = one > status ? one : status;
    }
    return status;
}

static enum exit_status run_and_compare(const struct try *try, const struct arrays *arrays)
{
    enum exit_status status = run_once(try, arrays);
    return status == EXIT_DONE ? compare_all(try, arrays) : status;
}

/* The '=' behind a name, or else the first. */
static const char *split(const struct try *try, const char *check)
{
    const char *first = strchr(check, '=');
    for (const char *at = first; at; at = strchr(at + 1, '=')) {
        const char *left = arena_copy(try->arena, check, (size_t)(at - check));
        if (find_input(try, left) >= 0 || find_output(try, left) >= 0)
            return at;
    }
    return first;
}

/* Pairs of files are checks of their own; named files are one check together. */
static enum exit_status run_checks(const struct try *try, const char *const *checks, size_t count)
{
    struct arrays named = {ARENA_ARRAY(try->arena, const char *, try->model->inputs.count),
                           ARENA_ARRAY(try->arena, const char *, try->model->outputs.count)};
    bool any_named = false, any_output = false;
    for (size_t i = 0; i < count; i++) {
        const char *equals = split(try, checks[i]);
        const char *left = arena_copy(try->arena, checks[i], (size_t)(equals - checks[i]));
        int input = find_input(try, left), output = find_output(try, left);
        any_named |= input >= 0 || output >= 0;
        any_output |= output >= 0;
        if (input >= 0) {
            named.inputs[input] = equals + 1;
        } else if (output >= 0) {
            named.outputs[output] = equals + 1;
        } else if (try->model->inputs.count != 1 || try->model->outputs.count != 1) {
            return wrong(left, "is no input or output, and there are several of them");
        } else {
            struct arrays pair = {&left, (const char *[]){equals + 1}};
            enum exit_status status = run_and_compare(try, &pair);
            if (status != EXIT_DONE)
                return status;
        }
    }
    if (any_named && !any_output)
        return wrong(checks[0], "leaves nothing to compare: --check-with names no output");
    return any_named ? run_and_compare(try, &named) : EXIT_DONE;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

enum exit_status try_network(struct try *try, const char *const *checks, size_t count)
{
    const char *place = getenv("TMPDIR");
    char *folder = arena_format(try->arena, "%s/mlpc.XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder)) {
        utf8_print_line(stderr, "mlpc: error: cannot make a folder in '%s': %s", folder, strerror(errno));
        return EXIT_ENVIRONMENT;
    }
    try->folder = folder;
    enum exit_status status = EXIT_ENVIRONMENT;
    if (write_sources(try) && compile(try))
        status = run_checks(try, checks, count);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}
