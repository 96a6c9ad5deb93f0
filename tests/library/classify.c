/* A C program that uses a network as a library: one handwritten digit in, its class and probability out. C99 is enough.
 *
 *     mlpc --lib --target=cpu -o digits_library specs/digits.mlp
 *     cc -I digits_library -I build/runtime classify.c digits_library/libdigits.a -lm */
#include <stdio.h>

#include "digits.h"

/* A handwritten three, 8x8 pixels of 0 to 16 (UCI Optical Recognition of Handwritten Digits, CC BY 4.0). */
static const unsigned char drawing[digits_x_WIDTH] = {
    0, 2, 11, 14, 10,  1, 0, 0,
    0, 6, 12,  8, 15, 10, 0, 0,
    0, 0,  0,  0, 10, 11, 0, 0,
    0, 0,  0,  8, 14,  2, 0, 0,
    0, 0,  0,  7, 16, 15, 1, 0,
    0, 0,  0,  0,  2, 13, 8, 0,
    0, 2,  5,  1,  2, 12, 7, 0,
    0, 1, 12, 16, 16, 10, 0, 0,
};

int main(void)
{
    float pixels[digits_x_WIDTH], probability[digits_y_WIDTH];
    int i, best = 0;

    for (i = 0; i < digits_x_WIDTH; i++)
        pixels[i] = (float)drawing[i] / 16;
    if (digits_init(NULL) != MLP_OK || digits_run(1, pixels, probability) != MLP_OK) {
        fprintf(stderr, "%s\n", digits_error());
        return 1;
    }
    digits_close();
    for (i = 1; i < digits_y_WIDTH; i++)
        if (probability[i] > probability[best])
            best = i;
    printf("%d (%.2f %%)\n", best, 100.0 * probability[best]);
    return 0;
}
