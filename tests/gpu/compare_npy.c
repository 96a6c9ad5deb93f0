/* Holds an array to its reference, by the rule of compare.h: compare_npy TOLERANCE GOT REFERENCE
 * TOLERANCE is a number or "exact". The first line says by how much the worst element is off; where that is too much,
 * the second says where, and the status is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

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
    int right = compare_arrays(&got, &reference, tolerance, &worst, report, sizeof report);
    printf("%.2e\n%s", worst, right ? "" : report);
    compare_free(&got);
    compare_free(&reference);
    return !right;
}
