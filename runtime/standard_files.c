#include "standard_files.h"

#include <fcntl.h>
#include <unistd.h>

void mlp_hold_standard_files(void)
{
    for (int number = 0; number <= STDERR_FILENO; number++) {
        if (fcntl(number, F_GETFD) >= 0)
            continue;
        /* Open for what nobody does there; and who opens /dev/stdout anew is told that nothing arrives. */
        int fd = number == STDIN_FILENO ? open("/dev/null", O_WRONLY) : open("/dev/full", O_RDONLY);
        if (fd < 0)
            fd = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (fd < 0)
            return;
    }
}
