#include "graph/document.h"

#include "graph/bytes.h"
#include "graph/slim.h"
#include "operator/error.h"

#include <stdlib.h>
#include <string.h>

/* An ir takes some twenty times the bytes of an honest graph of short nodes, and what rewriting adds. */
#define IR_BASE ((size_t)256 << 20)
#define IR_FACTOR 64

int64_t rmsnorm_document_ir_version(const rmsnorm_document *document)
{
    return document->proto->has_ir_version && document->proto->ir_version > 0 ? document->proto->ir_version : 0;
}

static rmsnorm_status unpack(rmsnorm_document *document, size_t *size)
{
    rmsnorm_slim slim;
    ProtobufCMessage *message = NULL;
    const char *const file = document->input.file;
    RMSNORM_TRY(rmsnorm_slim_make(&slim, &document->input, &onnx__model_proto__descriptor));
    rmsnorm_budget_init(&document->budget, slim.size);
    const rmsnorm_wire_cuts cuts = {slim.cuts, slim.cut_count};
    const rmsnorm_status status = rmsnorm_wire_unpack(file, &onnx__model_proto__descriptor, slim.bytes, slim.size,
                                                      &cuts, &document->budget, &message);
    document->proto = (Onnx__ModelProto *)message;
    *size = slim.size;
    rmsnorm_slim_release(&slim);
    return status;
}

static rmsnorm_status load(rmsnorm_source *source, const char *path, rmsnorm_document *document)
{
    size_t size;
    const char *const shown = path != NULL ? path : "-";
    document->path = malloc(strlen(shown) + 1);
    if (document->path == NULL) {
        return rmsnorm_fail_memory(source->file, strlen(shown) + 1);
    }
    memcpy(document->path, shown, strlen(shown) + 1);
    const bool display = strcmp(shown, "-") != 0;
    RMSNORM_TRY(rmsnorm_input_take(&document->input, source));
    if (display) {
        document->input.file = rmsnorm_file_display(document->path);
    }
    RMSNORM_TRY(unpack(document, &size));
    RMSNORM_TRY(rmsnorm_external_init(&document->external, path));
    const char *const file = document->input.file;
    RMSNORM_CHECK(document->proto->graph != NULL, RMSNORM_MALFORMED, "%s: holds no graph, so it is no ONNX model",
                  file);
    RMSNORM_TRY(rmsnorm_opsets_check(file, document->proto, &document->budget));
    RMSNORM_TRY(rmsnorm_functions_sort(file, document->proto, &document->budget, &document->functions));
    RMSNORM_TRY(rmsnorm_scopes_open(file, document->proto->graph, &document->budget, &document->scopes));
    RMSNORM_TRY(rmsnorm_document_find_data(document));
    const size_t most = (SIZE_MAX - IR_BASE) / IR_FACTOR;
    RMSNORM_TRY(rmsnorm_document_fill(document, IR_BASE + IR_FACTOR * (size < most ? size : most)));
    const rmsnorm_status status = rmsnorm_ir_infer(document->ir);
    return status == RMSNORM_OK ? RMSNORM_OK : rmsnorm_fail(status, "%s: %s", file, rmsnorm_last_error());
}

rmsnorm_status rmsnorm_document_load(rmsnorm_source *source, const char *path, rmsnorm_document **document)
{
    rmsnorm_document *const result = calloc(1, sizeof *result);
    if (result == NULL) {
        return rmsnorm_fail_memory(source->file, sizeof *result);
    }
    result->input.descriptor = -1;
    result->external.file.descriptor = -1;
    const rmsnorm_status status = load(source, path, result);
    if (status != RMSNORM_OK) {
        rmsnorm_document_free(result);
        return status;
    }
    *document = result;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_document_open(const char *path, rmsnorm_document **document)
{
    RMSNORM_CHECK(path != NULL && path[0] != '\0', RMSNORM_INVALID_ARGUMENT, "model file: the name is empty");
    RMSNORM_CHECK(document != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_document_open: document is NULL");
    rmsnorm_source source;
    RMSNORM_TRY(rmsnorm_source_open(&source, path));
    const rmsnorm_status status = rmsnorm_document_load(&source, path, document);
    rmsnorm_source_close(&source);
    return status;
}

void rmsnorm_document_free(rmsnorm_document *document)
{
    if (document == NULL) {
        return;
    }
    rmsnorm_ir_free(document->ir);
    for (size_t i = 0; i < document->attribute_count; i++) {
        free(document->attributes[i].tensor.data);
    }
    for (size_t i = 0; i < document->constant_count; i++) {
        free(document->constants[i]);
    }
    free(document->attributes);
    free(document->constants);
    free(document->data_files.items);
    free(document->functions.items);
    rmsnorm_scopes_release(&document->scopes);
    rmsnorm_external_release(&document->external);
    if (document->proto != NULL) {
        protobuf_c_message_free_unpacked(&document->proto->base, &document->budget.allocator);
    }
    rmsnorm_input_close(&document->input);
    free(document->path);
    free(document);
}

rmsnorm_ir *rmsnorm_document_ir(rmsnorm_document *document)
{
    return document != NULL ? document->ir : NULL;
}
