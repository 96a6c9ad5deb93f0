/* One generated network as a process that measures on demand, so that a driver can take it and others in turn.
 *
 *     network WEIGHTS
 *
 * reads commands from standard input and answers each with one line, "ok" and numbers, or "error" and words:
 *
 *     info                        version of cuBLASLt, the form of each batch size, where plans come from (words)
 *     check INPUT.npy OUTPUT.npy  runs the rows of a file; later measurements of as many rows are on these
 *     steady ROWS REPEATS         seconds of a run, with so many in a row in one CUDA graph
 *     single ROWS LEAD COUNT      seconds of each of COUNT runs, between device events
 *     latency ROWS COUNT          seconds of each of COUNT runs, on the host's clock
 *
 * The network's own buffers hold the rows, so nothing is copied. Compile with -DNAME=digits -DHEADER='"digits.h"'. */
#include HEADER

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launches.h"
#include "npy.h"

#define JOIN_TEXT(a, b) a##b
#define JOIN(a, b) JOIN_TEXT(a, b)
#define model JOIN(NAME, _model)
#define network_run_device JOIN(NAME, _run_device)
#define network_input JOIN(NAME, _input)
#define network_output JOIN(NAME, _output)

enum { MOST_SAMPLES = 10000, LONGEST_PATH = 1000 };

static double samples[MOST_SAMPLES];

/* Of the library's own, beside those of CUDA. */
enum { NETWORK_FAILED = -1 };

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("error ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    return -1;
}

static int need(mlp_status status)
{
    return status == MLP_OK ? 0 : fail("%s (%s)", model.error(), mlp_status_text(status));
}

/* ---- Rows ---- */

/* How many the last check left in the network's buffers. */
static size_t rows_there;

static size_t row_bytes(const mlp_port *port)
{
    return port->width * (port->dtype == MLP_F32 ? 4 : 2);
}

static void *load_rows(mlp_npy *file, const mlp_port *port)
{
    void *to = malloc(file->rows * row_bytes(port));
    if (to && mlp_npy_load(file, port->dtype, to) == MLP_NPY_OK)
        return to;
    free(to);
    return NULL;
}

static void *read_rows(const char *path, size_t *rows)
{
    mlp_npy file;
    const mlp_port *port = &model.inputs[0];
    if (mlp_npy_open(&file, path) != MLP_NPY_OK)
        return fail("%s: %s", path, file.error), NULL;
    void *loaded = file.width == port->width ? load_rows(&file, port) : NULL;
    mlp_npy_close(&file);
    *rows = file.rows;
    if (!loaded)
        fail("%s: %zu rows of %zu elements, not of %zu, or no memory for them; %s", path, file.rows, file.width,
             port->width, file.error);
    return loaded;
}

static int write_rows(const char *path, size_t rows, const void *data)
{
    mlp_staged_file file;
    const mlp_port *port = &model.outputs[0];
    int written = mlp_npy_stage(&file, path, port->dtype, rows, port->width, data) == MLP_NPY_OK &&
                  mlp_staged_commit(&file);
    int result = written ? 0 : fail("%s: %s", path, file.error);
    mlp_staged_discard(&file);
    if (written)
        puts("ok");
    return result;
}

/* Every byte of the output is set before, so that what is not written shows: it is no number. */
static int run_rows(const char *to, size_t rows, const void *input)
{
    size_t bytes = rows * row_bytes(&model.outputs[0]);
    void *output = malloc(bytes);
    if (!output)
        return fail("no memory for %zu bytes", bytes);
    memset(output, 0xff, bytes);
    int result = need(model.run(rows, &input, &output));
    if (!result)
        result = need(model.begin(rows, &input, &output));
    if (!result)
        result = write_rows(to, rows, output);
    rows_there = result ? 0 : rows;
    free(output);
    return result;
}

static int check(const char *from, const char *to)
{
    size_t rows;
    void *input = read_rows(from, &rows);
    int result = input ? run_rows(to, rows, input) : -1;
    free(input);
    return result;
}

/* ---- Times ---- */

static int launch(void *rows, cudaStream_t stream)
{
    mlp_status status = network_run_device(*(size_t *)rows, network_input(0), network_output(0), stream);
    return status == MLP_OK ? 0 : NETWORK_FAILED;
}

static int report(int error, size_t count, const double *seconds)
{
    if (error)
        return fail("%s", error == NETWORK_FAILED ? model.error() : bench_error_text(error));
    printf("ok");
    for (size_t i = 0; i < count; i++)
        printf(" %.9g", seconds[i]);
    putchar('\n');
    return 0;
}

static int steady(size_t repeats)
{
    mlp_step_time time;
    int error = need(model.time_step(model.step_count, repeats, &time));
    return error ? error : report(0, 1, &time.seconds);
}

static int single(size_t rows, size_t lead, size_t count)
{
    return report(bench_single(launch, &rows, lead, count, samples), count, samples);
}

static int latency(size_t rows, size_t count)
{
    return report(bench_latency(launch, &rows, count, samples), count, samples);
}

/* ---- Commands ---- */

static int info(void)
{
    mlp_device_info device;
    if (need(model.describe(&device)))
        return -1;
    printf("ok cuBLASLt %zu, forms", device.library);
    for (size_t i = 0; i < model.batch_count; i++)
        printf(" %zu %s,", model.batches[i], mlp_form_text(model.forms[i]));
    for (int i = 0; i < MLP_PLAN_STATES; i++) {
        if (device.plans[i])
            printf(" plans of %zu products %s,", device.plans[i], mlp_plan_state_text((mlp_plan_state)i));
    }
    printf(" %.1f MB\n", 1e-6 * (double)device.arena_bytes);
    return 0;
}

static int measure(const char *line)
{
    size_t rows, lead, count;
    if (sscanf(line, "%*s %zu", &rows) != 1 || rows != rows_there)
        return fail("no check of as many rows went before: %.60s", line);
    if (sscanf(line, "steady %*u %zu", &count) == 1)
        return steady(count);
    if (sscanf(line, "single %*u %zu %zu", &lead, &count) == 2 && count <= MOST_SAMPLES)
        return single(rows, lead, count);
    if (sscanf(line, "latency %*u %zu", &count) == 1 && count <= MOST_SAMPLES)
        return latency(rows, count);
    return fail("no such command: %.60s", line);
}

static int obey(const char *line)
{
    char from[LONGEST_PATH + 1], to[LONGEST_PATH + 1];
    if (!strcmp(line, "info"))
        return info();
    if (sscanf(line, "check %1000s %1000s", from, to) == 2)
        return check(from, to);
    return measure(line);
}

int main(int argc, char **argv)
{
    static char line[2 * LONGEST_PATH + 100];
    const mlp_options options = {.weights = argc > 1 ? argv[1] : NULL};
    if (need(model.init(&options)))
        return 1;
    puts("ok");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        obey(line);
        fflush(stdout);
    }
    bench_end();
    model.close();
    return 0;
}
