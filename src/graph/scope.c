#include "graph/scope.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const char *name)
{
    return name != NULL && name[0] != '\0';
}

rmsnorm_scope_words rmsnorm_scope_label(const rmsnorm_scopes *scopes, size_t scope)
{
    rmsnorm_scope_words words = {"the main graph"};
    const char *const name = scopes->items[scope].proto->name;
    if (scope > 0) {
        snprintf(words.text, sizeof words.text, "graph \"" RMSNORM_NAME "\" inside", name != NULL ? name : "");
    }
    return words;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static rmsnorm_status add_scope(const char *file, rmsnorm_budget *budget, rmsnorm_scopes *scopes,
                                const Onnx__GraphProto *proto, size_t parent, size_t owner)
{
    if (scopes->count == scopes->capacity) {
        const size_t larger = scopes->capacity > 0 ? 2 * scopes->capacity : 4;
        rmsnorm_scope *const items = rmsnorm_budget_allocate(budget, larger, sizeof *items);
        if (items == NULL) {
            return rmsnorm_budget_fail(budget, file);
        }
        if (scopes->count > 0) {
            memcpy(items, scopes->items, scopes->count * sizeof *items);
        }
        free(scopes->items);
        scopes->items = items;
        scopes->capacity = larger;
    }
    scopes->items[scopes->count++] = (rmsnorm_scope){.proto = proto, .parent = parent, .owner = owner};
    return RMSNORM_OK;
}

static rmsnorm_status add_inside(const char *file, rmsnorm_budget *budget, rmsnorm_scopes *scopes, size_t scope)
{
    const Onnx__GraphProto *const proto = scopes->items[scope].proto;
    scopes->items[scope].first_inside = scopes->count;
    for (size_t n = 0; n < proto->n_node; n++) {
        for (size_t a = 0; a < proto->node[n]->n_attribute; a++) {
            const Onnx__AttributeProto *const attribute = proto->node[n]->attribute[a];
            if (attribute->g != NULL) {
                RMSNORM_TRY(add_scope(file, budget, scopes, attribute->g, scope, n));
            }
            for (size_t g = 0; g < attribute->n_graphs; g++) {
                RMSNORM_TRY(add_scope(file, budget, scopes, attribute->graphs[g], scope, n));
            }
        }
    }
    return RMSNORM_OK;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const rmsnorm_definition *)left)->name, ((const rmsnorm_definition *)right)->name);
}

rmsnorm_definition *rmsnorm_scope_find(const rmsnorm_scope *scope, const char *name)
{
    const rmsnorm_definition wanted = {.name = name};
    return scope->count > 0
               ? bsearch(&wanted, scope->definitions, scope->count, sizeof *scope->definitions, compare_names)
               : NULL;
}

static void list_initializers(rmsnorm_scope *scope)
{
    const Onnx__GraphProto *const proto = scope->proto;
    for (size_t i = 0; i < proto->n_initializer; i++) {
        if (is_named(proto->initializer[i]->name)) {
            scope->definitions[scope->count++] = (rmsnorm_definition){
                .name = proto->initializer[i]->name, .initializer = proto->initializer[i], .maker = RMSNORM_NOWHERE};
        }
    }
    for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *const sparse = proto->sparse_initializer[i];
        if (sparse->values != NULL && is_named(sparse->values->name)) {
            scope->definitions[scope->count++] =
                (rmsnorm_definition){.name = sparse->values->name, .sparse = sparse, .maker = RMSNORM_NOWHERE};
        }
    }
}

static void list_nodes(rmsnorm_scope *scope)
{
    for (size_t n = 0; n < scope->proto->n_node; n++) {
        const Onnx__NodeProto *const node = scope->proto->node[n];
        for (size_t i = 0; i < node->n_output; i++) {
            if (is_named(node->output[i])) {
                scope->definitions[scope->count++] = (rmsnorm_definition){.name = node->output[i], .maker = n};
            }
        }
    }
}

static void list_inputs(rmsnorm_scope *scope)
{
    for (size_t i = 0; i < scope->proto->n_input; i++) {
        const Onnx__ValueInfoProto *const info = scope->proto->input[i];
        if (is_named(info->name)) {
            scope->definitions[scope->count++] = (rmsnorm_definition){
                .name = info->name, .types = {info->type}, .input = true, .maker = RMSNORM_NOWHERE};
        }
    }
}

/* An input that is an initializer too is one thing with a default; anything else twice is refused. */
static rmsnorm_status merge(const char *file, const rmsnorm_scopes *scopes, size_t index)
{
    rmsnorm_scope *const scope = &scopes->items[index];
    if (scope->count > 1) {
        qsort(scope->definitions, scope->count, sizeof *scope->definitions, compare_names);
    }
    size_t kept = 0;
    for (size_t i = 0; i < scope->count; i++) {
        const rmsnorm_definition *const next = &scope->definitions[i];
        rmsnorm_definition *const last = &scope->definitions[kept - (kept > 0)];
        if (kept == 0 || strcmp(last->name, next->name) != 0) {
            scope->definitions[kept++] = *next;
            continue;
        }
        const bool made = last->maker != RMSNORM_NOWHERE || next->maker != RMSNORM_NOWHERE;
        RMSNORM_CHECK(!made && last->input != next->input, RMSNORM_MALFORMED,
                      "%s: value \"" RMSNORM_NAME "\" is defined twice in %s, by inputs, initializers or node outputs",
                      file, next->name, rmsnorm_scope_label(scopes, index).text);
        const Onnx__TypeProto *const type = last->input ? last->types[0] : next->types[0];
        if (last->input) {
            *last = *next;
        }
        last->input = true;
        last->types[0] = type;
    }
    scope->count = kept;
    return RMSNORM_OK;
}

static void note_types(const rmsnorm_scope *scope, Onnx__ValueInfoProto *const *infos, size_t count, int place)
{
    for (size_t i = 0; i < count; i++) {
        rmsnorm_definition *const known = is_named(infos[i]->name) ? rmsnorm_scope_find(scope, infos[i]->name) : NULL;
        if (known != NULL) {
            known->types[place] = infos[i]->type;
        }
    }
}

static rmsnorm_status define(const char *file, rmsnorm_budget *budget, const rmsnorm_scopes *scopes, size_t index)
{
    rmsnorm_scope *const scope = &scopes->items[index];
    const Onnx__GraphProto *const proto = scope->proto;
    size_t most = proto->n_initializer + proto->n_sparse_initializer + proto->n_input;
    for (size_t n = 0; n < proto->n_node; n++) {
        most += proto->node[n]->n_output;
    }
    scope->definitions = rmsnorm_budget_allocate(budget, most + 1, sizeof *scope->definitions);
    if (scope->definitions == NULL) {
        return rmsnorm_budget_fail(budget, file);
    }
    list_initializers(scope);
    list_inputs(scope);
    list_nodes(scope);
    RMSNORM_TRY(merge(file, scopes, index));
    note_types(scope, proto->output, proto->n_output, 1);
    note_types(scope, proto->value_info, proto->n_value_info, 2);
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *const name = proto->output[i]->name;
        rmsnorm_definition *const found = is_named(name) ? rmsnorm_scopes_find(scopes, index, name) : NULL;
        RMSNORM_CHECK(found != NULL || !is_named(name), RMSNORM_MALFORMED,
                      "%s: \"" RMSNORM_NAME "\" is an output of %s, but nothing defines it", file, name,
                      rmsnorm_scope_label(scopes, index).text);
        if (found != NULL) {
            found->output = true;
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_scopes_open(const char *file, const Onnx__GraphProto *proto, rmsnorm_budget *budget,
                                   rmsnorm_scopes *scopes)
{
    RMSNORM_TRY(add_scope(file, budget, scopes, proto, RMSNORM_NOWHERE, RMSNORM_NOWHERE));
    for (size_t i = 0; i < scopes->count; i++) {
        RMSNORM_TRY(add_inside(file, budget, scopes, i));
        RMSNORM_TRY(define(file, budget, scopes, i));
    }
    return RMSNORM_OK;
}

void rmsnorm_scopes_release(rmsnorm_scopes *scopes)
{
    for (size_t i = 0; i < scopes->count; i++) {
        free(scopes->items[i].definitions);
    }
    free(scopes->items);
    *scopes = (rmsnorm_scopes){.items = NULL};
}

rmsnorm_definition *rmsnorm_scopes_find(const rmsnorm_scopes *scopes, size_t scope, const char *name)
{
    rmsnorm_definition *found = NULL;
    for (; scope != RMSNORM_NOWHERE && found == NULL; scope = scopes->items[scope].parent) {
        found = rmsnorm_scope_find(&scopes->items[scope], name);
    }
    return found;
}

rmsnorm_status rmsnorm_scopes_resolve(const char *file, const rmsnorm_scopes *scopes, size_t scope, size_t node,
                                      const char *name, rmsnorm_definition **definition)
{
    const size_t owner = node;
    for (size_t at = scope; at != RMSNORM_NOWHERE; at = scopes->items[at].parent) {
        rmsnorm_definition *const found = rmsnorm_scope_find(&scopes->items[at], name);
        const size_t parent = scopes->items[at].parent;
        if (found != NULL) {
            const bool late = found->maker != RMSNORM_NOWHERE && found->maker >= node;
            RMSNORM_CHECK(
                !late || parent == RMSNORM_NOWHERE || rmsnorm_scopes_find(scopes, parent, name) == NULL,
                RMSNORM_MALFORMED,
                "%s: node %zu of %s uses \"" RMSNORM_NAME
                "\", which %s makes only later and a graph around it defines too: which is meant is not clear",
                file, owner, rmsnorm_scope_label(scopes, scope).text, name, rmsnorm_scope_label(scopes, at).text);
            *definition = found;
            return RMSNORM_OK;
        }
        node = scopes->items[at].owner;
    }
    return rmsnorm_fail(RMSNORM_MALFORMED, "%s: node %zu of %s uses \"" RMSNORM_NAME "\", which nothing defines", file,
                        owner, rmsnorm_scope_label(scopes, scope).text, name);
}
