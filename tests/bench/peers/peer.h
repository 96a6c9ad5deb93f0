/* A contender of the CPU bench: one way to compute a network, in a process of its own (peer.c), so that a driver can
 * take it and others in turn. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>

struct peer_network {
    int threads;
    size_t inputs, outputs;         /* the width of a row */
    char **arguments;               /* of this contender, a NULL behind them */
};

/* What a contender defines. Both return NULL, or what failed. `x` and `y` stay where they are from run to run until
 * their number of rows changes. */
const char *peer_open(const struct peer_network *network);
const char *peer_run(size_t rows, const float *x, float *y);

/* The floats of a file or the first `count` of them, 64-byte aligned; NULL where it has fewer. */
float *peer_read(const char *path, size_t count);
int peer_write(const char *path, const float *data, size_t count);  /* 0, or -1 */
float *peer_floats(size_t count);
double peer_seconds(void);

#endif
