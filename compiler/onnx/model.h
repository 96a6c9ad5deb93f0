/* An ONNX model, as little of it as an import needs: nodes in an order in which they can be computed, the values
 * between them, and constants. What cannot be imported is recorded as a refusal, and all of them are told together. */
#ifndef MLPC_ONNX_MODEL_H
#define MLPC_ONNX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../arena.h"
#include "../map.h"

enum { RANK_MAX = 8 };
enum { COMPUTED_PER_BYTE = 64 };    /* what computed constants may take for each byte of a model's files */

/* Element types, with ONNX's numbers. */
enum element {
    ELEMENT_F32 = 1, ELEMENT_U8 = 2, ELEMENT_I8 = 3, ELEMENT_U16 = 4, ELEMENT_I16 = 5, ELEMENT_I32 = 6,
    ELEMENT_I64 = 7, ELEMENT_STRING = 8, ELEMENT_BOOL = 9, ELEMENT_F16 = 10, ELEMENT_F64 = 11, ELEMENT_U32 = 12,
    ELEMENT_U64 = 13, ELEMENT_BF16 = 16,
};

struct shape {
    int rank;
    int64_t dims[RANK_MAX];
};

/* A tensor that is known before the network runs. */
struct constant {
    const char *name;               /* that the model has for it, or for what it was made from */
    enum element type;
    struct shape shape;
    size_t count;                   /* of elements */
    const unsigned char *bytes;     /* as stored, little endian, of `type`; NULL where it was computed */
    double *numbers;                /* NULL until somebody asks: see tensor_numbers */
    struct constant *origin;        /* that this is another shape of, or NULL */
    const int *symbols;             /* for sizes known only when it runs, 1 + which dimension of rows; or 0; or NULL */
};

struct rows;
struct onnx_node;
struct Onnx__NodeProto;

struct value {
    const char *name;
    struct onnx_node *producer;          /* or NULL */
    struct constant *stored;        /* an initializer, or NULL */
    bool input;                     /* of the graph */
    bool needed;                    /* something imported depends on it */

    /* As the graph declares an input. */
    enum element type;
    bool has_shape;
    struct shape shape;             /* -1: not known */

    /* While the graph is translated. */
    struct constant *constant;
    struct rows *rows;
    bool refused;                   /* told of already */
};

struct onnx_node {
    const char *op, *domain, *name;
    int index;                      /* in the file */
    int input_count, output_count;
    struct value **inputs, **outputs;   /* NULL where there is none */
    const struct Onnx__NodeProto *proto;
    int waits;                      /* for this many nodes, while they are put in order */
};

/* A file in memory. */
struct mapping {
    const char *path;
    const unsigned char *bytes;
    size_t size;
};

struct refusal {
    const struct onnx_node *node;        /* or NULL: the model itself */
    const char *reason;
};

struct model {
    struct arena *arena;
    const char *path;
    int opset;                      /* of ONNX's own operators; 0: the model imports none */
    VEC(struct onnx_node *) nodes;       /* needed ones, in order */
    VEC(struct value *) inputs;     /* of the graph, in its order, without initializers and what nothing needs */
    VEC(struct value *) outputs;
    VEC(struct value *) values;
    struct map *by_name;            /* values */
    VEC(struct mapping) files;      /* of external data */
    VEC(struct refusal) refusals;
    bool failed;                    /* a file cannot be read, which has been said */
    double work;                    /* multiplications spent on computed constants */
    uint64_t budget;                /* bytes that may still be allocated for computed constants */
};

/* Always false, so that a check can end with it. */
bool model_refuse(struct model *model, const struct onnx_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void model_print_refusals(const struct model *model);

const char *element_name(enum element type);        /* "f32", as the language has it where it does */
bool element_is_float(enum element type);           /* f32, f16, bf16 */
bool element_is_integer(enum element type);

/* Of a shape whose sizes are all known; false where 63 bits cannot count them. */
bool shape_count(const struct shape *shape, size_t *count);
const char *shape_text(struct arena *arena, const struct shape *shape);

#endif
