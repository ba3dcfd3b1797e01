/* The planner and the three packages: the contract, the limits, the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "package/package.h"
#include "requests.h"

#define DRAWN (4000 / ONE_IN)

static const rmsnorm_operator *op_at(size_t index)
{
    return rmsnorm_operator_at(index);
}

/* ---- The contract ---------------------------------------------------------------------------- */

/* The Hub's spelling of the default domain. */
static void test_the_contract_part_of_each_manifest_is_the_schema_table(void **state)
{
    (void)state;
    for (size_t o = 0; op_at(o) != NULL; o++) {
        const rmsnorm_operator *const op = op_at(o);
        const rmsnorm_manifest *const m = &package_of(op)->manifest;
        assert_string_equal(m->name, op->name);
        assert_string_equal(m->domain, op->domain[0] == '\0' ? "ai.onnx" : op->domain);
        assert_int_equal(m->since_version, op->since_version);
        assert_int_equal(m->input_count, op->input_count);
        assert_int_equal(m->output_count, op->output_count);
        for (size_t i = 0; i < op->input_count; i++) {
            assert_string_equal(m->inputs[i].onnx, op->inputs[i].name);
            assert_string_equal(m->inputs[i].type, op->inputs[i].type);
            assert_int_equal(m->inputs[i].optional, !op->inputs[i].required);
        }
        for (size_t i = 0; i < op->output_count; i++) {
            assert_string_equal(m->outputs[i].onnx, op->outputs[i].name);
            assert_string_equal(m->outputs[i].type, op->outputs[i].type);
            assert_int_equal(m->outputs[i].optional, !op->outputs[i].required);
        }
        assert_int_equal(m->attribute_count, op->attribute_count);
        for (size_t i = 0; i < op->attribute_count; i++) {
            assert_string_equal(m->attributes[i].name, op->attributes[i].name);
            const rmsnorm_any *const value = &m->attributes[i].value;
            if (op->attributes[i].kind == RMSNORM_ATTRIBUTE_INT) {
                assert_int_equal(value->kind, RMSNORM_ANY_INTEGER);
                assert_int_equal(value->as.integer, op->attributes[i].default_int);
            } else {
                assert_int_equal(value->kind, RMSNORM_ANY_FLOAT);
                assert_true(value->as.number == (double)op->attributes[i].default_float);
            }
        }
        assert_int_equal(m->constraint_count, op->type_constraint_count);
        for (size_t i = 0; i < op->type_constraint_count; i++) {
            assert_string_equal(m->constraints[i].name, op->type_constraints[i].name);
            assert_int_equal(m->constraints[i].types, op->type_constraints[i].types[RMSNORM_DEVICE_WEBGPU]);
        }
    }
}

static bool infers(drawn *d, rmsnorm_tensor results[4])
{
    rmsnorm_tensor *outputs[4] = {NULL};
    for (size_t i = 0; i < d->op->output_count; i++) {
        outputs[i] = d->op->outputs[i].required || d->request.wanted[i] ? &results[i] : NULL;
    }
    return rmsnorm_infer(d->op, &d->attributes, d->request.inputs, d->op->input_count, outputs, d->op->output_count,
                         NULL) == RMSNORM_OK;
}

static void test_a_plan_has_the_shapes_and_refusals_of_inference(void **state)
{
    (void)state;
    size_t planned = 0;
    size_t refused = 0;
    for (size_t o = 0; op_at(o) != NULL; o++) {
        rng random = {o + 1};
        for (size_t trial = 0; trial < DRAWN; trial++) {
            drawn d;
            rmsnorm_tensor results[4];
            rmsnorm_plan *plan = NULL;
            draw_request(&random, op_at(o), package_of(op_at(o)), &d);
            const bool good = infers(&d, results);
            const rmsnorm_status status = rmsnorm_plan_make(d.package, &d.request, &plan);
            if (good != (status == RMSNORM_OK)) {
                fail_msg("%s, trial %zu: inference says %s, the plan: %s", d.op->name, trial, good ? "good" : "refused",
                         status == RMSNORM_OK ? "good" : rmsnorm_last_error());
            }
            refused += !good;
            if (!good) {
                continue;
            }
            planned++;
            const char *const wrong = plan_fault(&d, plan);
            if (wrong != NULL) {
                fail_msg("%s, trial %zu: %s", d.op->name, trial, wrong);
            }
            for (size_t i = 0; i < d.op->output_count; i++) {
                const bool there = d.op->outputs[i].required || d.request.wanted[i];
                assert_int_equal(plan->outputs[i].rank, there ? results[i].rank : RMSNORM_UNKNOWN);
                for (int32_t k = 0; there && k < results[i].rank; k++) {
                    assert_int_equal(plan->outputs[i].dims[k], results[i].dims[k]);
                }
                assert_true(!there || plan->outputs[i].dtype == results[i].dtype);
            }
            rmsnorm_plan_release(plan);
        }
    }
    print_message("%zu planned, %zu refused\n", planned, refused);
    assert_true(planned > DRAWN && refused > DRAWN / 10);
}

/* ---- Devices --------------------------------------------------------------------------------- */

typedef struct setting {
    const char *name;
    uint64_t value;
} setting;

static const setting devices[][5] = {
    {{NULL, 0}},
    {{"shader-f16", 1}},
    {{"maxComputeInvocationsPerWorkgroup", 1}},
    {{"maxComputeInvocationsPerWorkgroup", 64}, {"shader-f16", 1}},
    {{"maxComputeInvocationsPerWorkgroup", 128}},
    {{"maxComputeWorkgroupSizeX", 32}},
    {{"maxComputeWorkgroupStorageSize", 16}},
    {{"maxComputeWorkgroupStorageSize", 0}, {"shader-f16", 1}},
    {{"maxStorageBufferBindingSize", 4096}},
    {{"maxStorageBufferBindingSize", 4096}, {"shader-f16", 1}},
    {{"maxStorageBufferBindingSize", 4096},
     {"maxComputeWorkgroupStorageSize", 16},
     {"maxComputeWorkgroupsPerDimension", 3}},
    {{"maxComputeWorkgroupsPerDimension", 7}},
    {{"minStorageBufferOffsetAlignment", 32}, {"maxStorageBufferBindingSize", 2048}},
    {{"maxStorageBuffersPerShaderStage", 4}},
    {{"subgroups", 1}},
    {{"subgroups", 1}, {"subgroupMinSize", 8}, {"subgroupMaxSize", 8}, {"maxComputeWorkgroupStorageSize", 16}},
    {{"subgroups", 1}, {"subgroupMinSize", 4}, {"subgroupMaxSize", 64}, {"shader-f16", 1}},
    {{"subgroups", 1}, {"subgroupMinSize", 32}, {"subgroupMaxSize", 32}, {"maxComputeInvocationsPerWorkgroup", 16}},
    {{"subgroups", 1}, {"subgroupMinSize", 32}, {"subgroupMaxSize", 32}, {"maxStorageBufferBindingSize", 4096}},
};
#define DEVICES (sizeof devices / sizeof devices[0])

static void set_device(drawn *d, const setting settings[5])
{
    for (size_t i = 0; i < 5 && settings[i].name != NULL; i++) {
        assert_int_equal(rmsnorm_device_profile_set(&d->device, settings[i].name, settings[i].value), RMSNORM_OK);
    }
}

static void test_no_plan_exceeds_a_devices_limits(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 4, 7, 8, 100, 101, 256, 1000, 5000, 16384};
    static const int64_t rows[] = {1, 2, 3, 65, 1000, 65537};
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16};
    size_t planned = 0;
    size_t refused = 0;
    size_t pieces = 0;
    for (size_t v = 0; v < DEVICES; v++) {
        for (size_t i = 0; i < 1728; i += ONE_IN) {
            const rmsnorm_operator *const op = op_at(i % 3);
            drawn d;
            rmsnorm_plan *plan;
            make_request(op, package_of(op), rows[i / 36 % 6], widths[i / 3 % 12], types[i / 216 % 2],
                         types[i / 432 % 2], i / 864 % 2 == 1, &d);
            set_device(&d, devices[v]);
            if (rmsnorm_plan_make(d.package, &d.request, &plan) != RMSNORM_OK) {
                if (strstr(rmsnorm_last_error(), "no variant fits") == NULL) {
                    fail_msg("device %zu: %s", v, rmsnorm_last_error());
                }
                refused++;
                continue;
            }
            const char *const wrong = plan_fault(&d, plan);
            if (wrong != NULL) {
                fail_msg("device %zu, %s %dx%d: %s", v, op->name, (int)d.inputs[0].dims[0], (int)d.inputs[0].dims[1],
                         wrong);
            }
            planned++;
            pieces += plan->pass_count > 1;
            rmsnorm_plan_release(plan);
        }
    }
    print_message("%zu planned, %zu of them in pieces, %zu refused\n", planned, pieces, refused);
    assert_true(planned > 1000 && pieces > 100 && refused > 10);
}

static void test_every_pair_of_buffers_may_be_one(void **state)
{
    (void)state;
    size_t planned = 0;
    for (size_t i = 0; i < 60; i++) {
        static const int64_t widths[] = {1, 5, 8, 30, 20000};
        const rmsnorm_operator *const op = op_at(i % 3);
        drawn d;
        make_request(op, package_of(op), 3, widths[i / 3 % 5], RMSNORM_FLOAT + 9 * (i / 15 % 2 == 1), RMSNORM_FLOAT,
                     true, &d);
        if (op->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
            d.inputs[1] = d.inputs[0];
        }
        d.device.shader_f16 = i / 30 == 1;
        for (size_t out = 0; out < op->output_count; out++) {
            for (int in = 0; in < 2; in++) {
                rmsnorm_plan *plan;
                memset(d.request.in_place, 0, sizeof d.request.in_place);
                d.request.in_place[out] = in + 1;
                if (rmsnorm_plan_make(d.package, &d.request, &plan) == RMSNORM_OK) {
                    const char *const wrong = plan_fault(&d, plan);
                    if (wrong != NULL) {
                        fail_msg("%s, output %zu in place of input %d, width %d: %s", op->name, out, in,
                                 (int)d.inputs[0].dims[1], wrong);
                    }
                    planned++;
                    rmsnorm_plan_release(plan);
                } else {
                    assert_non_null(strstr(rmsnorm_last_error(), "of one type and shape"));
                }
            }
        }
    }
    print_message("%zu plans in place\n", planned);
    assert_true(planned > 100);
}

/* ---- Single promises ------------------------------------------------------------------------- */

static bool same_plan(const rmsnorm_plan *a, const rmsnorm_plan *b)
{
    bool same = strcmp(a->variant, b->variant) == 0 && a->shader_count == b->shader_count &&
                a->pass_count == b->pass_count && a->scratch_count == b->scratch_count &&
                a->peak_memory == b->peak_memory;
    for (size_t i = 0; same && i < a->shader_count; i++) {
        same = strcmp(a->shaders[i].wgsl, b->shaders[i].wgsl) == 0 &&
               strcmp(a->shaders[i].label, b->shaders[i].label) == 0;
    }
    for (size_t i = 0; same && i < a->pass_count; i++) {
        same = a->passes[i].uniform_count == b->passes[i].uniform_count &&
               memcmp(a->passes[i].uniforms, b->passes[i].uniforms, a->passes[i].uniform_count * 4) == 0 &&
               memcmp(a->passes[i].workgroups, b->passes[i].workgroups, sizeof a->passes[i].workgroups) == 0;
        for (size_t k = 0; same && k < a->passes[i].binding_count; k++) {
            same = a->passes[i].bindings[k].offset == b->passes[i].bindings[k].offset &&
                   a->passes[i].bindings[k].size == b->passes[i].bindings[k].size;
        }
    }
    return same;
}

static void test_the_same_request_gives_the_same_plan(void **state)
{
    (void)state;
    rng random = {77};
    for (size_t trial = 0; trial < 300; trial++) {
        drawn d;
        rmsnorm_plan *first;
        rmsnorm_plan *second;
        const rmsnorm_operator *const op = op_at(trial % 3);
        draw_request(&random, op, package_of(op), &d);
        if (rmsnorm_plan_make(d.package, &d.request, &first) == RMSNORM_OK) {
            assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &second), RMSNORM_OK);
            assert_true(same_plan(first, second));
            rmsnorm_plan_release(second);
            rmsnorm_plan_release(first);
        }
    }
}

/* F32 */
static void test_more_elements_than_32_bits_count_are_refused(void **state)
{
    (void)state;
    for (size_t o = 0; op_at(o) != NULL; o++) {
        drawn d;
        rmsnorm_plan *plan;
        make_request(op_at(o), package_of(op_at(o)), INT64_C(1) << 20, INT64_C(1) << 12, RMSNORM_FLOAT16,
                     RMSNORM_FLOAT16, false, &d);
        assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_INVALID_ARGUMENT);
        assert_non_null(strstr(rmsnorm_last_error(), "4294967296 elements"));
    }
}

/* F33 */
static void test_rows_that_are_not_aligned_are_cut_into_pieces(void **state)
{
    (void)state;
    drawn d;
    rmsnorm_plan *plan;
    make_request(op_at(0), package_of(op_at(0)), 100, 100, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, &d);
    d.device.max_storage_buffer_binding_size = 4096;
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
    assert_null(plan_fault(&d, plan));
    assert_true(plan->pass_count >= 5);
    assert_int_equal(plan->passes[1].uniforms[2],
                     plan->passes[0].uniforms[0]); /* first row = rows of the piece before */
    rmsnorm_plan_release(plan);
}

static void test_many_rows_fold_into_a_second_dimension(void **state)
{
    (void)state;
    static const int64_t rows[] = {65535, 65536, 65537, 131071};
    for (size_t i = 0; i < 4; i++) {
        drawn d;
        rmsnorm_plan *plan;
        make_request(op_at(0), package_of(op_at(0)), rows[i], 2048, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, &d);
        d.device.max_storage_buffer_binding_size = d.device.max_buffer_size = (uint64_t)1 << 32;
        assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
        assert_int_equal(plan->pass_count, 1);
        const uint64_t groups = (uint64_t)plan->passes[0].workgroups[0] * plan->passes[0].workgroups[1];
        const uint64_t each = 256 / 128;
        assert_true(groups * each >= (uint64_t)rows[i]);
        assert_int_equal(plan->passes[0].workgroups[1] > 1, (uint64_t)rows[i] > 65535 * each);
        rmsnorm_plan_release(plan);
    }
}

static void test_batch_invariant_shaders_do_not_depend_on_the_rows(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 64, 4096, 16384, 100000};
    size_t compared = 0;
    for (size_t i = 0; i < 36 * DEVICES; i++) {
        const rmsnorm_operator *const op = op_at(i % 3);
        const rmsnorm_dtype type = i / 18 % 2 == 0 ? RMSNORM_FLOAT : RMSNORM_FLOAT16;
        drawn one;
        drawn many;
        rmsnorm_plan *plans[2];
        make_request(op, package_of(op), 1, widths[i / 3 % 6], type, type, true, &one);
        make_request(op, package_of(op), 70, widths[i / 3 % 6], type, type, true, &many);
        set_device(&one, devices[i / 36]);
        set_device(&many, devices[i / 36]);
        one.request.batch_invariant = many.request.batch_invariant = true;
        if (rmsnorm_plan_make(one.package, &one.request, &plans[0]) != RMSNORM_OK) {
            assert_non_null(strstr(rmsnorm_last_error(), "no variant fits")); /* the row is too long for the device */
            continue;
        }
        if (rmsnorm_plan_make(many.package, &many.request, &plans[1]) != RMSNORM_OK) {
            assert_non_null(strstr(rmsnorm_last_error(), "no variant fits")); /* or no two of them can be bound */
            rmsnorm_plan_release(plans[0]);
            continue;
        }
        compared++;
        assert_string_equal(plans[0]->variant, plans[1]->variant);
        assert_int_equal(plans[0]->shader_count, 1);
        assert_string_equal(plans[0]->shaders[0].wgsl, plans[1]->shaders[0].wgsl);
        rmsnorm_plan_release(plans[0]);
        rmsnorm_plan_release(plans[1]);
    }
    assert_true(compared > 36 * DEVICES / 2);
}

/* A plan for rows of float32 on a device with subgroups of `subgroup` invocations, 0 for none. */
static rmsnorm_plan *plan_rows(int64_t rows, int64_t width, uint32_t subgroup, const char *tunable, int64_t value)
{
    drawn d;
    rmsnorm_plan *plan;
    make_request(op_at(0), package_of(op_at(0)), rows, width, RMSNORM_FLOAT, RMSNORM_FLOAT, false, &d);
    d.device.subgroups = subgroup > 0;
    d.device.subgroup_min_size = d.device.subgroup_max_size = subgroup;
    if (tunable != NULL) {
        d.request.tunables[d.request.tunable_count++] = (rmsnorm_tunable){tunable, value};
    }
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
    assert_null(plan_fault(&d, plan));
    return plan;
}

static bool shader_has(const rmsnorm_plan *plan, const char *text)
{
    return strstr(plan->shaders[0].wgsl, text) != NULL;
}

/* Tiny rows: an invocation each. Short: a subgroup each, and no barrier. Long: a workgroup of subgroups each. */
static void test_rows_are_shared_as_they_are_long(void **state)
{
    (void)state;
    static const struct {
        int64_t width;
        uint32_t subgroup;
        const char *group;
        bool adds, waits;
    } cases[] = {
        {16, 32, "@workgroup_size(256)", false, false}, {16, 0, "@workgroup_size(256)", false, false},
        {16, 8, "@workgroup_size(8)", false, false},    {128, 32, "@workgroup_size(32)", true, false},
        {128, 0, "@workgroup_size(256)", false, true},  {4096, 32, "@workgroup_size(256)", true, true},
        {4096, 8, "@workgroup_size(8)", true, false},   {4096, 0, "@workgroup_size(256)", false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rmsnorm_plan *const plan = plan_rows(100, cases[i].width, cases[i].subgroup, NULL, 0);
        assert_string_equal(plan->variant, "rows");
        assert_true(shader_has(plan, cases[i].group));
        assert_int_equal(shader_has(plan, "subgroupAdd"), cases[i].adds);
        assert_int_equal(shader_has(plan, "workgroupBarrier"), cases[i].waits);
        rmsnorm_plan_release(plan);
    }
    rmsnorm_plan *const without = plan_rows(100, 4096, 32, "SUBGROUPS", 0);
    assert_false(shader_has(without, "subgroup"));
    rmsnorm_plan_release(without);
}

static void test_a_row_that_fits_registers_is_loaded_once(void **state)
{
    (void)state;
    static const int64_t widths[] = {4096, 8192, 16384};
    for (size_t i = 0; i < 3; i++) {
        rmsnorm_plan *const kept = plan_rows(100, widths[i], 32, NULL, 0);
        rmsnorm_plan *const never = plan_rows(100, widths[i], 32, "KEPT_GROUPS", 0);
        assert_int_equal(shader_has(kept, "r7 = load_r"), widths[i] == 8192);
        assert_int_equal(shader_has(kept, "r0 = load_r"), widths[i] <= 8192);
        assert_false(shader_has(never, "r0 = load_r"));
        rmsnorm_plan_release(kept);
        rmsnorm_plan_release(never);
    }
}

/* A workgroup costs a device that is software as much as hundreds of elements. */
static void test_software_gets_few_workgroups_with_many_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 63, 64, 65, 1000, 100001};
    static const int64_t widths[] = {16, 128};
    for (size_t i = 0; i < 12; i++) {
        const int64_t count = rows[i % 6];
        rmsnorm_plan *const plan = plan_rows(count, widths[i / 6], 8, NULL, 0);
        const int64_t turn = i / 6 == 0 ? 8 : 1; /* rows that a workgroup has at a time */
        const int64_t workgroups = plan->passes[0].workgroups[0];
        const int64_t repeat = plan->passes[0].uniforms[1];
        assert_true(workgroups <= 64 && plan->passes[0].workgroups[1] == 1);
        assert_true(workgroups * repeat * turn >= count && (workgroups - 1) * repeat * turn < count);
        rmsnorm_plan_release(plan);
    }
}

/* Whatever a tuner tries is a plan. */
static void test_every_value_of_every_tunable_makes_a_plan(void **state)
{
    (void)state;
    static const int64_t widths[] = {3, 16, 100, 2048, 50000};
    size_t planned = 0;
    for (size_t i = 0; i < (size_t)3 * 5 * 2 * DEVICES; i += ONE_IN) {
        const rmsnorm_operator *const op = op_at(i % 3);
        const rmsnorm_manifest *const manifest = &package_of(op)->manifest;
        const rmsnorm_dtype type = i / 15 % 2 == 0 ? RMSNORM_FLOAT : RMSNORM_FLOAT16;
        drawn d;
        make_request(op, package_of(op), 5, widths[i / 3 % 5], type, type, true, &d);
        set_device(&d, devices[i / 30]);
        d.request.tunable_count = 1;
        for (size_t t = 0; t < manifest->tunable_count; t++) {
            for (size_t k = 0; k < manifest->tunables[t].value_count; k++) {
                rmsnorm_plan *plan;
                d.request.tunables[0] = (rmsnorm_tunable){manifest->tunables[t].name, manifest->tunables[t].values[k]};
                if (rmsnorm_plan_make(d.package, &d.request, &plan) != RMSNORM_OK) {
                    assert_non_null(strstr(rmsnorm_last_error(), "no variant fits"));
                    continue;
                }
                const char *const wrong = plan_fault(&d, plan);
                if (wrong != NULL) {
                    fail_msg("device %zu, %s, %s=%d: %s", i / 30, op->name, manifest->tunables[t].name,
                             (int)manifest->tunables[t].values[k], wrong);
                }
                planned++;
                rmsnorm_plan_release(plan);
            }
        }
    }
    print_message("%zu plans\n", planned);
    assert_true(planned > 10000 / ONE_IN);
}

static void test_a_variant_may_be_asked_for_by_name(void **state)
{
    (void)state;
    drawn d;
    rmsnorm_plan *plan;
    make_request(op_at(0), package_of(op_at(0)), 1, 65536, RMSNORM_FLOAT, RMSNORM_FLOAT, true, &d);
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
    assert_string_equal(plan->variant, "splitk");
    assert_int_equal(plan->pass_count, 2);
    assert_true(plan->scratch_count == 1 && plan->peak_memory >= plan->scratch[0]);
    rmsnorm_plan_release(plan);
    d.request.variant = "rows";
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
    assert_string_equal(plan->variant, "rows");
    rmsnorm_plan_release(plan);
    d.request.variant = "tiles"; /* F107 */
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_NOT_FOUND);
    assert_non_null(strstr(rmsnorm_last_error(), "variant tiles is not in the package; it has splitk, rows"));
    d.request.variant = "splitk";
    d.inputs[0].dims[1] = d.inputs[1].dims[0] = 64;
    assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_UNSUPPORTED);
    assert_non_null(strstr(rmsnorm_last_error(), "splitk: not steps >= tunables.SPLITK_GROUPS"));
}

static void test_no_elements_need_no_dispatch(void **state)
{
    (void)state;
    for (size_t o = 0; op_at(o) != NULL; o++) {
        drawn d;
        rmsnorm_plan *plan;
        make_request(op_at(o), package_of(op_at(o)), 0, 8, RMSNORM_FLOAT, RMSNORM_FLOAT, true, &d);
        assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
        assert_int_equal(plan->pass_count, 0);
        assert_int_equal(plan->outputs[0].dims[0], 0);
        assert_int_equal(plan->peak_memory, 0);
        rmsnorm_plan_release(plan);
    }
}

static void test_epsilon_reaches_the_shader_bit_for_bit(void **state)
{
    (void)state;
    static const uint32_t patterns[] = {0, 0x3727c5acu, 0x7fc00000u, 0xbf800000u, 1, 0x7f800000u};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        drawn d;
        rmsnorm_plan *plan;
        make_request(op_at(0), package_of(op_at(0)), 2, 8, RMSNORM_FLOAT, RMSNORM_FLOAT, false, &d);
        memcpy(&d.attributes.epsilon, &patterns[i], sizeof d.attributes.epsilon);
        assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
        assert_int_equal(plan->passes[0].uniforms[3], patterns[i]);
        rmsnorm_plan_release(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_contract_part_of_each_manifest_is_the_schema_table),
        cmocka_unit_test(test_a_plan_has_the_shapes_and_refusals_of_inference),
        cmocka_unit_test(test_no_plan_exceeds_a_devices_limits),
        cmocka_unit_test(test_every_pair_of_buffers_may_be_one),
        cmocka_unit_test(test_the_same_request_gives_the_same_plan),
        cmocka_unit_test(test_more_elements_than_32_bits_count_are_refused),
        cmocka_unit_test(test_rows_that_are_not_aligned_are_cut_into_pieces),
        cmocka_unit_test(test_many_rows_fold_into_a_second_dimension),
        cmocka_unit_test(test_batch_invariant_shaders_do_not_depend_on_the_rows),
        cmocka_unit_test(test_rows_are_shared_as_they_are_long),
        cmocka_unit_test(test_a_row_that_fits_registers_is_loaded_once),
        cmocka_unit_test(test_software_gets_few_workgroups_with_many_rows),
        cmocka_unit_test(test_every_value_of_every_tunable_makes_a_plan),
        cmocka_unit_test(test_a_variant_may_be_asked_for_by_name),
        cmocka_unit_test(test_no_elements_need_no_dispatch),
        cmocka_unit_test(test_epsilon_reaches_the_shader_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
