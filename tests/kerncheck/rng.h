/* rng.h: seeded randomness, the same on every machine (xorshift64* over a splitmix64 seed). */
#ifndef KERNCHECK_RNG_H
#define KERNCHECK_RNG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_mix(uint64_t value)
{
    value += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static inline rng rng_seeded(uint64_t seed)
{
    return (rng){rng_mix(seed) | 1};
}

static inline uint64_t rng_next(rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* In [low, high]. */
static inline int64_t rng_between(rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)((rng_next(r) >> 11) % (uint64_t)(high - low + 1));
}

static inline bool rng_chance(rng *r, int one_in)
{
    return rng_between(r, 1, one_in) == 1;
}

/* In [0, 1). */
static inline double rng_unit(rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Near enough to the standard normal distribution: the sum of twelve uniform values. */
static inline double rng_normal(rng *r)
{
    double sum = -6;
    for (int i = 0; i < 4; i++) {
        const uint64_t bits = rng_next(r);
        sum += (double)(bits & 0x1FFFFF) * 0x1p-21 + (double)(bits >> 21 & 0x1FFFFF) * 0x1p-21 +
               (double)(bits >> 42 & 0x1FFFFF) * 0x1p-21;
    }
    return sum;
}

#endif
