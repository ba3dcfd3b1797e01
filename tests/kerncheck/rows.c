/* The row level must give what the operator level gives, whatever the strides and in whatever pieces it is called. */
#include "check.h"

#include <string.h>

#define MOST_ELEMENTS 20000
#define MANY_ELEMENTS (1 << 20)

typedef struct rows_call {
    rmsnorm_rows rows;
    rmsnorm_isa isa;
    rng pieces;
    int64_t count; /* the rows that are there; rows.rows may claim more, which are never asked for */
} rows_call;

/* [0, count) in pieces, the last one first; some of them empty. */
static void run_pieces(void *argument)
{
    rows_call *const call = argument;
    int64_t end = call->count;
    while (end > 0) {
        const int64_t begin = rng_between(&call->pieces, 0, end);
        rmsnorm_rows_run(&call->rows, begin, end, call->isa);
        end = begin;
    }
}

/* The scale, one row of it for every row of X. */
static void broadcast(checker *k, const check_case *c)
{
    const oracle_call call = oracle_call_of(k, c);
    const size_t size = rmsnorm_dtype_size(c->types->v);
    const int64_t width = case_width(c);
    char *const full = buffer_reserve(&k->gamma, (size_t)(case_rows(c) * width) * size);
    for (int64_t i = 0; i < case_rows(c) * width; i++) {
        const size_t at = (size_t)oracle_scale_index(&call, i / width, i % width);
        memcpy(full + (size_t)i * size, k->golden[SLOT_SCALE].data + at * size, size);
    }
}

/* An output of the row level, between guard pages, rows `stride` elements apart. */
static void *place_output(checker *k, const check_case *c, slot s, int64_t stride)
{
    if (!c->present[s]) {
        return NULL;
    }
    const int64_t width = s == SLOT_INVERSE ? 1 : case_width(c);
    const size_t bytes = (size_t)((case_rows(c) - 1) * stride + width) * rmsnorm_dtype_size(case_dtype(c, s));
    return guard_place(&k->guards[s], bytes, c->place[s], POISON);
}

static bool output_agrees(checker *k, const check_case *c, rmsnorm_isa isa, slot s, int64_t stride, bool first_row_only)
{
    const size_t size = rmsnorm_dtype_size(case_dtype(c, s));
    const size_t width = s == SLOT_INVERSE ? 1 : (size_t)case_width(c);
    if (!guard_intact(&k->guards[s])) {
        check_fail(k, c, isa, "rmsnorm_rows_run wrote outside of %s", slot_name(s, c->types->kind));
        return false;
    }
    for (size_t row = 0; row < (size_t)case_rows(c); row++) {
        for (size_t i = 0; i < width; i++) {
            const char *const got = k->guards[s].data + (row * (size_t)stride + i) * size;
            const char *const want = k->reference[s].data + ((first_row_only ? 0 : row * width) + i) * size;
            if (memcmp(got, want, size) != 0) {
                check_fail_element(k, c, isa, s, row * width + i, got, want,
                                   first_row_only ? "rmsnorm_rows_run with input stride 0 differs from rmsnorm_run"
                                                  : "rmsnorm_rows_run differs from rmsnorm_run");
                return false;
            }
        }
    }
    return true;
}

static bool compare_rows(checker *k, const check_case *c, rows_call *call, bool repeated)
{
    rmsnorm_rows *const rows = &call->rows;
    const int64_t width = rows->hidden_size;
    rows->output_stride = width + rng_between(&call->pieces, 0, 3);
    rows->sum_stride = width + rng_between(&call->pieces, 0, 3);
    rows->output = place_output(k, c, SLOT_OUTPUT, rows->output_stride);
    rows->sum = place_output(k, c, SLOT_SUM, rows->sum_stride);
    rows->inv_std_var = place_output(k, c, SLOT_INVERSE, 1);
    rows->input_stride = repeated ? 0 : width;
    rows->skip_stride = repeated ? 0 : width;
    rows->gamma_stride = repeated ? 0 : width;
    if (!survives(run_pieces, call)) {
        check_fail(k, c, call->isa, "rmsnorm_rows_run touched memory before or after a buffer");
        return false;
    }
    return output_agrees(k, c, call->isa, SLOT_OUTPUT, rows->output_stride, repeated) &&
           (rows->sum == NULL || output_agrees(k, c, call->isa, SLOT_SUM, rows->sum_stride, repeated)) &&
           (rows->inv_std_var == NULL || output_agrees(k, c, call->isa, SLOT_INVERSE, 1, repeated));
}

void check_rows_level(checker *k, const check_case *c, rmsnorm_isa isa)
{
    const int64_t elements = case_rows(c) * case_width(c);
    if (elements == 0 || elements > MOST_ELEMENTS || c->seed % 2 == 0) {
        return;
    }
    const oracle_call as_oracle = oracle_call_of(k, c);
    broadcast(k, c);
    rows_call call = {.isa = isa, .pieces = rng_seeded(c->seed + 1)};
    call.rows.rows = case_rows(c);
    call.rows.hidden_size = case_width(c);
    call.rows.dtype = c->types->t;
    call.rows.gamma_dtype = c->types->v;
    call.rows.stash_dtype = c->types->stash;
    call.rows.rounding = c->types->kind == RMSNORM_RMS_NORMALIZATION ? RMSNORM_ROUND_TWICE : RMSNORM_ROUND_ONCE;
    call.rows.epsilon = c->epsilon;
    call.rows.input = as_oracle.input;
    call.rows.skip = as_oracle.skip;
    call.rows.skip_rows = as_oracle.skip_rows;
    call.rows.bias = as_oracle.bias;
    call.rows.gamma = k->gamma.data;
    call.count = case_rows(c);
    k->passed += compare_rows(k, c, &call, false) ? 1 : 0;
    k->passed += compare_rows(k, c, &call, true) ? 1 : 0;
    /* As some rows of a call that is too large to keep input + skip from the first pass for the second. */
    call.rows.rows = call.count + MANY_ELEMENTS / call.rows.hidden_size;
    k->passed += compare_rows(k, c, &call, false) ? 1 : 0;
}
