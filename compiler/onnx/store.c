#include "store.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bytes.h"
#include "../convert.h"
#include "../utf8.h"
#include "tensor.h"

struct entry {
    const char *name;
    struct constant *constant;
    const void *data;               /* whose tensor it is */
    struct shape shape;             /* as it is stored */
    bool turned;                    /* against the constant */
    size_t bytes;
    struct entry *next;             /* of the same name in the model */
};

struct store {
    struct model *model;
    bool keep;
    struct map *by_model_name, *taken;
    VEC(struct entry *) entries;
};

struct store *store_new(struct model *model, bool keep)
{
    struct store *store = ARENA_NEW(model->arena, struct store);
    *store = (struct store){.model = model, .keep = keep};
    store->by_model_name = map_new(model->arena);
    store->taken = map_new(model->arena);
    *map_place(store->taken, "__metadata__") = store;
    return store;
}

/* ---- names ---- */

static bool is_utf8(const char *text)
{
    size_t length = strlen(text), bytes = 1;
    uint32_t character;
    for (; length && bytes; text += bytes, length -= bytes)
        bytes = utf8_decode(text, length, &character);
    return bytes;
}

/* A name as JSON and the language can hold it. */
static const char *clean(struct arena *arena, const char *name)
{
    char *copy = arena_copy(arena, name, strlen(name));
    bool valid = is_utf8(copy);
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f || (!valid && (unsigned char)*c >= 0x80))
            *c = '_';
    }
    return *copy ? copy : "tensor";
}

static const char *unique(struct store *store, const char *name)
{
    struct arena *arena = store->model->arena;
    const char *result = clean(arena, name);
    const char *base = result;
    for (int i = 2; map_find(store->taken, result); i++)
        result = arena_format(arena, "%s_%d", base, i);
    *map_place(store->taken, result) = store;
    return result;
}

/* Names that exporters make up: numbers, "onnx::MatMul_12", "/fc/Transpose_output_0". */
static bool is_made_up(const char *name)
{
    return !*name || *name == '/' || !strncmp(name, "onnx::", 6) || !name[strspn(name, "0123456789")] ||
           (!strncmp(name, "val_", 4) && !name[4 + strspn(name + 4, "0123456789")]);
}

/* ---- entries ---- */

static const void *data_of(const struct constant *constant)
{
    if (constant->origin)
        constant = constant->origin;
    return constant->bytes ? (const void *)constant->bytes : constant->numbers;
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static struct entry *find(struct store *store, const struct constant *constant, const struct shape *shape, bool turned)
{
    struct entry *entry = map_find(store->by_model_name, constant->name);
    const void *data = data_of(constant);
    while (entry && (entry->data != data || entry->turned != turned || !same_shape(&entry->shape, shape)))
        entry = entry->next;
    return entry;
}

static const char *add(struct store *store, struct constant *constant, const struct shape *shape, bool turned,
                       const char *better)
{
    struct entry *entry = ARENA_NEW(store->model->arena, struct entry);
    bool improve = better && is_made_up(constant->name) && !map_find(store->taken, better);
    *entry = (struct entry){.constant = constant, .data = data_of(constant), .shape = *shape, .turned = turned};
    entry->bytes = constant->count * element_size(constant->type);
    entry->name = unique(store, improve ? better : constant->name);
    void **first = map_place(store->by_model_name, constant->name);
    entry->next = *first;
    *first = entry;
    VEC_PUSH(store->model->arena, &store->entries, entry);
    return entry->name;
}

const char *store_vector(struct store *store, struct constant *constant)
{
    struct shape shape = {1, {(int64_t)constant->count}};
    const struct entry *entry = find(store, constant, &shape, false);
    return entry ? entry->name : add(store, constant, &shape, false, NULL);
}

const char *store_matrix(struct store *store, struct constant *constant, bool *transposed, const char *better)
{
    struct shape own = constant->shape, turned = {2, {own.dims[1], own.dims[0]}};
    const struct entry *entry = find(store, constant, &own, false);
    if (entry)
        return entry->name;
    entry = find(store, constant, &turned, true);
    if (entry) {
        *transposed = !*transposed;
        return entry->name;
    }
    bool turn = *transposed && !store->keep;
    *transposed = *transposed && store->keep;
    return add(store, constant, turn ? &turned : &own, turn, better);
}

bool store_is_empty(const struct store *store)
{
    return !store->entries.count;
}

/* ---- the file ---- */

static const char *type_text(enum element type)
{
    return type == ELEMENT_F16 ? "F16" : type == ELEMENT_BF16 ? "BF16" : type == ELEMENT_F64 ? "F64" : "F32";
}

static void set_numbers(unsigned char *to, const struct constant *constant)
{
    enum dtype dtype = constant->type == ELEMENT_F16 ? DTYPE_F16 : constant->type == ELEMENT_BF16 ? DTYPE_BF16
                                                                                                  : DTYPE_F32;
    if (constant->type == ELEMENT_F64)
        convert_store_f64(to, constant->numbers, constant->count);
    else
        convert_store(to, constant->numbers, constant->count, dtype);
}

/* In blocks, so that neither side strides through all of its memory for each element. */
static void set_turned(unsigned char *to, const unsigned char *from, const struct shape *shape, size_t size)
{
    const size_t rows = (size_t)shape->dims[0], columns = (size_t)shape->dims[1], block = 32;
    for (size_t at = 0; at < rows; at += block) {
        const size_t end = rows - at < block ? rows : at + block;
        for (size_t j = 0; j < columns; j++) {
            for (size_t i = at; i < end; i++)
                memcpy(to + (i * columns + j) * size, from + (j * rows + i) * size, size);
        }
    }
}

static void set_entry(struct arena *arena, unsigned char *to, const struct entry *entry)
{
    const unsigned char *from = entry->constant->bytes;
    if (!from && !entry->turned) {
        tensor_numbers(arena, entry->constant);
        set_numbers(to, entry->constant);
        return;
    }
    if (!from) {
        unsigned char *straight = arena_array(arena, entry->bytes, 1);
        tensor_numbers(arena, entry->constant);
        set_numbers(straight, entry->constant);
        from = straight;
    }
    if (entry->turned)
        set_turned(to, from, &entry->shape, element_size(entry->constant->type));
    else
        memcpy(to, from, entry->bytes);
}

/* The JSON object that lists the tensors, padded so that the data are aligned. */
static char *header(const struct store *store, size_t *length)
{
    json_t *object = json_object();
    size_t offset = 0;
    for (size_t i = 0; i < store->entries.count; i++) {
        const struct entry *entry = store->entries.at[i];
        json_t *shape = json_array();
        for (int j = 0; j < entry->shape.rank; j++)
            json_array_append_new(shape, json_integer(entry->shape.dims[j]));
        json_object_set_new(object, entry->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_text(entry->constant->type), "shape", shape,
                                      "data_offsets", (json_int_t)offset, (json_int_t)(offset + entry->bytes)));
        offset += entry->bytes;
    }
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (!text)
        return NULL;
    *length = (strlen(text) + 7) / 8 * 8;
    char *padded = arena_format(store->model->arena, "%-*s", (int)*length, text);
    free(text);
    return padded;
}

const void *store_write(struct store *store, size_t *size)
{
    size_t data = 0, length;
    for (size_t i = 0; i < store->entries.count; i++)
        data += store->entries.at[i]->bytes;
    char *head = header(store, &length);
    if (!head || data > store->model->budget) {
        model_refuse(store->model, NULL, "its weights are larger than its own size accounts for");
        return NULL;
    }
    *size = 8 + length + data;
    unsigned char *bytes = arena_array(store->model->arena, *size, 1), *at = bytes + 8 + length;
    bytes_store(bytes, length, 8);
    memcpy(bytes + 8, head, length);
    for (size_t i = 0; i < store->entries.count; i++) {
        set_entry(store->model->arena, at, store->entries.at[i]);
        at += store->entries.at[i]->bytes;
    }
    return bytes;
}
