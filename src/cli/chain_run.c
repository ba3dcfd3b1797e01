/* chain_run.c: running a chain: declared types and shapes, inference through all nodes, then the work. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chain_parts.h"
#include "cli.h"
#include "text.h"

/* The number that a named dim stands for, and the value that said so. */
typedef struct binding {
    const char *name;
    int64_t dim;
    const char *value;
} binding;

typedef struct bindings {
    binding *items;
    size_t count;
} bindings;

static int check_dim(const char *kind, const rmsnorm_value *declared, const rmsnorm_tensor *actual, int32_t i,
                     bindings *bound)
{
    const char *name = declared->tensor.dim_names[i];
    if (name == NULL || name[0] == '\0') {
        return RMSNORM_CLI_DONE;
    }
    for (size_t j = 0; j < bound->count; ++j) {
        const binding *known = &bound->items[j];
        if (strcmp(known->name, name) == 0) {
            return known->dim == actual->dims[i]
                       ? RMSNORM_CLI_DONE
                       : rmsnorm_cli_fail("%s '%s': dim %d, which the model names '%s', is %" PRId64
                                          ", but '%s' is %" PRId64 " in '%s': dims of one name must be equal",
                                          kind, declared->name, (int)i, name, actual->dims[i], name, known->dim,
                                          known->value);
        }
    }
    bound->items[bound->count++] = (binding){name, actual->dims[i], declared->name};
    return RMSNORM_CLI_DONE;
}

/* A value against its declaration; what is unknown on either side agrees with everything. */
static int check_declared(const char *kind, const rmsnorm_value *declared, const rmsnorm_tensor *actual,
                          bindings *bound)
{
    const rmsnorm_tensor *wanted = &declared->tensor;
    bool agrees =
        wanted->dtype == RMSNORM_UNDEFINED || actual->dtype == RMSNORM_UNDEFINED || wanted->dtype == actual->dtype;
    if (wanted->rank >= 0 && actual->rank >= 0) {
        agrees = agrees && wanted->rank == actual->rank;
        for (int32_t i = 0; agrees && i < wanted->rank; ++i) {
            agrees = wanted->dims[i] < 0 || actual->dims[i] < 0 || wanted->dims[i] == actual->dims[i];
        }
    }
    if (!agrees) {
        char shape[2][RMSNORM_CLI_SHAPE];
        return rmsnorm_cli_fail("%s '%s' is %s %.160s, the model declares %s %.160s", kind, declared->name,
                                rmsnorm_dtype_name(actual->dtype), rmsnorm_cli_shape(actual, shape[0]),
                                rmsnorm_dtype_name(wanted->dtype), rmsnorm_cli_shape(wanted, shape[1]));
    }
    const int32_t rank = wanted->rank < 0 || actual->rank < 0 ? 0 : wanted->rank;
    for (int32_t i = 0; i < rank; ++i) {
        if (wanted->dims[i] < 0 && actual->dims[i] >= 0 &&
            check_dim(kind, declared, actual, i, bound) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}

/* Fills the chain's tensor lists with those of a node. */
static void gather(rmsnorm_cli_chain *chain, size_t index)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    const rmsnorm_cli_node *node = &chain->nodes[index];
    for (size_t j = 0; j < source->input_count; ++j) {
        const size_t value = node->inputs[j];
        chain->input_tensors[j] = value == RMSNORM_CLI_NONE ? NULL : &chain->values[value].tensor;
    }
    for (size_t j = 0; j < source->output_count; ++j) {
        const size_t value = node->outputs[j];
        chain->output_tensors[j] = value == RMSNORM_CLI_NONE ? NULL : &chain->values[value].tensor;
    }
}

static int infer_node(rmsnorm_cli_chain *chain, size_t index)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    const rmsnorm_cli_node *node = &chain->nodes[index];
    gather(chain, index);
    if (node->op != NULL) {
        return rmsnorm_infer(node->op, &node->attributes, chain->input_tensors, source->input_count,
                             chain->output_tensors, source->output_count, NULL) == RMSNORM_OK
                   ? RMSNORM_CLI_DONE
                   : rmsnorm_cli_fail_library();
    }
    bool made;
    const int code =
        rmsnorm_cli_primitive_infer(node->primitive, source, chain->input_tensors, chain->output_tensors[0], &made);
    chain->values[node->outputs[0]].owner = made ? RMSNORM_CLI_OF_PRIMITIVE : RMSNORM_CLI_OTHERS;
    return code;
}

static int infer(rmsnorm_cli_chain *chain)
{
    for (size_t i = 0; i < chain->graph->node_count; ++i) {
        if (infer_node(chain, i) != RMSNORM_CLI_DONE) {
            rmsnorm_cli_name_node(chain, i);
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}

/* Files and reports take the four types. */
static int check_output_type(const rmsnorm_cli_chain *chain, size_t index)
{
    const rmsnorm_dtype dtype = rmsnorm_cli_chain_output(chain, index)->dtype;
    return dtype == RMSNORM_UNDEFINED || rmsnorm_dtype_size(dtype) > 0
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail(
                     "%s: output '%s' is of the element type %s, allowed are float, float16, bfloat16, double",
                     chain->path, chain->graph->outputs[index].name, rmsnorm_dtype_name(dtype));
}

static int check_all(rmsnorm_cli_chain *chain, const rmsnorm_tensor *const *defaults)
{
    const rmsnorm_graph *graph = chain->graph;
    const size_t most = (graph->input_count + graph->default_count + graph->output_count) * RMSNORM_MAX_RANK;
    bindings bound = {rmsnorm_cli_allocate(most, sizeof *bound.items), 0};
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < graph->input_count && code == RMSNORM_CLI_DONE; ++i) {
        code = check_declared("input", &graph->inputs[i], &chain->values[i].tensor, &bound);
    }
    for (size_t i = 0; i < graph->default_count && defaults != NULL && code == RMSNORM_CLI_DONE; ++i) {
        if (defaults[i] != NULL) {
            code = check_declared("input", &graph->inputs[graph->input_count + i], defaults[i], &bound);
        }
    }
    if (code == RMSNORM_CLI_DONE) {
        code = infer(chain);
    }
    for (size_t i = 0; i < graph->output_count && code == RMSNORM_CLI_DONE; ++i) {
        code = check_declared("output", &graph->outputs[i], rmsnorm_cli_chain_output(chain, i), &bound);
        code = code == RMSNORM_CLI_DONE ? check_output_type(chain, i) : code;
    }
    free(bound.items);
    return code;
}

static void release(rmsnorm_cli_chain *chain, rmsnorm_cli_value *value)
{
    if (value->owner == RMSNORM_CLI_OF_RUN) {
        rmsnorm_tensor_release(&value->tensor, &chain->options);
    } else if (value->owner == RMSNORM_CLI_OF_PRIMITIVE) {
        free(value->tensor.data);
        value->tensor.data = NULL;
    }
    value->owner = RMSNORM_CLI_OTHERS;
}

/* The outputs of a node; a primitive's may be there since the inference. */
static int compute_outputs(rmsnorm_cli_chain *chain, size_t index, const rmsnorm_cli_context *context)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    const rmsnorm_cli_node *node = &chain->nodes[index];
    if (node->op == NULL && (rmsnorm_cli_primitive_is_constant(node->primitive) ||
                             chain->values[node->outputs[0]].owner == RMSNORM_CLI_OF_PRIMITIVE)) {
        return RMSNORM_CLI_DONE;
    }
    gather(chain, index);
    const int code =
        node->op != NULL
            ? rmsnorm_cli_context_run(context, node->op, &node->attributes, chain->input_tensors, source->input_count,
                                      chain->output_tensors, source->output_count)
            : rmsnorm_cli_primitive_compute(node->primitive, source, chain->input_tensors, chain->output_tensors[0]);
    for (size_t j = 0; j < source->output_count && code == RMSNORM_CLI_DONE; ++j) {
        if (node->outputs[j] != RMSNORM_CLI_NONE) {
            chain->values[node->outputs[j]].owner = node->op != NULL ? RMSNORM_CLI_OF_RUN : RMSNORM_CLI_OF_PRIMITIVE;
        }
    }
    return code;
}

static int compute_node(rmsnorm_cli_chain *chain, size_t index, const rmsnorm_cli_context *context)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    const rmsnorm_cli_node *node = &chain->nodes[index];
    const int code = compute_outputs(chain, index, context);
    if (code != RMSNORM_CLI_DONE) {
        rmsnorm_cli_name_node(chain, index);
        return code;
    }
    for (size_t j = 0; j < source->output_count; ++j) {
        if (node->outputs[j] != RMSNORM_CLI_NONE && chain->values[node->outputs[j]].last_use == index) {
            release(chain, &chain->values[node->outputs[j]]); /* nobody reads it */
        }
    }
    for (size_t j = 0; j < source->input_count; ++j) {
        if (node->inputs[j] != RMSNORM_CLI_NONE && chain->values[node->inputs[j]].last_use == index) {
            release(chain, &chain->values[node->inputs[j]]);
        }
    }
    return RMSNORM_CLI_DONE;
}

void rmsnorm_cli_chain_clear(rmsnorm_cli_chain *chain)
{
    for (size_t i = 0; i < chain->value_count; ++i) {
        release(chain, &chain->values[i]);
        if (chain->values[i].maker != RMSNORM_CLI_NONE) {
            chain->values[i].tensor = (rmsnorm_tensor){.rank = RMSNORM_UNKNOWN};
        }
    }
}

int rmsnorm_cli_chain_prepare(rmsnorm_cli_chain *chain, const rmsnorm_tensor *const *inputs,
                              const rmsnorm_tensor *const *defaults)
{
    const rmsnorm_graph *graph = chain->graph;
    rmsnorm_cli_chain_clear(chain);
    for (size_t i = 0; i < graph->input_count; ++i) {
        chain->values[i].tensor = *inputs[i];
    }
    for (size_t i = 0; i < graph->default_count; ++i) {
        const size_t value = chain->defaults[i];
        const bool replaced = defaults != NULL && defaults[i] != NULL;
        chain->values[value].tensor = replaced ? *defaults[i] : graph->initializers[value - graph->input_count].tensor;
    }
    return check_all(chain, defaults);
}

int rmsnorm_cli_chain_compute(rmsnorm_cli_chain *chain, const rmsnorm_cli_context *context)
{
    chain->options = context->options;
    for (size_t i = 0; i < chain->graph->node_count; ++i) {
        const int code = compute_node(chain, i, context);
        if (code != RMSNORM_CLI_DONE) {
            return code;
        }
    }
    return RMSNORM_CLI_DONE;
}
