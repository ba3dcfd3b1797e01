/* dispatch.c: which instruction sets are compiled in, run here, and are allowed. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/choose.h"
#include "operator/error.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif
#if defined(__aarch64__)
#define HAVE_NEON 1
#else
#define HAVE_NEON 0
#endif

static bool runs_always(void) { return true; }

#if HAVE_X86

/* Intel's Software Developer's Manual, volume 2, CPUID, and volume 1, 13.3: a feature counts only when the system saves the
 * registers, which XCR0 tells. */
typedef struct x86_features {
    unsigned leaf1_ecx, leaf7_ebx, xcr0;
} x86_features;

static x86_features read_features(void)
{
    x86_features features = {0, 0, 0};
    unsigned eax;
    unsigned ebx;
    unsigned ecx;
    unsigned edx;
    const unsigned osxsave = 1u << 27;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & osxsave) == 0) {
        return features;
    }
    features.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
        features.leaf7_ebx = ebx;
    }
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    features.xcr0 = eax;
    return features;
}

static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

static bool runs_avx2(void)
{
    const x86_features features = read_features();
    const unsigned fma_avx_f16c = 1u << 12 | 1u << 28 | 1u << 29;
    const unsigned avx2 = 1u << 5;
    const unsigned xmm_ymm = 1u << 1 | 1u << 2;
    return has(features.leaf1_ecx, fma_avx_f16c) && has(features.leaf7_ebx, avx2) && has(features.xcr0, xmm_ymm);
}

static bool runs_avx512(void)
{
    const x86_features features = read_features();
    const unsigned f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    const unsigned masks_zmm = 1u << 5 | 1u << 6 | 1u << 7;
    return runs_avx2() && has(features.leaf7_ebx, f_dq_bw_vl) && has(features.xcr0, masks_zmm);
}

#endif

/* Best first, the one that always runs last. */
static const rmsnorm_compiled compiled[] = {
#if HAVE_X86
    {RMSNORM_ISA_AVX512, &rmsnorm_kernels_avx512, runs_avx512},
    {RMSNORM_ISA_AVX2, &rmsnorm_kernels_avx2, runs_avx2},
#endif
#if HAVE_NEON
    {RMSNORM_ISA_NEON, &rmsnorm_kernels_neon, runs_always},
#endif
    {RMSNORM_ISA_SCALAR, &rmsnorm_kernels_scalar, runs_always},
};

#define COMPILED_COUNT ((int)(sizeof compiled / sizeof compiled[0]))

static const char *const isa_names[RMSNORM_ISA_COUNT] = {"auto", "scalar", "neon", "avx2", "avx512"};
#define ISA_NAMES "auto, scalar, neon, avx2, avx512"

const char *rmsnorm_isa_name(rmsnorm_isa isa)
{
    return (int)isa >= 0 && (int)isa < RMSNORM_ISA_COUNT ? isa_names[isa] : "unknown";
}

rmsnorm_status rmsnorm_isa_from_name(const char *name, rmsnorm_isa *isa)
{
    RMSNORM_CHECK(isa != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_isa_from_name: isa is NULL");
    for (int i = 0; name != NULL && i < RMSNORM_ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i]) == 0) {
            *isa = (rmsnorm_isa)i;
            return RMSNORM_OK;
        }
    }
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "isa is '%s', allowed " ISA_NAMES, name == NULL ? "(null)" : name);
}

bool rmsnorm_isa_compiled(rmsnorm_isa isa)
{
    for (int i = 0; i < COMPILED_COUNT; i++) {
        if (compiled[i].isa == isa) {
            return true;
        }
    }
    return false;
}

bool rmsnorm_isa_runnable(rmsnorm_isa isa)
{
    for (int i = 0; i < COMPILED_COUNT; i++) {
        if (compiled[i].isa == isa) {
            return compiled[i].runs();
        }
    }
    return false;
}

/* RMSNORM_ISA as an rmsnorm_isa, AUTO when unset, -1 when it names none. */
static int read_environment(void)
{
    const char *name = getenv("RMSNORM_ISA");
    if (name == NULL || name[0] == '\0') {
        return RMSNORM_ISA_AUTO;
    }
    for (int i = 0; i < RMSNORM_ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* What the first call finds out: which of `compiled` run here, a bit for each, and the environment's limit. Threads that race
 * write the same. */
typedef struct found {
    unsigned running;
    int limit;
} found;

static found find_once(void)
{
    static atomic_uint cache; /* 0: not yet; else running + 256 * (limit + 1): one always runs */
    unsigned packed = atomic_load_explicit(&cache, memory_order_relaxed);
    if (packed == 0) {
        for (int i = 0; i < COMPILED_COUNT; i++) {
            packed |= (unsigned)compiled[i].runs() << i;
        }
        packed += 256 * (unsigned)(read_environment() + 1);
        atomic_store_explicit(&cache, packed, memory_order_relaxed);
    }
    const found result = {packed % 256, (int)(packed / 256) - 1};
    return result;
}

int rmsnorm_isa_select(const rmsnorm_compiled *list, unsigned running, rmsnorm_isa max_isa, rmsnorm_isa limit)
{
    int i = 0;
    while ((running >> i & 1) == 0 || (max_isa != RMSNORM_ISA_AUTO && list[i].isa > max_isa) ||
           (limit != RMSNORM_ISA_AUTO && list[i].isa > limit)) {
        i++;
    }
    return i;
}

/* The index into `compiled`. */
static rmsnorm_status select_isa(rmsnorm_isa max_isa, int *index)
{
    RMSNORM_CHECK((int)max_isa >= 0 && (int)max_isa < RMSNORM_ISA_COUNT, RMSNORM_INVALID_ARGUMENT,
                  "max_isa is %d, allowed 0 (auto) to %d (%s)", (int)max_isa, RMSNORM_ISA_COUNT - 1,
                  isa_names[RMSNORM_ISA_COUNT - 1]);
    RMSNORM_CHECK(max_isa == RMSNORM_ISA_AUTO || rmsnorm_isa_compiled(max_isa), RMSNORM_UNSUPPORTED,
                  "max_isa is %s, which this build does not have", isa_names[max_isa]);
    const found here = find_once();
    RMSNORM_CHECK(here.limit >= 0, RMSNORM_INVALID_ARGUMENT,
                  "the environment's RMSNORM_ISA is '%s', allowed " ISA_NAMES, getenv("RMSNORM_ISA"));
    RMSNORM_CHECK(here.limit == RMSNORM_ISA_AUTO || rmsnorm_isa_compiled((rmsnorm_isa)here.limit), RMSNORM_UNSUPPORTED,
                  "the environment's RMSNORM_ISA is %s, which this build does not have", isa_names[here.limit]);
    *index = rmsnorm_isa_select(compiled, here.running, max_isa, (rmsnorm_isa)here.limit);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_isa_in_use(rmsnorm_isa max_isa, rmsnorm_isa *isa)
{
    int index;
    RMSNORM_CHECK(isa != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_isa_in_use: isa is NULL");
    RMSNORM_TRY(select_isa(max_isa, &index));
    *isa = compiled[index].isa;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_kernels_find(rmsnorm_isa max_isa, const rmsnorm_kernels **kernels)
{
    int index;
    RMSNORM_TRY(select_isa(max_isa, &index));
    *kernels = compiled[index].kernels;
    return RMSNORM_OK;
}
