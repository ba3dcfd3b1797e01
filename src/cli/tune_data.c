/* tune_data.c: the tensors of a case: numbers, what the CPU makes of them, and their places on the device. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "tune.h"

/* How many steps an element may be off. */
static int64_t steps_of(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT16 ? 1 : 4;
}

static size_t bytes_of(const rmsnorm_tensor *tensor)
{
    return (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int say_no(void)
{
    (void)rmsnorm_cli_fail_library();
    return RMSNORM_CLI_NO;
}

static int make_inputs(rmsnorm_cli_tune_data *data, const rmsnorm_cli_tune_case *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        rmsnorm_tensor *const tensor = &data->inputs[i];
        *tensor = what->inputs[i];
        if (tensor->rank < 0) {
            continue;
        }
        if (tensor->dtype != RMSNORM_FLOAT && tensor->dtype != RMSNORM_FLOAT16) {
            (void)rmsnorm_cli_fail("WebGPU has no %s", rmsnorm_dtype_name(tensor->dtype));
            return RMSNORM_CLI_NO;
        }
        const uint64_t bytes = bytes_of(tensor);
        if (bytes > data->device.max_buffer_size) {
            (void)rmsnorm_cli_fail("a tensor takes %llu bytes; the largest buffer of this device has %llu",
                                   (unsigned long long)bytes, (unsigned long long)data->device.max_buffer_size);
            return RMSNORM_CLI_NO;
        }
        tensor->data = malloc(bytes);
        if (tensor->data == NULL) {
            (void)rmsnorm_cli_fail("out of memory: %llu bytes for a tensor", (unsigned long long)bytes);
            return RMSNORM_CLI_NO;
        }
        bench_data_fill(tensor->dtype, tensor->data, rmsnorm_tensor_count(tensor), i + 1);
        data->request.inputs[i] = tensor;
    }
    return RMSNORM_CLI_DONE;
}

/* The CPU's outputs, and room to look at the device's. */
static int compute(rmsnorm_cli_tune_data *data, const rmsnorm_cli_tune_source *source,
                   const rmsnorm_cli_tune_case *what)
{
    rmsnorm_tensor *outputs[RMSNORM_MAX_SLOTS] = {NULL};
    size_t largest = 1;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        outputs[i] = what->wanted[i] ? &data->expected[i] : NULL;
        data->request.wanted[i] = what->wanted[i];
    }
    rmsnorm_attributes_init(source->op, &data->attributes);
    data->request.attributes = &data->attributes;
    data->request.device = &data->device;
    if (rmsnorm_run_alloc(source->op, &data->attributes, data->request.inputs, source->op->input_count, outputs,
                          source->op->output_count, data->options) != RMSNORM_OK) {
        return say_no();
    }
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        const size_t bytes = what->wanted[i] ? bytes_of(&data->expected[i]) : 0;
        largest = bytes > largest ? bytes : largest;
    }
    data->scratch = malloc(largest);
    if (data->scratch == NULL) {
        (void)rmsnorm_cli_fail("out of memory: %zu bytes for a result", largest);
        return RMSNORM_CLI_NO;
    }
    return RMSNORM_CLI_DONE;
}

static int place(rmsnorm_cli_tune_data *data, const rmsnorm_cli_tune_case *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        rmsnorm_webgpu_tensor *const input = &data->device_inputs[i];
        rmsnorm_webgpu_tensor *const output = &data->device_outputs[i];
        if (data->request.inputs[i] != NULL) {
            input->tensor = data->inputs[i];
            data->work.inputs[i] = input;
            if (rmsnorm_webgpu_tensor_create(data->webgpu, input) != RMSNORM_OK ||
                rmsnorm_webgpu_upload(data->webgpu, input, data->inputs[i].data) != RMSNORM_OK) {
                return say_no();
            }
        }
        if (what->wanted[i]) {
            output->tensor = data->expected[i];
            data->work.outputs[i] = output;
            if (rmsnorm_webgpu_tensor_create(data->webgpu, output) != RMSNORM_OK) {
                return say_no();
            }
        }
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_tune_data_open(rmsnorm_webgpu *webgpu, const rmsnorm_options *options,
                               const rmsnorm_cli_tune_source *source, const rmsnorm_cli_tune_case *what,
                               rmsnorm_cli_tune_data *data)
{
    rmsnorm_adapter adapter;
    *data = (rmsnorm_cli_tune_data){.webgpu = webgpu, .options = options, .request = RMSNORM_REQUEST_INIT};
    rmsnorm_webgpu_describe(webgpu, &adapter);
    data->device = adapter.profile;
    data->twice = source->op->kind == RMSNORM_RMS_NORMALIZATION && what->inputs[0].dtype == RMSNORM_FLOAT16;
    int code = make_inputs(data, what);
    if (code == RMSNORM_CLI_DONE) {
        code = compute(data, source, what);
    }
    return code == RMSNORM_CLI_DONE ? place(data, what) : code;
}

void rmsnorm_cli_tune_data_close(rmsnorm_cli_tune_data *data)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        free(data->inputs[i].data);
        rmsnorm_tensor_release(&data->expected[i], data->options);
        rmsnorm_webgpu_tensor_release(data->webgpu, &data->device_inputs[i]);
        rmsnorm_webgpu_tensor_release(data->webgpu, &data->device_outputs[i]);
    }
    free(data->scratch);
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* The place of a number among those of its type, in order; the two zeros have one. */
static int64_t place_of(rmsnorm_dtype dtype, const void *data, int64_t index)
{
    if (dtype == RMSNORM_FLOAT16) {
        const uint16_t bits = ((const uint16_t *)data)[index];
        return (bits & 0x8000U) != 0 ? -(int64_t)(bits & 0x7fffU) : (int64_t)bits;
    }
    const uint32_t bits = ((const uint32_t *)data)[index];
    return (bits & 0x80000000U) != 0 ? -(int64_t)(bits & 0x7fffffffU) : (int64_t)bits;
}

/* Quick, as results are large and checked often. No expected element is a NaN or an infinity, so those are far off. Zero for what is
 * too small to be normal is right: devices may flush it. A rounding in the middle may go to the other side of a tie, in few elements; one
 * step there is up to two of the product in float16, 2^14 in float. */
static bool is_near(const rmsnorm_tensor *expected, const void *actual, bool twice)
{
    const int64_t count = rmsnorm_tensor_count(expected);
    const int64_t most = steps_of(expected->dtype);
    const int64_t normal = expected->dtype == RMSNORM_FLOAT16 ? 0x400 : 0x800000;
    const int64_t tie = !twice ? 0 : expected->dtype == RMSNORM_FLOAT16 ? 2 : (int64_t)1 << 14;
    int64_t outside = 0;
    int64_t ties = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t ours = place_of(expected->dtype, actual, i);
        const int64_t cpu = place_of(expected->dtype, expected->data, i);
        const bool flushed = ours == 0 && cpu < normal && cpu > -normal;
        const int64_t steps = ours > cpu ? ours - cpu : cpu - ours;
        if (steps > most && !flushed) {
            ties += steps <= tie;
            outside += steps > tie;
        }
    }
    return outside == 0 && ties <= count / 1000 + 1;
}

/* No result has bytes that are all ones: they are a NaN. */
static bool overwrite(const rmsnorm_cli_tune_data *data, size_t slot)
{
    memset(data->scratch, 0xff, bytes_of(&data->expected[slot]));
    return rmsnorm_webgpu_upload(data->webgpu, &data->device_outputs[slot], data->scratch) == RMSNORM_OK;
}

static int check_output(const rmsnorm_cli_tune_data *data, size_t slot)
{
    rmsnorm_tensor actual = data->expected[slot];
    actual.data = data->scratch;
    if (rmsnorm_webgpu_download(data->webgpu, &data->device_outputs[slot], data->scratch) != RMSNORM_OK) {
        return say_no();
    }
    if (is_near(&data->expected[slot], data->scratch, data->twice)) {
        return RMSNORM_CLI_DONE;
    }
    rmsnorm_cli_difference difference;
    const rmsnorm_cli_tolerance tolerance = {.steps = steps_of(actual.dtype), .flushes = true};
    char name[32];
    (void)snprintf(name, sizeof name, "%zu", slot);
    (void)rmsnorm_cli_compare(name, &actual, &data->expected[slot], &tolerance, &difference);
    return RMSNORM_CLI_NO;
}

int rmsnorm_cli_tune_data_check(const rmsnorm_cli_tune_data *data, const rmsnorm_plan *plan)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        if (data->request.wanted[i] && !overwrite(data, i)) {
            return say_no();
        }
    }
    if (rmsnorm_webgpu_run_plan(data->webgpu, plan, data->work.inputs, RMSNORM_MAX_SLOTS, data->work.outputs,
                                RMSNORM_MAX_SLOTS, NULL) != RMSNORM_OK) {
        return say_no();
    }
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        const int code = data->request.wanted[i] ? check_output(data, i) : RMSNORM_CLI_DONE;
        if (code != RMSNORM_CLI_DONE) {
            return code;
        }
    }
    return RMSNORM_CLI_DONE;
}
