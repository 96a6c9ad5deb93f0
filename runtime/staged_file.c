#include "staged_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow_links.h"

static int failed(mlp_staged_file *file)
{
    snprintf(file->error, sizeof file->error, "%s", strerror(errno));
    return 0;
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
static int open_part(mlp_staged_file *file, const struct stat *old)
{
    static const char name[] = ".part-XXXXXX";
    const char *slash = strrchr(file->path, '/');
    size_t folder = slash ? (size_t)(slash - file->path) + 1 : 0;
    file->part = malloc(folder + sizeof name);
    if (!file->part)
        return -1;
    memcpy(file->part, file->path, folder);
    memcpy(file->part + folder, name, sizeof name);
    int descriptor = mkstemp(file->part);
    if (descriptor < 0) {
        free(file->part);
        file->part = NULL;
    } else if (fchmod(descriptor, permissions(old))) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

int mlp_staged_write(mlp_staged_file *file, const char *path, const void *head, size_t head_size, const void *body,
                     size_t body_size)
{
    struct stat info;
    int there = !stat(path, &info), descriptor;
    *file = (mlp_staged_file){.path = mlp_follow_links(path)};
    if (!file->path)
        return failed(file);
    if (there && !S_ISREG(info.st_mode))
        descriptor = open(path, O_WRONLY);
    else
        descriptor = open_part(file, there ? &info : NULL);
    if (descriptor < 0)
        return failed(file);
    int good = (write_all(descriptor, head, head_size) && write_all(descriptor, body, body_size)) || failed(file);
    return (close(descriptor) == 0 || failed(file)) && good;
}

/* The two files change their names. */
static int exchange(const char *a, const char *b)
{
    return !renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

int mlp_staged_commit(mlp_staged_file *file)
{
    if (!file->part)
        return 1;
    if (exchange(file->part, file->path)) {
        file->placed = MLP_PLACED_FOR_ANOTHER;
        return 1;
    }
    const int alone = errno == ENOENT, cannot = errno == EINVAL || errno == ENOSYS;
    if ((!alone && !cannot) || rename(file->part, file->path))
        return failed(file);
    file->placed = alone ? MLP_PLACED_NEW : MLP_PLACED_OVER;
    return 1;
}

void mlp_staged_undo(mlp_staged_file *file)
{
    if (file->placed == MLP_PLACED_FOR_ANOTHER)
        exchange(file->part, file->path);
    else if (file->placed == MLP_PLACED_NEW)
        unlink(file->path);
    file->placed = MLP_PLACED_NOT;
}

void mlp_staged_discard(mlp_staged_file *file)
{
    if (file->part && (file->placed == MLP_PLACED_NOT || file->placed == MLP_PLACED_FOR_ANOTHER))
        unlink(file->part);
    free(file->part);
    free(file->path);
    *file = (mlp_staged_file){.path = NULL};
}
