/* A qsort, to be loaded before the C library's, that puts equal elements in the opposite of the order in which they
 * came: no order of equals is promised, and C libraries differ in it. */
#include <stddef.h>
#include <stdlib.h>

static void exchange(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char *at = base;
    for (size_t sorted = 1; sorted < count; sorted++) {
        for (size_t i = sorted; i > 0 && compare(at + (i - 1) * size, at + i * size) >= 0; i--)
            exchange(at + (i - 1) * size, at + i * size, size);
    }
}
