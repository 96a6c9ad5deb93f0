/* mlp_steps.h -- the steps of a network for the CPU, as generated code defines them and cpu_network.c calls them. */
#ifndef MLP_STEPS_H
#define MLP_STEPS_H

#include "mlp_network.h"

/* Rows on their way through the network. */
typedef struct mlp_rows {
    size_t first, count;            /* which of the caller's rows */
    const void *const *inputs;      /* the caller's arrays, in the order of NAME_run */
    void *const *outputs;
    const unsigned char *weights;   /* packed parameters */
    float *arena;                   /* values between steps */
    size_t part, parts;             /* the share of a thread, where several do a step together; else 0 of 1 */
} mlp_rows;

/* The steps of a network, compiled for one instruction set. */
typedef struct mlp_steps {
    void (*forward)(const mlp_rows *rows);          /* all of them, in order */
    void (*const *steps)(const mlp_rows *rows);     /* each */
} mlp_steps;

/* What a thread does of a step: some of the rows, or some of the columns. */
typedef struct mlp_share {
    size_t row, row_end, column, column_end;
} mlp_share;

static inline mlp_share mlp_share_of_rows(const mlp_rows *rows)
{
    const size_t begin = rows->count * rows->part / rows->parts, end = rows->count * (rows->part + 1) / rows->parts;
    const mlp_share share = {begin, end, 0, 0};
    return share;
}

/* Of a product: columns by the 32, where there are enough for all threads; else rows. */
static inline mlp_share mlp_share_of(const mlp_rows *rows, size_t columns)
{
    const size_t units = (columns + 31) / 32;
    mlp_share share = {0, rows->count, 0, columns};
    if (units < rows->parts)
        share = mlp_share_of_rows(rows);
    else
        share.column = units * rows->part / rows->parts * 32;
    share.column_end = columns;
    if (units >= rows->parts && rows->part + 1 < rows->parts)
        share.column_end = units * (rows->part + 1) / rows->parts * 32;
    return share;
}

/* The first of the rows in the array of an input, of so many bytes a row. */
static inline const void *mlp_input(const mlp_rows *rows, size_t port, size_t row_bytes)
{
    return (const char *)rows->inputs[port] + rows->first * row_bytes;
}

static inline void *mlp_output(const mlp_rows *rows, size_t port, size_t row_bytes)
{
    return (char *)rows->outputs[port] + rows->first * row_bytes;
}

/* The packed parameter at a byte offset. */
static inline const float *mlp_weight(const mlp_rows *rows, size_t offset)
{
    return (const float *)(const void *)(rows->weights + offset);
}

/* The value between steps that stands at an offset, as a pointer of which the compiler knows nothing more: where it
 * knows that two parts are of one array and their strides are multiples of each other, gcc 12 has been seen to lose
 * stores. */
static inline float *mlp_between(const mlp_rows *rows, size_t offset)
{
    float *part = rows->arena + offset;
#if defined(__GNUC__)
    __asm__("" : "+r"(part));
#endif
    return part;
}

#endif
