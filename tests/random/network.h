/* Random networks, as a test of the compiler that shares nothing with it but the language's description: a tree of a
 * spec, its text, its meaning in float64, and how far honest arithmetic may be from that. */
#ifndef TESTS_RANDOM_NETWORK_H
#define TESTS_RANDOM_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Chance (rng.c) ---- */

struct rng {
    uint64_t state;
};

uint64_t rng_next(struct rng *rng);
int rng_below(struct rng *rng, int end);                    /* 0 .. end - 1 */
bool rng_chance(struct rng *rng, int percent);
double rng_unit(struct rng *rng);                           /* -1 .. 1 */
uint64_t rng_hash(uint64_t seed, const char *text);

/* ---- Memory of one network: freed as a whole (pool.c) ---- */

void *pool_take(size_t size);                               /* zeros */
char *pool_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pool_free(void);

/* ---- Types (types.c) ---- */

enum type { F32, TF32, F16, BF16, F64 };

const char *type_name(enum type type);
double type_round(double value, enum type type);            /* to nearest even */
double type_unit(enum type type);                           /* half the distance of 1 to the number above it */
double type_largest(enum type type);

/* ---- The tree (a spec as it is written) ---- */

enum expr_kind {
    E_INTEGER, E_REAL, E_TRUE, E_STRING, E_NAME,
    E_ADD, E_SUBTRACT, E_MULTIPLY, E_DIVIDE, E_NEGATE,
    E_COLUMNS,                      /* of args[0], from args[1] to args[2] */
    E_CALL                          /* of a function or a block */
};

enum { MAX_ARGS = 10, MAX_STATEMENTS = 64, MAX_PARAMETERS = 8, MAX_BLOCKS = 8, MAX_PORTS = 16 };

struct expr {
    enum expr_kind kind;
    const char *text;               /* E_NAME, E_CALL: the name; E_STRING: as it is written between the quotes */
    int64_t integer;                /* E_INTEGER; E_TRUE: 0 is "false" */
    double real;
    int count;
    struct expr *args[MAX_ARGS];
    const char *keywords[MAX_ARGS]; /* NULL: by place */
};

enum stmt_kind { S_ASSIGN, S_OUTPUT, S_REPEAT };

struct body {
    int count;
    struct stmt *at[MAX_STATEMENTS];
};

struct stmt {
    enum stmt_kind kind;
    const char *name;               /* of the value, the output, the loop's variable */
    const char *type;               /* S_OUTPUT: or NULL */
    struct expr *expr;              /* S_OUTPUT: or NULL; S_REPEAT: its begin */
    struct expr *end;
    struct body body;
};

struct block {
    const char *name;
    int parameter_count;
    const char *parameters[MAX_PARAMETERS];
    struct body body;
    struct expr *result;
};

struct constant {
    const char *name;
    struct expr *expr;
};

struct input {
    const char *name;
    enum type type;
    struct expr *width;
};

struct network {
    uint64_t seed;
    const char *name;
    enum type type;
    int rows;                       /* of the arrays that it is tried with */
    int batch_count, batches[4];
    int constant_count, block_count, input_count;
    struct constant constants[MAX_PORTS];
    struct block blocks[MAX_BLOCKS];
    struct input inputs[MAX_PORTS];
    struct body body;
};

struct expr *expr_new(enum expr_kind kind);
struct network *network_copy(const struct network *network);    /* a deep one */

/* A valid network; `only`: of this type, or -1. */
struct network *generate(uint64_t seed, int only);
/* Its text. */
void print_network(const struct network *network, FILE *to);

/* ---- Its meaning: operations in order, blocks and repeats expanded (expand.c) ---- */

enum op {
    OP_INPUT, OP_LINEAR, OP_LAYERNORM, OP_RMSNORM, OP_BATCHNORM, OP_PARAM, OP_NUMBER,
    OP_RELU, OP_RELU6, OP_LEAKY_RELU, OP_ELU, OP_GELU, OP_GELU_TANH, OP_SILU, OP_MISH, OP_HARDSWISH, OP_HARDSIGMOID,
    OP_SIGMOID, OP_TANH, OP_SOFTPLUS, OP_EXP, OP_LOG, OP_SQRT, OP_ABS, OP_CLAMP, OP_IDENTITY, OP_NEGATE,
    OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_MAXIMUM, OP_MINIMUM,
    OP_SOFTMAX, OP_LOG_SOFTMAX, OP_SUM, OP_MEAN, OP_DOT,
    OP_COLUMNS, OP_CONCAT
};

/* What a tensor of the weights file is for, by which its numbers are drawn. */
enum role { ROLE_WEIGHT, ROLE_BIAS, ROLE_SCALE, ROLE_VARIANCE };

struct tensor {
    const char *name;
    enum role role;
    enum type type;                 /* in the file */
    int rank;
    int shape[2];
    double *at;
};

struct node {
    enum op op;
    int width;
    int count;                      /* of operands */
    int in[MAX_ARGS];
    int begin;                      /* OP_COLUMNS: the first; OP_INPUT: which */
    double a, b;                    /* eps and offset; slope; alpha; lo and hi; the number */
    bool transposed;
    const struct tensor *tensors[4];    /* weight, bias, mean, variance, or NULL */
};

struct output {
    const char *name;
    enum type type;
    int node;
};

struct graph {
    const struct network *network;
    struct node *nodes;
    int node_count, node_room;
    struct tensor **tensors;
    int tensor_count, tensor_room;
    struct output outputs[MAX_PORTS];
    int output_count;
};

/* NULL where the tree is no valid network, with the reason in `error`. */
struct graph *expand(const struct network *network, const char **error);

/* ---- Numbers (evaluate.c) ---- */

struct array_in {
    enum type stored;               /* in the .npy file */
    bool fortran, big_endian;
    double *file, *at;              /* as in the file, and as the network's input type has them: [rows, width] */
};

/* The inputs of a network from its seed. */
struct array_in *draw_inputs(const struct graph *graph);

struct expected {
    double *value, *tolerance;      /* [rows, width]; a tolerance of infinity: anything may come out */
    int width;
};

/* On a GPU, cuBLASLt computes the gelu_tanh behind a product by a fast tanh. */
enum device { ON_CPU, ON_GPU };

/* What each output must be, and how far it may be off. */
struct expected *evaluate(const struct graph *graph, const struct array_in *inputs, enum device device);

/* ---- Files (files.c) ---- */

/* NAME.mlp, NAME.safetensors and in_INPUT.npy in a folder; false where one cannot be written. */
bool write_network(const struct graph *graph, const struct array_in *inputs, const char *folder);
/* out_OUTPUT.npy and tolerance_OUTPUT.npy, both of float64. */
bool write_expected(const struct graph *graph, const struct expected *expected, const char *folder);

/* ---- Plans (memory.c) ---- */

/* Checks what `mlpc --dump=memory` printed: NULL, or what is wrong. `*waste`: the arena over the least that any layout
 * needs; `*chain`: never more than two buffers alive at once. */
const char *memory_wrong(const char *dump, int alignment, double *waste, bool *chain);

/* ---- Less of a network that fails (shrink.c) ---- */

/* The smallest network found for which `fails` still says true. */
struct network *shrink(const struct network *network, bool (*fails)(const struct network *), double seconds);

#endif
