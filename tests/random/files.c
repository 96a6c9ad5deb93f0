/* A network's files: spec, weights and arrays, from no library's writer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

/* ---- Elements ---- */

static size_t type_bytes(enum type type)
{
    return type == F64 ? 8 : type == F16 || type == BF16 ? 2 : 4;
}

/* The bits of a number that the type can hold. */
static uint64_t type_bits(double value, enum type type)
{
    uint64_t bits = 0;
    float single = (float)value;
    int exponent;
    if (type == F64) {
        memcpy(&bits, &value, 8);
    } else if (type == F16) {
        uint64_t sign = signbit(value) ? 0x8000 : 0;
        double size = fabs(value);
        if (isnan(value))
            return sign | 0x7e00;
        if (isinf(value))
            return sign | 0x7c00;
        if (size < 0x1p-14)
            return sign | (uint64_t)(size * 0x1p24);
        frexp(size, &exponent);
        bits = sign | (uint64_t)(exponent + 14) << 10 | (uint64_t)(ldexp(size, 11 - exponent) - 1024);
    } else {
        uint32_t word;
        memcpy(&word, &single, 4);
        bits = type == BF16 ? word >> 16 : word;
    }
    return bits;
}

static void put_number(double value, enum type type, bool big_endian, FILE *to)
{
    uint64_t bits = type_bits(value, type);
    size_t bytes = type_bytes(type);
    for (size_t i = 0; i < bytes; i++)
        fputc((int)(bits >> 8 * (big_endian ? bytes - 1 - i : i) & 0xff), to);
}

static bool close_file(FILE *file)
{
    bool good = !ferror(file);
    return !fclose(file) && good;
}

/* ---- Weights ---- */

static size_t count_of(const struct tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= (size_t)tensor->shape[i];
    return count;
}

static char *json_string(const char *text)
{
    char *result = pool_text("\"");
    for (; *text; text++)
        result = *text == '"' || *text == '\\'        ? pool_text("%s\\%c", result, *text)
                 : (unsigned char)*text < 0x20 ? pool_text("%s\\u%04x", result, *text)
                                               : pool_text("%s%c", result, *text);
    return pool_text("%s\"", result);
}

static const char *json_type(enum type type)
{
    return type == F64 ? "F64" : type == F16 ? "F16" : type == BF16 ? "BF16" : "F32";
}

static bool write_weights(const struct graph *graph, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    char *header = pool_text("{\"__metadata__\":{\"format\":\"pt\"}");
    size_t offset = 0;
    for (int i = 0; i < graph->tensor_count; i++) {
        const struct tensor *tensor = graph->tensors[i];
        size_t end = offset + count_of(tensor) * type_bytes(tensor->type);
        const char *shape = tensor->rank == 2 ? pool_text("%d,%d", tensor->shape[0], tensor->shape[1])
                            : tensor->rank    ? pool_text("%d", tensor->shape[0])
                                              : "";
        header = pool_text("%s,%s:{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", header,
                           json_string(tensor->name), json_type(tensor->type), shape, offset, end);
        offset = end;
    }
    header = pool_text("%s}", header);
    uint64_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), file);
    fputs(header, file);
    for (int i = 0; i < graph->tensor_count; i++) {
        for (size_t j = 0; j < count_of(graph->tensors[i]); j++)
            put_number(graph->tensors[i]->at[j], graph->tensors[i]->type, false, file);
    }
    return close_file(file);
}

/* ---- Arrays ---- */

struct layout {
    enum type type;
    bool fortran, big_endian, flat; /* flat: shape [width], for one row */
    int rows, width;
};

static bool write_npy(const char *path, const double *at, const struct layout *layout)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    char kind[8], header[160];
    if (layout->type == BF16)
        snprintf(kind, sizeof kind, "<V2");
    else
        snprintf(kind, sizeof kind, "%cf%zu", layout->big_endian ? '>' : '<', type_bytes(layout->type));
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (", kind,
                          layout->fortran ? "True" : "False");
    if (layout->flat)
        length += snprintf(header + length, sizeof header - (size_t)length, "%d,), }", layout->width);
    else
        length += snprintf(header + length, sizeof header - (size_t)length, "%d, %d), }", layout->rows, layout->width);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    fprintf(file, "\x93NUMPY%c%c%c%c%-*s\n", 1, 0, padded & 0xff, padded >> 8, padded - 1, header);
    int outer = layout->fortran ? layout->width : layout->rows, inner = layout->fortran ? layout->rows : layout->width;
    for (int i = 0; i < outer; i++) {
        for (int j = 0; j < inner; j++)
            put_number(at[layout->fortran ? j * layout->width + i : i * layout->width + j], layout->type,
                       layout->big_endian && layout->type != BF16, file);
    }
    return close_file(file);
}

struct array_in *draw_inputs(const struct graph *graph)
{
    static const enum type types[] = {F32, F16, BF16, F64};
    const struct network *network = graph->network;
    struct array_in *arrays = pool_take(((size_t)network->input_count + 1) * sizeof *arrays);
    struct rng rng = {rng_hash(network->seed, "inputs")};
    for (int i = 0; i < network->input_count; i++) {
        struct array_in *array = &arrays[i];
        int width = graph->nodes[i].width;
        size_t count = (size_t)network->rows * (size_t)width;
        enum type own = network->inputs[i].type;
        array->stored = rng_chance(&rng, 70) ? own : types[rng_below(&rng, 4)];
        array->fortran = rng_chance(&rng, 15);
        array->big_endian = rng_chance(&rng, 15);
        array->file = pool_take(count * sizeof *array->file);
        array->at = pool_take(count * sizeof *array->at);
        for (size_t j = 0; j < count; j++)
            array->file[j] = type_round(2 * rng_unit(&rng), array->stored);
        if (rng_chance(&rng, 10))                               /* and one that is not a number */
            array->file[rng_below(&rng, (int)count)] = NAN;
        for (size_t j = 0; j < count; j++)
            array->at[j] = type_round(array->file[j], own);
    }
    return arrays;
}

bool write_network(const struct graph *graph, const struct array_in *inputs, const char *folder)
{
    const struct network *network = graph->network;
    FILE *spec = fopen(pool_text("%s/%s.mlp", folder, network->name), "w");
    if (!spec)
        return false;
    print_network(network, spec);
    bool good = close_file(spec) && write_weights(graph, pool_text("%s/%s.safetensors", folder, network->name));
    for (int i = 0; good && i < network->input_count; i++) {
        int width = graph->nodes[i].width;
        struct layout layout = {inputs[i].stored, inputs[i].fortran, inputs[i].big_endian, false, network->rows, width};
        layout.flat = network->rows == 1 && network->seed % 2;
        good = write_npy(pool_text("%s/in_%s.npy", folder, network->inputs[i].name), inputs[i].file, &layout);
    }
    return good;
}

bool write_expected(const struct graph *graph, const struct expected *expected, const char *folder)
{
    bool good = true;
    for (int i = 0; good && i < graph->output_count; i++) {
        const char *name = graph->outputs[i].name;
        struct layout layout = {.type = F64, .rows = graph->network->rows, .width = expected[i].width};
        good = write_npy(pool_text("%s/out_%s.npy", folder, name), expected[i].value, &layout) &&
               write_npy(pool_text("%s/tolerance_%s.npy", folder, name), expected[i].tolerance, &layout);
    }
    return good;
}
