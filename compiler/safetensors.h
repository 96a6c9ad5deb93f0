/* The safetensors format, read to its letter: 8 bytes of header length, a JSON object, then the data, which the
 * tensors cover without hole or overlap. */
#ifndef MLPC_SAFETENSORS_H
#define MLPC_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* What is kept of a shape: more than networks read. A header can claim tens of thousands of sizes a tensor. */
enum { TENSOR_SIZES_KEPT = 8 };

struct tensor {
    const char *name;
    const char *dtype;              /* "F32", "BF16", ... as the file says */
    int rank;
    const int64_t *shape;           /* the first TENSOR_SIZES_KEPT of it */
    const unsigned char *data;      /* may be at any alignment */
    size_t bytes;
};

struct safetensors {
    const struct tensor *tensors;   /* sorted by name */
    size_t count;
    void *map;                      /* the file, mapped */
    size_t map_bytes;
};

enum safetensors_result {
    SAFETENSORS_OK,
    SAFETENSORS_UNREADABLE,         /* the environment: it cannot be opened or read */
    SAFETENSORS_BROKEN,             /* the content is not a safetensors file */
};

/* *message says what is wrong, without the path; it lives in the arena. */
enum safetensors_result safetensors_open(struct arena *arena, const char *path, struct safetensors *file,
                                         const char **message);
void safetensors_close(struct safetensors *file);
/* NULL where there is none. */
const struct tensor *safetensors_find(const struct safetensors *file, const char *name);

#endif
