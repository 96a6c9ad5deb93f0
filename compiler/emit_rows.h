/* What the three files that print the kernel for many rows agree on: emit_rows_step.c (names, expressions, steps),
 * emit_rows_phase.c (products, rows in memory, phases), emit_cuda_rows.c (the kernel around them).
 *
 * Names say what a thing is: x_h the tensor h, sum_h the sums of its product, part_h a part of these, next_x rows
 * loaded ahead, w_fc1_weight a staged matrix, b_fc1_bias a staged row, v_x an array in memory, s_... a place in shared
 * memory. */
#ifndef MLPC_EMIT_ROWS_H
#define MLPC_EMIT_ROWS_H

#include "emit.h"
#include "rows.h"

struct rows_printer {
    struct emitter *e;
    struct arena *arena;
    const struct plan *plan;
    const struct rows *rows;
    const char *t;                  /* "[t]" where a warpgroup has several tiles */
    const char *s;                  /* ", S" there */
    /* What an expression is about: */
    const struct step *step;
    int piece;                      /* of the row on which it works */
    const char *part;               /* the index of the part, or NULL */
};

/* ---- emit_rows_step.c ---- */

extern const char *const rows_dtype_cuda[];

/* "wide_32", the type of a shape's columns. */
const char *rows_columns_name(const struct rows_printer *p, int shape);
bool rows_in_parts(const struct rows_printer *p, const struct rows_piece *piece);
/* Columns of one of the arrays that hold a piece. */
int64_t rows_part_width(const struct rows_printer *p, const struct rows_piece *piece);
/* "mlp_rows_fragment<number, 64, S>" */
const char *rows_tensor_type(const struct rows_printer *p, const struct rows_piece *piece);
/* Where the sums of a piece stand: "sum_h[t]". */
const char *rows_sums_name(const struct rows_printer *p, const struct rows_piece *piece);
/* "x_h[t]"; of a tensor in parts "x_h[i]"; of one on its way into the product that reads it part by part "x_h[i % 2]",
 * since the product of the part before may still read that. */
const char *rows_tensor_name(const struct rows_printer *p, const struct rows_piece *piece, const char *part);
/* Whether the tensor, made part by part, is a constant of the loop over parts. */
bool rows_is_local(const struct rows_printer *p, const struct rows_piece *piece);
/* The place in memory of the port that a piece is part of. */
const struct value *rows_port_value(const struct rows_printer *p, const struct rows_piece *piece);

/* Calls visit for each row of parameters beside the piece that p is about, where `seen` does not have it yet. */
void rows_each_param(const struct rows_printer *p, bool *seen,
                     void (*visit)(const struct rows_printer *p, const struct rows_param *param));
/* A row of parameters, or the part of it, into registers. */
void emit_rows_param(const struct rows_printer *p, const struct rows_param *param);
void emit_rows_comment(const struct rows_printer *p, int step);
/* All pieces of a step: as tensors where a step reads them, or to memory where an output has them. */
void emit_rows_step(struct rows_printer p, int step, bool to_memory);
/* What the text of p's step needs before it: norms, sums over a row, numbers that stretch. */
void emit_rows_before(const struct rows_printer *p);
/* x_h = ..., rounded to what is stored. */
void emit_rows_tensor(const struct rows_printer *p, const struct rows_piece *piece);

/* ---- emit_rows_phase.c ---- */

/* The matrix that goes through the ring, or NULL. */
const struct rows_weight *rows_streamed_weight(const struct rows_printer *p);
bool rows_is_loaded(const struct rows_piece *piece);
/* "[T]", "[4]" or "": what a piece's tensor is declared with. */
const char *rows_array_of(const struct rows_printer *p, const struct rows_piece *piece);
/* Loads the inputs' pieces into `to`, "next" or "x", from the row on. */
void emit_rows_loads(const struct rows_printer *p, const char *to, const char *row);
void emit_rows_phase(const struct rows_printer *p, const struct rows_phase *phase, bool first);

#endif
