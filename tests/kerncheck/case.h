/* case.h: one checked call, drawn from a seed: operator, types, shapes, attributes, values, places in memory. */
#ifndef KERNCHECK_CASE_H
#define KERNCHECK_CASE_H

#include "guard.h"
#include "oracle.h"
#include "values.h"

/* Every tensor a call can have; the outputs in the order of SkipSimplifiedLayerNormalization's slots. */
typedef enum slot {
    SLOT_INPUT,
    SLOT_SKIP,
    SLOT_BIAS,
    SLOT_SCALE,
    SLOT_OUTPUT,
    SLOT_MEAN,
    SLOT_INVERSE,
    SLOT_SUM,
    SLOT_COUNT,
    SLOT_NONE = SLOT_COUNT
} slot;

#define SLOT_FIRST_OUTPUT SLOT_OUTPUT

const char *slot_name(slot s, rmsnorm_operator_kind kind);

/* An operator with its types: one line of the report. */
typedef struct combination {
    rmsnorm_operator_kind kind;
    rmsnorm_dtype t, v, stash;
    char name[96]; /* "RMSNormalization float16 x float, stash double" */
} combination;

#define MAX_COMBINATIONS 80

/* All that the contract allows on the CPU. */
int combinations_list(combination list[MAX_COMBINATIONS]);

typedef struct check_case {
    const combination *types;
    const char *family;
    uint64_t seed; /* of this case: everything below and every value follows from it */
    int index;
    int rank;
    int64_t dims[RMSNORM_MAX_RANK];
    int64_t axis; /* as the attribute says it; operators 1 and 3 */
    int scale_rank;
    int64_t scale_dims[RMSNORM_MAX_RANK];
    int skip_rank; /* 0: the operator has none */
    int64_t skip_dims[3];
    float epsilon;
    bool present[SLOT_COUNT];
    int64_t stride[SLOT_COUNT]; /* elements between rows; 0: contiguous */
    slot alias[SLOT_COUNT];     /* the input whose memory an output is, or SLOT_NONE */
    placement place[SLOT_COUNT];
    value_class values;
    gamma_class gamma;
    size_t tasks;   /* concurrency of the runner; 0: no runner */
    bool read_soon; /* the option that keeps large outputs in the cache */
} check_case;

int case_first_normalized(const check_case *c); /* axis, counted from the front */
int64_t case_rows(const check_case *c);
int64_t case_width(const check_case *c);
rmsnorm_dtype case_dtype(const check_case *c, slot s);

/* The tensor of a slot as the library is given it, without data. */
rmsnorm_tensor case_tensor(const check_case *c, slot s);

/* Bytes from the first to the last element of a slot, gaps between strided rows included. */
size_t case_extent(const check_case *c, slot s);

/* One line: operator, types, shapes, attributes, placement. */
void case_describe(const check_case *c, char *text, size_t size);

/* Kinds of cases. */
typedef struct family {
    const char *name;
    int count;      /* cases per combination in an ordinary run */
    int long_count; /* with --long */
    void (*draw)(check_case *c, rng *r);
} family;

extern const family families[];
extern const size_t family_count;

check_case case_draw(const combination *types, const family *kind, int index, uint64_t seed);

#endif
