#include "oracle.h"

#include <math.h>
#include <stdlib.h>

int64_t oracle_rows(const oracle_call *call)
{
    int64_t rows = 1;
    for (int i = 0; i < call->axis; i++) {
        rows *= call->dims[i];
    }
    return rows;
}

int64_t oracle_width(const oracle_call *call)
{
    int64_t width = 1;
    for (int i = call->axis; i < call->rank; i++) {
        width *= call->dims[i];
    }
    return width;
}

/* ---- The operands of one element, widened ---- */

static double to_float(double value)
{
    return round_double(value, format_of(RMSNORM_FLOAT));
}

static double operand(const oracle_call *call, int64_t row, int64_t column)
{
    const int64_t width = oracle_width(call);
    const double x = element_load(call->t, call->input, (size_t)(row * width + column));
    if (call->skip_rows > 0) {
        const int64_t at = row % call->skip_rows * width + column;
        const double sum = to_float(x + element_load(call->t, call->skip, (size_t)at));
        return call->bias == NULL ? sum : to_float(sum + element_load(call->t, call->bias, (size_t)column));
    }
    const bool narrowed =
        call->kind == RMSNORM_RMS_NORMALIZATION && call->t == RMSNORM_DOUBLE && call->stash == RMSNORM_FLOAT;
    return narrowed ? to_float(x) : x;
}

/* NumPy: align the shapes at their last dims; a dim of 1 in the scale is the same element again. */
int64_t oracle_scale_index(const oracle_call *call, int64_t row, int64_t column)
{
    int64_t flat = row * oracle_width(call) + column;
    int64_t at = 0;
    int64_t step = 1;
    for (int i = 1; i <= call->scale_rank; i++) {
        const int64_t dim = call->dims[call->rank - i];
        const int64_t scale_dim = call->scale_dims[call->scale_rank - i];
        at += scale_dim == 1 ? 0 : flat % dim * step;
        flat /= dim;
        step *= scale_dim;
    }
    return at;
}

/* ---- Rows ---- */

static bool cancels(real mean, real total)
{
    return total.hi != 0 && fabs(ldexp(total.hi, total.exponent - mean.exponent)) < 0.25 * mean.hi;
}

static oracle_root finish_row(const oracle_call *call, real mean, real *root)
{
    const double epsilon = (double)call->epsilon;
    if (isnan(epsilon) || epsilon == -INFINITY) {
        return ORACLE_NAN;
    }
    if (isinf(epsilon)) {
        return ORACLE_INV_ZERO;
    }
    const real total = real_add(mean, real_from(epsilon));
    if (epsilon < 0 && cancels(mean, total)) {
        return ORACLE_UNJUDGED;
    }
    if (total.hi == 0) {
        return ORACLE_INV_INFINITE;
    }
    if (total.hi < 0) {
        return ORACLE_NAN;
    }
    *root = real_root(total);
    return ORACLE_FINITE;
}

oracle_row oracle_row_of(const oracle_call *call, int64_t index)
{
    oracle_row row = {.index = index, .kind = ORACLE_NAN};
    const int64_t width = oracle_width(call);
    double largest = 0;
    bool nan = false;
    for (int64_t i = 0; i < width; i++) {
        const double x = fabs(operand(call, index, i));
        nan = nan || isnan(x);
        largest = x > largest ? x : largest;
    }
    if (nan) {
        return row;
    }
    if (isinf(largest)) {
        row.kind = isnan(call->epsilon) || call->epsilon == -INFINITY ? ORACLE_NAN : ORACLE_INV_ZERO;
        return row;
    }
    square_sum sum = square_sum_start(largest);
    for (int64_t i = 0; i < width; i++) {
        square_sum_add(&sum, operand(call, index, i));
    }
    row.kind = finish_row(call, real_divide(square_sum_real(&sum), real_from((double)width)), &row.root);
    return row;
}

/* ---- Verdicts ---- */

static bool same(double want, double got)
{
    return isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got);
}

static oracle_verdict exactly(double want, double got)
{
    return (oracle_verdict){.fits = same(want, got), .want = want};
}

static bool narrow(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT16 || dtype == RMSNORM_BFLOAT16;
}

/* The type operators 1 and 2 compute in. */
static rmsnorm_dtype arithmetic(const oracle_call *call)
{
    return call->t == RMSNORM_DOUBLE || call->v == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
}

/* The type of RMSNormalization's middle value. */
static rmsnorm_dtype middle_type(const oracle_call *call)
{
    return format_of(call->t)->precision < format_of(call->stash)->precision ? call->t : call->stash;
}

bool oracle_rounds(const oracle_call *call)
{
    if (narrow(call->v)) {
        return true;
    }
    if (call->kind != RMSNORM_RMS_NORMALIZATION) {
        return call->v == RMSNORM_FLOAT && arithmetic(call) == RMSNORM_DOUBLE;
    }
    return middle_type(call) != call->stash || (call->v == RMSNORM_FLOAT && call->stash == RMSNORM_DOUBLE);
}

static double farthest(const oracle_call *call)
{
    return oracle_rounds(call) ? 1 : call->v == RMSNORM_FLOAT ? 3 : 4;
}

/* The error that one subnormal step in x / root causes in the product, in ulps of the output at the ideal. */
static double underflow_allowance(real quotient, double gamma, real ideal, const format *in, const format *out)
{
    if (quotient.exponent - 1 >= in->least_exponent) {
        return 0;
    }
    return ldexp(fabs(gamma), in->least_exponent - in->precision + 1 - real_ulp_exponent(ideal, out));
}

static oracle_verdict scaled(const oracle_call *call, const oracle_row *row, double x, double gamma, double got)
{
    const format *const out = format_of(call->v);
    const real ideal = real_divide(real_multiply(real_from(x), real_from(gamma)), row->root);
    const real quotient = real_divide(real_from(x), row->root);
    const double allowance = underflow_allowance(quotient, gamma, ideal, format_of(arithmetic(call)), out);
    oracle_verdict verdict = {.want = real_round(ideal, out), .judged = allowance == 0};
    if (isnan(got)) {
        return verdict;
    }
    verdict.ulps = real_ulps(ideal, got, out);
    verdict.rounded = got == verdict.want;
    verdict.fits = verdict.ulps <= farthest(call) + allowance && signbit(got) == signbit(ideal.hi);
    return verdict;
}

/* The product z * gamma as an element of V, and its exact value. */
static double product_of(double z, double gamma, const format *out, real *exact)
{
    if (z == 0 || gamma == 0 || !isfinite(z) || !isfinite(gamma)) {
        *exact = real_from(0);
        return z * gamma;
    }
    *exact = real_multiply(real_from(z), real_from(gamma));
    return real_round(*exact, out);
}

/* May the product be rounded twice? */
static bool product_does_not_fit(const oracle_call *call, real product)
{
    const bool wide = call->v == RMSNORM_DOUBLE || call->t == RMSNORM_DOUBLE;
    const format *const in = format_of(wide ? RMSNORM_DOUBLE : RMSNORM_FLOAT);
    const int bits = format_of(middle_type(call))->precision + format_of(call->v)->precision;
    return format_of(call->v)->precision < in->precision &&
           (bits > in->precision || product.exponent - 1 < in->least_exponent);
}

static oracle_verdict matched(const oracle_call *call, real quotient, double z, double gamma, double want, double got)
{
    const format *const out = format_of(call->v);
    const format *const middle = format_of(middle_type(call));
    oracle_verdict verdict = {.want = want, .fits = true};
    real product = {0};
    if (isinf(product_of(z, gamma, out, &product)) || product.hi == 0) {
        return verdict;
    }
    verdict.judged = true;
    verdict.rounded = got == want;
    if (middle_type(call) != call->stash) {
        verdict.ulps = real_ulps(product, got, out);
    } else if (call->v == RMSNORM_DOUBLE && call->stash == RMSNORM_FLOAT) {
        verdict.ulps = real_ulps(quotient, z, middle);
        verdict.fits = verdict.ulps <= 3;
    } else {
        verdict.ulps = real_ulps(real_multiply(quotient, real_from(gamma)), got, out);
        verdict.judged = quotient.exponent - 1 >= middle->least_exponent;
        verdict.fits = !verdict.judged || verdict.ulps <= farthest(call);
    }
    return verdict;
}

/* z rounded to the middle type, then times gamma. */
static oracle_verdict twice_rounded(const oracle_call *call, const oracle_row *row, double x, double gamma, double got)
{
    const format *const out = format_of(call->v);
    const format *const middle = format_of(middle_type(call));
    const format *const stash = format_of(call->stash);
    const real quotient = real_divide(real_from(x), row->root);
    const double z = real_round(quotient, middle);
    real product = {0};
    const double want = product_of(z, gamma, out, &product);
    if (same(want, got)) {
        return matched(call, quotient, z, gamma, want, got);
    }
    if (middle != stash) {
        double other = 0;
        const double distance = real_tie_distance(quotient, middle, &other);
        const int down = real_ulp_exponent(quotient, middle) - real_ulp_exponent(quotient, stash);
        real unused = {0};
        if (ldexp(distance, down) <= 2 && same(product_of(other, gamma, out, &unused), got)) {
            return matched(call, quotient, other, gamma, want, got);
        }
    } else {
        const int reach = call->stash == RMSNORM_FLOAT ? 3 : 4;
        for (int step = 1; step <= 2 * reach; step++) {
            const double near = format_step(z, (step & 1) != 0 ? (step + 1) / 2 : -step / 2, middle);
            real unused = {0};
            if (same(product_of(near, gamma, out, &unused), got)) {
                return matched(call, quotient, near, gamma, want, got);
            }
        }
    }
    oracle_verdict verdict = {.want = want, .judged = !isnan(got)};
    if (!isnan(got) && isfinite(gamma)) {
        verdict.ulps = real_ulps(product, got, out);
        verdict.fits = product_does_not_fit(call, product) && verdict.ulps <= 1 && signbit(got) == signbit(want);
    }
    return verdict;
}

oracle_verdict oracle_output(const oracle_call *call, const oracle_row *row, int64_t column, double got)
{
    if (row->kind == ORACLE_UNJUDGED) {
        return (oracle_verdict){.fits = true};
    }
    const double x = operand(call, row->index, column);
    const double gamma = element_load(call->v, call->scale, (size_t)oracle_scale_index(call, row->index, column));
    if (row->kind == ORACLE_NAN) {
        return exactly(NAN, got);
    }
    if (row->kind == ORACLE_INV_ZERO || row->kind == ORACLE_INV_INFINITE) {
        return exactly(x * (row->kind == ORACLE_INV_ZERO ? 0.0 : INFINITY) * gamma, got);
    }
    if (x == 0 || isnan(gamma)) {
        return exactly(x * gamma, got);
    }
    if (call->kind == RMSNORM_RMS_NORMALIZATION) {
        return twice_rounded(call, row, x, gamma, got);
    }
    if (gamma == 0 || isinf(gamma)) {
        return exactly(x * gamma, got);
    }
    return scaled(call, row, x, gamma, got);
}

oracle_verdict oracle_inverse(const oracle_call *call, const oracle_row *row, double got)
{
    if (row->kind != ORACLE_FINITE) {
        const double want = row->kind == ORACLE_NAN ? NAN : row->kind == ORACLE_INV_ZERO ? 0.0 : INFINITY;
        return row->kind == ORACLE_UNJUDGED ? (oracle_verdict){.fits = true} : exactly(want, got);
    }
    const format *const out = format_of(call->stash);
    const real ideal = real_divide(real_from(1), row->root);
    oracle_verdict verdict = {.want = real_round(ideal, out), .judged = true};
    if (!isnan(got)) {
        verdict.ulps = real_ulps(ideal, got, out);
        verdict.rounded = got == verdict.want;
        verdict.fits = verdict.ulps <= (call->stash == RMSNORM_FLOAT ? 2 : 4) && !signbit(got);
    }
    return verdict;
}

oracle_verdict oracle_sum(const oracle_call *call, const oracle_row *row, int64_t column, double got)
{
    return exactly(round_double(operand(call, row->index, column), format_of(call->t)), got);
}
