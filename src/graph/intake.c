/* From a model's messages to an rmsnorm_ir. What it does not understand it leaves alone: an unknown type, a tensor whose
 * elements nobody needs to know. */
#include "graph/bytes.h"
#include "graph/document.h"
#include "graph/node.h"
#include "graph/slim.h"
#include "graph/tensor_proto.h"
#include "operator/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct intake {
    rmsnorm_document *document;
    const char *file;
    size_t *slots; /* room for the inputs and outputs of any node */
    rmsnorm_names names;
} intake;

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* The sentence of the ir, which does not know the file. */
static rmsnorm_status pass_on(const intake *in, rmsnorm_status status)
{
    return status == RMSNORM_OK ? RMSNORM_OK : rmsnorm_fail(status, "%s: %s", in->file, rmsnorm_last_error());
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void set_dims(rmsnorm_tensor *type, const int64_t *dims, size_t rank)
{
    type->rank = RMSNORM_UNKNOWN;
    for (size_t i = 0; i < rank && rank <= RMSNORM_MAX_RANK; i++) {
        if (dims[i] < 0) {
            return;
        }
        type->dims[i] = dims[i];
    }
    type->rank = rank <= RMSNORM_MAX_RANK ? (int32_t)rank : RMSNORM_UNKNOWN;
}

static rmsnorm_dtype known_dtype(int32_t data_type)
{
    return (rmsnorm_dtype)(data_type > 0 ? data_type : 0);
}

static rmsnorm_tensor tensor_type(const Onnx__TensorProto *proto)
{
    rmsnorm_tensor type = {.dtype = known_dtype(proto->has_data_type ? proto->data_type : 0)};
    set_dims(&type, proto->dims, proto->n_dims);
    return type;
}

static rmsnorm_tensor sparse_type(const Onnx__SparseTensorProto *proto)
{
    rmsnorm_tensor type = tensor_type(proto->values);
    set_dims(&type, proto->dims, proto->n_dims);
    return type;
}

/* What is declared, as far as it is a tensor's and can be held. dim_value -1 and dim_param "" mean unknown. */
static rmsnorm_tensor declared_type(const Onnx__TypeProto *proto)
{
    rmsnorm_tensor type = {.rank = RMSNORM_UNKNOWN};
    if (proto == NULL || proto->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        return type;
    }
    type.dtype = known_dtype(proto->tensor_type->elem_type);
    const Onnx__TensorShapeProto *const shape = proto->tensor_type->shape;
    if (shape == NULL || shape->n_dim > RMSNORM_MAX_RANK) {
        return type;
    }
    type.rank = (int32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *const dim = shape->dim[i];
        type.dims[i] = RMSNORM_UNKNOWN;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            type.dims[i] = dim->dim_value >= 0 ? dim->dim_value : RMSNORM_UNKNOWN;
        } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                   dim->dim_param[0] != '\0') {
            type.dim_names[i] = dim->dim_param;
        }
    }
    return type;
}

static rmsnorm_tensor type_of(const rmsnorm_definition *definition)
{
    rmsnorm_tensor type = {.rank = RMSNORM_UNKNOWN};
    if (definition->initializer != NULL) {
        type = tensor_type(definition->initializer);
    } else if (definition->sparse != NULL) {
        type = sparse_type(definition->sparse);
    }
    for (size_t i = 0; i < sizeof definition->types / sizeof definition->types[0]; i++) {
        const rmsnorm_tensor declared = declared_type(definition->types[i]);
        if (type.rank < 0 && declared.rank >= 0) {
            const rmsnorm_dtype dtype = type.dtype;
            type = declared;
            type.dtype = dtype;
        }
        type.dtype = type.dtype == RMSNORM_UNDEFINED ? declared.dtype : type.dtype;
    }
    return type;
}

/* ---- Elements -------------------------------------------------------------------------------- */

static bool is_small(const Onnx__TensorProto *proto, const rmsnorm_tensor *type)
{
    const int64_t count = type->rank >= 0 ? rmsnorm_tensor_count(type) : RMSNORM_UNKNOWN;
    const unsigned bits = rmsnorm_external_bits((int32_t)type->dtype);
    return proto->segment == NULL && bits > 0 && count >= 0 && count <= (int64_t)RMSNORM_SMALL_TENSOR * 8 / bits;
}

/* type gets the elements, which are to be freed, where there are few of them and of a type that is read. */
static rmsnorm_status load_small(const intake *in, const char *where, const Onnx__TensorProto *proto,
                                 rmsnorm_tensor *type)
{
    const char *name;
    if (!is_small(proto, type)) {
        return RMSNORM_OK;
    }
    const rmsnorm_status status =
        rmsnorm_tensor_proto_convert(where, proto, true, &in->document->external, type, &name);
    return status == RMSNORM_NOT_FOUND ? RMSNORM_OK
                                       : status; /* a data file that is not there: the numbers are not known */
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Whether a caller cannot replace it: before IR version 4 every initializer had to be an input, so being one says
 * nothing. */
static bool is_constant(const intake *in, size_t scope, const rmsnorm_definition *definition)
{
    if (definition->initializer == NULL && definition->sparse == NULL) {
        return false;
    }
    const int64_t version = rmsnorm_document_ir_version(in->document);
    return !definition->input || (scope == 0 && version > 0 && version < 4);
}

static rmsnorm_status add_value(intake *in, size_t scope, rmsnorm_definition *definition)
{
    rmsnorm_document *const document = in->document;
    rmsnorm_ir_value value = {.name = definition->name,
                              .graph = scope,
                              .type = type_of(definition),
                              .constant = is_constant(in, scope, definition),
                              .output = definition->output};
    if (value.constant && definition->initializer != NULL) {
        char where[600];
        snprintf(where, sizeof where, "%s: initializer \"" RMSNORM_NAME "\"", in->file, value.name);
        rmsnorm_tensor loaded = tensor_type(definition->initializer);
        RMSNORM_TRY(load_small(in, where, definition->initializer, &loaded));
        if (loaded.data != NULL) {
            document->constants[document->constant_count++] = loaded.data;
            value.type = loaded;
        }
    }
    return pass_on(in, rmsnorm_ir_add_value(document->ir, &value, &definition->value));
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static rmsnorm_status fill_attribute(const intake *in, const rmsnorm_node *node, const Onnx__AttributeProto *proto,
                                     rmsnorm_node_attribute *attribute)
{
    char label[RMSNORM_NODE_LABEL];
    char where[1000];
    rmsnorm_node_attribute_kind kind;
    rmsnorm_node_label(node, label);
    snprintf(where, sizeof where, "%s: %s: attribute \"" RMSNORM_NAME "\"", in->file, label, or_empty(proto->name));
    RMSNORM_CHECK(rmsnorm_attribute_kind_of(proto, &kind), RMSNORM_MALFORMED,
                  "%s has a value of another type than it says", where);
    *attribute = (rmsnorm_node_attribute){.name = or_empty(proto->name), .kind = kind, .i = proto->i, .f = proto->f};
    if (kind == RMSNORM_NODE_ATTRIBUTE_INTS) {
        attribute->ints = proto->ints;
        attribute->count = proto->n_ints;
    } else if (kind == RMSNORM_NODE_ATTRIBUTE_FLOATS) {
        attribute->floats = proto->floats;
        attribute->count = proto->n_floats;
    } else if (kind == RMSNORM_NODE_ATTRIBUTE_TENSOR) {
        attribute->tensor = tensor_type(proto->t);
        return load_small(in, where, proto->t, &attribute->tensor);
    }
    return RMSNORM_OK;
}

static rmsnorm_status fill_attributes(intake *in, const Onnx__NodeProto *proto, rmsnorm_ir_node *node)
{
    rmsnorm_document *const document = in->document;
    const rmsnorm_node shown = {.name = node->name,
                                .op_type = node->op_type,
                                .outputs = (const char *const *)proto->output,
                                .output_count = proto->n_output};
    node->attributes = document->attributes + document->attribute_count;
    node->attribute_count = proto->n_attribute;
    in->names.count = 0;
    for (size_t a = 0; a < proto->n_attribute; a++) {
        RMSNORM_TRY(
            fill_attribute(in, &shown, proto->attribute[a], &document->attributes[document->attribute_count++]));
        in->names.items[in->names.count++] = or_empty(proto->attribute[a]->name);
    }
    rmsnorm_names_sort(&in->names);
    const char *const twice = rmsnorm_names_duplicate(&in->names);
    if (twice == NULL) {
        return RMSNORM_OK;
    }
    char label[RMSNORM_NODE_LABEL];
    rmsnorm_node_label(&shown, label);
    return rmsnorm_fail(RMSNORM_MALFORMED, "%s: %s has attribute \"" RMSNORM_NAME "\" twice", in->file, label, twice);
}

static rmsnorm_status add_node(intake *in, size_t scope, size_t number, size_t *index)
{
    rmsnorm_document *const document = in->document;
    const rmsnorm_scopes *const scopes = &document->scopes;
    const Onnx__NodeProto *const proto = scopes->items[scope].proto->node[number];
    rmsnorm_ir_node node = {.name = or_empty(proto->name),
                            .op_type = or_empty(proto->op_type),
                            .domain = rmsnorm_domain_normalize(proto->domain),
                            .graph = scope,
                            .inputs = in->slots,
                            .input_count = proto->n_input,
                            .outputs = in->slots + proto->n_input,
                            .output_count = proto->n_output,
                            .origin = number};
    node.function = rmsnorm_functions_have(&document->functions, node.domain, node.op_type);
    for (size_t i = 0; i < proto->n_input; i++) {
        rmsnorm_definition *definition;
        in->slots[i] = RMSNORM_NO_INDEX;
        if (proto->input[i][0] != '\0') {
            RMSNORM_TRY(rmsnorm_scopes_resolve(in->file, scopes, scope, number, proto->input[i], &definition));
            in->slots[i] = definition->value;
        }
    }
    for (size_t i = 0; i < proto->n_output; i++) {
        const rmsnorm_definition *const definition =
            proto->output[i][0] != '\0' ? rmsnorm_scope_find(&scopes->items[scope], proto->output[i]) : NULL;
        in->slots[proto->n_input + i] = definition != NULL ? definition->value : RMSNORM_NO_INDEX;
    }
    RMSNORM_TRY(fill_attributes(in, proto, &node));
    return pass_on(in, rmsnorm_ir_add_node(document->ir, &node, index));
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rmsnorm_status set_opsets(const intake *in)
{
    const rmsnorm_document *const document = in->document;
    const Onnx__ModelProto *const proto = document->proto;
    const int64_t version = rmsnorm_document_ir_version(document);
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *const opset = proto->opset_import[i];
        RMSNORM_TRY(pass_on(in, rmsnorm_ir_set_opset(document->ir, opset->domain, opset->version)));
    }
    if (version > 0 && version < 3) {
        RMSNORM_TRY(pass_on(in, rmsnorm_ir_set_opset(document->ir, "", 1)));
        rmsnorm_ir_fix_opset(document->ir, "the model's IR version has no opsets");
    }
    for (size_t i = 0; i < proto->n_functions; i++) {
        const char *const name = proto->functions[i]->name;
        RMSNORM_TRY(
            pass_on(in, rmsnorm_ir_add_function(document->ir, proto->functions[i]->domain, name != NULL ? name : "")));
    }
    if (proto->n_functions > 0) {
        rmsnorm_ir_fix_opset(document->ir, "the model defines functions");
    } else if (proto->n_training_info > 0) {
        rmsnorm_ir_fix_opset(document->ir, "the model holds graphs for training");
    }
    return RMSNORM_OK;
}

static rmsnorm_status allocate(intake *in)
{
    rmsnorm_document *const document = in->document;
    size_t slots = 0;
    size_t attributes = 0;
    size_t most_attributes = 0;
    size_t initializers = 0;
    for (size_t s = 0; s < document->scopes.count; s++) {
        const Onnx__GraphProto *const proto = document->scopes.items[s].proto;
        initializers += proto->n_initializer;
        for (size_t n = 0; n < proto->n_node; n++) {
            const Onnx__NodeProto *const node = proto->node[n];
            attributes += node->n_attribute;
            slots = node->n_input + node->n_output > slots ? node->n_input + node->n_output : slots;
            most_attributes = node->n_attribute > most_attributes ? node->n_attribute : most_attributes;
        }
    }
    rmsnorm_budget *const budget = &document->budget;
    document->attributes = rmsnorm_budget_allocate(budget, attributes + 1, sizeof *document->attributes);
    document->constants = rmsnorm_budget_allocate(budget, initializers + 1, sizeof *document->constants);
    in->slots = rmsnorm_budget_allocate(budget, slots + 1, sizeof *in->slots);
    in->names.items = rmsnorm_budget_allocate(budget, most_attributes + 1, sizeof *in->names.items);
    const bool complete =
        document->attributes != NULL && document->constants != NULL && in->slots != NULL && in->names.items != NULL;
    return complete ? RMSNORM_OK : rmsnorm_budget_fail(budget, in->file);
}

static void note_used(const rmsnorm_document *document)
{
    for (size_t s = 0; s < document->scopes.count; s++) {
        const rmsnorm_scope *const scope = &document->scopes.items[s];
        for (size_t i = 0; i < scope->count; i++) {
            rmsnorm_definition *const definition = &scope->definitions[i];
            definition->used = rmsnorm_ir_value_at(document->ir, definition->value)->user_count > 0;
        }
    }
}

static rmsnorm_status fill(intake *in)
{
    rmsnorm_document *const document = in->document;
    RMSNORM_TRY(allocate(in));
    RMSNORM_TRY(set_opsets(in));
    for (size_t s = 0; s < document->scopes.count; s++) {
        rmsnorm_scope *const scope = &document->scopes.items[s];
        if (s > 0) {
            size_t graph;
            const size_t owner = document->scopes.items[scope->parent].first_node + scope->owner;
            RMSNORM_TRY(pass_on(in, rmsnorm_ir_add_graph(document->ir, owner, &graph)));
        }
        for (size_t i = 0; i < scope->count; i++) {
            RMSNORM_TRY(add_value(in, s, &scope->definitions[i]));
        }
        scope->first_node = rmsnorm_ir_node_count(document->ir);
        for (size_t n = 0; n < scope->proto->n_node; n++) {
            size_t index;
            RMSNORM_TRY(add_node(in, s, n, &index));
        }
    }
    note_used(document);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_document_fill(rmsnorm_document *document, size_t memory)
{
    intake in = {.document = document, .file = document->input.file};
    rmsnorm_status status = pass_on(&in, rmsnorm_ir_create(memory, &document->ir));
    if (status == RMSNORM_OK) {
        status = fill(&in);
    }
    free(in.slots);
    free(in.names.items);
    return status;
}
