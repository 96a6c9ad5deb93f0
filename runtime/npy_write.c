/* Writing .npy files, version 1.0. A file is written whole under another name in the same folder, checked to its last
 * byte, and only then renamed: a full disk leaves the old file as it was. What is no regular file (a pipe, /dev/null)
 * cannot be renamed over and is written to directly. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "element.h"

static mlp_npy_result failed(mlp_npy_output *output)
{
    snprintf(output->error, sizeof output->error, "%s", strerror(errno));
    return MLP_NPY_FAILED;
}

/* Text of `size` bytes, a multiple of 64, the first 10 of them magic, version and length. */
static size_t header_text(char text[192], mlp_dtype dtype, size_t rows, size_t width)
{
    static const char *const types[] = {[MLP_F32] = "<f4", [MLP_TF32] = "<f4", [MLP_F16] = "<f2", [MLP_BF16] = "<V2"};
    int length = snprintf(text + 10, 192 - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                          types[dtype], rows, width);
    size_t used = 10 + (size_t)length, size = (used + 1 + 63) / 64 * 64;
    memset(text + used, ' ', size - used);
    text[size - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((size - 10) & 0xff);
    text[9] = (char)((size - 10) >> 8);
    return size;
}

static int write_all(int file, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return 0;
        bytes += written;
        size -= (size_t)written;
    }
    return 1;
}

static mlp_npy_result write_array(mlp_npy_output *output, int file, mlp_dtype dtype, size_t rows, size_t width,
                                  const void *data)
{
    char header[192];
    size_t size = header_text(header, dtype, rows, width);
    if (!write_all(file, header, size) || !write_all(file, data, rows * width * mlp_dtype_size(dtype))) {
        failed(output);
        close(file);
        return MLP_NPY_FAILED;
    }
    return close(file) ? failed(output) : MLP_NPY_OK;
}

/* As a new file would have them, or as the old file has them. */
static mode_t permissions(const struct stat *old)
{
    if (old)
        return old->st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A name in the same folder, and the file opened under it. */
static int open_part(mlp_npy_output *output, const struct stat *old)
{
    static const char name[] = ".part-XXXXXX";
    const char *slash = strrchr(output->path, '/');
    size_t folder = slash ? (size_t)(slash - output->path) + 1 : 0;
    output->part = malloc(folder + sizeof name);
    if (!output->part)
        return -1;
    memcpy(output->part, output->path, folder);
    memcpy(output->part + folder, name, sizeof name);
    int file = mkstemp(output->part);
    if (file < 0) {
        free(output->part);
        output->part = NULL;
    } else if (fchmod(file, permissions(old))) {
        close(file);
        return -1;
    }
    return file;
}

mlp_npy_result mlp_npy_stage(mlp_npy_output *output, const char *path, mlp_dtype dtype, size_t rows, size_t width,
                             const void *data)
{
    struct stat info;
    int there = !stat(path, &info), file;
    *output = (mlp_npy_output){.path = there ? realpath(path, NULL) : strdup(path)};
    if (!output->path)
        return failed(output);
    if (there && !S_ISREG(info.st_mode))
        file = open(path, O_WRONLY);
    else
        file = open_part(output, there ? &info : NULL);
    return file < 0 ? failed(output) : write_array(output, file, dtype, rows, width, data);
}

mlp_npy_result mlp_npy_commit(mlp_npy_output *output)
{
    if (output->part && rename(output->part, output->path))
        return failed(output);
    free(output->part);
    output->part = NULL;
    return MLP_NPY_OK;
}

void mlp_npy_discard(mlp_npy_output *output)
{
    if (output->part)
        unlink(output->part);
    free(output->part);
    free(output->path);
    *output = (mlp_npy_output){.path = NULL};
}
