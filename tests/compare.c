/* From two .npy files to a verdict. The reader knows the few forms that the cases use and that the generated programs
 * write; everything else is refused, so that a strange file never passes for a right one. */
#include "compare.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *at;
    size_t count;
};

static bool read_all(const char *path, struct bytes *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t capacity = 0, got = 0;
    *bytes = (struct bytes){0};
    do {
        bytes->count += got;
        if (capacity - bytes->count < 4096) {
            capacity = 2 * capacity + 65536;
            bytes->at = realloc(bytes->at, capacity);
            if (!bytes->at)
                abort();
        }
        got = fread(bytes->at + bytes->count, 1, capacity - bytes->count, file);
    } while (got > 0);
    bool whole = !ferror(file);
    fclose(file);
    return whole;
}

/* Copies the text between the quotes or brackets that follow 'key': into `value`. */
static bool header_value(const char *header, const char *key, char open, char close, char *value, size_t size)
{
    const char *at = strstr(header, key);
    const char *begin = at ? strchr(at + strlen(key), open) : NULL;
    const char *end = begin ? strchr(begin + 1, close) : NULL;
    if (!end || (size_t)(end - begin) > size)
        return false;
    memcpy(value, begin + 1, (size_t)(end - begin - 1));
    value[end - begin - 1] = '\0';
    return true;
}

static bool parse_header(const char *header, struct array *array)
{
    static const struct { char type[4]; size_t item; } types[] = {
        {"<f4", 4}, {"<f2", 2}, {"<V2", 2}, {"<f8", 8}, {"<i4", 4},
    };
    char type[8], shape[64];
    unsigned long rows, width = 1;
    if (!header_value(header, "'descr':", '\'', '\'', type, sizeof type)
        || !header_value(header, "'shape':", '(', ')', shape, sizeof shape)
        || !strstr(header, "'fortran_order': False"))
        return false;
    int found = sscanf(shape, "%lu, %lu", &rows, &width);
    if (found < 1)
        return false;
    array->rank = (size_t)found;
    array->rows = rows;
    array->width = width;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].type) == 0) {
            memcpy(array->type, types[i].type, sizeof array->type);
            array->item = types[i].item;
            return true;
        }
    }
    return false;
}

/* Takes the file apart; on success the array owns a copy of the data. */
static const char *parse_file(const struct bytes *file, struct array *array)
{
    if (file->count < 12 || memcmp(file->at, "\x93NUMPY", 6) != 0)
        return "not a .npy file";
    size_t begin = file->at[6] == 1 ? 10 : 12;
    size_t length = file->at[8] | (size_t)file->at[9] << 8;
    if (begin == 12)
        length |= (size_t)file->at[10] << 16 | (size_t)file->at[11] << 24;
    if (length > file->count - begin)
        return "the header is cut off";
    char *header = strndup((const char *)file->at + begin, length);
    bool known = header && parse_header(header, array);
    free(header);
    if (!known)
        return "a type, order or shape that the tests do not know";
    if ((begin + length) % 16 != 0)
        return "the data are not aligned to 16 bytes";
    size_t bytes = array->rows * array->width * array->item;
    if (file->count - begin - length != bytes)
        return "the size of the data does not fit the shape";
    array->data = malloc(bytes + 1);
    if (!array->data)
        abort();
    memcpy(array->data, file->at + begin + length, bytes);
    return NULL;
}

bool compare_read(const char *path, struct array *array, char *error, size_t error_size)
{
    struct bytes file = {0};
    const char *problem = read_all(path, &file) ? parse_file(&file, array) : "cannot be read";
    if (problem)
        snprintf(error, error_size, "%s: %s", path, problem);
    free(file.at);
    return !problem;
}

void compare_free(struct array *array)
{
    free(array->data);
    array->data = NULL;
}

static double from_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

double compare_number(const struct array *array, size_t index)
{
    const unsigned char *at = array->data + index * array->item;
    uint64_t bits = 0;
    for (size_t i = 0; i < array->item; i++)
        bits |= (uint64_t)at[i] << 8 * i;
    if (strcmp(array->type, "<f2") == 0)
        return from_half((uint16_t)bits);
    if (strcmp(array->type, "<i4") == 0)
        return (int32_t)(uint32_t)bits;
    if (strcmp(array->type, "<f8") == 0) {
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    uint32_t word = (uint32_t)(array->item == 2 ? bits << 16 : bits);
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static double largest_finite(const struct array *array)
{
    double largest = 1;
    for (size_t i = 0; i < array->rows * array->width; i++) {
        double size = fabs(compare_number(array, i));
        if (isfinite(size) && size > largest)
            largest = size;
    }
    return largest;
}

/* The difference of two numbers; infinite where one is a NaN or an infinity that the other is not. */
static double distance(double got, double reference)
{
    if (isnan(got) || isnan(reference))
        return isnan(got) && isnan(reference) ? 0 : INFINITY;
    if (isinf(got) || isinf(reference))
        return got == reference ? 0 : INFINITY;
    return fabs(got - reference);
}

static bool same_bits(const struct array *got, const struct array *reference, size_t index)
{
    size_t item = got->item;
    return memcmp(got->data + index * item, reference->data + index * item, item) == 0
        || (isnan(compare_number(got, index)) && isnan(compare_number(reference, index)));
}

bool compare_arrays(const struct array *got, const struct array *reference, double tolerance, double *worst,
                    char *report, size_t report_size)
{
    *worst = 0;
    if (strcmp(got->type, reference->type) != 0 || got->rank != reference->rank || got->rows != reference->rows
        || got->width != reference->width) {
        snprintf(report, report_size, "%s of rank %zu [%zu, %zu], the reference is %s of rank %zu [%zu, %zu]",
                 got->type, got->rank, got->rows, got->width, reference->type, reference->rank, reference->rows,
                 reference->width);
        return false;
    }
    double scale = largest_finite(reference);
    size_t wrong = 0, count = got->rows * got->width;
    for (size_t i = 0; i < count; i++) {
        double off = distance(compare_number(got, i), compare_number(reference, i)) / scale;
        bool right = tolerance < 0 ? same_bits(got, reference, i) : off <= tolerance;
        if (!right && wrong++ == 0)
            snprintf(report, report_size, "row %zu, column %zu: %.9g, the reference is %.9g, the largest %.9g",
                     i / got->width, i % got->width, compare_number(got, i), compare_number(reference, i), scale);
        if (off > *worst)
            *worst = off;
    }
    size_t length = wrong ? strlen(report) : 0;
    if (wrong)
        snprintf(report + length, report_size - length, "; %zu of %zu are wrong, the worst by %.3g of the largest",
                 wrong, count, *worst);
    return wrong == 0;
}

static bool same_shape(const struct array *a, const struct array *b)
{
    return a->rank == b->rank && a->rows == b->rows && a->width == b->width;
}

bool compare_within(const struct array *got, const struct array *reference, const struct array *tolerances,
                    double *worst, char *report, size_t report_size)
{
    *worst = 0;
    if (!same_shape(got, reference) || !same_shape(got, tolerances)) {
        snprintf(report, report_size, "[%zu, %zu], the reference is [%zu, %zu]", got->rows, got->width, reference->rows,
                 reference->width);
        return false;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < got->rows * got->width; i++) {
        double x = compare_number(got, i), y = compare_number(reference, i), most = compare_number(tolerances, i);
        if (isinf(most))
            continue;
        double off = isnan(y) ? (isnan(x) ? 0 : INFINITY) : fabs(x - y);
        bool right = off <= most;
        if (!right && wrong++ == 0)
            snprintf(report, report_size, "row %zu, column %zu: %.9g, the reference is %.9g within %.3g",
                     i / got->width, i % got->width, x, y, most);
        if (off > 0 && most > 0)
            *worst = fmax(*worst, off / most);
    }
    return !wrong;
}
