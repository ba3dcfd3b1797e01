/* Nodes of the three operators: read as the contract has them, checked by its own inference. */
#include "rewrite/infer.h"

#include <inttypes.h>
#include <string.h>

#define NAME "%.160s"

enum { MOST_INPUTS = 4, MOST_OUTPUTS = 4 };

static bool has_name(const char *name)
{
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
        if (strcmp(op->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* In other domains a name is somebody else's. */
bool rmsnorm_norm_is(const rmsnorm_ir *ir, size_t node)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    return !shown->function && (shown->domain[0] == '\0' || strcmp(shown->domain, "com.microsoft") == 0) &&
           has_name(shown->op_type);
}

static rmsnorm_status set_attribute(const rmsnorm_operator *op, const rmsnorm_node_attribute *attribute,
                                    rmsnorm_attributes *attributes)
{
    switch (attribute->kind) {
    case RMSNORM_NODE_ATTRIBUTE_INT:
        return rmsnorm_attributes_set_int(op, attributes, attribute->name, attribute->i);
    case RMSNORM_NODE_ATTRIBUTE_FLOAT:
        return rmsnorm_attributes_set_float(op, attributes, attribute->name, attribute->f);
    default:
        return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT,
                            "%s: attribute \"" NAME "\" is neither an int nor a float, the only ones allowed", op->name,
                            attribute->name);
    }
}

rmsnorm_status rmsnorm_attributes_read(const rmsnorm_operator *op, const rmsnorm_node_attribute *list, size_t count,
                                       rmsnorm_attributes *attributes)
{
    rmsnorm_attributes values;
    RMSNORM_CHECK(op != NULL && (list != NULL || count == 0) && attributes != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_attributes_read: op, list or attributes is NULL");
    rmsnorm_attributes_init(op, &values);
    for (size_t i = 0; i < count; i++) {
        RMSNORM_TRY(set_attribute(op, &list[i], &values));
    }
    *attributes = values;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_resolve(const rmsnorm_ir *ir, size_t node, const rmsnorm_operator **op,
                                  rmsnorm_attributes *attributes)
{
    RMSNORM_CHECK(ir != NULL && op != NULL && attributes != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_resolve: ir, op or attributes is NULL");
    RMSNORM_CHECK(node < ir->node_count, RMSNORM_NOT_FOUND, "rmsnorm_ir_resolve: there is no node %zu of %zu", node,
                  ir->node_count);
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    const rmsnorm_ir_words label = rmsnorm_ir_label(ir, node);
    RMSNORM_CHECK(!shown->function, RMSNORM_NOT_FOUND, "%s: " NAME "::" NAME " is a function that the model defines",
                  label.text, rmsnorm_words_domain(shown->domain), shown->op_type);
    const int64_t opset = rmsnorm_ir_opset(ir, shown->domain);
    RMSNORM_CHECK(opset > 0, RMSNORM_NOT_FOUND,
                  "%s: " NAME " is of domain \"" NAME "\", but the model imports no opset of that domain", label.text,
                  shown->op_type, rmsnorm_words_domain(shown->domain));
    const rmsnorm_operator *const found = rmsnorm_operator_find(shown->domain, shown->op_type, opset);
    RMSNORM_CHECK(found != NULL, RMSNORM_NOT_FOUND, "%s: %s", label.text, rmsnorm_last_error());
    const rmsnorm_status status = rmsnorm_attributes_read(found, shown->attributes, shown->attribute_count, attributes);
    RMSNORM_CHECK(status == RMSNORM_OK, RMSNORM_INVALID_ARGUMENT, "%s: %s", label.text, rmsnorm_last_error());
    *op = found;
    return RMSNORM_OK;
}

/* ---- Inference ------------------------------------------------------------------------------- */

/* The node's slots as rmsnorm_infer takes them. */
typedef struct slots {
    rmsnorm_tensor inputs[MOST_INPUTS + 1], outputs[MOST_OUTPUTS + 1];
    const rmsnorm_tensor *in[MOST_INPUTS + 1];
    rmsnorm_tensor *out[MOST_OUTPUTS + 1];
    size_t in_count, out_count;
    bool cut; /* the first input's shape is that of its last dims, which are all that matters */
} slots;

/* Of operators with an axis that is counted from the right, the last dims can be checked without those before. */
static bool last_dims_matter(const rmsnorm_ir *ir, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                             size_t node)
{
    const size_t x = rmsnorm_ir_input(ir, node, 0), scale = rmsnorm_ir_input(ir, node, 1);
    if (op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION || x == RMSNORM_NO_INDEX || scale == RMSNORM_NO_INDEX) {
        return false;
    }
    const rmsnorm_ir_value *const data = &ir->values[x].shown, *const factor = &ir->values[scale].shown;
    return data->open && !factor->open && attributes->axis < 0 && attributes->axis >= -data->type.rank &&
           factor->type.rank <= data->type.rank;
}

static void fill(const rmsnorm_ir *ir, size_t node, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                 slots *s)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    /* One slot more than the operator has, where the node has more, is enough to be refused. */
    const size_t most[] = {op->input_count + 1, op->output_count + 1};
    *s = (slots){.in_count = shown->input_count < most[0] ? shown->input_count : most[0]};
    s->out_count = shown->output_count < most[1] ? shown->output_count : most[1];
    s->cut = last_dims_matter(ir, op, attributes, node);
    for (size_t i = 0; i < s->in_count; i++) {
        if (shown->inputs[i] != RMSNORM_NO_INDEX) {
            s->inputs[i] = rmsnorm_ir_type(ir, shown->inputs[i]);
            s->inputs[i].data = NULL;
            s->in[i] = &s->inputs[i];
        }
    }
    if (s->cut) {
        s->inputs[0].rank = ir->values[shown->inputs[0]].shown.type.rank;
    }
    for (size_t i = 0; i < s->out_count; i++) {
        s->out[i] = shown->outputs[i] != RMSNORM_NO_INDEX ? &s->outputs[i] : NULL;
    }
}

/* What rmsnorm_infer said of an output. */
static rmsnorm_known read(const rmsnorm_tensor *tensor, bool cut)
{
    rmsnorm_known known = rmsnorm_known_nothing(tensor->dtype);
    if (tensor->rank == RMSNORM_UNKNOWN) {
        return known;
    }
    known.open = cut;
    known.rank = tensor->rank;
    for (int32_t d = 0; d < tensor->rank; d++) {
        known.dims[d] = rmsnorm_dim(tensor->dims[d]);
        if (tensor->dims[d] == RMSNORM_UNKNOWN) {
            known.dims[d].name = tensor->dim_names[d];
        }
    }
    return known;
}

rmsnorm_status rmsnorm_norm_infer(const rmsnorm_asked *asked)
{
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_status status = rmsnorm_ir_resolve(asked->ir, asked->node, &op, &attributes);
    if (status != RMSNORM_OK) { /* names the node itself */
        return rmsnorm_ir_add_fault(asked->ir, asked->node, rmsnorm_ir_format(asked->ir, "%s", rmsnorm_last_error()));
    }
    slots s;
    fill(asked->ir, asked->node, op, &attributes, &s);
    status = rmsnorm_infer(op, &attributes, s.in, s.in_count, s.out, s.out_count, NULL);
    if (status != RMSNORM_OK) {
        return rmsnorm_asked_fault(asked, "%s", rmsnorm_last_error());
    }
    for (size_t i = 0; i < s.out_count; i++) {
        if (s.out[i] == NULL) {
            continue;
        }
        rmsnorm_known known = read(&s.outputs[i], s.cut);
        const bool shaped = strcmp(op->outputs[i].name, "mean") != 0 && strcmp(op->outputs[i].name, "inv_std_var") != 0;
        if (known.open && known.rank == 0 && shaped) { /* as the first input, as far as that is known */
            const rmsnorm_dtype dtype = known.dtype;
            known = rmsnorm_asked_input(asked, 0);
            known.dtype = dtype;
        }
        RMSNORM_TRY(rmsnorm_asked_give(asked, i, &known));
    }
    return RMSNORM_OK;
}
