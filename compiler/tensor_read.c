#include "tensor_read.h"

#include <math.h>

#include "convert.h"
#include "random.h"

/* Rows of a matrix that is stored by columns: a piece of each column lies in one run of the file. */
static void read_transposed(const unsigned char *data, enum stored stored, const struct param *source, int64_t row,
                            int64_t rows, double *to)
{
    enum { PIECE = 256 };
    double piece[PIECE];
    const size_t size = convert_stored_size(stored);
    for (int64_t first = 0; first < rows; first += PIECE) {
        const int64_t count = rows - first < PIECE ? rows - first : PIECE;
        for (int64_t column = 0; column < source->cols; column++) {
            size_t at = (size_t)(column * source->rows + row + first);
            convert_load(piece, data + at * size, (size_t)count, stored);
            for (int64_t i = 0; i < count; i++)
                to[(first + i) * source->cols + column] = piece[i];
        }
    }
}

static void read_file(const struct tensor *tensor, const struct param *source, int64_t row, int64_t rows, double *to)
{
    enum stored stored = STORED_F32;
    convert_stored(tensor->dtype, &stored);
    if (source->transposed) {
        read_transposed(tensor->data, stored, source, row, rows, to);
        return;
    }
    size_t first = (size_t)(row * source->cols);
    convert_load(to, tensor->data + first * convert_stored_size(stored), (size_t)(rows * source->cols), stored);
}

/* The interval that a value is drawn from: middle +- radius. */
static const struct {
    double middle, radius;
} intervals[] = {
    [ROLE_LINEAR_WEIGHT] = {0, 1},      /* radius by the square root of the row's length */
    [ROLE_LINEAR_BIAS] = {0, 0.1},
    [ROLE_NORM_WEIGHT] = {1, 0.1},
    [ROLE_NORM_BIAS] = {0, 0.1},
    [ROLE_RUNNING_MEAN] = {0, 0.1},
    [ROLE_RUNNING_VAR] = {1, 0.5},
    [ROLE_ROW] = {0, 0.1},
};

static void read_random(uint64_t seed, const struct param *source, int64_t row, int64_t rows, double *to)
{
    const uint64_t key = random_key(seed, source->tensor);
    /* Elements are numbered as stored: a tensor that is read both ways draws the same numbers. */
    const int64_t next_row = source->transposed ? 1 : source->cols;
    const int64_t next_column = source->transposed ? source->rows : 1;
    const double middle = intervals[source->role].middle;
    const double shrink = source->role == ROLE_LINEAR_WEIGHT ? sqrt((double)source->cols) : 1;
    const double radius = intervals[source->role].radius / shrink;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < source->cols; c++) {
            uint64_t index = (uint64_t)((row + r) * next_row + c * next_column);
            *to++ = middle + radius * (2 * random_unit(key, index) - 1);
        }
    }
}

void tensor_read(const struct weights *weights, const struct param *source, int64_t row, int64_t rows, double *to)
{
    if (weights->path)
        read_file(safetensors_find(&weights->file, source->tensor), source, row, rows, to);
    else
        read_random(weights->seed, source, row, rows, to);
}
