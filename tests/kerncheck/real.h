/* real.h: the oracle's numbers: twice the precision of double, any exponent, and rounding to the element types.
 *
 * A real is (hi + lo) * 2^exponent with hi the double nearest to hi + lo: about 106 bits, and no product, quotient or
 * root of finite elements leaves its range. Nothing here is shared with the library, which is checked by it. */
#ifndef KERNCHECK_REAL_H
#define KERNCHECK_REAL_H

#include <stddef.h>

#include "rmsnorm/rmsnorm.h"

typedef struct real {
    double hi, lo; /* hi is 0 or in [0.5, 1) by magnitude */
    int exponent;
} real;

real real_from(double value); /* exact; finite */
real real_add(real a, real b);
real real_multiply(real a, real b);
real real_divide(real a, real b); /* b not 0 */
real real_root(real a);           /* a > 0 */

/* The sum of squares of finite values, each counted exactly but for the last of 106 bits. */
typedef struct square_sum {
    double hi, lo;
    int exponent; /* every value is below 2^exponent by magnitude */
} square_sum;

square_sum square_sum_start(double largest); /* no value added later is larger by magnitude */
void square_sum_add(square_sum *sum, double value);
real square_sum_real(const square_sum *sum);

/* A binary format of IEEE shape: `precision` bits, least normal exponent, largest finite value. */
typedef struct format {
    int precision;
    int least_exponent;
    double largest;
} format;

const format *format_of(rmsnorm_dtype dtype);

/* To nearest, ties to even, with subnormals; infinity past the largest finite value. */
double real_round(real value, const format *to);
double round_double(double value, const format *to); /* the same; NaN and infinities pass through */

/* The distance from value to got in units in the last place of the format at value; got infinite counts as the power of
 * two after the largest finite value. */
double real_ulps(real value, double got, const format *in);

/* One unit in the last place of the format at the value, as an exponent of 2. */
int real_ulp_exponent(real value, const format *in);

/* The distance from value to the nearest midpoint between two neighbours of the format, in the format's ulps, and the
 * neighbour on the other side of that midpoint than real_round(value). */
double real_tie_distance(real value, const format *to, double *other);

/* The value `steps` representable values away from a finite one, towards larger for positive steps. */
double format_step(double value, int steps, const format *in);

/* Elements in memory, any alignment. Storing rounds to nearest even; NaN becomes a quiet one. */
double element_load(rmsnorm_dtype dtype, const void *data, size_t index);
void element_store(rmsnorm_dtype dtype, void *data, size_t index, double value);

#endif
