/* What the threads of a kernel do with each other on the simulated device: for device.h and for what stands there for
 * PTX. Each is called by a thread of a running kernel. */
#ifndef SIMULATED_THREADS_H
#define SIMULATED_THREADS_H

#include <cstddef>
#include <cstring>
#include <functional>

/* ---- Waiting ---- */

/* Others run until ready(of); it is asked outside of the thread. */
void simulated_wait(bool (*ready)(const void *), const void *of);

template <class Ready>
void simulated_wait_until(const Ready &ready)
{
    simulated_wait([](const void *of) { return (*static_cast<const Ready *>(of))(); }, &ready);
}

/* Others run, as where a thread asks memory again and again. */
void simulated_yield();

/* The first `count` threads of the block meet. */
void simulated_meet(unsigned count);

/* All threads of the launch arrive, and wait for all others later. */
void simulated_arrive_all();
void simulated_wait_all();

/* ---- A warp ---- */

/* The lanes of the mask meet, and show each other up to 8 words, which can be read until this lane meets again. */
void simulated_meet_lanes(unsigned mask, const unsigned *words, int count);
const unsigned *simulated_of_lane(unsigned lane);

template <class Word>
Word simulated_shuffle(unsigned mask, Word x, unsigned from)
{
    static_assert(sizeof(Word) == sizeof(unsigned));
    unsigned word;
    memcpy(&word, &x, sizeof word);
    simulated_meet_lanes(mask, &word, 1);
    memcpy(&x, simulated_of_lane(from), sizeof x);
    return x;
}

/* ---- Shared memory of the block, as long as the launch says; places count from its beginning. ---- */

unsigned char *simulated_shared();

/* A copy from memory that ends some time later, into the shared memory of a block; a barrier there counts its bytes. */
void simulated_copy(unsigned block, unsigned to, const void *from, unsigned bytes, unsigned barrier);
unsigned simulated_this_block();

/* mbarrier: a phase ends with the last of its arrivals and the last of the bytes that it expects. */
void simulated_barrier_init(unsigned barrier, int arrivals);
void simulated_barrier_arrive(unsigned barrier, int bytes);
void simulated_barrier_wait(unsigned barrier, unsigned parity);

/* ---- Copies and products of a thread, in groups: they come to pass where it waits for them. ---- */

enum simulated_groups { SIMULATED_COPIES, SIMULATED_PRODUCTS };

void simulated_group_add(simulated_groups of, const std::function<void()> &happens);
void simulated_group_commit(simulated_groups of);
/* Until at most `pending` groups, the youngest, have not come to pass. */
void simulated_group_wait(simulated_groups of, int pending);

#endif
