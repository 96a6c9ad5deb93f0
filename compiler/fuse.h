/* Groups the graph's nodes into what one step computes. A group stores one value, its result; what it computes on the
 * way is never stored.
 *
 *   product group   a linear, then element-wise operations of its width. The CPU's epilogue takes any; on the
 *                   GPU only what a cuBLASLt epilogue can do: bias, then a residual, then relu or gelu_tanh
 *   row group       element-wise operations of one width, with at most one norm, softmax or reduction at the end
 *
 * Inputs, numbers, parameter rows, slices and concats belong to no group: they compute nothing. */
#ifndef MLPC_FUSE_H
#define MLPC_FUSE_H

#include "graph.h"
#include "plan.h"

/* So that no function of the emitted C, and no kernel, grows without bound. */
enum { FUSION_LARGEST = 128 };

struct group {
    int *nodes;                     /* a linear first if there is one, then ascending; the last is the result */
    int count;
};

struct fusion {
    VEC(struct group) groups;       /* in an order in which they can run */
    int *group_of;                  /* node -> group, or -1 */
    int *uses;                      /* as graph_uses */
    int *reader_start, *readers;    /* live readers of node i, ascending, one for each operand that i is:
                                       readers[reader_start[i] .. reader_start[i + 1] - 1] */
    enum dtype between;             /* the type of values between steps */
    enum dtype *stored;             /* the type that a node's value should have where it is stored */
};

/* The type in which a product can store the node's value: the one it should have, or that of values between steps. */
enum dtype fusion_product_type(const struct fusion *fusion, enum target target, int node);

struct fusion *fuse_graph(const struct graph *graph, enum target target);
void fusion_dump(const struct graph *graph, const struct fusion *fusion, FILE *to);

#endif
