/* The header of a .npy file: magic, version, length, and a Python dictionary as text,
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * padded with spaces. Its three fields may come in any order, each exactly once, and nothing else may be there. */
#include "npy_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct parser {
    mlp_npy_header *header;
    const unsigned char *start, *at, *end;
    unsigned seen;                  /* bit i: fields[i] has been read */
};

static int wrong(mlp_npy_header *header, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns 0. The first complaint stands: what follows it is only its consequence. */
static int wrong(mlp_npy_header *header, const char *format, ...)
{
    if (!header->error[0]) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(header->error, sizeof header->error, format, arguments);
        va_end(arguments);
    }
    return 0;
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
    return wrong(parser->header, "byte %zu of its header should be '%s'", (size_t)(parser->at - parser->start), text);
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
            return wrong(parser->header, "its shape does not fit into memory");
    }
    if (parser->at == first)
        return wrong(parser->header, "its shape holds something that is not a size");
    take(parser, "L");                          /* as Python 2 wrote long integers */
    return 1;
}

static int shape(struct parser *parser)
{
    if (!expect(parser, "("))
        return 0;
    mlp_npy_header *header = parser->header;
    int comma = 1;
    for (header->rank = 0; comma && !take(parser, ")"); header->rank++) {
        size_t size;
        if (!number(parser, &size))
            return 0;
        if (header->rank < MLP_NPY_MOST_DIMENSIONS)
            header->dims[header->rank] = size;
        comma = take(parser, ",");
        if (!comma && (header->rank == 0 || !expect(parser, ")")))
            return wrong(parser->header, "its shape is not a tuple");
    }
    return 1;
}

static int type(struct parser *parser)
{
    skip_space(parser);
    if (parser->at < parser->end && *parser->at == '[')
        return wrong(parser->header, "it holds records, not numbers");
    return quoted(parser, parser->header->type);
}

static int order(struct parser *parser)
{
    parser->header->fortran = take(parser, "True");
    return parser->header->fortran || expect(parser, "False");
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
            return wrong(parser->header, "its header says '%s' twice", key);
        parser->seen |= 1u << i;
        return fields[i].read(parser);
    }
    return wrong(parser->header, "its header holds the unknown field '%s'", key);
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
        return wrong(parser->header, "something stands behind its header's dictionary");
    for (size_t i = 0; i < FIELDS; i++)
        if (!(parser->seen & 1u << i))
            return wrong(parser->header, "its header does not say '%s'", fields[i].key);
    return 1;
}

/* Magic, version and length: where the dictionary begins and ends. */
static int preamble(mlp_npy_header *header, const unsigned char *bytes, size_t size, size_t *begin)
{
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6))
        return wrong(header, "it is not an npy file");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return wrong(header, "it is of npy version %d.%d; 1.0, 2.0 and 3.0 are known", bytes[6], bytes[7]);
    *begin = bytes[6] == 1 ? 10 : 12;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1 && size >= 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size < *begin || length > size - *begin)
        return wrong(header, "its header is cut short");
    header->offset = *begin + length;
    return 1;
}

int mlp_npy_read_header(mlp_npy_header *header, const unsigned char *bytes, size_t size)
{
    size_t begin = 0;
    *header = (mlp_npy_header){.rank = 0};
    if (!preamble(header, bytes, size, &begin))
        return 0;
    struct parser parser = {.header = header, .start = bytes, .at = bytes + begin, .end = bytes + header->offset};
    return dictionary(&parser);
}
