#include "fuzz/fuzz.h"
#include "graph/model.h"

#include <string.h>

static size_t check_values(const rmsnorm_value *values, size_t count)
{
    size_t letters = 0;
    for (size_t i = 0; i < count; i++) {
        const rmsnorm_tensor *const tensor = &values[i].tensor;
        FUZZ_CHECK(values[i].name[0] != '\0');
        FUZZ_CHECK(tensor->rank >= RMSNORM_UNKNOWN && tensor->rank <= RMSNORM_MAX_RANK);
        letters += strlen(values[i].name);
        for (int32_t k = 0; k < tensor->rank; k++) {
            FUZZ_CHECK(tensor->dims[k] >= RMSNORM_UNKNOWN);
            letters += tensor->dim_names[k] != NULL ? strlen(tensor->dim_names[k]) : 0;
        }
        if (tensor->data != NULL) {
            fuzz_check_tensor(tensor);
        }
    }
    return letters;
}

static size_t check_node(const rmsnorm_model *model, const rmsnorm_node *node)
{
    size_t letters = strlen(node->name) + strlen(node->op_type) + strlen(node->domain);
    for (size_t i = 0; i < node->input_count; i++) {
        letters += strlen(node->inputs[i]);
    }
    for (size_t i = 0; i < node->output_count; i++) {
        letters += strlen(node->outputs[i]);
    }
    for (size_t i = 0; i < node->attribute_count; i++) {
        letters += strlen(node->attributes[i].name);
        if (node->attributes[i].tensor.data != NULL) {
            FUZZ_CHECK(node->attributes[i].kind == RMSNORM_NODE_ATTRIBUTE_TENSOR);
            fuzz_check_tensor(&node->attributes[i].tensor);
        }
    }
    const rmsnorm_operator *op = NULL;
    rmsnorm_attributes attributes;
    const rmsnorm_status status = rmsnorm_node_resolve(model, node, &op, &attributes);
    FUZZ_CHECK((status == RMSNORM_OK) == (op != NULL));
    FUZZ_CHECK(status == RMSNORM_OK || strncmp(rmsnorm_last_error(), "node ", 5) == 0);
    FUZZ_CHECK(op == NULL || rmsnorm_model_opset(model, node->domain) >= 0);
    return letters;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rmsnorm_source source = rmsnorm_source_memory("FILE", data, size);
    rmsnorm_model *model;
    const rmsnorm_status status = rmsnorm_model_load(&source, NULL, &model);
    fuzz_check_status(status);
    if (status == RMSNORM_OK) {
        const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
        size_t letters = strlen(graph->name) + check_values(graph->inputs, graph->input_count) +
                         check_values(graph->outputs, graph->output_count) +
                         check_values(graph->initializers, graph->initializer_count);
        for (size_t i = 0; i < graph->node_count; i++) {
            letters += check_node(model, &graph->nodes[i]);
        }
        FUZZ_CHECK(letters <= size); /* every letter stands in the file */
        rmsnorm_model_free(model);
    }
    return 0;
}
