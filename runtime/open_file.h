/* Opening a file to read. Unlike fopen it does not wait for the other end of a pipe: callers look at what they got. */
#ifndef MLP_OPEN_FILE_H
#define MLP_OPEN_FILE_H

#include <stdio.h>

/* NULL with errno set. */
FILE *mlp_open_file(const char *path);

#endif
