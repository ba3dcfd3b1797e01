#include "graph/edit.h"

#include "graph/bytes.h"
#include "graph/fresh.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Fields of ModelProto, OperatorSetIdProto, NodeProto, AttributeProto. */
enum {
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_GRAPHS = 11
};

/* Domains new nodes come from: those of the three operators' and of primitive nodes. */
enum { MOST_DOMAINS = 4 };

typedef struct edit {
    const rmsnorm_document *document;
    const rmsnorm_ir *ir;
    rmsnorm_pieces *pieces;
    rmsnorm_window window;
    bool *changed;     /* by graph: it, or one inside */
    size_t *constants; /* values that were made and are used */
    size_t constant_count;
    bool as_nodes; /* constants are Constant nodes: an initializer would have to be an input too */
    const char *domains[MOST_DOMAINS];
    size_t domain_count;
} edit;

static const char *file_of(const edit *e)
{
    return e->document->input.file;
}

static rmsnorm_status fail_other(const edit *e)
{
    return rmsnorm_fail(RMSNORM_IO, "%s: has been written to since it was opened; open it again", file_of(e));
}

/* ---- What has changed ------------------------------------------------------------------------ */

static bool is_gone(const edit *e, const rmsnorm_definition *definition)
{
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(e->ir, definition->value);
    return definition->maker != RMSNORM_NOWHERE && value->maker == RMSNORM_NO_INDEX;
}

/* An initializer that only nodes used that are gone. What annotations name, nobody counts here. */
static bool is_left_over(const edit *e, const rmsnorm_scope *scope, const char *name)
{
    const rmsnorm_definition *const definition = name != NULL ? rmsnorm_scope_find(scope, name) : NULL;
    if (definition == NULL || definition->input || definition->output || !definition->used ||
        scope->proto->n_quantization_annotation > 0) {
        return false;
    }
    return rmsnorm_ir_value_at(e->ir, definition->value)->user_count == 0;
}

/* Nothing may need what is no longer made. */
static rmsnorm_status check_values(edit *e, const rmsnorm_scope *scope)
{
    for (size_t i = 0; i < scope->count; i++) {
        const rmsnorm_definition *const definition = &scope->definitions[i];
        const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(e->ir, definition->value);
        if (definition->initializer != NULL && is_left_over(e, scope, definition->name)) {
            e->changed[scope - e->document->scopes.items] = true;
        }
        RMSNORM_CHECK(!is_gone(e, definition) || (value->user_count == 0 && !value->output), RMSNORM_INVALID_ARGUMENT,
                      "%s: rewriting has taken away the node that makes \"" RMSNORM_NAME "\", which is still needed",
                      file_of(e), definition->name);
    }
    return RMSNORM_OK;
}

static rmsnorm_status note_domain(edit *e, const char *domain)
{
    for (size_t i = 0; i < e->domain_count; i++) {
        if (strcmp(e->domains[i], domain) == 0) {
            return RMSNORM_OK;
        }
    }
    RMSNORM_CHECK(e->domain_count < MOST_DOMAINS, RMSNORM_UNSUPPORTED,
                  "%s: new nodes come from more than %d domains, \"" RMSNORM_NAME "\" among them", file_of(e),
                  MOST_DOMAINS, domain);
    e->domains[e->domain_count++] = domain;
    return RMSNORM_OK;
}

static rmsnorm_status compare_nodes(edit *e, size_t graph)
{
    const rmsnorm_scope *const scope = &e->document->scopes.items[graph];
    size_t expected = scope->first_node;
    const rmsnorm_ir_node *node;
    for (size_t i = rmsnorm_ir_graph_at(e->ir, graph)->first; i != RMSNORM_NO_INDEX; i = node->next) {
        node = rmsnorm_ir_node_at(e->ir, i);
        e->changed[graph] = e->changed[graph] || i != expected;
        expected++;
        if (node->origin == RMSNORM_NO_INDEX) {
            RMSNORM_TRY(note_domain(e, node->domain));
        }
    }
    e->changed[graph] = e->changed[graph] || expected != scope->first_node + scope->proto->n_node;
    return check_values(e, scope);
}

static rmsnorm_status compare(edit *e)
{
    const rmsnorm_scopes *const scopes = &e->document->scopes;
    e->changed = rmsnorm_arena_allocate(&e->pieces->arena, scopes->count * sizeof *e->changed);
    e->constants = rmsnorm_arena_allocate(&e->pieces->arena, rmsnorm_ir_value_count(e->ir) * sizeof *e->constants);
    if (e->changed == NULL || e->constants == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < rmsnorm_ir_value_count(e->ir); i++) {
        const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(e->ir, i);
        if (value->made && value->constant && value->user_count > 0) {
            e->constants[e->constant_count++] = i;
            e->changed[value->graph] = true;
        }
    }
    for (size_t i = scopes->count; i-- > 0;) {
        RMSNORM_TRY(compare_nodes(e, i));
        if (e->changed[i] && i > 0) {
            e->changed[scopes->items[i].parent] = true;
        }
    }
    return RMSNORM_OK;
}

static bool any_changed(const edit *e, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (e->changed[i]) {
            return true;
        }
    }
    return false;
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* A field's message, taken apart from `at` to `end`. */
typedef struct inside {
    uint64_t at, end;
} inside;

static rmsnorm_status edit_graph(edit *e, size_t graph, inside message);

static rmsnorm_status next(edit *e, const ProtobufCMessageDescriptor *descriptor, inside *message, rmsnorm_field *field)
{
    RMSNORM_TRY(rmsnorm_field_read(&e->window, descriptor, message->at, message->end, field));
    message->at = field->end;
    return RMSNORM_OK;
}

static rmsnorm_status keep(edit *e, const rmsnorm_field *field)
{
    return rmsnorm_pieces_keep(e->pieces, field->start, field->end);
}

static rmsnorm_status edit_graph_field(edit *e, const rmsnorm_field *field, size_t graph)
{
    rmsnorm_pieces_mark mark;
    RMSNORM_TRY(rmsnorm_pieces_begin(e->pieces, field->number, &mark));
    RMSNORM_TRY(edit_graph(e, graph, (inside){field->content, field->end}));
    rmsnorm_pieces_end(e->pieces, &mark);
    return RMSNORM_OK;
}

static rmsnorm_status edit_attribute(edit *e, const Onnx__AttributeProto *proto, size_t first,
                                     const rmsnorm_field *whole)
{
    rmsnorm_field field;
    rmsnorm_pieces_mark mark;
    inside message = {whole->content, whole->end};
    size_t listed = first + (proto->g != NULL);
    RMSNORM_TRY(rmsnorm_pieces_begin(e->pieces, NODE_ATTRIBUTE, &mark));
    while (message.at < message.end) {
        RMSNORM_TRY(next(e, &onnx__attribute_proto__descriptor, &message, &field));
        const bool one = field.number == ATTRIBUTE_G;
        if (!one && field.number != ATTRIBUTE_GRAPHS) {
            RMSNORM_TRY(keep(e, &field));
            continue;
        }
        const size_t graph = one ? first : listed++;
        if (graph >= e->document->scopes.count) {
            return fail_other(e);
        }
        RMSNORM_TRY(e->changed[graph] ? edit_graph_field(e, &field, graph) : keep(e, &field));
    }
    rmsnorm_pieces_end(e->pieces, &mark);
    return RMSNORM_OK;
}

/* A node that stays, with graphs inside that do not: `first` is the first of them. */
static rmsnorm_status edit_node(edit *e, const Onnx__NodeProto *proto, size_t first, const rmsnorm_field *whole)
{
    rmsnorm_field field;
    rmsnorm_pieces_mark mark;
    inside message = {whole->content, whole->end};
    size_t number = 0;
    RMSNORM_TRY(rmsnorm_pieces_begin(e->pieces, RMSNORM_GRAPH_NODE, &mark));
    while (message.at < message.end) {
        RMSNORM_TRY(next(e, &onnx__node_proto__descriptor, &message, &field));
        if (field.number != NODE_ATTRIBUTE) {
            RMSNORM_TRY(keep(e, &field));
            continue;
        }
        if (number == proto->n_attribute) {
            return fail_other(e);
        }
        const Onnx__AttributeProto *const attribute = proto->attribute[number++];
        const size_t end = first + (attribute->g != NULL) + attribute->n_graphs;
        RMSNORM_TRY(any_changed(e, first, end) ? edit_attribute(e, attribute, first, &field) : keep(e, &field));
        first = end;
    }
    rmsnorm_pieces_end(e->pieces, &mark);
    return RMSNORM_OK;
}

/* Where the walk over a graph has come to. */
typedef struct progress {
    size_t graph;
    const rmsnorm_scope *scope;
    size_t node, initializer, info, annotation; /* fields of the kind so far */
    size_t due;                                 /* the node of the ir that comes next */
    size_t inside;                              /* the first graph inside the next node */
} progress;

static rmsnorm_status put_constants(edit *e, const progress *p)
{
    for (size_t i = 0; i < e->constant_count; i++) {
        if (rmsnorm_ir_value_at(e->ir, e->constants[i])->graph == p->graph) {
            RMSNORM_TRY(rmsnorm_fresh_constant(e->pieces, e->document, e->constants[i], e->as_nodes));
        }
    }
    return RMSNORM_OK;
}

/* New nodes, up to the next one of the file. */
static rmsnorm_status put_nodes(edit *e, progress *p)
{
    while (p->due != RMSNORM_NO_INDEX) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(e->ir, p->due);
        if (node->origin != RMSNORM_NO_INDEX) {
            break;
        }
        RMSNORM_TRY(rmsnorm_fresh_node(e->pieces, e->document, p->due));
        p->due = node->next;
    }
    return RMSNORM_OK;
}

static rmsnorm_status visit_node(edit *e, progress *p, const rmsnorm_field *field)
{
    const size_t number = p->node++;
    if (number >= p->scope->proto->n_node) {
        return fail_other(e);
    }
    if (number == 0 && e->as_nodes) {
        RMSNORM_TRY(put_constants(e, p));
    }
    RMSNORM_TRY(put_nodes(e, p));
    const Onnx__NodeProto *const proto = p->scope->proto->node[number];
    const size_t first = p->inside;
    for (size_t i = 0; i < proto->n_attribute; i++) {
        p->inside += (proto->attribute[i]->g != NULL) + proto->attribute[i]->n_graphs;
    }
    const size_t index = p->scope->first_node + number;
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(e->ir, index);
    if (node->gone) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(p->due == index, RMSNORM_INVALID_ARGUMENT, "%s: rewriting has changed the order of nodes that stay",
                  file_of(e));
    p->due = node->next;
    return any_changed(e, first, p->inside) ? edit_node(e, proto, first, field) : keep(e, field);
}

/* What is said of a value that no longer exists goes with it. */
static rmsnorm_status visit_named(edit *e, const progress *p, const char *name, const rmsnorm_field *field)
{
    const rmsnorm_definition *const definition = name != NULL ? rmsnorm_scope_find(p->scope, name) : NULL;
    const bool gone = definition != NULL && (is_gone(e, definition) || is_left_over(e, p->scope, name));
    return gone ? RMSNORM_OK : keep(e, field);
}

/* New constants stand behind the initializers that were there. */
static rmsnorm_status visit_initializer(edit *e, progress *p, const rmsnorm_field *field)
{
    const Onnx__GraphProto *const proto = p->scope->proto;
    if (p->initializer == proto->n_initializer) {
        return fail_other(e);
    }
    if (!is_left_over(e, p->scope, proto->initializer[p->initializer++]->name)) {
        RMSNORM_TRY(keep(e, field));
    }
    return p->initializer == proto->n_initializer && !e->as_nodes ? put_constants(e, p) : RMSNORM_OK;
}

static rmsnorm_status visit(edit *e, progress *p, const rmsnorm_field *field)
{
    const Onnx__GraphProto *const proto = p->scope->proto;
    switch (field->number) {
    case RMSNORM_GRAPH_NODE:
        return visit_node(e, p, field);
    case RMSNORM_GRAPH_INITIALIZER:
        return visit_initializer(e, p, field);
    case RMSNORM_GRAPH_VALUE_INFO:
        if (p->info == proto->n_value_info) {
            return fail_other(e);
        }
        return visit_named(e, p, proto->value_info[p->info++]->name, field);
    case RMSNORM_GRAPH_ANNOTATION:
        if (p->annotation == proto->n_quantization_annotation) {
            return fail_other(e);
        }
        return visit_named(e, p, proto->quantization_annotation[p->annotation++]->tensor_name, field);
    default:
        return keep(e, field);
    }
}

static rmsnorm_status edit_graph(edit *e, size_t graph, inside message)
{
    const rmsnorm_scope *const scope = &e->document->scopes.items[graph];
    progress p = {
        .graph = graph, .scope = scope, .due = rmsnorm_ir_graph_at(e->ir, graph)->first, .inside = scope->first_inside};
    while (message.at < message.end) {
        rmsnorm_field field;
        RMSNORM_TRY(next(e, &onnx__graph_proto__descriptor, &message, &field));
        RMSNORM_TRY(visit(e, &p, &field));
    }
    if (e->as_nodes ? p.node == 0 : p.initializer == 0) {
        RMSNORM_TRY(put_constants(e, &p));
    }
    RMSNORM_TRY(put_nodes(e, &p));
    return p.due == RMSNORM_NO_INDEX && p.node == scope->proto->n_node ? RMSNORM_OK : fail_other(e);
}

/* ---- The model ------------------------------------------------------------------------------- */

static rmsnorm_status edit_opset(edit *e, const Onnx__OperatorSetIdProto *proto, const rmsnorm_field *whole)
{
    const int64_t version = rmsnorm_ir_opset(e->ir, proto->domain);
    if (version == proto->version) {
        return keep(e, whole);
    }
    rmsnorm_field field;
    rmsnorm_pieces_mark mark;
    inside message = {whole->content, whole->end};
    RMSNORM_TRY(rmsnorm_pieces_begin(e->pieces, MODEL_OPSET, &mark));
    while (message.at < message.end) {
        RMSNORM_TRY(next(e, &onnx__operator_set_id_proto__descriptor, &message, &field));
        if (field.number == OPSET_VERSION) {
            RMSNORM_TRY(rmsnorm_pieces_number(e->pieces, OPSET_VERSION, (uint64_t)version));
        } else {
            RMSNORM_TRY(keep(e, &field));
        }
    }
    rmsnorm_pieces_end(e->pieces, &mark);
    return RMSNORM_OK;
}

static bool imports(const Onnx__ModelProto *proto, const char *domain)
{
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        if (strcmp(rmsnorm_domain_normalize(proto->opset_import[i]->domain), domain) == 0) {
            return true;
        }
    }
    return false;
}

/* Domains that new nodes are of and the file does not import. */
static rmsnorm_status add_opsets(edit *e)
{
    const int64_t ir_version = rmsnorm_document_ir_version(e->document);
    for (size_t i = 0; i < e->domain_count; i++) {
        const char *const domain = e->domains[i];
        const bool implied = ir_version > 0 && ir_version < 3;
        if (imports(e->document->proto, domain) || (implied && domain[0] == '\0')) {
            continue;
        }
        RMSNORM_CHECK(!implied, RMSNORM_UNSUPPORTED,
                      "%s: is of IR version %" PRId64 ", which imports no opsets, and new nodes need one of \"%s\"",
                      file_of(e), ir_version, domain);
        Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT;
        opset.domain = (char *)domain;
        opset.has_version = true;
        opset.version = rmsnorm_ir_opset(e->ir, domain);
        RMSNORM_CHECK(opset.version > 0, RMSNORM_INVALID_ARGUMENT,
                      "%s: new nodes are of domain \"" RMSNORM_NAME "\", of which no opset was set", file_of(e),
                      domain);
        RMSNORM_TRY(rmsnorm_pieces_message(e->pieces, MODEL_OPSET, &opset.base));
    }
    return RMSNORM_OK;
}

static rmsnorm_status edit_model(edit *e)
{
    const Onnx__ModelProto *const proto = e->document->proto;
    inside message = {0, e->document->input.size};
    size_t opsets = 0;
    while (message.at < message.end) {
        rmsnorm_field field;
        RMSNORM_TRY(next(e, &onnx__model_proto__descriptor, &message, &field));
        if (field.number == MODEL_GRAPH && e->changed[0]) {
            RMSNORM_TRY(edit_graph_field(e, &field, 0));
        } else if (field.number == MODEL_OPSET) {
            if (opsets == proto->n_opset_import) {
                return fail_other(e);
            }
            RMSNORM_TRY(edit_opset(e, proto->opset_import[opsets++], &field));
            if (opsets == proto->n_opset_import) {
                RMSNORM_TRY(add_opsets(e));
            }
        } else {
            RMSNORM_TRY(keep(e, &field));
        }
    }
    if (opsets == 0) {
        RMSNORM_TRY(add_opsets(e));
    }
    RMSNORM_CHECK(e->pieces->size <= RMSNORM_PROTOBUF_LIMIT, RMSNORM_UNSUPPORTED,
                  "%s: would take %" PRIu64 " bytes when rewritten; a model can have %" PRIu64, file_of(e),
                  e->pieces->size, RMSNORM_PROTOBUF_LIMIT);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_edit_make(const rmsnorm_document *document, rmsnorm_pieces *pieces)
{
    rmsnorm_pieces_init(pieces);
    RMSNORM_TRY(rmsnorm_input_check_unchanged(&document->input));
    edit *const e = calloc(1, sizeof *e);
    if (e == NULL) {
        return rmsnorm_fail_memory(document->input.file, sizeof *e);
    }
    e->document = document;
    e->ir = document->ir;
    e->pieces = pieces;
    e->window.input = &document->input;
    e->as_nodes = rmsnorm_document_ir_version(document) < 4;
    rmsnorm_status status = compare(e);
    if (status == RMSNORM_OK) {
        status = edit_model(e);
    }
    free(e);
    return status;
}
