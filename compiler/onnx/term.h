/* The network in the language's terms: a graph of calls on rows, which the printer writes down. */
#ifndef MLPC_ONNX_TERM_H
#define MLPC_ONNX_TERM_H

#include "model.h"

enum term_op {
    TERM_INPUT,
    TERM_NUMBER,                    /* numbers[0] */
    TERM_PARAM,                     /* a row of parameters: weight */
    TERM_ADD, TERM_SUB, TERM_MUL, TERM_DIV,
    TERM_LINEAR,                    /* weight, and bias or NULL */
    TERM_LAYERNORM, TERM_RMSNORM,   /* weight and bias, or NULL; numbers[0]: eps */
    TERM_BATCHNORM,                 /* weight, bias, mean, var; numbers[0]: eps */
    TERM_SLICE,                     /* columns begin .. end - 1 */
    TERM_CONCAT,
    TERM_CAST,                      /* to another type of floats */
    TERM_ERF,                       /* the language has none: it must become part of gelu */
    TERM_GREATER, TERM_WHERE,       /* nor a choice between values: these must become part of softplus */
    /* Functions that take tensors, then numbers. */
    TERM_NEG, TERM_RELU, TERM_RELU6, TERM_LEAKY_RELU, TERM_ELU, TERM_GELU, TERM_GELU_TANH, TERM_SILU, TERM_MISH,
    TERM_HARDSWISH, TERM_HARDSIGMOID, TERM_SIGMOID, TERM_TANH, TERM_SOFTPLUS, TERM_EXP, TERM_LOG, TERM_SQRT,
    TERM_ABS, TERM_CLAMP, TERM_MAXIMUM, TERM_MINIMUM, TERM_SOFTMAX, TERM_LOG_SOFTMAX, TERM_SUM, TERM_MEAN, TERM_DOT,
};

struct term {
    enum term_op op;
    int arg_count, number_count;
    struct term **args;
    double numbers[2];
    struct constant *weight, *bias, *mean, *var;
    bool transposed;                /* the weight is [in, out] */
    int64_t begin, end;
    int64_t width;
    enum element type;
    const char *hint;               /* the model's name for this value */
    const struct onnx_node *node;        /* where it comes from, for messages */

    int uses;                       /* see terms_count_uses */
    const struct term *user;        /* one of them, NULL where it is an output */
    int depth;                      /* of the expression that it is printed as */
    bool reached;
    const char *name;               /* in the spec, once it has one */
    int64_t place;                  /* of its statement, from 1; 0: none */
    int reads;                      /* by the statements of a repeat */
    bool shared_name;               /* a repeat goes on with it */
};

typedef VEC(struct term *) term_list;

/* A value's row: what is computed, and how the model sees its columns. Dimensions in front of the row's are rows. */
struct rows {
    struct term *term;
    int lead;                       /* how many dimensions are rows */
    struct shape row;               /* the others: their product is the term's width */
};

struct net {
    struct arena *arena;
    term_list terms;                /* each behind its arguments */
    term_list inputs, outputs;      /* beside the model's */
    VEC(enum element) output_types;
    int64_t batch;                  /* rows, where the model fixes them, else 1 */
};

/* The same term as an earlier one where one of the last computes the same. */
struct term *term_make(struct net *net, const struct onnx_node *node, enum term_op op, struct term *a, struct term *b);
struct term *term_number(struct net *net, enum element type, double number);
struct term *term_param(struct net *net, const struct onnx_node *node, struct constant *constant);
/* As term_make, of one argument and the numbers that the function takes. */
struct term *term_call(struct net *net, const struct onnx_node *node, enum term_op op, struct term *x, int count,
                       double first, double second);
/* Not shared: for terms with fields of their own. */
struct term *term_new(struct net *net, const struct onnx_node *node, enum term_op op, int args, int64_t width,
                      enum element type);

/* Marks the terms that outputs depend on, and counts their uses; being an output is one. */
void terms_count_uses(struct net *net);

#endif
