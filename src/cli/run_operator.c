/* run_operator.c: rmsnorm run --op: one operator on tensors of the command line. */
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "cli.h"
#include "operand.h"
#include "run.h"
#include "slots.h"
#include "summary.h"

/* All the state of the call; slots as in the schema. */
typedef struct call {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_cli_operand *operands;
    const rmsnorm_tensor **inputs; /* NULL: left out */
    size_t input_count;
    rmsnorm_tensor *tensors;
    rmsnorm_tensor **outputs;    /* NULL: not wanted */
    rmsnorm_cli_output *results; /* those wanted */
    size_t result_count;
} call;

static int read_inputs(const rmsnorm_cli_request *request, call *state)
{
    const rmsnorm_operator *op = state->op;
    state->input_count = request->words.count;
    if (state->input_count > op->input_count) {
        char names[RMSNORM_CLI_NAMES];
        return rmsnorm_cli_fail("%s: %zu inputs were given, it has %zu: %s", op->name, state->input_count,
                                op->input_count, rmsnorm_cli_slot_names(op->inputs, op->input_count, names));
    }
    if (rmsnorm_cli_stdin_check(NULL, request->words.items, request->words.count) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    for (size_t i = 0; i < state->input_count; ++i) {
        const char *word = request->words.items[i];
        if (strcmp(word, "_") == 0) {
            continue;
        }
        if (rmsnorm_cli_operand_read(op->inputs[i].name, word, i, &state->operands[i]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        state->inputs[i] = &state->operands[i].tensor;
    }
    return RMSNORM_CLI_DONE;
}

/* Which outputs are wanted, by slot, and the words that say where to. */
static int choose_outputs(const rmsnorm_cli_request *request, const rmsnorm_operator *op, const char **wanted)
{
    static const char always[] = "";
    wanted[0] = always;
    for (size_t i = 0; i < request->outputs.count; ++i) {
        const char *word = request->outputs.items[i];
        const size_t length = strcspn(word, "=");
        size_t slot = 0;
        if (word[length] == '\0' && strchr(word, '.') != NULL) {
            return rmsnorm_cli_fail("%s has no output '%.200s'; a file goes behind an output's name: -o %s=%.200s",
                                    op->name, word, op->outputs[0].name, word);
        }
        if (rmsnorm_cli_slot_find(op, false, word, length, &slot) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        if (wanted[slot] != NULL && wanted[slot] != always) {
            return rmsnorm_cli_fail("output '%s' was asked for twice, once is allowed", op->outputs[slot].name);
        }
        wanted[slot] = word + length;
    }
    return RMSNORM_CLI_DONE;
}

/* Types and shapes first: a bad call is refused before any file name matters, and the names can depend on the types. */
static int plan_outputs(const rmsnorm_cli_request *request, const char *const *wanted, call *state)
{
    const rmsnorm_operator *op = state->op;
    for (size_t i = 0; i < op->output_count; ++i) {
        state->outputs[i] = wanted[i] == NULL ? NULL : &state->tensors[i];
    }
    if (rmsnorm_infer(op, &state->attributes, state->inputs, state->input_count, state->outputs, op->output_count,
                      NULL) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    for (size_t i = 0; i < op->output_count; ++i) {
        if (wanted[i] != NULL) {
            const char *name = op->outputs[i].name;
            char *path = rmsnorm_cli_output_target(wanted[i], request->directory, name, &state->tensors[i]);
            state->results[state->result_count++] = (rmsnorm_cli_output){name, &state->tensors[i], path};
        }
    }
    return rmsnorm_cli_outputs_check(state->results, state->result_count, request->json);
}

static int finish(const rmsnorm_cli_request *request, const call *state)
{
    const rmsnorm_cli_step step = {.op = state->op, .attributes = &state->attributes};
    const rmsnorm_cli_report_data data = {NULL, &step, 1, state->results, state->result_count, &request->context};
    return rmsnorm_cli_deliver(&data, request->directory, request->json);
}

static int run(const rmsnorm_cli_request *request, call *state)
{
    const rmsnorm_operator *op = state->op;
    const char **wanted = rmsnorm_cli_allocate(op->output_count, sizeof *wanted);
    int code = choose_outputs(request, op, wanted);
    if (code == RMSNORM_CLI_DONE) {
        code = read_inputs(request, state);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = plan_outputs(request, wanted, state);
    }
    free(wanted);
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    code = rmsnorm_cli_context_run(&request->context, op, &state->attributes, state->inputs, state->input_count,
                                   state->outputs, op->output_count);
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    code = finish(request, state);
    for (size_t i = 0; i < op->output_count; ++i) {
        if (state->outputs[i] != NULL) {
            rmsnorm_tensor_release(state->outputs[i], &request->context.options);
        }
    }
    return code;
}

int rmsnorm_cli_run_operator(const rmsnorm_cli_request *request)
{
    call state = {.op = rmsnorm_operator_parse(request->op)};
    if (state.op == NULL) {
        return rmsnorm_cli_fail_library();
    }
    if (rmsnorm_cli_attributes_parse(state.op, &request->attributes, &state.attributes) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    state.operands = rmsnorm_cli_allocate(state.op->input_count, sizeof *state.operands);
    state.inputs = rmsnorm_cli_allocate(state.op->input_count, sizeof *state.inputs);
    state.tensors = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.tensors);
    state.outputs = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.outputs);
    state.results = rmsnorm_cli_allocate(state.op->output_count, sizeof *state.results);
    const int code = run(request, &state);
    for (size_t i = 0; i < state.op->input_count; ++i) {
        rmsnorm_cli_operand_release(&state.operands[i]);
    }
    free(state.operands);
    free(state.inputs);
    free(state.tensors);
    free(state.outputs);
    rmsnorm_cli_outputs_free(state.results, state.result_count);
    return code;
}
