/* A refused call changes nothing (contract 4.6). Every refusal has its own test elsewhere; here one of each kind, on
 * all outputs at once, with poison in them. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT 24 /* elements of [2,3,4] */

/* A call that would be accepted: X [2,3,4] of float, all operands and outputs. */
typedef struct request {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_tensor in[5], out[5];
    const rmsnorm_tensor *inputs[5];
    rmsnorm_tensor *outputs[5];
    size_t input_count, output_count;
    float numbers[4][COUNT];
    float results[4][2 * COUNT]; /* room for a buffer that begins inside */
} request;

#define SKIP RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION
#define SIMPLE RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION
#define PLAIN RMSNORM_RMS_NORMALIZATION
#define ONLY(kind) (1u << (kind))
#define EVERY (ONLY(SKIP) | ONLY(SIMPLE) | ONLY(PLAIN))
#define SCALED (ONLY(SIMPLE) | ONLY(PLAIN))

static void request_build(request *q, rmsnorm_operator_kind kind)
{
    memset(q, 0, sizeof(*q));
    q->op = operator_of(kind);
    rmsnorm_attributes_init(q->op, &q->attributes);
    q->input_count = kind == SKIP ? 4 : 2;
    q->output_count = kind == SKIP ? 4 : kind == SIMPLE ? 2 : 1;
    memset(q->results, POISON, sizeof(q->results));
    for (size_t i = 0; i < 5; i++) {
        const bool vector = kind == SKIP ? i >= 2 : i == 1;
        q->in[i] = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = vector ? 1 : 3, .dims = {2, 3, 4}};
        q->in[i].dims[0] = vector ? 4 : 2;
        const bool statistic = kind == SKIP ? i == 1 || i == 2 : i == 1;
        q->out[i] = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 3, .dims = {2, 3, statistic ? 1 : 4}};
        q->inputs[i] = &q->in[i];
        q->outputs[i] = &q->out[i];
        q->in[i].data = q->numbers[i % 4];
        q->out[i].data = q->results[i % 4];
    }
    for (size_t i = 0; i < COUNT; i++) {
        q->numbers[0][i] = (float)i - 7.5F;
        q->numbers[1][i] = q->numbers[2][i] = q->numbers[3][i] = 1;
    }
}

static void axis_past_the_end(request *q)
{
    q->attributes.axis = 3;
}
static void axis_before_the_start(request *q)
{
    q->attributes.axis = -4;
}
static void axis_least(request *q)
{
    q->attributes.axis = INT64_MIN;
}
static void axis_largest(request *q)
{
    q->attributes.axis = INT64_MAX;
}
static void stash_half(request *q)
{
    q->attributes.stash_type = RMSNORM_FLOAT16;
}
static void keep_dims_zero(request *q)
{
    q->attributes.keep_dims = 0;
}
static void epsilon_nan(request *q)
{
    q->attributes.epsilon = NAN;
}
static void epsilon_negative(request *q)
{
    q->attributes.epsilon = -1e-5F;
}
static void epsilon_infinite(request *q)
{
    q->attributes.epsilon = INFINITY;
}
static void input_of_integers(request *q)
{
    q->in[0].dtype = (rmsnorm_dtype)7;
}
static void input_without_data(request *q)
{
    q->in[0].data = NULL;
}
static void input_missing(request *q)
{
    q->inputs[0] = NULL;
}
static void scale_missing(request *q)
{
    q->inputs[q->op->kind == SKIP ? 2 : 1] = NULL;
}
static void scale_too_long(request *q)
{
    q->in[q->op->kind == SKIP ? 2 : 1].dims[0] = 5;
}
static void scale_of_integers(request *q)
{
    q->in[q->op->kind == SKIP ? 2 : 1].dtype = (rmsnorm_dtype)6;
}
static void scale_of_one(request *q)
{
    q->in[2].dims[0] = 1;
}
static void input_of_doubles(request *q)
{
    for (size_t i = 0; i < 5; i++) {
        q->in[i].dtype = RMSNORM_DOUBLE;
    }
}
static void skip_of_another_type(request *q)
{
    q->in[1].dtype = RMSNORM_FLOAT16;
}
static void skip_of_one_row(request *q)
{
    q->in[1].rank = 2;
    q->in[1].dims[0] = 1;
    q->in[1].dims[1] = 4;
}
static void bias_of_another_length(request *q)
{
    q->in[3].dims[0] = 3;
}
static void one_input_too_many(request *q)
{
    q->input_count++;
}
static void one_output_too_many(request *q)
{
    q->output_count++;
}
static void output_missing(request *q)
{
    q->outputs[0] = NULL;
}
static void output_of_another_type(request *q)
{
    q->out[0].dtype = RMSNORM_DOUBLE;
}
static void output_of_another_shape(request *q)
{
    q->out[0].dims[0] = 3;
}
static void rows_closer_than_their_length(request *q)
{
    q->out[0].row_stride = 3;
}
static void output_one_element_into_the_input(request *q)
{
    q->in[0].data = &q->results[0][1];
}
static void outputs_in_one_place(request *q)
{
    q->out[q->output_count - 1].data = q->out[0].data;
}

static const struct {
    const char *name;
    void (*spoil)(request *q);
    unsigned operators;
} refusals[] = {
    {"axis past the end", axis_past_the_end, SCALED},
    {"axis before the start", axis_before_the_start, SCALED},
    {"axis INT64_MIN", axis_least, SCALED},
    {"axis INT64_MAX", axis_largest, SCALED},
    {"stash_type 10", stash_half, SCALED},
    {"keep_dims 0", keep_dims_zero, ONLY(SIMPLE)},
    {"epsilon NaN", epsilon_nan, ONLY(SKIP)},
    {"epsilon negative", epsilon_negative, ONLY(SKIP)},
    {"epsilon infinite", epsilon_infinite, ONLY(SKIP)},
    {"input of integers", input_of_integers, EVERY},
    {"input without data", input_without_data, EVERY},
    {"input missing", input_missing, EVERY},
    {"scale missing", scale_missing, EVERY},
    {"scale too long", scale_too_long, EVERY},
    {"scale of integers", scale_of_integers, EVERY},
    {"gamma of one element", scale_of_one, ONLY(SKIP)},
    {"doubles", input_of_doubles, ONLY(SKIP)},
    {"skip of another type", skip_of_another_type, ONLY(SKIP)},
    {"skip of one row", skip_of_one_row, ONLY(SKIP)},
    {"bias of another length", bias_of_another_length, ONLY(SKIP)},
    {"one input too many", one_input_too_many, EVERY},
    {"one output too many", one_output_too_many, EVERY},
    {"output missing", output_missing, EVERY},
    {"output of another type", output_of_another_type, EVERY},
    {"output of another shape", output_of_another_shape, EVERY},
    {"rows closer than their length", rows_closer_than_their_length, EVERY},
    {"output one element into the input", output_one_element_into_the_input, EVERY},
    {"two outputs in one place", outputs_in_one_place, ONLY(SKIP) | ONLY(SIMPLE)},
};

static const char *complaint(request *q)
{
    const rmsnorm_status status =
        rmsnorm_run(q->op, &q->attributes, q->inputs, q->input_count, q->outputs, q->output_count, NULL);
    if (status == RMSNORM_OK) {
        return "was accepted";
    }
    if (strstr(rmsnorm_last_error(), q->op->name) == NULL || strchr(rmsnorm_last_error(), '\n') != NULL) {
        return "was refused without one line that names the operator";
    }
    const unsigned char *const bytes = (const unsigned char *)q->results;
    for (size_t i = 0; i < sizeof(q->results); i++) {
        if (bytes[i] != POISON) {
            return "was refused after an output had been written";
        }
    }
    return NULL;
}

void check_refusals(checker *k)
{
    static const rmsnorm_operator_kind kinds[] = {SIMPLE, SKIP, PLAIN};
    for (size_t i = 0; i < 3; i++) {
        request q;
        request_build(&q, kinds[i]);
        if (rmsnorm_run(q.op, &q.attributes, q.inputs, q.input_count, q.outputs, q.output_count, NULL) != RMSNORM_OK) {
            k->failed++;
            (void)printf("FAILED: %s refuses a good call: %s\n", q.op->name, rmsnorm_last_error());
        }
        for (size_t j = 0; j < sizeof(refusals) / sizeof(refusals[0]); j++) {
            if ((refusals[j].operators & ONLY(kinds[i])) == 0) {
                continue;
            }
            request_build(&q, kinds[i]);
            refusals[j].spoil(&q);
            const char *const wrong = complaint(&q);
            if (wrong != NULL) {
                k->failed++;
                (void)printf("FAILED: %s: %s %s: %s\n", q.op->name, refusals[j].name, wrong, rmsnorm_last_error());
            } else {
                k->passed++;
            }
        }
    }
}
