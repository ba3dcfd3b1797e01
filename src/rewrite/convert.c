/* rmsnorm_ir_convert: norm nodes in another form. Each is taken apart into what it adds, how it normalizes and how it scales,
 * and put together again from what the other form has. */
#include <string.h>

#include "rewrite/chain.h"
#include "rewrite/compose.h"
#include "rewrite/raise.h"

typedef struct conversion {
    rmsnorm_composer composer;
    rmsnorm_conversion to;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    int64_t axis;             /* negative */
    size_t x, scale;          /* x: what is normalized, the residual sum of the skip operator */
    rmsnorm_dtype arithmetic; /* of the statistics and of x times inverse */
    rmsnorm_dtype rounded;    /* what the normalized rows are rounded to before scale; arithmetic: nothing */
    size_t output, statistic; /* statistic: RMSNORM_NO_INDEX when not asked for */
    rmsnorm_dtype statistic_type;
    const char *reason;
} conversion;

static rmsnorm_dtype dtype_of(const conversion *c, size_t value)
{
    return c->composer.ir->values[value].shown.type.dtype;
}

static size_t output_of(const conversion *c, size_t slot)
{
    return rmsnorm_ir_output(c->composer.ir, c->composer.node, slot);
}

static bool refuse(conversion *c, const char *reason)
{
    c->reason = reason;
    return false;
}

/* ---- Taking apart ---------------------------------------------------------------------------- */

static bool read_axis(conversion *c)
{
    const rmsnorm_tensor type = rmsnorm_ir_type(c->composer.ir, rmsnorm_ir_input(c->composer.ir, c->composer.node, 0));
    c->axis = c->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION ? -1 : c->attributes.axis;
    if (c->axis >= 0) {
        if (type.rank < 0) {
            return refuse(c, "the rank of its input is not known");
        }
        c->axis -= type.rank;
    }
    const bool counted_up = rmsnorm_ir_opset(c->composer.ir, "") < 11;
    if (c->axis >= 0 || c->axis < -RMSNORM_MAX_RANK || (type.rank >= 0 && c->axis < -type.rank)) {
        return refuse(c, "its axis is no dim of its input");
    }
    return type.rank >= 0 || !counted_up ||
           refuse(c, "the rank of its input is not known, and before opset 11 axes are counted from the front");
}

static bool read_node(conversion *c)
{
    const rmsnorm_ir *const ir = c->composer.ir;
    const size_t node = c->composer.node;
    const bool skip = c->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    c->x = rmsnorm_ir_input(ir, node, 0);
    c->scale = rmsnorm_ir_input(ir, node, skip ? 2 : 1);
    c->output = output_of(c, 0);
    c->statistic = output_of(c, skip ? 2 : 1);
    c->statistic_type = !skip && c->attributes.stash_type == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    if (c->x == RMSNORM_NO_INDEX || c->scale == RMSNORM_NO_INDEX || c->output == RMSNORM_NO_INDEX ||
        (skip && rmsnorm_ir_input(ir, node, 1) == RMSNORM_NO_INDEX)) {
        return refuse(c, "it lacks an input or its first output");
    }
    const rmsnorm_dtype type = dtype_of(c, c->x), scale_type = dtype_of(c, c->scale);
    if (rmsnorm_dtype_size(type) == 0 || rmsnorm_dtype_size(scale_type) == 0) {
        return refuse(c, "its element types are not known");
    }
    const bool wide = c->op->kind == RMSNORM_RMS_NORMALIZATION ? c->attributes.stash_type == RMSNORM_DOUBLE
                                                               : type == RMSNORM_DOUBLE || scale_type == RMSNORM_DOUBLE;
    c->arithmetic = wide ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    c->rounded = c->op->kind == RMSNORM_RMS_NORMALIZATION ? type : c->arithmetic;
    return read_axis(c);
}

/* r = (input + skip) + bias in float; the sum output is r rounded once, mean is zeros like the statistic. */
static void add_residual(conversion *c)
{
    rmsnorm_composer *const m = &c->composer;
    const rmsnorm_dtype type = dtype_of(c, c->x);
    const size_t bias = rmsnorm_ir_input(m->ir, m->node, 3), wanted = output_of(c, 3);
    const size_t skip = rmsnorm_ir_input(m->ir, m->node, 1);
    const size_t sum = type == RMSNORM_FLOAT ? wanted : RMSNORM_NO_INDEX; /* else rounded from r */
    rmsnorm_composed element = {RMSNORM_NO_INDEX, rmsnorm_ir_type(m->ir, c->x)};
    element.type.dtype = RMSNORM_FLOAT;
    element.type.data = NULL;
    element.value = bias == RMSNORM_NO_INDEX ? sum : RMSNORM_NO_INDEX;
    const size_t wide_input = rmsnorm_compose_cast(m, c->x, RMSNORM_FLOAT, RMSNORM_NO_INDEX);
    const size_t wide_skip = rmsnorm_compose_cast(m, skip, RMSNORM_FLOAT, RMSNORM_NO_INDEX);
    c->x = rmsnorm_compose(m, "Add", wide_input, wide_skip, &element);
    if (bias != RMSNORM_NO_INDEX) {
        element.value = sum;
        const size_t wide_bias = rmsnorm_compose_cast(m, bias, RMSNORM_FLOAT, RMSNORM_NO_INDEX);
        c->x = rmsnorm_compose(m, "Add", c->x, wide_bias, &element);
    }
    if (wanted != RMSNORM_NO_INDEX && sum == RMSNORM_NO_INDEX) {
        rmsnorm_compose_cast(m, c->x, type, wanted);
    }
}

/* Zeros of the shape of the statistics. */
static void add_mean(conversion *c, size_t like)
{
    rmsnorm_composer *const m = &c->composer;
    const bool skip = c->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const size_t mean = skip ? output_of(c, 1) : RMSNORM_NO_INDEX;
    if (mean == RMSNORM_NO_INDEX || m->status != RMSNORM_OK) {
        return;
    }
    const rmsnorm_composed shape = {RMSNORM_NO_INDEX, {.dtype = RMSNORM_INT64, .rank = RMSNORM_UNKNOWN}};
    const rmsnorm_composed zeros = {mean, {.rank = RMSNORM_UNKNOWN}};
    rmsnorm_compose(m, "ConstantOfShape", rmsnorm_compose(m, "Shape", like, RMSNORM_NO_INDEX, &shape), RMSNORM_NO_INDEX,
                    &zeros);
}

static bool wants_mean(const conversion *c)
{
    return c->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION && output_of(c, 1) != RMSNORM_NO_INDEX;
}

/* ---- Putting together ------------------------------------------------------------------------ */

/* A value like x, or like its statistic. */
static size_t make_value(conversion *c, rmsnorm_dtype dtype, bool statistic, const char *ending)
{
    rmsnorm_composer *const m = &c->composer;
    size_t value = RMSNORM_NO_INDEX;
    if (m->status == RMSNORM_OK) {
        rmsnorm_tensor type = rmsnorm_ir_type(m->ir, c->x);
        type.dtype = dtype;
        type.data = NULL;
        for (int32_t i = 1; statistic && i <= -c->axis && i <= type.rank; i++) {
            type.dims[type.rank - i] = 1;
            type.dim_names[type.rank - i] = NULL;
        }
        m->status = rmsnorm_ir_make_value(m->ir, m->ir->nodes[m->node].shown.graph, m->ir->values[c->output].shown.name,
                                          ending, &type, &value);
    }
    return value;
}

static void put_norm(conversion *c, rmsnorm_operator_kind kind, size_t x, size_t scale, size_t output, size_t statistic,
                     int64_t stash_type)
{
    rmsnorm_made_node node = rmsnorm_made_norm(kind, c->axis, c->attributes.epsilon, stash_type);
    node.inputs[0] = x;
    node.inputs[1] = scale;
    node.input_count = 2;
    node.outputs[0] = output;
    node.outputs[1] = statistic;
    node.output_count = 2;
    rmsnorm_compose_node(&c->composer, &node);
}

/* The statistic that is asked for, by primitive nodes: it has its type's precision also where the rows' arithmetic is narrower. inverse:
 * the one that rows are multiplied with, or RMSNORM_NO_INDEX where an operator does that. Gives one of them for its shape. */
static size_t add_statistic(conversion *c, size_t wide, size_t inverse)
{
    rmsnorm_composer *const m = &c->composer;
    if (c->statistic == RMSNORM_NO_INDEX && !wants_mean(c)) {
        return inverse;
    }
    if (c->statistic_type == RMSNORM_DOUBLE && c->arithmetic == RMSNORM_FLOAT) {
        const size_t precise = rmsnorm_compose_cast(m, c->x, RMSNORM_DOUBLE, RMSNORM_NO_INDEX);
        return rmsnorm_compose_inverse_root(m, precise, c->axis, c->attributes.epsilon, c->statistic);
    }
    const bool same = c->statistic_type == c->arithmetic;
    if (inverse == RMSNORM_NO_INDEX) {
        inverse = rmsnorm_compose_inverse_root(m, wide, c->axis, c->attributes.epsilon,
                                               same ? c->statistic : RMSNORM_NO_INDEX);
    }
    if (!same && c->statistic != RMSNORM_NO_INDEX) {
        rmsnorm_compose_cast(m, inverse, c->statistic_type, c->statistic);
    }
    return inverse;
}

/* Nothing is rounded between a RMSNormalization's stages when its input has the type they are computed in. */
static void to_standard(conversion *c)
{
    const size_t wide = rmsnorm_compose_cast(&c->composer, c->x, c->arithmetic, RMSNORM_NO_INDEX);
    add_mean(c, add_statistic(c, wide, RMSNORM_NO_INDEX));
    put_norm(c, RMSNORM_RMS_NORMALIZATION, wide, c->scale, c->output, RMSNORM_NO_INDEX, c->arithmetic);
}

static void to_simplified(conversion *c)
{
    rmsnorm_composer *const m = &c->composer;
    const rmsnorm_dtype type = dtype_of(c, c->x), scale_type = dtype_of(c, c->scale);
    const bool widened = type == RMSNORM_DOUBLE || scale_type == RMSNORM_DOUBLE;
    if (c->rounded == c->arithmetic && widened == (c->arithmetic == RMSNORM_DOUBLE)) {
        size_t statistic = c->statistic;
        if (wants_mean(c) && statistic == RMSNORM_NO_INDEX) {
            statistic = make_value(c, RMSNORM_FLOAT, true, "_inv_std_var");
        }
        put_norm(c, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, c->x, c->scale, c->output, statistic, c->statistic_type);
        add_mean(c, statistic);
        return;
    }
    /* By ones, so that the rows can be rounded before the scale. A double input of float statistics is cast down first. */
    const bool down = type == RMSNORM_DOUBLE && c->arithmetic == RMSNORM_FLOAT;
    const size_t x = down ? rmsnorm_compose_cast(m, c->x, RMSNORM_FLOAT, RMSNORM_NO_INDEX) : c->x;
    const rmsnorm_dtype first = c->arithmetic == RMSNORM_DOUBLE || down ? c->arithmetic : c->rounded;
    size_t ones = RMSNORM_NO_INDEX;
    if (m->status == RMSNORM_OK) {
        const rmsnorm_tensor shape = rmsnorm_made_ones_type(&m->ir->values[c->x].shown.type, c->axis, first);
        m->status = rmsnorm_made_ones(m->ir, &shape, &ones);
    }
    const size_t rows = make_value(c, first, false, "_normalized");
    put_norm(c, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, x, ones, rows, RMSNORM_NO_INDEX, RMSNORM_FLOAT);
    const size_t rounded = rmsnorm_compose_cast(m, rows, c->rounded, RMSNORM_NO_INDEX);
    rmsnorm_compose_product(m, rounded, c->scale, scale_type, c->output);
}

static void to_decomposed(conversion *c)
{
    rmsnorm_composer *const m = &c->composer;
    const size_t wide = rmsnorm_compose_cast(m, c->x, c->arithmetic, RMSNORM_NO_INDEX);
    const bool direct = c->statistic != RMSNORM_NO_INDEX && c->statistic_type == c->arithmetic;
    const size_t inverse =
        rmsnorm_compose_inverse_root(m, wide, c->axis, c->attributes.epsilon, direct ? c->statistic : RMSNORM_NO_INDEX);
    add_mean(c, add_statistic(c, wide, inverse));
    rmsnorm_composed element = {RMSNORM_NO_INDEX, {.rank = RMSNORM_UNKNOWN}};
    if (m->status == RMSNORM_OK) {
        element.type = rmsnorm_ir_type(m->ir, wide);
        element.type.data = NULL;
    }
    const size_t rows = rmsnorm_compose(m, "Mul", wide, inverse, &element);
    const size_t rounded = rmsnorm_compose_cast(m, rows, c->rounded, RMSNORM_NO_INDEX);
    rmsnorm_compose_product(m, rounded, c->scale, m->status == RMSNORM_OK ? dtype_of(c, c->scale) : RMSNORM_FLOAT,
                            c->output);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rmsnorm_operator_kind kind_of(rmsnorm_conversion to)
{
    return to == RMSNORM_TO_RMS_NORMALIZATION ? RMSNORM_RMS_NORMALIZATION : RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION;
}

/* What one call needs once: the opset of RMSNormalization, or why the model cannot have it. */
typedef struct raising {
    bool tried;
    const char *obstacle;
} raising;

static rmsnorm_status raise_opset(rmsnorm_ir *ir, raising *r)
{
    const int64_t opset = rmsnorm_ir_opset(ir, "");
    if (r->tried || opset >= RMSNORM_STANDARD_SINCE) {
        return RMSNORM_OK;
    }
    r->tried = true;
    const char *const why = rmsnorm_raise_obstacle(ir, NULL, RMSNORM_STANDARD_SINCE);
    if (why == NULL) {
        return rmsnorm_ir_set_opset(ir, "", RMSNORM_STANDARD_SINCE);
    }
    r->obstacle = rmsnorm_ir_format(ir, "RMSNormalization needs opset %d, and the model's %lld cannot be raised: %s",
                                    RMSNORM_STANDARD_SINCE, (long long)opset, why);
    return r->obstacle != NULL ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

/* A function of the model's own that stands in the way of a node that may be needed; NULL: none. */
static const char *find_taken(const conversion *c)
{
    static const char *const primitives[] = {"Add",        "Cast", "ConstantOfShape", "Identity", "Mul",
                                             "ReduceMean", "Sqrt", "Reciprocal",      "Shape"};
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++) {
        if (rmsnorm_ir_is_taken(c->composer.ir, "", primitives[i])) {
            return primitives[i];
        }
    }
    const bool norm = c->to == RMSNORM_TO_DECOMPOSED || rmsnorm_made_allowed(c->composer.ir, kind_of(c->to));
    return norm ? NULL : rmsnorm_made_norm(kind_of(c->to), -1, 0, RMSNORM_FLOAT).op_type;
}

/* The model has the nodes that come. */
static bool check_model(conversion *c)
{
    const int64_t opset = rmsnorm_ir_opset(c->composer.ir, "");
    const char *const taken = find_taken(c);
    if (taken != NULL) {
        const char *const why = rmsnorm_ir_format(c->composer.ir, "%s is a function of the model's own", taken);
        return refuse(c, why != NULL ? why : "no memory is left");
    }
    const bool half = dtype_of(c, c->x) == RMSNORM_BFLOAT16 || dtype_of(c, c->scale) == RMSNORM_BFLOAT16;
    if (opset < 7) {
        return refuse(c, "the nodes in its place need opset 7, and the model's is older");
    }
    if (opset < 9 && wants_mean(c)) {
        return refuse(c, "the mean's zeros need opset 9, and the model's is older");
    }
    return !half || opset >= 13 ||
           refuse(c, "the nodes in its place take bfloat16 from opset 13 on, and the model's is older");
}

static rmsnorm_status report(conversion *c, bool done)
{
    const rmsnorm_finding finding = {.kind = RMSNORM_FOUND_NORM,
                                     .done = done,
                                     .nodes = &c->composer.node,
                                     .node_count = 1,
                                     .made = c->composer.made,
                                     .made_count = done ? c->composer.made_count : 0,
                                     .reason = done ? "" : c->reason};
    return rmsnorm_ir_add_finding(c->composer.ir, &finding);
}

static rmsnorm_status convert_node(rmsnorm_ir *ir, size_t node, rmsnorm_conversion to, raising *r)
{
    conversion c = {.composer = {.ir = ir, .node = node}, .to = to};
    if (rmsnorm_ir_resolve(ir, node, &c.op, &c.attributes) != RMSNORM_OK ||
        (to != RMSNORM_TO_DECOMPOSED && c.op->kind == kind_of(to))) {
        return RMSNORM_OK;
    }
    if (!read_node(&c)) {
        return report(&c, false);
    }
    if (to == RMSNORM_TO_RMS_NORMALIZATION) {
        RMSNORM_TRY(raise_opset(ir, r));
        c.reason = r->obstacle;
    }
    if (c.reason != NULL || !check_model(&c)) {
        return report(&c, false);
    }
    if (c.op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        add_residual(&c);
    }
    if (c.composer.status == RMSNORM_OK) {
        (to == RMSNORM_TO_DECOMPOSED          ? to_decomposed
         : to == RMSNORM_TO_RMS_NORMALIZATION ? to_standard
                                              : to_simplified)(&c);
    }
    RMSNORM_TRY(c.composer.status);
    rmsnorm_ir_remove(ir, node);
    return report(&c, true);
}

rmsnorm_status rmsnorm_ir_convert(rmsnorm_ir *ir, rmsnorm_conversion to)
{
    raising r = {false, NULL};
    RMSNORM_CHECK(ir != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_convert: ir is NULL");
    RMSNORM_CHECK((unsigned)to <= RMSNORM_TO_DECOMPOSED, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_convert: %d is no form",
                  (int)to);
    RMSNORM_TRY(rmsnorm_ir_check_order(ir));
    const size_t count = ir->node_count; /* those that are made are of the wanted form */
    for (size_t n = 0; n < count; n++) {
        if (!ir->nodes[n].shown.gone) {
            RMSNORM_TRY(convert_node(ir, n, to, &r));
        }
    }
    rmsnorm_ir_settle(ir);
    return RMSNORM_OK;
}
