/* plan_request.c: the words of rmsnorm plan as a request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "cli.h"
#include "descriptor.h"
#include "device.h"
#include "plan.h"
#include "slots.h"
#include "text.h"

/* ---- Names ----------------------------------------------------------------------------------- */

static bool same(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && strncmp(name, word, length) == 0;
}

/* The slot whose bind key, or ONNX's name, is the first `length` bytes of word. */
static int find_slot(const rmsnorm_package_info *info, bool input, const char *word, size_t length, size_t *slot)
{
    const rmsnorm_package_slot *slots = input ? info->inputs : info->outputs;
    const size_t count = input ? info->input_count : info->output_count;
    char names[RMSNORM_CLI_NAMES] = "";
    for (*slot = 0; *slot < count; ++*slot) {
        const rmsnorm_package_slot *at = &slots[*slot];
        if (same(at->onnx, word, length) || same(at->key, word, length)) {
            return RMSNORM_CLI_DONE;
        }
        rmsnorm_cli_append(names, sizeof names, "%s%s", *slot == 0 ? "" : ", ", at->onnx);
        if (strcmp(at->onnx, at->key) != 0) {
            rmsnorm_cli_append(names, sizeof names, " (%s)", at->key);
        }
    }
    return rmsnorm_cli_fail("%s has no %s '%.*s', it has %s", info->operator_name, input ? "input" : "output",
                            (int)(length < 80 ? length : 80), word, names);
}

/* ---- Parts of the request -------------------------------------------------------------------- */

static int add_input(rmsnorm_cli_plan_call *call, const char *word)
{
    const size_t length = strcspn(word, "=");
    size_t slot;
    if (word[length] == '\0') {
        return rmsnorm_cli_fail("%s: '%s' is no input, write INPUT=DTYPE:DIM,DIM,...", call->info.operator_name, word);
    }
    if (find_slot(&call->info, true, word, length, &slot) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const char *name = call->info.inputs[slot].onnx;
    if (call->request.inputs[slot] != NULL) {
        return rmsnorm_cli_fail("input '%s' is given twice, once is allowed", name);
    }
    const size_t size = strlen(word + length);
    char *text = rmsnorm_cli_allocate(size, 1);
    memcpy(text, word + length + 1, size);
    const int code = rmsnorm_cli_descriptor_parse(name, text, false, &call->inputs[slot]);
    free(text);
    call->request.inputs[slot] = &call->inputs[slot];
    return code;
}

static int add_output(rmsnorm_cli_plan_call *call, const char *word)
{
    size_t slot;
    if (find_slot(&call->info, false, word, strlen(word), &slot) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (call->request.wanted[slot]) {
        return rmsnorm_cli_fail("output '%s' is asked for twice, once is allowed", call->info.outputs[slot].onnx);
    }
    call->request.wanted[slot] = true;
    return RMSNORM_CLI_DONE;
}

/* After inputs and outputs. */
static int add_in_place(rmsnorm_cli_plan_call *call, const char *word)
{
    const size_t length = strcspn(word, "=");
    size_t output;
    size_t input;
    if (word[length] == '\0') {
        return rmsnorm_cli_fail("--in-place is '%s', allowed is OUTPUT=INPUT", word);
    }
    const char *second = word + length + 1;
    if (find_slot(&call->info, false, word, length, &output) != RMSNORM_CLI_DONE ||
        find_slot(&call->info, true, second, strlen(second), &input) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const rmsnorm_package_slot *slot = &call->info.outputs[output];
    if (call->request.in_place[output] != 0) {
        return rmsnorm_cli_fail("--in-place: output '%s' is given twice, once is allowed", slot->onnx);
    }
    if (slot->optional && !call->request.wanted[output]) {
        return rmsnorm_cli_fail("--in-place: output '%s' is not asked for, add --output %s", slot->onnx, slot->onnx);
    }
    if (call->request.inputs[input] == NULL) {
        return rmsnorm_cli_fail("--in-place: input '%s' is not given", call->info.inputs[input].onnx);
    }
    call->request.in_place[output] = (int)input + 1;
    return RMSNORM_CLI_DONE;
}

static int add_tunable(rmsnorm_cli_plan_call *call, const char *word)
{
    rmsnorm_request *request = &call->request;
    const size_t length = strcspn(word, "=");
    long long value;
    if (word[length] == '\0' || !rmsnorm_cli_integer(word + length + 1, INT64_MIN, INT64_MAX, &value)) {
        return rmsnorm_cli_fail("--tunable is '%s', allowed is NAME=NUMBER, with a whole number", word);
    }
    if (request->tunable_count == RMSNORM_MAX_TUNABLES) {
        return rmsnorm_cli_fail("--tunable: more than %d are given, which is the most", RMSNORM_MAX_TUNABLES);
    }
    for (size_t i = 0; i < request->tunable_count; ++i) {
        if (same(request->tunables[i].name, word, length)) {
            return rmsnorm_cli_fail("--tunable '%s' is given twice, once is allowed", request->tunables[i].name);
        }
    }
    char *name = rmsnorm_cli_allocate(length + 1, 1);
    memcpy(name, word, length);
    call->tunables[request->tunable_count] = name;
    request->tunables[request->tunable_count++] = (rmsnorm_tunable){name, value};
    return RMSNORM_CLI_DONE;
}

static int set_device(rmsnorm_cli_plan_call *call, const rmsnorm_cli_plan_words *words)
{
    int code = RMSNORM_CLI_DONE;
    call->device = (rmsnorm_device_profile)RMSNORM_DEVICE_PROFILE_INIT;
    call->request.device = &call->device;
    if (words->profile != NULL) {
        code = rmsnorm_cli_device_read(words->profile, &call->device);
    }
    for (size_t i = 0; i < words->limits.count && code == RMSNORM_CLI_DONE; ++i) {
        code = rmsnorm_cli_device_limit(words->limits.items[i], &call->device);
    }
    for (size_t i = 0; i < words->features.count && code == RMSNORM_CLI_DONE; ++i) {
        code = rmsnorm_cli_device_feature(words->features.items[i], &call->device);
    }
    return code;
}

/* An operator that the library does not know has the manifest's attributes only. */
static int set_attributes(rmsnorm_cli_plan_call *call, const rmsnorm_cli_list *words)
{
    if (call->op == NULL) {
        return words->count == 0 ? RMSNORM_CLI_DONE
                                 : rmsnorm_cli_fail("--attr '%s': %s::%s is no operator of this library, so that its "
                                                    "attributes are the manifest's defaults",
                                                    words->items[0], call->info.domain, call->info.operator_name);
    }
    call->request.attributes = &call->attributes;
    return rmsnorm_cli_attributes_parse(call->op, words, &call->attributes);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int open_package(rmsnorm_cli_plan_call *call, const rmsnorm_cli_plan_words *words)
{
    char *folder;
    if ((words->op == NULL) == (words->package.name == NULL)) {
        return rmsnorm_cli_fail(words->op == NULL
                                    ? "nothing to plan is given, write --op [DOMAIN::]NAME or --package DIR"
                                    : "--op and --package both name what to plan: give one");
    }
    rmsnorm_status status;
    if (words->op != NULL && rmsnorm_cli_kernel_is_remote(&words->package)) {
        return rmsnorm_cli_fail("--version and --revision go with --package ORG/NAME");
    }
    if (words->op != NULL) {
        call->op = rmsnorm_operator_parse(words->op);
        status = call->op != NULL ? rmsnorm_package_open_operator(call->op->domain, call->op->name, &call->package)
                                  : RMSNORM_NOT_FOUND;
    } else {
        if (rmsnorm_cli_kernel_folder(&words->package, &folder) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        status = rmsnorm_package_open(folder, &call->package);
        free(folder);
    }
    if (status != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    rmsnorm_package_describe(call->package, &call->info);
    call->op = rmsnorm_operator_find(call->info.domain, call->info.operator_name, 0);
    return RMSNORM_CLI_DONE;
}

typedef int (*add_word)(rmsnorm_cli_plan_call *call, const char *word);

static int add_all(rmsnorm_cli_plan_call *call, const rmsnorm_cli_list *words, add_word add)
{
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < words->count && code == RMSNORM_CLI_DONE; ++i) {
        code = add(call, words->items[i]);
    }
    return code;
}

int rmsnorm_cli_plan_prepare(const rmsnorm_cli_plan_words *words, rmsnorm_cli_plan_call *call)
{
    *call = (rmsnorm_cli_plan_call){.request = RMSNORM_REQUEST_INIT};
    call->request.variant = words->variant;
    call->request.batch_invariant = words->batch_invariant;
    const bool ready =
        open_package(call, words) == RMSNORM_CLI_DONE && set_attributes(call, &words->attributes) == RMSNORM_CLI_DONE &&
        add_all(call, &words->inputs, add_input) == RMSNORM_CLI_DONE &&
        add_all(call, &words->outputs, add_output) == RMSNORM_CLI_DONE &&
        add_all(call, &words->in_place, add_in_place) == RMSNORM_CLI_DONE &&
        add_all(call, &words->tunables, add_tunable) == RMSNORM_CLI_DONE && set_device(call, words) == RMSNORM_CLI_DONE;
    return ready ? RMSNORM_CLI_DONE : RMSNORM_CLI_BAD;
}

void rmsnorm_cli_plan_release(rmsnorm_cli_plan_call *call)
{
    for (size_t i = 0; i < RMSNORM_MAX_TUNABLES; ++i) {
        free(call->tunables[i]);
    }
    rmsnorm_package_close(call->package);
}
