/* Slots, element types and single descriptors: the part of the checks that comes before any shape rule. */
#include "call_text.h"

#define X23 "float:2,3"
#define NORM "float:2,3 | float:3"
#define SKIP_NORM "float:2,3 | float:2,3 | float:3"

/* F2, F11: there is no beta, and RMSNormalization has one output. */
static void slots_past_the_last_are_refused(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    assert_refused(call_infer(SKIP, NULL, SKIP_NORM " | float:3 | float:3"), RMSNORM_INVALID_ARGUMENT, SKIP,
                   "input in slot 4", "(input, skip, gamma, bias), there is no beta");
    assert_refused(call_resolve(SKIP, NULL, SKIP_NORM " | float:3 | float:3", X23, &problem), RMSNORM_INVALID_ARGUMENT,
                   SKIP, "input in slot 4", "there is no beta");
    assert_refused(call_infer(RMS, NULL, NORM " | float:3"), RMSNORM_INVALID_ARGUMENT, RMS, "input in slot 2",
                   "(X, scale)");
    assert_refused(call_infer_outputs(RMS, NULL, NORM, "yy"), RMSNORM_INVALID_ARGUMENT, RMS, "output in slot 1", "(Y)");
    assert_refused(call_resolve(RMS, NULL, NORM, X23 " | float:2,1", &problem), RMSNORM_INVALID_ARGUMENT, RMS,
                   "output in slot 1", "(Y)");
    assert_refused(call_infer_outputs(SIMPLIFIED, NULL, NORM, "yyy"), RMSNORM_INVALID_ARGUMENT, SIMPLIFIED,
                   "output in slot 2", "(Y, inv_std_var)");
    assert_refused(call_infer_outputs(SKIP, NULL, SKIP_NORM, "yyyyy"), RMSNORM_INVALID_ARGUMENT, SKIP,
                   "output in slot 4", "input_skip_bias_sum");
}

/* F13: an empty name is nothing, wherever it stands. */
static void omitted_slots_past_the_last_are_nothing(void **state)
{
    (void)state;
    assert_string_equal(call_infer_outputs(RMS, NULL, NORM " | _ | _", "y__"), "float:2,3 | _ | _");
}

static void missing_required_inputs_are_refused_by_skip_and_by_every_run(void **state)
{
    (void)state;
    static const struct {
        const char *op, *inputs, *word;
        bool in_inference;
    } cases[] = {
        {SKIP, "_ | float:2,3 | float:3", "input (input slot 0) is missing", true},
        {SKIP, "float:2,3 | _ | float:3", "skip (input slot 1) is missing", true},
        {SKIP, "float:2,3 | float:2,3 | _ | float:3", "gamma (input slot 2) is missing", true},
        {SKIP, "float:2,3 | float:2,3", "gamma (input slot 2) is missing", true},
        {SKIP, "", "input (input slot 0) is missing", true},
        {RMS, "_ | float:3", "X (input slot 0) is missing", false},
        {RMS, "float:2,3", "scale (input slot 1) is missing", false},
        {SIMPLIFIED, "", "X (input slot 0) is missing", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        rmsnorm_problem problem;
        assert_refused(call_resolve(cases[i].op, NULL, cases[i].inputs, X23, &problem), RMSNORM_INVALID_ARGUMENT,
                       cases[i].op, cases[i].word, "allowed");
        const char *const inferred = call_infer(cases[i].op, NULL, cases[i].inputs);
        if (cases[i].in_inference) {
            assert_refused(inferred, RMSNORM_INVALID_ARGUMENT, cases[i].op, cases[i].word, "allowed");
        } else {
            assert_non_null(strstr(inferred, ":*"));
        }
    }
}

static void output_0_is_required_by_skip_and_by_every_run(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    assert_refused(call_infer_outputs(SKIP, NULL, SKIP_NORM, "_y_y"), RMSNORM_INVALID_ARGUMENT, SKIP,
                   "output (output slot 0) is missing", "allowed");
    assert_refused(call_infer_outputs(SKIP, NULL, SKIP_NORM, ""), RMSNORM_INVALID_ARGUMENT, SKIP,
                   "output (output slot 0)", "");
    assert_refused(call_resolve(SKIP, NULL, SKIP_NORM, "_ | _ | _ | float:2,3", &problem), RMSNORM_INVALID_ARGUMENT,
                   SKIP, "output (output slot 0) is missing", "allowed");
    assert_refused(call_resolve(RMS, NULL, NORM, "", &problem), RMSNORM_INVALID_ARGUMENT, RMS,
                   "Y (output slot 0) is missing", "");
    assert_refused(call_resolve(SIMPLIFIED, NULL, NORM, "_ | float:2,1", &problem), RMSNORM_INVALID_ARGUMENT,
                   SIMPLIFIED, "Y (output slot 0) is missing", "");
    assert_string_equal(call_infer_outputs(SIMPLIFIED, NULL, NORM, "_y"), "_ | float:2,1");
    assert_string_equal(call_infer_outputs(SIMPLIFIED, NULL, NORM, ""), "");
}

static void null_pointers_are_refused(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_parse(RMS);
    rmsnorm_tensor output = {.dtype = RMSNORM_FLOAT};
    rmsnorm_tensor *outputs[] = {&output};
    const rmsnorm_tensor *inputs[] = {NULL, NULL};
    rmsnorm_problem problem;
    assert_int_equal(rmsnorm_infer(NULL, NULL, inputs, 2, outputs, 1, NULL), RMSNORM_INVALID_ARGUMENT);
    assert_non_null(strstr(rmsnorm_last_error(), "operator is NULL"));
    assert_int_equal(rmsnorm_resolve(NULL, NULL, inputs, 2, outputs, 1, &problem), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_infer(op, NULL, NULL, 2, outputs, 1, NULL), RMSNORM_INVALID_ARGUMENT);
    assert_non_null(strstr(rmsnorm_last_error(), "array of inputs is NULL"));
    assert_int_equal(rmsnorm_infer(op, NULL, inputs, 2, NULL, 1, NULL), RMSNORM_INVALID_ARGUMENT);
    assert_non_null(strstr(rmsnorm_last_error(), "array of outputs is NULL"));
    assert_int_equal(rmsnorm_infer(op, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_OK);
}

/* F73, F75, F86, F122: every triple of types either runs or is UNSUPPORTED, in inference as in a run. */
static void every_type_triple_is_taken_or_unsupported(void **state)
{
    (void)state;
    static const char *const types[] = {"float", "float16", "double", "bfloat16", "int64", "int2", "type99"};
    static const char *const ops[] = {SIMPLIFIED, RMS, SKIP};
    for (size_t n = 0; n < (size_t)3 * 7 * 7 * 7; ++n) {
        const size_t o = n / 343;
        const char *const t = types[n / 49 % 7];
        const char *const v = types[n / 7 % 7];
        const char *const y = types[n % 7];
        const bool is_skip = o == 2;
        char inputs[128];
        char output[64];
        rmsnorm_problem problem;
        snprintf(inputs, sizeof inputs, is_skip ? "%s:2,3 | %s:2,3 | %s:3" : "%s:2,3 | %s:3", t, is_skip ? t : v, v);
        snprintf(output, sizeof output, "%s:2,3", y);
        const bool floats = n / 49 % 7 < 4 && n / 7 % 7 < 4;
        const bool taken = floats && (!is_skip || (t == v && strcmp(t, "double") != 0));
        const char *text = call_infer_outputs(ops[o], NULL, inputs, "y");
        if (taken) {
            char expected[64];
            snprintf(expected, sizeof expected, "%s:2,3", v);
            assert_string_equal(text, expected);
        } else {
            assert_refused(text, RMSNORM_UNSUPPORTED, ops[o], "element type", "allowed");
        }
        text = call_resolve(ops[o], NULL, inputs, output, &problem);
        if (taken && y == v) {
            assert_string_equal(text, "");
        } else {
            assert_refused(text, RMSNORM_UNSUPPORTED, ops[o], "element type", "allowed");
        }
    }
}

/* F46: the sentence names the argument, its type and the types there are. */
static void type_refusals_name_the_argument_and_the_types(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    assert_string_equal(call_infer(RMS, NULL, "float:2,3 | int64:3"),
                        "2: RMSNormalization: scale has element type int64; allowed: float, float16, double, bfloat16");
    assert_string_equal(
        call_infer(SKIP, NULL, "double:2,3 | double:2,3 | double:3"),
        "2: SkipSimplifiedLayerNormalization: input has element type double; allowed: float, float16, bfloat16");
    assert_string_equal(
        call_infer(SKIP, NULL, "float:2,3 | float:2,3 | float:3 | float16:3"),
        "2: SkipSimplifiedLayerNormalization: bias has element type float16, an input before it float; allowed: "
        "one type for all of T");
    assert_string_equal(
        call_infer(RMS, NULL, "type99:2,3 | float:3"),
        "2: RMSNormalization: X has element type 99 (unknown); allowed: float, float16, double, bfloat16");
    assert_string_equal(call_resolve(RMS, NULL, "?:2,3 | float:3", X23, &problem),
                        "2: RMSNormalization: X has element type undefined; allowed: float, float16, double, bfloat16");
    assert_string_equal(call_resolve(RMS, NULL, NORM, "float16:2,3", &problem),
                        "2: RMSNormalization: Y has element type float16; allowed: float");
}

/* F77, F75: the statistics are float, or double by stash_type, whatever X is. */
static void statistics_have_the_stash_type(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    assert_string_equal(call_infer(SIMPLIFIED, NULL, "float16:2,3 | float16:3"), "float16:2,3 | float:2,1");
    assert_string_equal(call_infer(SIMPLIFIED, "stash_type=11", "float16:2,3 | bfloat16:3"),
                        "bfloat16:2,3 | double:2,1");
    assert_string_equal(call_infer(SIMPLIFIED, NULL, "double:2,3 | double:3"), "double:2,3 | float:2,1");
    assert_string_equal(call_infer(SKIP, NULL, "bfloat16:2,3 | bfloat16:2,3 | bfloat16:3"),
                        "bfloat16:2,3 | float:2,1 | float:2,1 | bfloat16:2,3");
    assert_refused(call_resolve(SIMPLIFIED, "stash_type=11", NORM, "float:2,3 | float:2,1", &problem),
                   RMSNORM_UNSUPPORTED, SIMPLIFIED, "inv_std_var has element type float", "allowed: double");
    assert_string_equal(call_resolve(SIMPLIFIED, "stash_type=11", NORM, "float:2,3 | double:2,1", &problem), "");
    assert_int_equal(problem.rows.stash_dtype, RMSNORM_DOUBLE);
}

/* A struct filled by hand may hold anything in the fields of attributes that the operator does not have. */
static void attributes_of_other_operators_are_not_read(void **state)
{
    (void)state;
    assert_string_equal(call_infer(SKIP, "stash_type=11 axis=99 keep_dims=0", SKIP_NORM),
                        "float:2,3 | float:2,1 | float:2,1 | float:2,3");
    assert_string_equal(call_infer(RMS, "keep_dims=0", NORM), "float:2,3");
}

static void unknown_types_stay_unknown_unless_another_input_tells(void **state)
{
    (void)state;
    assert_string_equal(call_infer(SIMPLIFIED, NULL, "?:2,3 | float16:3"), "float16:2,3 | float:2,1");
    assert_string_equal(call_infer(SIMPLIFIED, NULL, "float16:2,3 | ?:3"), "?:2,3 | float:2,1");
    assert_string_equal(call_infer(SKIP, NULL, "?:2,3 | ?:2,3 | bfloat16:3"),
                        "bfloat16:2,3 | float:2,1 | float:2,1 | bfloat16:2,3");
    assert_refused(call_infer(SKIP, NULL, "?:2,3 | float16:2,3 | float:3"), RMSNORM_UNSUPPORTED, SKIP,
                   "gamma has element type float,", "float16");
    assert_string_equal(call_infer(SKIP, NULL, "?:2,3 | ?:2,3 | ?:3"), "?:2,3 | float:2,1 | float:2,1 | ?:2,3");
}

static void impossible_descriptors_are_refused(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_parse(SKIP);
    static const int32_t ranks[] = {-2, 17, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < (size_t)4 * 4; ++i) {
        call_side inputs;
        rmsnorm_tensor output;
        rmsnorm_tensor *outputs[] = {&output};
        call_parse(SKIP_NORM " | float:3", 0x1000, &inputs);
        inputs.tensors[i / 4].rank = ranks[i % 4];
        assert_int_equal(rmsnorm_infer(op, NULL, (const rmsnorm_tensor *const *)inputs.slots, 4, outputs, 1, NULL),
                         RMSNORM_INVALID_ARGUMENT);
        assert_non_null(strstr(rmsnorm_last_error(), op->inputs[i / 4].name));
        assert_non_null(strstr(rmsnorm_last_error(), "allowed: 0 to 16"));
    }
    assert_refused(call_infer(RMS, NULL, "float:2,-2 | float:3"), RMSNORM_INVALID_ARGUMENT, RMS,
                   "X has the shape (2,-2)", "allowed");
    assert_refused(call_infer(RMS, NULL, "float:2,3 | float:-9223372036854775808"), RMSNORM_INVALID_ARGUMENT, RMS,
                   "scale has the shape (-9223372036854775808)", "allowed");
    rmsnorm_problem problem;
    assert_refused(call_resolve(RMS, NULL, "float:2,N | float:3", X23, &problem), RMSNORM_INVALID_ARGUMENT, RMS,
                   "X has the shape (2,N)", "as numbers");
    assert_refused(call_resolve(RMS, NULL, "float:* | float:3", X23, &problem), RMSNORM_INVALID_ARGUMENT, RMS,
                   "X has rank -1", "");
    assert_refused(call_resolve(RMS, NULL, "float:2,3 | float:*", X23, &problem), RMSNORM_INVALID_ARGUMENT, RMS,
                   "scale has rank -1", "");
}

/* F32 on the CPU: a count or its bytes past int64 is refused, not wrapped. */
static void counts_past_int64_are_refused(void **state)
{
    (void)state;
    rmsnorm_problem problem;
    const char *const huge = "float:4294967296,4294967296 | float:1";
    assert_refused(call_infer(RMS, NULL, huge), RMSNORM_INVALID_ARGUMENT, RMS, "X has the shape", "2^63");
    assert_refused(call_resolve(RMS, NULL, huge, "float:4294967296,4294967296", &problem), RMSNORM_INVALID_ARGUMENT,
                   RMS, "X has", "");
    /* X fits and Y, wider, does not. */
    assert_refused(call_infer(RMS, NULL, "float16:2147483648,1073741824 | double:1"), RMSNORM_INVALID_ARGUMENT, RMS,
                   "Y would have the shape", "2^63");
    /* No elements, but no row either that could be told. */
    assert_refused(call_infer(RMS, "axis=1", "float:0,4294967296,4294967296 | float:1"), RMSNORM_INVALID_ARGUMENT, RMS,
                   "X has the shape", "per row");
    assert_string_equal(call_infer(RMS, NULL, "float:0,4294967296,4294967296 | float:1"),
                        "float:0,4294967296,4294967296");
    assert_refused(call_infer(RMS, "axis=1", "float:N,4294967296,4294967296 | float:1"), RMSNORM_INVALID_ARGUMENT, RMS,
                   "X has the shape", "per row");
    /* Statistics are fewer than the elements. */
    assert_string_equal(call_infer(SIMPLIFIED, "stash_type=11", "float16:1073741824,2147483648 | float16:1"),
                        "float16:1073741824,2147483648 | double:1073741824,1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_past_the_last_are_refused),
        cmocka_unit_test(omitted_slots_past_the_last_are_nothing),
        cmocka_unit_test(missing_required_inputs_are_refused_by_skip_and_by_every_run),
        cmocka_unit_test(output_0_is_required_by_skip_and_by_every_run),
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(every_type_triple_is_taken_or_unsupported),
        cmocka_unit_test(type_refusals_name_the_argument_and_the_types),
        cmocka_unit_test(statistics_have_the_stash_type),
        cmocka_unit_test(attributes_of_other_operators_are_not_read),
        cmocka_unit_test(unknown_types_stay_unknown_unless_another_input_tells),
        cmocka_unit_test(impossible_descriptors_are_refused),
        cmocka_unit_test(counts_past_int64_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
