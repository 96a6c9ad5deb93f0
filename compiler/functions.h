/* The language's functions: their names, their arguments, the operation that each one is. */
#ifndef MLPC_FUNCTIONS_H
#define MLPC_FUNCTIONS_H

#include "graph.h"

enum argument_kind {
    ARGUMENT_TENSOR,
    ARGUMENT_OPERAND,               /* a tensor, or a number that stretches */
    ARGUMENT_WIDTH,                 /* a whole number from 1 to 2^31 - 1 */
    ARGUMENT_NUMBER,
    ARGUMENT_EPS,                   /* a number that is not negative */
    ARGUMENT_STRING,
    ARGUMENT_TRUTH,
    ARGUMENT_TRUTH_OR_STRING,       /* whether there is a bias, or its tensor's name */
};

enum argument_use {
    USE_PLACE,                      /* by its place only */
    USE_BOTH,                       /* by its place or as a keyword */
    USE_KEYWORD,                    /* as a keyword only */
};

struct parameter {
    const char *name;
    enum argument_kind kind;
    enum argument_use use;
    bool required;
    double fallback;                /* of a number or a truth that is left out */
};

enum { FUNCTION_PARAMETERS_MAX = 8 };

struct function {
    const char *name;
    const char *usage;              /* "linear(x, out, \"name\", bias=true, transposed=false)" */
    enum op op;                     /* OP_AFFINE: batchnorm */
    bool variadic;                  /* the only parameter may be given any number of times */
    int parameter_count;
    struct parameter parameters[FUNCTION_PARAMETERS_MAX];   /* those without USE_KEYWORD first, in order */
};

extern const struct function functions[];
extern const int function_count;

const struct function *function_find(const char *name);                             /* or NULL */
const char *function_elsewhere(const char *name);           /* "write a + b" for PyTorch's add; or NULL */
/* The same for arguments: what `names` are called here, "" where they are left out, or NULL; what to do, in words. */
struct keyword_elsewhere {
    const char *names, *keyword, *advice;
};
const struct keyword_elsewhere *function_keyword_elsewhere(const struct function *function,
                                                           const char *keyword);            /* or NULL */
int function_parameter(const struct function *function, const char *keyword);       /* or -1 */
int function_places(const struct function *function);       /* parameters that can be given by place */

#endif
