#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow_links.h"
#include "leftovers.h"
#include "utf8.h"

static bool failed(struct diags *diags, const char *what, const char *path)
{
    if (diags)
        diag_environment(diags, NULL, "cannot %s '%s': %s", what, path, strerror(errno));
    else
        utf8_print_line(stderr, "mlpc: error: cannot %s '%s': %s", what, path, strerror(errno));
    return false;
}

bool output_printed(struct diags *diags)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    const char *reason = errno ? strerror(errno) : "an earlier write failed";
    if (diags)
        diag_environment(diags, NULL, "standard output cannot be written: %s", reason);
    else
        utf8_print_line(stderr, "mlpc: error: standard output cannot be written: %s", reason);
    return false;
}

void outputs_add(struct outputs *outputs, const char *path, const void *bytes, size_t size)
{
    struct output_file file = {.path = path, .bytes = bytes, .size = size, .fd = -1};
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

/* What mkstemp leaves is for the owner alone; an output has the mode that open would have given it or left to it. */
static bool set_usual_mode(int fd, const char *path)
{
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, stat(path, &old) ? 0666 & ~mask : old.st_mode & 0777) == 0;
}

const char *output_aside(const struct outputs *outputs, const char *path)
{
    char *aside = leftover(arena_format(outputs->arena, "%s.XXXXXX", path));
    int fd = mkstemp(aside);
    if (fd < 0) {
        failed(outputs->diags, "write", path);
        return NULL;
    }
    close(fd);
    unlink(aside);                  /* it comes with the mode that the tool gave it */
    return aside;
}

static bool copy(int from, int to)
{
    static char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || !write_all(to, bytes, (size_t)got))
            return false;
    }
    struct stat info;
    return !fstat(from, &info) && !fchmod(to, info.st_mode & 0777);
}

/* To another file system. */
static bool copy_file(const char *from, const char *to)
{
    const int source = open(from, O_RDONLY | O_CLOEXEC);
    const int copied = source < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = copied >= 0 && copy(source, copied);
    int error = errno;
    if (copied >= 0 && close(copied) && good) {
        good = false;
        error = errno;
    }
    if (source >= 0)
        close(source);
    errno = error;
    return good;
}

bool output_take(const struct outputs *outputs, const char *made, const char *aside, const char *path)
{
    return !rename(made, aside) || (errno == EXDEV && copy_file(made, aside)) || failed(outputs->diags, "write", path);
}

void outputs_add_made(struct outputs *outputs, const char *path, const char *aside)
{
    struct output_file file = {.path = path, .aside = aside, .fd = -1};
    VEC_PUSH(outputs->arena, &outputs->files, file);
}

static bool write_and_close(const struct outputs *outputs, int fd, const struct output_file *file, bool regular)
{
    bool written = write_all(fd, file->bytes, file->size) && (!regular || set_usual_mode(fd, file->path));
    int error = errno;
    if (close(fd) && written) {
        written = false;
        error = errno;
    }
    errno = error;
    return written || failed(outputs->diags, "write", file->path);
}

static bool write_aside(const struct outputs *outputs, struct output_file *file)
{
    char *aside = leftover(arena_format(outputs->arena, "%s.XXXXXX", file->path));
    int fd = mkstemp(aside);
    if (fd < 0)
        return failed(outputs->diags, "write", file->path);
    file->aside = aside;
    return write_and_close(outputs, fd, file, true);
}

/* Writes aside what can be, and opens what cannot; a folder in the way, or a device in the place of a program, is found
 * here, before anything has changed. */
static bool prepare(const struct outputs *outputs, struct output_file *file)
{
    struct stat info;
    char *place = mlp_follow_links(file->path);
    if (!place)
        return failed(outputs->diags, "write", file->path);
    file->path = arena_copy(outputs->arena, place, strlen(place));
    free(place);
    bool exists = !stat(file->path, &info);
    file->direct = exists && !S_ISREG(info.st_mode);
    errno = exists && S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
    if (file->direct && (S_ISDIR(info.st_mode) || file->aside))
        return failed(outputs->diags, "write", file->path);
    if (file->direct && (file->fd = open(file->path, O_WRONLY | O_CLOEXEC)) < 0)
        return failed(outputs->diags, "write", file->path);
    return file->direct || file->aside || write_aside(outputs, file);
}

/* Into a device or a pipe, before any file is in its place: what is written there cannot be taken back. */
static bool write_direct(const struct outputs *outputs, struct output_file *file)
{
    const int fd = file->fd;
    file->fd = -1;
    return write_and_close(outputs, fd, file, false);
}

static bool put_in_place(const struct outputs *outputs, struct output_file *file)
{
    if (!renameat2(AT_FDCWD, file->aside, AT_FDCWD, file->path, RENAME_EXCHANGE)) {
        file->placed = PLACED_FOR_ANOTHER;
        return true;
    }
    const bool alone = errno == ENOENT, cannot = errno == EINVAL || errno == ENOSYS;
    if ((!alone && !cannot) || rename(file->aside, file->path))
        return failed(outputs->diags, "write", file->path);
    file->placed = alone ? PLACED_NEW : PLACED_OVER;
    return true;
}

/* The earlier file comes back, or there is none again. Where it is gone the new one stays: better than none. */
static void take_back(const struct output_file *file)
{
    if (file->placed == PLACED_FOR_ANOTHER)
        renameat2(AT_FDCWD, file->aside, AT_FDCWD, file->path, RENAME_EXCHANGE);
    else if (file->placed == PLACED_NEW)
        unlink(file->path);
}

void outputs_discard(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->files.count; i++) {
        const struct output_file *file = &outputs->files.at[i];
        if (file->aside)
            unlink(file->aside);
        if (file->fd >= 0)
            close(file->fd);
    }
}

bool outputs_commit(struct outputs *outputs)
{
    bool good = true;
    for (size_t i = 0; good && i < outputs->files.count; i++)
        good = prepare(outputs, &outputs->files.at[i]);
    for (size_t i = 0; good && i < outputs->files.count; i++)
        good = !outputs->files.at[i].direct || write_direct(outputs, &outputs->files.at[i]);
    for (size_t i = 0; good && i < outputs->files.count; i++)
        good = outputs->files.at[i].direct || put_in_place(outputs, &outputs->files.at[i]);
    for (size_t i = outputs->files.count; !good && i-- > 0;)
        take_back(&outputs->files.at[i]);
    outputs_discard(outputs);
    return good;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool output_is_input(const char *path, const char *input)
{
    struct stat there, read;
    if (stat(path, &there) || !S_ISREG(there.st_mode) || (strcmp(input, "-") ? stat(input, &read) : fstat(0, &read)))
        return false;
    return is_same(&there, &read);
}

static bool is_same_folder(struct arena *arena, const char *a, size_t a_length, const char *b, size_t b_length)
{
    struct stat first, second;
    return !stat(a_length ? arena_copy(arena, a, a_length) : ".", &first) &&
           !stat(b_length ? arena_copy(arena, b, b_length) : ".", &second) && is_same(&first, &second);
}

bool output_same_place(struct arena *arena, const char *a, const char *b)
{
    const char *a_name = path_name(a), *b_name = path_name(b);
    return !strcmp(a_name, b_name) && is_same_folder(arena, a, (size_t)(a_name - a), b, (size_t)(b_name - b));
}

bool output_folder(const struct outputs *outputs, const char *path)
{
    char *copy = arena_copy(outputs->arena, path, strlen(path));
    for (char *c = copy + 1; *copy; c++) {
        char end = *c;
        if (end && end != '/')
            continue;
        *c = '\0';
        if (!mkdir(copy, 0777))
            leftover(copy);         /* goes again unless something comes into it */
        else if (errno != EEXIST)
            return failed(outputs->diags, "make the folder", copy);
        if (!end)
            break;
        *c = '/';
    }
    struct stat info;
    if (stat(path, &info))
        return failed(outputs->diags, "make the folder", path);
    errno = ENOTDIR;
    return S_ISDIR(info.st_mode) || failed(outputs->diags, "write into", path);
}

/* A device may have no end. */
static const size_t most_input = 256 << 20;

char *input_read(struct arena *arena, struct diags *diags, const char *path, size_t *length)
{
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    VEC(char) text = {0};
    ssize_t got = -1;
    if (fd < 0) {
        failed(diags, "read", path);
        return NULL;
    }
    do {
        if (text.capacity - text.count < 4096) {
            text.capacity = 2 * text.capacity + 65536;
            text.at = arena_grow(arena, text.at, text.count, text.capacity, 1);
        }
        got = read(fd, text.at + text.count, text.capacity - text.count - 1);
        text.count += got > 0 ? (size_t)got : 0;
        if (text.count > most_input) {
            got = -1;
            errno = EFBIG;
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        failed(diags, "read", path);
    if (!standard)
        close(fd);
    *length = text.count;
    text.at[text.count] = '\0';
    return got < 0 ? NULL : text.at;
}
