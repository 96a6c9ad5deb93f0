/* plan_file.h -- the text file that holds what was tuned: plans of products, and in which form a network runs. A
 * program's --tune writes it, mlpc compiles it in.
 *
 * An entry is one algorithm of cuBLASLt for one product, or the form of one network at one batch size, on one kind of
 * device with one version of the library. The file may hold entries for several devices. It is sorted, so that the same
 * entries give the same bytes; its comments are made from the entries and are not kept when it is written again. Every
 * entry carries a checksum of what it says.
 *
 * This is the one file that the compiler and the runtime share. Nothing here reads or writes files, prints or exits. */
#ifndef MLP_PLAN_FILE_H
#define MLP_PLAN_FILE_H

#include "mlp_runtime.h"

typedef struct mlp_plan_entry {
    const char *device;             /* "NVIDIA H200", as the CUDA runtime names it */
    int multiprocessors;
    size_t library;                 /* cuBLASLt: 10000 * major + 100 * minor + patch */
    const char *product;            /* sizes, types, leading dimensions: mlp_gemm.product, as mlpc writes it */
    int apart;                      /* the epilogue is a kernel of its own behind the product */
    mlp_algorithm algorithm;
    uint64_t bytes[8];              /* the same algorithm as cublasLtMatmulAlgo_t */
    uint64_t workspace;             /* bytes */
    mlp_plan_times times;
} mlp_plan_entry;

/* How a network was fastest at one batch size. */
typedef struct mlp_form_entry {
    const char *device;             /* as in mlp_plan_entry, and so are the next two */
    int multiprocessors;
    size_t library;                 /* 0: the network needs none */
    const char *network;            /* "policy rows=1 layout=0123456789abcdef": words, opaque like those of a product */
    mlp_form form;                  /* the fastest */
    double microseconds[MLP_FORMS]; /* of single launches, medians; 0: this form was not measured */
} mlp_form_entry;

typedef struct mlp_plan_file {
    mlp_plan_entry *entries;        /* sorted by device, multiprocessors, library, product; no two alike in all four */
    size_t count;
    mlp_form_entry *forms;          /* the same, with networks in the place of products */
    size_t form_count;
} mlp_plan_file;

typedef struct mlp_plan_error {
    size_t line;                    /* from 1; 0: memory ran out */
    char text[200];                 /* what is wrong with that line */
} mlp_plan_error;

/* Reads `length` bytes of text (which may hold anything) into *file, which the caller frees, also after a failure.
 * Returns 0 after filling *error. Takes no more memory than the text's own size and a constant number of bytes for each
 * of its lines. */
int mlp_plan_file_parse(const char *text, size_t length, mlp_plan_file *file, mlp_plan_error *error);

/* Puts a copy of the entry, texts included, in its place, instead of one for the same device, library and product.
 * 0: no memory, or an entry that the file cannot hold. */
int mlp_plan_file_add(mlp_plan_file *file, const mlp_plan_entry *entry);

/* The same for a network: instead of one for the same device, library and network. */
int mlp_plan_file_add_form(mlp_plan_file *file, const mlp_form_entry *entry);

/* The text of the whole file, for the caller to free; NULL: no memory. */
char *mlp_plan_file_print(const mlp_plan_file *file, size_t *length);

void mlp_plan_file_free(mlp_plan_file *file);

#endif
