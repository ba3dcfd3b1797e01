/* check.c: rmsnorm check: a model's norm nodes, and what the contract has against them. */
#include <stdio.h>
#include <string.h>

#include "attributes.h"
#include "cli.h"
#include "findings.h"
#include "json.h"
#include "options.h"
#include "rmsnorm/graph.h"
#include "text.h"

static const rmsnorm_cli_usage usage = {
    .command = "check",
    .synopsis = "MODEL.onnx",
    .text =
        "Lists every norm node of a model, in subgraphs too, with its types, shapes and attribute values in effect, as far\n"
        "as they follow from the model, and each violation of the operators' contract. Exit code 1 when there is one.\n",
};

static json_t *slot_json(const rmsnorm_ir *ir, const rmsnorm_slot *slot, size_t value)
{
    const rmsnorm_ir_value *shown = rmsnorm_ir_value_at(ir, value);
    rmsnorm_tensor type = shown->type;
    type.rank = shown->open ? RMSNORM_UNKNOWN : type.rank;
    json_t *entry = json_object();
    (void)json_object_set_new(entry, "slot", json_string(slot->name));
    (void)json_object_set_new(entry, "value", rmsnorm_cli_json_text(shown->name));
    (void)json_object_set_new(
        entry, "dtype", type.dtype == RMSNORM_UNDEFINED ? json_null() : json_string(rmsnorm_dtype_name(type.dtype)));
    (void)json_object_set_new(entry, "shape", rmsnorm_cli_json_shape(&type));
    return entry;
}

/* "[...,4096]" where dims may stand before those that are known. */
static void print_slot(const rmsnorm_ir *ir, const rmsnorm_slot *slot, size_t value)
{
    char shape[RMSNORM_CLI_SHAPE];
    const rmsnorm_ir_value *shown = rmsnorm_ir_value_at(ir, value);
    const rmsnorm_tensor *type = &shown->type;
    printf("  %s: %s ", slot->name, type->dtype == RMSNORM_UNDEFINED ? "?" : rmsnorm_dtype_name(type->dtype));
    if (!shown->open) {
        printf("%s", rmsnorm_cli_shape(type, shape));
    } else if (type->rank == 0) {
        printf("of unknown rank");
    } else {
        printf("[...,%s", rmsnorm_cli_shape(type, shape) + 1);
    }
    printf(" '");
    rmsnorm_cli_show(stdout, shown->name);
    printf("'\n");
}

typedef void (*slot_visitor)(const rmsnorm_ir *ir, const rmsnorm_slot *slot, size_t value, void *user);

static void visit_slots(const rmsnorm_ir *ir, const rmsnorm_operator *op, const rmsnorm_ir_node *node, bool inputs,
                        slot_visitor visit, void *user)
{
    const size_t *values = inputs ? node->inputs : node->outputs;
    const size_t given = inputs ? node->input_count : node->output_count;
    const size_t known = inputs ? op->input_count : op->output_count;
    for (size_t i = 0; i < given && i < known; ++i) {
        if (values[i] != RMSNORM_NO_INDEX) {
            visit(ir, inputs ? &op->inputs[i] : &op->outputs[i], values[i], user);
        }
    }
}

static void append_slot(const rmsnorm_ir *ir, const rmsnorm_slot *slot, size_t value, void *user)
{
    (void)json_array_append_new(user, slot_json(ir, slot, value));
}

static void show_slot(const rmsnorm_ir *ir, const rmsnorm_slot *slot, size_t value, void *user)
{
    (void)user;
    print_slot(ir, slot, value);
}

static void print_node(const rmsnorm_ir *ir, size_t index, const rmsnorm_operator *op,
                       const rmsnorm_attributes *attributes)
{
    char words[RMSNORM_CLI_NODE_WORDS];
    char text[RMSNORM_CLI_ATTRIBUTES];
    const rmsnorm_ir_node *node = rmsnorm_ir_node_at(ir, index);
    printf("%s %s\n", rmsnorm_cli_node_words(ir, index, words), rmsnorm_cli_attributes(op, attributes, text));
    visit_slots(ir, op, node, true, show_slot, NULL);
    visit_slots(ir, op, node, false, show_slot, NULL);
}

static json_t *node_json(const rmsnorm_ir *ir, size_t index, const rmsnorm_operator *op,
                         const rmsnorm_attributes *attributes)
{
    const rmsnorm_ir_node *node = rmsnorm_ir_node_at(ir, index);
    json_t *entry = rmsnorm_cli_node_json(ir, index);
    json_t *inputs = json_array(), *outputs = json_array();
    visit_slots(ir, op, node, true, append_slot, inputs);
    visit_slots(ir, op, node, false, append_slot, outputs);
    (void)json_object_set_new(entry, "attributes", rmsnorm_cli_json_attributes(op, attributes));
    (void)json_object_set_new(entry, "inputs", inputs);
    (void)json_object_set_new(entry, "outputs", outputs);
    return entry;
}

static int report(const char *path, const rmsnorm_ir *ir, bool json)
{
    size_t fault_count = 0, norms = 0;
    const rmsnorm_ir_fault *faults = rmsnorm_ir_faults(ir, &fault_count);
    json_t *nodes = json_array(), *violations = json_array();
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); ++i) {
        const rmsnorm_operator *op = NULL;
        rmsnorm_attributes attributes;
        if (rmsnorm_ir_resolve(ir, i, &op, &attributes) == RMSNORM_OK) {
            ++norms;
            if (json) {
                (void)json_array_append_new(nodes, node_json(ir, i, op, &attributes));
            } else {
                print_node(ir, i, op, &attributes);
            }
        }
    }
    for (size_t i = 0; i < fault_count; ++i) {
        if (json) {
            json_t *entry = json_object();
            (void)json_object_set_new(entry, "node", rmsnorm_cli_node_json(ir, faults[i].node));
            (void)json_object_set_new(entry, "sentence", rmsnorm_cli_json_text(faults[i].sentence));
            (void)json_array_append_new(violations, entry);
        } else {
            printf("violation: ");
            rmsnorm_cli_show(stdout, faults[i].sentence);
            putchar('\n');
        }
    }
    if (json) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "model", rmsnorm_cli_json_text(path));
        (void)json_object_set_new(root, "nodes", nodes);
        (void)json_object_set_new(root, "violations", violations);
        rmsnorm_cli_print_json(root, true);
    } else {
        json_decref(nodes);
        json_decref(violations);
        printf("%zu norm node%s, %zu violation%s%s\n", norms, norms == 1 ? "" : "s", fault_count,
               fault_count == 1 ? "" : "s", norms == 0 ? "; small nodes become some by rmsnorm fuse" : "");
    }
    return fault_count == 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_NO;
}

int rmsnorm_cli_check(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    const char *path = NULL, *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (path != NULL) {
            return rmsnorm_cli_fail("one model at a time: '%s' and '%s' were given", path, value);
        }
        path = value;
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    rmsnorm_document *document = NULL;
    if (path == NULL) {
        return rmsnorm_cli_fail("no model is given, write rmsnorm check MODEL.onnx");
    }
    if (rmsnorm_document_open(path, &document) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    const int code = report(path, rmsnorm_document_ir(document), args.json);
    rmsnorm_document_free(document);
    return code;
}
