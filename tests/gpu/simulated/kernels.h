/* A kernel as the simulated device runs it: threads.cpp. */
#ifndef SIMULATED_KERNELS_H
#define SIMULATED_KERNELS_H

#include <cstddef>
#include <cstdint>

struct simulated_kernel {
    void (*function)(unsigned char *arena, int64_t rows);
    unsigned char *arena;
    int64_t rows;
    unsigned grid, block;
    size_t shared_bytes;            /* of each block, dynamic */
    bool together;                  /* all blocks are there at once: a cluster, or a cooperative launch */
};

/* Until it has come to its end. */
void simulated_run(const simulated_kernel &kernel);

#endif
