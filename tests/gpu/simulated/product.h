/* A product of the simulated cuBLASLt, with all that the library is told of it. */
#ifndef SIMULATED_PRODUCT_H
#define SIMULATED_PRODUCT_H

#include "algorithms.h"

struct layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t ld;
};

struct operation {
    cublasComputeType_t compute;
    cublasOperation_t a;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    int32_t bias_type;
    uint32_t promised[4];           /* alignment of A, B, C, D: what the last question to the heuristic said */
};

struct matrix {
    layout shape;
    const void *at;

    uint64_t index(uint64_t row, uint64_t column) const { return column * uint64_t(shape.ld) + row; }
    float get(uint64_t row, uint64_t column) const;
    std::vector<float> columns_after_each_other() const;
};

class product {
public:
    operation op;
    matrix a, b, c, d;
    float beta;
    algorithm how;
    unsigned faults;

    /* Asserts what the library asks of descriptors and types. */
    void check() const;
    void run() const;

private:
    uint64_t depth() const;
    float sum(const float *x, const float *y) const;
    float finish(float x, uint64_t row, uint64_t column) const;
    void put(uint64_t row, uint64_t column, float x) const;
};

#endif
