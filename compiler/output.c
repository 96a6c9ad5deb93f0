#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(const char *what, const char *path)
{
    fprintf(stderr, "mlpc: error: cannot %s '%s': %s\n", what, path, strerror(errno));
    return false;
}

void outputs_add(struct outputs *outputs, const char *path, const void *bytes, size_t size)
{
    struct output_file file = {.path = path, .bytes = bytes, .size = size};
    VEC_PUSH(outputs->arena, &outputs->files, file);
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* What mkstemp leaves is for the owner alone; an output has the mode that open would have given it. */
static bool set_usual_mode(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

static bool write_aside(struct arena *arena, struct output_file *file)
{
    char *aside = arena_format(arena, "%s.XXXXXX", file->path);
    int fd = mkstemp(aside);
    if (fd < 0)
        return failed("write", file->path);
    file->aside = aside;
    bool written = write_all(fd, file->bytes, file->size) && set_usual_mode(fd);
    int error = errno;
    if (close(fd) && written) {
        written = false;
        error = errno;
    }
    errno = error;
    return written || failed("write", file->path);
}

static void remove_asides(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->files.count; i++) {
        if (outputs->files.at[i].aside)
            unlink(outputs->files.at[i].aside);
    }
}

/* A folder in the way is found before anything is renamed, so that all files change or none. */
static bool is_in_the_way(const char *path)
{
    struct stat info;
    if (lstat(path, &info) || !S_ISDIR(info.st_mode))
        return false;
    errno = EISDIR;
    return true;
}

bool outputs_commit(struct outputs *outputs)
{
    bool good = true;
    for (size_t i = 0; good && i < outputs->files.count; i++) {
        struct output_file *file = &outputs->files.at[i];
        good = is_in_the_way(file->path) ? failed("write", file->path) : write_aside(outputs->arena, file);
    }
    for (size_t i = 0; good && i < outputs->files.count; i++) {
        struct output_file *file = &outputs->files.at[i];
        if (rename(file->aside, file->path))
            good = failed("write", file->path);
        else
            file->aside = NULL;
    }
    remove_asides(outputs);
    return good;
}

bool output_folder(struct arena *arena, const char *path)
{
    char *copy = arena_copy(arena, path, strlen(path));
    for (char *c = copy + 1; *copy; c++) {
        char end = *c;
        if (end && end != '/')
            continue;
        *c = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST)
            return failed("make the folder", copy);
        if (!end)
            break;
        *c = '/';
    }
    struct stat info;
    if (stat(path, &info))
        return failed("make the folder", path);
    errno = ENOTDIR;
    return S_ISDIR(info.st_mode) || failed("write into", path);
}

char *input_read(struct arena *arena, const char *path, size_t *length)
{
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    VEC(char) text = {0};
    ssize_t got = -1;
    if (fd < 0) {
        failed("read", path);
        return NULL;
    }
    do {
        if (text.capacity - text.count < 4096) {
            text.capacity = 2 * text.capacity + 65536;
            text.at = arena_grow(arena, text.at, text.count, text.capacity, 1);
        }
        got = read(fd, text.at + text.count, text.capacity - text.count - 1);
        text.count += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        failed("read", path);
    if (!standard)
        close(fd);
    *length = text.count;
    text.at[text.count] = '\0';
    return got < 0 ? NULL : text.at;
}
