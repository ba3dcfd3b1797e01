/* The loops of a problem against NumPy's broadcasting rule, written down separately and naively. */
#include <stdlib.h>

#include "call_text.h"

static uint32_t random_state;

static int random_below(int limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)limit);
}

/* Element of scale that goes with element `index` of X, both row-major. */
static int64_t numpy_offset(const rmsnorm_tensor *x, const rmsnorm_tensor *scale, int64_t index)
{
    int64_t coordinates[RMSNORM_MAX_RANK];
    for (int32_t d = x->rank; d-- > 0;) {
        coordinates[d] = index % x->dims[d];
        index /= x->dims[d];
    }
    int64_t offset = 0;
    for (int32_t d = 0; d < scale->rank; ++d) {
        const int64_t coordinate = scale->dims[d] == 1 ? 0 : coordinates[d + x->rank - scale->rank];
        offset = offset * scale->dims[d] + coordinate;
    }
    return offset;
}

static bool numpy_broadcasts(const rmsnorm_tensor *x, const rmsnorm_tensor *scale)
{
    bool fits = scale->rank <= x->rank;
    for (int32_t d = 0; fits && d < scale->rank; ++d) {
        fits = scale->dims[d] == 1 || scale->dims[d] == x->dims[d + x->rank - scale->rank];
    }
    return fits;
}

static int64_t walk(const rmsnorm_loop *loops, int count, int64_t step)
{
    int64_t offset = 0;
    for (int i = count; i-- > 0;) {
        offset += step % loops[i].count * loops[i].stride;
        step /= loops[i].count;
    }
    return offset;
}

static int64_t product(const rmsnorm_loop *loops, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; ++i) {
        product *= loops[i].count;
    }
    return product;
}

/* No loop of one step, no neighbours that walk alike. */
static void assert_merged(const rmsnorm_loop *loops, int count)
{
    for (int i = 0; i < count; ++i) {
        assert_true(loops[i].count != 1);
        assert_true(i == 0 || loops[i - 1].stride != loops[i].count * loops[i].stride);
    }
}

static void random_shapes(rmsnorm_tensor *x, rmsnorm_tensor *scale)
{
    x->dtype = scale->dtype = RMSNORM_FLOAT;
    x->rank = (int32_t)(1 + random_below(5));
    scale->rank = (int32_t)random_below(x->rank + (random_below(10) == 0 ? 2 : 1));
    for (int32_t d = 0; d < x->rank; ++d) {
        x->dims[d] = random_below(20) == 0 ? 0 : 1 + random_below(4);
    }
    for (int32_t d = 0; d < scale->rank; ++d) {
        const int32_t of_x = d + x->rank - scale->rank;
        const int chance = random_below(24);
        scale->dims[d] = chance == 0 ? random_below(5) : chance < 9 || of_x < 0 ? 1 : x->dims[of_x];
    }
}

static void loops_visit_the_elements_that_numpy_would(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_parse(RMS);
    random_state = 4242;
    int legal_count = 0;
    for (int trial = 0; trial < 60000; ++trial) {
        rmsnorm_tensor x = {.data = call_pointer(0x10000)};
        rmsnorm_tensor scale = {.data = call_pointer(0x20000)};
        random_shapes(&x, &scale);
        rmsnorm_tensor y = x;
        y.data = call_pointer(0x30000);
        const rmsnorm_tensor *const inputs[] = {&x, &scale};
        rmsnorm_tensor *const outputs[] = {&y};
        rmsnorm_attributes attributes;
        rmsnorm_attributes_init(op, &attributes);
        const int axis = random_below(x.rank);
        attributes.axis = random_below(2) != 0 ? axis : axis - x.rank;
        int64_t hidden_size = 1;
        int64_t rows = 1;
        for (int d = 0; d < x.rank; ++d) {
            *(d < axis ? &rows : &hidden_size) *= x.dims[d];
        }
        rmsnorm_problem problem;
        const bool legal = numpy_broadcasts(&x, &scale) && hidden_size > 0;
        assert_int_equal(rmsnorm_resolve(op, &attributes, inputs, 2, outputs, 1, &problem) == RMSNORM_OK, legal);
        if (!legal) {
            continue;
        }
        ++legal_count;
        assert_int_equal(problem.rows.rows, rows);
        assert_int_equal(problem.rows.hidden_size, hidden_size);
        assert_int_equal(product(problem.outer, problem.outer_count), rows);
        assert_int_equal(product(problem.inner, problem.inner_count), hidden_size);
        assert_merged(problem.outer, problem.outer_count);
        assert_merged(problem.inner, problem.inner_count);
        assert_true(problem.inner_count == 0 || problem.inner[problem.inner_count - 1].stride <= 1);
        for (int64_t i = 0; i < rows * hidden_size; ++i) {
            const int64_t offset = walk(problem.outer, problem.outer_count, i / hidden_size) +
                                   walk(problem.inner, problem.inner_count, i % hidden_size);
            assert_int_equal(offset, numpy_offset(&x, &scale, i));
        }
    }
    assert_true(legal_count > 10000);
}

static void check_loops(const char *op, const char *attributes, const char *inputs, const char *output,
                        const char *expected)
{
    rmsnorm_problem problem;
    char text[256] = "";
    assert_string_equal(call_resolve(op, attributes, inputs, output, &problem), "");
    for (int i = 0; i < problem.outer_count + problem.inner_count; ++i) {
        const rmsnorm_loop loop = i < problem.outer_count ? problem.outer[i] : problem.inner[i - problem.outer_count];
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%dx%d",
                 i == problem.outer_count ? " / "
                 : i > 0                  ? " "
                                          : "",
                 (int)loop.count, (int)loop.stride);
    }
    assert_string_equal(text, expected);
}

static void common_scales_make_the_loops_of_the_comment(void **state)
{
    (void)state;
    check_loops(RMS, NULL, "float:2,3,8 | float:8", "float:2,3,8", "6x0 / 8x1");
    check_loops(RMS, NULL, "float:1,8 | float:8", "float:1,8", " / 8x1");
    check_loops(RMS, NULL, "float:8 | float:8", "float:8", " / 8x1");
    check_loops(RMS, NULL, "float:2,3,8 | float:", "float:2,3,8", "6x0 / 8x0");
    check_loops(RMS, NULL, "float:2,3,8 | float:1,1,8", "float:2,3,8", "6x0 / 8x1");
    check_loops(RMS, NULL, "float:2,3,8 | float:3,8", "float:2,3,8", "2x0 3x8 / 8x1");
    check_loops(RMS, NULL, "float:2,3,8 | float:2,3,8", "float:2,3,8", "6x8 / 8x1");
    check_loops(RMS, NULL, "float:2,3,8 | float:3,1", "float:2,3,8", "2x0 3x1 / 8x0");
    check_loops(RMS, "axis=1", "float:2,3,8 | float:3,8", "float:2,3,8", "2x0 / 24x1");
    check_loops(RMS, "axis=1", "float:2,3,8 | float:3,1", "float:2,3,8", "2x0 / 3x1 8x0");
    check_loops(RMS, "axis=1", "float:2,3,8 | float:8", "float:2,3,8", "2x0 / 3x0 8x1");
    check_loops(RMS, NULL, "float:7,1 | float:1", "float:7,1", "7x0");
    check_loops(RMS, NULL, "float:0,8 | float:8", "float:0,8", "0x0 / 8x0");
    check_loops(SKIP, NULL, "float:2,3,8 | float:3,8 | float:8", "float:2,3,8", "6x0 / 8x1");
    check_loops(SKIP, NULL, "float:5,1 | float:5,1 | float:1", "float:5,1", "5x0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_visit_the_elements_that_numpy_would),
        cmocka_unit_test(common_scales_make_the_loops_of_the_comment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
