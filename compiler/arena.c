/* Chunks in a list, newest first; an object is the next aligned piece of the newest chunk. */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct chunk {
    struct chunk *older;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct arena {
    struct chunk *newest;
};

static _Noreturn void out_of_memory(void)
{
    fputs("mlpc: error: out of memory\n", stderr);
    exit(EXIT_ENVIRONMENT);
}

void *sure_realloc(void *block, size_t size)
{
    void *larger = realloc(block, size ? size : 1);
    if (!larger)
        out_of_memory();
    return larger;
}

void *sure_malloc(size_t size)
{
    return sure_realloc(NULL, size);
}

struct arena *arena_new(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        out_of_memory();
    return arena;
}

void arena_free(struct arena *arena)
{
    for (struct chunk *chunk = arena->newest, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    free(arena);
}

static struct chunk *add_chunk(struct arena *arena, size_t size)
{
    size_t bytes;
    struct chunk *chunk = NULL;
    if (CHECKED_ADD(sizeof *chunk, size, &bytes))
        chunk = calloc(1, bytes);
    if (!chunk)
        out_of_memory();
    chunk->size = size;
    chunk->older = arena->newest;
    arena->newest = chunk;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
#ifdef MLPC_ARENA_PER_OBJECT
    struct chunk *chunk = add_chunk(arena, size);
#else
    struct chunk *chunk = arena->newest;
    if (!chunk || chunk->size - chunk->used < size)
        chunk = add_chunk(arena, size > CHUNK_BYTES ? size : CHUNK_BYTES);
#endif
    void *object = chunk->bytes + chunk->used;
    size_t used;
    if (!CHECKED_ADD(chunk->used, size, &used) || !CHECKED_ADD(used, (size_t)ALIGNMENT - 1, &used))
        out_of_memory();
    used -= used % ALIGNMENT;
    chunk->used = used < chunk->size ? used : chunk->size;
    return object;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!CHECKED_MUL(count, size, &bytes))
        out_of_memory();
    return arena_alloc(arena, bytes);
}

void *arena_grow(struct arena *arena, const void *old, size_t used, size_t count, size_t size)
{
    void *bigger = arena_array(arena, count, size);
    if (used)
        memcpy(bigger, old, used * size);
    return bigger;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_array(arena, length + 1, 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

/* Most texts are short: formatted once, then copied; a longer one is formatted again where it fits. */
char *arena_format_list(struct arena *arena, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    if (length < 0)
        out_of_memory();
    char *text = arena_array(arena, (size_t)length + 1, 1);
    if ((size_t)length < sizeof small)
        memcpy(text, small, (size_t)length);
    else
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_format_list(arena, format, args);
    va_end(args);
    return text;
}
