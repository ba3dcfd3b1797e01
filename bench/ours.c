/* ours.c: the public call, whole, with its checks. */
#include <stdlib.h>

#include "bench.h"

typedef struct ours {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_tensor tensors[6];
    const rmsnorm_tensor *inputs[4];
    rmsnorm_tensor *outputs[4];
    size_t input_count, output_count;
    rmsnorm_options options;
    rmsnorm_pool *pool;
} ours;

static rmsnorm_tensor tensor_of(rmsnorm_dtype dtype, int64_t rows, int64_t hidden_size, void *data)
{
    rmsnorm_tensor tensor = {.dtype = dtype, .rank = rows > 0 ? 2 : 1, .data = data};
    tensor.dims[0] = rows > 0 ? rows : hidden_size;
    tensor.dims[1] = hidden_size;
    return tensor;
}

static void bind(ours *state, const bench_case *what, const bench_data *data)
{
    const bool skip = data->skip != NULL;
    rmsnorm_tensor *const t = state->tensors;
    t[0] = tensor_of(what->dtype, what->rows, what->hidden_size, data->input);
    t[1] = tensor_of(what->dtype, what->rows, what->hidden_size, data->skip);
    t[2] = tensor_of(what->gamma_dtype, 0, what->hidden_size, data->gamma);
    t[3] = tensor_of(what->dtype, 0, what->hidden_size, data->bias);
    t[4] = tensor_of(what->gamma_dtype, what->rows, what->hidden_size, data->output);
    t[5] = tensor_of(what->dtype, what->rows, what->hidden_size, data->sum);
    state->inputs[0] = &t[0];
    state->inputs[1] = skip ? &t[1] : &t[2];
    state->inputs[2] = skip ? &t[2] : NULL;
    state->inputs[3] = data->bias != NULL ? &t[3] : NULL;
    state->outputs[0] = &t[4];
    state->outputs[3] = data->sum != NULL ? &t[5] : NULL;
    state->input_count = skip ? 4 : 2;
    state->output_count = skip ? 4 : 1;
}

static void release(void *user)
{
    ours *const state = user;
    rmsnorm_pool_destroy(state->pool);
    free(state);
}

static bool prepare(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    const rmsnorm_options defaults = RMSNORM_OPTIONS_INIT;
    ours *const state = calloc(1, sizeof *state);
    if (state == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    *user = state;
    state->op = what->op;
    state->options = defaults;
    state->options.max_isa = what->isa;
    rmsnorm_attributes_init(what->op, &state->attributes);
    state->attributes.epsilon = 1e-5f;
    bind(state, what, data);
    if (what->threads > 1) {
        if (rmsnorm_pool_create(what->threads, &state->pool) != RMSNORM_OK) {
            snprintf(why, 256, "%s", rmsnorm_last_error());
            return false;
        }
        state->options.runner = rmsnorm_pool_runner(state->pool);
    }
    return true;
}

static bool call(void *user)
{
    const ours *const state = user;
    return rmsnorm_run(state->op, &state->attributes, state->inputs, state->input_count, state->outputs,
                       state->output_count, &state->options) == RMSNORM_OK;
}

const bench_contender bench_ours = {"rmsnorm", prepare, call, release};
