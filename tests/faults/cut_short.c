/* Loaded before the C library's: every file that is mapped to be read becomes shorter at once. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    void *map = (void *)syscall(SYS_mmap, at, size, protection, flags, descriptor, offset);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (descriptor >= 0 && protection == PROT_READ && truncate(path, 0))
        perror(path);
    return map;
}

void *mmap64(void *at, size_t size, int protection, int flags, int descriptor, off_t offset)
    __attribute__((alias("mmap")));
