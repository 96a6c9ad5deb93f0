/* What a product gives: sums in double, in as many parts as the algorithm has, with the faults that it has. */
#include "product.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* ---- Numbers ---- */

namespace {

float load(int32_t type, const void *from, uint64_t i)
{
    switch (type) {
    case CUDA_R_32F:
        return static_cast<const float *>(from)[i];
    case CUDA_R_16F:
        return __half2float(static_cast<const __half *>(from)[i]);
    case CUDA_R_16BF:
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(from)[i]);
    default:
        abort();
    }
}

void store(int32_t type, void *to, uint64_t i, float x)
{
    if (type == CUDA_R_32F)
        static_cast<float *>(to)[i] = x;
    else if (type == CUDA_R_16F)
        static_cast<__half *>(to)[i] = __float2half_rn(x);
    else
        static_cast<__nv_bfloat16 *>(to)[i] = __float2bfloat16_rn(x);
}

float rounded_to(int32_t type, float x)
{
    float room;
    store(type, &room, 0, x);
    return load(type, &room, 0);
}

/* By leaving bits out, as tensor cores do with what is given to them as f32. */
float cut_to_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~0x1fffu;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* Four sums at a time take a third of the time of one. */
double dot(const float *x, const float *y, uint64_t count)
{
    double sums[4] = {};
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (uint64_t j = 0; j < 4; j++)
            sums[j] += double(x[i + j]) * y[i + j];
    for (; i < count; i++)
        sums[0] += double(x[i]) * y[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Others in each run. */
struct noise {
    uint64_t state;

    bool bit()
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 63;
    }
} unsteady_bits;

} // namespace

float matrix::get(uint64_t row, uint64_t column) const
{
    return load(shape.type, at, index(row, column));
}

std::vector<float> matrix::columns_after_each_other() const
{
    std::vector<float> all;
    all.reserve(shape.rows * shape.columns);
    for (uint64_t j = 0; j < shape.columns; j++)
        for (uint64_t i = 0; i < shape.rows; i++)
            all.push_back(get(i, j));
    return all;
}

/* ---- Products ---- */

void product::check() const
{
    assert(op.a == CUBLAS_OP_T && a.shape.columns == d.shape.rows && b.shape.columns == d.shape.columns);
    assert(a.shape.rows == b.shape.rows && c.shape.rows == d.shape.rows && c.shape.columns == d.shape.columns);
    assert(a.shape.type == b.shape.type && c.shape.type == d.shape.type);
    assert(d.shape.type == a.shape.type || d.shape.type == CUDA_R_32F);
    if (op.epilogue & CUBLASLT_EPILOGUE_BIAS)
        assert(op.bias_type == int(d.shape.type) && uintptr_t(op.bias) % 16 == 0);
}

/* What is left of K. */
uint64_t product::depth() const
{
    const uint64_t k = a.shape.rows;
    if (!(faults & TAIL))
        return k;
    return k % 8 ? k - k % 8 : k - 8;
}

float product::sum(const float *x, const float *y) const
{
    const uint64_t k = depth(), part = (k + uint64_t(how.splits) - 1) / uint64_t(how.splits);
    float total = 0;
    for (uint64_t first = 0; first < k; first += part) {
        float partial = float(dot(x + first, y + first, std::min(part, k - first)));
        if (how.reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)
            partial = rounded_to(d.shape.type, partial);
        total += partial;
        if (how.reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE)
            total = rounded_to(d.shape.type, total);
    }
    return faults & WRONG ? 1.01f * total : total;
}

float product::finish(float x, uint64_t row, uint64_t column) const
{
    if (beta != 0)
        x += beta * c.get(row, column);
    if (op.epilogue & CUBLASLT_EPILOGUE_BIAS)
        x += load(op.bias_type, op.bias, row);
    if (op.epilogue & CUBLASLT_EPILOGUE_RELU)
        x = x <= 0 ? 0 : x;
    if (op.epilogue & CUBLASLT_EPILOGUE_GELU)
        x = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    return x;
}

void product::put(uint64_t row, uint64_t column, float x) const
{
    char *to = static_cast<char *>(const_cast<void *>(d.at)) + d.index(row, column) * size_of(d.shape.type);
    store(d.shape.type, to, 0, x);
    if (faults & UNSTEADY)
        *to = char(*to ^ unsteady_bits.bit());
}

/* D may be C: all is computed before anything is stored. */
void product::run() const
{
    const uint64_t rows = d.shape.rows, columns = d.shape.columns, k = a.shape.rows;
    std::vector<float> x = a.columns_after_each_other(), y = b.columns_after_each_other(), result(rows * columns);
    if (faults & ROUNDED) {
        std::transform(x.begin(), x.end(), x.begin(), cut_to_tf32);
        std::transform(y.begin(), y.end(), y.begin(), cut_to_tf32);
    }
    for (uint64_t j = 0; j < columns; j++)
        for (uint64_t i = 0; i < rows; i++)
            result[j * rows + i] = finish(sum(&x[i * k], &y[j * k]), i, j);
    for (uint64_t j = 0; j < columns; j++)
        for (uint64_t i = 0; i < rows; i++)
            put(i, j, result[j * rows + i]);
}
