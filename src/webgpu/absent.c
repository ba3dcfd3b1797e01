/* absent.c: what stands in for the room in a build without webgpu.h. */
#include "operator/error.h"
#include "rmsnorm/webgpu.h"

static rmsnorm_status absent(void)
{
    return rmsnorm_fail(RMSNORM_NOT_BUILT,
                        "this build is without WebGPU devices: it was made without webgpu.h; the CPU "
                        "and the planner are there");
}

const char *rmsnorm_adapter_kind_name(rmsnorm_adapter_kind kind)
{
    (void)kind;
    return "unknown";
}

rmsnorm_status rmsnorm_adapter_kind_from_name(const char *name, rmsnorm_adapter_kind *kind)
{
    (void)name;
    (void)kind;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_library(const rmsnorm_webgpu_options *options, char *path, size_t size)
{
    (void)options;
    if (path != NULL && size > 0) {
        path[0] = '\0';
    }
    return absent();
}

rmsnorm_status rmsnorm_webgpu_adapters(const rmsnorm_webgpu_options *options, rmsnorm_adapter *adapters,
                                       size_t capacity, size_t *count)
{
    (void)options;
    (void)adapters;
    (void)capacity;
    if (count != NULL) {
        *count = 0;
    }
    return absent();
}

rmsnorm_status rmsnorm_webgpu_open(const rmsnorm_webgpu_options *options, rmsnorm_webgpu **webgpu)
{
    (void)options;
    if (webgpu != NULL) {
        *webgpu = NULL;
    }
    return absent();
}

void rmsnorm_webgpu_close(rmsnorm_webgpu *webgpu)
{
    (void)webgpu;
}

void rmsnorm_webgpu_describe(const rmsnorm_webgpu *webgpu, rmsnorm_adapter *adapter)
{
    (void)webgpu;
    (void)adapter;
}

rmsnorm_status rmsnorm_webgpu_wait(rmsnorm_webgpu *webgpu)
{
    (void)webgpu;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_tensor_create(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor)
{
    (void)webgpu;
    (void)tensor;
    return absent();
}

void rmsnorm_webgpu_tensor_release(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor)
{
    (void)webgpu;
    (void)tensor;
}

rmsnorm_status rmsnorm_webgpu_upload(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor, const void *data)
{
    (void)webgpu;
    (void)tensor;
    (void)data;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_download(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor, void *data)
{
    (void)webgpu;
    (void)tensor;
    (void)data;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_run(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                  const rmsnorm_attributes *attributes, const rmsnorm_webgpu_tensor *const *inputs,
                                  size_t input_count, rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                  const rmsnorm_webgpu_run_options *options)
{
    (void)webgpu;
    (void)op;
    (void)attributes;
    (void)inputs;
    (void)input_count;
    (void)outputs;
    (void)output_count;
    (void)options;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_run_host(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                       const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs,
                                       size_t input_count, rmsnorm_tensor *const *outputs, size_t output_count,
                                       const rmsnorm_webgpu_run_options *options)
{
    (void)webgpu;
    (void)op;
    (void)attributes;
    (void)inputs;
    (void)input_count;
    (void)outputs;
    (void)output_count;
    (void)options;
    return absent();
}

rmsnorm_status rmsnorm_webgpu_plan(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op, const rmsnorm_package *package,
                                   const rmsnorm_request *request, rmsnorm_plan **plan)
{
    (void)webgpu;
    (void)op;
    (void)package;
    (void)request;
    if (plan != NULL) {
        *plan = NULL;
    }
    return absent();
}

rmsnorm_status rmsnorm_webgpu_run_plan(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan,
                                       const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                       const rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                       const rmsnorm_webgpu_run_options *options)
{
    (void)webgpu;
    (void)plan;
    (void)inputs;
    (void)input_count;
    (void)outputs;
    (void)output_count;
    (void)options;
    return absent();
}
