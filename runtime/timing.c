/* Time, and its quantiles. */
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double mlp_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void mlp_times_sort(double *times, size_t count)
{
    qsort(times, count, sizeof *times, compare);
}

double mlp_times_quantile(const double *sorted, size_t count, double part)
{
    size_t rank = (size_t)ceil(part * (double)count);
    return sorted[rank ? rank - 1 : 0];
}
