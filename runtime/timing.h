/* A monotonic clock, and the order of many measurements. */
#ifndef MLP_TIMING_H
#define MLP_TIMING_H

#include <stddef.h>

double mlp_seconds(void);
void mlp_times_sort(double *times, size_t count);
/* The smallest time that a share of `part` (0.5: the median) of the sorted times does not exceed. */
double mlp_times_quantile(const double *sorted, size_t count, double part);

#endif
