#include "rewrite/compose.h"

#include <string.h>

static rmsnorm_dtype dtype_of(const rmsnorm_composer *c, size_t value)
{
    return c->ir->values[value].shown.type.dtype;
}

static bool failed(const rmsnorm_composer *c)
{
    return c->status != RMSNORM_OK;
}

void rmsnorm_compose_node(rmsnorm_composer *c, const rmsnorm_made_node *node)
{
    size_t index;
    if (failed(c)) {
        return;
    }
    for (size_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != RMSNORM_NO_INDEX) {
            rmsnorm_ir_free_value(c->ir, node->outputs[i]);
        }
    }
    c->status = rmsnorm_made_insert(c->ir, node, c->node, &index);
    if (c->status == RMSNORM_OK) {
        c->made[c->made_count++] = index;
    }
}

/* The value a node is to make. */
static size_t result_value(rmsnorm_composer *c, const char *op_type, const rmsnorm_composed *result)
{
    if (failed(c) || result->value != RMSNORM_NO_INDEX) {
        return result->value;
    }
    const size_t first = rmsnorm_ir_output(c->ir, c->node, 0);
    char ending[40] = "_";
    strncat(ending, op_type, sizeof ending - 2);
    size_t value = RMSNORM_NO_INDEX;
    c->status = rmsnorm_ir_make_value(c->ir, c->ir->nodes[c->node].shown.graph, c->ir->values[first].shown.name, ending,
                                      &result->type, &value);
    return value;
}

static size_t put(rmsnorm_composer *c, rmsnorm_made_node *node, size_t a, size_t b, const rmsnorm_composed *result)
{
    const size_t value = result_value(c, node->op_type, result);
    node->inputs[0] = a;
    node->inputs[1] = b;
    node->input_count = 2;
    node->outputs[0] = value;
    node->output_count = 1;
    rmsnorm_compose_node(c, node);
    return failed(c) ? RMSNORM_NO_INDEX : value;
}

size_t rmsnorm_compose(rmsnorm_composer *c, const char *op_type, size_t a, size_t b, const rmsnorm_composed *result)
{
    rmsnorm_made_node node = {.op_type = op_type, .domain = ""};
    return put(c, &node, a, b, result);
}

size_t rmsnorm_compose_cast(rmsnorm_composer *c, size_t value, rmsnorm_dtype to, size_t result)
{
    if (failed(c)) {
        return RMSNORM_NO_INDEX;
    }
    if (dtype_of(c, value) == to && result == RMSNORM_NO_INDEX) {
        return value;
    }
    rmsnorm_made_node node = {.op_type = dtype_of(c, value) == to ? "Identity" : "Cast", .domain = ""};
    if (dtype_of(c, value) != to) {
        rmsnorm_made_set_int(&node, "to", to);
    }
    rmsnorm_composed made = {result, rmsnorm_ir_type(c->ir, value)};
    made.type.dtype = to;
    made.type.data = NULL;
    return put(c, &node, value, RMSNORM_NO_INDEX, &made);
}

size_t rmsnorm_compose_product(rmsnorm_composer *c, size_t a, size_t b, rmsnorm_dtype to, size_t result)
{
    if (failed(c)) {
        return RMSNORM_NO_INDEX;
    }
    const bool wide = dtype_of(c, a) == RMSNORM_DOUBLE || dtype_of(c, b) == RMSNORM_DOUBLE;
    rmsnorm_dtype type = wide ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    if (dtype_of(c, a) == dtype_of(c, b) && dtype_of(c, a) == to) {
        type = to; /* both narrow: the product rounds once by itself */
    }
    const size_t wide_a = rmsnorm_compose_cast(c, a, type, RMSNORM_NO_INDEX);
    const size_t wide_b = rmsnorm_compose_cast(c, b, type, RMSNORM_NO_INDEX);
    rmsnorm_composed made = {type == to ? result : RMSNORM_NO_INDEX, {.rank = RMSNORM_UNKNOWN}};
    if (!failed(c)) {
        made.type = rmsnorm_ir_type(c->ir, wide_a);
        made.type.dtype = type;
    }
    const size_t product = rmsnorm_compose(c, "Mul", wide_a, wide_b, &made);
    return type == to ? product : rmsnorm_compose_cast(c, product, to, result);
}

/* ReduceMean took its axes as an attribute before opset 18. */
static size_t mean_of(rmsnorm_composer *c, size_t square, int64_t axis, const rmsnorm_composed *result)
{
    rmsnorm_made_node node = {.op_type = "ReduceMean", .domain = ""};
    int64_t *const axes = failed(c) ? NULL : rmsnorm_ir_allocate(c->ir, RMSNORM_MAX_RANK, sizeof *axes);
    if (axes == NULL) {
        c->status = failed(c) ? c->status : RMSNORM_OUT_OF_MEMORY;
        return RMSNORM_NO_INDEX;
    }
    const rmsnorm_tensor type = rmsnorm_ir_type(c->ir, square);
    const size_t count = (size_t)-axis;
    const bool counted_up = rmsnorm_ir_opset(c->ir, "") < 11; /* no negative axes yet */
    for (size_t i = 0; i < count; i++) {
        axes[i] = axis + (int64_t)i + (counted_up ? type.rank : 0);
    }
    size_t input = RMSNORM_NO_INDEX;
    if (rmsnorm_ir_opset(c->ir, "") < 18) {
        node.attributes[node.attribute_count++] =
            (rmsnorm_node_attribute){.name = "axes", .kind = RMSNORM_NODE_ATTRIBUTE_INTS, .ints = axes, .count = count};
    } else {
        c->status = rmsnorm_made_integers(c->ir, axes, count, &input);
    }
    rmsnorm_made_set_int(&node, "keepdims", 1);
    return put(c, &node, square, input, result);
}

size_t rmsnorm_compose_inverse_root(rmsnorm_composer *c, size_t x, int64_t axis, float epsilon, size_t result)
{
    if (failed(c)) {
        return RMSNORM_NO_INDEX;
    }
    rmsnorm_composed element = {RMSNORM_NO_INDEX, rmsnorm_ir_type(c->ir, x)};
    element.type.data = NULL;
    rmsnorm_composed statistic = element;
    for (int32_t i = 1; i <= -axis && i <= statistic.type.rank; i++) {
        statistic.type.dims[statistic.type.rank - i] = 1;
        statistic.type.dim_names[statistic.type.rank - i] = NULL;
    }
    size_t number = RMSNORM_NO_INDEX;
    const size_t square = rmsnorm_compose(c, "Mul", x, x, &element);
    const size_t mean = mean_of(c, square, axis, &statistic);
    if (!failed(c)) {
        c->status = rmsnorm_made_scalar(c->ir, element.type.dtype, (double)epsilon, &number);
    }
    const size_t sum = rmsnorm_compose(c, "Add", mean, number, &statistic);
    const size_t root = rmsnorm_compose(c, "Sqrt", sum, RMSNORM_NO_INDEX, &statistic);
    statistic.value = result;
    return rmsnorm_compose(c, "Reciprocal", root, RMSNORM_NO_INDEX, &statistic);
}
