/* Following a chain: up from the mean to the square and what is squared, down over epsilon, root and inverse to the product. */
#include "rewrite/chain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME "%.120s"

typedef struct walk {
    rmsnorm_ir *ir;
    rmsnorm_chain *chain;
    rmsnorm_reason *reason;
    rmsnorm_dtype narrow; /* the first narrower type the statistics pass through; RMSNORM_UNDEFINED: none */
} walk;

#define refuse(w, ...) rmsnorm_reason_give((w)->reason, __VA_ARGS__)

bool rmsnorm_reason_give(rmsnorm_reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return false;
}

static const char *name_of(const walk *w, size_t value)
{
    return value == RMSNORM_NO_INDEX ? "" : w->ir->values[value].shown.name;
}

static rmsnorm_dtype dtype_of(const walk *w, size_t value)
{
    return w->ir->values[value].shown.type.dtype;
}

static bool is_narrow(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT16 || dtype == RMSNORM_BFLOAT16;
}

/* A node means what it says when it has the attributes and inputs that its operator has at the model's opset. */
static bool check_node(walk *w, size_t node)
{
    static const char *const allowed[][4] = {{"ReduceMean", "axes", "keepdims", "noop_with_empty_axes"},
                                             {"Cast", "to", "saturate", "round_mode"}};
    const rmsnorm_ir_node *const shown = &w->ir->nodes[node].shown;
    for (size_t i = 0; i < shown->attribute_count; i++) {
        bool known = false;
        for (size_t j = 0; j < 2; j++) {
            for (size_t k = 1; k < 4 && strcmp(shown->op_type, allowed[j][0]) == 0; k++) {
                known = known || strcmp(shown->attributes[i].name, allowed[j][k]) == 0;
            }
        }
        if (!known) {
            return refuse(w, "%s has the attribute \"" NAME "\", which %s does not have",
                          rmsnorm_ir_label(w->ir, node).text, shown->attributes[i].name, shown->op_type);
        }
    }
    const bool axes_input = rmsnorm_ir_opset(w->ir, "") >= 18;
    if (strcmp(shown->op_type, "ReduceMean") == 0 &&
        (axes_input ? rmsnorm_ir_attribute(w->ir, node, "axes") != NULL : shown->input_count > 1)) {
        return refuse(w, "%s has its axes as an %s, and at the model's opset they are an %s",
                      rmsnorm_ir_label(w->ir, node).text, axes_input ? "attribute" : "input",
                      axes_input ? "input" : "attribute");
    }
    return true;
}

static bool take(walk *w, size_t node)
{
    if (!check_node(w, node)) {
        return false;
    }
    if (w->chain->node_count == RMSNORM_CHAIN_NODES) {
        return refuse(w, "more casts stand in it than make sense");
    }
    w->chain->nodes[w->chain->node_count++] = node;
    return true;
}

/* What stands before Identity nodes. */
static size_t through_identity(const walk *w, size_t value)
{
    for (int steps = 0; steps < 8 && rmsnorm_ir_is(w->ir, rmsnorm_ir_maker(w->ir, value), "Identity"); steps++) {
        const size_t before = rmsnorm_ir_input(w->ir, rmsnorm_ir_maker(w->ir, value), 0);
        if (before == RMSNORM_NO_INDEX) {
            break;
        }
        value = before;
    }
    return value;
}

/* What one Cast is given, or the value itself. */
static size_t before_cast(const walk *w, size_t value)
{
    value = through_identity(w, value);
    const size_t maker = rmsnorm_ir_maker(w->ir, value);
    if (rmsnorm_ir_is(w->ir, maker, "Cast") && rmsnorm_ir_input(w->ir, maker, 0) != RMSNORM_NO_INDEX) {
        return through_identity(w, rmsnorm_ir_input(w->ir, maker, 0));
    }
    return value;
}

/* Whether values of the first type are values of the second. */
static bool widens(rmsnorm_dtype from, rmsnorm_dtype to)
{
    return from == to || (is_narrow(from) && (to == RMSNORM_FLOAT || to == RMSNORM_DOUBLE)) ||
           (from == RMSNORM_FLOAT && to == RMSNORM_DOUBLE);
}

/* ---- Up from the mean ------------------------------------------------------------------------ */

/* Whether one value is the mean of another, before or after casts. */
static bool is_mean_of(const walk *w, size_t mean, size_t of)
{
    const size_t maker = mean == RMSNORM_NO_INDEX ? mean : rmsnorm_ir_maker(w->ir, before_cast(w, mean));
    return of != RMSNORM_NO_INDEX && rmsnorm_ir_is(w->ir, maker, "ReduceMean") &&
           rmsnorm_ir_input(w->ir, maker, 0) != RMSNORM_NO_INDEX &&
           before_cast(w, rmsnorm_ir_input(w->ir, maker, 0)) == before_cast(w, of);
}

/* x - mean(x): the mean may be of x cast up. */
static bool is_centered(const walk *w, size_t value)
{
    value = before_cast(w, value);
    const size_t node = rmsnorm_ir_maker(w->ir, value);
    if (rmsnorm_ir_is(w->ir, node, "Sub")) {
        return is_mean_of(w, rmsnorm_ir_input(w->ir, node, 1), rmsnorm_ir_input(w->ir, node, 0));
    }
    for (size_t i = 0; i < 2 && rmsnorm_ir_is(w->ir, node, "Add"); i++) { /* x + -mean(x) */
        const size_t operand = rmsnorm_ir_input(w->ir, node, i);
        const size_t maker = operand == RMSNORM_NO_INDEX ? operand : rmsnorm_ir_maker(w->ir, before_cast(w, operand));
        if (rmsnorm_ir_is(w->ir, maker, "Neg") &&
            is_mean_of(w, rmsnorm_ir_input(w->ir, maker, 0), rmsnorm_ir_input(w->ir, node, 1 - i))) {
            return true;
        }
    }
    return false;
}

/* The node that squares, and what it squares. */
static bool find_square(const walk *w, size_t value, size_t *square, size_t *base)
{
    *square = rmsnorm_ir_maker(w->ir, value);
    const bool power = rmsnorm_ir_is(w->ir, *square, "Pow");
    if (!power && !rmsnorm_ir_is(w->ir, *square, "Mul")) {
        return false;
    }
    *base = rmsnorm_ir_input(w->ir, *square, 0);
    const size_t other = rmsnorm_ir_input(w->ir, *square, 1);
    if (*base == RMSNORM_NO_INDEX || other == RMSNORM_NO_INDEX) {
        return false;
    }
    return power || *base == other || through_identity(w, *base) == through_identity(w, other);
}

/* A constant of one element leaves a shape as it is when it has no more dims. */
static bool adds_no_dims(const walk *w, int32_t rank)
{
    return rank <= 1 || rank <= w->ir->values[w->chain->source].shown.type.rank;
}

static bool check_exponent(walk *w, size_t square)
{
    if (!rmsnorm_ir_is(w->ir, square, "Pow")) {
        return true;
    }
    double exponent;
    int32_t rank;
    const size_t value = rmsnorm_ir_input(w->ir, square, 1);
    if (!rmsnorm_ir_scalar(w->ir, value, &exponent, &rank)) {
        return refuse(w, "the exponent \"" NAME "\" is no constant number", name_of(w, value));
    }
    if (exponent != 2.0) {
        return refuse(w, "the exponent is %g, not 2", exponent);
    }
    return adds_no_dims(w, rank) ||
           refuse(w, "the exponent has %d dims, which may give the square more than the input has", rank);
}

/* Reads axes and keepdims. */
static bool check_mean(walk *w, size_t mean)
{
    int64_t axes[RMSNORM_MAX_RANK];
    size_t count = 0;
    const rmsnorm_node_attribute *const attribute = rmsnorm_ir_attribute(w->ir, mean, "axes");
    const rmsnorm_node_attribute *const keepdims = rmsnorm_ir_attribute(w->ir, mean, "keepdims");
    const size_t input = rmsnorm_ir_input(w->ir, mean, 1);
    if (keepdims != NULL && (keepdims->kind != RMSNORM_NODE_ATTRIBUTE_INT || keepdims->i != 1)) {
        return refuse(w, "the mean drops its dims (keepdims is not 1)");
    }
    if (attribute != NULL) {
        if (attribute->kind != RMSNORM_NODE_ATTRIBUTE_INTS || attribute->count > RMSNORM_MAX_RANK) {
            return refuse(w, "the mean's axes are no list of dims");
        }
        count = attribute->count;
        for (size_t i = 0; i < count; i++) {
            axes[i] = attribute->ints[i];
        }
    } else if (input != RMSNORM_NO_INDEX && !rmsnorm_ir_integers(w->ir, input, axes, RMSNORM_MAX_RANK, &count)) {
        return refuse(w, "the mean's axes \"" NAME "\" are no constant", name_of(w, input));
    }
    if (count == 0) {
        return refuse(w, "the mean has no axes");
    }
    const rmsnorm_tensor type = rmsnorm_ir_type(w->ir, w->chain->source);
    uint32_t set = 0; /* bit k: the k-th dim from the end, from 0 */
    for (size_t i = 0; i < count; i++) {
        if (axes[i] >= 0 && type.rank < 0) {
            return refuse(w, "the mean's axis is %lld, and the rank of \"" NAME "\" is not known", (long long)axes[i],
                          name_of(w, w->chain->source));
        }
        const int64_t from_end = axes[i] >= 0 ? type.rank - 1 - axes[i] : -1 - axes[i];
        if (from_end < 0 || from_end >= RMSNORM_MAX_RANK || (type.rank >= 0 && from_end >= type.rank)) {
            return refuse(w, "the mean's axis %lld is no dim of \"" NAME "\"", (long long)axes[i],
                          name_of(w, w->chain->source));
        }
        if ((set >> from_end & 1) != 0) {
            return refuse(w, "the mean's axis %lld is given twice", (long long)axes[i]);
        }
        set |= (uint32_t)1 << from_end;
    }
    if ((set & (set + 1)) != 0) {
        return refuse(w, "the mean's axes are not the last dims");
    }
    const rmsnorm_tensor *const known = &w->ir->values[w->chain->source].shown.type;
    for (w->chain->axis = 0; set != 0; set >>= 1) {
        w->chain->axis--;
        if (-w->chain->axis <= known->rank && known->dims[known->rank + w->chain->axis] == 0) {
            return refuse(w, "the mean is over no elements");
        }
    }
    return true;
}

/* ---- Down to the product --------------------------------------------------------------------- */

/* The one user of a value of the statistics; casts in between are noted. */
static bool follow(walk *w, size_t *value, const char *what, size_t *user)
{
    for (;;) {
        const rmsnorm_ir_value *const shown = &w->ir->values[*value].shown;
        *user = rmsnorm_ir_sole_user(w->ir, *value);
        if (shown->output) {
            return refuse(w, "%s \"" NAME "\" is a graph output", what, shown->name);
        }
        if (*user == RMSNORM_NO_INDEX) {
            return refuse(w,
                          shown->user_count == 0   ? "%s \"" NAME "\" is not used"
                          : shown->user_count == 1 ? "%s \"" NAME "\" is used in a subgraph"
                                                   : "%s \"" NAME "\" is used elsewhere too",
                          what, shown->name);
        }
        const bool cast = rmsnorm_ir_is(w->ir, *user, "Cast");
        if (!cast && !rmsnorm_ir_is(w->ir, *user, "Identity")) {
            return true;
        }
        const size_t after = rmsnorm_ir_output(w->ir, *user, 0);
        if (after == RMSNORM_NO_INDEX) {
            return refuse(w, "%s is cast to nothing", what);
        }
        if (!take(w, *user)) {
            return false;
        }
        *value = after;
    }
}

/* Which input of a commutative node the value is not. */
static size_t other_input(const walk *w, size_t node, size_t value)
{
    const size_t first = rmsnorm_ir_input(w->ir, node, 0);
    return first == value ? rmsnorm_ir_input(w->ir, node, 1) : first;
}

static bool find_epsilon(walk *w, size_t *value)
{
    size_t add;
    double epsilon;
    int32_t rank;
    if (!follow(w, value, "the mean", &add)) {
        return false;
    }
    if (!rmsnorm_ir_is(w->ir, add, "Add")) {
        return rmsnorm_ir_is(w->ir, add, "Sqrt")
                   ? refuse(w, "no epsilon is added before the root")
                   : refuse(w, "%s takes the mean, where epsilon would be added", rmsnorm_ir_label(w->ir, add).text);
    }
    const size_t other = other_input(w, add, *value);
    if (other == RMSNORM_NO_INDEX || !rmsnorm_ir_scalar(w->ir, other, &epsilon, &rank)) {
        return refuse(w, "what is added to the mean, \"" NAME "\", is no constant number", name_of(w, other));
    }
    if (!adds_no_dims(w, rank)) {
        return refuse(w, "epsilon has %d dims, which may give the result more than the input has", rank);
    }
    w->chain->epsilon = (float)epsilon;
    if ((double)w->chain->epsilon != epsilon && !isnan(epsilon)) {
        return refuse(w, "epsilon is %.17g, which is no float, and the attribute epsilon is one", epsilon);
    }
    if (isinf(epsilon)) {
        return refuse(w, "epsilon is infinite"); /* powers and roots of what is below 0 differ */
    }
    *value = rmsnorm_ir_output(w->ir, add, 0);
    return take(w, add) && (*value != RMSNORM_NO_INDEX || refuse(w, "the sum with epsilon has no name"));
}

/* True with *inverse set when the node is the root already turned over. */
static bool is_root(const walk *w, size_t node, bool *inverse)
{
    double exponent;
    int32_t rank;
    *inverse = false;
    if (rmsnorm_ir_is(w->ir, node, "Sqrt")) {
        return true;
    }
    if (!rmsnorm_ir_is(w->ir, node, "Pow") ||
        !rmsnorm_ir_scalar(w->ir, rmsnorm_ir_input(w->ir, node, 1), &exponent, &rank) || !adds_no_dims(w, rank)) {
        return false;
    }
    *inverse = exponent == -0.5;
    return exponent == 0.5 || exponent == -0.5;
}

static bool find_root(walk *w, size_t *value, bool *inverse)
{
    size_t root;
    if (!follow(w, value, "the mean with epsilon", &root)) {
        return false;
    }
    if (!is_root(w, root, inverse) || rmsnorm_ir_input(w->ir, root, 0) != *value) {
        return refuse(w, "%s takes the mean with epsilon, where the root would be", rmsnorm_ir_label(w->ir, root).text);
    }
    *value = rmsnorm_ir_output(w->ir, root, 0);
    return take(w, root) && (*value != RMSNORM_NO_INDEX || refuse(w, "the root has no name"));
}

static bool is_one(const walk *w, size_t value)
{
    double number;
    int32_t rank;
    return value != RMSNORM_NO_INDEX && rmsnorm_ir_scalar(w->ir, value, &number, &rank) && number == 1.0 &&
           adds_no_dims(w, rank);
}

/* What is divided by the root, or multiplied by the inverse: must be what is squared, before or after a cast up. */
static bool check_scaled(walk *w, size_t node, size_t scaled)
{
    const size_t source = through_identity(w, w->chain->source);
    if (scaled == RMSNORM_NO_INDEX) {
        return refuse(w, "%s lacks an input", rmsnorm_ir_label(w->ir, node).text);
    }
    const size_t plain = through_identity(w, scaled);
    const bool same_cast = plain != before_cast(w, plain) && before_cast(w, plain) == w->chain->raw &&
                           dtype_of(w, plain) == dtype_of(w, source);
    if (plain == source || same_cast || plain == w->chain->raw) {
        return true;
    }
    return refuse(w, "\"" NAME "\" is squared, but \"" NAME "\" is scaled by the inverse root",
                  name_of(w, w->chain->source), name_of(w, scaled));
}

static bool find_product(walk *w, size_t value, bool inverse)
{
    size_t node;
    if (!follow(w, &value, inverse ? "the inverse root" : "the root", &node)) {
        return false;
    }
    size_t scaled = RMSNORM_NO_INDEX;
    if (!inverse && rmsnorm_ir_is(w->ir, node, "Div") && rmsnorm_ir_input(w->ir, node, 1) == value) {
        scaled = rmsnorm_ir_input(w->ir, node, 0);
        if (is_one(w, scaled)) {
            inverse = true;
        }
    } else if (!inverse && rmsnorm_ir_is(w->ir, node, "Reciprocal")) {
        inverse = true;
    } else if (inverse && rmsnorm_ir_is(w->ir, node, "Mul")) {
        scaled = other_input(w, node, value);
    } else {
        return refuse(w,
                      rmsnorm_ir_is(w->ir, node, "Sqrt")  ? "%s takes a second root"
                      : rmsnorm_ir_is(w->ir, node, "Add") ? "%s adds to the root: epsilon stands outside it"
                                                          : "%s takes the root, where the input would be scaled",
                      rmsnorm_ir_label(w->ir, node).text);
    }
    const bool turned = inverse && !rmsnorm_ir_is(w->ir, node, "Mul");
    const size_t result = rmsnorm_ir_output(w->ir, node, 0);
    if (!turned && !check_scaled(w, node, scaled)) {
        return false;
    }
    if (result == RMSNORM_NO_INDEX) {
        return refuse(w, "%s has no output", rmsnorm_ir_label(w->ir, node).text);
    }
    if (!take(w, node)) {
        return false;
    }
    if (turned) {
        return find_product(w, result, true);
    }
    w->chain->product = result;
    return true;
}

/* ---- What follows ---------------------------------------------------------------------------- */

/* How a scale lies on the rows: its dims are 1 or the input's, and it has no more of them. */
typedef enum fit { FITS, GROWS, UNKNOWN } fit;

static fit fit_of(const walk *w, size_t scale)
{
    const rmsnorm_ir_value *const s = &w->ir->values[scale].shown;
    const rmsnorm_ir_value *const x = &w->ir->values[w->chain->source].shown;
    fit result = s->open ? UNKNOWN : FITS;
    if (s->type.rank > x->type.rank) {
        result = x->open ? UNKNOWN : GROWS;
    }
    const int32_t common = s->type.rank < x->type.rank ? s->type.rank : x->type.rank;
    for (int32_t i = 1; i <= common; i++) {
        const int64_t dim = s->type.dims[s->type.rank - i], wanted = x->type.dims[x->type.rank - i];
        const char *const name = s->type.dim_names[s->type.rank - i], *const wanted_name =
                                                                          x->type.dim_names[x->type.rank - i];
        if (dim == 1 || (dim >= 0 && dim == wanted) ||
            (dim < 0 && wanted < 0 && name != NULL && wanted_name != NULL && strcmp(name, wanted_name) == 0)) {
            continue;
        }
        if (dim >= 0 && wanted >= 0) {
            return GROWS;
        }
        result = result == FITS ? UNKNOWN : result;
    }
    return result;
}

/* A Mul by what lies on the rows: the scale. One whose shape is not known to fit stays what it is, a Mul. */
static bool take_scale(walk *w, size_t node, size_t value)
{
    const size_t scale = other_input(w, node, value);
    if (!check_node(w, node)) {
        return false;
    }
    if (scale == RMSNORM_NO_INDEX || scale == value || rmsnorm_ir_output(w->ir, node, 0) == RMSNORM_NO_INDEX) {
        return true;
    }
    const fit lies = fit_of(w, scale);
    if (lies == GROWS) {
        return refuse(w, "the scale \"" NAME "\" would give the result another shape than the input has",
                      name_of(w, scale));
    }
    if (lies == FITS) {
        w->chain->scale = scale;
        const size_t raw = before_cast(w, scale);
        w->chain->raw_scale = widens(dtype_of(w, raw), dtype_of(w, scale)) ? raw : scale;
        w->chain->tail[w->chain->tail_count++] = node;
    }
    return true;
}

static bool find_tail(walk *w)
{
    size_t value = w->chain->product;
    bool cast = false;
    w->chain->scale = RMSNORM_NO_INDEX;
    while (w->chain->tail_count < RMSNORM_CHAIN_TAIL) {
        const size_t user = rmsnorm_ir_sole_user(w->ir, value);
        const size_t before = w->chain->tail_count;
        if (rmsnorm_ir_is(w->ir, user, "Mul") && w->chain->scale == RMSNORM_NO_INDEX) {
            if (!take_scale(w, user, value)) {
                return false;
            }
        } else if (rmsnorm_ir_is(w->ir, user, "Cast") && !cast &&
                   rmsnorm_ir_output(w->ir, user, 0) != RMSNORM_NO_INDEX) {
            cast = true;
            w->chain->tail[w->chain->tail_count++] = user;
        }
        if (w->chain->tail_count == before) {
            break;
        }
        value = rmsnorm_ir_output(w->ir, user, 0);
    }
    return true;
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* Statistics and product must have one wide type; else something in between is rounded that a fused node does not
 * round. */
static bool check_types(walk *w)
{
    const rmsnorm_dtype type = dtype_of(w, w->chain->source);
    bool exact = type == RMSNORM_FLOAT || type == RMSNORM_DOUBLE;
    rmsnorm_dtype rounded = exact ? RMSNORM_UNDEFINED : type;
    for (size_t i = 0; i < w->chain->node_count; i++) {
        const size_t value = rmsnorm_ir_output(w->ir, w->chain->nodes[i], 0);
        const rmsnorm_dtype here = dtype_of(w, value);
        if (here == RMSNORM_UNDEFINED) {
            return refuse(w, "the element type of \"" NAME "\" is not known", name_of(w, value));
        }
        if (rmsnorm_dtype_size(here) == 0) {
            return refuse(w, "the element type of \"" NAME "\" is %s", name_of(w, value), rmsnorm_dtype_name(here));
        }
        if (here != type && rounded == RMSNORM_UNDEFINED) {
            exact = false;
            rounded = is_narrow(here) ? here : type;
        }
    }
    if (!exact) {
        w->chain->rounding =
            rmsnorm_ir_format(w->ir, "the statistics are rounded to %s on the way", rmsnorm_dtype_name(rounded));
    }
    return true;
}

static bool match(walk *w, size_t mean)
{
    rmsnorm_chain *const chain = w->chain;
    size_t value = rmsnorm_ir_output(w->ir, mean, 0);
    bool inverse;
    if (!check_exponent(w, chain->nodes[0]) || !check_mean(w, mean) || !take(w, mean)) {
        return false;
    }
    if (value == RMSNORM_NO_INDEX) {
        return refuse(w, "the mean has no name");
    }
    return find_epsilon(w, &value) && find_root(w, &value, &inverse) && find_product(w, value, inverse) &&
           check_types(w) && find_tail(w);
}

/* The square is the mean's alone; casts in between belong to the statistics. */
static bool find_base(walk *w, size_t mean)
{
    size_t value = rmsnorm_ir_input(w->ir, mean, 0);
    size_t between[4];
    size_t count = 0;
    size_t square;
    if (value == RMSNORM_NO_INDEX) {
        return false;
    }
    while (!find_square(w, value, &square, &w->chain->source)) {
        const size_t maker = rmsnorm_ir_maker(w->ir, value);
        const bool passed = rmsnorm_ir_is(w->ir, maker, "Cast") || rmsnorm_ir_is(w->ir, maker, "Identity");
        if (!passed || count == sizeof between / sizeof between[0] ||
            rmsnorm_ir_input(w->ir, maker, 0) == RMSNORM_NO_INDEX) {
            return false;
        }
        between[count++] = maker;
        value = rmsnorm_ir_input(w->ir, maker, 0);
    }
    w->chain->nodes[w->chain->node_count++] = square;
    while (count > 0) {
        w->chain->nodes[w->chain->node_count++] = between[--count];
    }
    return true;
}

static bool check_square_private(walk *w, size_t mean)
{
    const size_t last = w->chain->node_count;
    for (size_t i = 0; i < last; i++) {
        if (w->ir->nodes[w->chain->nodes[i]].shown.graph != w->ir->nodes[mean].shown.graph) {
            return refuse(w, "the square is computed in an outer graph");
        }
        const rmsnorm_ir_value *const shown = &w->ir->values[rmsnorm_ir_output(w->ir, w->chain->nodes[i], 0)].shown;
        if (shown->output || shown->user_count != 1) {
            return refuse(w,
                          shown->output ? "the square \"" NAME "\" is a graph output"
                                        : "the square \"" NAME "\" is used elsewhere too",
                          shown->name);
        }
    }
    return true;
}

rmsnorm_chain_answer rmsnorm_chain_match(rmsnorm_ir *ir, size_t mean, rmsnorm_chain *chain, rmsnorm_reason *reason)
{
    walk w = {.ir = ir, .chain = chain, .reason = reason};
    *chain = (rmsnorm_chain){.scale = RMSNORM_NO_INDEX};
    reason->text[0] = '\0';
    if (!rmsnorm_ir_is(ir, mean, "ReduceMean") || !find_base(&w, mean)) {
        return RMSNORM_CHAIN_NONE;
    }
    chain->raw = before_cast(&w, chain->source);
    if (!widens(ir->values[chain->raw].shown.type.dtype, ir->values[chain->source].shown.type.dtype)) {
        chain->raw = chain->source;
    }
    if (rmsnorm_ir_opset(ir, "") < 7) {
        refuse(&w, rmsnorm_ir_opset(ir, "") < 1 ? "the model imports no opset of ai.onnx"
                                                : "nodes are understood from opset 7 on, and the model's is older");
        return RMSNORM_CHAIN_REFUSED;
    }
    if (is_centered(&w, chain->source)) {
        refuse(&w, "it is fed by x - mean(x), so it is a LayerNormalization");
        return RMSNORM_CHAIN_REFUSED;
    }
    if (!check_node(&w, chain->nodes[0]) || !check_square_private(&w, mean) || !match(&w, mean)) {
        return RMSNORM_CHAIN_REFUSED;
    }
    return RMSNORM_CHAIN_MATCHED;
}
