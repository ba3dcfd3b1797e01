/* plan_pairs: requests drawn at random, and what the planner says of them, natively; what WebAssembly says is compared with it by
 * plan-pairs.test.mjs. A line each: the package's name, the request, the answer.
 *
 * usage: plan_pairs COUNT SEED */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "plan/requests.h"
#include "planner.h"
#include "text.h"

/* ---- Drawing what requests.h leaves at its defaults ------------------------------------------ */

static void draw_device(rng *random, rmsnorm_device_profile *device)
{
    static const uint32_t subgroups[][2] = {{0, 0}, {4, 4}, {8, 8}, {32, 32}, {32, 64}};
    static const uint32_t invocations[] = {256, 1024, 64};
    const uint32_t *const subgroup = subgroups[rng_between(random, 0, 4)];
    device->subgroups = subgroup[0] > 0;
    device->subgroup_min_size = subgroup[0];
    device->subgroup_max_size = subgroup[1];
    device->shader_f16 = rng_between(random, 0, 1) == 1;
    device->max_compute_invocations_per_workgroup = invocations[rng_between(random, 0, 2)];
    device->max_compute_workgroup_size_x = device->max_compute_invocations_per_workgroup;
    if (rng_between(random, 0, 3) == 0) {
        device->max_storage_buffer_binding_size = (uint64_t)rng_between(random, 16, 4096) * 256;
    }
}

static void draw_more(rng *random, drawn *d)
{
    static const struct {
        const char *name;
        int64_t values[4]; /* the last one is none */
    } tunables[] = {
        {"WORKGROUP_SIZE", {32, 64, 256, 33}}, {"VECTOR", {1, 4, 1, 2}},      {"SUBGROUPS", {0, 1, 0, 2}},
        {"KEPT_GROUPS", {0, 2, 16, 3}},        {"SPLITS", {4, 16, 256, 257}}, {"WORKGROUP", {1, 1, 1, 1}},
    };
    draw_device(random, &d->device);
    d->request.batch_invariant = rng_between(random, 0, 4) == 0;
    if (rng_between(random, 0, 2) == 0) {
        const size_t i = (size_t)(rng_between(random, 0, 9) == 0 ? 5 : rng_between(random, 0, 4));
        const int64_t value = tunables[i].values[rng_between(random, 0, 9) == 0 ? 3 : rng_between(random, 0, 2)];
        d->request.tunables[d->request.tunable_count++] = (rmsnorm_tunable){tunables[i].name, value};
    }
    if (rng_between(random, 0, 7) == 0) {
        d->request.in_place[0] = 1;
    }
    if (rng_between(random, 0, 7) == 0) {
        d->request.beside_output[1] = true;
    }
    if (rng_between(random, 0, 9) == 0) {
        static const char *const variants[] = {"rows", "splitk", "columns"};
        d->request.variant = variants[rng_between(random, 0, 2)];
    }
    d->attributes.epsilon = (float)rng_between(random, 0, 1000000) / 1e9f;
}

static void draw(rng *random, drawn *d)
{
    static const int64_t widths[] = {1, 7, 64, 1000, 4096, 4097, 16384, 100000};
    const rmsnorm_operator *const op = rmsnorm_operator_at((size_t)rng_between(random, 0, 2));
    if (rng_between(random, 0, 1) == 0) {
        draw_request(random, op, package_of(op), d);
    } else {
        const rmsnorm_dtype x = rng_between(random, 0, 1) == 0 ? RMSNORM_FLOAT : RMSNORM_FLOAT16;
        const rmsnorm_dtype v = rng_between(random, 0, 1) == 0 ? RMSNORM_FLOAT : RMSNORM_FLOAT16;
        make_request(op, package_of(op), rng_between(random, 1, 300), widths[rng_between(random, 0, 7)], x, v,
                     rng_between(random, 0, 1) == 0, d);
    }
    draw_more(random, d);
}

/* ---- The request as JSON --------------------------------------------------------------------- */

static void write_string(rmsnorm_js_text *text, const char *string)
{
    rmsnorm_js_next(text);
    rmsnorm_js_string(text, string, strlen(string));
}

static void write_input(rmsnorm_js_text *text, const char *key, const rmsnorm_tensor *tensor)
{
    rmsnorm_js_name(text, key);
    rmsnorm_js_raw(text, "{\"dtype\":");
    rmsnorm_js_string(text, rmsnorm_dtype_name(tensor->dtype), strlen(rmsnorm_dtype_name(tensor->dtype)));
    rmsnorm_js_name(text, "shape");
    rmsnorm_js_raw(text, "[");
    for (int32_t i = 0; i < tensor->rank; i++) {
        rmsnorm_js_next(text);
        rmsnorm_js_number(text, tensor->dims[i]);
    }
    rmsnorm_js_raw(text, "]}");
}

static void write_number(rmsnorm_js_text *text, const char *name, uint64_t value)
{
    rmsnorm_js_name(text, name);
    rmsnorm_js_number(text, (int64_t)value);
}

static void write_device(rmsnorm_js_text *text, const rmsnorm_device_profile *device)
{
    rmsnorm_js_name(text, "device");
    rmsnorm_js_raw(text, "{");
    write_number(text, "maxStorageBufferBindingSize", device->max_storage_buffer_binding_size);
    write_number(text, "maxComputeInvocationsPerWorkgroup", device->max_compute_invocations_per_workgroup);
    write_number(text, "maxComputeWorkgroupSizeX", device->max_compute_workgroup_size_x);
    write_number(text, "subgroupMinSize", device->subgroup_min_size);
    write_number(text, "subgroupMaxSize", device->subgroup_max_size);
    write_number(text, "shader-f16", device->shader_f16);
    write_number(text, "subgroups", device->subgroups);
    rmsnorm_js_raw(text, "}");
}

static void write_attributes(rmsnorm_js_text *text, const drawn *d)
{
    char epsilon[32];
    rmsnorm_js_name(text, "attributes");
    rmsnorm_js_raw(text, "{");
    if (d->op->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        rmsnorm_js_name(text, "axis");
        rmsnorm_js_number(text, d->attributes.axis);
    }
    (void)snprintf(epsilon, sizeof epsilon, "%.9g", (double)d->attributes.epsilon);
    rmsnorm_js_name(text, "epsilon");
    rmsnorm_js_raw(text, epsilon);
    rmsnorm_js_raw(text, "}");
}

static void write_memory(rmsnorm_js_text *text, const drawn *d, const rmsnorm_package_info *info)
{
    rmsnorm_js_name(text, "outputs");
    rmsnorm_js_raw(text, "[");
    for (size_t i = 0; i < info->output_count; i++) {
        if (d->request.wanted[i]) {
            write_string(text, info->outputs[i].key);
        }
    }
    rmsnorm_js_raw(text, "]");
    if (d->request.in_place[0] > 0) {
        rmsnorm_js_name(text, "inPlace");
        rmsnorm_js_raw(text, "{");
        rmsnorm_js_name(text, info->outputs[0].key);
        rmsnorm_js_string(text, info->inputs[0].key, strlen(info->inputs[0].key));
        rmsnorm_js_raw(text, "}");
    }
    if (d->request.beside_output[1]) {
        rmsnorm_js_name(text, "besideOutput");
        rmsnorm_js_raw(text, "[");
        write_string(text, info->inputs[1].key);
        rmsnorm_js_raw(text, "]");
    }
}

static void write_request(rmsnorm_js_text *text, const drawn *d, const rmsnorm_package_info *info)
{
    rmsnorm_js_raw(text, "{");
    rmsnorm_js_name(text, "inputs");
    rmsnorm_js_raw(text, "{");
    for (size_t i = 0; i < info->input_count; i++) {
        if (d->request.inputs[i] != NULL) {
            write_input(text, info->inputs[i].key, d->request.inputs[i]);
        }
    }
    rmsnorm_js_raw(text, "}");
    write_memory(text, d, info);
    write_attributes(text, d);
    write_device(text, &d->device);
    rmsnorm_js_name(text, "tunables");
    rmsnorm_js_raw(text, "{");
    for (size_t i = 0; i < d->request.tunable_count; i++) {
        rmsnorm_js_name(text, d->request.tunables[i].name);
        rmsnorm_js_number(text, d->request.tunables[i].value);
    }
    rmsnorm_js_raw(text, "}");
    if (d->request.variant != NULL) {
        rmsnorm_js_name(text, "variant");
        rmsnorm_js_string(text, d->request.variant, strlen(d->request.variant));
    }
    rmsnorm_js_name(text, "batchInvariant");
    rmsnorm_js_raw(text, d->request.batch_invariant ? "true}" : "false}");
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Without JSON on the way in. */
static void answer_directly(rmsnorm_js_text *text, const drawn *d, const rmsnorm_package_info *info)
{
    rmsnorm_plan *plan;
    const rmsnorm_status status = rmsnorm_plan_make(d->package, &d->request, &plan);
    if (status != RMSNORM_OK) {
        rmsnorm_js_write_refusal(text, status, rmsnorm_last_error());
        return;
    }
    rmsnorm_js_write_plan(text, info, plan);
    rmsnorm_plan_release(plan);
}

static int print_pair(const drawn *d)
{
    rmsnorm_js_text request = {.data = NULL};
    rmsnorm_js_text direct = {.data = NULL};
    rmsnorm_package_info info;
    rmsnorm_package_describe(d->package, &info);
    write_request(&request, d, &info);
    answer_directly(&direct, d, &info);
    memcpy(rmsnorm_js_input(request.size), request.data, request.size);
    rmsnorm_js_plan(d->package, request.size);
    const int differs = strcmp(rmsnorm_js_answer(), direct.data);
    if (differs != 0) {
        fprintf(stderr, "plan_pairs: %s\nsays %s\nand without JSON %s\n", request.data, rmsnorm_js_answer(),
                direct.data);
    }
    printf("%s\n%s\n%s\n", info.name, request.data, direct.data);
    free(request.data);
    free(direct.data);
    return differs;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: plan_pairs COUNT SEED\n");
        return 2;
    }
    rng random = {strtoull(argv[2], NULL, 10)};
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        drawn d;
        draw(&random, &d);
        if (print_pair(&d) != 0) {
            return 1;
        }
    }
    return 0;
}
