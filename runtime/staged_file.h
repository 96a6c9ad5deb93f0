/* Writing a file whole or not at all: it is written under another name in the same folder, to its last byte, and only
 * then renamed, so that a full disk leaves the old file as it was. What is no regular file (a pipe, /dev/null) cannot
 * be renamed over and is written to directly. */
#ifndef MLP_STAGED_FILE_H
#define MLP_STAGED_FILE_H

#include <stddef.h>

/* A file in the making: complete on the disk beside its place, under another name. */
/* How a file came to its place: where nothing was; for another, which is `part` now; or, in a file system that cannot
 * exchange two names, over another, which is gone. */
enum mlp_placed { MLP_PLACED_NOT, MLP_PLACED_NEW, MLP_PLACED_FOR_ANOTHER, MLP_PLACED_OVER };

typedef struct mlp_staged_file {
    char *path, *part;              /* part is NULL where path is no regular file and was written to directly */
    enum mlp_placed placed;
    char error[256];
} mlp_staged_file;

/* Writes `head` and then `body`. 0: failed, and `error` says why. Discard it in either case. */
int mlp_staged_write(mlp_staged_file *file, const char *path, const void *head, size_t head_size, const void *body,
                     size_t body_size);
/* Puts it in its place; 0 and `error` as above. */
int mlp_staged_commit(mlp_staged_file *file);
/* Undoes that: what was there before is there again. Where it is gone the new file stays, which is better than none. */
void mlp_staged_undo(mlp_staged_file *file);
/* Removes what was staged and not committed; frees. */
void mlp_staged_discard(mlp_staged_file *file);

#endif
