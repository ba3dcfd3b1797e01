/* rmsnorm infer: types, shapes, constraints, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define SKIP "rmsnorm infer --op SkipSimplifiedLayerNormalization "

static void names_are_kept(void **state)
{
    (void)state;
    DONE(
        SKIP "input=float16:B,S,H skip=float16:1,S,H gamma=float16:H",
        "com.microsoft::SkipSimplifiedLayerNormalization epsilon=1e-12\n"
        "output: float16 [B,S,H]\nmean: float [B,S,1]\ninv_std_var: float [B,S,1]\ninput_skip_bias_sum: float16 [B,S,H]\n",
        "constraint: 1 <= input[2] (H) <= 2147483647\n", "peak memory on CPU: 0 bytes\n");
    DONE(SKIP "input=float:B,S,64 skip=float:S,64 gamma=float:K bias=float:64 --attr epsilon=1e-6", "epsilon=1e-6\n",
         "constraint: gamma[0] (K) = input[2] (64)\n");
    DONE("rmsnorm infer --op RMSNormalization X=float16:2,?,N scale=bfloat16:N", "axis=-1 epsilon=1e-5 stash_type=1\n",
         "Y: bfloat16 [2,?,N]\n");
}

static void ranks_may_be_none_or_unknown(void **state)
{
    (void)state;
    DONE("rmsnorm infer --op SimplifiedLayerNormalization X=double:7 scale=float:",
         "Y: float [7]\ninv_std_var: float [1]\n");
    DONE("rmsnorm infer --op SimplifiedLayerNormalization X=double scale=float16", "Y: float16 of unknown rank\n",
         "inv_std_var: float of unknown rank\n");
    DONE("rmsnorm infer --op SimplifiedLayerNormalization --attr stash_type=11 X=double:?,4 scale=?:4", "Y: ? [?,4]\n",
         "inv_std_var: double [?,1]\n");
    DONE("rmsnorm infer --op RMSNormalization scale=float:4", "Y: float of unknown rank\n");
}

static void output_narrows(void **state)
{
    (void)state;
    json_t *root = json_of(SKIP "input=float:2,8 skip=float:2,8 gamma=float:8 --output inv_std_var -o mean --json", 0);
    assert_int_equal(json_array_size(at(root, "outputs")), 2);
    assert_string_equal(json_string_value(at(root, "outputs.0.name")), "mean");
    assert_string_equal(json_string_value(at(root, "outputs.1.name")), "inv_std_var");
    json_decref(root);
}

static void json_has_everything(void **state)
{
    (void)state;
    json_t *root = json_of(SKIP "input=float16:B,2,? skip=float16:B,2,? gamma=float16:H --json", 0);
    assert_string_equal(json_string_value(at(root, "operator")), "SkipSimplifiedLayerNormalization");
    assert_string_equal(json_string_value(at(root, "domain")), "com.microsoft");
    assert_true(json_real_value(at(root, "attributes.epsilon")) == 1e-12);
    assert_string_equal(json_string_value(at(root, "outputs.0.dtype")), "float16");
    assert_string_equal(json_string_value(at(root, "outputs.0.shape.0")), "B");
    assert_int_equal(json_integer_value(at(root, "outputs.0.shape.1")), 2);
    assert_true(json_array_size(at(root, "constraints")) > 0);
    assert_int_equal(json_integer_value(at(root, "peak_memory.cpu.bytes")), 0);
    assert_string_equal(json_string_value(at(root, "peak_memory.cpu.expression")), "0");
    json_decref(root);
    root = json_of("rmsnorm infer --op RMSNormalization X=?:2,? scale=? --json", 0);
    assert_true(json_is_null(at(root, "outputs.0.dtype")));
    assert_true(json_is_null(at(root, "outputs.0.shape.1")));
    json_decref(root);
    root = json_of("rmsnorm infer --op RMSNormalization X=float scale=float --json", 0);
    assert_true(json_is_null(at(root, "outputs.0.shape")));
    json_decref(root);
}

static void hostile_dim_names_stay_harmless(void **state)
{
    (void)state;
    DONE("rmsnorm infer --op RMSNormalization \"X=float:a$(printf '\\033[2J'),b\" scale=float:c",
         "Y: float [a?[2J,b]\n");
    json_t *root = json_of(
        "rmsnorm infer --op RMSNormalization \"X=float:a$(printf '\\377\\t\\342\\200\\256\\342\\200\\254'),b\" scale=float --json",
        0);
    assert_string_equal(json_string_value(at(root, "outputs.0.shape.0")), "a\xef\xbf\xbd\t\xe2\x80\xae\xe2\x80\xac");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept),
        cmocka_unit_test(ranks_may_be_none_or_unknown),
        cmocka_unit_test(output_narrows),
        cmocka_unit_test(json_has_everything),
        cmocka_unit_test(hostile_dim_names_stay_harmless),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
