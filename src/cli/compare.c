/* compare.c: is a computed tensor the expected one? */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "element.h"
#include "text.h"

/* The library is within a few ulp of the exact value; what a reference's file holds may be further off, because a plain sum of n
 * squares in its own type loses about sqrt(n) * 2^-24 (float) or sqrt(n) * 2^-53 (double) of the mean, half of it after the root.
 * For n = 65536 that is 8e-6 and 1.4e-14. The absolute parts are for results next to zero after a residual addition. float16 and
 * bfloat16 results are sums in float rounded once or twice: they may fall to either side of a tie, one ulp apart. */
rmsnorm_cli_tolerance rmsnorm_cli_tolerance_of(rmsnorm_dtype dtype, const rmsnorm_cli_tolerance *chosen)
{
    rmsnorm_cli_tolerance tolerance = {0, 0, 1, chosen->flushes};
    if (dtype == RMSNORM_FLOAT) {
        tolerance = (rmsnorm_cli_tolerance){1e-5, 1e-7, -1, chosen->flushes};
    } else if (dtype == RMSNORM_DOUBLE) {
        tolerance = (rmsnorm_cli_tolerance){1e-12, 1e-14, -1, chosen->flushes};
    }
    if (chosen->relative >= 0 || chosen->absolute >= 0) {
        tolerance.steps = -1;
        tolerance.relative = chosen->relative >= 0 ? chosen->relative : tolerance.relative;
        tolerance.absolute = chosen->absolute >= 0 ? chosen->absolute : tolerance.absolute;
    }
    return tolerance;
}

const char *rmsnorm_cli_tolerance_text(const rmsnorm_cli_tolerance *tolerance, char text[RMSNORM_CLI_TOLERANCE])
{
    char number[2][RMSNORM_CLI_NUMBER];
    if (tolerance->steps >= 0) {
        (void)snprintf(text, RMSNORM_CLI_TOLERANCE, "%" PRId64 " ulp", tolerance->steps);
    } else {
        (void)snprintf(text, RMSNORM_CLI_TOLERANCE, "%s + %s * |expected|",
                       rmsnorm_cli_number(tolerance->absolute, false, number[0]),
                       rmsnorm_cli_number(tolerance->relative, false, number[1]));
    }
    return text;
}

bool rmsnorm_cli_same_kind(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; ++i) {
        same = a->dims[i] == b->dims[i];
    }
    return same;
}

/* "[1,2]": where element `index` stands. */
static const char *position(const rmsnorm_tensor *tensor, int64_t index, char text[RMSNORM_CLI_SHAPE])
{
    rmsnorm_tensor place = {.rank = tensor->rank};
    for (int32_t i = tensor->rank; i-- > 0;) {
        place.dims[i] = index % tensor->dims[i];
        index /= tensor->dims[i];
    }
    return rmsnorm_cli_shape(&place, text);
}

static double difference_of(double actual, double expected)
{
    if ((isnan(actual) && isnan(expected)) || actual == expected) {
        return 0;
    }
    return isfinite(actual) && isfinite(expected) ? fabs(actual - expected) : (double)INFINITY;
}

void rmsnorm_cli_take_nearer(const rmsnorm_tensor *actual, rmsnorm_tensor *expected, const rmsnorm_tensor *other)
{
    const int64_t count = rmsnorm_tensor_count(expected);
    for (int64_t i = 0; i < count; ++i) {
        const double got = rmsnorm_cli_element(actual, i);
        const double second = rmsnorm_cli_element(other, i);
        if (difference_of(got, second) < difference_of(got, rmsnorm_cli_element(expected, i))) {
            rmsnorm_cli_element_store(expected, i, second);
        }
    }
}

static bool is_flushed(const rmsnorm_tensor *actual, int64_t index, double wanted)
{
    return wanted != 0 && fabs(wanted) < rmsnorm_cli_smallest_normal(actual->dtype) &&
           rmsnorm_cli_element(actual, index) == 0;
}

int rmsnorm_cli_compare(const char *name, const rmsnorm_tensor *actual, const rmsnorm_tensor *expected,
                        const rmsnorm_cli_tolerance *tolerance, rmsnorm_cli_difference *difference)
{
    char text[2][RMSNORM_CLI_SHAPE];
    *difference = (rmsnorm_cli_difference){0, 0};
    if (!rmsnorm_cli_same_kind(actual, expected)) {
        return rmsnorm_cli_fail("output '%s' is %s %s, expected is %s %s", name, rmsnorm_dtype_name(actual->dtype),
                                rmsnorm_cli_shape(actual, text[0]), rmsnorm_dtype_name(expected->dtype),
                                rmsnorm_cli_shape(expected, text[1]));
    }
    const bool stepwise = tolerance->steps >= 0 || rmsnorm_dtype_size(actual->dtype) == 2;
    const bool single = actual->dtype != RMSNORM_DOUBLE;
    const int64_t count = rmsnorm_tensor_count(actual);
    int64_t outside = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double wanted = rmsnorm_cli_element(expected, i);
        const bool excused = tolerance->flushes && is_flushed(actual, i, wanted);
        const double off = excused ? 0 : difference_of(rmsnorm_cli_element(actual, i), wanted);
        const uint64_t steps =
            stepwise && off > 0 && off < (double)INFINITY ? rmsnorm_cli_element_steps(actual, expected, i) : 0;
        difference->largest = off > difference->largest ? off : difference->largest;
        difference->steps = steps > difference->steps ? steps : difference->steps;
        const bool inside =
            off == 0 || (off < (double)INFINITY && (off <= tolerance->absolute + tolerance->relative * fabs(wanted) ||
                                                    (tolerance->steps >= 0 && steps <= (uint64_t)tolerance->steps)));
        if (!inside) {
            first = outside++ == 0 ? i : first;
        }
    }
    if (outside == 0) {
        return RMSNORM_CLI_DONE;
    }
    char numbers[3][RMSNORM_CLI_NUMBER];
    char allowed[RMSNORM_CLI_TOLERANCE];
    return rmsnorm_cli_fail(
        "output '%s': %" PRId64 " of %" PRId64 " elements are off by more than %s; %s is %s, expected %s; "
        "largest difference %s",
        name, outside, count, rmsnorm_cli_tolerance_text(tolerance, allowed), position(actual, first, text[0]),
        rmsnorm_cli_number(rmsnorm_cli_element(actual, first), single, numbers[0]),
        rmsnorm_cli_number(rmsnorm_cli_element(expected, first), single, numbers[1]),
        rmsnorm_cli_rounded(difference->largest, numbers[2]));
}

void rmsnorm_cli_results_free(rmsnorm_cli_results *results)
{
    free(results->names);
    free(results->differences);
    *results = (rmsnorm_cli_results){.count = 0};
}
