/* infer.c: rmsnorm infer: types, shapes, constraints and memory without data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "cli.h"
#include "descriptor.h"
#include "json.h"
#include "options.h"
#include "slots.h"
#include "text.h"

enum { OP = 1, ATTRIBUTE, OUTPUT };

static const rmsnorm_cli_option options[] = {
    {OP, 0, "op", "NAME", "the operator: [DOMAIN::]NAME, see rmsnorm describe"},
    {ATTRIBUTE, 0, "attr", "NAME=VALUE", "an attribute (again for more)"},
    {OUTPUT, 'o', "output", "NAME", "only this output (again for more; default: all)"},
};

static const rmsnorm_cli_usage usage = {
    .command = "infer",
    .synopsis = "--op [DOMAIN::]NAME [--attr NAME=VALUE]... [--output NAME]... INPUT=DTYPE:DIM,DIM,...",
    .text =
        "Infers the types and shapes of an operator's outputs, what the named dims must meet, and the peak memory.\n\n"
        "INPUT is the schema's name. DTYPE is float, float16, bfloat16, double, or ? for not known. A DIM is a number, a\n"
        "name, or ? for not known. INPUT=DTYPE: is a scalar, INPUT=DTYPE a tensor of unknown rank. An INPUT that is not\n"
        "given is left out.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << ATTRIBUTE | 1UL << OUTPUT,
};

typedef struct request {
    const char *op;
    rmsnorm_cli_list inputs, attributes, outputs;
    bool json;
} request;

typedef struct call {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    char **texts; /* what the dim names point into */
    rmsnorm_tensor *tensors;
    const rmsnorm_tensor **inputs;
    rmsnorm_tensor *results;
    rmsnorm_tensor **outputs;
    bool *shown;
    rmsnorm_constraints constraints;
    rmsnorm_memory memory[RMSNORM_DEVICE_COUNT];
} call;

static int parse_input(call *state, const char *word)
{
    const rmsnorm_operator *op = state->op;
    const size_t length = strcspn(word, "=");
    size_t slot = 0;
    if (word[length] == '\0') {
        return rmsnorm_cli_fail("%s: '%s' is no input, write INPUT=DTYPE:DIM,DIM,...", op->name, word);
    }
    if (rmsnorm_cli_slot_find(op, true, word, length, &slot) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (state->inputs[slot] != NULL) {
        return rmsnorm_cli_fail("input '%s' is given twice, once is allowed", op->inputs[slot].name);
    }
    const size_t size = strlen(word + length);
    state->texts[slot] = rmsnorm_cli_allocate(size, 1);
    memcpy(state->texts[slot], word + length + 1, size);
    state->inputs[slot] = &state->tensors[slot];
    return rmsnorm_cli_descriptor_parse(op->inputs[slot].name, state->texts[slot], true, &state->tensors[slot]);
}

/* All outputs, or those named; the first is inferred in any case, because some operators cannot be without it. */
static int choose_outputs(call *state, const rmsnorm_cli_list *names)
{
    const rmsnorm_operator *op = state->op;
    for (size_t i = 0; i < names->count; ++i) {
        size_t slot = 0;
        if (rmsnorm_cli_slot_find(op, false, names->items[i], strlen(names->items[i]), &slot) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        if (state->shown[slot]) {
            return rmsnorm_cli_fail("output '%s' is asked for twice, once is allowed", op->outputs[slot].name);
        }
        state->shown[slot] = true;
    }
    for (size_t i = 0; i < op->output_count; ++i) {
        state->shown[i] = state->shown[i] || names->count == 0;
        state->outputs[i] = state->shown[i] || i == 0 ? &state->results[i] : NULL;
    }
    return RMSNORM_CLI_DONE;
}

static char *constraint_text(const call *state, size_t index)
{
    const rmsnorm_constraint *constraint = &state->constraints.items[index];
    const size_t size = rmsnorm_constraint_format(state->op, state->inputs, constraint, NULL, 0) + 1;
    char *text = rmsnorm_cli_allocate(size, 1);
    (void)rmsnorm_constraint_format(state->op, state->inputs, constraint, text, size);
    return text;
}

static void print_text(const call *state)
{
    char text[RMSNORM_CLI_SHAPE];
    char attributes[RMSNORM_CLI_ATTRIBUTES];
    const rmsnorm_operator *op = state->op;
    printf("%s::%s %s\n", rmsnorm_cli_domain(op->domain), op->name,
           rmsnorm_cli_attributes(op, &state->attributes, attributes));
    for (size_t i = 0; i < op->output_count; ++i) {
        if (state->shown[i]) {
            const rmsnorm_tensor *tensor = &state->results[i];
            printf("%s: %s %s\n", op->outputs[i].name,
                   tensor->dtype == RMSNORM_UNDEFINED ? "?" : rmsnorm_dtype_name(tensor->dtype),
                   rmsnorm_cli_shape(tensor, text));
        }
    }
    for (size_t i = 0; i < state->constraints.count; ++i) {
        char *constraint = constraint_text(state, i);
        printf("constraint: ");
        rmsnorm_cli_show(stdout, constraint);
        putchar('\n');
        free(constraint);
    }
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        if (op->support[device].peak_memory) {
            printf("peak memory on %s: %s bytes\n", rmsnorm_cli_device_name(device), state->memory[device].expression);
        }
    }
}

static json_t *outputs_json(const call *state)
{
    json_t *outputs = json_array();
    for (size_t i = 0; i < state->op->output_count; ++i) {
        if (state->shown[i]) {
            const rmsnorm_tensor *tensor = &state->results[i];
            const bool known = tensor->dtype != RMSNORM_UNDEFINED;
            json_t *output = json_object();
            (void)json_object_set_new(output, "name", json_string(state->op->outputs[i].name));
            (void)json_object_set_new(output, "dtype",
                                      known ? json_string(rmsnorm_dtype_name(tensor->dtype)) : json_null());
            (void)json_object_set_new(output, "shape", rmsnorm_cli_json_shape(tensor));
            (void)json_array_append_new(outputs, output);
        }
    }
    return outputs;
}

static void print_json(const call *state)
{
    json_t *constraints = json_array();
    for (size_t i = 0; i < state->constraints.count; ++i) {
        char *constraint = constraint_text(state, i);
        (void)json_array_append_new(constraints, rmsnorm_cli_json_text(constraint));
        free(constraint);
    }
    json_t *peak = json_object();
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        if (state->op->support[device].peak_memory) {
            const rmsnorm_memory *memory = &state->memory[device];
            json_t *entry = json_object();
            (void)json_object_set_new(entry, "bytes", memory->bytes >= 0 ? json_integer(memory->bytes) : json_null());
            (void)json_object_set_new(entry, "expression", json_string(memory->expression));
            (void)json_object_set_new(peak, rmsnorm_cli_device_key(device), entry);
        }
    }
    json_t *root = json_object();
    (void)json_object_set_new(root, "operator", json_string(state->op->name));
    (void)json_object_set_new(root, "domain", json_string(rmsnorm_cli_domain(state->op->domain)));
    (void)json_object_set_new(root, "attributes", rmsnorm_cli_json_attributes(state->op, &state->attributes));
    (void)json_object_set_new(root, "outputs", outputs_json(state));
    (void)json_object_set_new(root, "constraints", constraints);
    (void)json_object_set_new(root, "peak_memory", peak);
    rmsnorm_cli_print_json(root, true);
}

static int compute(call *state)
{
    const rmsnorm_operator *op = state->op;
    if (rmsnorm_infer(op, &state->attributes, state->inputs, op->input_count, state->outputs, op->output_count,
                      &state->constraints) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        if (op->support[device].peak_memory &&
            rmsnorm_peak_memory(op, &state->attributes, state->inputs, op->input_count, state->outputs,
                                op->output_count, (rmsnorm_device)device, &state->memory[device]) != RMSNORM_OK) {
            return rmsnorm_cli_fail_library();
        }
    }
    return RMSNORM_CLI_DONE;
}

static int run(call *state, const request *asked)
{
    int code = rmsnorm_cli_attributes_parse(state->op, &asked->attributes, &state->attributes);
    if (code == RMSNORM_CLI_DONE) {
        code = choose_outputs(state, &asked->outputs);
    }
    for (size_t i = 0; i < asked->inputs.count && code == RMSNORM_CLI_DONE; ++i) {
        code = parse_input(state, asked->inputs.items[i]);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = compute(state);
    }
    if (code == RMSNORM_CLI_DONE) {
        (asked->json ? print_json : print_text)(state);
    }
    return code;
}

static int infer(const request *asked)
{
    if (asked->op == NULL) {
        return rmsnorm_cli_fail("no operator is given, write --op [DOMAIN::]NAME; 'rmsnorm describe' lists them");
    }
    call state = {.op = rmsnorm_operator_parse(asked->op)};
    if (state.op == NULL) {
        return rmsnorm_cli_fail_library();
    }
    state.texts = rmsnorm_cli_allocate(state.op->input_count, sizeof *state.texts);
    state.tensors = rmsnorm_cli_allocate(state.op->input_count, sizeof *state.tensors);
    state.inputs = rmsnorm_cli_allocate(state.op->input_count, sizeof *state.inputs);
    state.results = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.results);
    state.outputs = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.outputs);
    state.shown = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.shown);
    const int code = run(&state, asked);
    for (size_t i = 0; i < state.op->input_count; ++i) {
        free(state.texts[i]);
    }
    free(state.texts);
    free(state.tensors);
    free(state.inputs);
    free(state.results);
    free(state.outputs);
    free(state.shown);
    return code;
}

static int parse(rmsnorm_cli_args *args, request *asked)
{
    const char *value;
    for (;;) {
        const int id = rmsnorm_cli_next(args, &value);
        switch (id) {
        case RMSNORM_CLI_POSITIONAL:
            rmsnorm_cli_list_add(&asked->inputs, value);
            break;
        case OP:
            asked->op = value;
            break;
        case ATTRIBUTE:
            rmsnorm_cli_list_add(&asked->attributes, value);
            break;
        case OUTPUT:
            rmsnorm_cli_list_add(&asked->outputs, value);
            break;
        default:
            asked->json = args->json;
            return id;
        }
    }
}

int rmsnorm_cli_infer(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    request asked = {.op = NULL};
    const int end = parse(&args, &asked);
    const int code = end == RMSNORM_CLI_END ? infer(&asked) : rmsnorm_cli_stopped(end);
    rmsnorm_cli_list_free(&asked.inputs);
    rmsnorm_cli_list_free(&asked.attributes);
    rmsnorm_cli_list_free(&asked.outputs);
    return code;
}
