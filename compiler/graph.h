/* What the spec means: typed operations in topological order, after blocks and repeats are expanded. A node is one
 * operation on [rows, width] tensors; it reads only nodes before it, so that a single walk over the array visits
 * producers before consumers.
 *
 * Lowering (lower.c) builds it, folding and simplification (fold.c) rewrite it, fusion (fuse.c) groups its nodes,
 * the planner (plan.c) turns the groups into steps. */
#ifndef MLPC_GRAPH_H
#define MLPC_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"
#include "diag.h"
#include "site.h"

enum op {
#define OP(name, text, kind, operands, attributes) OP_##name,
#include "ops.def"
#undef OP
    OP_COUNT
};

enum op_kind { KIND_LEAF, KIND_PRODUCT, KIND_MAP, KIND_ROW, KIND_REDUCE, KIND_VIEW };

struct op_info {
    const char *text;               /* "leaky_relu" */
    const char *constant;           /* "LEAKY_RELU": its constant in the runtime is MLP_OP_LEAKY_RELU */
    enum op_kind kind;
    int operands, attributes;
};
extern const struct op_info op_info[OP_COUNT];

enum dtype { DTYPE_F32, DTYPE_TF32, DTYPE_F16, DTYPE_BF16 };

const char *dtype_text(enum dtype dtype);               /* "bf16" */
bool dtype_parse(const char *text, enum dtype *dtype);
size_t dtype_size(enum dtype dtype);                    /* bytes of a stored element; tf32 is stored as f32 */

/* A parameter is a small expression over tensors of the weights file, evaluated in double when packing. Vectors are
 * [1, n]. Sources are shared: asking twice for the same tensor in the same form gives the same struct. */
enum param_kind {
    PARAM_SOURCE,                   /* a tensor of the file */
    PARAM_ZERO,                     /* zeros */
    PARAM_BN_SCALE,                 /* of[]: weight, variance             w / sqrt(var + eps) */
    PARAM_BN_SHIFT,                 /* of[]: weight, bias, mean, variance b - mean * w / sqrt(var + eps) */
    PARAM_SCALE_ROWS,               /* of[]: matrix [r, c], vector [1, r] */
    PARAM_SCALE_COLUMNS,            /* of[]: matrix [r, c], vector [1, c] */
    PARAM_MATVEC,                   /* of[]: matrix [r, c], vector [1, c]; gives [1, r] */
    PARAM_MULTIPLY,                 /* of[]: two of one shape */
    PARAM_ADD,                      /* of[]: two of one shape */
    PARAM_STACK_ROWS,               /* of[]: matrices of one width, one above the other */
    PARAM_JOIN,                     /* of[]: vectors, one behind the other */
};

/* What a source tensor is for: decides the shapes accepted and the values that --random-weights draws. */
enum param_role {
    ROLE_LINEAR_WEIGHT,             /* [rows, cols], or [cols, rows] where transposed */
    ROLE_LINEAR_BIAS,               /* the vectors below: [n] */
    ROLE_NORM_WEIGHT,
    ROLE_NORM_BIAS,
    ROLE_RUNNING_MEAN,
    ROLE_RUNNING_VAR,
    ROLE_ROW,                       /* param(): [n], [1, n], or [] where n is 1 */
};

struct param {
    enum param_kind kind;
    int64_t rows, cols;
    struct param **of;
    int of_count;
    int depth;                      /* of the expression: 0 where there are no operands */
    double eps;                     /* PARAM_BN_SCALE, PARAM_BN_SHIFT */
    struct span span;               /* the call that asks for it; of a source, the place that asks first */
    /* PARAM_SOURCE */
    const char *tensor;             /* its name in the file, any UTF-8 */
    bool transposed;                /* stored [cols, rows] */
    enum param_role role;
    const char *user;               /* the function that asks for it: "linear" */
    const struct site *site;        /* what is being expanded there, or NULL */
    const char *operand;            /* what is applied to it there, in words, or NULL */
    int64_t operand_width;
    struct span operand_span;
    struct span size_span;          /* the argument that gives its size; empty: none */
    bool seen;                      /* scratch of the walk that collects a graph's sources */
};

struct node {
    enum op op;
    int64_t width;
    int *in;                        /* operands: indices of earlier nodes */
    int in_count;
    double attr[2];
    struct param *param[2];
    int64_t begin;                  /* OP_SLICE */
    const char *name;               /* the spec's name for the value, or NULL */
    struct span span;
    const struct site *site;        /* what was being expanded, or NULL */
};

struct port {                       /* an input or an output of the model */
    const char *name;
    enum dtype dtype;               /* f32, f16 or bf16 */
    int64_t width;
    int node;
    struct span span;
};

/* How much memory a network may keep, where the spec says. */
enum budget_entry { BUDGET_DEVICE, BUDGET_HOST, BUDGET_ENTRIES };

struct budget {
    bool given[BUDGET_ENTRIES];
    int64_t bytes[BUDGET_ENTRIES];
    struct span span[BUDGET_ENTRIES];
};

/* By its name in the spec; BUDGET_ENTRIES: there is no such one. */
enum budget_entry budget_entry(const char *name);

struct graph {
    struct arena *arena;
    const char *name;               /* the model's */
    enum dtype dtype;
    VEC(int64_t) batches;           /* ascending, no doubles, at least one */
    const char *weights;            /* path as written in the spec, relative to it; NULL without one */
    struct span weights_span;       /* valid where weights is set; else the model's name */
    struct budget budget;
    VEC(struct node) nodes;
    VEC(struct port) inputs;
    VEC(struct port) outputs;
    const struct site *site;        /* of what is being added */
    VEC(struct param *) sources;    /* every PARAM_SOURCE, in the order of first use */
};

struct graph *graph_new(struct arena *arena);

/* Appends a node whose operands are copied from `in`; returns its index. The caller has set the widths right. */
int graph_add(struct graph *graph, enum op op, int64_t width, const int *in, int in_count, struct span span);
struct node *graph_node(const struct graph *graph, int index);

/* The source parameter for `tensor` read as [rows, cols]; the same struct for the same request. */
struct param *graph_source(struct graph *graph, const char *tensor, int64_t rows, int64_t cols, bool transposed,
                           enum param_role role, const char *user, struct span span);
struct param *graph_param(struct graph *graph, enum param_kind kind, int64_t rows, int64_t cols,
                          struct param *const *of, int of_count);

/* How often each node is read by live nodes and outputs; arrays of graph->nodes.count. */
int *graph_uses(const struct graph *graph, struct arena *arena);

/* Asserts what every pass relies on: operand order, widths, arity. */
void graph_check(const struct graph *graph);
void graph_dump(const struct graph *graph, FILE *to);

#endif
