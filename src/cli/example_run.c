/* example_run.c: one example on one device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "element.h"
#include "examples.h"

/* Tensors by slot; those without a dtype are left out. */
typedef struct call {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_tensor inputs[RMSNORM_CLI_EXAMPLE_SLOTS], expected[RMSNORM_CLI_EXAMPLE_SLOTS];
    rmsnorm_tensor results[RMSNORM_CLI_EXAMPLE_SLOTS];
    const rmsnorm_tensor *in[RMSNORM_CLI_EXAMPLE_SLOTS];
    rmsnorm_tensor *out[RMSNORM_CLI_EXAMPLE_SLOTS];
} call;

static void fill(rmsnorm_tensor *tensor, const rmsnorm_cli_values *values)
{
    const int64_t count = rmsnorm_tensor_count(tensor);
    tensor->data = rmsnorm_cli_allocate((size_t)count, rmsnorm_dtype_size(tensor->dtype));
    for (int64_t i = 0; i < count; ++i) {
        rmsnorm_cli_element_store(tensor, i, values->items[(size_t)i % values->count]);
    }
}

/* An input that has a value for each element of a row alone. */
static bool is_row(const rmsnorm_operator *op, size_t input)
{
    static const char *const names[] = {"scale", "gamma", "bias"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(op->inputs[input].name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void make_inputs(const rmsnorm_cli_example *example, rmsnorm_dtype dtype, call *state)
{
    rmsnorm_attributes_init(state->op, &state->attributes);
    if (example->epsilon >= 0) {
        state->attributes.epsilon = (float)example->epsilon;
    }
    for (size_t i = 0; i < state->op->input_count; ++i) {
        if (example->inputs[i].items != NULL) {
            const rmsnorm_tensor row = {.dtype = dtype, .rank = 1, .dims = {example->width}};
            const rmsnorm_tensor rows = {.dtype = dtype, .rank = 2, .dims = {example->rows, example->width}};
            state->inputs[i] = is_row(state->op, i) ? row : rows;
            fill(&state->inputs[i], &example->inputs[i]);
            state->in[i] = &state->inputs[i];
        }
    }
}

/* The required output is computed in any case. */
static int make_expected(const rmsnorm_cli_example *example, call *state)
{
    for (size_t i = 0; i < state->op->output_count; ++i) {
        const bool wanted = example->outputs[i].items != NULL || state->op->outputs[i].required;
        state->out[i] = wanted ? &state->expected[i] : NULL;
    }
    if (rmsnorm_infer(state->op, &state->attributes, state->in, state->op->input_count, state->out,
                      state->op->output_count, NULL) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    for (size_t i = 0; i < state->op->output_count; ++i) {
        if (example->outputs[i].items != NULL) {
            fill(&state->expected[i], &example->outputs[i]);
        }
        state->out[i] = state->out[i] != NULL ? &state->results[i] : NULL;
    }
    return RMSNORM_CLI_DONE;
}

/* Nothing is expected of the rows that have a NaN or an infinity. */
static void forgive_rows(const rmsnorm_cli_example *example, call *state)
{
    for (int64_t i = 0; i < example->rows; ++i) {
        bool special = false;
        for (int64_t j = 0; j < example->width; ++j) {
            special = special || !isfinite(rmsnorm_cli_element(&state->inputs[0], i * example->width + j));
        }
        for (int64_t j = 0; j < example->width && special; ++j) {
            const int64_t at = i * example->width + j;
            rmsnorm_cli_element_store(&state->expected[0], at, rmsnorm_cli_element(&state->results[0], at));
        }
    }
}

/* On WebGPU division and square root have a few ulp of float, which is no step of float16; sums have none. */
static rmsnorm_cli_tolerance tolerance_of(const rmsnorm_cli_example *example, const rmsnorm_cli_context *context,
                                          const call *state, size_t output)
{
    enum { SUM = 3, WEBGPU_STEPS = 6 };
    rmsnorm_cli_tolerance tolerance = {0, 0, output == SUM ? 0 : example->steps, context->webgpu != NULL};
    if (context->webgpu != NULL && output != SUM && state->results[output].dtype == RMSNORM_FLOAT) {
        tolerance.steps = WEBGPU_STEPS;
    }
    return tolerance;
}

static int compare(const rmsnorm_cli_example *example, const rmsnorm_cli_context *context, call *state)
{
    int code = RMSNORM_CLI_DONE;
    if (example->specials && context->webgpu != NULL) {
        forgive_rows(example, state);
    }
    for (size_t i = 0; i < state->op->output_count && code == RMSNORM_CLI_DONE; ++i) {
        if (state->expected[i].data != NULL) {
            const rmsnorm_cli_tolerance tolerance = tolerance_of(example, context, state, i);
            rmsnorm_cli_difference difference;
            code = rmsnorm_cli_compare(state->op->outputs[i].name, &state->results[i], &state->expected[i], &tolerance,
                                       &difference);
        }
    }
    return code;
}

int rmsnorm_cli_example_run(const rmsnorm_cli_example *example, rmsnorm_dtype dtype, const rmsnorm_cli_context *context)
{
    call *state = rmsnorm_cli_allocate(1, sizeof *state);
    state->op = rmsnorm_operator_parse(example->op);
    make_inputs(example, dtype, state);
    int code = make_expected(example, state);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_context_run(context, state->op, &state->attributes, state->in, state->op->input_count,
                                       state->out, state->op->output_count);
        if (code == RMSNORM_CLI_DONE) {
            code = compare(example, context, state);
        }
    }
    for (size_t i = 0; i < RMSNORM_CLI_EXAMPLE_SLOTS; ++i) {
        free(state->inputs[i].data);
        free(state->expected[i].data);
        rmsnorm_tensor_release(&state->results[i], &context->options);
    }
    free(state);
    return code;
}
