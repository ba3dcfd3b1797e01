#include "graph/model.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <stdlib.h>
#include <string.h>

static rmsnorm_status unpack(rmsnorm_source *source, rmsnorm_model *model)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const rmsnorm_source_form form = {rmsnorm_wire_check_start, &onnx__model_proto__descriptor};
    RMSNORM_TRY(rmsnorm_source_rest(source, RMSNORM_PROTOBUF_LIMIT, &form, &bytes, &size));
    rmsnorm_budget_init(&model->budget, size);
    ProtobufCMessage *message = NULL;
    const rmsnorm_status status =
        rmsnorm_wire_unpack(source->file, &onnx__model_proto__descriptor, bytes, size, NULL, &model->budget, &message);
    free(bytes); /* before the initializers are copied a second time */
    model->proto = (Onnx__ModelProto *)message;
    return status;
}

static rmsnorm_status load(rmsnorm_source *source, rmsnorm_model *model)
{
    RMSNORM_TRY(unpack(source, model));
    RMSNORM_CHECK(model->proto->graph != NULL, RMSNORM_MALFORMED, "%s: holds no graph, so it is no ONNX model",
                  source->file);
    RMSNORM_TRY(rmsnorm_opsets_check(source->file, model->proto, &model->budget));
    RMSNORM_TRY(rmsnorm_functions_sort(source->file, model->proto, &model->budget, &model->functions));
    return rmsnorm_model_view(source->file, model);
}

rmsnorm_status rmsnorm_model_load(rmsnorm_source *source, const char *path, rmsnorm_model **model)
{
    rmsnorm_model *const result = calloc(1, sizeof *result);
    if (result == NULL) {
        return rmsnorm_fail_memory(source->file, sizeof *result);
    }
    rmsnorm_status status = rmsnorm_external_init(&result->external, path);
    if (status == RMSNORM_OK) {
        status = load(source, result);
    }
    rmsnorm_external_release(&result->external);
    if (status != RMSNORM_OK) {
        rmsnorm_model_free(result);
        return status;
    }
    *model = result;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_model_read(const char *path, rmsnorm_model **model)
{
    RMSNORM_CHECK(path != NULL && path[0] != '\0', RMSNORM_INVALID_ARGUMENT, "model file: the name is empty");
    RMSNORM_CHECK(model != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_model_read: model is NULL");
    rmsnorm_source source;
    RMSNORM_TRY(rmsnorm_source_open(&source, path));
    const rmsnorm_status status = rmsnorm_model_load(&source, path, model);
    rmsnorm_source_close(&source);
    return status;
}

void rmsnorm_model_free(rmsnorm_model *model)
{
    if (model == NULL) {
        return;
    }
    for (size_t i = 0; i < model->graph.initializer_count; i++) {
        free(model->initializers[i].tensor.data);
    }
    for (size_t i = 0; i < model->attribute_count; i++) {
        free(model->attributes[i].tensor.data);
    }
    free(model->nodes);
    free(model->attributes);
    free(model->inputs);
    free(model->outputs);
    free(model->initializers);
    free(model->functions.items);
    if (model->proto != NULL) {
        protobuf_c_message_free_unpacked(&model->proto->base, &model->budget.allocator);
    }
    free(model);
}

const rmsnorm_graph *rmsnorm_model_graph(const rmsnorm_model *model)
{
    return model != NULL ? &model->graph : NULL;
}

int64_t rmsnorm_model_opset(const rmsnorm_model *model, const char *domain)
{
    const char *const wanted = rmsnorm_domain_normalize(domain);
    for (size_t i = 0; model != NULL && i < model->proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *const opset = model->proto->opset_import[i];
        if (strcmp(rmsnorm_domain_normalize(opset->domain), wanted) == 0) {
            return opset->version;
        }
    }
    return 0;
}
