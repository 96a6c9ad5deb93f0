/* The decisions of the kernel for few rows (whole.h): which steps become one product, what is handed on between
 * products, in which order the work is done (few.c), and how it is spread over blocks and shared memory (few_shape.c).
 * emit_cuda_few.c prints them. */
#ifndef MLPC_FEW_H
#define MLPC_FEW_H

#include "plan.h"

enum { FEW_MOST_ROWS = 16, FEW_NOWHERE = -1 };

/* Rows of a plan's buffer in shared memory. */
struct few_rows {
    const char *name;
    enum dtype dtype;
    int64_t ld;
    bool input, output;             /* whether the buffer is a port's: it is in memory, too */
    bool shared;                    /* whether the kernel has it in shared memory */
    int first, last;                /* stages between which its content matters there */
    bool beside_sums;               /* an element of it is read where a product's sums are finished */
    int64_t at;                     /* bytes behind mlp_few_plan::free */
};

/* Columns [from, from + count) of a packed row, as numbers in shared memory. */
struct few_numbers {
    const char *name;
    int param;
    int64_t from, count;
    int64_t at;
};

/* A product with the element-wise steps that are computed from its sums. */
struct few_layer {
    const char *name;
    VEC(int) steps;                 /* the product first; then what reads it, or one another */
    int64_t in, out;                /* columns */
    int sums;                       /* of a column: 2 where two halves of the product meet in each */
    enum dtype dtype;
    int weight;                     /* the packed parameter */
    VEC(struct few_numbers) columns;    /* a block has those of its own columns */
    int hand;                       /* the value that is handed on to all blocks, or -1 */
    int hand_index;                 /* how many are handed on before it */
    int64_t hand_offset;            /* bytes of the state, behind the counters */
    bool input_stays;               /* its input is not brought to shared memory, */
    bool hand_stays;                /* nor what it hands on */
};

enum few_stage_kind {
    FEW_LOAD,                       /* index: the buffer, an input */
    FEW_RECEIVE,                    /* index: the layer that handed a value on, to all blocks */
    FEW_RECEIVE_FOR,                /* to those that compute the layer `reader` */
    FEW_RECEIVE_ROWS,               /* to the owner of each row */
    FEW_PRODUCT,                    /* index: the layer */
    FEW_STEP,                       /* index: the step, computed by all blocks */
    FEW_STEP_ROWS,                  /* by the owner of each row */
};

struct few_stage {
    enum few_stage_kind kind;
    int index, reader;
    bool meet;                      /* what it writes may still be read: the block's threads meet first */
};

struct few {
    const struct plan *plan;
    int64_t rows;
    const char *refusal;            /* or NULL */
    struct few_rows *buffers;       /* of each of the plan's buffers */
    int *layer_of;                  /* step -> the layer that computes it, or -1: a step for itself */
    VEC(struct few_layer) layers;
    VEC(struct few_stage) stages;
    VEC(struct few_numbers) numbers;    /* that all blocks need whole */
    int hands;
    /* how it runs */
    bool cluster;
    bool tight;                     /* rows that are read beside sums give their place to later ones, too */
    int blocks, warps;
    int slots, flight, slot_bytes;  /* of the ring; how many slots may be on their way at once */
    int64_t rest;                   /* bytes of shared memory behind mlp_few_plan::free */
    int64_t state_bytes;
};

/* Always a result: where `refusal` is set, only that. */
struct few *few_decide(const struct plan *plan, int64_t rows);

/* Each batch size has its own part of the state, those for fewer rows first: where that of `rows` begins. */
int64_t few_state_offset(const struct plan *plan, int64_t rows);

/* few.c: the stages, from what stays where it is. */
void few_schedule(struct few *few);
/* few_shape.c: blocks, ring and places; a refusal where shared memory is too small. */
void few_shape(struct few *few);

/* Whether a value is one of those that a layer computes at the column at hand; `half`: which half of its product, or
 * -1 where it is not such a half. */
bool few_computes(const struct few *few, const struct few_layer *layer, const struct value *value, int *half);
/* Columns on which a step works element by element: of a reduction, those of its operands. */
int64_t few_width(const struct plan *plan, const struct step *step);
/* Threads that share a row of a row operation; 0: all of a block that multiply. */
int few_row_threads(const struct few *few, const struct few_stage *stage);
/* The numbers that a step reads: its layer's columns, or those that all blocks have; NULL where there are none. */
const struct few_numbers *few_numbers_of(const struct few *few, int step, int param, int64_t from);

#endif
