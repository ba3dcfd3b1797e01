/* rmsnorm selftest on the CPU, and where there is no WebGPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define NO_GPU "RMSNORM_WEBGPU_LIBRARY=/nonexistent "

/* Every instruction set that runs here passes, each with the same examples. */
static void the_cpu_passes_with_every_instruction_set(void **state)
{
    (void)state;
    json_t *root = json_of("rmsnorm selftest --device cpu --json", 0);
    json_t *devices = at(root, "devices");
    assert_true(json_array_size(devices) >= 1);
    assert_int_equal(json_integer_value(at(root, "passed")), json_array_size(devices));
    assert_int_equal(json_integer_value(at(root, "failed")), 0);
    for (size_t i = 0; i < json_array_size(devices); ++i) {
        json_t *device = json_array_get(devices, i);
        rmsnorm_isa isa = RMSNORM_ISA_AUTO;
        assert_string_equal(json_string_value(at(device, "device")), "cpu");
        assert_int_equal(rmsnorm_isa_from_name(json_string_value(at(device, "isa")), &isa), RMSNORM_OK);
        assert_true(rmsnorm_isa_runnable(isa));
        assert_true(json_is_true(at(device, "ok")));
        assert_int_equal(json_integer_value(at(device, "examples")), 59);
        assert_int_equal(json_integer_value(at(device, "skipped")), 0);
    }
    json_decref(root);
    DONE("rmsnorm selftest --device cpu", "CPU, scalar: pass, 59 examples\n");
    DONE("[ \"$(RMSNORM_ISA=scalar rmsnorm selftest --device=cpu)\" = 'CPU, scalar: pass, 59 examples' ]");
}

static void a_missing_library_is_said_and_no_failure(void **state)
{
    (void)state;
    DONE(NO_GPU "rmsnorm selftest", "CPU, scalar: pass, ", "WebGPU: not tested: ");
    json_t *root = json_of(NO_GPU "rmsnorm selftest --json", 0);
    json_t *devices = at(root, "devices");
    json_t *last = json_array_get(devices, json_array_size(devices) - 1);
    assert_string_equal(json_string_value(at(last, "device")), "webgpu");
    assert_null(json_object_get(last, "ok"));
    assert_int_equal(json_integer_value(at(root, "passed")), json_array_size(devices) - 1);
    json_decref(root);
    REFUSED(NO_GPU "rmsnorm selftest --device webgpu", "WebGPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_passes_with_every_instruction_set),
        cmocka_unit_test(a_missing_library_is_said_and_no_failure),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
