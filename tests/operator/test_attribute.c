#include <locale.h>
#include <math.h>

#include "call_text.h"
#include "operator/attribute.h"

static const rmsnorm_operator *simplified, *skip_op, *rms;

static int find_operators(void **state)
{
    (void)state;
    simplified = rmsnorm_operator_parse(SIMPLIFIED);
    skip_op = rmsnorm_operator_parse(SKIP);
    rms = rmsnorm_operator_parse(RMS);
    return 0;
}

static void assert_sentence(const char *word, const char *other_word)
{
    if (strstr(rmsnorm_last_error(), word) == NULL || strstr(rmsnorm_last_error(), other_word) == NULL) {
        fail_msg("'%s' lacks '%s' or '%s'", rmsnorm_last_error(), word, other_word);
    }
}

/* F9, F42, F88 */
static void epsilon_left_out_is_1e_12_for_skip_and_1e_5_for_the_others(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    rmsnorm_attributes_init(skip_op, &a);
    assert_true(a.epsilon == 1e-12f);
    rmsnorm_attributes_init(rms, &a);
    assert_true(a.epsilon == 1e-5f && a.axis == -1 && a.stash_type == 1);
    rmsnorm_attributes_init(simplified, &a);
    assert_true(a.epsilon == 1e-5f && a.axis == -1 && a.stash_type == 1 && a.keep_dims == 1);
    rmsnorm_attributes_init(NULL, &a);
    rmsnorm_attributes_init(skip_op, NULL);
}

static void set_changes_the_one_attribute_named(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    rmsnorm_attributes_init(simplified, &a);
    assert_int_equal(rmsnorm_attributes_set_int(simplified, &a, "axis", -3), RMSNORM_OK);
    assert_int_equal(rmsnorm_attributes_set_int(simplified, &a, "stash_type", 11), RMSNORM_OK);
    assert_int_equal(rmsnorm_attributes_set_int(simplified, &a, "keep_dims", 1), RMSNORM_OK);
    assert_int_equal(rmsnorm_attributes_set_float(simplified, &a, "epsilon", 0.25f), RMSNORM_OK);
    assert_true(a.axis == -3 && a.stash_type == 11 && a.keep_dims == 1 && a.epsilon == 0.25f);
}

static void unknown_attributes_are_refused_naming_those_there_are(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    rmsnorm_attributes_init(rms, &a);
    const rmsnorm_attributes before = a;
    assert_int_equal(rmsnorm_attributes_set_int(rms, &a, "keep_dims", 1), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("RMSNormalization: no attribute 'keep_dims'", "axis, epsilon, stash_type");
    assert_int_equal(rmsnorm_attributes_set_int(skip_op, &a, "axis", -1), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("SkipSimplifiedLayerNormalization: no attribute 'axis'", "allowed: epsilon");
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, "eps=1"), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("'eps'", "axis, epsilon, stash_type");
    assert_int_equal(rmsnorm_attributes_set_float(rms, &a, "", 1.0f), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_float(rms, &a, "epsilonx", 1.0f), RMSNORM_INVALID_ARGUMENT);
    assert_memory_equal(&a, &before, sizeof a);
}

static void almost_right_attributes_are_corrected(void **state)
{
    (void)state;
    static const char *const given[][2] = {{"axes=1", "axis"},
                                           {"Axis=1", "axis"},
                                           {"axs=1", "axis"},
                                           {"eps=1", "epsilon"},
                                           {"epsilom=1", "epsilon"},
                                           {"epsillon=1", "epsilon"},
                                           {"stashType=1", "stash_type"},
                                           {"stash=1", "stash_type"}};
    char sentence[128];
    rmsnorm_attributes a;
    rmsnorm_attributes_init(rms, &a);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_parse(rms, &a, given[i][0]), RMSNORM_INVALID_ARGUMENT);
        (void)snprintf(sentence, sizeof sentence, "; did you mean '%s'? allowed: axis, epsilon, stash_type",
                       given[i][1]);
        assert_sentence("RMSNormalization: no attribute '", sentence);
    }
}

/* Little in common with any name, or far longer: nothing is suggested. */
static void other_attributes_are_not_taken_for_ours(void **state)
{
    (void)state;
    char longer[400] = "";
    memset(longer, 'a', sizeof longer - 1);
    char repeated[120] = "";
    for (size_t i = 0; i < 14; ++i) {
        memcpy(repeated + 7 * i, "epsilon", 8);
    }
    const char *const given[] = {longer, repeated, "", "a", "ax", "e", "bias", "mean", "gamma", "type", "axis_of_x"};
    rmsnorm_attributes a;
    rmsnorm_attributes_init(rms, &a);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_set_int(rms, &a, given[i], 1), RMSNORM_INVALID_ARGUMENT);
        assert_sentence("RMSNormalization: no attribute '", "'; allowed: axis, epsilon, stash_type");
    }
}

static void kinds_are_strict(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    rmsnorm_attributes_init(rms, &a);
    const rmsnorm_attributes before = a;
    assert_int_equal(rmsnorm_attributes_set_int(rms, &a, "epsilon", 1), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("RMSNormalization: epsilon is a float attribute", "int 1");
    assert_int_equal(rmsnorm_attributes_set_float(rms, &a, "axis", -1.0f), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("RMSNormalization: axis is an int attribute", "float -1");
    assert_memory_equal(&a, &before, sizeof a);
}

/* F56 and the contract: what no shape could make legal is refused when it is set, and again when it was written by hand. */
static void impossible_values_are_refused_when_set_and_when_used(void **state)
{
    (void)state;
    static const struct {
        const char *op, *name;
        int64_t value;
        rmsnorm_status status;
        const char *word;
    } cases[] = {
        {SIMPLIFIED, "keep_dims", 0, RMSNORM_INVALID_ARGUMENT, "keep_dims is 0; allowed: 1"},
        {SIMPLIFIED, "keep_dims", 2, RMSNORM_INVALID_ARGUMENT, "keep_dims is 2; allowed: 1"},
        {SIMPLIFIED, "stash_type", 10, RMSNORM_UNSUPPORTED,
         "stash_type is 10 (float16); allowed: 1 (float) or 11 (double)"},
        {RMS, "stash_type", 10, RMSNORM_UNSUPPORTED, "stash_type is 10 (float16); allowed: 1 (float) or 11 (double)"},
        {RMS, "stash_type", 16, RMSNORM_UNSUPPORTED, "stash_type is 16 (bfloat16); allowed: 1 (float) or 11 (double)"},
        {RMS, "stash_type", 0, RMSNORM_UNSUPPORTED, "stash_type is 0"},
        {RMS, "stash_type", INT64_MIN, RMSNORM_UNSUPPORTED, "stash_type is -9223372036854775808"},
        {RMS, "stash_type", ((int64_t)1 << 32) + 1, RMSNORM_UNSUPPORTED, "stash_type is 4294967297"},
        {RMS, "axis", INT64_MIN, RMSNORM_INVALID_ARGUMENT, "axis is -9223372036854775808; allowed: in [-r, r)"},
        {RMS, "axis", INT64_MAX, RMSNORM_INVALID_ARGUMENT, "axis is 9223372036854775807; allowed: in [-r, r)"},
        {SIMPLIFIED, "axis", 16, RMSNORM_INVALID_ARGUMENT, "axis is 16"},
        {SIMPLIFIED, "axis", -17, RMSNORM_INVALID_ARGUMENT, "axis is -17"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const rmsnorm_operator *const op = rmsnorm_operator_parse(cases[i].op);
        rmsnorm_attributes a;
        rmsnorm_attributes_init(op, &a);
        const rmsnorm_attributes before = a;
        assert_int_equal(rmsnorm_attributes_set_int(op, &a, cases[i].name, cases[i].value), cases[i].status);
        assert_sentence(op->name, cases[i].word);
        assert_memory_equal(&a, &before, sizeof a);

        char text[64];
        rmsnorm_problem problem;
        snprintf(text, sizeof text, "%s=%lld", cases[i].name, (long long)cases[i].value);
        assert_int_equal(rmsnorm_attributes_parse(op, &a, text), cases[i].status);
        assert_refused(call_infer(cases[i].op, text, "float:2,3 | float:3"), cases[i].status, op->name, cases[i].word,
                       "");
        assert_refused(call_infer(cases[i].op, text, "float:* | float:*"), cases[i].status, op->name, cases[i].word,
                       "");
        assert_refused(call_resolve(cases[i].op, text, "float:2,3 | float:3", "float:2,3", &problem), cases[i].status,
                       op->name, cases[i].word, "");
    }
}

static void epsilon_is_any_float_except_for_skip(void **state)
{
    (void)state;
    static const float odd[] = {-1.0f, NAN, INFINITY, -INFINITY, -0x1p-149f};
    rmsnorm_attributes a;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_set_float(rms, &a, "epsilon", odd[i]), RMSNORM_OK);
        assert_memory_equal(&a.epsilon, &odd[i], sizeof odd[i]);
        assert_int_equal(rmsnorm_attributes_set_float(simplified, &a, "epsilon", odd[i]), RMSNORM_OK);
        rmsnorm_attributes_init(skip_op, &a);
        assert_int_equal(rmsnorm_attributes_set_float(skip_op, &a, "epsilon", odd[i]), RMSNORM_INVALID_ARGUMENT);
        assert_sentence("SkipSimplifiedLayerNormalization: epsilon is ", "allowed: finite and >= 0");
        assert_true(a.epsilon == 1e-12f);
    }
    static const char *const texts[] = {"epsilon=-1", "epsilon=nan", "epsilon=inf", "epsilon=-inf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        rmsnorm_problem problem;
        const char *const inputs = "float:2,3 | float:2,3 | float:3";
        assert_refused(call_infer(SKIP, texts[i], inputs), RMSNORM_INVALID_ARGUMENT, SKIP, "epsilon is",
                       "finite and >= 0");
        assert_refused(call_resolve(SKIP, texts[i], inputs, "float:2,3", &problem), RMSNORM_INVALID_ARGUMENT, SKIP,
                       "epsilon is", "finite and >= 0");
        assert_string_equal(call_infer(RMS, texts[i], "float:2,3 | float:3"), "float:2,3");
    }
    assert_int_equal(rmsnorm_attributes_set_float(skip_op, &a, "epsilon", 0.0f), RMSNORM_OK);
    assert_int_equal(rmsnorm_attributes_set_float(skip_op, &a, "epsilon", -0.0f), RMSNORM_OK);
    assert_int_equal(rmsnorm_attributes_set_float(skip_op, &a, "epsilon", 3e38f), RMSNORM_OK);
}

static void check_parsed_floats(void)
{
    static const struct {
        const char *text;
        float value;
    } cases[] = {{"epsilon=1e-6", 1e-6f},
                 {"epsilon=1", 1.0f},
                 {"epsilon=+0.5", 0.5f},
                 {"epsilon=-2.5E0", -2.5f},
                 {"epsilon=0x1p-20", 0x1p-20f},
                 {"epsilon=.5", 0.5f},
                 {"epsilon=inf", INFINITY},
                 {"epsilon=-Infinity", -INFINITY},
                 {"epsilon=1e-60", 0.0f},
                 {"epsilon=1e-40", 1e-40f},
                 {"epsilon=16777217", 16777216.0f},
                 {"epsilon=5.", 5.0f}};
    rmsnorm_attributes a;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_parse(rms, &a, cases[i].text), RMSNORM_OK);
        assert_true(a.epsilon == cases[i].value);
    }
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, "epsilon=nan"), RMSNORM_OK);
    assert_true(isnan(a.epsilon));
    static const char *const refused[] = {
        "epsilon=",      "epsilon= 1", "epsilon=1 ",   "epsilon=1e40", "epsilon=-1e39", "epsilon=1x",    "epsilon=1,5",
        "epsilon=1.2.3", "epsilon=e",  "epsilon=0.5f", "epsilon=\n1",  "epsilon=.",     "epsilon=nan()", "epsilon=--1"};
    rmsnorm_attributes_init(rms, &a);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_parse(rms, &a, refused[i]), RMSNORM_INVALID_ARGUMENT);
        assert_sentence("RMSNormalization: epsilon is '", "allowed: a float number, any float");
        assert_true(a.epsilon == 1e-5f);
    }
}

static void floats_are_read_from_text(void **state)
{
    (void)state;
    check_parsed_floats();
    char longer[400] = "epsilon=0.";
    memset(longer + strlen(longer), '0', 300);
    rmsnorm_attributes a;
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, longer), RMSNORM_INVALID_ARGUMENT);
}

static void floats_are_read_alike_in_every_locale(void **state)
{
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof comma / sizeof comma[0]; ++i) {
        found = setlocale(LC_NUMERIC, comma[i]) != NULL;
    }
    if (!found) {
        skip();
    }
    check_parsed_floats();
    setlocale(LC_NUMERIC, "C");
}

static void ints_are_read_from_text(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    rmsnorm_attributes_init(rms, &a);
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, "axis=-2"), RMSNORM_OK);
    assert_int_equal(a.axis, -2);
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, "axis=+1"), RMSNORM_OK);
    assert_int_equal(a.axis, 1);
    static const char *const refused[] = {"axis=",
                                          "axis=1.0",
                                          "axis= 1",
                                          "axis=1 ",
                                          "axis=0x1",
                                          "axis=one",
                                          "axis=-",
                                          "axis=+-1",
                                          "axis=9223372036854775808",
                                          "axis=-9223372036854775809",
                                          "axis=1e0"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        assert_int_equal(rmsnorm_attributes_parse(rms, &a, refused[i]), RMSNORM_INVALID_ARGUMENT);
        assert_sentence("RMSNormalization: axis is '", "in [-r, r)");
        assert_int_equal(a.axis, 1);
    }
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, "axis"), RMSNORM_INVALID_ARGUMENT);
    assert_sentence("attribute 'axis' has no value", "NAME=VALUE");
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    rmsnorm_attributes a;
    assert_int_equal(rmsnorm_attributes_set_int(NULL, &a, "axis", 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_int(rms, NULL, "axis", 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_int(rms, &a, NULL, 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_float(NULL, &a, "epsilon", 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_float(rms, NULL, "epsilon", 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_set_float(rms, &a, NULL, 1), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_parse(NULL, &a, "axis=1"), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_parse(rms, NULL, "axis=1"), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_attributes_parse(rms, &a, NULL), RMSNORM_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilon_left_out_is_1e_12_for_skip_and_1e_5_for_the_others),
        cmocka_unit_test(set_changes_the_one_attribute_named),
        cmocka_unit_test(unknown_attributes_are_refused_naming_those_there_are),
        cmocka_unit_test(almost_right_attributes_are_corrected),
        cmocka_unit_test(other_attributes_are_not_taken_for_ours),
        cmocka_unit_test(kinds_are_strict),
        cmocka_unit_test(impossible_values_are_refused_when_set_and_when_used),
        cmocka_unit_test(epsilon_is_any_float_except_for_skip),
        cmocka_unit_test(floats_are_read_from_text),
        cmocka_unit_test(floats_are_read_alike_in_every_locale),
        cmocka_unit_test(ints_are_read_from_text),
        cmocka_unit_test(null_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, find_operators, NULL);
}
