#include "graph/node.h"

#include "graph/bytes.h"
#include "graph/model.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rmsnorm_node_label(const rmsnorm_node *node, char label[RMSNORM_NODE_LABEL])
{
    if (node->name[0] != '\0') {
        snprintf(label, RMSNORM_NODE_LABEL, "node \"" RMSNORM_NAME "\"", node->name);
        return;
    }
    const char *output = "";
    for (size_t i = 0; i < node->output_count && output[0] == '\0'; i++) {
        output = node->outputs[i];
    }
    snprintf(label, RMSNORM_NODE_LABEL, "node " RMSNORM_NAME " of \"" RMSNORM_NAME "\"", node->op_type, output);
}

/* The fields that can hold a value, as a set of the AttributeTypes they belong to. */
static uint32_t fields_set(const Onnx__AttributeProto *proto)
{
    const struct {
        bool set;
        Onnx__AttributeProto__AttributeType type;
    } fields[] = {
        {proto->has_f, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT},
        {proto->has_i, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT},
        {proto->has_s, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING},
        {proto->t != NULL, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR},
        {proto->g != NULL, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH},
        {proto->n_floats > 0, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS},
        {proto->n_ints > 0, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS},
        {proto->n_strings > 0, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS},
        {proto->n_tensors > 0, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS},
        {proto->n_graphs > 0, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS},
    };
    uint32_t set = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        set |= fields[i].set ? (uint32_t)1 << fields[i].type : 0;
    }
    return set;
}

bool rmsnorm_attribute_kind_of(const Onnx__AttributeProto *proto, rmsnorm_node_attribute_kind *kind)
{
    static const struct {
        Onnx__AttributeProto__AttributeType type;
        rmsnorm_node_attribute_kind kind;
    } kinds[] = {
        {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, RMSNORM_NODE_ATTRIBUTE_INT},
        {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, RMSNORM_NODE_ATTRIBUTE_FLOAT},
        {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, RMSNORM_NODE_ATTRIBUTE_TENSOR},
        {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, RMSNORM_NODE_ATTRIBUTE_INTS},
        {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, RMSNORM_NODE_ATTRIBUTE_FLOATS},
    };
    const uint32_t set = fields_set(proto);
    *kind = RMSNORM_NODE_ATTRIBUTE_OTHER;
    if (proto->ref_attr_name != NULL && proto->ref_attr_name[0] != '\0') {
        return true; /* the value would be that of a function's caller */
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const uint32_t bit = (uint32_t)1 << kinds[i].type;
        /* Files older than IR version 2 state no type: there the field tells. */
        const bool stated = proto->type == kinds[i].type;
        if (stated || (proto->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED && set == bit)) {
            *kind = kinds[i].kind;
            /* A number that is 0 may be left out, and a list may be empty; a tensor must be there. */
            return set == bit || (set == 0 && kinds[i].kind != RMSNORM_NODE_ATTRIBUTE_TENSOR);
        }
    }
    return true;
}

/* The opset a node is read with; 0: the model does not say. Before IR version 3 there were no imports, and one
 * opset. */
static int64_t opset_of(const rmsnorm_model *model, const rmsnorm_node *node)
{
    const int64_t opset = rmsnorm_model_opset(model, node->domain);
    return opset == 0 && node->domain[0] == '\0' && model->proto->ir_version < 3 ? 1 : opset;
}

rmsnorm_status rmsnorm_node_resolve(const rmsnorm_model *model, const rmsnorm_node *node, const rmsnorm_operator **op,
                                    rmsnorm_attributes *attributes)
{
    char label[RMSNORM_NODE_LABEL];
    RMSNORM_CHECK(model != NULL && node != NULL && op != NULL && attributes != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_node_resolve: model, node, op or attributes is NULL");
    rmsnorm_node_label(node, label);
    RMSNORM_CHECK(!rmsnorm_functions_have(&model->functions, node->domain, node->op_type), RMSNORM_UNSUPPORTED,
                  "%s: " RMSNORM_NAME "::" RMSNORM_NAME
                  " is a function that the model defines itself, which is not run; save the model without it",
                  label, node->domain[0] == '\0' ? "ai.onnx" : node->domain, node->op_type);
    const int64_t opset = opset_of(model, node);
    RMSNORM_CHECK(opset > 0, RMSNORM_NOT_FOUND,
                  "%s: " RMSNORM_NAME " is of domain \"" RMSNORM_NAME
                  "\", but the model imports no opset of that domain",
                  label, node->op_type, node->domain[0] == '\0' ? "ai.onnx" : node->domain);
    const rmsnorm_operator *const found = rmsnorm_operator_find(node->domain, node->op_type, opset);
    RMSNORM_CHECK(found != NULL, RMSNORM_NOT_FOUND, "%s: %s", label, rmsnorm_last_error());
    const rmsnorm_status status = rmsnorm_attributes_read(found, node->attributes, node->attribute_count, attributes);
    RMSNORM_CHECK(status == RMSNORM_OK, status, "%s: %s", label, rmsnorm_last_error());
    *op = found;
    return RMSNORM_OK;
}
