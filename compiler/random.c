/* The splitmix64 generator by Sebastiano Vigna, whose n-th output is a function of the start and n. */
#include "random.h"

#include "hash.h"

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

uint64_t random_key(uint64_t seed, const char *tensor)
{
    return mix(mix(seed) ^ hash_text(HASH_START, tensor));
}

double random_unit(uint64_t key, uint64_t index)
{
    return (double)(mix(key + (index + 1) * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}
