#include "rewrite/made.h"

#include <string.h>

/* The largest row that ones are written out for. */
enum { MOST_ONES = 1 << 17 };

void rmsnorm_made_set_int(rmsnorm_made_node *node, const char *name, int64_t value)
{
    node->attributes[node->attribute_count++] =
        (rmsnorm_node_attribute){.name = name, .kind = RMSNORM_NODE_ATTRIBUTE_INT, .i = value};
}

void rmsnorm_made_set_float(rmsnorm_made_node *node, const char *name, float value)
{
    node->attributes[node->attribute_count++] =
        (rmsnorm_node_attribute){.name = name, .kind = RMSNORM_NODE_ATTRIBUTE_FLOAT, .f = value};
}

static const rmsnorm_operator *operator_of(rmsnorm_operator_kind kind)
{
    const rmsnorm_operator *op = NULL;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL && op->kind != kind; i++) {
    }
    return op;
}

bool rmsnorm_made_allowed(const rmsnorm_ir *ir, rmsnorm_operator_kind kind)
{
    const rmsnorm_operator *const op = operator_of(kind);
    return !rmsnorm_ir_is_taken(ir, op->domain, op->name);
}

rmsnorm_made_node rmsnorm_made_norm(rmsnorm_operator_kind kind, int64_t axis, float epsilon, int64_t stash_type)
{
    const rmsnorm_operator *const op = operator_of(kind);
    rmsnorm_made_node node = {.op_type = op->name, .domain = op->domain};
    if (kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        rmsnorm_made_set_int(&node, "axis", axis);
    }
    rmsnorm_made_set_float(&node, "epsilon", epsilon);
    if (kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION && stash_type != RMSNORM_FLOAT) {
        rmsnorm_made_set_int(&node, "stash_type", stash_type);
    }
    return node;
}

static size_t count_slots(const size_t *slots, size_t count)
{
    while (count > 0 && slots[count - 1] == RMSNORM_NO_INDEX) {
        count--;
    }
    return count;
}

rmsnorm_status rmsnorm_made_insert(rmsnorm_ir *ir, const rmsnorm_made_node *node, size_t before, size_t *index)
{
    rmsnorm_node_attribute *const attributes = rmsnorm_ir_allocate(ir, node->attribute_count + 1, sizeof *attributes);
    if (attributes == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(attributes, node->attributes, node->attribute_count * sizeof *attributes);
    /* "/model/layers.0/norm/Mul_1" gives "/model/layers.0/norm/SimplifiedLayerNormalization". */
    const char *const like = ir->nodes[before].shown.name;
    const char *const slash = strrchr(like, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - like) + 1 : 0;
    char *const name = rmsnorm_ir_allocate(ir, folder + strlen(node->op_type) + 1, 1);
    if (name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(name, like, folder);
    memcpy(name + folder, node->op_type, strlen(node->op_type) + 1);
    const rmsnorm_ir_node made = {.name = name,
                                  .op_type = node->op_type,
                                  .domain = node->domain,
                                  .inputs = node->inputs,
                                  .input_count = count_slots(node->inputs, node->input_count),
                                  .outputs = node->outputs,
                                  .output_count = count_slots(node->outputs, node->output_count),
                                  .attributes = attributes,
                                  .attribute_count = node->attribute_count};
    return rmsnorm_ir_insert(ir, &made, before, index);
}

/* ---- Constants ------------------------------------------------------------------------------- */

rmsnorm_tensor rmsnorm_made_ones_type(const rmsnorm_tensor *input, int64_t axis, rmsnorm_dtype dtype)
{
    rmsnorm_tensor type = {.dtype = dtype, .rank = (int32_t)-axis};
    int64_t count = 1;
    for (int32_t i = 1; i <= -axis; i++) {
        const int64_t dim = i <= input->rank ? input->dims[input->rank - i] : RMSNORM_UNKNOWN;
        if (dim < 1 || dim > MOST_ONES / count) {
            return (rmsnorm_tensor){.dtype = dtype, .rank = 1, .dims = {1}};
        }
        type.dims[type.rank - i] = dim;
        count *= dim;
    }
    return type;
}

static void put_number(rmsnorm_dtype dtype, void *to, double number)
{
    const float single = (float)number;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (dtype == RMSNORM_DOUBLE) {
        memcpy(to, &number, sizeof number);
    } else if (dtype == RMSNORM_FLOAT) {
        memcpy(to, &single, sizeof single);
    } else { /* ones are all that is asked for */
        const uint16_t one = dtype == RMSNORM_BFLOAT16 ? (uint16_t)(bits >> 16) : 0x3c00;
        memcpy(to, &one, sizeof one);
    }
}

/* Sharing is a courtesy to readers of the model: only the latest constants are looked at. */
enum { LOOK_BACK = 64 };

static bool same_shape(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* A constant that was made before. data NULL: ones. */
static size_t find_made(const rmsnorm_ir *ir, const rmsnorm_tensor *type, const void *data, size_t size)
{
    const size_t oldest = ir->constant_count > LOOK_BACK ? ir->constant_count - LOOK_BACK : 0;
    for (size_t i = ir->constant_count; i-- > oldest;) {
        const rmsnorm_ir_constant *const made = &ir->constants[i];
        const rmsnorm_tensor *const tensor = &ir->values[made->value].shown.type;
        const bool wanted = made->ones == (data == NULL) && same_shape(tensor, type);
        if (wanted && (data == NULL || memcmp(tensor->data, data, size) == 0)) {
            return made->value;
        }
    }
    return RMSNORM_NO_INDEX;
}

static rmsnorm_status add_constant(rmsnorm_ir *ir, const char *name, const rmsnorm_tensor *type, bool ones,
                                   size_t *value)
{
    RMSNORM_TRY(rmsnorm_ir_grow(ir, (void **)&ir->constants, sizeof *ir->constants, ir->constant_count,
                                &ir->constant_capacity));
    RMSNORM_TRY(rmsnorm_ir_make_value(ir, 0, name, "", type, value));
    ir->constants[ir->constant_count++] = (rmsnorm_ir_constant){*value, ones};
    return RMSNORM_OK;
}

static rmsnorm_status make_constant(rmsnorm_ir *ir, const char *name, const rmsnorm_tensor *type, size_t size,
                                    size_t *value)
{
    *value = find_made(ir, type, type->data, size);
    return *value != RMSNORM_NO_INDEX ? RMSNORM_OK : add_constant(ir, name, type, false, value);
}

rmsnorm_status rmsnorm_made_ones(rmsnorm_ir *ir, const rmsnorm_tensor *type, size_t *value)
{
    *value = find_made(ir, type, NULL, 0);
    if (*value != RMSNORM_NO_INDEX) {
        return RMSNORM_OK;
    }
    const size_t item = rmsnorm_dtype_size(type->dtype);
    const size_t count = (size_t)rmsnorm_tensor_count(type);
    char *const data = rmsnorm_ir_allocate(ir, count, item);
    if (data == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        put_number(type->dtype, data + i * item, 1.0);
    }
    rmsnorm_tensor tensor = *type;
    tensor.data = data;
    return add_constant(ir, "rmsnorm_ones", &tensor, true, value);
}

rmsnorm_status rmsnorm_made_scalar(rmsnorm_ir *ir, rmsnorm_dtype dtype, double number, size_t *value)
{
    const size_t item = rmsnorm_dtype_size(dtype);
    void *const data = rmsnorm_ir_allocate(ir, 1, item);
    if (data == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    put_number(dtype, data, number);
    const rmsnorm_tensor tensor = {.dtype = dtype, .data = data};
    return make_constant(ir, "rmsnorm_number", &tensor, item, value);
}

rmsnorm_status rmsnorm_made_integers(rmsnorm_ir *ir, const int64_t *integers, size_t count, size_t *value)
{
    int64_t *const data = rmsnorm_ir_allocate(ir, count + 1, sizeof *data);
    if (data == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(data, integers, count * sizeof *data);
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_INT64, .rank = 1, .dims = {(int64_t)count}, .data = data};
    return make_constant(ir, "rmsnorm_axes", &tensor, count * sizeof *data, value);
}
