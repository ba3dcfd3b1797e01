/* run.c: an operator on tensors of the device: who shares memory with whom, the plan, and off it goes. */
#include <stdio.h>
#include <string.h>

#include "operator/error.h"
#include "operator/text.h"
#include "webgpu/buffer.h"
#include "webgpu/choose.h"
#include "webgpu/programs.h"
#include "webgpu/run.h"
#include "webgpu/submit.h"
#include "webgpu/tensor.h"

/* One call, from its arguments to its plan. */
typedef struct call {
    rmsnorm_webgpu *webgpu;
    const rmsnorm_webgpu_run_options *options;
    rmsnorm_package_info info;
    const rmsnorm_package *package;
    const rmsnorm_webgpu_tensor *inputs[RMSNORM_MAX_SLOTS];
    rmsnorm_webgpu_tensor *outputs[RMSNORM_MAX_SLOTS];
    rmsnorm_extent from[RMSNORM_MAX_SLOTS], to[RMSNORM_MAX_SLOTS];
    bool copied[RMSNORM_MAX_SLOTS]; /* inputs that have to be read from elsewhere */
    bool made[RMSNORM_MAX_SLOTS];   /* outputs that got their buffer here */
    rmsnorm_request request;
} call;

/* "SimplifiedLayerNormalization: X" */
static rmsnorm_words input_name(const call *what, size_t slot)
{
    rmsnorm_words words;
    snprintf(words.text, sizeof words.text, "%s: %s", what->info.operator_name,
             slot < what->info.input_count ? what->info.inputs[slot].onnx : "an input too many");
    return words;
}

static rmsnorm_words output_name(const call *what, size_t slot)
{
    rmsnorm_words words;
    snprintf(words.text, sizeof words.text, "%s: %s", what->info.operator_name,
             slot < what->info.output_count ? what->info.outputs[slot].onnx : "an output too many");
    return words;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static bool overlap(const rmsnorm_extent *a, const rmsnorm_extent *b)
{
    return a->buffer == b->buffer && a->bytes > 0 && b->bytes > 0 && a->begin < b->begin + b->bytes &&
           b->begin < a->begin + a->bytes;
}

/* An output that lies exactly where an input does is computed in place; the planner checks that both are alike. Further inputs at
 * the same place are copied first: a buffer that is written can be bound once. */
static rmsnorm_status relate(call *what, size_t output, size_t input)
{
    const rmsnorm_extent *const to = &what->to[output];
    const rmsnorm_extent *const from = &what->from[input];
    if (overlap(to, from)) {
        RMSNORM_CHECK(to->begin == from->begin && to->bytes == from->bytes, RMSNORM_INVALID_ARGUMENT,
                      "%s overlaps %s; allowed: exactly the same place, or none of it", output_name(what, output).text,
                      what->info.inputs[input].onnx);
        if (what->request.in_place[output] == 0) {
            what->request.in_place[output] = (int)input + 1;
        } else {
            what->copied[input] = true;
        }
    } else if (to->buffer == from->buffer && to->buffer != NULL && from->bytes > 0) {
        what->request.beside_output[input] = true;
    }
    return RMSNORM_OK;
}

static bool is_in_place(const call *what, size_t input)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (what->request.in_place[i] == (int)input + 1) {
            return true;
        }
    }
    return false;
}

/* Bindings of one buffer that may be written must not overlap, not even for reading. */
static void separate_inputs(call *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (what->copied[i] || is_in_place(what, i)) {
            what->request.beside_output[i] = false;
        }
        for (size_t j = 0; j < i && what->request.beside_output[i]; j++) {
            if (what->request.beside_output[j] && overlap(&what->from[i], &what->from[j])) {
                what->copied[i] = true;
                what->request.beside_output[i] = false;
            }
        }
    }
}

static rmsnorm_status read_memory(call *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        what->from[i] = (rmsnorm_extent){NULL, 0, 0};
        what->to[i] = (rmsnorm_extent){NULL, 0, 0};
        if (what->inputs[i] != NULL) {
            RMSNORM_TRY(rmsnorm_tensor_extent(what->inputs[i], input_name(what, i).text, &what->from[i]));
        }
        if (what->outputs[i] != NULL && what->outputs[i]->buffer != NULL) {
            RMSNORM_TRY(rmsnorm_tensor_extent(what->outputs[i], output_name(what, i).text, &what->to[i]));
        }
    }
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        for (size_t j = 0; j < RMSNORM_MAX_SLOTS; j++) {
            RMSNORM_TRY(relate(what, i, j));
            RMSNORM_CHECK(j >= i || !overlap(&what->to[i], &what->to[j]), RMSNORM_INVALID_ARGUMENT,
                          "%s overlaps %s; allowed: outputs apart from each other", output_name(what, i).text,
                          what->info.outputs[j].onnx);
        }
    }
    separate_inputs(what);
    return RMSNORM_OK;
}

static rmsnorm_status check_memory(const call *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (what->from[i].bytes > 0) {
            const WGPUBufferUsage usage =
                what->copied[i] ? WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc : WGPUBufferUsage_Storage;
            RMSNORM_TRY(rmsnorm_extent_check(what->webgpu, &what->from[i], usage, input_name(what, i).text));
        }
        if (what->to[i].bytes > 0) {
            RMSNORM_TRY(
                rmsnorm_extent_check(what->webgpu, &what->to[i], WGPUBufferUsage_Storage, output_name(what, i).text));
        }
    }
    return RMSNORM_OK;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static rmsnorm_status find_program(const call *what, rmsnorm_program **program)
{
    rmsnorm_program_key key;
    RMSNORM_TRY(rmsnorm_program_key_make(what->info.serial, &what->request, &key));
    *program = rmsnorm_programs_find(what->webgpu, &key);
    if (*program != NULL) {
        return RMSNORM_OK;
    }
    rmsnorm_plan *plan;
    RMSNORM_TRY(rmsnorm_webgpu_choose(what->webgpu, what->package, &what->request, &plan));
    return rmsnorm_programs_add(what->webgpu, &key, plan, program);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static bool same_shape(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) {
        return false;
    }
    for (int32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d]) {
            return false;
        }
    }
    return true;
}

/* Those without a buffer get one, after all others were found right. */
static rmsnorm_status place_outputs(call *what, const rmsnorm_plan *plan)
{
    for (size_t i = 0; i < plan->output_count; i++) {
        const rmsnorm_tensor *const given = what->outputs[i] == NULL ? NULL : &what->outputs[i]->tensor;
        RMSNORM_CHECK(given == NULL || what->outputs[i]->buffer == NULL || same_shape(given, &plan->outputs[i]),
                      RMSNORM_INVALID_ARGUMENT, "%s is %s %s; allowed: %s %s", output_name(what, i).text,
                      rmsnorm_dtype_name(given->dtype), rmsnorm_words_tensor(given).text,
                      rmsnorm_dtype_name(plan->outputs[i].dtype), rmsnorm_words_tensor(&plan->outputs[i]).text);
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        if (what->outputs[i] != NULL && what->outputs[i]->buffer == NULL) {
            rmsnorm_webgpu_tensor made = {.tensor = plan->outputs[i]};
            RMSNORM_TRY(rmsnorm_tensor_place(what->webgpu, &made, output_name(what, i).text));
            *what->outputs[i] = made;
            what->made[i] = true;
        }
    }
    return RMSNORM_OK;
}

static void unplace_outputs(call *what)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (what->made[i]) {
            rmsnorm_buffer_give(what->webgpu, what->outputs[i]->buffer);
            what->outputs[i]->buffer = NULL;
        }
    }
}

/* ---- Running --------------------------------------------------------------------------------- */

/* Takes buffers for the inputs that are to be copied. */
static rmsnorm_status place_copies(const call *what, rmsnorm_places *places, rmsnorm_copy *copies, size_t *count)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        places->inputs[i].buffer = what->from[i].buffer;
        places->inputs[i].offset = what->from[i].begin;
        if (what->outputs[i] != NULL) {
            places->outputs[i].buffer = what->outputs[i]->buffer;
            places->outputs[i].offset = what->outputs[i]->offset;
        }
        if (what->copied[i]) {
            rmsnorm_copy *const copy = &copies[*count];
            RMSNORM_TRY(
                rmsnorm_buffer_take(what->webgpu, what->from[i].bytes, RMSNORM_TENSOR_USAGE, "a copy", &copy->to));
            ++*count;
            copy->from = what->from[i].buffer;
            copy->offset = what->from[i].begin;
            copy->bytes = what->from[i].bytes;
            places->inputs[i].buffer = copy->to;
            places->inputs[i].offset = 0;
        }
    }
    return RMSNORM_OK;
}

/* The first run of a program is watched: what could be wrong with its bindings shows then. Not while a time is taken: that waits,
 * and others may use the device meanwhile. */
static rmsnorm_status bind_and_submit(const call *what, rmsnorm_program *program, const rmsnorm_places *places,
                                      const rmsnorm_copy *copies, size_t copy_count)
{
    rmsnorm_webgpu *const webgpu = what->webgpu;
    const bool timed = what->options->seconds != NULL;
    if (program->tried) {
        RMSNORM_TRY(rmsnorm_program_bind(webgpu, program, places));
        return rmsnorm_submit(webgpu, program, copies, copy_count, what->options);
    }
    rmsnorm_webgpu_scope_begin(webgpu);
    rmsnorm_status status = rmsnorm_program_bind(webgpu, program, places);
    if (status == RMSNORM_OK && !timed) {
        status = rmsnorm_submit(webgpu, program, copies, copy_count, what->options);
    }
    const rmsnorm_status watched = rmsnorm_webgpu_scope_end(webgpu, what->info.name);
    status = status == RMSNORM_OK ? watched : status;
    program->tried = status == RMSNORM_OK;
    if (status != RMSNORM_OK) {
        rmsnorm_program_unbind(webgpu, program);
    }
    return status == RMSNORM_OK && timed ? rmsnorm_submit(webgpu, program, copies, copy_count, what->options) : status;
}

/* Programs hold on to the tensors they ran on last, for the next run on them. Not to larger ones than this: to bind those again is
 * nothing beside their kernels' time, and many of them would fill the device. */
#define HELD_BYTES ((uint64_t)1 << 20)

static uint64_t input_bytes(const call *what)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        bytes += what->from[i].bytes;
    }
    return bytes;
}

static rmsnorm_status submit(call *what, rmsnorm_program *program)
{
    rmsnorm_places places;
    rmsnorm_copy copies[RMSNORM_MAX_SLOTS];
    size_t count = 0;
    memset(&places, 0, sizeof places);
    rmsnorm_status status = place_copies(what, &places, copies, &count);
    if (status == RMSNORM_OK) {
        status = bind_and_submit(what, program, &places, copies, count);
    }
    if (input_bytes(what) > HELD_BYTES) {
        rmsnorm_program_unbind(what->webgpu, program);
    }
    for (size_t i = 0; i < count; i++) {
        if (what->options->encoder == NULL) {
            rmsnorm_buffer_give(what->webgpu, copies[i].to);
        } else {
            what->webgpu->functions.BufferRelease(copies[i].to); /* the recorded commands keep it */
        }
    }
    return status;
}

static rmsnorm_status run(call *what)
{
    RMSNORM_TRY(read_memory(what));
    rmsnorm_program *program;
    RMSNORM_TRY(find_program(what, &program));
    RMSNORM_TRY(check_memory(what));
    rmsnorm_status status = place_outputs(what, program->plan);
    if (status == RMSNORM_OK) {
        status = submit(what, program);
    }
    if (status == RMSNORM_OK) {
        status = rmsnorm_webgpu_report(what->webgpu);
    }
    if (status != RMSNORM_OK) {
        unplace_outputs(what);
    }
    return status;
}

rmsnorm_status rmsnorm_webgpu_run_locked(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                         const rmsnorm_attributes *attributes,
                                         const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                         rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                         const rmsnorm_webgpu_run_options *options)
{
    call what;
    memset(&what, 0, sizeof what);
    what.webgpu = webgpu;
    what.options = options;
    what.package = options->package;
    if (what.package == NULL) {
        RMSNORM_TRY(rmsnorm_webgpu_package(webgpu, op, &what.package));
    }
    rmsnorm_package_describe(what.package, &what.info);
    RMSNORM_CHECK(input_count <= what.info.input_count && output_count <= what.info.output_count,
                  RMSNORM_INVALID_ARGUMENT, "%s: %zu inputs and %zu outputs; allowed: at most %zu and %zu", op->name,
                  input_count, output_count, what.info.input_count, what.info.output_count);
    what.request = (rmsnorm_request)RMSNORM_REQUEST_INIT;
    for (size_t i = 0; i < input_count; i++) {
        what.inputs[i] = inputs[i];
        what.request.inputs[i] = inputs[i] == NULL ? NULL : &inputs[i]->tensor;
    }
    for (size_t i = 0; i < output_count; i++) {
        what.outputs[i] = outputs[i];
        what.request.wanted[i] = outputs[i] != NULL;
        RMSNORM_CHECK(outputs[i] != NULL || what.info.outputs[i].optional, RMSNORM_INVALID_ARGUMENT,
                      "%s: output %s is omitted; allowed: it is required", op->name, what.info.outputs[i].onnx);
    }
    RMSNORM_CHECK(output_count > 0, RMSNORM_INVALID_ARGUMENT, "%s: there is no output; allowed: %s at least", op->name,
                  what.info.outputs[0].onnx);
    what.request.attributes = attributes;
    what.request.device = &webgpu->adapter.profile;
    what.request.batch_invariant = options->batch_invariant;
    what.request.variant = options->variant;
    what.request.tunable_count = options->tunable_count;
    memcpy(what.request.tunables, options->tunables, sizeof what.request.tunables);
    return run(&what);
}

rmsnorm_status rmsnorm_webgpu_run(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                  const rmsnorm_attributes *attributes, const rmsnorm_webgpu_tensor *const *inputs,
                                  size_t input_count, rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                  const rmsnorm_webgpu_run_options *options)
{
    rmsnorm_webgpu_run_options ours;
    RMSNORM_CHECK(webgpu != NULL && op != NULL && (inputs != NULL || input_count == 0) &&
                      (outputs != NULL || output_count == 0),
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_webgpu_run: webgpu, op, inputs or outputs is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_read_run_options(options, &ours));
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    return rmsnorm_webgpu_leave(
        webgpu, rmsnorm_webgpu_run_locked(webgpu, op, attributes, inputs, input_count, outputs, output_count, &ours));
}
