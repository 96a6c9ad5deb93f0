/* The header of a .npy file: magic, version, length, and a Python dictionary as text,
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * padded with spaces. Its three fields may come in any order, each exactly once, and nothing else may be there. */
#include "npy.h"

#include <stdarg.h>
#include <string.h>

struct parser {
    mlp_npy *npy;
    const unsigned char *start, *at, *end;
    unsigned seen;                  /* bit i: fields[i] has been read */
    size_t dims[2], rank;
};

size_t mlp_npy_type_size(mlp_npy_type type)
{
    static const size_t sizes[] = {[MLP_NPY_F2] = 2, [MLP_NPY_F4] = 4, [MLP_NPY_F8] = 8, [MLP_NPY_BF16] = 2};
    return sizes[type];
}

static mlp_npy_result wrong(mlp_npy *npy, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first complaint stands: what follows it is only its consequence. */
static mlp_npy_result wrong(mlp_npy *npy, const char *format, ...)
{
    if (!npy->error[0]) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(npy->error, sizeof npy->error, format, arguments);
        va_end(arguments);
    }
    return MLP_NPY_WRONG;
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && memchr(" \t\r\n", *parser->at, 4))
        parser->at++;
}

/* Takes `text`, spaces before it aside, if it comes next. */
static int take(struct parser *parser, const char *text)
{
    size_t length = strlen(text);
    skip_space(parser);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, text, length))
        return 0;
    parser->at += length;
    return 1;
}

static int expect(struct parser *parser, const char *text)
{
    if (take(parser, text))
        return 1;
    wrong(parser->npy, "byte %zu of its header should be '%s'", (size_t)(parser->at - parser->start), text);
    return 0;
}

/* A quoted word of at most 31 printable characters. */
static int quoted(struct parser *parser, char word[32])
{
    size_t length = 0;
    const char *quote = take(parser, "\"") ? "\"" : "'";
    if (*quote == '\'' && !expect(parser, "'"))
        return 0;
    while (parser->at < parser->end && *parser->at > ' ' && *parser->at < 127 && *parser->at != *quote && length < 31)
        word[length++] = (char)*parser->at++;
    word[length] = 0;
    return expect(parser, quote);
}

static int number(struct parser *parser, size_t *value)
{
    skip_space(parser);
    const unsigned char *first = parser->at;
    *value = 0;
    for (; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9'; parser->at++) {
        size_t digit = (size_t)(*parser->at - '0');
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
            return wrong(parser->npy, "its shape does not fit into memory"), 0;
    }
    if (parser->at == first)
        return wrong(parser->npy, "its shape holds something that is not a size"), 0;
    take(parser, "L");                          /* as Python 2 wrote long integers */
    return 1;
}

static int shape(struct parser *parser)
{
    if (!expect(parser, "("))
        return 0;
    int comma = 1;
    for (parser->rank = 0; comma && !take(parser, ")"); parser->rank++) {
        size_t size;
        if (!number(parser, &size))
            return 0;
        if (parser->rank < 2)
            parser->dims[parser->rank] = size;
        comma = take(parser, ",");
        if (!comma && (parser->rank == 0 || !expect(parser, ")")))
            return wrong(parser->npy, "its shape is not a tuple"), 0;
    }
    return 1;
}

static int type(struct parser *parser)
{
    static const struct {
        const char *text;
        mlp_npy_type type;
    } known[] = {{"f2", MLP_NPY_F2}, {"f4", MLP_NPY_F4}, {"f8", MLP_NPY_F8}, {"V2", MLP_NPY_BF16}};
    char word[32];
    skip_space(parser);
    if (parser->at < parser->end && *parser->at == '[')
        return wrong(parser->npy, "it holds records, not numbers"), 0;
    if (!quoted(parser, word))
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int ordered = word[0] && strchr("<>=", word[0]), bits = word[0] == '|' && known[i].type == MLP_NPY_BF16;
        if ((ordered || bits) && !strcmp(word + 1, known[i].text)) {
            parser->npy->type = known[i].type;
            parser->npy->big_endian = word[0] == '>';
            return 1;
        }
    }
    return wrong(parser->npy, "it holds elements of type '%s', not f2, f4, f8 or V2 (bfloat16)", word), 0;
}

static int order(struct parser *parser)
{
    parser->npy->fortran = take(parser, "True");
    return parser->npy->fortran || expect(parser, "False");
}

static const struct {
    const char *key;
    int (*read)(struct parser *);
} fields[] = {{"descr", type}, {"fortran_order", order}, {"shape", shape}};
enum { FIELDS = sizeof fields / sizeof *fields };

static int field(struct parser *parser)
{
    char key[32];
    if (!quoted(parser, key) || !expect(parser, ":"))
        return 0;
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(key, fields[i].key))
            continue;
        if (parser->seen & 1u << i)
            return wrong(parser->npy, "its header says '%s' twice", key), 0;
        parser->seen |= 1u << i;
        return fields[i].read(parser);
    }
    return wrong(parser->npy, "its header holds the unknown field '%s'", key), 0;
}

static int dictionary(struct parser *parser)
{
    if (!expect(parser, "{"))
        return 0;
    while (!take(parser, "}")) {
        if (!field(parser))
            return 0;
        if (!take(parser, ",") && !expect(parser, "}"))
            return 0;
        if (parser->at[-1] == '}')
            break;
    }
    skip_space(parser);
    if (parser->at != parser->end)
        return wrong(parser->npy, "something stands behind its header's dictionary"), 0;
    for (size_t i = 0; i < FIELDS; i++)
        if (!(parser->seen & 1u << i))
            return wrong(parser->npy, "its header does not say '%s'", fields[i].key), 0;
    return 1;
}

/* Magic, version and length: where the dictionary begins and ends. */
static mlp_npy_result preamble(mlp_npy *npy, const unsigned char *bytes, size_t size, size_t *begin)
{
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6))
        return wrong(npy, "it is not an npy file");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return wrong(npy, "it is of npy version %d.%d; 1.0, 2.0 and 3.0 are known", bytes[6], bytes[7]);
    *begin = bytes[6] == 1 ? 10 : 12;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1 && size >= 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size < *begin || length > size - *begin)
        return wrong(npy, "its header is cut short");
    npy->offset = *begin + length;
    return MLP_NPY_OK;
}

static mlp_npy_result check_size(mlp_npy *npy, const struct parser *parser, uint64_t file_size)
{
    if (parser->rank != 1 && parser->rank != 2)
        return wrong(npy, "its shape has %zu dimensions; [rows, width] or [width] is needed", parser->rank);
    npy->rows = parser->rank == 2 ? parser->dims[0] : 1;
    npy->width = parser->dims[parser->rank - 1];
    size_t bytes;
    if (__builtin_mul_overflow(npy->rows, npy->width, &bytes) ||
        __builtin_mul_overflow(bytes, mlp_npy_type_size(npy->type), &bytes))
        return wrong(npy, "its shape does not fit into memory");
    if (file_size - npy->offset != bytes)
        return wrong(npy, "shape [%zu, %zu] needs %zu bytes of data, it has %ju", npy->rows, npy->width, bytes,
                     (uintmax_t)(file_size - npy->offset));
    return MLP_NPY_OK;
}

mlp_npy_result mlp_npy_parse(mlp_npy *npy, const unsigned char *bytes, size_t size, uint64_t file_size)
{
    size_t begin = 0;
    *npy = (mlp_npy){.file = NULL};
    if (preamble(npy, bytes, size, &begin) != MLP_NPY_OK)
        return MLP_NPY_WRONG;
    struct parser parser = {.npy = npy, .start = bytes, .at = bytes + begin, .end = bytes + npy->offset};
    if (!dictionary(&parser))
        return MLP_NPY_WRONG;
    return check_size(npy, &parser, file_size);
}
