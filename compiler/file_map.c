#include "file_map.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "leftovers.h"

static void cut_short(int number, siginfo_t *info, void *context)
{
    static const char text[] = "mlpc: error: a file became shorter while it was read\n";
    (void)number;
    (void)context;
    if (info->si_code != BUS_ADRERR)
        return;                     /* a mistake of ours, which happens again, with its usual effect: SA_RESETHAND */
    leftovers_remove();
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(EXIT_ENVIRONMENT);
}

static void watch(void)
{
    const struct sigaction ours = {.sa_sigaction = cut_short, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaction(SIGBUS, &ours, NULL);
}

const char *file_map(int descriptor, void **map, size_t *size)
{
    struct stat status;
    *map = NULL;
    if (fstat(descriptor, &status))
        return strerror(errno);
    if (S_ISDIR(status.st_mode))
        return strerror(EISDIR);
    if (!S_ISREG(status.st_mode))
        return "Not a regular file";
    if (!CHECKED_ADD(status.st_size, 0, size))
        return strerror(EFBIG);
    if (!*size)
        return NULL;
    watch();
    void *bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return strerror(errno);
    *map = bytes;
    return NULL;
}

void file_unmap(void *map, size_t size)
{
    if (map)
        munmap(map, size);
}
