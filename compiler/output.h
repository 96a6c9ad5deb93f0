/* Output files: rendered in memory, written aside, and put in place together at the end, so that after an error no
 * new file exists and no old one is damaged. */
#ifndef MLPC_OUTPUT_H
#define MLPC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "diag.h"

/* How a file came to its place: where nothing was; for another, which stands aside until all are in their places; or,
 * in a file system that cannot exchange two names, over another, which is gone. */
enum placed { PLACED_NOT, PLACED_NEW, PLACED_FOR_ANOTHER, PLACED_OVER };

struct output_file {
    const char *path;
    const void *bytes;
    size_t size;
    const char *aside;              /* where it stands until it is committed, and then what was there before */
    enum placed placed;
    bool direct;                    /* it is no regular file: written to in its place */
    int fd;                         /* then, while it is open; else -1 */
};

struct outputs {
    struct arena *arena;
    struct diags *diags;            /* where failures are recorded; NULL: standard error */
    VEC(struct output_file) files;
};

void outputs_add(struct outputs *outputs, const char *path, const void *bytes, size_t size);
/* A file that a tool has made aside already: it is put in the place of `path`, or removed. */
void outputs_add_made(struct outputs *outputs, const char *path, const char *aside);
/* A name beside `path` that nobody has; NULL after a message. */
const char *output_aside(const struct outputs *outputs, const char *path);
/* Brings there what a tool has made elsewhere; false after a message. */
bool output_take(const struct outputs *outputs, const char *made, const char *aside, const char *path);

/* All of them or none; a device or a pipe is written to, not replaced, and a symbolic link is followed. False after a
 * message that names the file. */
bool outputs_commit(struct outputs *outputs);
/* Removes what was made aside. */
void outputs_discard(struct outputs *outputs);

/* The name of a file, behind the folders of its path. */
const char *path_name(const char *path);

/* Whether the output `path` would take the place of what is read from `input` ("-": standard input). */
bool output_is_input(const char *path, const char *input);
/* Whether two outputs, which need not exist, have one place. */
bool output_same_place(struct arena *arena, const char *a, const char *b);

/* Makes a folder, and those above it, where there are none; false after a message. */
bool output_folder(const struct outputs *outputs, const char *path);

/* Whether all that was printed on standard output has arrived there; false after a message. */
bool output_printed(struct diags *diags);

/* Reads a whole file ("-": standard input) of up to 256 MiB; NULL after a message. A NUL follows the last byte. */
char *input_read(struct arena *arena, struct diags *diags, const char *path, size_t *length);

#endif
