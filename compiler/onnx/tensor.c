#include "tensor.h"

#include <math.h>
#include <string.h>

#include "../bytes.h"
#include "../convert.h"
#include "../quote.h"
#include "external.h"
#include "onnx.pb-c.h"

size_t element_size(enum element type)
{
    switch (type) {
    case ELEMENT_U8:
    case ELEMENT_I8:
    case ELEMENT_BOOL:
        return 1;
    case ELEMENT_U16:
    case ELEMENT_I16:
    case ELEMENT_F16:
    case ELEMENT_BF16:
        return 2;
    case ELEMENT_F32:
    case ELEMENT_I32:
    case ELEMENT_U32:
        return 4;
    case ELEMENT_I64:
    case ELEMENT_F64:
    case ELEMENT_U64:
        return 8;
    case ELEMENT_STRING:
        break;
    }
    return 0;
}

struct reading {
    struct model *model;
    const struct onnx_node *node;
    const Onnx__TensorProto *proto;
    struct constant *constant;
};

static bool refuse(const struct reading *reading, const char *reason)
{
    const char *name = reading->constant->name;
    return model_refuse(reading->model, reading->node, "tensor %s %s", quote(reading->model->arena, name), reason);
}

static bool read_shape(struct reading *reading)
{
    struct constant *constant = reading->constant;
    const Onnx__TensorProto *proto = reading->proto;
    if (proto->n_dims > RANK_MAX)
        return refuse(reading, "has more than 8 dimensions");
    constant->shape.rank = (int)proto->n_dims;
    for (size_t i = 0; i < proto->n_dims; i++) {
        constant->shape.dims[i] = proto->dims[i];
        if (proto->dims[i] < 0)
            return refuse(reading, "has a negative size");
    }
    size_t bytes;
    if (!shape_count(&constant->shape, &constant->count) || !CHECKED_MUL(constant->count, (size_t)8, &bytes))
        return refuse(reading, "has more elements than can be counted");
    return true;
}

const unsigned char *tensor_raw_32(struct arena *arena, const void *list, size_t count, size_t size)
{
    unsigned char *bytes = arena_array(arena, count, size);
    for (size_t i = 0; i < count; i++) {
        uint32_t element;
        memcpy(&element, (const char *)list + i * sizeof element, sizeof element);
        bytes_store(bytes + i * size, element, size);
    }
    return bytes;
}

static const unsigned char *raw_64(struct arena *arena, const void *list, size_t count, size_t size)
{
    unsigned char *bytes = arena_array(arena, count, size);
    for (size_t i = 0; i < count; i++) {
        uint64_t element;
        memcpy(&element, (const char *)list + i * sizeof element, sizeof element);
        bytes_store(bytes + i * size, element, size);
    }
    return bytes;
}

/* The list that holds elements of this type. */
static bool read_typed(struct reading *reading)
{
    struct constant *constant = reading->constant;
    const Onnx__TensorProto *proto = reading->proto;
    struct arena *arena = reading->model->arena;
    size_t count = 0, size = element_size(constant->type);
    switch (constant->type) {
    case ELEMENT_F32:
        count = proto->n_float_data;
        constant->bytes = tensor_raw_32(arena, proto->float_data, count, size);
        break;
    case ELEMENT_F64:
        count = proto->n_double_data;
        constant->bytes = raw_64(arena, proto->double_data, count, size);
        break;
    case ELEMENT_I64:
        count = proto->n_int64_data;
        constant->bytes = raw_64(arena, proto->int64_data, count, size);
        break;
    case ELEMENT_U64:
    case ELEMENT_U32:
        count = proto->n_uint64_data;
        constant->bytes = raw_64(arena, proto->uint64_data, count, size);
        break;
    default:
        count = proto->n_int32_data;
        constant->bytes = tensor_raw_32(arena, proto->int32_data, count, size);
        break;
    }
    return count == constant->count || refuse(reading, "holds another number of elements than its shape says");
}

static bool read_data(struct reading *reading)
{
    struct constant *constant = reading->constant;
    const Onnx__TensorProto *proto = reading->proto;
    size_t bytes = constant->count * element_size(constant->type);
    bool typed = proto->n_float_data || proto->n_int32_data || proto->n_int64_data || proto->n_double_data ||
                 proto->n_uint64_data || proto->n_string_data;
    if (proto->segment)
        return refuse(reading, "is one of several segments");
    if (proto->has_data_location && proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        const char *reason = "has its data in two places";
        if (!proto->has_raw_data && !typed)
            constant->bytes = external_data(reading->model, proto, bytes, &reason);
        return constant->bytes || refuse(reading, reason);
    }
    if (!proto->has_raw_data)
        return read_typed(reading);
    constant->bytes = proto->raw_data.data;
    if (typed)
        return refuse(reading, "has its data in two places");
    return proto->raw_data.len == bytes || refuse(reading, "holds another number of bytes than its shape says");
}

struct constant *tensor_load(struct model *model, const struct onnx_node *node, const struct Onnx__TensorProto *proto)
{
    struct constant *constant = ARENA_NEW(model->arena, struct constant);
    struct reading reading = {model, node, proto, constant};
    constant->name = proto->name ? proto->name : "";
    constant->type = proto->has_data_type ? (enum element)proto->data_type : 0;
    if (!read_shape(&reading))
        return NULL;
    if (constant->type != ELEMENT_STRING && !element_size(constant->type)) {
        refuse(&reading, "has a type of numbers that mlpc does not know");
        return NULL;
    }
    return constant->type == ELEMENT_STRING || read_data(&reading) ? constant : NULL;
}

struct constant *tensor_new(struct model *model, const char *name, enum element type, const struct shape *shape)
{
    size_t count, bytes;
    if (!shape_count(shape, &count) || !CHECKED_MUL(count, sizeof(double), &bytes) || bytes > model->budget)
        return NULL;
    model->budget -= bytes;
    struct constant *constant = ARENA_NEW(model->arena, struct constant);
    *constant = (struct constant){.name = name, .type = type, .shape = *shape, .count = count};
    constant->numbers = ARENA_ARRAY(model->arena, double, count);
    return constant;
}

static double integer_at(const unsigned char *at, enum element type)
{
    const uint64_t bits = bytes_load(at, element_size(type));
    switch (type) {
    case ELEMENT_I8:
        return (double)(int8_t)bits;
    case ELEMENT_I16:
        return (double)(int16_t)bits;
    case ELEMENT_I32:
        return (double)(int32_t)bits;
    case ELEMENT_I64:
        return (double)(int64_t)bits;
    default:
        return type == ELEMENT_BOOL ? bits != 0 : (double)bits;
    }
}

static bool stored_as(enum element type, enum stored *stored)
{
    switch (type) {
    case ELEMENT_F32:
        *stored = STORED_F32;
        return true;
    case ELEMENT_F64:
        *stored = STORED_F64;
        return true;
    case ELEMENT_F16:
        *stored = STORED_F16;
        return true;
    case ELEMENT_BF16:
        *stored = STORED_BF16;
        return true;
    default:
        return false;
    }
}

const double *tensor_numbers(struct arena *arena, struct constant *constant)
{
    enum stored stored;
    size_t size = element_size(constant->type);
    if (!constant->numbers && constant->origin)
        constant->numbers = (double *)(uintptr_t)tensor_numbers(arena, constant->origin);
    if (constant->numbers)
        return constant->numbers;
    constant->numbers = ARENA_ARRAY(arena, double, constant->count);
    if (stored_as(constant->type, &stored)) {
        convert_load(constant->numbers, constant->bytes, constant->count, stored);
    } else {
        for (size_t i = 0; i < constant->count && size; i++)
            constant->numbers[i] = integer_at(constant->bytes + i * size, constant->type);
    }
    return constant->numbers;
}

int64_t tensor_integer(double number)
{
    if (number >= 0x1p63)
        return INT64_MAX;
    return number > -0x1p63 ? (int64_t)number : INT64_MIN;
}
