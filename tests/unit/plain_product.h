/* A product as a network written by hand has it: weights row-major [n, k], sums in f32 from the first element on. */
#ifndef PLAIN_PRODUCT_H
#define PLAIN_PRODUCT_H

#include <stddef.h>

static inline void plain_product(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const float *w, float *y,
                                 size_t ldy)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c++) {
            float sum = 0;
            for (size_t i = 0; i < k; i++)
                sum += x[r * ldx + i] * w[c * k + i];
            y[r * ldy + c] = sum;
        }
}

#endif
