/* Arrays of tests: a plain .npy reader and the rule by which a result is held to its reference. It shares no code with
 * the runtime, whose own reader and writer are under test. */
#ifndef TESTS_COMPARE_H
#define TESTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct array {
    char type[4];                   /* "<f4", "<f2", "<V2" (bfloat16), "<f8" or "<i4" */
    size_t item;                    /* bytes of an element */
    size_t rank;                    /* 1 or 2 */
    size_t rows, width;             /* a rank of 1: width is 1 */
    unsigned char *data;            /* rows * width elements in C order; free with compare_free */
};

/* Reads a little-endian array in C order; false, with the reason in `error`, for anything else. */
bool compare_read(const char *path, struct array *array, char *error, size_t error_size);
void compare_free(struct array *array);

double compare_number(const struct array *array, size_t index);

/* Whether `got` is right: of the reference's type and shape; and, where tolerance is negative, the same bits except
 * for a NaN's payload; else NaN where the reference is NaN, the same infinities, and elsewhere no farther off than
 * tolerance * max(1, the largest finite |reference|). If not, `report` says where and by how much. *worst is the
 * largest difference over that maximum. */
bool compare_arrays(const struct array *got, const struct array *reference, double tolerance, double *worst,
                    char *report, size_t report_size);

/* Whether each element of `got` is no farther from its reference than its tolerance, and NaN where that is; where the
 * tolerance is infinite, it may be anything. *worst is the largest distance over a tolerance. */
bool compare_within(const struct array *got, const struct array *reference, const struct array *tolerances,
                    double *worst, char *report, size_t report_size);

#endif
