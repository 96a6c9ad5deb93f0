/* Output files: rendered in memory, written aside, and put in place together at the end, so that after an error no
 * new file exists and no old one is damaged. */
#ifndef MLPC_OUTPUT_H
#define MLPC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

struct output_file {
    const char *path;
    const void *bytes;
    size_t size;
    const char *aside;              /* where it stands until it is committed */
};

struct outputs {
    struct arena *arena;
    VEC(struct output_file) files;
};

void outputs_add(struct outputs *outputs, const char *path, const void *bytes, size_t size);

/* All of them or none. False after a message on standard error that names the file. */
bool outputs_commit(struct outputs *outputs);

/* Makes a folder, and those above it, where there are none; false after a message. */
bool output_folder(struct arena *arena, const char *path);

/* Reads a whole file ("-": standard input); NULL after a message. A NUL follows the last byte. */
char *input_read(struct arena *arena, const char *path, size_t *length);

#endif
