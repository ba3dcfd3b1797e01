/* Building an rmsnorm_ir and changing it. */
#include "rewrite/ir.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

void *rmsnorm_ir_allocate(rmsnorm_ir *ir, size_t count, size_t size)
{
    if (count > SIZE_MAX / 2 / size) {
        (void)rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "no memory for %zu times %zu bytes", count, size);
        return NULL;
    }
    return rmsnorm_arena_allocate(&ir->arena, count * size);
}

const char *rmsnorm_ir_format(rmsnorm_ir *ir, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return rmsnorm_arena_copy(&ir->arena, text, strlen(text));
}

rmsnorm_status rmsnorm_ir_grow(rmsnorm_ir *ir, void **items, size_t item, size_t count, size_t *capacity)
{
    if (count < *capacity) {
        return RMSNORM_OK;
    }
    const size_t larger = *capacity > 0 ? 2 * *capacity : 8;
    void *const memory = rmsnorm_ir_allocate(ir, larger, item);
    if (memory == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    if (count > 0) {
        memcpy(memory, *items, count * item);
    }
    *items = memory;
    *capacity = larger;
    return RMSNORM_OK;
}

#define GROW(ir, list) \
    rmsnorm_ir_grow((ir), (void **)&(ir)->list##s, sizeof *(ir)->list##s, (ir)->list##_count, &(ir)->list##_capacity)

rmsnorm_status rmsnorm_ir_create(size_t memory, rmsnorm_ir **ir)
{
    RMSNORM_CHECK(ir != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_create: ir is NULL");
    rmsnorm_ir *const created = calloc(1, sizeof *created);
    RMSNORM_CHECK(created != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for %zu bytes", sizeof *created);
    rmsnorm_arena_init(&created->arena, memory > 0 ? memory : SIZE_MAX);
    size_t main_graph;
    const rmsnorm_status status = rmsnorm_ir_add_graph(created, RMSNORM_NO_INDEX, &main_graph);
    if (status != RMSNORM_OK) {
        rmsnorm_ir_free(created);
        return status;
    }
    *ir = created;
    return RMSNORM_OK;
}

void rmsnorm_ir_free(rmsnorm_ir *ir)
{
    if (ir != NULL) {
        rmsnorm_arena_release(&ir->arena);
        free(ir);
    }
}

/* ---- Opsets ---------------------------------------------------------------------------------- */

static const char *normalize(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static rmsnorm_ir_import *find_opset(const rmsnorm_ir *ir, const char *domain)
{
    for (size_t i = 0; ir != NULL && i < ir->opset_count; i++) {
        if (strcmp(ir->opsets[i].domain, normalize(domain)) == 0) {
            return &ir->opsets[i];
        }
    }
    return NULL;
}

rmsnorm_status rmsnorm_ir_set_opset(rmsnorm_ir *ir, const char *domain, int64_t version)
{
    RMSNORM_CHECK(ir != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_set_opset: ir is NULL");
    rmsnorm_ir_import *const known = find_opset(ir, domain);
    if (known != NULL) {
        known->version = version;
        return RMSNORM_OK;
    }
    RMSNORM_TRY(GROW(ir, opset));
    ir->opsets[ir->opset_count++] = (rmsnorm_ir_import){normalize(domain), version};
    return RMSNORM_OK;
}

int64_t rmsnorm_ir_opset(const rmsnorm_ir *ir, const char *domain)
{
    const rmsnorm_ir_import *const known = find_opset(ir, domain);
    return known != NULL ? known->version : 0;
}

void rmsnorm_ir_fix_opset(rmsnorm_ir *ir, const char *why)
{
    if (ir != NULL) {
        ir->opset_fixed = why;
    }
}

rmsnorm_status rmsnorm_ir_add_function(rmsnorm_ir *ir, const char *domain, const char *name)
{
    RMSNORM_CHECK(ir != NULL && name != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_add_function: ir or name is NULL");
    RMSNORM_TRY(GROW(ir, function));
    ir->functions[ir->function_count++] = (rmsnorm_ir_function){normalize(domain), name};
    return RMSNORM_OK;
}

bool rmsnorm_ir_is_taken(const rmsnorm_ir *ir, const char *domain, const char *name)
{
    for (size_t i = 0; i < ir->function_count; i++) {
        if (strcmp(ir->functions[i].name, name) == 0 && strcmp(ir->functions[i].domain, normalize(domain)) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_ir_add_graph(rmsnorm_ir *ir, size_t owner, size_t *graph)
{
    RMSNORM_CHECK(ir != NULL && graph != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_add_graph: ir or graph is NULL");
    RMSNORM_CHECK(owner == RMSNORM_NO_INDEX ? ir->graph_count == 0 : owner < ir->node_count, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_add_graph: owner is no node");
    RMSNORM_TRY(GROW(ir, graph));
    *graph = ir->graph_count;
    ir->graphs[ir->graph_count++] = (rmsnorm_ir_graph){owner, RMSNORM_NO_INDEX, RMSNORM_NO_INDEX};
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_add_value(rmsnorm_ir *ir, const rmsnorm_ir_value *value, size_t *index)
{
    RMSNORM_CHECK(ir != NULL && value != NULL && index != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_add_value: ir, value or index is NULL");
    RMSNORM_CHECK(value->name != NULL && value->graph < ir->graph_count && value->type.rank <= RMSNORM_MAX_RANK,
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_add_value: the value has no name, graph or possible rank");
    RMSNORM_TRY(GROW(ir, value));
    RMSNORM_TRY(rmsnorm_name_set_add(&ir->value_names, &ir->arena, value->name));
    rmsnorm_ir_cell *const cell = &ir->values[ir->value_count];
    *cell = (rmsnorm_ir_cell){.shown = *value};
    cell->shown.maker = RMSNORM_NO_INDEX;
    cell->shown.made = false;
    cell->shown.users = NULL;
    cell->shown.user_count = 0;
    if (value->type.rank < 0) { /* one way to say that nothing is known */
        cell->shown.type.rank = 0;
        cell->shown.open = true;
    }
    *index = ir->value_count++;
    return RMSNORM_OK;
}

static rmsnorm_status add_user(rmsnorm_ir *ir, size_t value, size_t node)
{
    rmsnorm_ir_cell *const cell = &ir->values[value];
    RMSNORM_TRY(rmsnorm_ir_grow(ir, (void **)&cell->users, sizeof *cell->users, cell->used, &cell->capacity));
    cell->users[cell->used++] = node;
    cell->shown.users = cell->users;
    cell->shown.user_count++;
    return RMSNORM_OK;
}

static const size_t *copy_indexes(rmsnorm_ir *ir, const size_t *indexes, size_t count)
{
    size_t *const copy = rmsnorm_ir_allocate(ir, count + 1, sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, indexes, count * sizeof *copy);
    }
    return copy;
}

static rmsnorm_status check_node(const rmsnorm_ir *ir, const rmsnorm_ir_node *node)
{
    bool sound = node->name != NULL && node->op_type != NULL && node->graph < ir->graph_count &&
                 (node->inputs != NULL || node->input_count == 0) &&
                 (node->outputs != NULL || node->output_count == 0) &&
                 (node->attributes != NULL || node->attribute_count == 0);
    for (size_t i = 0; sound && i < node->input_count; i++) {
        sound = node->inputs[i] == RMSNORM_NO_INDEX || node->inputs[i] < ir->value_count;
    }
    for (size_t i = 0; sound && i < node->output_count; i++) {
        const size_t value = node->outputs[i];
        sound =
            value == RMSNORM_NO_INDEX || (value < ir->value_count && ir->values[value].shown.maker == RMSNORM_NO_INDEX);
    }
    RMSNORM_CHECK(
        sound, RMSNORM_INVALID_ARGUMENT,
        "rmsnorm_ir_add_node: the node has no name, type, graph or list, or a value that is not there or has a maker");
    return RMSNORM_OK;
}

/* Everything but the order. */
static rmsnorm_status append_node(rmsnorm_ir *ir, const rmsnorm_ir_node *node, size_t *index)
{
    RMSNORM_TRY(check_node(ir, node));
    RMSNORM_TRY(GROW(ir, node));
    rmsnorm_ir_entry *const entry = &ir->nodes[ir->node_count];
    *entry = (rmsnorm_ir_entry){.shown = *node};
    entry->shown.domain = normalize(node->domain);
    entry->shown.gone = false;
    entry->shown.inputs = copy_indexes(ir, node->inputs, node->input_count);
    entry->shown.outputs = copy_indexes(ir, node->outputs, node->output_count);
    if (entry->shown.inputs == NULL || entry->shown.outputs == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != RMSNORM_NO_INDEX) {
            RMSNORM_TRY(add_user(ir, node->inputs[i], ir->node_count));
        }
    }
    for (size_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != RMSNORM_NO_INDEX) {
            ir->values[node->outputs[i]].shown.maker = ir->node_count;
        }
    }
    *index = ir->node_count++;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_add_node(rmsnorm_ir *ir, const rmsnorm_ir_node *node, size_t *index)
{
    RMSNORM_CHECK(ir != NULL && node != NULL && index != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_add_node: ir, node or index is NULL");
    RMSNORM_TRY(append_node(ir, node, index));
    RMSNORM_TRY(rmsnorm_name_set_add(&ir->node_names, &ir->arena, node->name));
    rmsnorm_ir_entry *const entry = &ir->nodes[*index];
    rmsnorm_ir_graph *const graph = &ir->graphs[node->graph];
    entry->position = *index;
    entry->shown.previous = graph->last;
    entry->shown.next = RMSNORM_NO_INDEX;
    if (graph->last == RMSNORM_NO_INDEX) {
        graph->first = *index;
    } else {
        ir->nodes[graph->last].shown.next = *index;
    }
    graph->last = *index;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_add_fault(rmsnorm_ir *ir, size_t node, const char *sentence)
{
    if (sentence == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(GROW(ir, fault));
    ir->faults[ir->fault_count++] = (rmsnorm_ir_fault){node, sentence};
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_add_finding(rmsnorm_ir *ir, const rmsnorm_finding *finding)
{
    if (finding->reason == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(GROW(ir, finding));
    rmsnorm_finding *const added = &ir->findings[ir->finding_count];
    *added = *finding;
    added->nodes = copy_indexes(ir, finding->nodes, finding->node_count);
    added->made = copy_indexes(ir, finding->made, finding->made_count);
    if (added->nodes == NULL || added->made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    ir->finding_count++;
    return RMSNORM_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

size_t rmsnorm_ir_graph_count(const rmsnorm_ir *ir)
{
    return ir != NULL ? ir->graph_count : 0;
}

size_t rmsnorm_ir_value_count(const rmsnorm_ir *ir)
{
    return ir != NULL ? ir->value_count : 0;
}

size_t rmsnorm_ir_node_count(const rmsnorm_ir *ir)
{
    return ir != NULL ? ir->node_count : 0;
}

const rmsnorm_ir_graph *rmsnorm_ir_graph_at(const rmsnorm_ir *ir, size_t index)
{
    return index < rmsnorm_ir_graph_count(ir) ? &ir->graphs[index] : NULL;
}

const rmsnorm_ir_value *rmsnorm_ir_value_at(const rmsnorm_ir *ir, size_t index)
{
    return index < rmsnorm_ir_value_count(ir) ? &ir->values[index].shown : NULL;
}

const rmsnorm_ir_node *rmsnorm_ir_node_at(const rmsnorm_ir *ir, size_t index)
{
    return index < rmsnorm_ir_node_count(ir) ? &ir->nodes[index].shown : NULL;
}

const rmsnorm_ir_fault *rmsnorm_ir_faults(const rmsnorm_ir *ir, size_t *count)
{
    if (count != NULL) {
        *count = ir != NULL ? ir->fault_count : 0;
    }
    return ir != NULL ? ir->faults : NULL;
}

const rmsnorm_finding *rmsnorm_ir_findings(const rmsnorm_ir *ir, size_t *count)
{
    if (count != NULL) {
        *count = ir != NULL ? ir->finding_count : 0;
    }
    return ir != NULL ? ir->findings : NULL;
}

/* ---- Changing -------------------------------------------------------------------------------- */

void rmsnorm_ir_remove(rmsnorm_ir *ir, size_t node)
{
    rmsnorm_ir_node *const old = &ir->nodes[node].shown;
    rmsnorm_ir_graph *const graph = &ir->graphs[old->graph];
    if (old->previous == RMSNORM_NO_INDEX) {
        graph->first = old->next;
    } else {
        ir->nodes[old->previous].shown.next = old->next;
    }
    if (old->next == RMSNORM_NO_INDEX) {
        graph->last = old->previous;
    } else {
        ir->nodes[old->next].shown.previous = old->previous;
    }
    old->gone = true;
    for (size_t i = 0; i < old->input_count; i++) {
        if (old->inputs[i] != RMSNORM_NO_INDEX) {
            ir->values[old->inputs[i]].shown.user_count--;
        }
    }
    for (size_t i = 0; i < old->output_count; i++) {
        if (old->outputs[i] != RMSNORM_NO_INDEX && ir->values[old->outputs[i]].shown.maker == node) {
            ir->values[old->outputs[i]].shown.maker = RMSNORM_NO_INDEX;
        }
    }
}

void rmsnorm_ir_free_value(rmsnorm_ir *ir, size_t value)
{
    ir->values[value].shown.maker = RMSNORM_NO_INDEX;
}

/* Whether nothing asks for what a node makes. Nodes have no other effect. */
static bool is_dead(const rmsnorm_ir *ir, size_t node)
{
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    for (size_t i = 0; i < shown->output_count; i++) {
        const size_t value = shown->outputs[i];
        if (value != RMSNORM_NO_INDEX && (ir->values[value].shown.output || ir->values[value].shown.user_count > 0)) {
            return false;
        }
    }
    for (size_t i = 0; i < shown->attribute_count; i++) {
        if (shown->attributes[i].kind == RMSNORM_NODE_ATTRIBUTE_OTHER) {
            return false; /* perhaps a graph */
        }
    }
    return shown->domain[0] == '\0' && !shown->function;
}

void rmsnorm_ir_sweep(rmsnorm_ir *ir, size_t value, size_t *nodes, size_t most, size_t *count)
{
    enum { DEEP = 64 };
    size_t waiting[DEEP] = {value};
    for (size_t left = 1; left > 0;) {
        const size_t unused = waiting[--left];
        if (unused == RMSNORM_NO_INDEX || ir->values[unused].shown.output || ir->values[unused].shown.user_count > 0) {
            continue;
        }
        const size_t maker = ir->values[unused].shown.maker;
        if (maker == RMSNORM_NO_INDEX || !is_dead(ir, maker)) {
            continue;
        }
        rmsnorm_ir_remove(ir, maker);
        if (*count < most) {
            nodes[(*count)++] = maker;
        }
        for (size_t i = 0; i < ir->nodes[maker].shown.input_count && left < DEEP; i++) {
            waiting[left++] = ir->nodes[maker].shown.inputs[i];
        }
    }
}

rmsnorm_status rmsnorm_ir_insert(rmsnorm_ir *ir, const rmsnorm_ir_node *node, size_t before, size_t *index)
{
    rmsnorm_ir_node named = *node;
    named.origin = RMSNORM_NO_INDEX;
    named.graph = ir->nodes[before].shown.graph;
    named.name = rmsnorm_name_set_new(&ir->node_names, &ir->arena, node->name);
    if (named.name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(append_node(ir, &named, index));
    rmsnorm_ir_entry *const entry = &ir->nodes[*index];
    rmsnorm_ir_entry *const after = &ir->nodes[before];
    entry->position = after->position;
    entry->shown.next = before;
    entry->shown.previous = after->shown.previous;
    if (after->shown.previous == RMSNORM_NO_INDEX) {
        ir->graphs[named.graph].first = *index;
    } else {
        ir->nodes[after->shown.previous].shown.next = *index;
    }
    after->shown.previous = *index;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_make_value(rmsnorm_ir *ir, size_t graph, const char *like, const char *ending,
                                     const rmsnorm_tensor *type, size_t *index)
{
    const size_t length = strlen(like);
    char *const base = rmsnorm_ir_allocate(ir, length + strlen(ending) + 1, 1);
    if (base == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(base, like, length);
    memcpy(base + length, ending, strlen(ending) + 1);
    rmsnorm_ir_value value = {.graph = graph, .type = *type, .constant = type->data != NULL};
    value.name = rmsnorm_name_set_new(&ir->value_names, &ir->arena, base);
    if (value.name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(rmsnorm_ir_add_value(ir, &value, index));
    ir->values[*index].shown.made = true;
    return RMSNORM_OK;
}

void rmsnorm_ir_settle(rmsnorm_ir *ir)
{
    for (size_t g = 0; g < ir->graph_count; g++) {
        size_t position = 0;
        for (size_t n = ir->graphs[g].first; n != RMSNORM_NO_INDEX; n = ir->nodes[n].shown.next) {
            ir->nodes[n].position = position++;
        }
    }
    for (size_t v = 0; v < ir->value_count; v++) {
        rmsnorm_ir_cell *const cell = &ir->values[v];
        if (cell->used == cell->shown.user_count) {
            continue;
        }
        size_t kept = 0;
        for (size_t i = 0; i < cell->used; i++) {
            if (!ir->nodes[cell->users[i]].shown.gone) {
                cell->users[kept++] = cell->users[i];
            }
        }
        cell->used = kept;
    }
}
