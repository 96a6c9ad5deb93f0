#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../output.h"
#include "../utf8.h"
#include "npy_header.h"
#include "tensor.h"

static const struct { const char *text; enum element type; } types[] = {
    {"<f4", ELEMENT_F32}, {"<f2", ELEMENT_F16}, {"<V2", ELEMENT_BF16}, {"<f8", ELEMENT_F64}, {"<i8", ELEMENT_I64},
    {"<i4", ELEMENT_I32}, {"|u1", ELEMENT_U8},  {"|b1", ELEMENT_BOOL}, {"|i1", ELEMENT_I8},  {"|V2", ELEMENT_BF16},
};

static bool find_type(const char *word, struct constant *constant)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(word, types[i].text) || (*word == '=' && !strcmp(word + 1, types[i].text + 1))) {
            constant->type = types[i].type;
            return true;
        }
    }
    return false;
}

static bool find_shape(const mlp_npy_header *header, struct constant *constant)
{
    struct shape *shape = &constant->shape;
    _Static_assert((int)RANK_MAX <= (int)MLP_NPY_MOST_DIMENSIONS, "a header holds what is read of it");
    if (header->rank > RANK_MAX)
        return false;
    for (size_t i = 0; i < header->rank; i++) {
        if (header->dims[i] > INT64_MAX)
            return false;
        shape->dims[shape->rank++] = (int64_t)header->dims[i];
    }
    return shape_count(shape, &constant->count);
}

/* Elements in C order, of an array whose first index runs fastest. */
static const unsigned char *turn(struct arena *arena, const struct constant *constant, const unsigned char *from)
{
    const struct shape *shape = &constant->shape;
    const size_t size = element_size(constant->type);
    unsigned char *to = arena_array(arena, constant->count, size);
    int64_t at[RANK_MAX] = {0};
    for (size_t i = 0; i < constant->count; i++) {
        int64_t offset = 0;
        for (int j = shape->rank; j-- > 0;)
            offset = offset * shape->dims[j] + at[j];
        memcpy(to + i * size, from + (size_t)offset * size, size);
        for (int j = shape->rank; j-- > 0 && ++at[j] == shape->dims[j];)
            at[j] = 0;
    }
    return to;
}

static const char *parse(struct constant *constant, const char *bytes, size_t size, struct arena *arena)
{
    mlp_npy_header header;
    size_t expected;
    if (!mlp_npy_read_header(&header, (const unsigned char *)bytes, size))
        return arena_format(arena, "is no array: %s", header.error);
    if (!find_type(header.type, constant))
        return "holds another type of numbers than little-endian floats, bfloat16 (<V2), int64, int32 or bool";
    if (!find_shape(&header, constant))
        return "has more dimensions, or more numbers, than can be read";
    if (!CHECKED_MUL(constant->count, element_size(constant->type), &expected) || expected != size - header.offset)
        return "holds another number of bytes than its shape says";
    constant->bytes = (const unsigned char *)bytes + header.offset;
    if (header.fortran)
        constant->bytes = turn(arena, constant, constant->bytes);
    return NULL;
}

struct constant *npy_constant(struct arena *arena, const char *path, const char *name, const char **message)
{
    struct constant *constant = ARENA_NEW(arena, struct constant);
    size_t size;
    const char *bytes = input_read(arena, NULL, path, &size);
    constant->name = name;
    *message = bytes ? parse(constant, bytes, size, arena) : NULL;
    return bytes && !*message ? constant : NULL;
}

static const char *type_text(enum element type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == type)
            return types[i].text;
    }
    return "";
}

bool npy_write_rows(const char *path, const struct constant *constant, size_t width)
{
    char header[128];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                          type_text(constant->type), width ? constant->count / width : 0, width);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite("\x93NUMPY\1\0", 1, 8, file) == 8 && fputc(padded & 255, file) != EOF &&
                fputc(padded >> 8, file) != EOF && fprintf(file, "%-*s\n", padded - 1, header) == padded &&
                fwrite(constant->bytes, element_size(constant->type), constant->count, file) == constant->count;
    if ((file && fclose(file)) || !good) {
        utf8_print_line(stderr, "mlpc: error: cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    return true;
}
