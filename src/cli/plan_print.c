/* plan_print.c: a plan as text, as WGSL and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "attributes.h"
#include "json.h"
#include "plan.h"
#include "text.h"

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_binding(const rmsnorm_cli_plan_call *call, const rmsnorm_binding *binding, const char *lead)
{
    printf("%s  binding %" PRIu32 " ", lead, binding->binding);
    rmsnorm_cli_show(stdout, binding->name);
    printf(": %s ", binding->writes ? "read_write" : "read");
    switch (binding->kind) {
    case RMSNORM_BUFFER_INPUT:
        rmsnorm_cli_show(stdout, call->info.inputs[binding->slot].onnx);
        break;
    case RMSNORM_BUFFER_OUTPUT:
        rmsnorm_cli_show(stdout, call->info.outputs[binding->slot].onnx);
        break;
    case RMSNORM_BUFFER_SCRATCH:
        printf("scratch %zu", binding->slot);
        break;
    }
    printf(", offset %" PRIu64 ", size %" PRIu64 "\n", binding->offset, binding->size);
}

static void print_pass(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan, size_t index, const char *lead)
{
    const rmsnorm_pass *pass = &plan->passes[index];
    printf("%spass %zu: ", lead, index);
    rmsnorm_cli_show(stdout, plan->shaders[pass->shader].label);
    printf(", workgroups %" PRIu32 " x %" PRIu32 " x %" PRIu32 "\n", pass->workgroups[0], pass->workgroups[1],
           pass->workgroups[2]);
    for (size_t i = 0; i < pass->binding_count; ++i) {
        print_binding(call, &pass->bindings[i], lead);
    }
    if (pass->uniform_count > 0) {
        printf("%s  binding %" PRIu32 " uniforms:", lead, pass->uniform_binding);
        for (size_t i = 0; i < pass->uniform_count; ++i) {
            printf(" %" PRIu32, pass->uniforms[i]);
        }
        putchar('\n');
    }
}

void rmsnorm_cli_plan_text(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan, const char *lead)
{
    char text[RMSNORM_CLI_SHAPE];
    char attributes[RMSNORM_CLI_ATTRIBUTES];
    printf("%s", lead);
    rmsnorm_cli_show(stdout, rmsnorm_cli_domain(call->info.domain));
    printf("::");
    rmsnorm_cli_show(stdout, call->info.operator_name);
    if (call->op != NULL) {
        printf(" %s", rmsnorm_cli_attributes(call->op, &call->attributes, attributes));
    }
    printf("\n%svariant: ", lead);
    rmsnorm_cli_show(stdout, plan->variant);
    putchar('\n');
    for (size_t i = 0; i < plan->output_count; ++i) {
        if (plan->outputs[i].rank != RMSNORM_UNKNOWN) {
            printf("%s", lead);
            rmsnorm_cli_show(stdout, call->info.outputs[i].onnx);
            printf(": %s %s\n", rmsnorm_dtype_name(plan->outputs[i].dtype), rmsnorm_cli_shape(&plan->outputs[i], text));
        }
    }
    for (size_t i = 0; i < plan->pass_count; ++i) {
        print_pass(call, plan, i, lead);
    }
    if (plan->pass_count == 0) {
        printf("%sno passes: there are no elements\n", lead);
    }
    for (size_t i = 0; i < plan->scratch_count; ++i) {
        printf("%sscratch %zu: %" PRIu64 " bytes\n", lead, i, plan->scratch[i]);
    }
    printf("%speak memory: %" PRIu64 " bytes\n", lead, plan->peak_memory);
}

void rmsnorm_cli_plan_wgsl(const rmsnorm_plan *plan)
{
    for (size_t i = 0; i < plan->shader_count; ++i) {
        const rmsnorm_shader *shader = &plan->shaders[i];
        printf("\n// ");
        rmsnorm_cli_show(stdout, shader->label);
        putchar('\n');
        fwrite(shader->wgsl, 1, shader->length, stdout);
        if (shader->length == 0 || shader->wgsl[shader->length - 1] != '\n') {
            putchar('\n');
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *binding_json(const rmsnorm_cli_plan_call *call, const rmsnorm_binding *binding)
{
    static const char *const kinds[] = {
        [RMSNORM_BUFFER_INPUT] = "input", [RMSNORM_BUFFER_OUTPUT] = "output", [RMSNORM_BUFFER_SCRATCH] = "scratch"};
    json_t *object = json_object();
    (void)json_object_set_new(object, "binding", json_integer(binding->binding));
    (void)json_object_set_new(object, "name", rmsnorm_cli_json_text(binding->name));
    (void)json_object_set_new(object, "buffer", json_string(kinds[binding->kind]));
    if (binding->kind == RMSNORM_BUFFER_SCRATCH) {
        (void)json_object_set_new(object, "scratch", json_integer((json_int_t)binding->slot));
    } else {
        const rmsnorm_package_slot *slots =
            binding->kind == RMSNORM_BUFFER_INPUT ? call->info.inputs : call->info.outputs;
        (void)json_object_set_new(object, "tensor", rmsnorm_cli_json_text(slots[binding->slot].onnx));
    }
    (void)json_object_set_new(object, "access", json_string(binding->writes ? "read_write" : "read"));
    (void)json_object_set_new(object, "offset", json_integer((json_int_t)binding->offset));
    (void)json_object_set_new(object, "size", json_integer((json_int_t)binding->size));
    return object;
}

static json_t *pass_json(const rmsnorm_cli_plan_call *call, const rmsnorm_pass *pass)
{
    json_t *bindings = json_array();
    json_t *uniforms = json_array();
    json_t *workgroups = json_array();
    for (size_t i = 0; i < pass->binding_count; ++i) {
        (void)json_array_append_new(bindings, binding_json(call, &pass->bindings[i]));
    }
    for (size_t i = 0; i < pass->uniform_count; ++i) {
        (void)json_array_append_new(uniforms, json_integer(pass->uniforms[i]));
    }
    for (size_t i = 0; i < 3; ++i) {
        (void)json_array_append_new(workgroups, json_integer(pass->workgroups[i]));
    }
    json_t *object = json_object();
    (void)json_object_set_new(object, "shader", json_integer((json_int_t)pass->shader));
    (void)json_object_set_new(object, "workgroups", workgroups);
    (void)json_object_set_new(object, "bindings", bindings);
    (void)json_object_set_new(object, "uniform_binding",
                              pass->uniform_count > 0 ? json_integer(pass->uniform_binding) : json_null());
    (void)json_object_set_new(object, "uniforms", uniforms);
    return object;
}

static json_t *outputs_json(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan)
{
    json_t *outputs = json_array();
    for (size_t i = 0; i < plan->output_count; ++i) {
        if (plan->outputs[i].rank != RMSNORM_UNKNOWN) {
            json_t *output = json_object();
            (void)json_object_set_new(output, "name", rmsnorm_cli_json_text(call->info.outputs[i].onnx));
            (void)json_object_set_new(output, "key", rmsnorm_cli_json_text(call->info.outputs[i].key));
            (void)json_object_set_new(output, "dtype", json_string(rmsnorm_dtype_name(plan->outputs[i].dtype)));
            (void)json_object_set_new(output, "shape", rmsnorm_cli_json_shape(&plan->outputs[i]));
            (void)json_array_append_new(outputs, output);
        }
    }
    return outputs;
}

static json_t *shaders_json(const rmsnorm_plan *plan)
{
    json_t *shaders = json_array();
    for (size_t i = 0; i < plan->shader_count; ++i) {
        json_t *shader = json_object();
        (void)json_object_set_new(shader, "label", rmsnorm_cli_json_text(plan->shaders[i].label));
        (void)json_object_set_new(shader, "wgsl", rmsnorm_cli_json_text(plan->shaders[i].wgsl));
        (void)json_array_append_new(shaders, shader);
    }
    return shaders;
}

/* What was asked. */
static json_t *call_json(const rmsnorm_cli_plan_call *call)
{
    json_t *root = json_object();
    (void)json_object_set_new(root, "operator", rmsnorm_cli_json_text(call->info.operator_name));
    (void)json_object_set_new(root, "domain", rmsnorm_cli_json_text(rmsnorm_cli_domain(call->info.domain)));
    (void)json_object_set_new(root, "package", rmsnorm_cli_json_text(call->info.id));
    (void)json_object_set_new(
        root, "attributes", call->op != NULL ? rmsnorm_cli_json_attributes(call->op, &call->attributes) : json_null());
    return root;
}

void rmsnorm_cli_plan_json(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan)
{
    json_t *passes = json_array();
    json_t *scratch = json_array();
    for (size_t i = 0; i < plan->pass_count; ++i) {
        (void)json_array_append_new(passes, pass_json(call, &plan->passes[i]));
    }
    for (size_t i = 0; i < plan->scratch_count; ++i) {
        (void)json_array_append_new(scratch, json_integer((json_int_t)plan->scratch[i]));
    }
    json_t *root = call_json(call);
    (void)json_object_set_new(root, "fits", json_true());
    (void)json_object_set_new(root, "variant", rmsnorm_cli_json_text(plan->variant));
    (void)json_object_set_new(root, "outputs", outputs_json(call, plan));
    (void)json_object_set_new(root, "passes", passes);
    (void)json_object_set_new(root, "shaders", shaders_json(plan));
    (void)json_object_set_new(root, "scratch", scratch);
    (void)json_object_set_new(root, "peak_memory", json_integer((json_int_t)plan->peak_memory));
    rmsnorm_cli_print_json(root, true);
}

void rmsnorm_cli_plan_json_refusal(const rmsnorm_cli_plan_call *call, const char *reason)
{
    json_t *root = call_json(call);
    (void)json_object_set_new(root, "fits", json_false());
    (void)json_object_set_new(root, "reason", rmsnorm_cli_json_text(reason));
    rmsnorm_cli_print_json(root, true);
}
