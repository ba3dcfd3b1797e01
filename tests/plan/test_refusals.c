/* What the planner refuses, and what its shaders must say where they are easily wrong. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "requests.h"

static void request_of(size_t index, int64_t rows, int64_t width, drawn *d)
{
    const rmsnorm_operator *const op = rmsnorm_operator_at(index);
    make_request(op, package_of(op), rows, width, RMSNORM_FLOAT, RMSNORM_FLOAT, true, d);
}

static void refused(const drawn *d, rmsnorm_status status, const char *words)
{
    rmsnorm_plan *plan;
    assert_int_equal(rmsnorm_plan_make(d->package, &d->request, &plan), status);
    if (strstr(rmsnorm_last_error(), words) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", rmsnorm_last_error(), words);
    }
}

static void test_epsilons_that_the_skip_operator_does_not_take(void **state)
{
    (void)state;
    const float epsilons[] = {NAN, INFINITY, -1.0f};
    for (size_t i = 0; i < 3; i++) {
        drawn d;
        request_of(1, 2, 8, &d);
        d.attributes.epsilon = epsilons[i];
        refused(&d, RMSNORM_INVALID_ARGUMENT, "SkipSimplifiedLayerNormalization: ");
    }
}

static void test_axes_at_the_ends_of_their_type(void **state)
{
    (void)state;
    const int64_t axes[] = {INT64_MIN, INT64_MAX, 2, -3};
    for (size_t i = 0; i < 4; i++) {
        drawn d;
        request_of(0, 2, 8, &d);
        d.attributes.axis = axes[i];
        refused(&d, RMSNORM_INVALID_ARGUMENT, "axis");
    }
}

static void test_requests_that_make_no_sense(void **state)
{
    (void)state;
    drawn d;
    request_of(0, 2, 8, &d);
    d.request.in_place[0] = INT_MIN;
    refused(&d, RMSNORM_INVALID_ARGUMENT, "in_place[0] is -2147483648");
    request_of(0, 2, 8, &d);
    d.request.in_place[5] = 1;
    refused(&d, RMSNORM_INVALID_ARGUMENT, "output 5 is wanted or in place");
    request_of(0, 2, 8, &d);
    d.request.tunable_count = 1;
    refused(&d, RMSNORM_INVALID_ARGUMENT, "tunable 0 has no name");
    d.request.tunables[0] = (rmsnorm_tunable){"VECTOR", 3};
    refused(&d, RMSNORM_INVALID_ARGUMENT, "tunable VECTOR is 3; allowed: 1, 4");
    request_of(0, 2, 8, &d);
    d.request.struct_size = 8;
    refused(&d, RMSNORM_INVALID_ARGUMENT, "request.struct_size is 8");
}

static void test_buffers_that_the_device_cannot_have(void **state)
{
    (void)state;
    drawn d;
    request_of(0, 20000, 4096, &d);
    refused(&d, RMSNORM_UNSUPPORTED, "y takes 327680000 bytes, the device's largest buffer 268435456");
    request_of(0, 3, 1000, &d);
    d.device.max_storage_buffer_binding_size = 4096;
    refused(&d, RMSNORM_UNSUPPORTED, "behind an offset that is aligned");
}

/* Statistics may take the buffer of factors that have their shape: then nobody may still read those. */
static void test_statistics_in_place_of_their_factors(void **state)
{
    (void)state;
    const int64_t widths[] = {8, 4096, 65536};
    for (size_t i = 0; i < 3; i++) {
        drawn d;
        rmsnorm_plan *plan;
        request_of(0, 2000, widths[i], &d);
        d.device.max_buffer_size = (uint64_t)1 << 32;
        d.device.max_storage_buffer_binding_size = i == 0 ? 4096 : (uint64_t)1 << 32;
        d.inputs[1].rank = 2;
        d.inputs[1].dims[0] = 2000;
        d.inputs[1].dims[1] = 1;
        d.request.in_place[1] = 2;
        assert_int_equal(rmsnorm_plan_make(d.package, &d.request, &plan), RMSNORM_OK);
        assert_null(plan_fault(&d, plan));
        assert_string_equal(plan->variant, "rows");
        const char *const barrier = strstr(plan->shaders[0].wgsl, "storageBarrier();");
        assert_non_null(barrier);
        assert_non_null(strstr(barrier, "write_statistics(row"));
        assert_non_null(strstr(plan->shaders[0].wgsl, "load_gamma(params.base_statistics + row - params.first)"));
        rmsnorm_plan_release(plan);
    }
}

/* An expression of a few kilobytes may not take longer than one: lists of dims are short, and comparisons are counted. */
static void test_expressions_are_bounded(void **state)
{
    (void)state;
    static const char template[] =
        "{% set s = range(300000)|join('a') %}{% set t = range(300000)|join('a') %}"
        "{% for i in range(20000) %}{% if s == t and s == t and s == t %}{% endif %}{% endfor %}";
    char *text;
    assert_int_not_equal(rmsnorm_template_render_json("t", template, strlen(template), "{}", &text), RMSNORM_OK);
    assert_non_null(strstr(rmsnorm_last_error(), "more steps than allowed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epsilons_that_the_skip_operator_does_not_take),
        cmocka_unit_test(test_axes_at_the_ends_of_their_type),
        cmocka_unit_test(test_requests_that_make_no_sense),
        cmocka_unit_test(test_buffers_that_the_device_cannot_have),
        cmocka_unit_test(test_statistics_in_place_of_their_factors),
        cmocka_unit_test(test_expressions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
