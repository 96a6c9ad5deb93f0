/* Makes one call of a kind fail, and counts what the program holds: LD_PRELOAD this, with
 *     FAULT_PROGRAM  the name of the program that is meant (its children are left alone)
 *     FAULT_KIND     memory, open, read, write, close, rename, map, stat, spawn, thread or folder
 *     FAULT_AT       which call of this kind, from 1 on; 0: none
 *     FAULT_SIGNAL   a signal that ends the program there instead, or 0
 *     FAULT_COUNT    a file that gets the number of such calls when the program ends, and what it holds then
 *     FAULT_NO_EXCHANGE   set: as on a file system where two names cannot be exchanged
 * A write that fails has written half of its bytes, as on a disk that is full. Or link it: interpose.h. */
#include "interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *kind;
static long at, calls;
static int signal_number;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

/* ---- What is held ---- */

/* The program's own code: what libraries keep, such as the buffers of stdio, is theirs. */
static uintptr_t code_begins, code_ends;

static int find_code(struct dl_phdr_info *program, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        code_begins = program->dlpi_addr + part->p_vaddr;
        code_ends = code_begins + part->p_memsz;
    }
    return 1;                       /* the program is the first */
}

enum { BLOCKS = 1 << 18 };

/* Open addressing; 1 stands where a block was. */
static uintptr_t blocks[BLOCKS];
static long block_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t *place_of(uintptr_t block, uintptr_t empty)
{
    size_t place = block / 16 * 0x9e3779b1u % BLOCKS, steps = 0;
    while (blocks[place] != block && blocks[place] && blocks[place] != empty) {
        place = (place + 1) % BLOCKS;
        if (++steps == BLOCKS)
            abort();
    }
    return &blocks[place];
}

static void *taken(void *block, const void *caller)
{
    if (!block || (uintptr_t)caller < code_begins || (uintptr_t)caller >= code_ends)
        return block;
    pthread_mutex_lock(&lock);
    *place_of((uintptr_t)block, 1) = (uintptr_t)block;
    block_count++;
    pthread_mutex_unlock(&lock);
    return block;
}

static void given_back(void *block)
{
    pthread_mutex_lock(&lock);
    uintptr_t *place = place_of((uintptr_t)block, (uintptr_t)block);
    if (block && *place == (uintptr_t)block) {
        *place = 1;
        block_count--;
    }
    pthread_mutex_unlock(&lock);
}

#define CALLER __builtin_return_address(0)

static long entries_of(const char *folder)
{
    long count = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        abort();
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

struct held fault_held(void)
{
    const char *was = kind;
    kind = NULL;
    struct held held = {.blocks = block_count, .threads = entries_of("/proc/self/task") - 2};
    held.files = entries_of("/proc/self/fd") - 3;   /* ., .., and the folder itself */
    held.children = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0;
    kind = was;
    return held;
}

/* ---- Which call ---- */

void fault_arm(const char *which, long number)
{
    kind = which;
    at = number;
    calls = 0;
}

long fault_calls(void)
{
    return calls;
}

static struct held at_first;

static __attribute__((constructor)) void begin(void)
{
    const char *program = getenv("FAULT_PROGRAM"), *number = getenv("FAULT_AT");
    dl_iterate_phdr(find_code, NULL);
    at_first = fault_held();
    if (program && number && !strcmp(program, program_invocation_short_name)) {
        fault_arm(getenv("FAULT_KIND"), atol(number));
        number = getenv("FAULT_SIGNAL");
        signal_number = number ? atoi(number) : 0;
    }
}

static __attribute__((destructor)) void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    char text[128];
    if (!kind || !path)
        return;
    kind = NULL;
    struct held held = fault_held();
    int length = snprintf(text, sizeof text, "%ld %ld %ld %ld\n", calls, held.blocks, held.files - at_first.files,
                          held.children);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || write(file, text, (size_t)length) != length)
        abort();
    close(file);
}

/* gcov's, which a program that was compiled for it writes in a destructor: nothing from there on is the program's own,
 * and neither is the name. */
static int is_profile(const char *path)
{
    const char *end = strrchr(path, '.');
    return end && !strcmp(end, ".gcda");
}

/* Whether this call is the one. */
static int fails(const char *which, int error)
{
    if (!kind || strcmp(kind, which) || ++calls != at)
        return 0;
    if (signal_number)
        raise(signal_number);
    errno = error;
    return 1;
}

/* The function behind ours. dlsym itself may take memory, which then comes from the heap of early birds. */
#define REAL(type, name, ...)                                                                                         \
    static type (*real)(__VA_ARGS__);                                                                                 \
    if (!real)                                                                                                        \
        *(void **)&real = dlsym(RTLD_NEXT, #name)

void *malloc(size_t size)
{
    return fails("memory", ENOMEM) ? NULL : taken(__libc_malloc(size), CALLER);
}

void *calloc(size_t count, size_t size)
{
    return fails("memory", ENOMEM) ? NULL : taken(__libc_calloc(count, size), CALLER);
}

void *realloc(void *block, size_t size)
{
    if (fails("memory", ENOMEM))
        return NULL;
    given_back(block);
    return taken(__libc_realloc(block, size), CALLER);
}

void free(void *block)
{
    given_back(block);
    __libc_free(block);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || fails("memory", ENOMEM))
        return NULL;
    given_back(block);
    return taken(__libc_realloc(block, bytes), CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    REAL(int, posix_memalign, void **, size_t, size_t);
    if (fails("memory", ENOMEM))
        return ENOMEM;
    int error = real(block, alignment, size);
    taken(error ? NULL : *block, CALLER);
    return error;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    REAL(void *, aligned_alloc, size_t, size_t);
    return fails("memory", ENOMEM) ? NULL : taken(real(alignment, size), CALLER);
}

char *strdup(const char *text)
{
    char *copy = fails("memory", ENOMEM) ? NULL : taken(__libc_malloc(strlen(text) + 1), CALLER);
    return copy ? strcpy(copy, text) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = fails("memory", ENOMEM) ? NULL : taken(__libc_malloc(length + 1), CALLER);
    if (!copy)
        return NULL;
    copy[length] = '\0';
    return memcpy(copy, text, length);
}

char *realpath(const char *path, char *resolved)
{
    REAL(char *, realpath, const char *, char *);
    if (!resolved && fails("memory", ENOMEM))
        return NULL;
    char *found = real(path, resolved);
    return resolved ? found : taken(found, CALLER);
}

int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (is_profile(path)) {
        given_back((void *)(uintptr_t)path);
        end();
        kind = NULL;
    }
    return fails("open", EMFILE) ? -1 : real(path, flags, mode);
}

int mkstemp(char *path)
{
    REAL(int, mkstemp, char *);
    return fails("open", EROFS) ? -1 : real(path);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, const char *, const char *);
    return fails("open", EMFILE) ? NULL : real(path, mode);
}

FILE *fdopen(int file, const char *mode)
{
    REAL(FILE *, fdopen, int, const char *);
    return fails("memory", ENOMEM) ? NULL : real(file, mode);
}

ssize_t read(int file, void *to, size_t size)
{
    REAL(ssize_t, read, int, void *, size_t);
    return fails("read", EIO) ? -1 : real(file, to, size);
}

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    REAL(size_t, fread, void *, size_t, size_t, FILE *);
    if (!fails("read", EIO))
        return real(to, size, count, file);
    file->_flags |= 0x20;           /* glibc's mark of an error, which ferror() looks at */
    errno = EIO;
    return 0;
}

ssize_t write(int file, const void *from, size_t size)
{
    REAL(ssize_t, write, int, const void *, size_t);
    if (!fails("write", ENOSPC))
        return real(file, from, size);
    if (size > 1 && real(file, from, size / 2) < 0)
        return -1;
    errno = ENOSPC;
    return -1;
}

int close(int file)
{
    REAL(int, close, int);
    if (!fails("close", EIO))
        return real(file);
    real(file);
    errno = EIO;
    return -1;
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *);
    return fails("rename", EACCES) ? -1 : real(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    REAL(int, renameat2, int, const char *, int, const char *, unsigned);
    if (kind && getenv("FAULT_NO_EXCHANGE")) {
        errno = access(to, F_OK) ? ENOENT : EINVAL;
        return -1;
    }
    return fails("rename", EACCES) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int fchmod(int file, mode_t mode)
{
    REAL(int, fchmod, int, mode_t);
    return fails("stat", EPERM) ? -1 : real(file, mode);
}

int fstat(int file, struct stat *info)
{
    REAL(int, fstat, int, struct stat *);
    return fails("stat", EIO) ? -1 : real(file, info);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t);
    return fails("map", ENOMEM) ? MAP_FAILED : real(address, size, protection, flags, file, offset);
}

int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
    REAL(int, posix_spawnp, pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
         char *const[], char *const[]);
    return fails("spawn", EAGAIN) ? EAGAIN : real(child, file, actions, attributes, argv, environment);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, mkdir, const char *, mode_t);
    return fails("folder", EACCES) ? -1 : real(path, mode);
}

char *mkdtemp(char *path)
{
    REAL(char *, mkdtemp, char *);
    return fails("folder", EACCES) ? NULL : real(path);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return fails("thread", EAGAIN) ? EAGAIN : real(thread, attributes, run, context);
}

int pipe(int ends[2])
{
    REAL(int, pipe, int[2]);
    return fails("open", EMFILE) ? -1 : real(ends);
}

pid_t fork(void)
{
    REAL(pid_t, fork, void);
    return fails("spawn", EAGAIN) ? -1 : real();
}
