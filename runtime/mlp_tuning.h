/* mlp_tuning.h -- between the program's --tune and the search for plans on the device. */
#ifndef MLP_TUNING_H
#define MLP_TUNING_H

#include "plan_file.h"

/* How far the tuner is with one product. */
typedef struct mlp_tuning_progress {
    size_t product, products;       /* the how many-eth of how many different ones */
    const char *step;
    size_t rows;
    size_t timed;                   /* algorithms so far */
    double best, first;             /* microseconds, warm */
    double seconds_left;            /* at most, for all products */
} mlp_tuning_progress;

/* What was found for one product. */
typedef struct mlp_tuned {
    mlp_plan_entry entry;           /* its texts live until the callback returns */
    const char *step;               /* the first that computes this product, */
    size_t rows;                    /* at this batch size */
    size_t checked, timed, refused; /* algorithms that the library accepted, that were timed, and of the fastest those
                                       that gave wrong, inexact or unsteady results */
    const char *why;                /* the last of these was refused, or "" */
    int kept_first;                 /* nothing was fast enough to replace the heuristic's first choice */
    int none;                       /* not even that passed its proofs: there is no entry */
} mlp_tuned;

/* An algorithm that never came to its end. The library says of none that it will. */
typedef struct mlp_hung {
    char product[400];
    mlp_algorithm algorithm;
    int apart;
} mlp_hung;

typedef struct mlp_tuning {
    double seconds;                 /* to spend */
    int forms_only;                 /* products keep the plans they have */
    const volatile int *stop;       /* becomes not 0 when the user has had enough */
    const mlp_plan_file *plans;     /* what is known: plans for this device are candidates. It grows by what is told, so
                                       that in the end the plans of all products are there */
    void (*progress)(void *context, const mlp_tuning_progress *progress);
    /* Called for each product as it is done; not 0: stop, the file could not be written. */
    int (*tuned)(void *context, const mlp_tuned *tuned);
    /* Called for each plan that makes the network slower, after all products: the entry that takes its place holds the
     * first choice. `step` is the first of those with this product. */
    int (*gave_up)(void *context, const mlp_plan_entry *entry, const char *step, size_t rows);
    /* Called when the device hangs, which nothing in this process can end: must not return. */
    void (*hung)(void *context, const mlp_hung *hung);
    const mlp_hung *all_hung;       /* those of earlier processes, which are not tried again */
    size_t hung_count;
    size_t done;                    /* products that earlier processes have done */
    /* The same for each batch size of which the program holds several forms; after all products. */
    int (*formed)(void *context, const mlp_form_entry *entry, size_t rows);
    void *context;
} mlp_tuning;

#endif
