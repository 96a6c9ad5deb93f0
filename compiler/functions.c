/* The table of functions. */
#include "functions.h"

#include <string.h>

#define TENSOR(name)            {name, ARGUMENT_TENSOR, USE_PLACE, true, 0}
#define OPERAND(name)           {name, ARGUMENT_OPERAND, USE_PLACE, true, 0}
#define WIDTH(name)             {name, ARGUMENT_WIDTH, USE_BOTH, true, 0}
#define NUMBER(name)            {name, ARGUMENT_NUMBER, USE_BOTH, true, 0}
#define OPTION(name, fallback)  {name, ARGUMENT_NUMBER, USE_BOTH, false, fallback}
#define EPS(fallback)           {"eps", ARGUMENT_EPS, USE_BOTH, false, fallback}
#define TRUTH(name, fallback)   {name, ARGUMENT_TRUTH, USE_BOTH, false, fallback}
#define BIAS                    {"bias", ARGUMENT_TRUTH_OR_STRING, USE_BOTH, false, true}
#define PREFIX                  {"p", ARGUMENT_STRING, USE_PLACE, false, 0}
#define STRING(name)            {name, ARGUMENT_STRING, USE_KEYWORD, false, 0}

/* A function of one tensor. */
#define SIMPLE(name, op)        {name, name "(x)", op, false, 1, {TENSOR("x")}}

const struct function functions[] = {
    {"linear", "linear(x, out, \"p\", bias=true, transposed=false)", OP_LINEAR, false, 6,
     {TENSOR("x"), WIDTH("out"), PREFIX, BIAS, TRUTH("transposed", false), STRING("weight")}},
    {"layernorm", "layernorm(x, \"p\", eps=1e-5, affine=true, bias=true)", OP_LAYERNORM, false, 6,
     {TENSOR("x"), PREFIX, EPS(1e-5), TRUTH("affine", true), BIAS, STRING("weight")}},
    {"rmsnorm", "rmsnorm(x, \"p\", eps=1e-6, offset=0, affine=true)", OP_RMSNORM, false, 6,
     {TENSOR("x"), PREFIX, EPS(1e-6), OPTION("offset", 0), TRUTH("affine", true), STRING("weight")}},
    {"batchnorm", "batchnorm(x, \"p\", eps=1e-5)", OP_AFFINE, false, 7,
     {TENSOR("x"), PREFIX, EPS(1e-5), STRING("weight"), STRING("bias"), STRING("mean"), STRING("var")}},
    {"param", "param(\"name\", n)", OP_PARAM, false, 2,
     {{"name", ARGUMENT_STRING, USE_PLACE, true, 0}, WIDTH("n")}},

    SIMPLE("relu", OP_RELU),
    SIMPLE("relu6", OP_RELU6),
    SIMPLE("gelu", OP_GELU),
    SIMPLE("gelu_tanh", OP_GELU_TANH),
    SIMPLE("silu", OP_SILU),
    SIMPLE("mish", OP_MISH),
    SIMPLE("hardswish", OP_HARDSWISH),
    SIMPLE("hardsigmoid", OP_HARDSIGMOID),
    SIMPLE("sigmoid", OP_SIGMOID),
    SIMPLE("tanh", OP_TANH),
    SIMPLE("softplus", OP_SOFTPLUS),
    SIMPLE("identity", OP_IDENTITY),
    SIMPLE("exp", OP_EXP),
    SIMPLE("log", OP_LOG),
    SIMPLE("sqrt", OP_SQRT),
    SIMPLE("abs", OP_ABS),
    {"leaky_relu", "leaky_relu(x, slope=0.01)", OP_LEAKY_RELU, false, 2, {TENSOR("x"), OPTION("slope", 0.01)}},
    {"elu", "elu(x, alpha=1)", OP_ELU, false, 2, {TENSOR("x"), OPTION("alpha", 1)}},
    {"clamp", "clamp(x, lo, hi)", OP_CLAMP, false, 3, {TENSOR("x"), NUMBER("lo"), NUMBER("hi")}},

    SIMPLE("softmax", OP_SOFTMAX),
    SIMPLE("log_softmax", OP_LOG_SOFTMAX),
    {"maximum", "maximum(a, b)", OP_MAXIMUM, false, 2, {OPERAND("a"), OPERAND("b")}},
    {"minimum", "minimum(a, b)", OP_MINIMUM, false, 2, {OPERAND("a"), OPERAND("b")}},
    {"concat", "concat(a, b, ...)", OP_CONCAT, true, 1, {OPERAND("a")}},
    SIMPLE("sum", OP_SUM),
    SIMPLE("mean", OP_MEAN),
    {"dot", "dot(a, b)", OP_DOT, false, 2, {TENSOR("a"), TENSOR("b")}},
};

const int function_count = sizeof functions / sizeof *functions;

const struct function *function_find(const char *name)
{
    for (int i = 0; i < function_count; i++) {
        if (!strcmp(functions[i].name, name))
            return &functions[i];
    }
    return NULL;
}

int function_parameter(const struct function *function, const char *keyword)
{
    for (int i = 0; i < function->parameter_count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter->use != USE_PLACE && !strcmp(parameter->name, keyword))
            return i;
    }
    return -1;
}

int function_places(const struct function *function)
{
    int places = 0;
    while (places < function->parameter_count && function->parameters[places].use != USE_KEYWORD)
        places++;
    return places;
}
