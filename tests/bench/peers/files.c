#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ALIGNMENT = 64 };

float *peer_floats(size_t count)
{
    size_t bytes = (count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, bytes ? bytes : ALIGNMENT);
}

float *peer_read(const char *path, size_t count)
{
    FILE *file = fopen(path, "rb");
    float *data = file ? peer_floats(count) : NULL;
    if (data && fread(data, sizeof *data, count, file) != count) {
        free(data);
        data = NULL;
    }
    if (file)
        fclose(file);
    return data;
}

int peer_write(const char *path, const float *data, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    size_t written = fwrite(data, sizeof *data, count, file);
    return fclose(file) || written != count ? -1 : 0;
}

double peer_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
