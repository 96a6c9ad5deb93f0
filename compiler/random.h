/* Parameters drawn from a seed: the value of an element follows from the seed, the tensor's name and the element's
 * index alone, so that any part can be made without the rest, and is the same on every machine. */
#ifndef MLPC_RANDOM_H
#define MLPC_RANDOM_H

#include <stdint.h>

uint64_t random_key(uint64_t seed, const char *tensor);

/* Element `index`: uniform in [0, 1), a multiple of 2^-53. */
double random_unit(uint64_t key, uint64_t index);

#endif
