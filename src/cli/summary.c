/* summary.c: what rmsnorm run says about its outputs. */
#include "summary.h"

#include <inttypes.h>
#include <math.h>

#include "attributes.h"
#include "cli.h"
#include "element.h"
#include "json.h"
#include "text.h"

enum { FIRST_VALUES = 6, STEPS_SHOWN = 8 };

/* minimum, maximum and mean are over the finite elements. */
typedef struct statistics {
    int64_t count, finite, nan, infinite;
    double minimum, maximum, mean;
} statistics;

static statistics measure(const rmsnorm_tensor *tensor)
{
    statistics result = {.count = rmsnorm_tensor_count(tensor), .minimum = INFINITY, .maximum = -INFINITY};
    double sum = 0;
    double scaled_sum = 0; /* of doubles whose plain sum leaves the range */
    for (int64_t i = 0; i < result.count; ++i) {
        const double value = rmsnorm_cli_element(tensor, i);
        if (!isfinite(value)) {
            ++*(isnan(value) ? &result.nan : &result.infinite);
            continue;
        }
        ++result.finite;
        sum += value;
        scaled_sum += value * 0x1p-60;
        result.minimum = value < result.minimum ? value : result.minimum;
        result.maximum = value > result.maximum ? value : result.maximum;
    }
    const double count = (double)result.finite;
    result.mean = isfinite(sum) ? sum / count : scaled_sum / count * 0x1p60;
    return result;
}

static int64_t first_count(const statistics *measured)
{
    return measured->count < FIRST_VALUES ? measured->count : FIRST_VALUES;
}

static void print_output(FILE *file, const rmsnorm_cli_output *output)
{
    char text[RMSNORM_CLI_SHAPE];
    char number[3][RMSNORM_CLI_NUMBER];
    rmsnorm_cli_show(file, output->name);
    fprintf(file, ": %s %s", rmsnorm_dtype_name(output->tensor->dtype), rmsnorm_cli_shape(output->tensor, text));
    if (output->path != NULL) {
        fprintf(file, " -> ");
        rmsnorm_cli_show(file, output->path);
        fputc('\n', file);
        return;
    }
    const statistics measured = measure(output->tensor);
    fputc('\n', file);
    if (measured.count == 0) {
        fprintf(file, "  no elements\n");
        return;
    }
    if (measured.finite > 0) {
        fprintf(file, "  min %s, max %s, mean %s\n", rmsnorm_cli_rounded(measured.minimum, number[0]),
                rmsnorm_cli_rounded(measured.maximum, number[1]), rmsnorm_cli_rounded(measured.mean, number[2]));
    }
    if (measured.nan + measured.infinite > 0) {
        fprintf(file, "  not finite: %" PRId64 " NaN, %" PRId64 " infinite\n", measured.nan, measured.infinite);
    }
    fprintf(file, "  first ");
    for (int64_t i = 0; i < first_count(&measured); ++i) {
        fprintf(file, "%s%s", i == 0 ? "" : ", ",
                rmsnorm_cli_rounded(rmsnorm_cli_element(output->tensor, i), number[0]));
    }
    fprintf(file, "%s\n", measured.count > FIRST_VALUES ? ", ..." : "");
}

static const char *name_of(const rmsnorm_cli_step *step)
{
    return step->op != NULL ? step->op->name : step->source->op_type;
}

static const char *domain_of(const rmsnorm_cli_step *step)
{
    return step->op != NULL ? step->op->domain : step->source->domain;
}

static void report_text(FILE *file, const rmsnorm_cli_report_data *data)
{
    char attributes[RMSNORM_CLI_ATTRIBUTES];
    char place[RMSNORM_CLI_PLACE];
    for (size_t i = 0; i < data->step_count && i < STEPS_SHOWN; ++i) {
        const rmsnorm_cli_step *step = &data->steps[i];
        if (step->node != NULL && step->node[0] != '\0') {
            rmsnorm_cli_show(file, step->node);
            fprintf(file, " = ");
        }
        const char *text = step->op != NULL
                               ? rmsnorm_cli_attributes(step->op, step->attributes, attributes)
                               : rmsnorm_cli_primitive_attributes(step->primitive, step->source, attributes);
        fprintf(file, "%s::%s%s%s\n", rmsnorm_cli_domain(domain_of(step)), name_of(step), text[0] == '\0' ? "" : " ",
                text);
    }
    if (data->step_count > STEPS_SHOWN) {
        fprintf(file, "... and %zu more nodes (--json lists all)\n", data->step_count - STEPS_SHOWN);
    }
    fprintf(file, "on %s\n", rmsnorm_cli_context_place(data->context, place));
    for (size_t i = 0; i < data->output_count; ++i) {
        print_output(file, &data->outputs[i]);
    }
}

static json_t *output_json(const rmsnorm_cli_output *output)
{
    json_t *object = json_object();
    (void)json_object_set_new(object, "name", rmsnorm_cli_json_text(output->name));
    (void)json_object_set_new(object, "dtype", json_string(rmsnorm_dtype_name(output->tensor->dtype)));
    (void)json_object_set_new(object, "shape", rmsnorm_cli_json_shape(output->tensor));
    if (output->path != NULL) {
        (void)json_object_set_new(object, "file", rmsnorm_cli_json_text(output->path));
        return object;
    }
    const bool narrow = output->tensor->dtype != RMSNORM_DOUBLE;
    const statistics measured = measure(output->tensor);
    const bool known = measured.finite > 0;
    (void)json_object_set_new(object, "count", json_integer(measured.count));
    (void)json_object_set_new(object, "nan", json_integer(measured.nan));
    (void)json_object_set_new(object, "infinite", json_integer(measured.infinite));
    (void)json_object_set_new(object, "min", known ? rmsnorm_cli_json_number(measured.minimum, narrow) : json_null());
    (void)json_object_set_new(object, "max", known ? rmsnorm_cli_json_number(measured.maximum, narrow) : json_null());
    (void)json_object_set_new(object, "mean", known ? rmsnorm_cli_json_number(measured.mean, false) : json_null());
    json_t *first = json_array();
    for (int64_t i = 0; i < first_count(&measured); ++i) {
        (void)json_array_append_new(first, rmsnorm_cli_json_number(rmsnorm_cli_element(output->tensor, i), narrow));
    }
    (void)json_object_set_new(object, "first", first);
    return object;
}

static void device_json(json_t *root, const rmsnorm_cli_context *context)
{
    if (context->webgpu != NULL) {
        (void)json_object_set_new(root, "device", json_string(rmsnorm_cli_device_key(RMSNORM_DEVICE_WEBGPU)));
        (void)json_object_set_new(root, "adapter", rmsnorm_cli_json_text(context->adapter.name));
        (void)json_object_set_new(root, "backend", rmsnorm_cli_json_text(context->adapter.backend));
        return;
    }
    (void)json_object_set_new(root, "device", json_string(rmsnorm_cli_device_key(RMSNORM_DEVICE_CPU)));
    (void)json_object_set_new(root, "isa", json_string(rmsnorm_isa_name(context->isa)));
    (void)json_object_set_new(root, "threads", json_integer((json_int_t)context->threads));
}

static void report_json(const rmsnorm_cli_report_data *data)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < data->step_count; ++i) {
        const rmsnorm_cli_step *step = &data->steps[i];
        json_t *node = json_object();
        if (step->node != NULL) {
            (void)json_object_set_new(node, "name", rmsnorm_cli_json_text(step->node));
        }
        (void)json_object_set_new(node, "operator", json_string(name_of(step)));
        (void)json_object_set_new(node, "domain", json_string(rmsnorm_cli_domain(domain_of(step))));
        json_t *values = step->op != NULL ? rmsnorm_cli_json_attributes(step->op, step->attributes)
                                          : rmsnorm_cli_primitive_json_attributes(step->primitive, step->source);
        (void)json_object_set_new(node, "attributes", values);
        (void)json_array_append_new(nodes, node);
    }
    json_t *outputs = json_array();
    bool narrow = true;
    for (size_t i = 0; i < data->output_count; ++i) {
        narrow = narrow && data->outputs[i].tensor->dtype != RMSNORM_DOUBLE;
        (void)json_array_append_new(outputs, output_json(&data->outputs[i]));
    }
    json_t *root = json_object();
    if (data->model != NULL) {
        (void)json_object_set_new(root, "model", rmsnorm_cli_json_text(data->model));
    }
    (void)json_object_set_new(root, "nodes", nodes);
    device_json(root, data->context);
    (void)json_object_set_new(root, "outputs", outputs);
    rmsnorm_cli_print_json(root, narrow);
}

int rmsnorm_cli_deliver(const rmsnorm_cli_report_data *data, const char *directory, bool json)
{
    if (rmsnorm_cli_outputs_write(data->outputs, data->output_count, directory) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (json) {
        report_json(data);
    } else {
        report_text(rmsnorm_cli_outputs_to_stdout(data->outputs, data->output_count) ? stderr : stdout, data);
    }
    return RMSNORM_CLI_DONE;
}
