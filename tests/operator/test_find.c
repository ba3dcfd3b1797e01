#include <stdlib.h>

#include "call_text.h"

static void assert_not_found(const rmsnorm_operator *op, const char *word, const char *other_word)
{
    assert_null(op);
    assert_non_null(strstr(rmsnorm_last_error(), word));
    assert_non_null(strstr(rmsnorm_last_error(), other_word));
}

static void domains_have_the_spellings_of_the_contract(void **state)
{
    (void)state;
    const char *const skip = "SkipSimplifiedLayerNormalization";
    assert_ptr_equal(rmsnorm_operator_find("", SIMPLIFIED, 17), rmsnorm_operator_at(0));
    assert_ptr_equal(rmsnorm_operator_find("ai.onnx", SIMPLIFIED, 0), rmsnorm_operator_at(0));
    assert_ptr_equal(rmsnorm_operator_find(NULL, SIMPLIFIED, 1), rmsnorm_operator_at(0));
    assert_ptr_equal(rmsnorm_operator_find("com.microsoft", SIMPLIFIED, 1), rmsnorm_operator_at(0));
    assert_ptr_equal(rmsnorm_operator_find("com.microsoft", skip, 1), rmsnorm_operator_at(1));
    assert_ptr_equal(rmsnorm_operator_find("", RMS, 0), rmsnorm_operator_at(2));
    assert_not_found(rmsnorm_operator_find("", skip, 1), "ai.onnx::Skip", "did you mean com.microsoft::Skip");
    assert_not_found(rmsnorm_operator_find("com.microsoft", RMS, 1), "com.microsoft::RMS", "did you mean ai.onnx::RMS");
    assert_not_found(rmsnorm_operator_find("ai.onnx.ml", SIMPLIFIED, 1),
                     "ai.onnx.ml::", "did you mean ai.onnx::Simplified");
}

/* F84 */
static void rms_normalization_is_there_from_opset_23_on(void **state)
{
    (void)state;
    assert_non_null(rmsnorm_operator_find("", RMS, 23));
    assert_non_null(rmsnorm_operator_find("", RMS, 24));
    assert_non_null(rmsnorm_operator_find("", RMS, 25));
    assert_non_null(rmsnorm_operator_find("", RMS, INT64_MAX));
    assert_not_found(rmsnorm_operator_find("", RMS, 22), "RMSNormalization: not in opset 22 of ai.onnx",
                     "since opset 23");
    assert_not_found(rmsnorm_operator_find("", RMS, 1), "opset 1 ", "since opset 23");
    assert_not_found(rmsnorm_operator_find("", RMS, -1), "RMSNormalization", "opset version is -1");
    assert_not_found(rmsnorm_operator_find("", SIMPLIFIED, INT64_MIN), "opset version", "1 and up");
}

static void almost_right_names_are_corrected(void **state)
{
    (void)state;
    static const char *const given[] = {"RMSNorm",          "rmsnormalization", "RMS_Normalization",
                                        "RMSNormalisation", "RMSNormalizaton",  "rms_norm"};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i) {
        assert_not_found(rmsnorm_operator_find("", given[i], 0), given[i], "did you mean ai.onnx::RMSNormalization?");
    }
    assert_not_found(rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNorm", 1), "SkipSimplifiedLayerNorm;",
                     "did you mean com.microsoft::SkipSimplifiedLayerNormalization?");
    assert_not_found(rmsnorm_operator_parse("com.microsft::SkipSimplifiedLayerNormalization"),
                     "com.microsft::", "did you mean");
}

static void other_operators_are_not_taken_for_ours(void **state)
{
    (void)state;
    static const char *const given[] = {"LayerNormalization",
                                        "SkipLayerNormalization",
                                        "Relu",
                                        "",
                                        "Norm",
                                        "x",
                                        "RMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSRMSNormalization"};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; ++i) {
        assert_not_found(rmsnorm_operator_find("", given[i], 0), "there are ai.onnx::SimplifiedLayerNormalization, ",
                         "ai.onnx::RMSNormalization");
        assert_null(strstr(rmsnorm_last_error(), "did you mean"));
    }
}

static void hostile_names_are_refused(void **state)
{
    (void)state;
    char *const longer = malloc(100001);
    assert_non_null(longer);
    memset(longer, 'R', 100000);
    longer[100000] = '\0';
    assert_not_found(rmsnorm_operator_find("", longer, 0), "no operator", "there are");
    assert_not_found(rmsnorm_operator_find(longer, RMS, 0), "no operator", "did you mean");
    assert_not_found(rmsnorm_operator_parse(longer), "no operator", "there are");
    memcpy(longer + 90000, "::", 2);
    assert_not_found(rmsnorm_operator_parse(longer), "no operator", "there are");
    free(longer);
    assert_not_found(rmsnorm_operator_find("", NULL, 0), "name", "NULL");
    assert_not_found(rmsnorm_operator_parse(NULL), "name", "NULL");
    assert_not_found(rmsnorm_operator_find("\n", "\x1b[2J", 0), "?", "there are");
}

static void parse_takes_a_name_with_or_without_domain(void **state)
{
    (void)state;
    assert_ptr_equal(rmsnorm_operator_parse("SkipSimplifiedLayerNormalization"), rmsnorm_operator_at(1));
    assert_ptr_equal(rmsnorm_operator_parse("com.microsoft::SkipSimplifiedLayerNormalization"), rmsnorm_operator_at(1));
    assert_ptr_equal(rmsnorm_operator_parse("ai.onnx::RMSNormalization"), rmsnorm_operator_at(2));
    assert_ptr_equal(rmsnorm_operator_parse("::RMSNormalization"), rmsnorm_operator_at(2));
    assert_ptr_equal(rmsnorm_operator_parse("com.microsoft::SimplifiedLayerNormalization"), rmsnorm_operator_at(0));
    assert_not_found(rmsnorm_operator_parse("::SkipSimplifiedLayerNormalization"), "ai.onnx::Skip",
                     "com.microsoft::Skip");
    assert_not_found(rmsnorm_operator_parse("ai.onnx:RMSNormalization"), "no operator", "RMSNormalization");
    assert_not_found(rmsnorm_operator_parse("a::b::RMSNormalization"), "no operator", "RMSNormalization");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_have_the_spellings_of_the_contract),
        cmocka_unit_test(rms_normalization_is_there_from_opset_23_on),
        cmocka_unit_test(almost_right_names_are_corrected),
        cmocka_unit_test(other_operators_are_not_taken_for_ours),
        cmocka_unit_test(hostile_names_are_refused),
        cmocka_unit_test(parse_takes_a_name_with_or_without_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
