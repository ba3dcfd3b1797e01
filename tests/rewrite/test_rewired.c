/* Two blocks of a transformer, with one or two inputs or operators changed at random: whatever comes out of it, fusing and then
 * converting changes no bit. */
#include "rewritten.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 4000 / ONE_IN, MOST_LINES = 32, MOST_VALUES = 64 };

/* Names begin with the letter of their element type: f float, h float16. */
typedef struct line {
    const char *op, *inputs[2], *output;
} line;

static const char *const given[] = {"f_x",   "f_skip", "f_gamma", "f_bias", "f_two",  "f_half",
                                    "f_one", "f_eps",  "h_x",     "h_skip", "h_gamma"};

static const line in_float[] = {
    {"Add", {"f_x", "f_skip"}, "f_inner"},      {"Add", {"f_inner", "f_bias"}, "f_sum"},
    {"Pow", {"f_sum", "f_two"}, "f_sq"},        {"ReduceMean", {"f_sq", NULL}, "f_mean"},
    {"Add", {"f_mean", "f_eps"}, "f_shift"},    {"Sqrt", {"f_shift", NULL}, "f_root"},
    {"Div", {"f_one", "f_root"}, "f_inv"},      {"Mul", {"f_sum", "f_inv"}, "f_rows"},
    {"Mul", {"f_rows", "f_gamma"}, "f_y"},      {"Mul", {"f_y", "f_y"}, "f_sq2"},
    {"ReduceMean", {"f_sq2", NULL}, "f_mean2"}, {"Add", {"f_eps", "f_mean2"}, "f_shift2"},
    {"Pow", {"f_shift2", "f_half"}, "f_root2"}, {"Div", {"f_y", "f_root2"}, "f_rows2"},
    {"Mul", {"f_gamma", "f_rows2"}, "f_z"},     {"Add", {"f_z", "f_sum"}, "f_next"},
};

static const line with_casts[] = {
    {"Cast to=1", {"h_x", NULL}, "f_wide"},       {"Mul", {"f_wide", "f_wide"}, "f_sq"},
    {"ReduceMean", {"f_sq", NULL}, "f_mean"},     {"Add", {"f_mean", "f_eps"}, "f_shift"},
    {"Sqrt", {"f_shift", NULL}, "f_root"},        {"Reciprocal", {"f_root", NULL}, "f_inv"},
    {"Mul", {"f_wide", "f_inv"}, "f_rows"},       {"Cast to=10", {"f_rows", NULL}, "h_rows"},
    {"Mul", {"h_rows", "h_gamma"}, "h_y"},        {"Add", {"h_y", "h_skip"}, "h_sum"},
    {"Cast to=1", {"h_sum", NULL}, "f_wide2"},    {"Pow", {"f_wide2", "f_two"}, "f_sq2"},
    {"ReduceMean", {"f_sq2", NULL}, "f_mean2"},   {"Add", {"f_eps", "f_mean2"}, "f_shift2"},
    {"Sqrt", {"f_shift2", NULL}, "f_root2"},      {"Div", {"f_wide2", "f_root2"}, "f_rows2"},
    {"Cast to=1", {"h_gamma", NULL}, "f_factor"}, {"Mul", {"f_factor", "f_rows2"}, "f_z"},
    {"Cast to=10", {"f_z", NULL}, "h_z"},         {"Add", {"h_z", "h_sum"}, "h_next"},
};

static uint32_t draw(uint32_t *state, size_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((*state >> 8) % below);
}

/* Another value of the type that is there before the line. */
static const char *another(const line *lines, size_t at, char type, uint32_t *random)
{
    const char *found[MOST_VALUES];
    size_t count = 0;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i][0] == type) {
            found[count++] = given[i];
        }
    }
    for (size_t i = 0; i < at; i++) {
        if (lines[i].output[0] == type) {
            found[count++] = lines[i].output;
        }
    }
    return found[draw(random, count)];
}

static void change(line *lines, size_t count, uint32_t *random)
{
    static const char *const binary[] = {"Add", "Mul", "Div", "Sub", "Pow"}, *const unary[] = {"Sqrt", "Reciprocal",
                                                                                               "Neg", "Identity"};
    line *const l = &lines[draw(random, count)];
    const bool two = l->inputs[1] != NULL;
    const bool same_type = l->inputs[0][0] == l->output[0];
    if (draw(random, 4) == 0 && same_type) {
        l->op = two ? binary[draw(random, 5)] : unary[draw(random, 4)];
        return;
    }
    const size_t slot = two ? draw(random, 2) : 0;
    l->inputs[slot] = another(lines, (size_t)(l - lines), l->inputs[slot][0], random);
}

static build *build_lines(const line *lines, size_t count, int64_t opset)
{
    build *const b = build_begin(opset);
    (void)build_value(b, "f_x", RMSNORM_FLOAT, "4,2,4");
    (void)build_value(b, "f_skip", RMSNORM_FLOAT, "4,2,4");
    (void)build_value(b, "f_gamma", RMSNORM_FLOAT, "4");
    (void)build_value(b, "f_bias", RMSNORM_FLOAT, "4");
    (void)build_value(b, "h_x", RMSNORM_FLOAT16, "4,2,4");
    (void)build_value(b, "h_skip", RMSNORM_FLOAT16, "4,2,4");
    (void)build_value(b, "h_gamma", RMSNORM_FLOAT16, "4");
    (void)build_constant(b, "f_two", RMSNORM_FLOAT, "", "2");
    (void)build_constant(b, "f_half", RMSNORM_FLOAT, "", "0.5");
    (void)build_constant(b, "f_one", RMSNORM_FLOAT, "", "1");
    (void)build_constant(b, "f_eps", RMSNORM_FLOAT, "", "1e-5");
    (void)build_constant(b, "axes", RMSNORM_INT64, "1", "-1");
    for (size_t i = 0; i < count; i++) {
        const bool mean = strcmp(lines[i].op, "ReduceMean") == 0;
        char inputs[64];
        if (mean) {
            snprintf(inputs, sizeof inputs, "%s%s", lines[i].inputs[0], opset >= 18 ? ",axes" : "");
        } else {
            snprintf(inputs, sizeof inputs, "%s%s%s", lines[i].inputs[0], lines[i].inputs[1] != NULL ? "," : "",
                     lines[i].inputs[1] != NULL ? lines[i].inputs[1] : "");
        }
        (void)build_node(b, mean && opset < 18 ? "ReduceMean axes=[-1]" : lines[i].op, inputs, lines[i].output);
    }
    return b;
}

/* Everything that is not used is an output, and now and then something that is. */
static void mark_outputs(build *b, const line *lines, size_t count, uint32_t *random)
{
    for (size_t i = 0; i < count; i++) {
        if (rmsnorm_ir_value_at(b->ir, build_find(b, lines[i].output))->user_count == 0 || draw(random, 40) == 0) {
            build_output(b, lines[i].output);
        }
    }
}

/* ReduceMean of a scalar has no last axis: such a sample says nothing. */
static bool is_sound(build *b)
{
    size_t faults;
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    (void)rmsnorm_ir_faults(b->ir, &faults);
    return faults == 0;
}

static size_t check_sample(const line *lines, size_t count, uint32_t *random)
{
    static const int64_t opsets[] = {13, 18, 23};
    build *const b = build_lines(lines, count, opsets[draw(random, 3)]);
    mark_outputs(b, lines, count, random);
    if (!is_sound(b)) {
        build_end(b);
        return 0;
    }
    rewritten r = {.b = b, .seed = draw(random, 1000), .specials = draw(random, 4) == 0, .what = build_nodes(b, 0)};
    rewritten_before(&r, NULL);
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.target = (rmsnorm_target)draw(random, 4);
    assert_int_equal(rmsnorm_ir_fuse(b->ir, &options), RMSNORM_OK);
    rewritten_check_graph(b, options.target, r.what);
    rewritten_after(&r);
    size_t findings;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &findings);
    size_t fused = 0;
    for (size_t i = 0; i < findings; i++) {
        fused += found[i].done;
    }
    assert_int_equal(rmsnorm_ir_convert(b->ir, (rmsnorm_conversion)draw(random, 3)), RMSNORM_OK);
    rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, r.what);
    rewritten_after(&r);
    rewritten_end(&r);
    build_end(b);
    return fused;
}

static void no_bit_changes(const line *lines, size_t count)
{
    uint32_t random = 20;
    size_t fused = 0;
    for (int i = 0; i < SAMPLES; i++) {
        line changed[MOST_LINES];
        memcpy(changed, lines, count * sizeof changed[0]);
        for (uint32_t n = draw(&random, 4); n > 0; n--) {
            change(changed, count, &random);
        }
        fused += check_sample(changed, count, &random);
    }
    assert_true(fused > SAMPLES / 2);
}

static void blocks_in_float(void **state)
{
    (void)state;
    no_bit_changes(in_float, sizeof in_float / sizeof in_float[0]);
}

static void blocks_with_casts(void **state)
{
    (void)state;
    no_bit_changes(with_casts, sizeof with_casts / sizeof with_casts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_in_float),
        cmocka_unit_test(blocks_with_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
