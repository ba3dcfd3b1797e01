/* Questions about nodes and values that every rule asks. */
#include <stdio.h>
#include <string.h>

#include "rewrite/ir.h"

#define NAME "%.160s" /* untrusted names are cut, so that the sentence survives them */

rmsnorm_ir_words rmsnorm_ir_label(const rmsnorm_ir *ir, size_t node)
{
    rmsnorm_ir_words words;
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    if (shown->name[0] != '\0') {
        snprintf(words.text, sizeof words.text, "node \"" NAME "\"", shown->name);
        return words;
    }
    size_t output = RMSNORM_NO_INDEX;
    for (size_t i = 0; i < shown->output_count && output == RMSNORM_NO_INDEX; i++) {
        output = shown->outputs[i];
    }
    snprintf(words.text, sizeof words.text, "node " NAME " of \"" NAME "\"", shown->op_type,
             output != RMSNORM_NO_INDEX ? ir->values[output].shown.name : "");
    return words;
}

bool rmsnorm_ir_is(const rmsnorm_ir *ir, size_t node, const char *op_type)
{
    if (node == RMSNORM_NO_INDEX) {
        return false;
    }
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    return !shown->function && shown->domain[0] == '\0' && strcmp(shown->op_type, op_type) == 0;
}

const rmsnorm_node_attribute *rmsnorm_ir_attribute(const rmsnorm_ir *ir, size_t node, const char *name)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    for (size_t i = 0; i < shown->attribute_count; i++) {
        if (strcmp(shown->attributes[i].name, name) == 0) {
            return &shown->attributes[i];
        }
    }
    return NULL;
}

size_t rmsnorm_ir_input(const rmsnorm_ir *ir, size_t node, size_t slot)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    return slot < shown->input_count ? shown->inputs[slot] : RMSNORM_NO_INDEX;
}

size_t rmsnorm_ir_output(const rmsnorm_ir *ir, size_t node, size_t slot)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    return slot < shown->output_count ? shown->outputs[slot] : RMSNORM_NO_INDEX;
}

size_t rmsnorm_ir_maker(const rmsnorm_ir *ir, size_t value)
{
    return value == RMSNORM_NO_INDEX ? RMSNORM_NO_INDEX : ir->values[value].shown.maker;
}

size_t rmsnorm_ir_sole_user(const rmsnorm_ir *ir, size_t value)
{
    const rmsnorm_ir_cell *const cell = &ir->values[value];
    if (cell->shown.output || cell->shown.user_count != 1) {
        return RMSNORM_NO_INDEX;
    }
    for (size_t i = 0; i < cell->used; i++) {
        const rmsnorm_ir_node *const user = &ir->nodes[cell->users[i]].shown;
        if (!user->gone) {
            return user->graph == cell->shown.graph ? cell->users[i] : RMSNORM_NO_INDEX;
        }
    }
    return RMSNORM_NO_INDEX;
}

rmsnorm_tensor rmsnorm_ir_type(const rmsnorm_ir *ir, size_t value)
{
    rmsnorm_tensor type = ir->values[value].shown.type;
    if (ir->values[value].shown.open) {
        type.rank = RMSNORM_UNKNOWN;
    }
    return type;
}

size_t rmsnorm_ir_ancestor(const rmsnorm_ir *ir, size_t node, size_t graph)
{
    while (node != RMSNORM_NO_INDEX && ir->nodes[node].shown.graph != graph) {
        node = ir->graphs[ir->nodes[node].shown.graph].owner;
    }
    return node;
}

rmsnorm_status rmsnorm_ir_check_order(const rmsnorm_ir *ir)
{
    for (size_t n = 0; n < ir->node_count; n++) {
        const rmsnorm_ir_node *const node = &ir->nodes[n].shown;
        for (size_t i = 0; i < node->input_count && !node->gone; i++) {
            const size_t maker = rmsnorm_ir_maker(ir, node->inputs[i]);
            if (maker == RMSNORM_NO_INDEX) {
                continue;
            }
            const size_t user = rmsnorm_ir_ancestor(ir, n, ir->nodes[maker].shown.graph);
            RMSNORM_CHECK(user != RMSNORM_NO_INDEX && ir->nodes[maker].position < ir->nodes[user].position,
                          RMSNORM_INVALID_ARGUMENT,
                          "%s uses \"" NAME "\", which %s makes only later; nodes must stand in topological order",
                          rmsnorm_ir_label(ir, n).text, ir->values[node->inputs[i]].shown.name,
                          rmsnorm_ir_label(ir, maker).text);
        }
    }
    return RMSNORM_OK;
}

/* ---- Constants ------------------------------------------------------------------------------- */

static float widen_float16(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    uint32_t wide = sign | (exponent + 112) << 23 | mantissa << 13;
    float value;
    if (exponent == 0) { /* zero or subnormal: mantissa times 2^-24 */
        value = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    if (exponent == 31) {
        wide = sign | 255u << 23 | mantissa << 13;
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

static bool element(const rmsnorm_tensor *tensor, double *number)
{
    float narrow;
    uint16_t half;
    uint32_t wide;
    int32_t small;
    int64_t large;
    switch (tensor->dtype) {
    case RMSNORM_FLOAT:
        memcpy(&narrow, tensor->data, sizeof narrow);
        *number = (double)narrow;
        return true;
    case RMSNORM_DOUBLE:
        memcpy(number, tensor->data, sizeof *number);
        return true;
    case RMSNORM_FLOAT16:
        memcpy(&half, tensor->data, sizeof half);
        *number = (double)widen_float16(half);
        return true;
    case RMSNORM_BFLOAT16:
        memcpy(&half, tensor->data, sizeof half);
        wide = (uint32_t)half << 16;
        memcpy(&narrow, &wide, sizeof narrow);
        *number = (double)narrow;
        return true;
    case RMSNORM_INT32:
        memcpy(&small, tensor->data, sizeof small);
        *number = (double)small;
        return true;
    case RMSNORM_INT64:
        memcpy(&large, tensor->data, sizeof large);
        *number = (double)large;
        return large >= -((int64_t)1 << 53) && large <= (int64_t)1 << 53;
    default:
        return false;
    }
}

/* The tensor of a constant: an initializer's, or what a Constant node holds; through Identity. False: none, or its elements
 * are not known. Numbers in attributes are copied to `room`. */
static bool constant_tensor(const rmsnorm_ir *ir, size_t value, rmsnorm_tensor *tensor)
{
    for (int steps = 0; steps < 8 && value != RMSNORM_NO_INDEX; steps++) {
        const rmsnorm_ir_value *const shown = &ir->values[value].shown;
        if (shown->constant) {
            *tensor = shown->type;
            return tensor->data != NULL && !shown->open;
        }
        const size_t maker = shown->maker;
        if (rmsnorm_ir_is(ir, maker, "Identity")) {
            value = rmsnorm_ir_input(ir, maker, 0);
            continue;
        }
        if (!rmsnorm_ir_is(ir, maker, "Constant") || ir->nodes[maker].shown.attribute_count != 1) {
            return false;
        }
        const rmsnorm_node_attribute *const attribute = &ir->nodes[maker].shown.attributes[0];
        *tensor = (rmsnorm_tensor){.rank = 0};
        if (strcmp(attribute->name, "value") == 0 && attribute->kind == RMSNORM_NODE_ATTRIBUTE_TENSOR) {
            *tensor = attribute->tensor;
        } else if (strcmp(attribute->name, "value_float") == 0 && attribute->kind == RMSNORM_NODE_ATTRIBUTE_FLOAT) {
            tensor->dtype = RMSNORM_FLOAT;
            tensor->data = (void *)&attribute->f; /* only read */
        } else if (strcmp(attribute->name, "value_int") == 0 && attribute->kind == RMSNORM_NODE_ATTRIBUTE_INT) {
            tensor->dtype = RMSNORM_INT64;
            tensor->data = (void *)&attribute->i;
        } else if (strcmp(attribute->name, "value_ints") == 0 && attribute->kind == RMSNORM_NODE_ATTRIBUTE_INTS) {
            tensor->dtype = RMSNORM_INT64;
            tensor->rank = 1;
            tensor->dims[0] = (int64_t)attribute->count;
            tensor->data = (void *)attribute->ints;
        } else if (strcmp(attribute->name, "value_floats") == 0 && attribute->kind == RMSNORM_NODE_ATTRIBUTE_FLOATS) {
            tensor->dtype = RMSNORM_FLOAT;
            tensor->rank = 1;
            tensor->dims[0] = (int64_t)attribute->count;
            tensor->data = (void *)attribute->floats;
        }
        return tensor->data != NULL && tensor->rank >= 0;
    }
    return false;
}

/* A number as a Cast to this type makes it. Casts to narrow types have no use here. */
static bool cast_number(rmsnorm_dtype to, double *number)
{
    if (to == RMSNORM_FLOAT) {
        *number = (double)(float)*number;
    }
    return to == RMSNORM_FLOAT || to == RMSNORM_DOUBLE;
}

bool rmsnorm_ir_scalar(const rmsnorm_ir *ir, size_t value, double *number, int32_t *rank)
{
    rmsnorm_tensor tensor;
    const size_t maker = rmsnorm_ir_maker(ir, value);
    const rmsnorm_node_attribute *const to =
        rmsnorm_ir_is(ir, maker, "Cast") ? rmsnorm_ir_attribute(ir, maker, "to") : NULL;
    const size_t source = to != NULL ? rmsnorm_ir_input(ir, maker, 0) : value;
    if (!constant_tensor(ir, source, &tensor) || rmsnorm_tensor_count(&tensor) != 1 || !element(&tensor, number)) {
        return false;
    }
    if (rank != NULL) {
        *rank = tensor.rank;
    }
    return to == NULL || (to->kind == RMSNORM_NODE_ATTRIBUTE_INT && cast_number((rmsnorm_dtype)to->i, number));
}

/* What inference found out about a vector that nodes compute. */
static bool known_content(const rmsnorm_ir *ir, size_t value, int64_t *numbers, size_t most, size_t *count)
{
    const rmsnorm_ir_cell *const cell = &ir->values[value];
    if (cell->content == NULL || cell->content_count > most) {
        return false;
    }
    *count = cell->content_count;
    for (size_t i = 0; i < *count; i++) {
        numbers[i] = cell->content[i].number;
        if (numbers[i] == RMSNORM_NO_NUMBER) {
            return false;
        }
    }
    return true;
}

bool rmsnorm_ir_integers(const rmsnorm_ir *ir, size_t value, int64_t *numbers, size_t most, size_t *count)
{
    rmsnorm_tensor tensor;
    if (!constant_tensor(ir, value, &tensor)) {
        return known_content(ir, value, numbers, most, count);
    }
    if (tensor.rank > 1) {
        return false;
    }
    const int64_t elements = tensor.rank == 0 ? 1 : tensor.dims[0];
    if (elements < 0 || (uint64_t)elements > most) {
        return false;
    }
    *count = (size_t)elements;
    for (size_t i = 0; i < *count; i++) {
        if (tensor.dtype == RMSNORM_INT64) {
            memcpy(&numbers[i], (const char *)tensor.data + i * sizeof(int64_t), sizeof(int64_t));
        } else if (tensor.dtype == RMSNORM_INT32) {
            int32_t small;
            memcpy(&small, (const char *)tensor.data + i * sizeof small, sizeof small);
            numbers[i] = small;
        } else {
            return false;
        }
    }
    return true;
}
