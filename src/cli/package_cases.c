/* package_cases.c: the cases of a kernel package, on the CPU or with its shaders on a WebGPU device. */
#include "package_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_tensor.h"
#include "cli.h"
#include "element.h"
#include "rmsnorm/package.h"
#include "slots.h"
#include "text.h"

enum { INPUT, OUTPUT, SIDES };

struct rmsnorm_cli_package_cases {
    char *folder;
    rmsnorm_package *own; /* NULL: another's */
    const rmsnorm_package *package;
    rmsnorm_package_info info;
    const rmsnorm_operator *op;
    size_t slots[SIDES][RMSNORM_MAX_SLOTS]; /* the operator's, for each of the package's */
    json_t *root;
    const json_t *list;
};

static const rmsnorm_package_slot *slots_of(const rmsnorm_cli_package_cases *cases, int side, size_t *count)
{
    *count = side == INPUT ? cases->info.input_count : cases->info.output_count;
    return side == INPUT ? cases->info.inputs : cases->info.outputs;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int find_operator(rmsnorm_cli_package_cases *cases)
{
    const rmsnorm_package_info *info = &cases->info;
    cases->op = rmsnorm_operator_find(info->domain, info->operator_name, info->since_version);
    if (cases->op == NULL) {
        return rmsnorm_cli_fail("%s: %s", cases->folder, rmsnorm_last_error());
    }
    for (int side = INPUT; side < SIDES; ++side) {
        size_t count;
        const rmsnorm_package_slot *slots = slots_of(cases, side, &count);
        for (size_t i = 0; i < count; ++i) {
            if (rmsnorm_cli_slot_find(cases->op, side == INPUT, slots[i].onnx, strlen(slots[i].onnx),
                                      &cases->slots[side][i]) != RMSNORM_CLI_DONE) {
                return rmsnorm_cli_fail("%s: %s", cases->folder, rmsnorm_cli_sentence());
            }
            for (size_t k = 0; k < i; ++k) {
                if (cases->slots[side][k] == cases->slots[side][i]) {
                    return rmsnorm_cli_fail("%s: the bind keys %s and %s are both %s", cases->folder, slots[k].key,
                                            slots[i].key, slots[i].onnx);
                }
            }
        }
    }
    return RMSNORM_CLI_DONE;
}

static int read_cases(rmsnorm_cli_package_cases *cases, const char *text, size_t size)
{
    json_error_t error;
    cases->root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (cases->root == NULL) {
        return rmsnorm_cli_fail("%s: test.json, line %d, column %d: %s", cases->folder, error.line, error.column,
                                error.text);
    }
    cases->list = json_object_get(cases->root, "cases");
    return json_array_size(cases->list) > 0
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s: test.json has no cases, allowed is {\"cases\": [...]} with at least one",
                                  cases->folder);
}

int rmsnorm_cli_package_cases_read(const char *name, const rmsnorm_package *package, const char *text, size_t size,
                                   rmsnorm_cli_package_cases **cases)
{
    rmsnorm_cli_package_cases *made = rmsnorm_cli_allocate(1, sizeof *made);
    made->folder = rmsnorm_cli_allocate(strlen(name) + 1, 1);
    memcpy(made->folder, name, strlen(name));
    made->package = package;
    rmsnorm_package_describe(package, &made->info);
    int code = find_operator(made);
    if (code == RMSNORM_CLI_DONE) {
        code = read_cases(made, text, size);
    }
    if (code != RMSNORM_CLI_DONE) {
        rmsnorm_cli_package_cases_close(made);
        made = NULL;
    }
    *cases = made;
    return code;
}

int rmsnorm_cli_package_cases_open(const char *folder, rmsnorm_cli_package_cases **cases)
{
    *cases = NULL;
    rmsnorm_package *package;
    if (rmsnorm_package_open(folder, &package) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    size_t size;
    const char *text = rmsnorm_package_text(package, "test.json", &size);
    const int code =
        text != NULL
            ? rmsnorm_cli_package_cases_read(folder, package, text, size, cases)
            : rmsnorm_cli_fail("%s: the package has no test.json, so there is nothing to test it with", folder);
    if (code == RMSNORM_CLI_DONE) {
        (*cases)->own = package;
    } else {
        rmsnorm_package_close(package);
    }
    return code;
}

void rmsnorm_cli_package_cases_close(rmsnorm_cli_package_cases *cases)
{
    if (cases != NULL) {
        json_decref(cases->root);
        rmsnorm_package_close(cases->own);
        free(cases->folder);
        free(cases);
    }
}

size_t rmsnorm_cli_package_cases_count(const rmsnorm_cli_package_cases *cases)
{
    return json_array_size(cases->list);
}

char *rmsnorm_cli_package_cases_name(const rmsnorm_cli_package_cases *cases, size_t index)
{
    const char *own = json_string_value(json_object_get(json_array_get(cases->list, index), "name"));
    const size_t size = strlen(cases->folder) + (own != NULL ? strlen(own) : 0) + 48;
    char *name = rmsnorm_cli_allocate(size, 1);
    if (own != NULL) {
        (void)snprintf(name, size, "%s: %s", cases->folder, own);
    } else {
        (void)snprintf(name, size, "%s: case %zu", cases->folder, index);
    }
    return name;
}

/* ---- Reading a case -------------------------------------------------------------------------- */

/* Tensors at the places of the operator's slots. */
typedef struct tensors {
    rmsnorm_tensor items[RMSNORM_MAX_SLOTS];
    rmsnorm_tensor *given[RMSNORM_MAX_SLOTS];
    const char *keys[RMSNORM_MAX_SLOTS];
    int64_t ulp[RMSNORM_MAX_SLOTS];
} tensors;

typedef struct call {
    rmsnorm_attributes attributes;
    tensors sides[SIDES];
    rmsnorm_tensor results[RMSNORM_MAX_SLOTS];
    rmsnorm_tensor *outputs[RMSNORM_MAX_SLOTS];
} call;

static int find_key(const rmsnorm_cli_package_cases *cases, int side, const char *key, size_t *index)
{
    size_t count;
    char names[RMSNORM_CLI_NAMES] = "";
    const rmsnorm_package_slot *slots = slots_of(cases, side, &count);
    for (*index = 0; *index < count; ++*index) {
        if (strcmp(slots[*index].key, key) == 0) {
            return RMSNORM_CLI_DONE;
        }
        rmsnorm_cli_append(names, sizeof names, "%s%s", *index == 0 ? "" : ", ", slots[*index].key);
    }
    return rmsnorm_cli_fail("%s has '%.40s', the package's bind keys are %s", side == INPUT ? "inputs" : "outputs", key,
                            names);
}

static int read_tensors(const rmsnorm_cli_package_cases *cases, int side, json_t *object, tensors *set)
{
    const char *const where = side == INPUT ? "inputs" : "outputs";
    if (!json_is_object(object)) {
        return rmsnorm_cli_fail("%s is no object", where);
    }
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        size_t index;
        if (find_key(cases, side, json_object_iter_key(at), &index) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        char what[RMSNORM_CLI_NAMES];
        (void)snprintf(what, sizeof what, "%s.%s", where, json_object_iter_key(at));
        const size_t slot = cases->slots[side][index];
        set->given[slot] = &set->items[slot];
        set->keys[slot] = json_object_iter_key(at);
        if (rmsnorm_cli_case_tensor(what, json_object_iter_value(at), &set->items[slot],
                                    side == INPUT ? NULL : &set->ulp[slot]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return side == INPUT || json_object_size(object) > 0 ? RMSNORM_CLI_DONE : rmsnorm_cli_fail("outputs lists none");
}

static bool is_float(const rmsnorm_operator *op, const char *name)
{
    for (size_t i = 0; i < op->attribute_count; ++i) {
        if (strcmp(op->attributes[i].name, name) == 0) {
            return op->attributes[i].kind == RMSNORM_ATTRIBUTE_FLOAT;
        }
    }
    return false;
}

static int read_attributes(const rmsnorm_operator *op, json_t *object, rmsnorm_attributes *attributes)
{
    rmsnorm_attributes_init(op, attributes);
    if (object == NULL) {
        return RMSNORM_CLI_DONE;
    }
    if (!json_is_object(object)) {
        return rmsnorm_cli_fail("attributes is no object");
    }
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        if (!json_is_number(value)) {
            return rmsnorm_cli_fail("attributes.%.40s is no number", name);
        }
        const bool whole = json_is_integer(value) && !is_float(op, name);
        const rmsnorm_status status =
            whole ? rmsnorm_attributes_set_int(op, attributes, name, json_integer_value(value))
                  : rmsnorm_attributes_set_float(op, attributes, name, (float)json_number_value(value));
        if (status != RMSNORM_OK) {
            return rmsnorm_cli_fail("attributes.%.40s: %s", name, rmsnorm_last_error());
        }
    }
    return RMSNORM_CLI_DONE;
}

static int read_case(const rmsnorm_cli_package_cases *cases, const json_t *object, call *state)
{
    static const char *const fields[] = {"name", "inputs", "?attributes", "outputs", NULL};
    int code = rmsnorm_cli_case_fields("the case", object, fields);
    if (code == RMSNORM_CLI_DONE && !json_is_string(json_object_get(object, "name"))) {
        code = rmsnorm_cli_fail("name is no string");
    }
    if (code == RMSNORM_CLI_DONE) {
        code = read_attributes(cases->op, json_object_get(object, "attributes"), &state->attributes);
    }
    for (int side = INPUT; side < SIDES && code == RMSNORM_CLI_DONE; ++side) {
        code = read_tensors(cases, side, json_object_get(object, side == INPUT ? "inputs" : "outputs"),
                            &state->sides[side]);
    }
    return code;
}

/* ---- Running it ------------------------------------------------------------------------------ */

static int compute(const rmsnorm_operator *op, call *state, const rmsnorm_cli_context *context)
{
    const rmsnorm_tensor *inputs[RMSNORM_MAX_SLOTS];
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        inputs[i] = state->sides[INPUT].given[i];
        state->outputs[i] = state->sides[OUTPUT].given[i] != NULL ? &state->results[i] : NULL;
    }
    return rmsnorm_cli_context_run(context, op, &state->attributes, inputs, op->input_count, state->outputs,
                                   op->output_count);
}

static int compare(const call *state, const rmsnorm_tensor *actual, size_t count, bool flushes,
                   rmsnorm_cli_results *results)
{
    const tensors *expected = &state->sides[OUTPUT];
    int code = RMSNORM_CLI_DONE;
    results->count = 0;
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        if (expected->given[i] != NULL) {
            const rmsnorm_cli_tolerance tolerance = {0, 0, expected->ulp[i], flushes};
            const size_t at = results->count++;
            results->names[at] = expected->keys[i];
            code = rmsnorm_cli_compare(expected->keys[i], &actual[i], expected->given[i], &tolerance,
                                       &results->differences[at]);
        }
    }
    return code;
}

/* Makes the subnormal inputs zeros; false where there is none. */
static bool flush_inputs(call *state)
{
    bool found = false;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        rmsnorm_tensor *tensor = state->sides[INPUT].given[i];
        const int64_t count = tensor != NULL ? rmsnorm_tensor_count(tensor) : 0;
        for (int64_t j = 0; j < count; ++j) {
            const double value = rmsnorm_cli_element(tensor, j);
            if (value != 0 && fabs(value) < rmsnorm_cli_smallest_normal(tensor->dtype)) {
                rmsnorm_cli_element_store(tensor, j, value < 0 ? -0.0 : 0.0);
                found = true;
            }
        }
    }
    return found;
}

/* The case on the CPU, into tensors of the caller's. */
static int compute_on_cpu(const rmsnorm_operator *op, const call *state, rmsnorm_tensor *results)
{
    const rmsnorm_tensor *inputs[RMSNORM_MAX_SLOTS];
    rmsnorm_tensor *outputs[RMSNORM_MAX_SLOTS];
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        inputs[i] = state->sides[INPUT].given[i];
        outputs[i] = state->outputs[i] != NULL ? &results[i] : NULL;
    }
    return rmsnorm_run_alloc(op, &state->attributes, inputs, op->input_count, outputs, op->output_count, NULL) ==
                   RMSNORM_OK
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail_library();
}

/* WGSL may take a subnormal input for zero. Where the case is right as it stands, what comes of zeros is right, too. */
static int compare_flushed(const rmsnorm_operator *op, call *state, rmsnorm_cli_results *results)
{
    rmsnorm_tensor others[2][RMSNORM_MAX_SLOTS] = {{{.data = NULL}}};
    int code = compute_on_cpu(op, state, others[0]);
    const bool allowed = code == RMSNORM_CLI_DONE &&
                         compare(state, others[0], op->output_count, false, results) == RMSNORM_CLI_DONE &&
                         flush_inputs(state);
    if (allowed) {
        code = compute_on_cpu(op, state, others[1]);
        for (size_t i = 0; i < op->output_count && code == RMSNORM_CLI_DONE; ++i) {
            if (state->outputs[i] != NULL) {
                rmsnorm_cli_take_nearer(&state->results[i], state->sides[OUTPUT].given[i], &others[1][i]);
            }
        }
    }
    for (size_t i = 0; i < op->output_count; ++i) {
        rmsnorm_tensor_release(&others[0][i], NULL);
        rmsnorm_tensor_release(&others[1][i], NULL);
    }
    return code == RMSNORM_CLI_DONE ? compare(state, state->results, op->output_count, true, results) : code;
}

int rmsnorm_cli_package_cases_run(const rmsnorm_cli_package_cases *cases, size_t index,
                                  const rmsnorm_cli_context *context, rmsnorm_cli_results *results)
{
    call *state = rmsnorm_cli_allocate(1, sizeof *state);
    rmsnorm_cli_context with_package = *context;
    with_package.package = cases->package;
    *results = (rmsnorm_cli_results){.count = 0};
    results->names = rmsnorm_cli_allocate(RMSNORM_MAX_SLOTS, sizeof *results->names);
    results->differences = rmsnorm_cli_allocate(RMSNORM_MAX_SLOTS, sizeof *results->differences);
    int code = read_case(cases, json_array_get(cases->list, index), state);
    if (code == RMSNORM_CLI_DONE) {
        code = compute(cases->op, state, &with_package);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = compare(state, state->results, cases->op->output_count, context->webgpu != NULL, results);
        if (code != RMSNORM_CLI_DONE && context->webgpu != NULL) {
            code = compare_flushed(cases->op, state, results);
        }
        for (size_t i = 0; i < cases->op->output_count; ++i) {
            if (state->outputs[i] != NULL) {
                rmsnorm_tensor_release(state->outputs[i], &context->options);
            }
        }
    }
    for (int side = INPUT; side < SIDES; ++side) {
        for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
            free(state->sides[side].items[i].data);
        }
    }
    free(state);
    return code;
}
