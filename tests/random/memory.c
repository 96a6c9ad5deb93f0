/* What a plan's memory must be, whatever the planner thinks of it: read from `mlpc --dump=memory`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

struct buffer {
    int number, first, last;
    long offset, bytes;
};

enum { MAX_BUFFERS = 1024 };

static long rounded(long bytes, int alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* The lines of values name buffers, one more than once. */
static int read_buffers(const char *dump, struct buffer *buffers)
{
    int count = 0;
    for (const char *line = dump; (line = strchr(line, '\n')) != NULL && !strncmp(++line, "  ", 2);) {
        const char *end = strchrnul(line, '\n'), *at = strstr(line, " buffer=");
        const char *place = strstr(line, " arena offset=");
        struct buffer buffer;
        if (!at || !place || place > end || sscanf(at, " buffer=%d", &buffer.number) != 1 ||
            sscanf(place, " arena offset=%ld bytes=%ld steps=%d..%d", &buffer.offset, &buffer.bytes, &buffer.first,
                   &buffer.last) != 4)
            continue;
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || buffers[i].number == buffer.number;
        if (!known && count < MAX_BUFFERS && buffer.bytes)   /* none: in registers */
            buffers[count++] = buffer;
    }
    return count;
}

static const char *check_buffer(const struct buffer *buffers, int count, int at, long arena, int alignment)
{
    const struct buffer *a = &buffers[at];
    if (a->offset < 0 || a->bytes < 1 || a->offset + a->bytes > arena)
        return pool_text("buffer %d is outside of the arena", a->number);
    if (a->offset % alignment)
        return pool_text("buffer %d is not aligned to %d bytes", a->number, alignment);
    for (int i = 0; i < count; i++) {
        const struct buffer *b = &buffers[i];
        bool together = a->first <= b->last && b->first <= a->last;
        bool overlap = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
        if (i != at && together && overlap)
            return pool_text("buffers %d and %d overlap while both are alive", a->number, b->number);
    }
    return NULL;
}

/* No layout is smaller than what is alive at one step. */
static long least(const struct buffer *buffers, int count, int alignment, bool *chain)
{
    long most = 0;
    for (int i = 0; i < count; i++) {
        long sum = 0;
        int alive = 0;
        for (int j = 0; j < count; j++) {
            if (buffers[j].first <= buffers[i].first && buffers[i].first <= buffers[j].last) {
                sum += rounded(buffers[j].bytes, alignment);
                alive++;
            }
        }
        most = sum > most ? sum : most;
        *chain = *chain && alive <= 2;
    }
    return most;
}

const char *memory_wrong(const char *dump, int alignment, double *waste, bool *chain)
{
    static struct buffer buffers[MAX_BUFFERS];
    long arena;
    const char *wrong = NULL;
    if (sscanf(dump, "arena %ld bytes", &arena) != 1)
        return "--dump=memory does not begin with the arena's size";
    int count = read_buffers(dump, buffers);
    for (int i = 0; !wrong && i < count; i++)
        wrong = check_buffer(buffers, count, i, arena, alignment);
    *chain = true;
    long bound = least(buffers, count, alignment, chain);
    *waste = bound ? (double)arena / (double)bound : 1;
    if (!wrong && *chain && arena != bound)
        wrong = pool_text("a chain's arena has %ld bytes, but never more than %ld are alive", arena, bound);
    return wrong;
}
