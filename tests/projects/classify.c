/* A C program that uses a network: classify DIGITS.npy LABELS.npy. Reads digits, and says how many the network tells
 * right. The files are NumPy's, of little-endian float32 and int32 numbers. */
#include <stdio.h>
#include <string.h>

#include "digits.h"

enum { MOST_ROWS = 1000 };

/* Elements of 4 bytes behind a header whose length is in its 9th and 10th byte; returns how many there are. */
static size_t read_array(const char *path, void *elements, size_t most)
{
    unsigned char start[10];
    size_t count = 0;
    FILE *file = fopen(path, "rb");

    if (!file)
        return 0;
    if (fread(start, 1, sizeof start, file) == sizeof start && !memcmp(start, "\x93NUMPY\x01", 7) &&
        !fseek(file, (long)(10 + start[8] + 256 * start[9]), SEEK_SET))
        count = fread(elements, 4, most, file);
    fclose(file);
    return count;
}

static int largest(const float *scores)
{
    int best = 0, i;

    for (i = 1; i < digits_y_WIDTH; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int main(int argc, char **argv)
{
    static float x[MOST_ROWS * digits_x_WIDTH], y[MOST_ROWS * digits_y_WIDTH];
    static int labels[MOST_ROWS];
    size_t rows, row, right = 0;

    if (argc != 3)
        return 2;
    rows = read_array(argv[1], x, MOST_ROWS * digits_x_WIDTH) / digits_x_WIDTH;
    if (!rows || read_array(argv[2], labels, MOST_ROWS) != rows) {
        fprintf(stderr, "cannot read digits and their labels\n");
        return 1;
    }
    if (digits_init(NULL) != MLP_OK || digits_run(rows, x, y) != MLP_OK) {
        fprintf(stderr, "%s\n", digits_error());
        return 1;
    }
    digits_close();
    for (row = 0; row < rows; row++)
        right += largest(y + row * digits_y_WIDTH) == labels[row];
    printf("%lu of %lu right\n", (unsigned long)right, (unsigned long)rows);
    return 0;
}
