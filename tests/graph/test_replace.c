/* Writing where something stands already. */
#include "graph/support.h"

static void test_safetensors_with_other_tensors_are_kept(void **state)
{
    (void)state;
    float value = 1.0f;
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 0, .data = &value};
    bytes two = safetensors_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                                 "xy", 2);
    save(path_of("two.safetensors"), &two);
    expect_refusal(rmsnorm_tensor_write(path_of("two.safetensors:a"), &tensor, NULL), RMSNORM_INVALID_ARGUMENT,
                   "two.safetensors: holds 2 tensors (a, b) that writing \"a\" would remove");
    expect_refusal(rmsnorm_tensor_write_check(path_of("two.safetensors"), "b"), RMSNORM_INVALID_ARGUMENT,
                   "would remove");
    bytes still = load(path_of("two.safetensors"));
    assert_int_equal(still.size, two.size);
    assert_memory_equal(still.data, two.data, two.size);
    release(&still);
    release(&two);
    assert_int_equal(rmsnorm_tensor_write(path_of("w.safetensors"), &tensor, "w"), RMSNORM_OK);
    expect_refusal(rmsnorm_tensor_write(path_of("w.safetensors"), &tensor, NULL), RMSNORM_INVALID_ARGUMENT,
                   "holds 1 tensor (w) that writing \"tensor\" would remove");
    assert_int_equal(rmsnorm_tensor_write_check(path_of("w.safetensors:w"), NULL), RMSNORM_OK);
    assert_int_equal(rmsnorm_tensor_write_check(path_of("absent.safetensors:w"), NULL), RMSNORM_OK);
    assert_int_equal(rmsnorm_tensor_write_check("-", NULL), RMSNORM_OK);
    expect_refusal(rmsnorm_tensor_write_check("x.txt", NULL), RMSNORM_INVALID_ARGUMENT, "no name of a tensor file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_with_other_tensors_are_kept),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
