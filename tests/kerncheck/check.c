#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PRINTED 20
#define MOST_JUDGED 400000 /* elements; of larger tensors some rows only */

/* ---- Reports ---- */

static void print_case(const check_case *c, rmsnorm_isa isa)
{
    char text[1024];
    case_describe(c, text, sizeof(text));
    (void)printf("  %s, isa %s\n  again: kerncheck --case %llu --isa %s --filter \"%s, %s %d;\"\n", text,
                 rmsnorm_isa_name(isa), (unsigned long long)c->seed, rmsnorm_isa_name(isa), c->types->name, c->family,
                 c->index);
}

static bool count_failure(checker *k)
{
    k->failed++;
    if (k->failed == MAX_PRINTED + 1) {
        (void)printf("further failures are only counted\n");
    }
    return k->failed <= MAX_PRINTED;
}

void check_fail(checker *k, const check_case *c, rmsnorm_isa isa, const char *text, ...)
{
    if (!count_failure(k)) {
        return;
    }
    va_list arguments;
    va_start(arguments, text);
    (void)printf("FAILED: ");
    (void)vprintf(text, arguments);
    (void)printf("\n");
    va_end(arguments);
    print_case(c, isa);
}

static void print_element(const char *label, rmsnorm_dtype dtype, const void *element)
{
    const size_t size = rmsnorm_dtype_size(dtype);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        const uint16_t probe = 1;
        unsigned char little = 0;
        memcpy(&little, &probe, 1);
        bits = bits << 8 | ((const unsigned char *)element)[little == 1 ? size - 1 - i : i];
    }
    (void)printf("%s 0x%0*llx (%.17g)", label, (int)(2 * size), (unsigned long long)bits,
                 element_load(dtype, element, 0));
}

void check_fail_element(checker *k, const check_case *c, rmsnorm_isa isa, slot s, size_t index, const void *got,
                        const void *want, const char *text)
{
    if (!count_failure(k)) {
        return;
    }
    const bool statistic = s == SLOT_MEAN || s == SLOT_INVERSE;
    const size_t width = statistic ? 1 : (size_t)case_width(c);
    (void)printf("FAILED: %s row %zu column %zu: ", slot_name(s, c->types->kind), index / width, index % width);
    print_element("got", case_dtype(c, s), got);
    print_element(", want", case_dtype(c, s), want);
    (void)printf(": %s\n", text);
    print_case(c, isa);
}

char *buffer_reserve(buffer *b, size_t bytes)
{
    if (b->data == NULL || b->capacity < bytes) {
        free(b->data);
        b->capacity = bytes + 64;
        b->data = malloc(b->capacity);
        if (b->data == NULL) {
            (void)fprintf(stderr, "kerncheck: no memory for %zu bytes\n", bytes);
            exit(2);
        }
    }
    return b->data;
}

void checker_release(checker *k)
{
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        guard_release(&k->guards[s]);
        free(k->golden[s].data);
        free(k->reference[s].data);
        free(k->result[s].data);
    }
    free(k->gamma.data);
}

/* ---- Judgement ---- */

oracle_call oracle_call_of(const checker *k, const check_case *c)
{
    oracle_call call = {.kind = c->types->kind,
                        .t = c->types->t,
                        .v = c->types->v,
                        .stash = c->types->stash,
                        .rank = c->rank,
                        .axis = case_first_normalized(c),
                        .scale_rank = c->scale_rank,
                        .epsilon = c->epsilon,
                        .input = k->golden[SLOT_INPUT].data,
                        .scale = k->golden[SLOT_SCALE].data};
    memcpy(call.dims, c->dims, sizeof(call.dims));
    memcpy(call.scale_dims, c->scale_dims, sizeof(call.scale_dims));
    if (c->present[SLOT_SKIP]) {
        call.skip = k->golden[SLOT_SKIP].data;
        call.skip_rows = (int64_t)case_elements(c, SLOT_SKIP) / case_width(c);
        call.bias = c->present[SLOT_BIAS] ? k->golden[SLOT_BIAS].data : NULL;
    }
    return call;
}

static bool is_zero(const char *element)
{
    const char zeros[sizeof(float)] = {0};
    return memcmp(element, zeros, sizeof(zeros)) == 0;
}

static bool is_poison(const char *element, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)element[i] != POISON) {
            return false;
        }
    }
    return true;
}

static bool judge_element(checker *k, const check_case *c, slot s, size_t index, oracle_verdict verdict)
{
    const rmsnorm_dtype dtype = case_dtype(c, s);
    const size_t size = rmsnorm_dtype_size(dtype);
    const char *const got = k->reference[s].data + index * size;
    const bool unwritten = is_poison(got, size);
    if (verdict.fits && !unwritten) {
        return true;
    }
    char want[sizeof(double)] = {0};
    char text[64] = "not written";
    element_store(dtype, want, 0, verdict.want);
    if (!unwritten && verdict.ulps > 0) {
        (void)snprintf(text, sizeof(text), "%.4g ulp away", verdict.ulps);
    } else if (!unwritten) {
        (void)snprintf(text, sizeof(text), "this one has to be exact");
    }
    check_fail_element(k, c, k->isas[0], s, index, got, want, text);
    return false;
}

static bool judge_statistics(checker *k, const check_case *c, const oracle_call *call, const oracle_row *row)
{
    const size_t index = (size_t)row->index;
    if (c->present[SLOT_INVERSE]) {
        const double got = element_load(call->stash, k->reference[SLOT_INVERSE].data, index);
        if (!judge_element(k, c, SLOT_INVERSE, index, oracle_inverse(call, row, got))) {
            return false;
        }
    }
    if (!c->present[SLOT_MEAN]) {
        return true;
    }
    const oracle_verdict zero = {.fits = is_zero(k->reference[SLOT_MEAN].data + index * sizeof(float))};
    return judge_element(k, c, SLOT_MEAN, index, zero);
}

/* One row of every output; false at its first wrong element. */
static bool judge_row(checker *k, const check_case *c, const oracle_call *call, int64_t index, tally *t)
{
    const int64_t width = case_width(c);
    const oracle_row row = oracle_row_of(call, index);
    uint64_t judged = 0;
    double sum_of_ulps = 0;
    for (int64_t i = 0; i < width; i++) {
        const size_t at = (size_t)(index * width + i);
        const oracle_verdict verdict =
            oracle_output(call, &row, i, element_load(call->v, k->reference[SLOT_OUTPUT].data, at));
        if (!judge_element(k, c, SLOT_OUTPUT, at, verdict)) {
            return false;
        }
        if (verdict.judged) {
            judged++;
            t->misrounded += verdict.rounded ? 0 : 1;
            sum_of_ulps += verdict.ulps;
            t->largest_ulps = fmax(t->largest_ulps, verdict.ulps);
        }
        if (c->present[SLOT_SUM] &&
            !judge_element(k, c, SLOT_SUM, at,
                           oracle_sum(call, &row, i, element_load(call->t, k->reference[SLOT_SUM].data, at)))) {
            return false;
        }
    }
    t->judged += judged;
    t->rows += judged > 0 ? 1 : 0;
    t->sum_of_row_means += judged > 0 ? sum_of_ulps / (double)judged : 0;
    return judge_statistics(k, c, call, &row);
}

bool tally_suffices(const tally *t)
{
    return t->rows >= ENOUGH_ROWS && t->judged >= ENOUGH_ELEMENTS;
}

double tally_mean(const tally *t)
{
    return t->rows > 0 ? t->sum_of_row_means / (double)t->rows : 0;
}

static bool mean_error_fits(const check_case *c, const oracle_call *call, const tally *t)
{
    const bool held = call->v == RMSNORM_FLOAT && !oracle_rounds(call) && c->values == VALUES_NORMAL;
    return !held || !tally_suffices(t) || tally_mean(t) <= 0.5;
}

static void add_tally(tally *to, const tally *t)
{
    to->judged += t->judged;
    to->misrounded += t->misrounded;
    to->rows += t->rows;
    to->sum_of_row_means += t->sum_of_row_means;
    to->largest_ulps = fmax(to->largest_ulps, t->largest_ulps);
}

static bool judge(checker *k, const check_case *c, tally *t)
{
    const oracle_call call = oracle_call_of(k, c);
    const int64_t rows = case_rows(c);
    const int64_t step = rows * case_width(c) / MOST_JUDGED + 1;
    for (int64_t row = rows - 1; row >= 0; row -= step) {
        if (!judge_row(k, c, &call, row, t)) {
            return false;
        }
    }
    if (!mean_error_fits(c, &call, t)) {
        check_fail(k, c, k->isas[0], "mean error of the tensor is %.3f ulp", tally_mean(t));
        return false;
    }
    return true;
}

bool case_same_bits(checker *k, const check_case *c, rmsnorm_isa isa)
{
    for (slot s = SLOT_FIRST_OUTPUT; s < SLOT_COUNT; s++) {
        const size_t size = rmsnorm_dtype_size(case_dtype(c, s));
        const size_t count = c->present[s] ? case_elements(c, s) : 0;
        for (size_t i = 0; i < count; i++) {
            const char *const got = k->result[s].data + i * size;
            const char *const want = k->reference[s].data + i * size;
            if (memcmp(got, want, size) != 0) {
                check_fail_element(k, c, isa, s, i, got, want, "other bits than the first instruction set's");
                return false;
            }
        }
    }
    return true;
}

/* Outputs that may be written past the cache: with the option and without it, the bits are the same. */
#define ELEMENTS_PAST_CACHE 500000

void check_case_everywhere(checker *k, check_case *c)
{
    tally first = {0};
    case_fill(k, c);
    const uint64_t elements = (uint64_t)(case_rows(c) * case_width(c));
    for (int i = 0; i < k->isa_count; i++) {
        if (!case_run(k, c, k->isas[i], i == 0 ? k->reference : k->result)) {
            if (i == 0) {
                return; /* nothing to compare the others with */
            }
            continue;
        }
        bool good = i == 0 ? judge(k, c, &first) : case_same_bits(k, c, k->isas[i]);
        if (good && elements >= ELEMENTS_PAST_CACHE) {
            check_case other = *c;
            other.read_soon = !c->read_soon;
            good = case_run(k, &other, k->isas[i], k->result) && case_same_bits(k, &other, k->isas[i]);
        }
        k->passed += good ? 1 : 0;
        k->tallies[i].calls++;
        k->tallies[i].elements += elements;
        if (good) {
            add_tally(&k->tallies[i], &first);
            check_rows_level(k, c, k->isas[i]);
        }
    }
}
