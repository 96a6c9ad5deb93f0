#include "open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

FILE *mlp_open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (fd >= 0 && !file) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return file;
}
