/* Nodes -> terms. Every sample is one row: of each value, some dimensions in front count the rows, and the others are
 * the columns of a row, flattened. How many are in front is tried out, for the model as a whole: one of [N, 784], two
 * of [batch, tokens, 512], none where the inputs are single vectors. What moves values from row to row is refused. */
#ifndef MLPC_ONNX_TRANSLATE_H
#define MLPC_ONNX_TRANSLATE_H

#include "model.h"
#include "term.h"

/* False after refusals, which are then those of the try that came nearest. */
bool translate_model(struct model *model, struct net *net);

/* The language has one type for weights and stored values. Products decide which; without any, f32 where
 * anything is computed in it, else the first input. */
enum element translate_type(const struct net *net);

/* ---- for the operators ---- */

enum { LEAD_ALL = RANK_MAX + 1 };   /* a symbol: all dimensions of the rows as one */

struct translation {
    struct arena *arena;
    struct model *model;
    struct net *net;
    int lead;                       /* dimensions that are rows; reshapes may make one of several */
    int64_t lead_sizes[RANK_MAX];   /* -1: not known */
};

struct operator {
    const char *domain, *name;
    int inputs_least, inputs_most;  /* -1: any number */
    const char *attributes;         /* as attribute_check takes them */
    bool (*translate)(struct translation *t, const struct onnx_node *node);
};

extern const struct operator operators[];
extern const size_t operator_count;

/* One argument of a node: a constant or rows. */
struct operand {
    struct constant *constant;
    struct rows *rows;
};

bool has_input(const struct onnx_node *node, int index);
struct operand operand_of(const struct onnx_node *node, int index);
/* NULL after a refusal; `what`: "its weight". */
struct constant *constant_input(struct translation *t, const struct onnx_node *node, int index, const char *what);
struct rows *rows_input(struct translation *t, const struct onnx_node *node, int index, const char *what);
/* The single element of a constant input, or the fallback where it is left out. */
bool number_input(struct translation *t, const struct onnx_node *node, int index, double fallback, double *number);
/* Whole numbers: a list in an attribute or, in later versions, in an input. False after a refusal; *numbers is NULL
 * where there is none. */
bool integers(struct translation *t, const struct onnx_node *node, const char *attribute, int index, int64_t **numbers,
              size_t *count);

/* Gives an output of the node its rows. */
bool give(struct translation *t, const struct onnx_node *node, int index, struct term *term, int lead,
          const struct shape *row);
bool give_like(struct translation *t, const struct onnx_node *node, struct term *term, const struct rows *like);
/* Refuses a node of which more outputs than the first `count` are used. */
bool only_outputs(struct translation *t, const struct onnx_node *node, int count);

/* An axis of the whole shape, counted from the end where negative; false after a refusal. */
bool axis_of(struct translation *t, const struct onnx_node *node, int64_t axis, int rank, int *result);
int rows_rank(const struct rows *rows);
/* A row shape of which only the last dimension may be other than 1. */
bool is_vector(const struct shape *row);

/* A constant of which every row sees the same, stretched to a row of `row`; NULL after a refusal. `lead` dimensions
 * stand in front of the row. */
struct constant *stretch_constant(struct translation *t, const struct onnx_node *node, struct constant *constant,
                                  int lead, const struct shape *row);
/* The same elements in another shape. */
struct constant *constant_reshaped(struct arena *arena, struct constant *constant, const struct shape *shape);
/* Computed numbers as an operand: of a number, for a type. */
struct operand number_operand(struct translation *t, enum element type, double number);
struct operand term_operand(struct translation *t, struct term *term, const struct rows *like);

/* a op b, stretched as ONNX does; false after a refusal. */
bool combine(struct translation *t, const struct onnx_node *node, enum term_op op, struct operand a, struct operand b,
             struct rows *result);

/* Columns put together from pieces of others. */
struct piece {
    struct term *term;
    int64_t begin, end;
};

struct pieces {
    VEC(struct piece) at;
    size_t most;
};

/* False where there are too many. */
bool pieces_add(struct translation *t, struct pieces *pieces, struct term *term, int64_t begin, int64_t end);
struct term *pieces_term(struct translation *t, const struct onnx_node *node, const struct pieces *pieces);
bool refuse_pieces(struct translation *t, const struct onnx_node *node);

/* The operators, by file. */
bool translate_unary(struct translation *t, const struct onnx_node *node);
bool translate_binary(struct translation *t, const struct onnx_node *node);
bool translate_where(struct translation *t, const struct onnx_node *node);
bool translate_variadic(struct translation *t, const struct onnx_node *node);
bool translate_clip(struct translation *t, const struct onnx_node *node);
bool translate_pow(struct translation *t, const struct onnx_node *node);
bool translate_prelu(struct translation *t, const struct onnx_node *node);
bool translate_parametric(struct translation *t, const struct onnx_node *node);
bool translate_gelu(struct translation *t, const struct onnx_node *node);
bool translate_scaler(struct translation *t, const struct onnx_node *node);
bool translate_same(struct translation *t, const struct onnx_node *node);
bool translate_cast(struct translation *t, const struct onnx_node *node);
bool translate_dropout(struct translation *t, const struct onnx_node *node);

bool translate_matmul(struct translation *t, const struct onnx_node *node);
bool translate_gemm(struct translation *t, const struct onnx_node *node);

bool translate_softmax(struct translation *t, const struct onnx_node *node);
bool translate_reduce(struct translation *t, const struct onnx_node *node);
bool translate_layernorm(struct translation *t, const struct onnx_node *node);
bool translate_skip_layernorm(struct translation *t, const struct onnx_node *node);
bool translate_batchnorm(struct translation *t, const struct onnx_node *node);

bool translate_shape(struct translation *t, const struct onnx_node *node);
bool translate_reshape(struct translation *t, const struct onnx_node *node);
bool translate_flatten(struct translation *t, const struct onnx_node *node);
bool translate_squeeze(struct translation *t, const struct onnx_node *node);
bool translate_unsqueeze(struct translation *t, const struct onnx_node *node);
bool translate_transpose(struct translation *t, const struct onnx_node *node);
bool translate_slice(struct translation *t, const struct onnx_node *node);
bool translate_split(struct translation *t, const struct onnx_node *node);
bool translate_gather(struct translation *t, const struct onnx_node *node);
bool translate_concat(struct translation *t, const struct onnx_node *node);

#endif
