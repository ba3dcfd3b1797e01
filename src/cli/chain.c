/* chain.c: reading a model and checking that it can be run from the first node to the last. */
#include "chain_parts.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

const char *rmsnorm_cli_node_label(const rmsnorm_cli_chain *chain, size_t node, char text[RMSNORM_CLI_LABEL])
{
    const rmsnorm_node *source = &chain->graph->nodes[node];
    text[0] = '\0';
    rmsnorm_cli_append(text, RMSNORM_CLI_LABEL, "node %zu", node);
    if (source->name[0] != '\0') {
        rmsnorm_cli_append(text, RMSNORM_CLI_LABEL, " '%.80s'", source->name);
    }
    rmsnorm_cli_append(text, RMSNORM_CLI_LABEL, " (%.60s::%.60s)", rmsnorm_cli_domain(source->domain), source->op_type);
    return text;
}

void rmsnorm_cli_name_node(const rmsnorm_cli_chain *chain, size_t node)
{
    char label[RMSNORM_CLI_LABEL];
    (void)rmsnorm_cli_fail("%s: %s: %s", chain->path, rmsnorm_cli_node_label(chain, node, label),
                           rmsnorm_cli_sentence());
}

static int compare_names(const void *a, const void *b)
{
    const rmsnorm_cli_value *const *first = a;
    const rmsnorm_cli_value *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

static int compare_key(const void *name, const void *value)
{
    const rmsnorm_cli_value *const *entry = value;
    return strcmp(name, (*entry)->name);
}

static size_t find_value(const rmsnorm_cli_chain *chain, const char *name)
{
    rmsnorm_cli_value **entry = bsearch(name, chain->by_name, chain->value_count, sizeof *chain->by_name, compare_key);
    return entry == NULL ? RMSNORM_CLI_NONE : (size_t)(*entry - chain->values);
}

static void add_value(rmsnorm_cli_chain *chain, const char *name, const rmsnorm_tensor *tensor, size_t maker)
{
    rmsnorm_cli_value *value = &chain->values[chain->value_count];
    value->name = name;
    value->tensor = tensor != NULL ? *tensor : (rmsnorm_tensor){.rank = RMSNORM_UNKNOWN};
    value->maker = maker;
    value->last_use = maker;
    chain->by_name[chain->value_count++] = value;
}

/* rmsnorm_model_read has seen to it that every value is defined once, so that a name is enough to find it. */
static void collect_values(rmsnorm_cli_chain *chain)
{
    const rmsnorm_graph *graph = chain->graph;
    size_t most = graph->input_count + graph->initializer_count;
    for (size_t i = 0; i < graph->node_count; ++i) {
        most += graph->nodes[i].output_count;
    }
    chain->values = rmsnorm_cli_allocate(most, sizeof *chain->values);
    chain->by_name = rmsnorm_cli_allocate(most, sizeof *chain->by_name);
    for (size_t i = 0; i < graph->input_count; ++i) {
        add_value(chain, graph->inputs[i].name, NULL, RMSNORM_CLI_NONE);
    }
    for (size_t i = 0; i < graph->initializer_count; ++i) {
        add_value(chain, graph->initializers[i].name, &graph->initializers[i].tensor, RMSNORM_CLI_NONE);
    }
    for (size_t i = 0; i < graph->node_count; ++i) {
        for (size_t j = 0; j < graph->nodes[i].output_count; ++j) {
            if (graph->nodes[i].outputs[j][0] != '\0') {
                add_value(chain, graph->nodes[i].outputs[j], NULL, i);
            }
        }
    }
    qsort(chain->by_name, chain->value_count, sizeof *chain->by_name, compare_names);
}

/* A primitive, or neither that nor an operator of the library. Functions of the model that are called so come not here. */
static int resolve_other(rmsnorm_cli_chain *chain, size_t index)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    char names[RMSNORM_CLI_PRIMITIVES];
    if (source->domain[0] == '\0' && rmsnorm_cli_primitive_known(source->op_type)) {
        if (rmsnorm_cli_primitive_resolve(source, rmsnorm_model_opset(chain->model, ""),
                                          &chain->nodes[index].primitive) != RMSNORM_CLI_DONE) {
            rmsnorm_cli_name_node(chain, index);
            return RMSNORM_CLI_BAD;
        }
        return RMSNORM_CLI_DONE;
    }
    (void)rmsnorm_cli_fail("%s: %s", chain->path, rmsnorm_last_error());
    return rmsnorm_operator_find(source->domain, source->op_type, 0) != NULL /* of another opset */
               ? RMSNORM_CLI_BAD
               : rmsnorm_cli_fail("%s; of ai.onnx %s are run as well", rmsnorm_cli_sentence(),
                                  rmsnorm_cli_primitive_names(names));
}

static int resolve_node(rmsnorm_cli_chain *chain, size_t index)
{
    const rmsnorm_node *source = &chain->graph->nodes[index];
    rmsnorm_cli_node *node = &chain->nodes[index];
    const rmsnorm_status status = rmsnorm_node_resolve(chain->model, source, &node->op, &node->attributes);
    if (status == RMSNORM_NOT_FOUND && resolve_other(chain, index) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (status != RMSNORM_OK && status != RMSNORM_NOT_FOUND) {
        return rmsnorm_cli_fail("%s: %s", chain->path, rmsnorm_last_error());
    }
    if (node->primitive == NULL || !rmsnorm_cli_primitive_is_constant(node->primitive)) {
        chain->steps[chain->step_count++] =
            (rmsnorm_cli_step){source->name, node->op, &node->attributes, node->primitive, source};
    }
    return RMSNORM_CLI_DONE;
}

static int link_input(rmsnorm_cli_chain *chain, size_t index, const char *name, size_t *slot)
{
    char label[2][RMSNORM_CLI_LABEL];
    *slot = RMSNORM_CLI_NONE;
    if (name[0] == '\0') {
        return RMSNORM_CLI_DONE;
    }
    *slot = find_value(chain, name);
    if (*slot == RMSNORM_CLI_NONE) {
        return rmsnorm_cli_fail("%s: %s reads '%s', which no input, initializer or node makes", chain->path,
                                rmsnorm_cli_node_label(chain, index, label[0]), name);
    }
    rmsnorm_cli_value *value = &chain->values[*slot];
    if (value->maker == index) {
        return rmsnorm_cli_fail("%s: %s reads its own output '%s', a graph may have no cycle", chain->path,
                                rmsnorm_cli_node_label(chain, index, label[0]), name);
    }
    if (value->maker != RMSNORM_CLI_NONE && value->maker > index) {
        return rmsnorm_cli_fail(
            "%s: %s reads '%s', which %s makes only later: the nodes must be in topological order and "
            "without a cycle",
            chain->path, rmsnorm_cli_node_label(chain, index, label[0]), name,
            rmsnorm_cli_node_label(chain, value->maker, label[1]));
    }
    value->last_use = index; /* the nodes come in order: the last one stays */
    return RMSNORM_CLI_DONE;
}

static int link_nodes(rmsnorm_cli_chain *chain)
{
    const rmsnorm_graph *graph = chain->graph;
    size_t slot_count = 0;
    size_t widest = 0;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const size_t slots = graph->nodes[i].input_count + graph->nodes[i].output_count;
        slot_count += slots;
        widest = slots > widest ? slots : widest;
    }
    chain->slots = rmsnorm_cli_allocate(slot_count, sizeof *chain->slots);
    chain->input_tensors = rmsnorm_cli_allocate(widest, sizeof *chain->input_tensors);
    chain->output_tensors = rmsnorm_cli_allocate(widest, sizeof *chain->output_tensors);
    size_t *next = chain->slots;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const rmsnorm_node *source = &graph->nodes[i];
        chain->nodes[i].inputs = next;
        for (size_t j = 0; j < source->input_count; ++j) {
            if (link_input(chain, i, source->inputs[j], next++) != RMSNORM_CLI_DONE) {
                return RMSNORM_CLI_BAD;
            }
        }
        chain->nodes[i].outputs = next;
        for (size_t j = 0; j < source->output_count; ++j) {
            *next++ = source->outputs[j][0] == '\0' ? RMSNORM_CLI_NONE : find_value(chain, source->outputs[j]);
        }
    }
    return RMSNORM_CLI_DONE;
}

static int link_outputs(rmsnorm_cli_chain *chain)
{
    const rmsnorm_graph *graph = chain->graph;
    chain->outputs = rmsnorm_cli_allocate(graph->output_count, sizeof *chain->outputs);
    for (size_t i = 0; i < graph->output_count; ++i) {
        const size_t value = find_value(chain, graph->outputs[i].name);
        if (value == RMSNORM_CLI_NONE) {
            return rmsnorm_cli_fail("%s: nothing makes the declared output '%s'", chain->path, graph->outputs[i].name);
        }
        chain->outputs[i] = value;
        chain->values[value].last_use = RMSNORM_CLI_NONE;
    }
    return RMSNORM_CLI_DONE;
}

static int build(rmsnorm_cli_chain *chain)
{
    const size_t count = chain->graph->node_count;
    chain->nodes = rmsnorm_cli_allocate(count, sizeof *chain->nodes);
    chain->steps = rmsnorm_cli_allocate(count, sizeof *chain->steps);
    collect_values(chain);
    for (size_t i = 0; i < count; ++i) {
        if (resolve_node(chain, i) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    chain->defaults = rmsnorm_cli_allocate(chain->graph->default_count, sizeof *chain->defaults);
    for (size_t i = 0; i < chain->graph->default_count; ++i) {
        chain->defaults[i] = find_value(chain, chain->graph->inputs[chain->graph->input_count + i].name);
    }
    return link_nodes(chain) != RMSNORM_CLI_DONE ? RMSNORM_CLI_BAD : link_outputs(chain);
}

int rmsnorm_cli_chain_open(const char *path, rmsnorm_cli_chain **chain)
{
    *chain = rmsnorm_cli_allocate(1, sizeof **chain);
    (*chain)->path = path;
    if (rmsnorm_model_read(path, &(*chain)->model) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    (*chain)->graph = rmsnorm_model_graph((*chain)->model);
    return build(*chain);
}

void rmsnorm_cli_chain_free(rmsnorm_cli_chain *chain)
{
    if (chain == NULL) {
        return;
    }
    rmsnorm_cli_chain_clear(chain);
    free(chain->values);
    free(chain->by_name);
    free(chain->nodes);
    free(chain->slots);
    free(chain->outputs);
    free(chain->defaults);
    free(chain->input_tensors);
    free(chain->output_tensors);
    free(chain->steps);
    rmsnorm_model_free(chain->model);
    free(chain);
}

const rmsnorm_graph *rmsnorm_cli_chain_graph(const rmsnorm_cli_chain *chain)
{
    return chain->graph;
}

const rmsnorm_tensor *rmsnorm_cli_chain_output(const rmsnorm_cli_chain *chain, size_t index)
{
    return &chain->values[chain->outputs[index]].tensor;
}

const rmsnorm_cli_step *rmsnorm_cli_chain_steps(const rmsnorm_cli_chain *chain, size_t *count)
{
    *count = chain->step_count;
    return chain->steps;
}
