#include "answer.h"

#include <string.h>

static void write_text(rmsnorm_js_text *text, const char *name, const char *value)
{
    rmsnorm_js_name(text, name);
    rmsnorm_js_string(text, value, strlen(value));
}

static void write_number(rmsnorm_js_text *text, const char *name, int64_t value)
{
    rmsnorm_js_name(text, name);
    rmsnorm_js_number(text, value);
}

static void write_flag(rmsnorm_js_text *text, const char *name, bool value)
{
    rmsnorm_js_name(text, name);
    rmsnorm_js_raw(text, value ? "true" : "false");
}

static void open_list(rmsnorm_js_text *text, const char *name)
{
    rmsnorm_js_name(text, name);
    rmsnorm_js_raw(text, "[");
}

static void write_words(rmsnorm_js_text *text, const char *name, const uint32_t *words, size_t count)
{
    open_list(text, name);
    for (size_t i = 0; i < count; i++) {
        rmsnorm_js_next(text);
        rmsnorm_js_number(text, words[i]);
    }
    rmsnorm_js_raw(text, "]");
}

/* ---- A contract ------------------------------------------------------------------------------ */

static void write_slots(rmsnorm_js_text *text, const char *name, const rmsnorm_package_slot *slots, size_t count)
{
    open_list(text, name);
    for (size_t i = 0; i < count; i++) {
        rmsnorm_js_next(text);
        rmsnorm_js_raw(text, "{");
        write_text(text, "key", slots[i].key);
        write_text(text, "onnx", slots[i].onnx);
        write_text(text, "type", slots[i].type);
        write_flag(text, "optional", slots[i].optional);
        rmsnorm_js_raw(text, "}");
    }
    rmsnorm_js_raw(text, "]");
}

void rmsnorm_js_write_info(rmsnorm_js_text *text, const rmsnorm_package_info *info)
{
    rmsnorm_js_raw(text, "{");
    write_text(text, "name", info->name);
    write_text(text, "id", info->id);
    write_number(text, "version", info->version);
    write_text(text, "spec", info->spec);
    write_text(text, "domain", info->domain);
    write_text(text, "operator", info->operator_name);
    write_number(text, "sinceVersion", info->since_version);
    write_flag(text, "plans", info->plans);
    write_slots(text, "inputs", info->inputs, info->input_count);
    write_slots(text, "outputs", info->outputs, info->output_count);
    rmsnorm_js_raw(text, "}");
}

/* ---- A plan ---------------------------------------------------------------------------------- */

static void write_outputs(rmsnorm_js_text *text, const rmsnorm_package_info *info, const rmsnorm_plan *plan)
{
    rmsnorm_js_name(text, "outputs");
    rmsnorm_js_raw(text, "{");
    for (size_t i = 0; i < plan->output_count; i++) {
        const rmsnorm_tensor *const output = &plan->outputs[i];
        if (output->rank == RMSNORM_UNKNOWN) {
            continue;
        }
        rmsnorm_js_name(text, info->outputs[i].key);
        rmsnorm_js_raw(text, "{");
        write_text(text, "dtype", output->dtype == RMSNORM_FLOAT ? "float32" : rmsnorm_dtype_name(output->dtype));
        open_list(text, "shape");
        for (int32_t d = 0; d < output->rank; d++) {
            rmsnorm_js_next(text);
            rmsnorm_js_number(text, output->dims[d]);
        }
        rmsnorm_js_raw(text, "]}");
    }
    rmsnorm_js_raw(text, "}");
}

static void write_shaders(rmsnorm_js_text *text, const rmsnorm_plan *plan)
{
    open_list(text, "shaders");
    for (size_t i = 0; i < plan->shader_count; i++) {
        rmsnorm_js_next(text);
        rmsnorm_js_raw(text, "{");
        write_text(text, "label", plan->shaders[i].label);
        rmsnorm_js_name(text, "wgsl");
        rmsnorm_js_string(text, plan->shaders[i].wgsl, plan->shaders[i].length);
        rmsnorm_js_raw(text, "}");
    }
    rmsnorm_js_raw(text, "]");
}

static void write_binding(rmsnorm_js_text *text, const rmsnorm_package_info *info, const rmsnorm_binding *binding)
{
    static const char *const kinds[] = {
        [RMSNORM_BUFFER_INPUT] = "input", [RMSNORM_BUFFER_OUTPUT] = "output", [RMSNORM_BUFFER_SCRATCH] = "scratch"};
    rmsnorm_js_next(text);
    rmsnorm_js_raw(text, "{");
    write_number(text, "binding", binding->binding);
    write_text(text, "name", binding->name);
    write_text(text, "kind", kinds[binding->kind]);
    if (binding->kind == RMSNORM_BUFFER_SCRATCH) {
        write_number(text, "slot", (int64_t)binding->slot);
    } else {
        write_text(text, "slot",
                   (binding->kind == RMSNORM_BUFFER_INPUT ? info->inputs : info->outputs)[binding->slot].key);
    }
    write_flag(text, "writes", binding->writes);
    write_number(text, "offset", (int64_t)binding->offset);
    write_number(text, "size", (int64_t)binding->size);
    rmsnorm_js_raw(text, "}");
}

static void write_passes(rmsnorm_js_text *text, const rmsnorm_package_info *info, const rmsnorm_plan *plan)
{
    open_list(text, "passes");
    for (size_t i = 0; i < plan->pass_count; i++) {
        const rmsnorm_pass *const pass = &plan->passes[i];
        rmsnorm_js_next(text);
        rmsnorm_js_raw(text, "{");
        write_number(text, "shader", (int64_t)pass->shader);
        write_words(text, "workgroups", pass->workgroups, 3);
        write_number(text, "uniformBinding", pass->uniform_binding);
        write_words(text, "uniforms", pass->uniforms, pass->uniform_count);
        open_list(text, "bindings");
        for (size_t b = 0; b < pass->binding_count; b++) {
            write_binding(text, info, &pass->bindings[b]);
        }
        rmsnorm_js_raw(text, "]}");
    }
    rmsnorm_js_raw(text, "]");
}

void rmsnorm_js_write_plan(rmsnorm_js_text *text, const rmsnorm_package_info *info, const rmsnorm_plan *plan)
{
    rmsnorm_js_raw(text, "{");
    write_text(text, "variant", plan->variant);
    write_outputs(text, info, plan);
    write_shaders(text, plan);
    write_passes(text, info, plan);
    open_list(text, "scratch");
    for (size_t i = 0; i < plan->scratch_count; i++) {
        rmsnorm_js_next(text);
        rmsnorm_js_number(text, (int64_t)plan->scratch[i]);
    }
    rmsnorm_js_raw(text, "]");
    write_number(text, "peakMemory", (int64_t)plan->peak_memory);
    rmsnorm_js_raw(text, "}");
}

/* ---- A refusal ------------------------------------------------------------------------------- */

void rmsnorm_js_write_refusal(rmsnorm_js_text *text, rmsnorm_status status, const char *message)
{
    static const char *const names[] = {
        [RMSNORM_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [RMSNORM_UNSUPPORTED] = "UNSUPPORTED",
        [RMSNORM_NOT_FOUND] = "NOT_FOUND",
        [RMSNORM_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
        [RMSNORM_NOT_BUILT] = "NOT_BUILT",
        [RMSNORM_MALFORMED] = "MALFORMED",
    };
    const size_t code = (size_t)status;
    rmsnorm_js_raw(text, "{");
    write_text(text, "status", code < sizeof names / sizeof names[0] && names[code] != NULL ? names[code] : "FAILED");
    write_text(text, "error", message);
    rmsnorm_js_raw(text, "}");
}
