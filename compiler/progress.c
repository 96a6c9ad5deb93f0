#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double patience = 0.5, interval = 0.1;

/* Back to the first column, and the line made empty, as ECMA-48 has it. */
static const char erase[] = "\r\033[K";

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress)
{
    *progress = (struct progress){.started = seconds(), .terminal = isatty(STDERR_FILENO)};
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (!progress->terminal)
        return;
    const double now = seconds();
    if (now - progress->started < patience || now - progress->shown < interval)
        return;
    progress->shown = now;
    progress->visible = true;
    va_list arguments;
    va_start(arguments, format);
    fputs(erase, stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->visible)
        fputs(erase, stderr);
    progress->visible = false;
}
