#include "network.h"

/* SplitMix64 */
uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int rng_below(struct rng *rng, int end)
{
    return (int)(rng_next(rng) % (uint64_t)end);
}

bool rng_chance(struct rng *rng, int percent)
{
    return rng_below(rng, 100) < percent;
}

double rng_unit(struct rng *rng)
{
    return (double)(int64_t)rng_next(rng) / 9223372036854775808.0;
}

uint64_t rng_hash(uint64_t seed, const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}
