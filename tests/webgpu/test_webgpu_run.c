/* Runs on a device against runs on the CPU. */
#include <stdlib.h>
#include <string.h>

#include "kerncheck/rng.h"
#include "support.h"

static rmsnorm_webgpu *gpu;

static int open_gpu(void **state)
{
    (void)state;
    gpu = gpu_open(NULL);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    rmsnorm_webgpu_close(gpu);
    return 0;
}

static void test_tensors_in_memory_agree_with_the_cpu(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 7, 31, 64, 127, 768, 3584, 4097};
    static const rmsnorm_dtype types[] = {F32, F16};
    for (size_t i = 0; i < COUNT_OF(widths) * 4; i++) {
        const rmsnorm_dtype x = types[i % 2];
        const rmsnorm_dtype scale = types[i / 2 % 2];
        for (int kind = 0; kind < 2; kind++) {
            trial t = rms_trial(kind == 0 ? SIMPLE : PLAIN, x, scale, 5, widths[i / 4]);
            expect_host_run(gpu, &t, NULL);
            trial_end(&t);
        }
    }
}

static void test_rows_around_the_limit_of_a_dispatch(void **state)
{
    (void)state;
    static const int64_t rows[] = {65535, 65536, 65537, 131071};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        trial t = rms_trial(SIMPLE, F16, F16, rows[i], 3);
        expect_host_run(gpu, &t, NULL);
        trial_end(&t);
    }
}

static void test_strides_of_rows_in_memory(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F16, F16, 6, 15);
    trial wide = rms_trial(SIMPLE, F16, F16, 6, 31);
    trial cpu = trial_copy(&t);
    for (size_t i = 0; i < 6; i++) { /* the rows of t are the first 15 of 31 elements */
        memcpy((char *)wide.in[0].data + i * 62, (const char *)t.in[0].data + i * 30, 30);
    }
    rmsnorm_tensor *const tensors[] = {&wide.in[0], &wide.out[0]};
    for (size_t i = 0; i < 2; i++) {
        tensors[i]->dims[1] = 15;
        tensors[i]->row_stride = 31;
    }
    wide.in[1] = t.in[1];
    gpu_must(gpu_run_host(gpu, &wide, NULL));
    trial_must_run(&cpu);
    for (size_t i = 0; i < 6; i++) {
        memcpy((char *)t.out[0].data + i * 30, (const char *)wide.out[0].data + i * 62, 30);
    }
    const unsigned char *const between = (const unsigned char *)wide.out[0].data + 30;
    assert_int_equal(between[0], 0xFF); /* what lies between the rows is left alone */
    memcpy(t.out[1].data, wide.out[1].data, 24);
    expect_agreement(&t, &cpu, 4);
    trial_end(&cpu);
    trial_end(&wide);
    trial_end(&t);
}

static void test_no_rows_are_an_empty_result(void **state)
{
    (void)state;
    trial t = trial_start(SIMPLE);
    trial_in(&t, 0, F32, SHAPE(0, 8), NULL);
    trial_in(&t, 1, F32, SHAPE(8), VALUES(1, 1, 1, 1, 1, 1, 1, 1));
    trial_out(&t, 0, F32, SHAPE(0, 8));
    gpu_must(gpu_run_host(gpu, &t, NULL));
    rmsnorm_webgpu_tensor x = {.tensor = t.in[0]};
    rmsnorm_webgpu_tensor scale = {.tensor = t.in[1]};
    rmsnorm_webgpu_tensor y = {.buffer = NULL};
    gpu_must(rmsnorm_webgpu_tensor_create(gpu, &scale));
    const rmsnorm_webgpu_tensor *const inputs[] = {&x, &scale};
    rmsnorm_webgpu_tensor *const outputs[] = {&y};
    gpu_must(rmsnorm_webgpu_run(gpu, t.op, NULL, inputs, 2, outputs, 1, NULL));
    assert_int_equal(y.tensor.rank, 2);
    assert_int_equal(y.tensor.dims[0], 0);
    rmsnorm_webgpu_tensor_release(gpu, &scale);
    rmsnorm_webgpu_tensor_release(gpu, &y);
    trial_end(&t);
}

static void test_outputs_are_inferred_and_created(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F16, F32, 3, 17);
    trial cpu = trial_copy(&t);
    resident all = resident_start(gpu, &t);
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_webgpu_tensor_release(gpu, &all.out[i]);
        memset(&all.out[i], 0, sizeof all.out[i]);
    }
    gpu_must(resident_run(&all, NULL));
    assert_int_equal(all.out[0].tensor.dtype, F32);
    assert_int_equal(all.out[1].tensor.dims[1], 1);
    resident_finish(&all);
    trial_must_run(&cpu);
    expect_agreement(&t, &cpu, 4);
    resident_end(&all);
    trial_end(&cpu);
    trial_end(&t);
}

/* ---- Shared memory (contract 4.5) ------------------------------------------------------------ */

static void test_outputs_in_the_place_of_inputs(void **state)
{
    (void)state;
    static const struct {
        int output, input;
    } pairs[] = {{0, 0}, {0, 1}, {3, 0}, {3, 1}};
    static const rmsnorm_dtype types[] = {F32, F16};
    static const int64_t widths[] = {64, 129};
    for (size_t i = 0; i < COUNT_OF(pairs) * 4; i++) {
        trial t = skip_trial(types[i % 2], 5, widths[i / 2 % 2]);
        trial_want(&t, 0xF);
        trial cpu = trial_copy(&t);
        resident all = resident_start(gpu, &t);
        resident_share(&all, pairs[i / 4].output, pairs[i / 4].input);
        gpu_must(resident_run(&all, NULL));
        resident_finish(&all);
        trial_must_run(&cpu);
        expect_agreement(&t, &cpu, 4);
        resident_end(&all);
        trial_end(&cpu);
        trial_end(&t);
    }
}

static void test_both_outputs_in_place(void **state)
{
    (void)state;
    trial t = skip_trial(F16, 5, 33);
    trial_want(&t, 0x9);
    trial cpu = trial_copy(&t);
    resident all = resident_start(gpu, &t);
    resident_share(&all, 0, 1);
    resident_share(&all, 3, 0);
    gpu_must(resident_run(&all, NULL));
    resident_finish(&all);
    trial_must_run(&cpu);
    expect_agreement(&t, &cpu, 4);
    resident_end(&all);
    trial_end(&cpu);
    trial_end(&t);
}

/* x + x in place of x: the one that is not bound as the output has to be read from somewhere. */
static void test_input_skip_and_output_in_one_place(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 4, 32);
    trial_want(&t, 0x1);
    memcpy(t.in[1].data, t.in[0].data, tensor_bytes(&t.in[0]));
    trial cpu = trial_copy(&t);
    resident all = resident_start(gpu, &t);
    rmsnorm_webgpu_tensor_release(gpu, &all.in[1]);
    all.in[1] = all.in[0];
    all.borrowed[1] = true;
    resident_share(&all, 0, 0);
    gpu_must(resident_run(&all, NULL));
    resident_finish(&all);
    trial_must_run(&cpu);
    expect_agreement(&t, &cpu, 4);
    resident_end(&all);
    trial_end(&cpu);
    trial_end(&t);
}

/* All tensors of a call in one buffer, as engines that plan their memory have them. */
static void test_tensors_side_by_side_in_one_buffer(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; equal++) {
        trial t = skip_trial(F16, 3, 65);
        trial_want(&t, 0xF);
        if (equal) {
            memcpy(t.in[1].data, t.in[0].data, tensor_bytes(&t.in[0]));
        }
        trial cpu = trial_copy(&t);
        resident all = resident_start(gpu, &t);
        rmsnorm_webgpu_tensor arena = {.tensor = {.dtype = F32, .rank = 1, .dims = {4096}}};
        gpu_must(rmsnorm_webgpu_tensor_create(gpu, &arena));
        for (size_t i = 0; i < 5; i++) {
            rmsnorm_webgpu_tensor *const pair[] = {&all.in[i], &all.out[i]};
            for (size_t j = 0; j < 2; j++) {
                if (pair[j]->buffer == NULL) {
                    continue;
                }
                rmsnorm_webgpu_tensor_release(gpu, pair[j]);
                pair[j]->buffer = arena.buffer;
                pair[j]->offset = 1024 * (i + 5 * j);
                all.borrowed[i + 5 * j] = true;
                const void *const data = j == 0 ? t.in[i].data : t.out[i].data;
                gpu_must(rmsnorm_webgpu_upload(gpu, pair[j], data));
            }
        }
        if (equal) {
            all.in[1].offset = all.in[0].offset;
        }
        gpu_must(resident_run(&all, NULL));
        resident_finish(&all);
        trial_must_run(&cpu);
        expect_agreement(&t, &cpu, 4);
        rmsnorm_webgpu_tensor_release(gpu, &arena);
        trial_end(&cpu);
        trial_end(&t);
    }
}

static void test_partial_overlaps_are_refused(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 4, 64);
    trial_want(&t, 0x9);
    resident all = resident_start(gpu, &t);
    rmsnorm_webgpu_tensor arena = {.tensor = {.dtype = F32, .rank = 1, .dims = {4096}}};
    gpu_must(rmsnorm_webgpu_tensor_create(gpu, &arena));
    struct WGPUBufferImpl *const kept[] = {all.in[0].buffer, all.out[0].buffer, all.out[3].buffer};
    all.in[0].buffer = all.out[0].buffer = arena.buffer;
    all.out[0].offset = 256;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "output", "overlaps", "input", NULL);
    all.out[0].offset = 2048;
    all.out[3].buffer = arena.buffer;
    all.out[3].offset = 2304;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "input_skip_bias_sum", "overlaps", "output",
                  NULL);
    all.out[3].offset = 4096;
    gpu_must(resident_run(&all, NULL));
    all.in[0].buffer = kept[0];
    all.out[0].buffer = kept[1];
    all.out[3].buffer = kept[2];
    all.out[0].offset = all.out[3].offset = 0;
    rmsnorm_webgpu_tensor_release(gpu, &arena);
    resident_end(&all);
    trial_end(&t);
}

/* As on the CPU (contract 4.5): no output is produced. */
static void test_overlaps_in_memory_are_refused(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 4, 64);
    trial_want(&t, 0x9);
    void *const kept[] = {t.out[0].data, t.out[3].data};
    t.out[0].data = (char *)t.in[0].data + 4;
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_INVALID_ARGUMENT, "output overlaps", NULL);
    t.out[0].data = t.out[3].data;
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_INVALID_ARGUMENT, "overlap", NULL);
    t.out[0].data = kept[0];
    gpu_must(gpu_run_host(gpu, &t, NULL));
    trial_end(&t);
}

static void test_places_that_cannot_be_are_refused(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F32, F32, 4, 64);
    resident all = resident_start(gpu, &t);
    all.out[0].offset = 2;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "Y", "offset 2", "multiples of", NULL);
    all.out[0].offset = 1 << 20;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "Y", "1024 bytes", "1048576", NULL);
    all.out[0].offset = 0;
    all.out[0].tensor.dims[0] = 3;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "Y", "(3,64)", "(4,64)", NULL);
    all.out[0].tensor.dims[0] = 4;
    struct WGPUBufferImpl *const kept = all.in[0].buffer;
    all.in[0].buffer = NULL;
    gpu_must_fail(resident_run(&all, NULL), RMSNORM_INVALID_ARGUMENT, "X has no buffer", NULL);
    all.in[0].buffer = kept;
    gpu_must(resident_run(&all, NULL));
    resident_end(&all);
    trial_end(&t);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* F33: rows of 200 bytes against a limit of 4 KiB and offsets of 256. */
static void test_tensors_above_the_binding_limit_are_cut_at_legal_offsets(void **state)
{
    (void)state;
    rmsnorm_device_profile small = gpu_widest();
    small.max_storage_buffer_binding_size = 4096;
    small.min_storage_buffer_offset_alignment = 256;
    rmsnorm_webgpu *const narrow = gpu_open(&small);
    for (int kind = 0; kind < 3; kind++) {
        for (int64_t width = 99; width <= 100; width++) {
            trial t =
                kind == 1 ? skip_trial(F16, 301, width) : rms_trial(kind == 0 ? SIMPLE : PLAIN, F16, F16, 301, width);
            if (kind == 1) {
                trial_want(&t, 0xF);
            }
            expect_host_run(narrow, &t, NULL);
            trial_end(&t);
        }
    }
    rmsnorm_webgpu_close(narrow);
}

static void test_float16_without_shader_f16(void **state)
{
    (void)state;
    rmsnorm_device_profile bare = gpu_widest();
    bare.shader_f16 = false;
    bare.subgroups = false;
    rmsnorm_webgpu *const narrow = gpu_open(&bare);
    rmsnorm_adapter adapter;
    rmsnorm_webgpu_describe(narrow, &adapter);
    assert_false(adapter.profile.shader_f16);
    static const int64_t widths[] = {1, 2, 5, 63, 256, 1001};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        trial t = skip_trial(F16, 7, widths[i]);
        trial_want(&t, 0xF);
        expect_host_run(narrow, &t, NULL);
        trial_end(&t);
    }
    rmsnorm_webgpu_close(narrow);
}

static void test_more_elements_than_an_index_counts_are_refused(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0);
    rmsnorm_webgpu_tensor x = {.tensor = {.dtype = F16, .rank = 2, .dims = {1 << 20, 4096}}};
    rmsnorm_webgpu_tensor scale = {.tensor = {.dtype = F16, .rank = 1, .dims = {4096}}};
    rmsnorm_webgpu_tensor y = {.buffer = NULL};
    const rmsnorm_webgpu_tensor *const inputs[] = {&x, &scale};
    rmsnorm_webgpu_tensor *const outputs[] = {&y};
    gpu_must_fail(rmsnorm_webgpu_run(gpu, op, NULL, inputs, 2, outputs, 1, NULL), RMSNORM_INVALID_ARGUMENT, "X",
                  "4294967296", "at most", NULL);
    assert_null(y.buffer);
    gpu_must_fail(rmsnorm_webgpu_tensor_create(gpu, &x), RMSNORM_UNSUPPORTED, "8589934592 bytes", NULL);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void test_what_the_contract_refuses_is_refused(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F32, F32, 4, 64);
    t.attributes.axis = 2;
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_INVALID_ARGUMENT, "axis", NULL);
    t.attributes.axis = -1;
    t.attributes.stash_type = 11;
    t.out[1].data = NULL; /* it would be double */
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_INVALID_ARGUMENT, "stash_type is 11", "allowed on WebGPU: 1",
                  NULL);
    t.attributes.stash_type = 1;
    t.in[1].dims[0] = 63;
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_INVALID_ARGUMENT, "scale", "(63)", NULL);
    trial_end(&t);
    trial wide = rms_trial(SIMPLE, F64, F64, 4, 64);
    gpu_must_fail(gpu_run_host(gpu, &wide, NULL), RMSNORM_UNSUPPORTED, "double", "float, float16", NULL);
    trial_end(&wide);
}

/* ---- In flight ------------------------------------------------------------------------------- */

static void test_many_runs_in_flight_keep_their_order(void **state)
{
    (void)state;
    trial t = rms_trial(PLAIN, F32, F32, 16, 256);
    trial cpu = trial_copy(&t);
    resident all = resident_start(gpu, &t);
    resident_share(&all, 0, 0);
    for (int i = 0; i < 8; i++) {           /* errors add up: eight are enough to see an order */
        gpu_must(resident_run(&all, NULL)); /* each on the result of the one before */
        trial_must_run(&cpu);
        memcpy(cpu.in[0].data, cpu.out[0].data, tensor_bytes(&cpu.in[0]));
    }
    resident_finish(&all);
    expect_agreement(&t, &cpu, 64);
    resident_end(&all);
    trial_end(&cpu);
    trial_end(&t);
}

/* ---- Batch invariance ------------------------------------------------------------------------ */

static void test_batch_invariant_rows_have_the_same_bits_in_any_batch(void **state)
{
    (void)state;
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    options.batch_invariant = true;
    static const int64_t widths[] = {16, 100, 4096, 65536};
    for (size_t i = 0; i < COUNT_OF(widths) * 2; i++) {
        const rmsnorm_dtype type = i % 2 == 0 ? F32 : F16;
        trial many = rms_trial(SIMPLE, type, type, 70, widths[i / 2]);
        gpu_must(gpu_run_host(gpu, &many, &options));
        static const int64_t counts[] = {1, 2, 9};
        for (size_t j = 0; j < COUNT_OF(counts); j++) {
            trial few = trial_copy(&many);
            few.in[0].dims[0] = few.out[0].dims[0] = few.out[1].dims[0] = counts[j];
            gpu_must(gpu_run_host(gpu, &few, &options));
            assert_memory_equal(few.out[0].data, many.out[0].data, tensor_bytes(&few.out[0]));
            assert_memory_equal(few.out[1].data, many.out[1].data, tensor_bytes(&few.out[1]));
            trial_end(&few);
        }
        trial_end(&many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_in_memory_agree_with_the_cpu),
        cmocka_unit_test(test_rows_around_the_limit_of_a_dispatch),
        cmocka_unit_test(test_strides_of_rows_in_memory),
        cmocka_unit_test(test_no_rows_are_an_empty_result),
        cmocka_unit_test(test_outputs_are_inferred_and_created),
        cmocka_unit_test(test_outputs_in_the_place_of_inputs),
        cmocka_unit_test(test_both_outputs_in_place),
        cmocka_unit_test(test_input_skip_and_output_in_one_place),
        cmocka_unit_test(test_tensors_side_by_side_in_one_buffer),
        cmocka_unit_test(test_partial_overlaps_are_refused),
        cmocka_unit_test(test_overlaps_in_memory_are_refused),
        cmocka_unit_test(test_places_that_cannot_be_are_refused),
        cmocka_unit_test(test_tensors_above_the_binding_limit_are_cut_at_legal_offsets),
        cmocka_unit_test(test_float16_without_shader_f16),
        cmocka_unit_test(test_more_elements_than_an_index_counts_are_refused),
        cmocka_unit_test(test_what_the_contract_refuses_is_refused),
        cmocka_unit_test(test_many_runs_in_flight_keep_their_order),
        cmocka_unit_test(test_batch_invariant_rows_have_the_same_bits_in_any_batch),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
