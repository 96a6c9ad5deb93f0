/* From the digits' pixels, the network's answers and the true labels to what `make demo` shows: three digits drawn in
 * characters, and how many of all are right. It fails where that number is not the one that PyTorch reaches with the
 * same weights.
 *
 *     show_digits PIXELS.npy ANSWERS.npy LABELS.npy */
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"

enum { SIDE = 8, CLASSES = 10, ROWS = 360, RIGHT = 355, SHOWN = 3 };

static struct array read_or_exit(const char *path, size_t width)
{
    struct array array = {0};
    char error[512];
    if (!compare_read(path, &array, error, sizeof error)) {
        fprintf(stderr, "show_digits: %s\n", error);
        exit(EXIT_FAILURE);
    }
    if (array.rows != ROWS || array.width != width) {
        fprintf(stderr, "show_digits: %s: %zu rows of %zu, expected %d of %zu\n", path, array.rows, array.width, ROWS,
                width);
        exit(EXIT_FAILURE);
    }
    return array;
}

static size_t best_class(const struct array *answers, size_t row)
{
    size_t best = 0;
    for (size_t i = 1; i < CLASSES; i++)
        if (compare_number(answers, row * CLASSES + i) > compare_number(answers, row * CLASSES + best))
            best = i;
    return best;
}

static void draw(const struct array *pixels)
{
    static const char shades[] = " .:-=+*#%@";
    for (size_t y = 0; y < SIDE; y++) {
        for (size_t row = 0; row < SHOWN; row++) {
            printf("    ");
            for (size_t x = 0; x < SIDE; x++) {
                double shade = compare_number(pixels, (row * SIDE + y) * SIDE + x) * (sizeof shades - 2);
                char c = shades[(size_t)(shade + 0.5)];
                printf("%c%c", c, c);
            }
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: show_digits PIXELS.npy ANSWERS.npy LABELS.npy\n");
        return EXIT_FAILURE;
    }
    struct array pixels = read_or_exit(argv[1], SIDE * SIDE);
    struct array answers = read_or_exit(argv[2], CLASSES);
    struct array labels = read_or_exit(argv[3], 1);
    int right = 0;
    for (size_t row = 0; row < ROWS; row++)
        right += best_class(&answers, row) == (size_t)compare_number(&labels, row);
    draw(&pixels);
    for (size_t row = 0; row < SHOWN; row++) {
        size_t best = best_class(&answers, row);
        printf("    %zu (%6.2f %%)    ", best, 100 * compare_number(&answers, row * CLASSES + best));
    }
    printf("\n%d/%d correct (%.2f %%)\n", right, ROWS, 100.0 * right / ROWS);
    compare_free(&pixels);
    compare_free(&answers);
    compare_free(&labels);
    if (right != RIGHT)
        fprintf(stderr, "show_digits: expected %d correct\n", RIGHT);
    return right == RIGHT ? EXIT_SUCCESS : EXIT_FAILURE;
}
