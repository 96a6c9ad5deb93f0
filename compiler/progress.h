/* What takes long, in one line on standard error where that is a terminal: written over each time, gone at the end.
 * Elsewhere, and in the first half second, nothing is said. */
#ifndef MLPC_PROGRESS_H
#define MLPC_PROGRESS_H

#include <stdbool.h>

struct progress {
    double started, shown;          /* seconds */
    bool terminal, visible;
};

void progress_begin(struct progress *progress);

/* Often enough is good enough: what comes within a tenth of a second of the last line is left out. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

void progress_end(struct progress *progress);

#endif
