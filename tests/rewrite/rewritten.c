#include "rewritten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void rewritten_infer(build *b)
{
    size_t count;
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const rmsnorm_ir_fault *const faults = rmsnorm_ir_faults(b->ir, &count);
    if (count > 0) {
        fail_msg("%s: %s", build_nodes(b, 0), faults[0].sentence);
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static double unit(uint32_t *state)
{
    return (double)next(state) / 0x1p31 - 1.0;
}

void rewritten_fill(const rmsnorm_tensor *tensor, unsigned seed, bool specials)
{
    uint32_t state = 2654435761u * (seed + 1);
    const bool half = tensor->dtype == RMSNORM_FLOAT16;
    const bool wide = tensor->dtype == RMSNORM_DOUBLE;
    const size_t count = (size_t)rmsnorm_tensor_count(tensor);
    const size_t row = tensor->rank > 0 ? (size_t)tensor->dims[tensor->rank - 1] : 1;
    if (row == 0) {
        return;
    }
    size_t kind = seed;
    for (size_t i = 0; i < count; i++) {
        kind += i % row == 0;
        double number = 2.0 * unit(&state);
        switch (kind % 8) {
        case 0:
            number *= half ? 3e4 : wide ? 1e200 : 1e30;
            break;
        case 1:
            number *= half ? 1e-6 : wide ? 1e-200 : 1e-25;
            break;
        case 2:
            number *= i % row == row / 2 ? 400.0 : 1e-2; /* F48: about 795 */
            break;
        case 3:
            number = specials && kind % 3 == 0 ? (i % row == 0 ? (double)NAN : number)
                     : specials                ? (i % row == 1 ? (double)-INFINITY : number)
                                               : 0.0;
            break;
        case 4:
            number *= 100.0;
            break;
        default:
            break;
        }
        evaluate_store(tensor, i, number);
    }
}

static void fill_coarse(const rmsnorm_tensor *tensor, unsigned seed, double unit_size)
{
    uint32_t state = 2654435761u * (seed + 1);
    for (int64_t i = 0; i < rmsnorm_tensor_count(tensor); i++) {
        evaluate_store(tensor, (size_t)i, ((double)(next(&state) >> 8 & 255) - 127.0) * unit_size);
    }
}

/* "B=2,S=3" */
static int64_t named_dim(const char *dims, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = dims; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return strtoll(at + length + 1, NULL, 10);
        }
    }
    fail_msg("no number for the dim %s", name);
    return 0;
}

/* An input of which nothing is known is the one that "x=4x2x4" names. */
static void give(const rewritten *r, size_t value, const char *dims)
{
    const rmsnorm_ir_value *const shown = &r->b->ir->values[value].shown;
    rmsnorm_tensor tensor = {.dtype = shown->type.dtype, .rank = shown->type.rank};
    if (shown->open) {
        const char *at = dims != NULL ? strstr(dims, shown->name) : NULL;
        assert_true(at != NULL && tensor.rank == 0);
        char *end = NULL;
        for (at += strlen(shown->name); *at == '=' || *at == 'x'; at = end) {
            tensor.dims[tensor.rank++] = strtoll(at + 1, &end, 10);
        }
    }
    for (int32_t d = 0; d < tensor.rank && !shown->open; d++) {
        tensor.dims[d] = shown->type.dims[d] >= 0 ? shown->type.dims[d] : named_dim(dims, shown->type.dim_names[d]);
    }
    const int64_t count = rmsnorm_tensor_count(&tensor);
    tensor.data = malloc((size_t)count * 8 + 1);
    assert_non_null(tensor.data);
    if (r->coarse) {
        static const double units[] = {0x1p-3, 0x1p-6, 0x1p-5, 0x1p-7}; /* by the order of the inputs */
        fill_coarse(&tensor, r->seed + (unsigned)value, units[value % 4]);
        evaluate_give(r->before, value, &tensor);
        free(tensor.data);
        return;
    }
    rewritten_fill(&tensor, r->seed + (unsigned)(value * 7),
                   r->specials && shown->name[strlen(shown->name) - 1] == 'x');
    evaluate_give(r->before, value, &tensor);
    free(tensor.data);
}

void rewritten_before(rewritten *r, const char *dims)
{
    const rmsnorm_ir *const ir = r->b->ir;
    r->before = evaluate_begin(ir);
    r->given_count = 0;
    for (size_t v = 0; v < ir->value_count; v++) {
        const rmsnorm_ir_value *const shown = &ir->values[v].shown;
        if (shown->maker == RMSNORM_NO_INDEX && shown->graph == 0 && rmsnorm_dtype_size(shown->type.dtype) != 0 &&
            (!shown->constant || shown->type.data == NULL)) {
            give(r, v, dims);
            assert_true(r->given_count < sizeof r->given / sizeof r->given[0]);
            r->given[r->given_count++] = v;
        }
    }
    evaluate_run(r->before);
}

static bool has_name(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void compare(const rewritten *r, const evaluation *after, size_t value, double ulps)
{
    const rmsnorm_tensor *const a = evaluate_value(r->before, value), *const b = evaluate_value(after, value);
    const char *const name = r->b->ir->values[value].shown.name;
    if (a->dtype != b->dtype || rmsnorm_tensor_count(a) != rmsnorm_tensor_count(b)) {
        fail_msg("%s: \"%s\" has another type or shape than before; now %s", r->what != NULL ? r->what : "", name,
                 build_nodes(r->b, 0));
    }
    const size_t first = evaluate_difference(a, b);
    for (size_t i = first; i != RMSNORM_NO_INDEX && i < (size_t)rmsnorm_tensor_count(a); i++) {
        const double was = evaluate_element(a, i), is = evaluate_element(b, i);
        if (ulps == 0.0 || evaluate_distance(a->dtype, was, is) > ulps) {
            fail_msg("%s: element %zu of \"%s\" was %a and is %a; now %s", r->what != NULL ? r->what : "", i, name, was,
                     is, build_nodes(r->b, 0));
        }
    }
}

void rewritten_after_loose(rewritten *r, const char *loose, double ulps)
{
    const rmsnorm_ir *const ir = r->b->ir;
    evaluation *const after = evaluate_begin(ir);
    for (size_t i = 0; i < r->given_count; i++) {
        evaluate_give(after, r->given[i], evaluate_value(r->before, r->given[i]));
    }
    evaluate_run(after);
    size_t compared = 0;
    for (size_t v = 0; v < ir->value_count; v++) {
        const rmsnorm_ir_value *const shown = &ir->values[v].shown;
        if (shown->output && shown->graph == 0 && !shown->made) {
            compare(r, after, v, has_name(loose, shown->name) ? ulps : 0.0);
            compared++;
        }
    }
    assert_true(compared > 0);
    evaluate_end(after);
}

void rewritten_after(rewritten *r)
{
    rewritten_after_loose(r, "", 0.0);
}

void rewritten_end(rewritten *r)
{
    evaluate_end(r->before);
    r->before = NULL;
}

/* ---- The graph ------------------------------------------------------------------------------- */

static bool has(const rmsnorm_ir *ir, size_t node, const char *attribute)
{
    return rmsnorm_ir_attribute(ir, node, attribute) != NULL;
}

static bool is_half_or_float(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT || dtype == RMSNORM_FLOAT16;
}

/* The targets as they are described: this library runs the three operators, ONNX one, ONNX Runtime two. */
static bool runs(rmsnorm_target target, rmsnorm_operator_kind kind, rmsnorm_dtype t, rmsnorm_dtype v)
{
    const bool skip = kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, standard = kind == RMSNORM_RMS_NORMALIZATION;
    if (skip && (t != v || t == RMSNORM_DOUBLE)) {
        return false;
    }
    switch (target) {
    case RMSNORM_TARGET_RMSNORM:
        return true;
    case RMSNORM_TARGET_ONNX:
        return standard;
    case RMSNORM_TARGET_ORT_CPU:
        return skip || (!standard && t == v && (t == RMSNORM_FLOAT || t == RMSNORM_DOUBLE));
    default:
        return !standard && t == v && is_half_or_float(t);
    }
}

static void check_norm(build *b, size_t node, rmsnorm_target target, const char *what)
{
    const rmsnorm_ir *const ir = b->ir;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    if (ir->nodes[node].shown.origin != RMSNORM_NO_INDEX ||
        rmsnorm_ir_resolve(ir, node, &op, &attributes) != RMSNORM_OK) {
        return;
    }
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const rmsnorm_dtype t = ir->values[rmsnorm_ir_input(ir, node, 0)].shown.type.dtype;
    const rmsnorm_dtype v = ir->values[rmsnorm_ir_input(ir, node, skip ? 2 : 1)].shown.type.dtype;
    if (!runs(target, op->kind, t, v)) {
        fail_msg("%s: the target does not run %s of %s and %s", what, op->name, rmsnorm_dtype_name(t),
                 rmsnorm_dtype_name(v));
    }
    assert_true(has(ir, node, "epsilon") && has(ir, node, "axis") == !skip);
    assert_true(attributes.stash_type == RMSNORM_FLOAT || has(ir, node, "stash_type"));
    assert_true(op->kind != RMSNORM_RMS_NORMALIZATION || rmsnorm_ir_opset(ir, "") >= 23);
    assert_true(!skip || rmsnorm_ir_opset(ir, "com.microsoft") == 1);
}

void rewritten_check_graph(build *b, rmsnorm_target target, const char *what)
{
    const rmsnorm_ir *const ir = b->ir;
    size_t faults;
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const rmsnorm_ir_fault *const fault = rmsnorm_ir_faults(ir, &faults);
    if (faults > 0) {
        fail_msg("%s: %s: %s", what, fault->sentence, build_nodes(b, 0));
    }
    assert_int_equal(rmsnorm_ir_check_order(ir), RMSNORM_OK);
    for (size_t v = 0; v < ir->value_count; v++) {
        for (size_t other = 0; other < v; other++) {
            assert_string_not_equal(ir->values[v].shown.name, ir->values[other].shown.name);
        }
    }
    for (size_t n = 0; n < ir->node_count; n++) {
        const rmsnorm_ir_node *const node = &ir->nodes[n].shown;
        if (node->gone) {
            continue;
        }
        for (size_t other = 0; other < n; other++) {
            assert_true(ir->nodes[other].shown.gone || node->name[0] == '\0' ||
                        strcmp(node->name, ir->nodes[other].shown.name) != 0);
        }
        check_norm(b, n, target, what);
    }
}

size_t rewritten_count(const build *b, const char *op_type)
{
    size_t count = 0;
    for (size_t n = 0; n < b->ir->node_count; n++) {
        const rmsnorm_ir_node *const node = &b->ir->nodes[n].shown;
        count += !node->gone && strcmp(node->op_type, op_type) == 0;
    }
    return count;
}
