#include "graph/model.h"

#include "graph/bytes.h"
#include "graph/names.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *rmsnorm_domain_normalize(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* Version 0 would be read as "the newest" further on, and two versions of one domain leave open which one is meant. */
static rmsnorm_status check_opsets(const char *file, rmsnorm_model *model)
{
    const Onnx__ModelProto *const proto = model->proto;
    rmsnorm_names domains = {rmsnorm_budget_allocate(&model->budget, proto->n_opset_import + 1, sizeof(char *)), 0};
    if (domains.items == NULL) {
        return rmsnorm_budget_fail(&model->budget, file);
    }
    rmsnorm_status status = RMSNORM_OK;
    for (size_t i = 0; i < proto->n_opset_import && status == RMSNORM_OK; i++) {
        const Onnx__OperatorSetIdProto *const opset = proto->opset_import[i];
        domains.items[domains.count++] = rmsnorm_domain_normalize(opset->domain);
        if (opset->version < 1) {
            status =
                rmsnorm_fail(RMSNORM_MALFORMED,
                             "%s: imports version %" PRId64 " of domain \"" RMSNORM_NAME "\"; 1 and more are allowed",
                             file, opset->version, domains.items[i]);
        }
    }
    rmsnorm_names_sort(&domains);
    const char *const twice = rmsnorm_names_duplicate(&domains);
    if (status == RMSNORM_OK && twice != NULL) {
        status = rmsnorm_fail(RMSNORM_MALFORMED, "%s: imports domain \"" RMSNORM_NAME "\" twice", file, twice);
    }
    free(domains.items);
    return status;
}

static int compare_function(const char *domain, const char *name, const Onnx__FunctionProto *function)
{
    const int by_domain = strcmp(rmsnorm_domain_normalize(domain), rmsnorm_domain_normalize(function->domain));
    return by_domain != 0 ? by_domain : strcmp(name, function->name != NULL ? function->name : "");
}

static int compare_functions(const void *left, const void *right)
{
    const Onnx__FunctionProto *const function = *(const Onnx__FunctionProto *const *)left;
    return compare_function(function->domain, function->name != NULL ? function->name : "",
                            *(const Onnx__FunctionProto *const *)right);
}

static rmsnorm_status sort_functions(const char *file, rmsnorm_model *model)
{
    const Onnx__ModelProto *const proto = model->proto;
    model->functions = rmsnorm_budget_allocate(&model->budget, proto->n_functions + 1, sizeof *model->functions);
    if (model->functions == NULL) {
        return rmsnorm_budget_fail(&model->budget, file);
    }
    for (size_t i = 0; i < proto->n_functions; i++) {
        model->functions[i] = proto->functions[i];
    }
    qsort(model->functions, proto->n_functions, sizeof *model->functions, compare_functions);
    return RMSNORM_OK;
}

bool rmsnorm_model_has_function(const rmsnorm_model *model, const char *domain, const char *name)
{
    size_t low = 0;
    size_t high = model->proto->n_functions;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_function(domain, name, model->functions[middle]);
        if (order == 0) {
            return true;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}

static rmsnorm_status unpack(rmsnorm_source *source, rmsnorm_model *model)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const rmsnorm_source_form form = {rmsnorm_wire_check_start, &onnx__model_proto__descriptor};
    RMSNORM_TRY(rmsnorm_source_rest(source, RMSNORM_PROTOBUF_LIMIT, &form, &bytes, &size));
    rmsnorm_budget_init(&model->budget, size);
    ProtobufCMessage *message = NULL;
    const rmsnorm_status status =
        rmsnorm_wire_unpack(source->file, &onnx__model_proto__descriptor, bytes, size, &model->budget, &message);
    free(bytes); /* before the initializers are copied a second time */
    model->proto = (Onnx__ModelProto *)message;
    return status;
}

static rmsnorm_status load(rmsnorm_source *source, rmsnorm_model *model)
{
    RMSNORM_TRY(unpack(source, model));
    RMSNORM_CHECK(model->proto->graph != NULL, RMSNORM_MALFORMED, "%s: holds no graph, so it is no ONNX model",
                  source->file);
    RMSNORM_TRY(check_opsets(source->file, model));
    RMSNORM_TRY(sort_functions(source->file, model));
    return rmsnorm_model_view(source->file, model);
}

rmsnorm_status rmsnorm_model_load(rmsnorm_source *source, rmsnorm_model **model)
{
    rmsnorm_model *const result = calloc(1, sizeof *result);
    if (result == NULL) {
        return rmsnorm_fail_memory(source->file, sizeof *result);
    }
    const rmsnorm_status status = load(source, result);
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
    const rmsnorm_status status = rmsnorm_model_load(&source, model);
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
    free(model->functions);
    if (model->proto != NULL) {
        protobuf_c_message_free_unpacked(&model->proto->base, &model->budget.allocator);
    }
    free(model);
}

const rmsnorm_graph *rmsnorm_model_graph(const rmsnorm_model *model)
{
    return &model->graph;
}

int64_t rmsnorm_model_opset(const rmsnorm_model *model, const char *domain)
{
    const char *const wanted = rmsnorm_domain_normalize(domain);
    for (size_t i = 0; i < model->proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *const opset = model->proto->opset_import[i];
        if (strcmp(rmsnorm_domain_normalize(opset->domain), wanted) == 0) {
            return opset->version;
        }
    }
    return 0;
}
