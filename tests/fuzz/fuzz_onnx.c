#include "fuzz/fuzz.h"
#include "graph/edit.h"
#include "graph/model.h"
#include "rmsnorm/rewrite.h"

#include <stdlib.h>
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

/* The document's bytes as they would be written; NULL, with the last error set: refused. */
static uint8_t *assemble(const rmsnorm_document *document, size_t *size)
{
    rmsnorm_pieces pieces;
    uint8_t *bytes = NULL;
    const rmsnorm_status status = rmsnorm_edit_make(document, &pieces);
    if (status == RMSNORM_OK) {
        *size = (size_t)pieces.size;
        bytes = malloc(*size + 1);
        FUZZ_CHECK(bytes != NULL);
        uint8_t *at = bytes;
        for (size_t i = 0; i < pieces.count; i++) {
            const rmsnorm_piece *const piece = &pieces.items[i];
            memcpy(at, piece->memory != NULL ? piece->memory : document->input.memory + piece->at, piece->size);
            at += piece->size;
        }
        FUZZ_CHECK(at == bytes + *size);
    } else {
        FUZZ_CHECK(status == RMSNORM_UNSUPPORTED); /* what rewriting did is sound, but the file cannot say it */
    }
    rmsnorm_pieces_release(&pieces);
    return bytes;
}

/* One byte more or less anywhere in the file is another way of rewriting it. */
static unsigned way_of(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += data[i];
    }
    return sum;
}

enum { FORMS = 3, TARGETS = 4, RESIDUALS = 3, FUSIONS = TARGETS * RESIDUALS * 2 };

/* Each form, or each target with and without relaxed; half of what is fused takes a form afterwards. */
static rmsnorm_status rewrite(rmsnorm_ir *ir, unsigned way)
{
    const rmsnorm_conversion form = (rmsnorm_conversion)(way / 4 % FORMS);
    if (way % 4 == 0) {
        return rmsnorm_ir_convert(ir, form);
    }
    const unsigned fusion = way / 4 % FUSIONS;
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.target = (rmsnorm_target)(fusion % TARGETS);
    options.residuals = (rmsnorm_residuals)(fusion / TARGETS % RESIDUALS);
    options.relaxed = fusion / TARGETS / RESIDUALS == 1;
    const rmsnorm_status status = rmsnorm_ir_fuse(ir, &options);
    return status == RMSNORM_OK && way % 4 != 1 ? rmsnorm_ir_convert(ir, form) : status;
}

/* Whether a node means the same at another opset is answered for every node, and at its own always with yes. */
static void check_raises(const rmsnorm_ir *ir, unsigned way)
{
    const int64_t from = rmsnorm_ir_opset(ir, ""), to = (int64_t)(way % 32);
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); i++) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(ir, i);
        const rmsnorm_status status = rmsnorm_opset_check_raise(node, from, to);
        FUZZ_CHECK(status == RMSNORM_OK || (status == RMSNORM_UNSUPPORTED && from != to));
        FUZZ_CHECK(status == RMSNORM_OK || strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
    }
}

/* Opened and written, it is the same; rewritten and written, it can be opened. */
static void check_document(const uint8_t *data, size_t size)
{
    rmsnorm_source source = rmsnorm_source_memory("FILE", data, size);
    rmsnorm_document *document;
    const rmsnorm_status status = rmsnorm_document_load(&source, NULL, &document);
    fuzz_check_status(status);
    if (status != RMSNORM_OK) {
        return;
    }
    size_t written_size = 0;
    uint8_t *written = assemble(document, &written_size);
    FUZZ_CHECK(written != NULL && written_size == size && memcmp(written, data, size) == 0);
    free(written);
    const unsigned way = way_of(data, size);
    check_raises(rmsnorm_document_ir(document), way);
    if (rewrite(rmsnorm_document_ir(document), way) == RMSNORM_OK) {
        written = assemble(document, &written_size);
        if (written != NULL) {
            rmsnorm_document *again;
            source = rmsnorm_source_memory("FILE", written, written_size);
            FUZZ_CHECK(rmsnorm_document_load(&source, NULL, &again) == RMSNORM_OK);
            rmsnorm_document_free(again);
            free(written);
        }
    }
    rmsnorm_document_free(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_document(data, size);
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
