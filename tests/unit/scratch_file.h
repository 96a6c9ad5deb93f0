/* Files that a unit test writes for itself: a path of its own under /tmp, or $TMPDIR, and a safetensors file made of a
 * header's text and data. */
#ifndef SCRATCH_FILE_H
#define SCRATCH_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scratch_file {
    char path[256];
};

static inline struct scratch_file scratch_write(const void *bytes, size_t count)
{
    struct scratch_file file;
    const char *folder = getenv("TMPDIR");
    snprintf(file.path, sizeof file.path, "%s/mlpc_unit_XXXXXX", folder ? folder : "/tmp");
    int descriptor = mkstemp(file.path);
    if (descriptor < 0 || write(descriptor, bytes, count) != (ssize_t)count || close(descriptor)) {
        perror(file.path);
        abort();
    }
    return file;
}

/* `length` is what the file claims about its header. */
static inline struct scratch_file scratch_safetensors_claiming(uint64_t length, const char *header, const void *data,
                                                               size_t data_bytes)
{
    size_t header_bytes = strlen(header), total = 8 + header_bytes + data_bytes;
    unsigned char *bytes = malloc(total);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, header_bytes);
    if (data_bytes)
        memcpy(bytes + 8 + header_bytes, data, data_bytes);
    struct scratch_file file = scratch_write(bytes, total);
    free(bytes);
    return file;
}

static inline struct scratch_file scratch_safetensors(const char *header, const void *data, size_t data_bytes)
{
    return scratch_safetensors_claiming(strlen(header), header, data, data_bytes);
}

#endif
