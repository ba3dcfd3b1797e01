/* Contract 4.5: which memory an output may share. Addresses are made up; nothing is read or written. */
#include <stdlib.h>

#include "call_text.h"

static void accepted(const char *op, const char *inputs, const char *outputs)
{
    rmsnorm_problem problem;
    assert_string_equal(call_resolve(op, NULL, inputs, outputs, &problem), "");
}

static void refused(const char *op, const char *inputs, const char *outputs, const char *word, const char *other_word)
{
    rmsnorm_problem problem;
    assert_refused(call_resolve(op, NULL, inputs, outputs, &problem), RMSNORM_INVALID_ARGUMENT, op, word, other_word);
}

/* F27, F28 */
static void an_output_may_be_exactly_an_input(void **state)
{
    (void)state;
    accepted(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&1000");
    accepted(RMS, "float:2,4@9&1000 | float:4&2000", "float:2,4@9&1000");
    accepted(RMS, "float:1,4@9&1000 | float:4&2000", "float:1,4@5&1000"); /* one row: the stride is never taken */
    accepted(SIMPLIFIED, "float16:2,4&1000 | float:2,4&2000", "float:2,4&2000");
    accepted(SIMPLIFIED, "float:2,1&1000 | float:1&2000", "float:2,1&3000 | float:2,1&1000");
    accepted(SKIP, "float:2,4&1000 | float:2,4&2000 | float:4&3000", "float:2,4&1000 | _ | _ | float:2,4&2000");
    accepted(SKIP, "float:2,4&1000 | float:2,4&2000 | float:4&3000", "float:2,4&2000 | _ | _ | float:2,4&1000");
    accepted(SKIP, "float:2,4&1000 | float:2,4&1000 | float:4&3000", "float:2,4&1000");
    accepted(SKIP, "float:1,2,4&1000 | float:1,2,4&2000 | float:4&3000", "float:1,2,4&2000");
}

static void the_same_memory_as_something_else_is_refused(void **state)
{
    (void)state;
    refused(RMS, "float16:2,4&1000 | bfloat16:4&2000", "bfloat16:2,4&1000", "Y overlaps X",
            "same type, shape and stride");
    refused(RMS, "float:2,4@9&1000 | float:4&2000", "float:2,4&1000", "Y overlaps X", "stride");
    refused(RMS, "float:2,4@9&1000 | float:4&2000", "float:2,4@8&1000", "Y overlaps X", "stride");
    refused(RMS, "float:1,4&1000 | float:4&2000", "float:1,4&2000", "Y overlaps scale", "shape");
    refused(SKIP, "float:1,4&1000 | float:1,4&2000 | float:4&3000", "float:1,4&3000", "output overlaps gamma", "shape");
    refused(SKIP, "float:1,4&1000 | float:1,4&2000 | float:4&3000 | float:4&4000", "float:1,4&4000",
            "output overlaps bias", "shape");
    refused(SIMPLIFIED, "float:2,2&1000 | float:1,2&2000", "float:2,2&3000 | float:2,1&2000",
            "inv_std_var overlaps scale", "shape");
    refused(SKIP, "float:1,2,4&1000 | float:2,4&2000 | float:4&3000", "float:1,2,4&2000", "output overlaps skip",
            "shape");
    refused(SKIP, "float:3,2,4&1000 | float:1,2,4&2000 | float:4&3000", "float:3,2,4&2000", "output overlaps skip",
            "shape");
}

static void a_partial_overlap_is_refused(void **state)
{
    (void)state;
    refused(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&1004", "Y overlaps X", "allowed");
    refused(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&101f", "Y overlaps X", "allowed");
    refused(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&fe1", "Y overlaps X", "allowed");
    accepted(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&1020");
    accepted(RMS, "float:2,4&1000 | float:4&2000", "float:2,4&fe0");
    refused(RMS, "float:2,4&1000 | float:4&1010", "float:2,4&1000", "Y overlaps scale", "allowed");
    refused(SIMPLIFIED, "float:2,4&1000 | float:4&2000", "float:2,4&3000 | float:2,1&100c", "inv_std_var overlaps X",
            "allowed");
    refused(SKIP, "float:2,4&1000 | float:2,4&2000 | float:4&3000", "float:2,4&4000 | _ | _ | float:2,4&2ff0",
            "input_skip_bias_sum overlaps gamma", "allowed");
}

static void two_outputs_never_share(void **state)
{
    (void)state;
    const char *const inputs = "float:2,4&1000 | float:2,4&2000 | float:4&3000";
    refused(SKIP, inputs, "float:2,4&4000 | _ | _ | float:2,4&4000", "input_skip_bias_sum overlaps output",
            "each output");
    refused(SKIP, inputs, "float:2,4&1000 | _ | _ | float:2,4&1000", "input_skip_bias_sum overlaps output",
            "each output");
    refused(SKIP, inputs, "float:2,4&4000 | float:2,1&5000 | float:2,1&5000", "inv_std_var overlaps mean",
            "each output");
    refused(SKIP, inputs, "float:2,4&4000 | float:2,1&4010", "mean overlaps output", "each output");
    refused(SIMPLIFIED, "float:2,4&1000 | float:4&2000", "float:2,4&4000 | float:2,1&401c", "inv_std_var overlaps Y",
            "each output");
    accepted(SIMPLIFIED, "float:2,4&1000 | float:4&2000", "float:2,4&4000 | float:2,1&4020");
    accepted(SKIP, inputs, "float:2,4&4000 | float:2,1&4020 | float:2,1&4028 | float:2,4&4030");
}

static void inputs_may_share_as_they_like(void **state)
{
    (void)state;
    accepted(SKIP, "float:2,4&1000 | float:2,4&1004 | float:4&1008 | float:4&1008", "float:2,4&2000");
    accepted(RMS, "float:2,4&1000 | float:4&1010", "float:2,4&2000");
}

static void empty_tensors_overlap_nothing(void **state)
{
    (void)state;
    accepted(RMS, "float:0,4&1000 | float:4&1000", "float:0,4&1000");
    accepted(SKIP, "float:0,4&1000 | float:0,4&1000 | float:4&1000", "float:0,4&1000 | _ | _ | float:0,4&1000");
}

/* F92: heads of one packed buffer lie between each other's rows without touching. */
static void heads_of_a_packed_buffer_do_not_overlap(void **state)
{
    (void)state;
    accepted(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@12&1010");
    accepted(RMS, "float:5,4@12&1010 | float:4&2000", "float:5,4@12&1000");
    accepted(RMS, "float:5,4@12&1020 | float:4&2000", "float:5,4@12&1000");
    accepted(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@12&10d0");
    refused(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@12&100c", "Y overlaps X", "allowed");
    refused(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@12&1024", "Y overlaps X", "allowed");
    refused(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@12&1030", "Y overlaps X", "allowed");
    /* A single row in the gap between two others. */
    accepted(RMS, "float:1,4&1010 | float:4&2000", "float:1,4&1000");
    accepted(RMS, "float:5,4@12&1000 | float:4&1010", "float:5,4@12&1020");
    /* Different strides are not looked into. */
    refused(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@24&1010", "Y overlaps X", "allowed");
    accepted(RMS, "float:5,4@12&1000 | float:4&2000", "float:5,4@24&10d0");
    accepted(RMS, "float:5,4@24&10d0 | float:4&2000", "float:5,4@12&1000");
}

/* ---- Against a byte map ---------------------------------------------------------------------- */

static uint32_t random_state = 11;

static int random_below(int limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)limit);
}

enum { MAP = 512 };

static void mark(unsigned char map[MAP], int begin, int rows, int row, int stride, unsigned char bit)
{
    for (int r = 0; r < rows; ++r) {
        for (int b = 0; b < row; ++b) {
            map[begin + r * stride + b] |= bit;
        }
    }
}

/* Two strided views with one stride, or one of them a single row: refused exactly when a byte belongs to both. */
static void equal_strides_are_decided_exactly(void **state)
{
    (void)state;
    int overlaps = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        const int length = 1 + random_below(4);
        const int stride = length + random_below(6);
        const int rows = 1 + random_below(5);
        const int x_at = random_below(120) * 2;
        const int y_at = random_below(120) * 2 + (random_below(4) == 0);
        unsigned char map[MAP] = {0};
        char inputs[96];
        char outputs[96];
        rmsnorm_problem problem;
        mark(map, x_at, rows, 2 * length, 2 * stride, 1);
        mark(map, y_at, rows, 2 * length, 2 * stride, 2);
        bool overlap = false;
        for (int i = 0; i < MAP; ++i) {
            overlap = overlap || map[i] == 3;
        }
        snprintf(inputs, sizeof inputs, "float16:%d,%d@%d&%x | float16:1&10000", rows, length, stride,
                 0x1000u + (unsigned)x_at);
        snprintf(outputs, sizeof outputs, "float16:%d,%d@%d&%x", rows, length, stride, 0x1000u + (unsigned)y_at);
        const bool is_refused = call_resolve(SIMPLIFIED, NULL, inputs, outputs, &problem)[0] != '\0';
        if (is_refused != (overlap && x_at != y_at)) {
            fail_msg("%s -> %s: refused %d, overlap %d", inputs, outputs, is_refused, overlap);
        }
        overlaps += overlap;
    }
    assert_true(overlaps > 1000 && overlaps < 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_may_be_exactly_an_input),
        cmocka_unit_test(the_same_memory_as_something_else_is_refused),
        cmocka_unit_test(a_partial_overlap_is_refused),
        cmocka_unit_test(two_outputs_never_share),
        cmocka_unit_test(inputs_may_share_as_they_like),
        cmocka_unit_test(empty_tensors_overlap_nothing),
        cmocka_unit_test(heads_of_a_packed_buffer_do_not_overlap),
        cmocka_unit_test(equal_strides_are_decided_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
