/* Numbers around 0, of spread 1 and at most 3.5 in size. Every fourth row has no negative ones, so that a logarithm or
 * a square root is not always NaN. */
#include "random.h"

#include <math.h>

#include "element.h"

/* A counter through two rounds of multiplication and folding: neighbours have nothing in common. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* The sum of four uniform numbers, exact in double; sqrt(3) makes its spread 1. */
static double spread_one(uint64_t bits)
{
    double sum = 0;
    for (int i = 0; i < 4; i++, bits >>= 16)
        sum += (double)(bits & 0xffff) / 65536.0;
    return (sum - 2.0) * 1.7320508075688772;
}

void mlp_random_rows(mlp_dtype dtype, size_t rows, size_t width, uint64_t seed, void *to)
{
    unsigned char *at = to;
    for (size_t r = 0; r < rows; r++) {
        uint64_t counter = scramble(scramble(seed + 1) + r);
        for (size_t c = 0; c < width; c++) {
            double x = spread_one(scramble(counter + c));
            if (r % 4 == 3)
                x = fabs(x);
            mlp_row_store(dtype, &x, 1, at);
            at += mlp_dtype_size(dtype);
        }
    }
}
