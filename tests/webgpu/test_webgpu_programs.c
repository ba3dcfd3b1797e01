/* What is kept between runs: programs by their request, bind groups by their tensors, scratch buffers by their size. */
#include <string.h>

#include "support.h"
#include "webgpu/programs.h"

/* ---- Keys ------------------------------------------------------------------------------------ */

static rmsnorm_program_key key_of(uint64_t package, const rmsnorm_request *request)
{
    rmsnorm_program_key key;
    gpu_must(rmsnorm_program_key_make(package, request, &key));
    return key;
}

static bool same(const rmsnorm_program_key *a, const rmsnorm_program_key *b)
{
    return a->hash == b->hash && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Everything a plan depends on: a request that differs in it is another one. */
static void test_every_part_of_a_request_is_in_its_key(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0);
    enum { VARIATIONS = 18 };
    rmsnorm_program_key keys[VARIATIONS];
    for (int i = 0; i < VARIATIONS; i++) {
        rmsnorm_tensor x = {.dtype = F32, .rank = 2, .dims = {4, 64}};
        rmsnorm_tensor scale = {.dtype = F32, .rank = 1, .dims = {64}};
        rmsnorm_attributes attributes;
        rmsnorm_attributes_init(op, &attributes);
        rmsnorm_request request = RMSNORM_REQUEST_INIT;
        request.inputs[0] = &x;
        request.inputs[1] = &scale;
        request.attributes = &attributes;
        request.tunables[0] = (rmsnorm_tunable){"VECTOR", 4};
        request.tunable_count = 1;
        x.dtype = i == 1 ? F16 : F32;
        x.dims[0] = i == 2 ? 5 : 4;
        x.rank = i == 3 ? 1 : 2;
        request.inputs[1] = i == 4 ? NULL : &scale;
        scale.dims[0] = i == 5 ? 1 : 64;
        request.wanted[1] = i == 6;
        request.in_place[0] = i == 7;
        request.beside_output[1] = i == 8;
        attributes.axis = i == 9 ? 0 : -1;
        attributes.epsilon = i == 10 ? 1e-6F : 1e-5F;
        attributes.stash_type = i == 11 ? 11 : 1;
        attributes.keep_dims = i == 12 ? 0 : 1;
        request.attributes = i == 13 ? NULL : &attributes;
        request.batch_invariant = i == 14;
        request.variant = i == 15 ? "rows" : NULL;
        request.tunables[0].value = i == 16 ? 1 : 4;
        keys[i] = key_of(i == 17 ? 2 : 1, &request);
        for (int j = 0; j < i; j++) {
            if (same(&keys[i], &keys[j])) {
                fail_msg("variations %d and %d have one key", i, j);
            }
        }
    }
}

/* Programs are of an opening, not of an address that the next package may get. */
static void test_every_opening_of_a_package_is_another_one(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        rmsnorm_package *package;
        rmsnorm_package_info info;
        gpu_must(rmsnorm_package_open_operator("", "RMSNormalization", &package));
        rmsnorm_package_describe(package, &info);
        assert_true(info.serial > last);
        last = info.serial;
        rmsnorm_package_close(package);
    }
}

/* ---- Bind groups and scratch ----------------------------------------------------------------- */

static void test_the_same_request_on_other_tensors(void **state)
{
    (void)state;
    rmsnorm_webgpu *const gpu = gpu_open(NULL);
    trial t = rms_trial(SIMPLE, F32, F32, 4, 64);
    trial other = trial_copy(&t);
    for (size_t i = 0; i < tensor_elements(&other.in[0]); i++) {
        tensor_set(&other.in[0], i, 1 + (double)(i % 7));
    }
    trial cpu = trial_copy(&t);
    trial other_cpu = trial_copy(&other);
    resident first = resident_start(gpu, &t);
    resident second = resident_start(gpu, &other);
    for (int i = 0; i < 2; i++) { /* into the same outputs */
        rmsnorm_webgpu_tensor_release(gpu, &second.out[i]);
        second.out[i] = first.out[i];
        second.borrowed[5 + i] = true;
    }
    gpu_must(resident_run(&second, NULL));
    gpu_must(resident_run(&first, NULL));
    resident_finish(&first);
    gpu_must(resident_run(&second, NULL));
    resident_finish(&second);
    trial_must_run(&cpu);
    trial_must_run(&other_cpu);
    expect_agreement(&t, &cpu, 4);
    expect_agreement(&other, &other_cpu, 4);
    resident_end(&first);
    resident_end(&second);
    rmsnorm_webgpu_close(gpu);
    trial_end(&other_cpu);
    trial_end(&cpu);
    trial_end(&other);
    trial_end(&t);
}

/* Rows that are split over workgroups leave partial sums: more rows, more of them, beyond what a buffer is rounded up by. */
static void test_scratch_buffers_grow(void **state)
{
    (void)state;
    rmsnorm_webgpu *const gpu = gpu_open(NULL);
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    options.variant = "splitk";
    static const int64_t rows[] = {1, 8, 2};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        trial t = rms_trial(SIMPLE, F32, F32, rows[i], 65536);
        expect_host_run(gpu, &t, &options);
        trial_end(&t);
    }
    rmsnorm_webgpu_close(gpu);
}

/* More requests than are kept: the oldest go, and come back when they are asked for. */
static void test_more_programs_than_are_kept(void **state)
{
    (void)state;
    rmsnorm_webgpu *const gpu = gpu_open(NULL);
    for (int64_t i = 0; i < 600; i++) {
        trial t = rms_trial(SIMPLE, F32, F32, 1 + i % 300, 8);
        expect_host_run(gpu, &t, NULL);
        trial_end(&t);
    }
    rmsnorm_webgpu_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_of_a_request_is_in_its_key),
        cmocka_unit_test(test_every_opening_of_a_package_is_another_one),
        cmocka_unit_test(test_the_same_request_on_other_tensors),
        cmocka_unit_test(test_scratch_buffers_grow),
        cmocka_unit_test(test_more_programs_than_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
