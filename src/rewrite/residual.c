#include "rewrite/residual.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rewrite/chain.h"
#include "rewrite/made.h"
#include "rewrite/target.h"

#define NAME "%.120s"

typedef struct residual {
    rmsnorm_ir *ir;
    const rmsnorm_fuse_options *options;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    size_t norm, add, inner; /* nodes; inner: a second addition, RMSNORM_NO_INDEX: none */
    size_t sum;              /* the norm's input */
    size_t input, skip, bias, gamma;
    const char *given_up; /* what relaxed mode gives up; "" for nothing */
    rmsnorm_reason reason;
} residual;

#define refuse(r, ...) rmsnorm_reason_give(&(r)->reason, __VA_ARGS__)

static const rmsnorm_ir_value *value_of(const residual *r, size_t value)
{
    return &r->ir->values[value].shown;
}

static bool same_dim(const rmsnorm_tensor *a, int32_t i, const rmsnorm_tensor *b, int32_t j)
{
    if (a->dims[i] >= 0 || b->dims[j] >= 0) {
        return a->dims[i] == b->dims[j];
    }
    return a->dim_names[i] != NULL && b->dim_names[j] != NULL && strcmp(a->dim_names[i], b->dim_names[j]) == 0;
}

/* Whether the last dims of b, all of them, are the last dims of a. */
static bool same_last(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    for (int32_t i = 1; i <= b->rank; i++) {
        if (i > a->rank || !same_dim(a, a->rank - i, b, b->rank - i)) {
            return false;
        }
    }
    return true;
}

/* (H), as bias and gamma are. */
static bool is_row(const residual *r, size_t value)
{
    const rmsnorm_ir_value *const shown = value_of(r, value);
    const rmsnorm_tensor *const sum = &value_of(r, r->sum)->type;
    return !shown->open && shown->type.rank == 1 && sum->rank >= 1 && same_last(sum, &shown->type);
}

/* Of the shape of the sum. */
static bool is_full(const residual *r, size_t value)
{
    const rmsnorm_ir_value *const shown = value_of(r, value);
    const rmsnorm_tensor *const sum = &value_of(r, r->sum)->type;
    return !shown->open && shown->type.rank == sum->rank && same_last(sum, &shown->type);
}

/* Full, or for three dims (S,H) or (1,S,H). */
static bool is_skip(const residual *r, size_t value)
{
    const rmsnorm_ir_value *const shown = value_of(r, value);
    const rmsnorm_tensor *const sum = &value_of(r, r->sum)->type;
    if (is_full(r, value)) {
        return true;
    }
    if (shown->open || sum->rank != 3) {
        return false;
    }
    rmsnorm_tensor last = shown->type;
    if (last.rank == 3 && last.dims[0] == 1) {
        last.rank = 2;
        memmove(last.dims, last.dims + 1, 2 * sizeof last.dims[0]);
        memmove(last.dim_names, last.dim_names + 1, 2 * sizeof last.dim_names[0]);
    }
    return last.rank == 2 && same_last(sum, &last);
}

/* The two operands as input and skip, in either order. */
static bool split(residual *r, size_t add)
{
    const size_t a = rmsnorm_ir_input(r->ir, add, 0), b = rmsnorm_ir_input(r->ir, add, 1);
    if (a == RMSNORM_NO_INDEX || b == RMSNORM_NO_INDEX) {
        return false;
    }
    const bool first = is_full(r, a) && is_skip(r, b);
    if (!first && !(is_full(r, b) && is_skip(r, a))) {
        return false;
    }
    r->input = first ? a : b;
    r->skip = first ? b : a;
    return true;
}

/* An Add of the same graph whose result nothing else uses, with a row as one operand; *other is the one that is no row. */
static bool is_private_add(const residual *r, size_t value)
{
    const size_t maker = rmsnorm_ir_maker(r->ir, value);
    return rmsnorm_ir_is(r->ir, maker, "Add") && rmsnorm_ir_sole_user(r->ir, value) != RMSNORM_NO_INDEX &&
           r->ir->nodes[maker].shown.graph == r->ir->nodes[r->norm].shown.graph;
}

static bool row_operand(const residual *r, size_t add, size_t *row, size_t *other)
{
    for (size_t i = 0; i < 2; i++) {
        *row = rmsnorm_ir_input(r->ir, add, i);
        *other = rmsnorm_ir_input(r->ir, add, 1 - i);
        if (*row != RMSNORM_NO_INDEX && *other != RMSNORM_NO_INDEX && is_row(r, *row)) {
            return true;
        }
    }
    return false;
}

/* (input + skip) + bias. */
static bool find_bias_last(residual *r)
{
    size_t other;
    if (!row_operand(r, r->add, &r->bias, &other) || !is_private_add(r, other)) {
        return false;
    }
    r->inner = rmsnorm_ir_maker(r->ir, other);
    return split(r, r->inner);
}

/* (input + bias) + skip: one addition in another order. */
static bool find_bias_first(residual *r)
{
    for (size_t i = 0; i < 2; i++) {
        const size_t sum = rmsnorm_ir_input(r->ir, r->add, i), skip = rmsnorm_ir_input(r->ir, r->add, 1 - i);
        size_t input;
        if (sum == RMSNORM_NO_INDEX || skip == RMSNORM_NO_INDEX || !is_private_add(r, sum)) {
            continue;
        }
        const size_t inner = rmsnorm_ir_maker(r->ir, sum);
        if (row_operand(r, inner, &r->bias, &input) && is_full(r, input) && is_skip(r, skip)) {
            r->inner = inner;
            r->input = input;
            r->skip = skip;
            return true;
        }
    }
    return false;
}

static bool find_operands(residual *r)
{
    r->inner = RMSNORM_NO_INDEX;
    if (find_bias_last(r)) {
        return true;
    }
    if (r->options->relaxed && find_bias_first(r)) {
        return true;
    }
    r->bias = r->inner = RMSNORM_NO_INDEX;
    return split(r, r->add);
}

static bool check_types(residual *r)
{
    const rmsnorm_dtype dtype = value_of(r, r->sum)->type.dtype;
    const bool narrow = dtype == RMSNORM_FLOAT16 || dtype == RMSNORM_BFLOAT16;
    if (dtype == RMSNORM_UNDEFINED) {
        return refuse(r, "the element type of \"" NAME "\" is not known", value_of(r, r->sum)->name);
    }
    if (value_of(r, r->gamma)->type.dtype != dtype) {
        return refuse(r, "input is %s and gamma %s; SkipSimplifiedLayerNormalization takes one type",
                      rmsnorm_dtype_name(dtype), rmsnorm_dtype_name(value_of(r, r->gamma)->type.dtype));
    }
    if (!rmsnorm_target_takes(r->options->target, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, dtype, dtype)) {
        return refuse(r, "%s does not run SkipSimplifiedLayerNormalization on %s",
                      rmsnorm_target_name(r->options->target), rmsnorm_dtype_name(dtype));
    }
    if (narrow && !r->options->relaxed) {
        return refuse(r, "the addition rounds to %s before the norm, SkipSimplifiedLayerNormalization does not",
                      rmsnorm_dtype_name(dtype));
    }
    if (r->op->kind == RMSNORM_RMS_NORMALIZATION && r->attributes.stash_type != RMSNORM_FLOAT) {
        return refuse(r, "stash_type is %lld; SkipSimplifiedLayerNormalization computes in float",
                      (long long)r->attributes.stash_type);
    }
    return true;
}

static bool check_shapes(residual *r)
{
    const rmsnorm_ir_value *const sum = value_of(r, r->sum);
    if (sum->open || sum->type.rank < 2 || sum->type.rank > 3) {
        return sum->open ? refuse(r, "the rank of \"" NAME "\" is not known", sum->name)
                         : refuse(r, "\"" NAME "\" has %d dims; SkipSimplifiedLayerNormalization takes 2 or 3",
                                  sum->name, sum->type.rank);
    }
    if (r->attributes.axis != -1 && r->attributes.axis != sum->type.rank - 1) {
        return refuse(r, "the norm is over more than the last dim");
    }
    if (!is_row(r, r->gamma)) {
        return refuse(r, "gamma \"" NAME "\" is not known to have one dim, the last of \"" NAME "\"",
                      value_of(r, r->gamma)->name, sum->name);
    }
    if (!find_operands(r)) {
        return refuse(r, "the operands of %s are not known to have the same shape, or (S,H) or (1,S,H) beside (B,S,H)",
                      rmsnorm_ir_label(r->ir, r->add).text);
    }
    return true;
}

static bool check_rest(residual *r)
{
    const size_t statistic = rmsnorm_ir_output(r->ir, r->norm, 1);
    const bool ours = r->options->target == RMSNORM_TARGET_RMSNORM;
    if (!(r->attributes.epsilon >= 0.0F) || isinf(r->attributes.epsilon)) {
        return refuse(r, "epsilon is %g; SkipSimplifiedLayerNormalization takes finite ones from 0 up",
                      (double)r->attributes.epsilon);
    }
    if (statistic != RMSNORM_NO_INDEX && (!ours || r->attributes.stash_type != RMSNORM_FLOAT)) {
        return refuse(r, "inv_std_var is asked for");
    }
    const bool narrow = value_of(r, r->sum)->type.dtype != RMSNORM_FLOAT;
    const bool reordered = r->inner != RMSNORM_NO_INDEX && rmsnorm_ir_output(r->ir, r->inner, 0) != RMSNORM_NO_INDEX &&
                           r->skip != rmsnorm_ir_input(r->ir, r->inner, 0) &&
                           r->skip != rmsnorm_ir_input(r->ir, r->inner, 1);
    r->given_up =
        rmsnorm_ir_format(r->ir, "%s%s%s", narrow ? "the sum is no longer rounded before the norm" : "",
                          narrow && r->op->kind == RMSNORM_RMS_NORMALIZATION ? ", nor are the rows before gamma" : "",
                          !reordered ? ""
                          : narrow   ? ", and bias is added last instead of first"
                                     : "bias is added last instead of first");
    return true;
}

/* Where the new node can stand: at the norm, or before the first other user of the sum; RMSNORM_NO_INDEX: nowhere. */
static size_t find_place(const residual *r)
{
    const size_t graph = r->ir->nodes[r->norm].shown.graph;
    size_t place = r->norm;
    const rmsnorm_ir_cell *const sum = &r->ir->values[r->sum];
    for (size_t i = 0; i < sum->used; i++) {
        const size_t user = r->ir->nodes[sum->users[i]].shown.gone ? RMSNORM_NO_INDEX
                                                                   : rmsnorm_ir_ancestor(r->ir, sum->users[i], graph);
        if (user != RMSNORM_NO_INDEX && user != r->norm &&
            r->ir->nodes[user].position <= r->ir->nodes[place].position) {
            place = user;
        }
    }
    const size_t needed[] = {r->input, r->skip, r->bias, r->gamma};
    for (size_t i = 0; i < 4 && place != r->norm; i++) {
        const size_t maker = rmsnorm_ir_maker(r->ir, needed[i]);
        if (maker != RMSNORM_NO_INDEX && r->ir->nodes[maker].shown.graph == graph &&
            r->ir->nodes[maker].position >= r->ir->nodes[place].position) {
            return RMSNORM_NO_INDEX;
        }
    }
    return place;
}

static rmsnorm_status report(residual *r, bool done, size_t made)
{
    const size_t nodes[] = {r->inner, r->add, r->norm};
    const bool whole = r->inner != RMSNORM_NO_INDEX;
    const rmsnorm_finding finding = {
        .kind = RMSNORM_FOUND_RESIDUAL,
        .done = done,
        .nodes = whole ? nodes : nodes + 1,
        .node_count = whole ? 3 : 2,
        .made = &made,
        .made_count = done ? 1 : 0,
        .reason = done ? r->given_up : rmsnorm_ir_format(r->ir, "%s", r->reason.text),
    };
    return rmsnorm_ir_add_finding(r->ir, &finding);
}

static rmsnorm_status replace(residual *r, size_t place)
{
    rmsnorm_ir *const ir = r->ir;
    const size_t output = rmsnorm_ir_output(ir, r->norm, 0), statistic = rmsnorm_ir_output(ir, r->norm, 1);
    rmsnorm_made_node node =
        rmsnorm_made_norm(RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, -1, r->attributes.epsilon, 1);
    const size_t inputs[] = {r->input, r->skip, r->gamma, r->bias};
    const bool kept = value_of(r, r->sum)->output || value_of(r, r->sum)->user_count > 1;
    const size_t outputs[] = {output, RMSNORM_NO_INDEX, statistic, kept ? r->sum : RMSNORM_NO_INDEX};
    memcpy(node.inputs, inputs, sizeof inputs);
    memcpy(node.outputs, outputs, sizeof outputs);
    node.input_count = node.output_count = 4;
    if (rmsnorm_ir_opset(ir, "com.microsoft") == 0) {
        RMSNORM_TRY(rmsnorm_ir_set_opset(ir, "com.microsoft", 1));
    }
    rmsnorm_ir_free_value(ir, output);
    rmsnorm_ir_free_value(ir, r->sum);
    if (statistic != RMSNORM_NO_INDEX) {
        rmsnorm_ir_free_value(ir, statistic);
    }
    size_t made;
    RMSNORM_TRY(rmsnorm_made_insert(ir, &node, place, &made));
    rmsnorm_ir_remove(ir, r->norm);
    rmsnorm_ir_remove(ir, r->add);
    if (r->inner != RMSNORM_NO_INDEX) {
        rmsnorm_ir_remove(ir, r->inner);
    }
    return report(r, true, made);
}

rmsnorm_status rmsnorm_residual_fuse(rmsnorm_ir *ir, size_t norm, const rmsnorm_fuse_options *options)
{
    residual r = {.ir = ir, .options = options, .norm = norm};
    r.inner = r.bias = RMSNORM_NO_INDEX;
    r.sum = rmsnorm_ir_input(ir, norm, 0);
    r.gamma = rmsnorm_ir_input(ir, norm, 1);
    r.add = rmsnorm_ir_maker(ir, r.sum);
    if (rmsnorm_ir_resolve(ir, norm, &r.op, &r.attributes) != RMSNORM_OK ||
        r.op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION || r.gamma == RMSNORM_NO_INDEX ||
        rmsnorm_ir_output(ir, norm, 0) == RMSNORM_NO_INDEX || !rmsnorm_ir_is(ir, r.add, "Add") ||
        ir->nodes[r.add].shown.attribute_count > 0 || ir->nodes[r.add].shown.graph != ir->nodes[norm].shown.graph) {
        return RMSNORM_OK;
    }
    size_t row, other;
    if (row_operand(&r, r.add, &row, &other) && !is_private_add(&r, other)) {
        return RMSNORM_OK; /* the bias of a layer before the norm: no residual */
    }
    if (!check_types(&r) || !check_shapes(&r) || !check_rest(&r)) {
        return report(&r, false, RMSNORM_NO_INDEX);
    }
    const size_t place = find_place(&r);
    if (place == RMSNORM_NO_INDEX) {
        refuse(&r, "the sum is used before all inputs of the fused node are there");
        return report(&r, false, RMSNORM_NO_INDEX);
    }
    return replace(&r, place);
}
