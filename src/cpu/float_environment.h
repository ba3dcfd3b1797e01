/* float_environment.h: the kernels' own rounding and subnormals, whatever the caller has set.
 *
 * Engines run with flush-to-zero or another rounding mode; a row's bits may not depend on that (contract 4.3, 4.4). */
#ifndef RMSNORM_CPU_FLOAT_ENVIRONMENT_H
#define RMSNORM_CPU_FLOAT_ENVIRONMENT_H

#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>

typedef unsigned float_environment;

/* All exceptions masked, nearest even, subnormals kept; the flags that were raised stay raised. */
static inline float_environment float_environment_enter(void)
{
    const unsigned before = _mm_getcsr();
    const unsigned ours = 0x1f80u | (before & 0x3fu);
    if (before != ours) {
        _mm_setcsr(ours);
    }
    return before;
}

static inline void float_environment_leave(float_environment before)
{
    const unsigned now = _mm_getcsr();
    if ((now & ~0x3fu) != (before & ~0x3fu)) {
        _mm_setcsr(before | (now & 0x3fu));
    }
}

#elif defined(__aarch64__) && defined(__GNUC__)

typedef uint64_t float_environment;

/* FPCR 0: nearest even, subnormals kept, NaNs propagated, no traps. */
static inline float_environment float_environment_enter(void)
{
    float_environment before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    if (before != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"((float_environment)0) : "memory");
    }
    return before;
}

static inline void float_environment_leave(float_environment before)
{
    if (before != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
    }
}

#else

typedef int float_environment;
static inline float_environment float_environment_enter(void) { return 0; }
static inline void float_environment_leave(float_environment before) { (void)before; }

#endif

#endif
