/* compare.h: is a computed tensor the expected one? */
#ifndef RMSNORM_CLI_COMPARE_H
#define RMSNORM_CLI_COMPARE_H

#include <stdbool.h>

#include "rmsnorm/rmsnorm.h"

/* |actual - expected| <= absolute + relative * |expected|, or at most `steps` steps of the type apart. */
typedef struct rmsnorm_cli_tolerance {
    double relative, absolute;
    int64_t steps; /* below 0: steps are not counted */
    bool flushes;  /* zero will do for a subnormal number, as WGSL allows */
} rmsnorm_cli_tolerance;

/* By type, unless the user chose: a value below 0 in chosen is not chosen. What chosen says of flushes holds. */
rmsnorm_cli_tolerance rmsnorm_cli_tolerance_of(rmsnorm_dtype dtype, const rmsnorm_cli_tolerance *chosen);
/* "1e-7 + 1e-5 * |expected|", "1 ulp". */
#define RMSNORM_CLI_TOLERANCE 96
const char *rmsnorm_cli_tolerance_text(const rmsnorm_cli_tolerance *tolerance, char text[RMSNORM_CLI_TOLERANCE]);

typedef struct rmsnorm_cli_difference {
    double largest; /* infinity when a NaN or an infinity is not where it should be */
    uint64_t steps; /* the largest, where they are counted and for the 16-bit types; else 0 */
} rmsnorm_cli_difference;

/* What was compared; names are the model's or the package's. */
typedef struct rmsnorm_cli_results {
    size_t count;
    const char **names;
    rmsnorm_cli_difference *differences;
} rmsnorm_cli_results;
void rmsnorm_cli_results_free(rmsnorm_cli_results *results);

/* Of one type and one shape. */
bool rmsnorm_cli_same_kind(const rmsnorm_tensor *a, const rmsnorm_tensor *b);

/* Of two expected tensors like the actual one, the element of each place that is nearer to the actual one, into the first: for
 * results that may be either. */
void rmsnorm_cli_take_nearer(const rmsnorm_tensor *actual, rmsnorm_tensor *expected, const rmsnorm_tensor *other);

/* A different type, a different shape, or elements outside the tolerance are refused with a sentence. NaN equals NaN. */
int rmsnorm_cli_compare(const char *name, const rmsnorm_tensor *actual, const rmsnorm_tensor *expected,
                        const rmsnorm_cli_tolerance *tolerance, rmsnorm_cli_difference *difference);

#endif
