/* A run's own checks, and the problem that comes out. */
#include "call_text.h"

#define SKIP_CALL "float:2,3 | float:2,3 | float:3 | float:3"
#define SKIP_OUTPUTS "float:2,3 | float:2,1 | float:2,1 | float:2,3"

static const rmsnorm_rows *accepted(const char *op, const char *attributes, const char *inputs, const char *outputs)
{
    static rmsnorm_problem problem;
    assert_string_equal(call_resolve(op, attributes, inputs, outputs, &problem), "");
    return &problem.rows;
}

static void refused(const char *op, const char *inputs, const char *outputs, const char *word, const char *other_word)
{
    rmsnorm_problem problem;
    assert_refused(call_resolve(op, NULL, inputs, outputs, &problem), RMSNORM_INVALID_ARGUMENT, op, word, other_word);
}

static void outputs_are_what_inference_says(void **state)
{
    (void)state;
    refused(RMS, "float:2,3 | float:3", "float:2,4", "Y has the shape (2,4)", "allowed: (2,3)");
    refused(RMS, "float:2,3 | float:3", "float:6", "Y has the shape (6)", "allowed: (2,3)");
    refused(RMS, "float:2,3 | float:3", "float:2,3,1", "Y has the shape (2,3,1)", "allowed: (2,3)");
    refused(RMS, "float:2,3 | float:3", "float:*", "Y has the shape of unknown rank", "allowed: (2,3)");
    refused(RMS, "float:0,3 | float:3", "float:1,3", "Y has the shape (1,3)", "allowed: (0,3)");
    refused(SIMPLIFIED, "float:2,3 | float:3", "float:2,3 | float:2", "inv_std_var has the shape (2)",
            "allowed: (2,1)");
    refused(SIMPLIFIED, "float:2,3 | float:3", "float:2,3 | float:2,3", "inv_std_var has the shape (2,3)",
            "allowed: (2,1)");
    refused(SKIP, SKIP_CALL, "float:2,3 | float:2,2", "mean has the shape (2,2)", "allowed: (2,1)");
    refused(SKIP, SKIP_CALL, "float:2,3 | _ | float:1,1", "inv_std_var has the shape (1,1)", "allowed: (2,1)");
    refused(SKIP, SKIP_CALL, "float:2,3 | _ | _ | float:3,2", "input_skip_bias_sum has the shape (3,2)",
            "allowed: (2,3)");
}

static void data_is_required_where_there_are_elements(void **state)
{
    (void)state;
    refused(RMS, "float:2,3! | float:3", "float:2,3", "X has no data", "allowed: 6 elements of float");
    refused(RMS, "float:2,3 | float:3!", "float:2,3", "scale has no data", "allowed: 3 elements of float");
    refused(RMS, "float:2,3 | float:3", "float:2,3!", "Y has no data", "allowed: 6 elements of float");
    refused(RMS, "float:0,3! | float:3!", "float:0,3!", "scale has no data", "allowed: 3 elements of float");
    refused(SKIP, "float:2,3 | float:2,3! | float:3", "float:2,3", "skip has no data", "allowed: 6 elements");
    refused(SKIP, "float:2,3 | float:2,3 | float:3 | float:3!", "float:2,3", "bias has no data", "allowed: 3 elements");
    refused(SKIP, SKIP_CALL, "float:2,3!", "output has no data", "allowed: 6 elements");
    assert_int_equal(accepted(RMS, NULL, "float:0,3! | float:3", "float:0,3!")->rows, 0);
    assert_int_equal(accepted(RMS, NULL, "float:0,3! | float:0,3!", "float:0,3!")->rows, 0);
    assert_int_equal(accepted(SKIP, NULL, "float:2,0,3! | float:0,3! | float:3", "float:2,0,3!")->rows, 0);
}

/* F12: an optional output without data is skipped, whatever else its descriptor says. */
static void optional_outputs_without_data_are_skipped(void **state)
{
    (void)state;
    const rmsnorm_rows *rows = accepted(SKIP, NULL, SKIP_CALL, "float:2,3 | float:2,1! | ?:9! | float:2,3");
    assert_null(rows->inv_std_var);
    assert_non_null(rows->sum);
    rows = accepted(SKIP, NULL, SKIP_CALL, "float:2,3 | _ | float:2,1");
    assert_non_null(rows->inv_std_var);
    assert_null(rows->sum);
    assert_null(accepted(SIMPLIFIED, NULL, "float:2,3 | float:3", "float:2,3 | float:2,1!")->inv_std_var);
}

/* F92 */
static void row_strides_are_taken_where_rows_are_walked(void **state)
{
    (void)state;
    const rmsnorm_rows *rows = accepted(RMS, NULL, "float:2,3@9 | float:3", "float:2,3@4");
    assert_int_equal(rows->input_stride, 9);
    assert_int_equal(rows->output_stride, 4);
    rows = accepted(SKIP, NULL, "float:2,3@5 | float:2,3@6 | float:3", "float:2,3@7 | _ | _ | float:2,3@8");
    assert_int_equal(rows->input_stride, 5);
    assert_int_equal(rows->skip_stride, 6);
    assert_int_equal(rows->output_stride, 7);
    assert_int_equal(rows->sum_stride, 8);
    rows = accepted(SIMPLIFIED, "axis=1", "float:2,3,4@12 | float:4", "float:2,3,4@13 | float:2,1,1@1");
    assert_int_equal(rows->input_stride, 12);
    assert_int_equal(rows->output_stride, 13);
    rows = accepted(RMS, NULL, "float:2,3 | float:3@3", "float:2,3");
    assert_int_equal(rows->input_stride, 3);
    assert_int_equal(accepted(SIMPLIFIED, "axis=1", "float:2,3,4 | float:2,3,4@12", "float:2,3,4")->rows, 2);
    assert_int_equal(accepted(SKIP, NULL, "float:2,3 | float:2,3 | float:3@3 | float:3@3", "float:2,3")->rows, 2);
}

static void row_strides_too_short_or_out_of_place_are_refused(void **state)
{
    (void)state;
    refused(RMS, "float:2,3@2 | float:3", "float:2,3", "X has row_stride 2", "at least 3, the length of a row");
    refused(RMS, "float:2,3@-3 | float:3", "float:2,3", "X has row_stride -3", "at least 3");
    refused(RMS, "float:1,3@1 | float:3", "float:1,3", "X has row_stride 1", "at least 3");
    refused(RMS, "float:0,3@1 | float:3", "float:0,3", "X has row_stride 1", "at least 3");
    refused(RMS, "float:2,3 | float:3", "float:2,3@1", "Y has row_stride 1", "at least 3");
    refused(RMS, "float:2,3 | float:3@4", "float:2,3", "scale has row_stride 4", "allowed: 0 (contiguous) or 3");
    refused(RMS, "float:2,3 | float:2,3@4", "float:2,3", "scale has row_stride 4", "allowed: 0 (contiguous) or 3");
    refused(RMS, "float:2,3 | float:3@-1", "float:2,3", "scale has row_stride -1", "allowed: 0 (contiguous) or 3");
    refused(SKIP, "float:2,3 | float:2,3@2 | float:3", "float:2,3", "skip has row_stride 2", "at least 3");
    refused(SKIP, "float:2,3 | float:2,3 | float:3@4", "float:2,3", "gamma has row_stride 4",
            "allowed: 0 (contiguous) or 3");
    refused(SKIP, "float:2,3 | float:2,3 | float:3 | float:3@6", "float:2,3", "bias has row_stride 6", "allowed: 0");
    refused(SKIP, SKIP_CALL, "float:2,3 | float:2,1@2", "mean has row_stride 2", "allowed: 0 (contiguous) or 1");
    refused(SKIP, SKIP_CALL, "float:2,3 | _ | float:2,1@3", "inv_std_var has row_stride 3",
            "allowed: 0 (contiguous) or 1");
    refused(SKIP, SKIP_CALL, "float:2,3 | _ | _ | float:2,3@2", "input_skip_bias_sum has row_stride 2", "at least 3");
}

static void memory_past_the_address_space_is_refused(void **state)
{
    (void)state;
    refused(RMS, "float:2,3@9223372036854775807 | float:3", "float:2,3", "X has the shape (2,3) and row_stride",
            "address space");
    refused(RMS, "float:3,3@4611686018427387904 | float:3", "float:3,3", "X has the shape (3,3) and row_stride",
            "address space");
    refused(RMS, "float:5,3@4611686018427387904 | float:3", "float:5,3", "X has the shape (5,3) and row_stride",
            "address space");
    refused(RMS, "float:2,3&fffffffffffffff0 | float:3", "float:2,3", "X has the shape (2,3)", "address space");
    refused(RMS, "float:2,3 | float:3", "float:2,3&ffffffffffffffff", "Y has the shape (2,3)", "address space");
    refused(RMS, "float:2,3 | float:3&fffffffffffffffe", "float:2,3", "scale has the shape (3)", "address space");
    assert_int_equal(accepted(RMS, NULL, "float:1,3@9223372036854775807 | float:3", "float:1,3")->rows, 1);
    assert_int_equal(accepted(RMS, NULL, "float:2,3&ffffffffffffffe0 | float:3", "float:2,3")->rows, 2);
}

/* F31, F115: sizes and strides are 64 bits all the way. */
static void large_shapes_keep_64_bits(void **state)
{
    (void)state;
    const char *const far = "float16:4194305,512@4294967296&10000000000 | float16:512&1000";
    const rmsnorm_rows *const rows = accepted(RMS, NULL, far, "float16:4194305,512&100000000000000");
    assert_int_equal(rows->rows, 4194305);
    assert_int_equal(rows->hidden_size, 512);
    assert_true(rows->input_stride == (int64_t)1 << 32);
    assert_true(accepted(RMS, "axis=0", "float16:4294967296 | float16:&1000", "float16:4294967296")->hidden_size ==
                (int64_t)1 << 32);
}

static void every_field_of_the_problem_is_set(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    assert_string_equal(
        call_resolve(SKIP, "epsilon=0.5", "float16:2,5,3&1000 | float16:2,5,3&2000 | float16:3&3000 | float16:3&4000",
                     "float16:2,5,3&5000 | float:2,5,1&6000 | float:2,5,1&7000 | float16:2,5,3&8000", &problem),
        "");
    const rmsnorm_rows *rows = &problem.rows;
    assert_int_equal(rows->rows, 10);
    assert_int_equal(rows->hidden_size, 3);
    assert_int_equal(rows->dtype, RMSNORM_FLOAT16);
    assert_int_equal(rows->gamma_dtype, RMSNORM_FLOAT16);
    assert_int_equal(rows->stash_dtype, RMSNORM_FLOAT);
    assert_int_equal(rows->rounding, RMSNORM_ROUND_ONCE);
    assert_true(rows->epsilon == 0.5f);
    assert_true((uintptr_t)rows->input == 0x1000 && (uintptr_t)rows->skip == 0x2000 &&
                (uintptr_t)rows->gamma == 0x3000);
    assert_true((uintptr_t)rows->bias == 0x4000 && (uintptr_t)rows->output == 0x5000 &&
                (uintptr_t)problem.mean == 0x6000);
    assert_true((uintptr_t)rows->inv_std_var == 0x7000 && (uintptr_t)rows->sum == 0x8000);
    assert_true(rows->input_stride == 3 && rows->skip_stride == 3 && rows->output_stride == 3 && rows->sum_stride == 3);
    assert_int_equal(rows->skip_rows, 10);
    assert_int_equal(rows->gamma_stride, 0);

    assert_string_equal(
        call_resolve(RMS, "stash_type=11", "bfloat16:2,3&1000 | double:3&2000", "double:2,3&3000", &problem), "");
    assert_true(rows->dtype == RMSNORM_BFLOAT16 && rows->gamma_dtype == RMSNORM_DOUBLE &&
                rows->stash_dtype == RMSNORM_DOUBLE);
    assert_true(rows->rounding == RMSNORM_ROUND_TWICE && rows->epsilon == 1e-5f);
    assert_null(rows->skip);
    assert_null(rows->bias);
    assert_null(rows->sum);
    assert_null(rows->inv_std_var);
    assert_null(problem.mean);
    assert_true(rows->skip_stride == 0 && rows->skip_rows == 0 && rows->sum_stride == 0);

    assert_string_equal(
        call_resolve(SIMPLIFIED, NULL, "float:2,3&1000 | float:3&2000", "float:2,3&3000 | float:2,1&4000", &problem),
        "");
    assert_int_equal(rows->rounding, RMSNORM_ROUND_ONCE);
    assert_true((uintptr_t)rows->inv_std_var == 0x4000);
}

/* F24 */
static void skip_row_is_the_row_modulo_skip_rows(void **state)
{
    (void)state;
    assert_int_equal(accepted(SKIP, NULL, "float:3,2,8 | float:2,8 | float:8", "float:3,2,8")->skip_rows, 2);
    assert_int_equal(accepted(SKIP, NULL, "float:3,2,8 | float:1,2,8 | float:8", "float:3,2,8")->skip_rows, 2);
    assert_int_equal(accepted(SKIP, NULL, "float:3,2,8 | float:3,2,8 | float:8", "float:3,2,8")->skip_rows, 6);
    assert_int_equal(accepted(SKIP, NULL, "float:1,2,8 | float:1,2,8 | float:8", "float:1,2,8")->skip_rows, 2);
    assert_int_equal(accepted(SKIP, NULL, "float:6,8 | float:6,8 | float:8", "float:6,8")->skip_rows, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_what_inference_says),
        cmocka_unit_test(data_is_required_where_there_are_elements),
        cmocka_unit_test(optional_outputs_without_data_are_skipped),
        cmocka_unit_test(row_strides_are_taken_where_rows_are_walked),
        cmocka_unit_test(row_strides_too_short_or_out_of_place_are_refused),
        cmocka_unit_test(memory_past_the_address_space_is_refused),
        cmocka_unit_test(large_shapes_keep_64_bits),
        cmocka_unit_test(every_field_of_the_problem_is_set),
        cmocka_unit_test(skip_row_is_the_row_modulo_skip_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
