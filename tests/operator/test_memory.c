#include "call_text.h"

static rmsnorm_status ask(const char *op_name, const char *inputs, const char *outputs, rmsnorm_device device,
                          rmsnorm_memory *memory)
{
    const rmsnorm_operator *const op = rmsnorm_operator_parse(op_name);
    call_side in;
    call_side out;
    call_parse(inputs, 0x1000, &in);
    call_parse(outputs, 0x1000, &out);
    return rmsnorm_peak_memory(op, NULL, (const rmsnorm_tensor *const *)in.slots, in.count, out.slots, out.count,
                               device, memory);
}

static void cpu_needs_no_workspace_whatever_the_shapes(void **state)
{
    (void)state;
    static const char *const shapes[] = {"float:2,3 | float:2,3 | float:3",
                                         "float:B,S,H | float:1,S,H | float:H | float:H",
                                         "float16:* | float16:* | float16:*", "float:0,3 | float:0,3 | float:3"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
        rmsnorm_memory memory = {7, "before"};
        assert_int_equal(ask(SKIP, shapes[i], "?: | _ | _ | ?:", RMSNORM_DEVICE_CPU, &memory), RMSNORM_OK);
        assert_int_equal(memory.bytes, 0);
        assert_string_equal(memory.expression, "0");
    }
}

static void a_call_that_inference_refuses_is_refused(void **state)
{
    (void)state;
    rmsnorm_memory memory = {7, "before"};
    assert_int_equal(ask(RMS, "float:2,3 | float:4", "?:", RMSNORM_DEVICE_CPU, &memory), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(ask(RMS, "int64:2,3 | float:3", "?:", RMSNORM_DEVICE_CPU, &memory), RMSNORM_UNSUPPORTED);
    assert_int_equal(ask(SKIP, "float:2,3 | float:2,3 | float:3", "", RMSNORM_DEVICE_CPU, &memory),
                     RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(ask(RMS, "float:2,3 | float:3", "?:", (rmsnorm_device)2, &memory), RMSNORM_INVALID_ARGUMENT);
    assert_non_null(strstr(rmsnorm_last_error(), "allowed: 0 (CPU) and 1 (WebGPU)"));
    assert_int_equal(ask(RMS, "float:2,3 | float:3", "?:", (rmsnorm_device)-1, &memory), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(ask(RMS, "float:2,3 | float:3", "?:", RMSNORM_DEVICE_CPU, NULL), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(memory.bytes, 7);
    assert_string_equal(memory.expression, "before");
}

/* F110 */
static void a_device_that_is_not_built_is_named(void **state)
{
    (void)state;
    rmsnorm_memory memory = {7, "before"};
    assert_int_equal(ask(RMS, "float:2,3 | float:3", "?:", RMSNORM_DEVICE_WEBGPU, &memory), RMSNORM_NOT_BUILT);
    assert_non_null(strstr(rmsnorm_last_error(), "RMSNormalization: peak memory: this build is without WebGPU"));
    assert_int_equal(memory.bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_needs_no_workspace_whatever_the_shapes),
        cmocka_unit_test(a_call_that_inference_refuses_is_refused),
        cmocka_unit_test(a_device_that_is_not_built_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
