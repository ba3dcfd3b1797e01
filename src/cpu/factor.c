#include "cpu/factor.h"

#include <float.h>
#include <math.h>

#include "cpu/special.h"

#define BLOCK_MINIMUM 16384

int64_t rmsnorm_block_length(int64_t n)
{
    const int64_t lanes = (n / RMSNORM_BLOCKS_MAXIMUM + RMSNORM_LANES) / RMSNORM_LANES * RMSNORM_LANES;
    return lanes > BLOCK_MINIMUM ? lanes : BLOCK_MINIMUM;
}

rmsnorm_sum rmsnorm_sum_row(rmsnorm_sum_kernel *kernel, const rmsnorm_row *row, int64_t n)
{
    const int64_t length = rmsnorm_block_length(n);
    rmsnorm_sum total = {0.0, 0.0};
    for (int64_t begin = 0; begin < n; begin += length) {
        const int64_t left = n - begin;
        total = rmsnorm_sum_add(total, kernel(row, begin, begin + (left < length ? left : length)));
    }
    return total;
}

/* mean + epsilon in double: three roundings of 2^-53 are far below float's precision. */
static double mean_square(rmsnorm_sum sum, int64_t n, double epsilon)
{
    const double total = isfinite(sum.high) ? sum.high + sum.low : sum.high;
    return total / (double)n + epsilon;
}

/* The same for results in double: mean + epsilon as v + v_low, then one Newton step on 1 / sqrt(v), so that inv is within
 * one rounding; without that step where v or 1 / v is near the end of the range. */
double rmsnorm_inverse_root(rmsnorm_sum sum, int64_t n, double epsilon)
{
    const double plain_v = mean_square(sum, n, epsilon);
    if (!(plain_v >= 0x1p-960 && plain_v <= 0x1p960)) {
        return 1.0 / sqrt(plain_v);
    }
    const double count = (double)n;
    const double total = sum.high + sum.low;
    const double total_low = sum.low - (total - sum.high);
    const double mean = total / count;
    const double mean_low = (fma(-mean, count, total) + total_low) / count;
    const rmsnorm_sum mean_parts = {mean, mean_low};
    const rmsnorm_sum epsilon_parts = {epsilon, 0.0};
    const rmsnorm_sum v = rmsnorm_sum_add(mean_parts, epsilon_parts);
    const double inv = 1.0 / sqrt(v.high);
    const double square = inv * inv;
    const double square_low = fma(inv, inv, -square);
    const double residual = fma(-v.high, square, 1.0) - v.high * square_low - v.low * square;
    return inv + 0.5 * inv * residual;
}

/* The factor inv * scale, scale being a power of two. Where that is no normal number of the stage's type, a power of two is
 * left to the elements: it loses bits of those alone whose result is below all numbers anyway. */
rmsnorm_factor rmsnorm_split_factor(double inv, double scale, double smallest, double largest)
{
    const double whole = inv * scale;
    rmsnorm_factor out = {whole, 1.0, false};
    if (whole >= smallest && whole <= largest) {
        return out;
    }
    out.special = true;
    if (inv > 0.0 && isfinite(inv)) {
        out.pre = whole < 1.0 ? 0x1p-64 : 0x1p64;
        out.inv = inv * (scale / out.pre);
    }
    return out;
}

/* Squares of doubles may leave the range of double: then once more with every element times a power of two. With a nonzero
 * epsilon (at least 2^-149) squares below 2^-900 do not matter. */
static rmsnorm_factor wide_factor(const rmsnorm_choice *choice, const rmsnorm_row *row, rmsnorm_sum sum, int64_t n,
                                  double epsilon)
{
    const double v = mean_square(sum, n, epsilon);
    double scale = 1.0;
    const bool leaves = !(v >= 0x1p-900 && v <= 0x1p900);
    if (leaves && choice->type_x == F64 && !(v < 0x1p-900 && epsilon != 0.0)) {
        scale = v < 0x1p-900 ? 0x1p600 : 0x1p-600;
        sum = rmsnorm_special_sum(row->input, scale, n);
        epsilon = epsilon * scale * scale;
    }
    return rmsnorm_split_factor(rmsnorm_inverse_root(sum, n, epsilon), scale, DBL_MIN, DBL_MAX);
}

/* From the sum of the row's squares that choice->sum gives. */
rmsnorm_factor rmsnorm_factor_of(const rmsnorm_choice *choice, const rmsnorm_row *row, rmsnorm_sum sum, int64_t n,
                                 double epsilon)
{
    if (rmsnorm_stage_is_wide(choice->form)) {
        return wide_factor(choice, row, sum, n, epsilon);
    }
    double v = mean_square(sum, n, epsilon);
    /* Float chains lose at most 2^-149 for each square that underflows: nothing, when the mean is above 2^-100. */
    if (choice->sum_in_range != NULL && !(v >= 0x1p-100 && v <= DBL_MAX)) {
        sum = rmsnorm_sum_row(choice->sum_in_range, row, n);
        v = mean_square(sum, n, epsilon);
    }
    return rmsnorm_split_factor(1.0 / sqrt(v), 1.0, FLT_MIN, FLT_MAX);
}
