/* --verify in two halves: verify_batch.c compares one batch of rows, verify.c goes through all rows and reports. */
#ifndef MLP_VERIFY_H
#define MLP_VERIFY_H

#include "arrays.h"
#include "image.h"
#include "reference.h"

/* The element of a step that is nearest its bound so far, by `excess`: above 1 is an error. */
typedef struct mlp_finding {
    double excess, got;
    double error;                   /* the largest of the step: maybe of another element, which may be off by more */
    mlp_bounded want;
    size_t row, column, undecided;  /* undecided: elements for which anything may come out */
    int changed;                    /* the value, if an operand was not what had been stored, else -1 */
} mlp_finding;

typedef struct mlp_verification {
    const mlp_command *command;
    const mlp_model *model;
    mlp_arrays inputs;
    size_t start, rows;             /* the rows of the inputs that run as one batch */
    size_t first, count;            /* those of the batch that go through the steps as one chunk */
    size_t *chosen, chosen_count;   /* those of the chunk that are checked */
    void **from, **to;              /* row `start` of every input; what the steps leave of every output */
    mlp_form form;                  /* of the batch size that runs these rows */
    mlp_image stored, exact;        /* what steps stored; what float64 would have stored, */
    mlp_image bounds;               /* and how far from that a run in one kernel may be */
    double **values;                /* of the step under way: operands, dense rows of the chosen */
    double **spreads;               /* and their bounds, in the chain of references */
    unsigned char **params;
    mlp_finding *finding;           /* of the step under way */
    mlp_finding *steps;             /* of all steps */
    size_t checked;                 /* rows so far */
    double chain_error, chain_size; /* outputs: largest difference from float64, largest float64 */
    int chain_broken;               /* NaN or infinite where float64 is not, or the other way round */
    int whole_output;               /* the output in which a run differed from its steps, or -1 */
    mlp_finding whole;              /* where it did */
    size_t threads;                 /* on which the network runs just now, where that is not as it was opened; else 0 */
    int alone_output;               /* the output of which a row had other bits in another batch, or -1 */
    size_t alone_row, alone_rows;   /* which row, in a batch of how many, */
    size_t alone_threads;           /* on how many threads; 0: on as many as the whole batch */
} mlp_verification;

/* Runs and compares the rows start .. start + rows - 1 of the inputs. */
mlp_status mlp_verify_batch(mlp_verification *v);
/* On a CPU: runs parts of the batch, whose outputs are `whole`, and compares the bits: some rows alone, and others. */
mlp_status mlp_verify_alone(mlp_verification *v, const size_t *rows, size_t count, const mlp_arrays *whole);

#endif
