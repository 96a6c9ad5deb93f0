/* Writes the parameters of the networks in this folder as a safetensors file: make_weights FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weights.h"

typedef float element(int layer, int i, int j);

static float zero(int layer, int i, int j)
{
    (void)layer, (void)i, (void)j;
    return 0;
}

static float identity(int layer, int i, int j)
{
    (void)layer;
    return i == j;
}

static float one(int layer, int i, int j)
{
    (void)layer, (void)i, (void)j;
    return 1;
}

static float rising(int layer, int i, int j)
{
    (void)layer, (void)i;
    return (float)(j + 1);
}

static float weight(int layer, int i, int j)
{
    return (float)trap_weight(layer, i, j);
}

static float bias(int layer, int i, int j)
{
    (void)i;
    return (float)trap_bias(layer, j);
}

/* Row i of the wide layer picks column i mod 8. */
static float pick(int layer, int i, int j)
{
    (void)layer;
    return i % 8 == j;
}

static const struct tensor {
    const char *name;
    int rows, columns;              /* no rows: a vector */
    element *at;
    int layer;
} tensors[] = {
    {"nothing.weight", 8, 8, zero, 0},  {"rising.weight", 8, 8, zero, 0}, {"rising.bias", 0, 8, rising, 0},
    {"one.weight", 8, 8, identity, 0},  {"same.weight", 8, 8, identity, 0}, {"again.weight", 8, 8, identity, 0},
    {"w0.weight", 5, 3, weight, 0},     {"w0.bias", 0, 5, bias, 0},
    {"w1.weight", 7, 5, weight, 1},     {"w1.bias", 0, 7, bias, 1},
    {"w2.weight", 1, 7, weight, 2},     {"w2.bias", 0, 1, bias, 2},
    {"w3.weight", 9, 1, weight, 3},     {"w3.bias", 0, 9, bias, 3},
    {"w4.weight", 3, 9, weight, 4},     {"w4.bias", 0, 3, bias, 4},
    {"s0.weight", 16, 8, weight, 5},    {"s0.bias", 0, 16, bias, 5},
    {"s1.weight", 3, 16, weight, 6},    {"s1.bias", 0, 3, bias, 6},
    {"big.weight", BIG, 8, pick, 0},    {"ones.weight", 1, BIG, one, 0},
};
enum { COUNT = sizeof tensors / sizeof *tensors };

static size_t bytes_of(const struct tensor *tensor)
{
    return sizeof(float) * (size_t)(tensor->rows ? tensor->rows : 1) * (size_t)tensor->columns;
}

static size_t write_header(char *header, size_t room)
{
    size_t length = 0, begin = 0;
    for (int i = 0; i < COUNT; i++) {
        const struct tensor *tensor = &tensors[i];
        char rows[16] = "";
        if (tensor->rows)
            snprintf(rows, sizeof rows, "%d,", tensor->rows);
        length += (size_t)snprintf(header + length, room - length,
                                   "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[%s%d],\"data_offsets\":[%zu,%zu]}",
                                   i ? ',' : '{', tensor->name, rows, tensor->columns, begin, begin + bytes_of(tensor));
        begin += bytes_of(tensor);
    }
    return length + (size_t)snprintf(header + length, room - length, "}");
}

int main(int argc, char **argv)
{
    static char header[8192];
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!file)
        return 2;
    uint64_t length = write_header(header, sizeof header);
    fwrite(&length, sizeof length, 1, file);
    fwrite(header, 1, length, file);
    for (const struct tensor *tensor = tensors; tensor < tensors + COUNT; tensor++) {
        for (int i = 0; i < (tensor->rows ? tensor->rows : 1); i++) {
            for (int j = 0; j < tensor->columns; j++) {
                float number = tensor->at(tensor->layer, i, j);
                fwrite(&number, sizeof number, 1, file);
            }
        }
    }
    return fclose(file) != 0;
}
