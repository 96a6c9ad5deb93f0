/* Whole numbers in files and in the packed blob: little endian, of `size` bytes, at any alignment. */
#ifndef MLPC_BYTES_H
#define MLPC_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t bytes_load(const unsigned char *from, size_t size)
{
    uint64_t number = 0;
    for (size_t i = size; i-- > 0;)
        number = number << 8 | from[i];
    return number;
}

static inline void bytes_store(unsigned char *to, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)(number >> 8 * i);
}

#endif
