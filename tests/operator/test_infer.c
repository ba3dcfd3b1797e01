/* What inference gives for calls that are legal: numeric, named, unknown. */
#include "call_text.h"

typedef struct legal {
    const char *op, *attributes, *inputs, *answer;
} legal;

static void check(const legal *cases, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        assert_string_equal(call_infer(cases[i].op, cases[i].attributes, cases[i].inputs), cases[i].answer);
    }
}

/* F6, F15, F41, F89 */
static void scale_broadcasts_to_x_in_every_legal_way(void **state)
{
    (void)state;
    static const char *const scales[] = {"",    "1",     "4",     "1,4",   "3,1",   "3,4",
                                         "1,1", "1,3,4", "2,1,4", "2,3,4", "2,1,1", "1,1,1"};
    static const char *const axes[] = {"axis=-1", "axis=0", "axis=1", "axis=2", "axis=-2", "axis=-3"};
    static const char *const statistics[] = {"2,3,1", "1,1,1", "2,1,1", "2,3,1", "2,1,1", "1,1,1"};
    for (size_t i = 0; i < (size_t)12 * 6; ++i) {
        char inputs[64];
        char expected[64];
        snprintf(inputs, sizeof inputs, "float16:2,3,4 | float:%s", scales[i / 6]);
        snprintf(expected, sizeof expected, "float:2,3,4 | float:%s", statistics[i % 6]);
        assert_string_equal(call_infer(SIMPLIFIED, axes[i % 6], inputs), expected);
        assert_string_equal(call_infer(RMS, axes[i % 6], inputs), "float:2,3,4");
    }
}

/* F11, F12, F58: every subset of the optional outputs; slots keep their places. */
static void optional_outputs_are_positional_in_every_subset(void **state)
{
    (void)state;
    static const char *const parts[] = {"float16:B,S,H", "float:B,S,1", "float:B,S,1", "float16:B,S,H"};
    for (unsigned subset = 0; subset < 8; ++subset) {
        char wanted[5] = "y";
        char expected[256] = "float16:B,S,H";
        for (unsigned slot = 1; slot < 4; ++slot) {
            const bool is_wanted = (subset >> (slot - 1) & 1) != 0;
            wanted[slot] = is_wanted ? 'y' : '_';
            const size_t length = strlen(expected);
            snprintf(expected + length, sizeof expected - length, " | %s", is_wanted ? parts[slot] : "_");
        }
        const size_t length = strlen(expected);
        snprintf(expected + length, sizeof expected - length, " ; 1 <= input[2] (H) <= 2147483647");
        assert_string_equal(call_infer_outputs(SKIP, NULL, "float16:B,S,H | float16:B,S,H | float16:H", wanted),
                            expected);
    }
}

static void names_are_kept_and_constraints_returned(void **state)
{
    (void)state;
    static const legal cases[] = {
        {SKIP, NULL, "float:B,S,H | float:N,S,H | float:K | float:H",
         "float:B,S,H | float:B,S,1 | float:B,S,1 | float:B,S,H ; skip[0] (N) = 1 or input[0] (B) ; gamma[0] (K) = input[2] (H) ; "
         "1 <= input[2] (H) <= 2147483647"},
        {SKIP, NULL, "float:B,S,H | float:1,S,H | float:H",
         "float:B,S,H | float:B,S,1 | float:B,S,1 | float:B,S,H ; 1 <= input[2] (H) <= 2147483647"},
        {SKIP, NULL, "float:B,S,H | float:T,H | float:H",
         "float:B,S,H | float:B,S,1 | float:B,S,1 | float:B,S,H ; skip[0] (T) = input[1] (S) ; 1 <= input[2] (H) <= 2147483647"},
        {SKIP, NULL, "float:B,S,64 | float:4,S,64 | float:64",
         "float:B,S,64 | float:B,S,1 | float:B,S,1 | float:B,S,64 ; skip[0] (4) = input[0] (B)"},
        {SKIP, NULL, "float:1,S,64 | float:N,S,64 | float:64",
         "float:1,S,64 | float:1,S,1 | float:1,S,1 | float:1,S,64 ; skip[0] (N) = input[0] (1)"},
        {SKIP, NULL, "float:4,S,64 | float:N,S,64 | float:64",
         "float:4,S,64 | float:4,S,1 | float:4,S,1 | float:4,S,64 ; skip[0] (N) = 1 or input[0] (4)"},
        {SIMPLIFIED, NULL, "float:B,S,H | float:H", "float:B,S,H | float:B,S,1 ; 1 <= X[2] (H)"},
        {SIMPLIFIED, NULL, "float:B,S,H | float:K",
         "float:B,S,H | float:B,S,1 ; scale[0] (K) = 1 or X[2] (H) ; 1 <= X[2] (H)"},
        {SIMPLIFIED, "axis=1", "float:B,S,H | float:S,H", "float:B,S,H | float:B,1,1 ; 1 <= X[1] (S) ; 1 <= X[2] (H)"},
        {SIMPLIFIED, NULL, "float:B,S,64 | float:S,1", "float:B,S,64 | float:B,S,1"},
        {SIMPLIFIED, NULL, "float:B,1 | float:K", "float:B,1 | float:B,1 ; scale[0] (K) = X[1] (1)"},
        {RMS, NULL, "float:S,S | float:S,1", "float:S,S ; 1 <= X[1] (S)"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* Only what is certain is filled in, and a name is never replaced by a number. */
static void nameless_dims_are_told_by_other_inputs(void **state)
{
    (void)state;
    static const legal cases[] = {
        {SKIP, NULL, "float:?,?,? | float:?,?,? | float:64",
         "float:?,?,64 | float:?,?,1 | float:?,?,1 | float:?,?,64 ; skip[0] (?) = 1 or input[0] (?) ; skip[1] (?) = input[1] (?) ; "
         "skip[2] (?) = input[2] (?) ; gamma[0] (64) = input[2] (?)"},
        {SKIP, NULL, "float:?,?,H | float:3,5,H | float:64",
         "float:3,5,H | float:3,5,1 | float:3,5,1 | float:3,5,H ; skip[0] (3) = input[0] (?) ; skip[1] (5) = input[1] (?) ; "
         "gamma[0] (64) = input[2] (H)"},
        {SKIP, NULL, "float:?,?,64 | float:1,S,64 | float:64",
         "float:?,S,64 | float:?,S,1 | float:?,S,1 | float:?,S,64 ; skip[1] (S) = input[1] (?)"},
        {SKIP, NULL, "float:?,?,? | float:1,S,64 | float:K",
         "float:?,S,64 | float:?,S,1 | float:?,S,1 | float:?,S,64 ; skip[1] (S) = input[1] (?) ; skip[2] (64) = input[2] (?) ; "
         "gamma[0] (K) = input[2] (?)"},
        {SIMPLIFIED, NULL, "float:?,? | float:64", "float:?,64 | float:?,1 ; scale[0] (64) = X[1] (?)"},
        {SIMPLIFIED, NULL, "float:?,? | float:1", "float:?,? | float:?,1 ; 1 <= X[1] (?)"},
        {SIMPLIFIED, NULL, "float:?,? | float:K",
         "float:?,? | float:?,1 ; scale[0] (K) = 1 or X[1] (?) ; 1 <= X[1] (?)"},
        {SIMPLIFIED, NULL, "float:?,8 | float:5,1", "float:5,8 | float:5,1 ; scale[0] (5) = X[0] (?)"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* F59: types are set when a shape is not, and absent outputs are left alone (call_infer_outputs looks). */
static void types_are_set_without_a_shape(void **state)
{
    (void)state;
    static const legal cases[] = {
        {SIMPLIFIED, NULL, "float16:* | float:64", "float:* | float:*"},
        {SIMPLIFIED, "stash_type=11", "float16:2,3 | float16:*", "float16:2,3 | double:2,1"},
        {SIMPLIFIED, "axis=0", "?:* | ?:*", "?:* | float:*"},
        {SIMPLIFIED, "stash_type=11", "_ | float16:3", "float16:* | double:*"},
        {SIMPLIFIED, NULL, "float:2,3", "?:* | float:*"},
        {SIMPLIFIED, NULL, "", "?:* | float:*"},
        {RMS, NULL, "_ | bfloat16:3", "bfloat16:*"},
        {SKIP, NULL, "float16:* | float16:* | float16:*", "float16:* | float:* | float:* | float16:*"},
        {SKIP, NULL, "float16:* | float16:2,64 | float16:K",
         "float16:* | float:* | float:* | float16:* ; gamma[0] (K) = skip[1] (64)"},
        {SKIP, NULL, "float16:* | float16:* | float16:K | float16:L",
         "float16:* | float:* | float:* | float16:* ; bias[0] (L) = gamma[0] (K) ; 1 <= gamma[0] (K) <= 2147483647"},
        {SKIP, NULL, "float16:2,3 | float16:* | float16:*", "float16:2,3 | float:2,1 | float:2,1 | float16:2,3"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
    assert_string_equal(call_infer_outputs(SKIP, NULL, "float16:* | float16:* | float16:*", "y__y"),
                        "float16:* | _ | _ | float16:*");
}

/* F63, F64 */
static void zero_rows_and_rows_of_one_element_are_legal(void **state)
{
    (void)state;
    static const legal cases[] = {
        {RMS, NULL, "float:0,8 | float:8", "float:0,8"},
        {RMS, NULL, "float:1,0,8 | float:8", "float:1,0,8"},
        {RMS, NULL, "float:0,8 | float:0,8", "float:0,8"},
        {RMS, NULL, "float:0,8 | float:1,8", "float:0,8"},
        {RMS, NULL, "float:7,1 | float:1", "float:7,1"},
        {RMS, NULL, "float:1 | float:", "float:1"},
        {SIMPLIFIED, "axis=1", "float:0,2,4 | float:2,1", "float:0,2,4 | float:0,1,1"},
        {SKIP, NULL, "float:0,8 | float:0,8 | float:8", "float:0,8 | float:0,1 | float:0,1 | float:0,8"},
        {SKIP, NULL, "float:0,3,8 | float:1,3,8 | float:8", "float:0,3,8 | float:0,3,1 | float:0,3,1 | float:0,3,8"},
        {SKIP, NULL, "float:2,0,8 | float:0,8 | float:8", "float:2,0,8 | float:2,0,1 | float:2,0,1 | float:2,0,8"},
        {SKIP, NULL, "float:0,3,8 | float:0,3,8 | float:8", "float:0,3,8 | float:0,3,1 | float:0,3,1 | float:0,3,8"},
        {SKIP, NULL, "float:5,1 | float:5,1 | float:1", "float:5,1 | float:5,1 | float:5,1 | float:5,1"},
        {SKIP, NULL, "float:1,2147483647 | float:1,2147483647 | float:2147483647",
         "float:1,2147483647 | float:1,1 | float:1,1 | float:1,2147483647"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

static void an_output_may_be_the_descriptor_of_an_input(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_parse(SIMPLIFIED);
    call_side sides;
    call_parse("float16:B,? | float:64", 0x1000, &sides);
    rmsnorm_tensor *const outputs[] = {sides.slots[1], sides.slots[0]};
    assert_int_equal(rmsnorm_infer(op, NULL, (const rmsnorm_tensor *const *)sides.slots, 2, outputs, 2, NULL),
                     RMSNORM_OK);
    assert_int_equal(outputs[0]->rank, 2);
    assert_string_equal(outputs[0]->dim_names[0], "B");
    assert_int_equal(outputs[0]->dims[1], 64);
    assert_int_equal(outputs[1]->dims[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_broadcasts_to_x_in_every_legal_way),
        cmocka_unit_test(optional_outputs_are_positional_in_every_subset),
        cmocka_unit_test(names_are_kept_and_constraints_returned),
        cmocka_unit_test(nameless_dims_are_told_by_other_inputs),
        cmocka_unit_test(types_are_set_without_a_shape),
        cmocka_unit_test(zero_rows_and_rows_of_one_element_are_legal),
        cmocka_unit_test(an_output_may_be_the_descriptor_of_an_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
