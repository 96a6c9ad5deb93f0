/* mma.m16n8k16: where the elements lie is as PTX says it (lane 4 g + t, in pairs), the sums are those of the numbers in
 * double, rounded once. */
#ifndef SIMULATED_TENSOR_CORES_H
#define SIMULATED_TENSOR_CORES_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "threads.h"

template <class Half>
float simulated_half(unsigned pair, int side)
{
    const unsigned short bits = static_cast<unsigned short>(side ? pair >> 16 : pair);
    Half x;
    memcpy(&x, &bits, sizeof x);
    return float(x);
}

/* Element (row, k) of the left operand of 16 rows, of which each lane showed four words. */
template <class Half>
float simulated_left(int row, int k)
{
    const unsigned *words = simulated_of_lane(unsigned(row % 8 * 4 + k % 8 / 2));
    return simulated_half<Half>(words[row / 8 + k / 8 * 2], k % 2);
}

/* Adds the product to what this lane holds of 16 rows and `tiles` times 8 columns: right(k, column). */
template <class Half, class Right>
void simulated_products(float (*d)[4], int tiles, Right right)
{
    const int lane = int(threadIdx.x % 32);
    for (int i = 0; i < tiles * 4; i++) {
        const int row = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        double sum = d[i / 4][i % 4];
        for (int k = 0; k < 16; k++)
            sum += double(simulated_left<Half>(row, k)) * double(right(k, column));
        d[i / 4][i % 4] = float(sum);
    }
}

template <class Half>
void simulated_mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    const unsigned words[6] = {a[0], a[1], a[2], a[3], b0, b1};
    simulated_meet_lanes(~0u, words, 6);
    simulated_products<Half>(&d, 1, [](int k, int column) {
        return simulated_half<Half>(simulated_of_lane(unsigned(column * 4 + k % 8 / 2))[4 + k / 8], k % 2);
    });
}

#endif
