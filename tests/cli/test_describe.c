/* rmsnorm describe: every fact of the schema table is on the page, in each format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define PAGE "rmsnorm describe com.microsoft::SkipSimplifiedLayerNormalization"

/* The first text in a build with devices, else the second. */
static const char *on_webgpu(const char *with, const char *without)
{
    return rmsnorm_operator_at(0)->support[RMSNORM_DEVICE_WEBGPU].run ? with : without;
}

static void every_operator_is_listed(void **state)
{
    (void)state;
    DONE("rmsnorm describe", "ai.onnx::SimplifiedLayerNormalization  since 1  on CPU", on_webgpu(", WebGPU\n", "\n"),
         "com.microsoft::SkipSimplifiedLayerNormalization  since 1  on CPU", on_webgpu(", WebGPU\n", "\n"),
         "ai.onnx::RMSNormalization  since 23  on CPU", on_webgpu(", WebGPU\n", "\n"));
    DONE("rmsnorm describe --format=markdown", "| operator | since | devices | summary |\n|---|---|---|---|\n",
         "| `ai.onnx::RMSNormalization` | 23 | CPU", on_webgpu(", WebGPU | `", " | `"));
    json_t *root = json_of("rmsnorm describe --json", 0);
    size_t count = 0;
    while (rmsnorm_operator_at(count) != NULL) {
        ++count;
    }
    assert_int_equal(json_array_size(root), count);
    json_decref(root);
}

/* Contract 2. */
static void the_skip_page_says_what_the_contract_says(void **state)
{
    (void)state;
    DONE(PAGE, "com.microsoft::SkipSimplifiedLayerNormalization\n", "Domain   com.microsoft\n",
         "Since    version 1 and every later one\nDevices  CPU", on_webgpu(", WebGPU\n", "\n"), "Support",
         "CPU  WebGPU\n", "run ", "shape inference ", "peak memory ", "fusion patterns ", "gradient ",
         "T: CPU float, float16, bfloat16; WebGPU float, float16\n", "U: CPU float; WebGPU float\n", "Inputs\n",
         "0 input: T, required; (S,H) or (B,S,H)", "1 skip: T, required;", "2 gamma: T, required; (H)",
         "3 bias: T, optional; (H)", "Outputs\n", "0 output: T, required;", "1 mean: U, optional;",
         "2 inv_std_var: U, optional;", "3 input_skip_bias_sum: T, optional;", "Attributes\n",
         "epsilon: float, default 1e-12; finite and >= 0\n");
    DONE("rmsnorm describe RMSNormalization", "Domain   ai.onnx\nSince    version 23", "axis: int, default -1;",
         "epsilon: float, default 1e-5;", "stash_type: int, default 1;");
    DONE("rmsnorm describe SimplifiedLayerNormalization", "Domain   ai.onnx, also accepted as com.microsoft\n");
    DONE(PAGE " | awk 'length > 120 || / $/ { exit 1 }'");
}

static void markdown_has_the_same_facts(void **state)
{
    (void)state;
    static const char script[] = PAGE " --format markdown";
    DONE(script, "# SkipSimplifiedLayerNormalization\n", "- Domain: `com.microsoft`\n- Since version: 1\n",
         "## Support\n\n|  | CPU | WebGPU |\n|---|---|---|\n| run | yes |", on_webgpu(" yes |\n", " no |\n"),
         "## Type constraints\n", "| `T` | float, float16, bfloat16 | float, float16 |", "## Inputs\n",
         "| 3 | `bias` | `T` | no | (H) |", "## Outputs\n", "| 3 | `input_skip_bias_sum` | `T` | no |",
         "## Attributes\n", "| `epsilon` | float | 1e-12 | finite and >= 0 |");
    /* Every row of a table has as many cells as its head. */
    DONE(PAGE " --format markdown | awk -F'[|]' '/^[|]/ { if (n && NF != n) exit 1; n = NF; next } { n = 0 }'");
    DONE(PAGE
         " --format markdown --no-prose | awk -F'[|]' '/^[|]/ { if (n && NF != n) exit 1; n = NF; next } { n = 0 }'");
}

static void expect_slots(json_t *list, const rmsnorm_slot *slots, size_t count)
{
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; ++i) {
        json_t *slot = json_array_get(list, i);
        assert_string_equal(json_string_value(at(slot, "name")), slots[i].name);
        assert_string_equal(json_string_value(at(slot, "type")), slots[i].type);
        assert_string_equal(json_string_value(at(slot, "shape")), slots[i].shape);
        assert_int_equal(json_is_true(at(slot, "required")), slots[i].required);
    }
}

/* The page against the record itself, for every operator. */
static void json_is_the_schema_record(void **state)
{
    (void)state;
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        char script[256];
        (void)snprintf(script, sizeof script, "rmsnorm describe %s --format json", op->name);
        json_t *root = json_of(script, 0);
        assert_string_equal(json_string_value(at(root, "name")), op->name);
        assert_int_equal(json_integer_value(at(root, "since_version")), op->since_version);
        assert_int_equal(json_is_true(at(root, "support.cpu.shape_inference")), op->support[0].shape_inference);
        assert_int_equal(json_is_true(at(root, "support.cpu.fusion_patterns")), op->support[0].fusion);
        assert_int_equal(json_is_true(at(root, "support.webgpu.run")), op->support[1].run);
        expect_slots(at(root, "inputs"), op->inputs, op->input_count);
        expect_slots(at(root, "outputs"), op->outputs, op->output_count);
        assert_int_equal(json_array_size(at(root, "attributes")), op->attribute_count);
        for (size_t j = 0; j < op->attribute_count; ++j) {
            json_t *attribute = json_array_get(at(root, "attributes"), j);
            assert_string_equal(json_string_value(at(attribute, "name")), op->attributes[j].name);
            if (op->attributes[j].kind == RMSNORM_ATTRIBUTE_FLOAT) {
                assert_true((float)json_real_value(at(attribute, "default")) == op->attributes[j].default_float);
            } else {
                assert_int_equal(json_integer_value(at(attribute, "default")), op->attributes[j].default_int);
            }
        }
        json_t *constraints = at(root, "type_constraints");
        assert_int_equal(json_array_size(constraints), op->type_constraint_count);
        for (size_t j = 0; j < op->type_constraint_count; ++j) {
            json_t *types = at(json_array_get(constraints, j), "types.cpu");
            rmsnorm_dtypes set = 0;
            for (size_t k = 0; k < json_array_size(types); ++k) {
                set |= RMSNORM_DTYPES(rmsnorm_dtype_from_name(json_string_value(json_array_get(types, k))));
            }
            assert_int_equal(set, op->type_constraints[j].types[RMSNORM_DEVICE_CPU]);
        }
        json_decref(root);
    }
}

static void prose_can_be_left_out(void **state)
{
    (void)state;
    json_t *root = json_of(PAGE " --json --no-prose", 0);
    assert_null(json_object_get(root, "description"));
    assert_null(json_object_get(at(root, "inputs.0"), "description"));
    assert_non_null(json_object_get(root, "summary"));
    json_decref(root);
    DONE("[ $(" PAGE " --no-prose | wc -l) -lt $(" PAGE
         " | wc -l) ] || [ -z \"$(rmsnorm describe --json | grep description)\" ]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_listed),    cmocka_unit_test(the_skip_page_says_what_the_contract_says),
        cmocka_unit_test(markdown_has_the_same_facts), cmocka_unit_test(json_is_the_schema_record),
        cmocka_unit_test(prose_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
