/* check.h: runs a case on every instruction set, judges the first by the oracle and the others by its bits. */
#ifndef KERNCHECK_CHECK_H
#define KERNCHECK_CHECK_H

#include "case.h"

#define MAX_ISAS RMSNORM_ISA_COUNT
#define POISON 0xFF /* what outputs hold before a call: a NaN of every type, of a payload that no input has */

typedef struct buffer {
    char *data;
    size_t capacity;
} buffer;

/* At least `bytes`; the content is lost when it grows. Ends the program when there is no memory. */
char *buffer_reserve(buffer *b, size_t bytes);

/* What one line of the report says. The rounding of its inverse root is an error that all elements of a row share, so
 * the mean error is taken over the rows' means. */
typedef struct tally {
    uint64_t calls, elements, judged, misrounded, rows;
    double largest_ulps, sum_of_row_means;
} tally;

double tally_mean(const tally *t);

/* Whether a mean error can be held to its bound of 0.5 ulp: the expected one is up to 0.475 (rows of one element, a large epsilon), the
 * standard deviation of one element about 0.35. */
bool tally_suffices(const tally *t);
#define ENOUGH_ROWS 100
#define ENOUGH_ELEMENTS 4000

typedef struct checker {
    rmsnorm_isa isas[MAX_ISAS];
    int isa_count;
    const rmsnorm_runner *runner; /* NULL: the case's own */
    uint64_t passed, failed;
    tally tallies[MAX_ISAS];
    guard guards[SLOT_COUNT];
    buffer golden[SLOT_COUNT];    /* inputs as drawn, contiguous */
    buffer reference[SLOT_COUNT]; /* outputs of the first instruction set, contiguous */
    buffer result[SLOT_COUNT];    /* outputs of the one at hand */
    buffer gamma;                 /* of the row level: broadcast in full */
} checker;

const rmsnorm_operator *operator_of(rmsnorm_operator_kind kind);

/* The case as the oracle sees it. */
oracle_call oracle_call_of(const checker *k, const check_case *c);

/* A failure: counted, and printed while there have been few. The text says what is wrong. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void check_fail(checker *k, const check_case *c, rmsnorm_isa isa, const char *text, ...);

/* The same for one element; `want` may be NULL where only the text can say it. */
void check_fail_element(checker *k, const check_case *c, rmsnorm_isa isa, slot s, size_t index, const void *got,
                        const void *want, const char *text);

size_t case_elements(const check_case *c, slot s);
size_t case_bytes(const check_case *c, slot s);

/* Draws the values of the inputs (and the epsilon that belongs to some of them). */
void case_fill(checker *k, check_case *c);

/* Runs the case and leaves the outputs in `into`, contiguous. False after a failure, which is reported: a refusal,
 * memory touched that is no output's, a fault. */
bool case_run(checker *k, const check_case *c, rmsnorm_isa isa, buffer into[SLOT_COUNT]);

/* Whether result holds the bits of reference, NaNs included; else a failure of this instruction set. */
bool case_same_bits(checker *k, const check_case *c, rmsnorm_isa isa);

void check_case_everywhere(checker *k, check_case *c);

/* The row level (rows.c): the same numbers through rmsnorm_rows_run, bit for bit as the reference. */
void check_rows_level(checker *k, const check_case *c, rmsnorm_isa isa);

/* Refused calls (refuse.c): every output keeps its poison and the sentence names the operator. */
void check_refusals(checker *k);

/* Calls f and survives its touching forbidden memory: false then. */
bool survives(void (*f)(void *argument), void *argument);

void checker_release(checker *k);

/* The same public calls, timed (bench.c). */
int bench_run(const checker *k, const char *filter, bool large);

#endif
