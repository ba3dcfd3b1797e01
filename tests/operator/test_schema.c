#include "call_text.h"
#include "operator/schema.h"

#define ALL (RMSNORM_DTYPES(RMSNORM_FLOAT) | RMSNORM_DTYPES(RMSNORM_FLOAT16))
#define FOUR (ALL | RMSNORM_DTYPES(RMSNORM_BFLOAT16) | RMSNORM_DTYPES(RMSNORM_DOUBLE))

static const rmsnorm_type_constraint *constraint(const rmsnorm_operator *op, const char *name)
{
    for (size_t i = 0; i < op->type_constraint_count; ++i) {
        if (strcmp(op->type_constraints[i].name, name) == 0) {
            return &op->type_constraints[i];
        }
    }
    return NULL;
}

/* What the lookups by address and the fixed arrays of a call rely on. */
static void table_is_consistent(void **state)
{
    (void)state;
    size_t count = 0;
    for (const rmsnorm_operator *op; (op = rmsnorm_operator_at(count)) != NULL; ++count) {
        assert_true(op->input_count <= RMSNORM_MAX_INPUTS && op->output_count <= RMSNORM_MAX_OUTPUTS);
        assert_true(op->type_constraint_count <= RMSNORM_MAX_TYPE_CONSTRAINTS);
        for (size_t i = 0; i < op->input_count + op->output_count; ++i) {
            const rmsnorm_slot *const slot = i < op->input_count ? &op->inputs[i] : &op->outputs[i - op->input_count];
            assert_ptr_equal(constraint(op, slot->type)->name, slot->type);
            assert_non_null(slot->shape);
            assert_true(rmsnorm_slot_constraint(op, slot) < op->type_constraint_count);
        }
        for (size_t i = 0; i < op->attribute_count; ++i) {
            assert_true(strlen(op->attributes[i].allowed) > 0);
        }
        for (size_t i = 0; i < op->type_constraint_count; ++i) {
            /* Inference takes what any device takes, a run what the CPU takes: the same as long as this holds. */
            const rmsnorm_dtypes *const types = op->type_constraints[i].types;
            assert_int_equal(types[RMSNORM_DEVICE_WEBGPU] & ~types[RMSNORM_DEVICE_CPU], 0);
        }
        assert_true(strlen(op->summary) > 0 && strchr(op->summary, '\n') == NULL);
        assert_non_null(op->doc);
    }
    assert_int_equal(count, 3);
    assert_null(rmsnorm_operator_at(SIZE_MAX));
}

static void check_slots(const rmsnorm_slot *slots, size_t count, const char *expected)
{
    char text[256] = "";
    for (size_t i = 0; i < count; ++i) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s:%s%s", i == 0 ? "" : " ", slots[i].name, slots[i].type,
                 slots[i].required ? "" : "?");
    }
    assert_string_equal(text, expected);
}

static void check_attributes(const rmsnorm_operator *op, const char *expected)
{
    char text[256] = "";
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *const attribute = &op->attributes[i];
        const size_t length = strlen(text);
        if (attribute->kind == RMSNORM_ATTRIBUTE_INT) {
            snprintf(text + length, sizeof text - length, "%s=%d ", attribute->name, (int)attribute->default_int);
        } else {
            snprintf(text + length, sizeof text - length, "%s=%.9g ", attribute->name,
                     (double)attribute->default_float);
        }
    }
    assert_string_equal(text, expected);
}

static void table_says_what_the_contract_says(void **state)
{
    (void)state;
    const rmsnorm_operator *op = rmsnorm_operator_parse(SIMPLIFIED);
    check_slots(op->inputs, op->input_count, "X:T scale:V");
    check_slots(op->outputs, op->output_count, "Y:V inv_std_var:U?");
    check_attributes(op, "axis=-1 epsilon=9.99999975e-06 keep_dims=1 stash_type=1 ");
    assert_int_equal(op->since_version, 1);
    assert_int_equal(constraint(op, "T")->types[RMSNORM_DEVICE_CPU], FOUR);
    assert_int_equal(constraint(op, "V")->types[RMSNORM_DEVICE_CPU], FOUR);
    assert_int_equal(constraint(op, "T")->types[RMSNORM_DEVICE_WEBGPU], ALL);
    assert_int_equal(constraint(op, "U")->types[RMSNORM_DEVICE_CPU],
                     RMSNORM_DTYPES(RMSNORM_FLOAT) | RMSNORM_DTYPES(RMSNORM_DOUBLE));
    assert_int_equal(constraint(op, "U")->types[RMSNORM_DEVICE_WEBGPU], RMSNORM_DTYPES(RMSNORM_FLOAT));

    op = rmsnorm_operator_parse(SKIP);
    check_slots(op->inputs, op->input_count, "input:T skip:T gamma:T bias:T?");
    check_slots(op->outputs, op->output_count, "output:T mean:U? inv_std_var:U? input_skip_bias_sum:T?");
    check_attributes(op, "epsilon=9.99999996e-13 ");
    assert_int_equal(op->since_version, 1);
    assert_int_equal(constraint(op, "T")->types[RMSNORM_DEVICE_CPU], ALL | RMSNORM_DTYPES(RMSNORM_BFLOAT16));
    assert_int_equal(constraint(op, "T")->types[RMSNORM_DEVICE_WEBGPU], ALL);

    op = rmsnorm_operator_parse(RMS);
    check_slots(op->inputs, op->input_count, "X:T scale:V");
    check_slots(op->outputs, op->output_count, "Y:V");
    check_attributes(op, "axis=-1 epsilon=9.99999975e-06 stash_type=1 ");
    assert_int_equal(op->since_version, 23);
    assert_int_equal(constraint(op, "T")->types[RMSNORM_DEVICE_CPU], FOUR);
    assert_int_equal(constraint(op, "V")->types[RMSNORM_DEVICE_CPU], FOUR);
}

/* Of this build. */
#ifdef RMSNORM_WEBGPU_DEVICES
enum { DEVICES = 1 };
#else
enum { DEVICES = 0 };
#endif

static void support_is_what_there_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; ++i) {
        const rmsnorm_support *const support = rmsnorm_operator_at(i)->support;
        assert_true(support[RMSNORM_DEVICE_CPU].run && support[RMSNORM_DEVICE_CPU].shape_inference &&
                    support[RMSNORM_DEVICE_CPU].peak_memory);
        assert_true(support[RMSNORM_DEVICE_CPU].fusion && support[RMSNORM_DEVICE_WEBGPU].fusion);
        assert_false(support[RMSNORM_DEVICE_CPU].gradient);
        assert_true(support[RMSNORM_DEVICE_WEBGPU].shape_inference);
        assert_int_equal(support[RMSNORM_DEVICE_WEBGPU].run, DEVICES);
        assert_false(support[RMSNORM_DEVICE_WEBGPU].peak_memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_consistent),
        cmocka_unit_test(table_says_what_the_contract_says),
        cmocka_unit_test(support_is_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
