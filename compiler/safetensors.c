/* A mapped file -> a table of tensors, sorted by name, whose data stay in the map. Every claim of the header is
 * checked before anything relies on it: the reader never looks outside the map, and an honest file has exactly one
 * reading. A check that fails writes its message and returns false. A header that is no JSON is told before anything
 * that it says. Memory is bounded by the size of the header, whatever it says. */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "file_map.h"
#include "json_members.h"
#include "quote.h"

enum { LENGTH_BYTES = 8, HEADER_MAX = 100000000 };
/* Of the shortest member that can be a tensor, the NUL stands for the comma. */
enum { ENTRY_MIN = sizeof "\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}" };

static const struct {
    const char *name;
    unsigned bits;                  /* of an element */
} element_types[] = {
    {"BOOL", 8},     {"U8", 8},       {"I8", 8},       {"I16", 16},    {"U16", 16},         {"I32", 32},
    {"U32", 32},     {"I64", 64},     {"U64", 64},     {"F16", 16},    {"BF16", 16},        {"F32", 32},
    {"F64", 64},     {"C64", 64},     {"F4", 4},       {"F6_E2M3", 6}, {"F6_E3M2", 6},      {"F8_E4M3", 8},
    {"F8_E5M2", 8},  {"F8_E8M0", 8},  {"F8_E4M3FNUZ", 8},              {"F8_E5M2FNUZ", 8},
};

struct reader {
    struct arena *arena;
    const unsigned char *header, *data;
    uint64_t header_bytes, data_bytes;
    struct tensor *tensors;
    size_t count;
    const char *name;               /* of the tensor that is being read */
    const char *message;            /* NULL, or the first mistake */
};

#define FAIL(reader, ...) ((reader)->message = arena_format((reader)->arena, __VA_ARGS__), false)

static bool find_header(struct reader *reader, const unsigned char *file, uint64_t bytes)
{
    if (bytes < LENGTH_BYTES)
        return FAIL(reader, "it has %" PRIu64 " bytes, too few for the length of a header", bytes);
    uint64_t length = bytes_load(file, LENGTH_BYTES);
    if (length > HEADER_MAX)
        return FAIL(reader, "its header claims %" PRIu64 " bytes, more than the format's 100 MB", length);
    if (length > bytes - LENGTH_BYTES)
        return FAIL(reader, "its header claims %" PRIu64 " bytes, but only %" PRIu64 " follow", length,
                    bytes - LENGTH_BYTES);
    reader->header = file + LENGTH_BYTES;
    reader->header_bytes = length;
    reader->data = reader->header + length;
    reader->data_bytes = bytes - LENGTH_BYTES - length;
    if (!length || *reader->header != '{')
        return FAIL(reader, "its header does not begin with '{'");
    return true;
}

/* Of the tensor that is being read, for messages. */
static const char *name_of(const struct reader *reader)
{
    return quote(reader->arena, reader->name);
}

static bool check_fields(struct reader *reader, json_t *entry)
{
    static const struct {
        const char *name;
        json_type type;
        const char *what;
    } fields[] = {{"dtype", JSON_STRING, "a string"},
                  {"shape", JSON_ARRAY, "an array"},
                  {"data_offsets", JSON_ARRAY, "an array"}};
    enum { FIELDS = sizeof fields / sizeof *fields };
    if (!json_is_object(entry))
        return FAIL(reader, "tensor %s is not described by an object", name_of(reader));
    for (size_t i = 0; i < FIELDS; i++) {
        json_t *field = json_object_get(entry, fields[i].name);
        if (!field)
            return FAIL(reader, "tensor %s has no '%s'", name_of(reader), fields[i].name);
        if (json_typeof(field) != fields[i].type)
            return FAIL(reader, "'%s' of tensor %s is not %s", fields[i].name, name_of(reader), fields[i].what);
    }
    if (json_object_size(entry) != FIELDS)
        return FAIL(reader, "tensor %s has fields besides 'dtype', 'shape' and 'data_offsets'", name_of(reader));
    return true;
}

static bool read_dtype(struct reader *reader, const char *dtype, struct tensor *tensor, unsigned *bits)
{
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++) {
        if (!strcmp(dtype, element_types[i].name)) {
            tensor->dtype = element_types[i].name;
            *bits = element_types[i].bits;
            return true;
        }
    }
    return FAIL(reader, "tensor %s has the unknown type %s", name_of(reader), quote(reader->arena, dtype));
}

/* All numbers of an array must be whole and not negative; the first `kept` are wanted. */
static bool read_numbers(struct reader *reader, const char *field, json_t *array, int64_t *numbers, size_t kept)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *number = json_array_get(array, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return FAIL(reader, "'%s' of tensor %s holds what is not a whole number from 0 up", field,
                        name_of(reader));
        if (i < kept)
            numbers[i] = json_integer_value(number);
    }
    return true;
}

static bool read_shape(struct reader *reader, json_t *array, struct tensor *tensor)
{
    const size_t rank = json_array_size(array), kept = rank < TENSOR_SIZES_KEPT ? rank : TENSOR_SIZES_KEPT;
    int64_t *sizes = ARENA_ARRAY(reader->arena, int64_t, kept);
    tensor->rank = (int)rank;
    tensor->shape = sizes;
    return read_numbers(reader, "shape", array, sizes, kept);
}

static bool read_offsets(struct reader *reader, json_t *array, struct tensor *tensor)
{
    int64_t offsets[2];
    if (json_array_size(array) != 2)
        return FAIL(reader, "'data_offsets' of tensor %s are %zu numbers, not 2", name_of(reader),
                    json_array_size(array));
    if (!read_numbers(reader, "data_offsets", array, offsets, 2))
        return false;
    if (offsets[0] > offsets[1])
        return FAIL(reader, "tensor %s ends at byte %" PRId64 ", before it begins at %" PRId64, name_of(reader),
                    offsets[1], offsets[0]);
    if ((uint64_t)offsets[1] > reader->data_bytes)
        return FAIL(reader, "tensor %s ends at byte %" PRId64 " of the data, but the file holds %" PRIu64,
                    name_of(reader), offsets[1], reader->data_bytes);
    tensor->data = reader->data + offsets[0];
    tensor->bytes = (size_t)(offsets[1] - offsets[0]);
    return true;
}

static bool check_size(struct reader *reader, json_t *shape, unsigned bits, size_t bytes)
{
    uint64_t size = 1;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        if (!CHECKED_MUL(size, (uint64_t)json_integer_value(json_array_get(shape, i)), &size))
            return FAIL(reader, "the shape of tensor %s has more elements than 64 bits can count", name_of(reader));
    }
    if (!CHECKED_MUL(size, bits, &size))
        return FAIL(reader, "tensor %s has more bits than 64 bits can count", name_of(reader));
    if (size % 8)
        return FAIL(reader, "tensor %s does not end at a whole byte", name_of(reader));
    if (size / 8 != bytes)
        return FAIL(reader, "tensor %s needs %" PRIu64 " bytes, but its offsets span %zu", name_of(reader), size / 8,
                    bytes);
    return true;
}

static bool read_tensor(struct reader *reader, json_t *entry)
{
    struct tensor tensor = {.name = reader->name};
    unsigned bits;
    if (!check_fields(reader, entry))
        return false;
    json_t *shape = json_object_get(entry, "shape");
    if (!read_dtype(reader, json_string_value(json_object_get(entry, "dtype")), &tensor, &bits) ||
        !read_shape(reader, shape, &tensor) ||
        !read_offsets(reader, json_object_get(entry, "data_offsets"), &tensor) ||
        !check_size(reader, shape, bits, tensor.bytes))
        return false;
    tensor.name = arena_copy(reader->arena, reader->name, strlen(reader->name));
    reader->tensors[reader->count++] = tensor;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct tensor *first = a, *second = b;
    if (first->data != second->data)
        return first->data < second->data ? -1 : 1;
    if (first->bytes != second->bytes)
        return first->bytes < second->bytes ? -1 : 1;
    return strcmp(first->name, second->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* Each byte of the data belongs to one tensor. */
static bool check_coverage(struct reader *reader)
{
    const unsigned char *end = reader->data;
    if (reader->count)
        qsort(reader->tensors, reader->count, sizeof *reader->tensors, by_place);
    for (size_t i = 0; i < reader->count; i++) {
        const struct tensor *tensor = &reader->tensors[i];
        if (tensor->data < end)
            return FAIL(reader, "tensors %s and %s overlap", quote(reader->arena, tensor[-1].name),
                        quote(reader->arena, tensor->name));
        if (tensor->data > end)
            return FAIL(reader, "%td bytes in front of tensor %s belong to no tensor", tensor->data - end,
                        quote(reader->arena, tensor->name));
        end += tensor->bytes;
    }
    if (end != reader->data + reader->data_bytes)
        return FAIL(reader, "%td bytes at its end belong to no tensor", reader->data + reader->data_bytes - end);
    return true;
}

/* Strings, which are not kept. They may have any length, unlike anything in their place. */
static void check_metadata(struct reader *reader, struct json_members *header)
{
    struct json_members metadata;
    const char *key;
    if (json_members_value_begins(header) != '{') {
        json_decref(json_members_value(header, JSON_PART_MAX));
        if (!reader->message)
            (void)FAIL(reader, "'__metadata__' is not an object");
        return;
    }
    json_members_begin(&metadata, header->text);
    while ((key = json_members_next(&metadata))) {
        const bool string = json_members_value_begins(&metadata) == '"';
        if (!string && !reader->message)
            (void)FAIL(reader, "%s in '__metadata__' is not a string", quote(reader->arena, key));
        json_decref(json_members_value(&metadata, string ? SIZE_MAX : JSON_PART_MAX));
    }
}

/* After a mistake in what the header says, the rest must only be JSON. */
static void read_member(struct reader *reader, struct json_members *header, const char *key)
{
    if (!strcmp(key, "__metadata__")) {
        check_metadata(reader, header);
        return;
    }
    json_t *entry = json_members_value(header, JSON_PART_MAX);
    reader->name = key;
    if (entry && !reader->message)
        read_tensor(reader, entry);
    json_decref(entry);
}

/* The parser may pass over a NUL byte, and then counts one byte too few. */
static bool check_no_nul(struct reader *reader)
{
    const unsigned char *nul = memchr(reader->header, '\0', reader->header_bytes);
    return !nul || FAIL(reader, "its header is not good JSON: byte %td is a NUL", nul - reader->header + 1);
}

static bool read_header(struct reader *reader)
{
    struct json_text text = {
        .arena = reader->arena,
        .bytes = (const char *)reader->header,
        .length = reader->header_bytes,
    };
    struct json_members members;
    const char *key;
    if (!check_no_nul(reader))
        return false;
    reader->tensors = ARENA_ARRAY(reader->arena, struct tensor, reader->header_bytes / ENTRY_MIN);
    json_members_begin(&members, &text);
    while ((key = json_members_next(&members)))
        read_member(reader, &members, key);
    json_text_end(&text);
    if (text.message)
        reader->message = text.message;
    if (reader->message || !check_coverage(reader))
        return false;
    if (reader->count)
        qsort(reader->tensors, reader->count, sizeof *reader->tensors, by_name);
    return true;
}

/* NULL, or why it cannot be. */
static const char *map_file(const char *path, struct safetensors *file)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return strerror(errno);
    const char *message = file_map(descriptor, &file->map, &file->map_bytes);
    close(descriptor);
    return message;
}

enum safetensors_result safetensors_open(struct arena *arena, const char *path, struct safetensors *file,
                                         const char **message)
{
    struct reader reader = {.arena = arena};
    *file = (struct safetensors){0};
    const char *unreadable = map_file(path, file);
    if (unreadable) {
        *message = arena_copy(arena, unreadable, strlen(unreadable));
        return SAFETENSORS_UNREADABLE;
    }
    if (find_header(&reader, file->map, file->map_bytes) && read_header(&reader)) {
        file->tensors = reader.tensors;
        file->count = reader.count;
        return SAFETENSORS_OK;
    }
    *message = reader.message;
    safetensors_close(file);
    return SAFETENSORS_BROKEN;
}

void safetensors_close(struct safetensors *file)
{
    file_unmap(file->map, file->map_bytes);
    *file = (struct safetensors){0};
}

const struct tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    const struct tensor key = {.name = name};
    if (!file->count)
        return NULL;
    return bsearch(&key, file->tensors, file->count, sizeof key, by_name);
}
