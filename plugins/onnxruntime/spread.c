/* spread.c: a fused node whose inputs broadcast otherwise than the names of their dims say: the sum, then the norm. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

typedef struct spread {
    plugin_call *call;
    const plugin_kernel *kernel;
    bool skip;
    size_t statistic; /* the slot of inv_std_var */
    const rmsnorm_tensor *gamma;
    rmsnorm_tensor sum;        /* what is normalized: an input, or with skip a tensor of its own */
    rmsnorm_tensor grown;      /* the same, of the result's shape */
    void *own_sum, *own_grown; /* their memory, where it is of this call */
} spread;

/* Makes the shape of `to` the one that it and `other` broadcast to. */
static bool join(rmsnorm_tensor *to, const rmsnorm_tensor *other)
{
    rmsnorm_tensor joint = *to;
    joint.rank = to->rank > other->rank ? to->rank : other->rank;
    for (int32_t i = 1; i <= joint.rank; i++) {
        const int64_t a = i <= to->rank ? to->dims[to->rank - i] : 1;
        const int64_t b = i <= other->rank ? other->dims[other->rank - i] : 1;
        if (a != b && a != 1 && b != 1) {
            return false;
        }
        joint.dims[joint.rank - i] = a == 1 ? b : a;
    }
    *to = joint;
    return true;
}

static bool is_same_shape(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Copies `from` into each place of `to` that it broadcasts to, or adds it there: then both are float. */
static void fill(const rmsnorm_tensor *to, const rmsnorm_tensor *from, bool add)
{
    const size_t size = rmsnorm_dtype_size(to->dtype);
    const int64_t count = rmsnorm_tensor_count(to);
    int64_t strides[RMSNORM_MAX_RANK] = {0}, at[RMSNORM_MAX_RANK] = {0}, stride = 1, offset = 0;
    for (int32_t i = 1; i <= from->rank; i++) {
        const int64_t dim = from->dims[from->rank - i];
        strides[to->rank - i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    for (int64_t n = 0; n < count; n++) {
        if (add) {
            ((float *)to->data)[n] += ((const float *)from->data)[offset];
        } else {
            memcpy((char *)to->data + (size_t)n * size, (const char *)from->data + (size_t)offset * size, size);
        }
        for (int32_t d = to->rank - 1; d >= 0; d--) {
            offset += strides[d];
            if (++at[d] < to->dims[d]) {
                break;
            }
            at[d] = 0;
            offset -= strides[d] * to->dims[d];
        }
    }
}

static OrtStatus *refuse(const spread *s, const char *why)
{
    return plugin_fail(s->kernel->api, ORT_INVALID_ARGUMENT, "node \"%s\": %s: %s", s->kernel->name,
                       s->kernel->op->name, why);
}

static OrtStatus *shape(spread *s)
{
    const rmsnorm_tensor *const *const inputs = s->call->inputs;
    s->sum = *inputs[0];
    bool joined = true;
    if (s->skip) {
        joined = join(&s->sum, inputs[1]) && (inputs[3] == NULL || join(&s->sum, inputs[3]));
    }
    s->grown = s->sum;
    if (!joined || !join(&s->grown, s->gamma)) {
        return refuse(s, "the shapes of its inputs do not broadcast to one");
    }
    if (s->call->outputs[s->statistic] != NULL && !is_same_shape(&s->sum, &s->grown)) {
        return refuse(s, "the scale would make the rows larger, and inv_std_var is asked for");
    }
    return NULL;
}

static OrtStatus *make_outputs(spread *s)
{
    plugin_call *const c = s->call;
    const int64_t axis = s->skip ? -1 : s->kernel->attributes.axis;
    for (size_t i = 0; i < s->kernel->output_count; i++) {
        rmsnorm_tensor *const output = &c->tensors[1][i];
        if (c->outputs[i] == NULL) {
            continue;
        }
        *output = i == 0 ? s->grown : s->sum;
        output->data = NULL;
        output->dtype = i == 0              ? s->gamma->dtype
                        : i == s->statistic ? (rmsnorm_dtype)s->kernel->attributes.stash_type
                                            : s->sum.dtype;
        for (int32_t d = 0; i == s->statistic && d < output->rank; d++) {
            output->dims[d] = d >= (axis < 0 ? axis + output->rank : axis) ? 1 : output->dims[d];
        }
        PLUGIN_TRY(plugin_call_output(c, i));
    }
    return plugin_call_is_apart(c, false) ? NULL : refuse(s, "a result overlaps an input or another result");
}

static void *memory_of(const rmsnorm_tensor *tensor)
{
    return malloc((size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype) + 1);
}

/* The tensors of the steps before the norm. false: no memory is left. */
static bool fill_sum(spread *s)
{
    const rmsnorm_tensor *const *const inputs = s->call->inputs;
    if (s->skip) {
        const bool wanted = s->call->outputs[3] != NULL;
        s->own_sum = wanted ? NULL : memory_of(&s->sum);
        s->sum.data = wanted ? s->call->tensors[1][3].data : s->own_sum;
        if (!wanted && s->own_sum == NULL) {
            return false;
        }
        fill(&s->sum, inputs[0], false);
        fill(&s->sum, inputs[1], true);
        if (inputs[3] != NULL) {
            fill(&s->sum, inputs[3], true);
        }
    }
    s->grown.data = s->sum.data;
    if (!is_same_shape(&s->sum, &s->grown)) {
        s->grown.data = s->own_grown = memory_of(&s->grown);
        if (s->own_grown == NULL) {
            return false;
        }
        fill(&s->grown, &s->sum, false);
    }
    return true;
}

static OrtStatus *compute(spread *s)
{
    if (!fill_sum(s)) {
        return plugin_fail(s->kernel->api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    rmsnorm_tensor *const *const outputs = s->call->outputs;
    if (rmsnorm_tensor_count(&s->grown) == 0 && outputs[s->statistic] == NULL) {
        return NULL; /* also where rows have no elements, which the norm refuses */
    }
    const rmsnorm_operator *const norm =
        s->skip ? rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0) : s->kernel->op;
    rmsnorm_attributes attributes = s->kernel->attributes;
    attributes.axis -= attributes.axis >= 0 ? s->sum.rank : 0; /* from the end: dims may have come before */
    const rmsnorm_options options = plugin_call_options(s->call);
    const rmsnorm_status status =
        rmsnorm_run(norm, &attributes, (const rmsnorm_tensor *const[]){&s->grown, s->gamma}, 2,
                    (rmsnorm_tensor *const[]){outputs[0], outputs[s->statistic]}, norm->output_count, &options);
    return status == RMSNORM_OK ? NULL : plugin_kernel_refuse(s->kernel, status);
}

OrtStatus *plugin_call_spread(plugin_call *c)
{
    const bool skip = c->kernel->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    spread s = {
        .call = c, .kernel = c->kernel, .skip = skip, .statistic = skip ? 2 : 1, .gamma = c->inputs[skip ? 2 : 1]};
    PLUGIN_TRY(shape(&s));
    PLUGIN_TRY(make_outputs(&s));
    OrtStatus *const status = compute(&s);
    free(s.own_sum);
    free(s.own_grown);
    return status;
}
