/* rmsnorm info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

static void text_and_json_agree(void **state)
{
    (void)state;
    DONE("rmsnorm info", "rmsnorm 0.1.0\n", "Instruction set  compiled  runnable\n",
         "  scalar              yes       yes", "  neon ", "  avx2 ", "  avx512 ", "Caches   L1 data ", ", L2 ",
         ", L3 ", "Threads  ", " in use, ", " cores\n", "\nWebGPU   ");
    DONE("[ $(rmsnorm info | grep -c 'in use$') = 1 ]");
    json_t *root = json_of("rmsnorm info --json", 0);
    assert_string_equal(json_string_value(at(root, "version")), rmsnorm_version());
    assert_true(json_integer_value(at(root, "cores")) >= 1);
    assert_true(json_integer_value(at(root, "threads")) >= 1);
    (void)at(root, "caches.l2");
    (void)at(root, "webgpu.adapters");
    json_t *isas = at(root, "isas");
    assert_int_equal(json_array_size(isas), RMSNORM_ISA_COUNT - 1);
    for (size_t i = 0; i < RMSNORM_ISA_COUNT - 1; ++i) {
        rmsnorm_isa isa = RMSNORM_ISA_AUTO;
        json_t *entry = json_array_get(isas, i);
        assert_int_equal(rmsnorm_isa_from_name(json_string_value(at(entry, "name")), &isa), RMSNORM_OK);
        assert_int_equal(json_is_true(at(entry, "compiled")), rmsnorm_isa_compiled(isa));
        assert_int_equal(json_is_true(at(entry, "runnable")), rmsnorm_isa_runnable(isa));
    }
    json_decref(root);
}

/* One sentence, and all the rest. */
static void without_a_webgpu_library_it_says_so(void **state)
{
    (void)state;
    DONE("RMSNORM_WEBGPU_LIBRARY=/nonexistent rmsnorm info", "Threads  ", "\nWebGPU   ");
    DONE("[ \"$(RMSNORM_WEBGPU_LIBRARY=/nonexistent rmsnorm info | sed '1,/^Threads/d' | wc -l)\" = 2 ]");
    json_t *root = json_of("RMSNORM_WEBGPU_LIBRARY=/nonexistent rmsnorm info --json", 0);
    assert_true(json_is_null(at(root, "webgpu.library")));
    assert_true(json_string_length(at(root, "webgpu.error")) > 0);
    assert_int_equal(json_array_size(at(root, "webgpu.adapters")), 0);
    json_decref(root);
}

static void option_and_environment_limit_the_instruction_set(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "rmsnorm info --json --isa scalar --threads 1",
        "RMSNORM_ISA=scalar rmsnorm info --json --threads=1",
        "RMSNORM_ISA=scalar rmsnorm info --json --threads 1 --isa auto",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; ++i) {
        json_t *root = json_of(scripts[i], 0);
        assert_string_equal(json_string_value(at(root, "isa")), "scalar");
        assert_int_equal(json_integer_value(at(root, "threads")), 1);
        json_decref(root);
    }
    json_t *root = json_of("rmsnorm info --json --threads 3", 0);
    assert_int_equal(json_integer_value(at(root, "threads")), 3);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_json_agree),
        cmocka_unit_test(without_a_webgpu_library_it_says_so),
        cmocka_unit_test(option_and_environment_limit_the_instruction_set),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
