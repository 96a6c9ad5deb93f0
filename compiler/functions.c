/* The table of functions. */
#include "functions.h"

#include <ctype.h>
#include <string.h>

#define TENSOR(name)            {name, ARGUMENT_TENSOR, USE_PLACE, true, 0}
#define OPERAND(name)           {name, ARGUMENT_OPERAND, USE_PLACE, true, 0}
#define WIDTH(name)             {name, ARGUMENT_WIDTH, USE_BOTH, true, 0}
#define NUMBER(name)            {name, ARGUMENT_NUMBER, USE_BOTH, true, 0}
#define OPTION(name, fallback)  {name, ARGUMENT_NUMBER, USE_BOTH, false, fallback}
#define EPS(fallback)           {"eps", ARGUMENT_EPS, USE_BOTH, false, fallback}
#define TRUTH(name, fallback)   {name, ARGUMENT_TRUTH, USE_BOTH, false, fallback}
#define BIAS                    {"bias", ARGUMENT_TRUTH_OR_STRING, USE_BOTH, false, true}
#define PREFIX                  {"name", ARGUMENT_STRING, USE_PLACE, false, 0}
#define STRING(name)            {name, ARGUMENT_STRING, USE_KEYWORD, false, 0}

/* A function of one tensor. */
#define SIMPLE(name, op)        {name, name "(x)", op, false, 1, {TENSOR("x")}}

const struct function functions[] = {
    {"linear", "linear(x, out, \"name\", bias=true, transposed=false)", OP_LINEAR, false, 6,
     {TENSOR("x"), WIDTH("out"), PREFIX, BIAS, TRUTH("transposed", false), STRING("weight")}},
    {"layernorm", "layernorm(x, \"name\", eps=1e-5, affine=true, bias=true)", OP_LAYERNORM, false, 6,
     {TENSOR("x"), PREFIX, EPS(1e-5), TRUTH("affine", true), BIAS, STRING("weight")}},
    {"rmsnorm", "rmsnorm(x, \"name\", eps=1e-6, offset=0, affine=true)", OP_RMSNORM, false, 6,
     {TENSOR("x"), PREFIX, EPS(1e-6), OPTION("offset", 0), TRUTH("affine", true), STRING("weight")}},
    {"batchnorm", "batchnorm(x, \"name\", eps=1e-5)", OP_AFFINE, false, 7,
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

/* Names that PyTorch has for what is written otherwise here, in lower case and without '_'. */
static const struct { const char *names, *advice; } elsewhere[] = {
    {"cat concatenate hstack", "write concat(a, b, ...)"},
    {"dense fc fullyconnected", "write linear(x, out, \"name\")"},
    {"batchnorm1d", "write batchnorm(x, \"name\")"},
    {"dropout dropout1d alphadropout featurealphadropout", "leave it out, it does nothing at inference"},
    {"flatten view reshape squeeze unsqueeze contiguous", "leave it out, a sample is one row already"},
    {"sequential", "write one statement after the other"},
    {"add", "write a + b"},
    {"sub subtract", "write a - b"},
    {"mul multiply", "write a * b"},
    {"div divide", "write a / b"},
    {"neg negative", "write -x"},
    {"pow square", "write x * x"},
    {"normalize", "write x / maximum(sqrt(dot(x, x)), 1e-12)"},
    {"rsqrt", "write 1 / sqrt(x)"},
    {"reciprocal", "write 1 / x"},
    {"matmul mm bmm einsum", "write linear for weights, dot(a, b) for two rows"},
    {"max", "write maximum(a, b)"},
    {"min", "write minimum(a, b)"},
    {"split chunk narrow", "write slices: x[begin:end]"},
    {"parameter", "write param(\"name\", n)"},
    {"swish", "write silu(x)"},
    {"hardtanh clip", "write clamp(x, lo, hi)"},
    {"glu", "write a * sigmoid(b)"},
    {"logsigmoid", "write -softplus(-x)"},
    {"softsign", "write x / (1 + abs(x))"},
    {"prelu", "write maximum(x, 0) + param(\"name\", n) * minimum(x, 0)"},
    {"selu", "write 1.0507009873554805 * elu(x, 1.6732632423543772)"},
};

enum { LONGEST_ELSEWHERE = 32 };

static bool is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

const char *function_elsewhere(const char *name)
{
    char word[LONGEST_ELSEWHERE + 1];
    size_t length = 0;
    for (; *name && length < LONGEST_ELSEWHERE; name++) {
        if (*name != '_')
            word[length++] = (char)tolower((unsigned char)*name);
    }
    word[length] = '\0';
    for (size_t i = 0; length && !*name && i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (is_word_of(elsewhere[i].names, word))
            return elsewhere[i].advice;
    }
    return NULL;
}

static const struct keyword_elsewhere keywords_elsewhere[] = {
    {"dim axis keepdim keepdims", "", "it works on each row by itself, leave it out"},
    {"in_features num_features normalized_shape", "", "that follows from x, leave it out"},
    {"inplace momentum track_running_stats training device dtype", "", "leave it out, it says nothing here"},
    {"approximate", NULL, "write gelu_tanh(x) for approximate=\"tanh\""},
    {"out_features", "out", "write out="},
    {"negative_slope", "slope", "write slope="},
    {"elementwise_affine", "affine", "write affine="},
    {"epsilon", "eps", "write eps="},
    {"min min_val", "lo", "write lo="},
    {"max max_val", "hi", "write hi="},
};

const struct keyword_elsewhere *function_keyword_elsewhere(const struct function *function, const char *keyword)
{
    for (size_t i = 0; i < sizeof keywords_elsewhere / sizeof *keywords_elsewhere; i++) {
        const struct keyword_elsewhere *row = &keywords_elsewhere[i];
        bool fits = !row->keyword || !*row->keyword || function_parameter(function, row->keyword) >= 0;
        if (fits && is_word_of(row->names, keyword))
            return row;
    }
    return NULL;
}

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
