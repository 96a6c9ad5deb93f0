/* Holds an array to its reference, by the rule of compare.h: compare_npy TOLERANCE GOT REFERENCE
 * TOLERANCE is a number, "exact", or an array NAME.npy of what each element may be off by. The first line says by how
 * much the worst element is off; where that is too much, the second says where, and the status is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* 1 where all elements are as near as `path` says; the worst is the largest part of its tolerance. */
static int compare_each(const char *path, const struct array *got, const struct array *reference, double *worst,
                        char *report, size_t size)
{
    struct array tolerances;
    if (!compare_read(path, &tolerances, report, size))
        return 0;
    int right = compare_within(got, reference, &tolerances, worst, report, size);
    compare_free(&tolerances);
    return right;
}

int main(int argc, char **argv)
{
    struct array got, reference;
    char report[1024] = "";
    double worst = 0;
    if (argc != 4)
        return 2;
    if (!compare_read(argv[2], &got, report, sizeof report) ||
        !compare_read(argv[3], &reference, report, sizeof report)) {
        printf("inf\n%s\n", report);
        return 1;
    }
    double tolerance = strcmp(argv[1], "exact") ? strtod(argv[1], NULL) : -1;
    int right = strstr(argv[1], ".npy")
                    ? compare_each(argv[1], &got, &reference, &worst, report, sizeof report)
                    : compare_arrays(&got, &reference, tolerance, &worst, report, sizeof report);
    printf("%.2e\n%s", worst, right ? "" : report);
    compare_free(&got);
    compare_free(&reference);
    return !right;
}
