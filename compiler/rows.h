/* The decisions of the kernel for many rows (whole.h): what lies in which registers, where weights live, in which order
 * products are started and waited for. rows.c makes them, emit_cuda_rows.c prints them.
 *
 * A row of a plan's buffer is cut into pieces wherever a value begins or ends: each is a tensor in registers, and every
 * value is a run of neighbouring pieces. Pieces that are combined element by element lie alike: they share a shape. */
#ifndef MLPC_ROWS_H
#define MLPC_ROWS_H

#include "plan.h"

enum {
    ROWS_TILE = 64,                 /* rows that a warpgroup carries at a time */
    ROWS_GROUP_THREADS = 128,
    ROWS_WRITER_REGISTERS = 40,     /* of each thread that fills the ring, and what is left to those that compute */
    ROWS_READER_REGISTERS = 232,
};

/* How a tensor's columns lie in registers: mlp_rows_columns. */
struct rows_shape {
    int64_t width;
    bool wide;                      /* in the order in which rows are read and written 16 bytes at a time */
    bool whole;                     /* a row operation needs all columns at once */
    int64_t part;                   /* columns of one register array, of several; 0: all in one */
};

struct rows_piece {
    int buffer;                     /* of the plan, columns [column, column + width) */
    int64_t column, width;
    enum dtype dtype;               /* f32: as sums lie; f16 and bf16: as operands of a product lie */
    const char *name;
    int shape;
    int writer;                     /* the step, or -1 */
    int input, output;              /* the port whose rows hold it, or -1 */
    int readers, last_reader;       /* steps that read it: how many, and the last one or -1 */
    bool multiplied, combined;      /* by any: as the operand of its product; in any other way. A residual is both */
    bool inside;                    /* made and used up part by part, never there as a whole */
    bool chunked;                   /* neither are the sums that it is made of */
};

/* A rectangle of a packed matrix, as a product of one piece with one piece takes it. */
struct rows_weight {
    const char *name;
    int param;
    int64_t row, column;
    int out, in;                    /* shapes */
    bool streamed;                  /* goes through the ring, `part` columns at a time */
    int64_t place, bytes;           /* in shared memory */
};

/* Numbers of a packed row beside one piece; or one number for all columns, whose shape is -1. */
struct rows_param {
    const char *name;
    int param;
    int64_t from;
    int shape;
    int64_t place;
};

enum rows_phase_kind {
    ROWS_PLAIN,                     /* waits for sums, computes steps from them, starts products of these */
    ROWS_CHUNKED,                   /* a wide layer in parts, each of which the next product reads at once */
    ROWS_PARTS,                     /* a wide layer whose sums are there, read by the next product in parts */
};

struct rows_phase {
    enum rows_phase_kind kind;
    VEC(int) waits;                 /* products whose sums are waited for */
    VEC(int) steps;                 /* computed, in order; their products are done or waited for */
    VEC(int) starts;                /* products that are started: in ROWS_CHUNKED those of the wide layer */
    int consumer;                   /* the product that reads the parts, or -1 */
    int registers;                  /* of one tile of rows, an estimate */
};

struct rows {
    const struct plan *plan;
    const char *refusal;            /* or NULL */
    VEC(struct rows_shape) shapes;
    VEC(struct rows_piece) pieces;  /* by buffer, then by column */
    int *first_piece, *piece_count; /* of each value */
    VEC(struct rows_weight) weights;
    VEC(struct rows_param) params;
    VEC(struct rows_phase) phases;
    int groups, tiles;              /* warpgroups that compute, and how many tiles of rows each has under way */
    bool ahead;                     /* the next rows are loaded while these are computed */
    int stages, resident;           /* buffers of the ring (0: there is none), and chunks before it that stay */
    int64_t ring, barriers;         /* places in shared memory */
    int64_t shared_bytes;
};

/* Always a result: where `refusal` is set, only that. */
struct rows *rows_decide(const struct plan *plan);

/* rows_pieces.c: pieces, shapes, and what is refused about them. */
void rows_cut(struct rows *rows);
/* rows_phases.c: the order of the work, with wide layers in parts of `part` columns, those of at least `wide` columns
 * through ROWS_CHUNKED. */
void rows_schedule(struct rows *rows, int64_t part, int64_t wide);

/* As the left operand of a product, and as the result of one: mlp_rows_columns::depth and ::padded. */
int64_t rows_depth(const struct rows_shape *shape);
int64_t rows_padded(const struct rows_shape *shape);
/* Register arrays that hold one tensor. */
int64_t rows_parts(const struct rows_shape *shape);

const struct rows_shape *rows_shape_of(const struct rows *rows, const struct rows_piece *piece);
/* The i-th piece of a value. */
struct rows_piece *rows_piece_of(const struct rows *rows, int value, int i);
/* The width of the rows on which a step works element by element: of a reduction, that of its operands. */
int64_t rows_width(const struct plan *plan, const struct step *step);
/* A value that a step reads element by element, not as the operand of its product, nor as one number a row. */
bool rows_reads_columns(const struct plan *plan, const struct step *step, int op, int operand);
int64_t rows_operand_width(const struct plan *plan, const struct step *step, struct operand operand);
const struct tape_op *rows_last(const struct step *step);
/* A value whose pieces are those of the rows on which the step works, or -1. */
int rows_row_value(const struct plan *plan, const struct step *step);

const struct rows_weight *rows_weight_of(const struct rows *rows, int param, int64_t row, int64_t column, int out,
                                         int in);
const struct rows_param *rows_param_of(const struct rows *rows, int param, int64_t from, int shape);

#endif
