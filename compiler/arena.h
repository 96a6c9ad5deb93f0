/* Memory by lifetime. Everything that one compilation makes lives in one arena and is freed with it; nothing is
 * freed singly. Callers never test for NULL: when memory runs out, the arena says so and ends the program with
 * EXIT_ENVIRONMENT, before any output has been touched.
 *
 * Built with -DMLPC_ARENA_PER_OBJECT (as `make asan` does), each object is a malloc of its own, so that address
 * checkers see every overrun. */
#ifndef MLPC_ARENA_H
#define MLPC_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_USER = 1,          /* the user's input is wrong */
    EXIT_COMMAND_LINE = 2,
    EXIT_ENVIRONMENT = 3,   /* a file, the C compiler, the disk, memory */
    EXIT_NO_PLAN = 4,       /* --locked, and a product without a plan */
};

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);

/* Zeroed, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size without wrapping: a product too large is reported as memory that ran out. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* A larger copy of an array of `used` elements; the new part is zeroed. The old array stays where it is. */
void *arena_grow(struct arena *arena, const void *old, size_t used, size_t count, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t length);     /* adds a NUL; NULL has no bytes */
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_format_list(struct arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* For libraries that take memory by themselves (jansson, the scanner, the parser): malloc and realloc, but they end the
 * program as arenas do. What such a library says of its own want of memory can be taken for a fault of the input. */
void *sure_malloc(size_t size);
void *sure_realloc(void *block, size_t size);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_array((arena), (count), sizeof(type)))

/* A growing array is three fields, `at`, `count` and `capacity`, declared by VEC(type). */
#define VEC(type) struct { type *at; size_t count, capacity; }
#define VEC_PUSH(arena, vec, item)                                                                              \
    do {                                                                                                        \
        if ((vec)->count == (vec)->capacity) {                                                                  \
            (vec)->capacity = (vec)->capacity ? 2 * (vec)->capacity : 8;                                        \
            (vec)->at = arena_grow((arena), (vec)->at, (vec)->count, (vec)->capacity, sizeof *(vec)->at);       \
        }                                                                                                       \
        (vec)->at[(vec)->count++] = (item);                                                                     \
    } while (0)

/* Size arithmetic on numbers that come from the user: false, and *result untouched, where it would wrap. */
#define CHECKED_ADD(a, b, result) (!__builtin_add_overflow((a), (b), (result)))
#define CHECKED_MUL(a, b, result) (!__builtin_mul_overflow((a), (b), (result)))

#endif
