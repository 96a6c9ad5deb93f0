/* --verify on a CPU: a row has the same bits alone, in any batch, at any place in it, and on any number of threads. NaN
 * is NaN, whatever its bits. */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

enum { MOST_ROWS = 13 };            /* of a part: two tiles of a product, and one row */

static int same_element(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static int same_row(const mlp_command *command, const mlp_port *port, const void *a, const void *b)
{
    int good = !memcmp(a, b, port->width * mlp_dtype_size(port->dtype));
    if (good)
        return 1;
    double *values = mlp_take(command, 2 * port->width, sizeof *values);
    mlp_row_load(port->dtype, a, port->width, values);
    mlp_row_load(port->dtype, b, port->width, values + port->width);
    good = 1;
    for (size_t c = 0; c < port->width; c++)
        good = good && same_element(values[c], values[port->width + c]);
    free(values);
    return good;
}

/* Runs `count` rows from the batch's row `first` on, and compares them with what the whole batch gave. */
static mlp_status compare_part(mlp_verification *v, size_t first, size_t count, const mlp_arrays *whole,
                               mlp_arrays *part)
{
    void **from = mlp_take(v->command, v->inputs.count, sizeof *from);
    mlp_arrays_from(&v->inputs, v->start + first, from);
    mlp_status status = v->model->run(count, (const void *const *)from, part->at);
    free(from);
    for (size_t i = 0; status == MLP_OK && i < part->count; i++) {
        const mlp_port *port = &part->ports[i];
        size_t bytes = port->width * mlp_dtype_size(port->dtype);
        for (size_t r = 0; r < count && v->alone_output < 0; r++) {
            if (same_row(v->command, port, (char *)whole->at[i] + (first + r) * bytes, (char *)part->at[i] + r * bytes))
                continue;
            v->alone_output = (int)i;
            v->alone_row = v->start + first + r;
            v->alone_rows = count;
            v->alone_threads = v->threads;
        }
    }
    return status;
}

static mlp_status compare_parts(mlp_verification *v, const size_t *rows, size_t count, const mlp_arrays *whole,
                                mlp_arrays *part)
{
    mlp_status status = MLP_OK;
    for (size_t i = 0; status == MLP_OK && i < count; i++)
        status = compare_part(v, rows[i], 1, whole, part);
    for (size_t last = 2; status == MLP_OK && last <= MOST_ROWS && last < v->rows; last++)
        status = compare_part(v, v->rows - last, last, whole, part);
    return status;
}

/* ---- Threads ---- */

enum { EACH = 4 };                  /* every number of threads up to this one is tried, and the largest */

static mlp_status reopen(const mlp_verification *v, int threads)
{
    mlp_options options = v->command->options;
    if (threads)
        options.threads = threads;
    v->model->close();
    return v->model->init(&options);
}

static mlp_status compare_threads(mlp_verification *v, const size_t *rows, size_t count, const mlp_arrays *whole)
{
    mlp_status status = MLP_OK;
    mlp_arrays part = mlp_arrays_outputs(v->command, v->rows > MOST_ROWS ? v->rows : MOST_ROWS);
    for (size_t t = 1; status == MLP_OK && t <= v->model->threads; t = t < EACH ? t + 1 : v->model->threads) {
        v->threads = t;
        status = reopen(v, (int)t);
        if (status == MLP_OK)
            status = compare_part(v, 0, v->rows, whole, &part);
        if (status == MLP_OK)
            status = compare_parts(v, rows, count, whole, &part);
        if (t == v->model->threads)
            break;
    }
    v->threads = 0;
    mlp_arrays_free(&part);
    return status == MLP_OK ? reopen(v, 0) : status;
}

mlp_status mlp_verify_alone(mlp_verification *v, const size_t *rows, size_t count, const mlp_arrays *whole)
{
    if (v->model->target != MLP_CPU)
        return MLP_OK;
    mlp_arrays part = mlp_arrays_outputs(v->command, MOST_ROWS);
    mlp_status status = compare_parts(v, rows, count, whole, &part);
    mlp_arrays_free(&part);
    if (status == MLP_OK && v->model->threads > 1)
        status = compare_threads(v, rows, count, whole);
    return status;
}
