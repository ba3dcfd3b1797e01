#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kerncheck/oracle.h"
#include "kerncheck/rng.h"

#define POISON 0xFF /* a NaN of every type */

static const rmsnorm_operator *of_kind(rmsnorm_operator_kind kind)
{
    const rmsnorm_operator *op = rmsnorm_operator_at(0);
    for (size_t i = 1; op != NULL && op->kind != kind; i++) {
        op = rmsnorm_operator_at(i);
    }
    return op;
}

trial trial_start(rmsnorm_operator_kind kind)
{
    trial t = {.op = of_kind(kind), .options = RMSNORM_OPTIONS_INIT};
    rmsnorm_attributes_init(t.op, &t.attributes);
    return t;
}

static rmsnorm_tensor *give_memory(trial *t, rmsnorm_tensor *tensor, int place, rmsnorm_dtype dtype, int rank,
                                   const int64_t *dims)
{
    *tensor = (rmsnorm_tensor){.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++) {
        tensor->dims[i] = dims[i];
    }
    free(t->owned[place]);
    t->owned_bytes[place] = tensor_bytes(tensor);
    t->owned[place] = malloc(tensor_bytes(tensor) + 1);
    assert_non_null(t->owned[place]);
    tensor->data = t->owned[place];
    return tensor;
}

rmsnorm_tensor *trial_in(trial *t, int slot, rmsnorm_dtype dtype, int rank, const int64_t *dims, const double *values)
{
    rmsnorm_tensor *const tensor = give_memory(t, &t->in[slot], slot, dtype, rank, dims);
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, values == NULL ? 0 : values[i]);
    }
    return tensor;
}

rmsnorm_tensor *trial_out(trial *t, int slot, rmsnorm_dtype dtype, int rank, const int64_t *dims)
{
    rmsnorm_tensor *const tensor = give_memory(t, &t->out[slot], 5 + slot, dtype, rank, dims);
    memset(tensor->data, POISON, tensor_bytes(tensor));
    return tensor;
}

trial skip_trial(rmsnorm_dtype dtype, int64_t rows, int64_t width)
{
    trial t = trial_start(SKIP);
    rng r = rng_seeded((uint64_t)width);
    const struct {
        int slot, rank;
    } inputs[] = {{0, 2}, {1, 2}, {2, 1}, {3, 1}};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        const int64_t dims[] = {inputs[i].rank == 2 ? rows : width, width};
        rmsnorm_tensor *const tensor = trial_in(&t, inputs[i].slot, dtype, inputs[i].rank, dims, NULL);
        for (size_t j = 0; j < tensor_elements(tensor); j++) {
            tensor_set(tensor, j, rng_normal(&r));
        }
    }
    return t;
}

void trial_want(trial *t, unsigned which)
{
    const rmsnorm_tensor x = t->in[0];
    for (int i = 0; i < 4; i++) {
        const bool statistic = i == 1 || i == 2;
        t->out[i].data = NULL;
        if ((which & 1u << i) != 0) {
            trial_out(t, i, statistic ? F32 : x.dtype, SHAPE(x.dims[0], statistic ? 1 : x.dims[1]));
        }
    }
}

rmsnorm_status trial_run(trial *t)
{
    const rmsnorm_tensor *inputs[5] = {NULL};
    rmsnorm_tensor *outputs[5] = {NULL};
    size_t input_count = 0;
    size_t output_count = 0;
    for (size_t i = 0; i < 5; i++) {
        if (t->in[i].data != NULL) {
            inputs[i] = &t->in[i];
            input_count = i + 1;
        }
        if (t->out[i].data != NULL) {
            outputs[i] = &t->out[i];
            output_count = i + 1;
        }
    }
    return rmsnorm_run(t->op, &t->attributes, inputs, input_count, outputs, output_count, &t->options);
}

void trial_must_run(trial *t)
{
    if (trial_run(t) != RMSNORM_OK) {
        fail_msg("refused: %s", rmsnorm_last_error());
    }
}

void trial_must_refuse(trial *t, rmsnorm_status status, ...)
{
    void *before[5] = {NULL};
    for (size_t i = 0; i < 5; i++) {
        if (t->owned[5 + i] != NULL) {
            before[i] = malloc(t->owned_bytes[5 + i] + 1);
            assert_non_null(before[i]);
            memcpy(before[i], t->owned[5 + i], t->owned_bytes[5 + i]);
        }
    }
    const rmsnorm_status got = trial_run(t);
    if (got != status) {
        fail_msg("status %d instead of %d: %s", (int)got, (int)status, rmsnorm_last_error());
    }
    va_list words;
    va_start(words, status);
    for (const char *word = va_arg(words, const char *); word != NULL; word = va_arg(words, const char *)) {
        if (strstr(rmsnorm_last_error(), word) == NULL) {
            fail_msg("'%s' is missing in: %s", word, rmsnorm_last_error());
        }
    }
    va_end(words);
    assert_null(strchr(rmsnorm_last_error(), '\n'));
    for (size_t i = 0; i < 5; i++) {
        if (before[i] != NULL) {
            assert_memory_equal(before[i], t->owned[5 + i], t->owned_bytes[5 + i]);
            free(before[i]);
        }
    }
}

void trial_end(trial *t)
{
    for (size_t i = 0; i < COUNT_OF(t->owned); i++) {
        free(t->owned[i]);
        t->owned[i] = NULL;
    }
}

size_t tensor_elements(const rmsnorm_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= (size_t)tensor->dims[i];
    }
    return count;
}

size_t tensor_bytes(const rmsnorm_tensor *tensor)
{
    return tensor_elements(tensor) * rmsnorm_dtype_size(tensor->dtype);
}

double tensor_get(const rmsnorm_tensor *tensor, size_t index)
{
    return element_load(tensor->dtype, tensor->data, index);
}

void tensor_set(rmsnorm_tensor *tensor, size_t index, double value)
{
    element_store(tensor->dtype, tensor->data, index, value);
}

void tensor_set_all(rmsnorm_tensor *tensor, double value)
{
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, value);
    }
}

void expect_values(const rmsnorm_tensor *tensor, const double *values)
{
    const size_t size = rmsnorm_dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        char want[sizeof(double)] = {0};
        element_store(tensor->dtype, want, 0, values[i]);
        if (memcmp(want, (const char *)tensor->data + i * size, size) != 0) {
            fail_msg("%s element %zu is %.17g, want %.17g", rmsnorm_dtype_name(tensor->dtype), i, tensor_get(tensor, i),
                     values[i]);
        }
    }
}

void expect_near(const rmsnorm_tensor *tensor, const double *values, double ulps)
{
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        const double got = tensor_get(tensor, i);
        /* Negated, so that NaN fails. */
        if (!(real_ulps(real_from(values[i]), got, format_of(tensor->dtype)) <= ulps)) {
            fail_msg("%s element %zu is %.17g, want %.17g", rmsnorm_dtype_name(tensor->dtype), i, got, values[i]);
        }
    }
}

void expect_same_bits(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    const size_t size = rmsnorm_dtype_size(a->dtype);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(tensor_elements(a), tensor_elements(b));
    if (tensor_elements(a) == 0 || memcmp(a->data, b->data, tensor_bytes(a)) == 0) {
        return;
    }
    for (size_t i = 0; i < tensor_elements(a); i++) {
        if (memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) != 0) {
            fail_msg("element %zu is %.17g in one and %.17g in the other", i, tensor_get(a, i), tensor_get(b, i));
        }
    }
}

int list_isas(rmsnorm_isa list[MAX_ISAS])
{
    int count = 0;
    for (int isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; isa++) {
        if (rmsnorm_isa_runnable((rmsnorm_isa)isa)) {
            list[count++] = (rmsnorm_isa)isa;
        }
    }
    assert_true(count > 0);
    return count;
}

oracle_call trial_oracle(const trial *t)
{
    const bool skip = t->op->kind == SKIP;
    const rmsnorm_tensor *const x = &t->in[0];
    const rmsnorm_tensor *const scale = &t->in[skip ? 2 : 1];
    oracle_call call = {.kind = t->op->kind,
                        .t = x->dtype,
                        .v = scale->dtype,
                        .rank = x->rank,
                        .scale_rank = scale->rank,
                        .epsilon = t->attributes.epsilon,
                        .input = x->data,
                        .scale = scale->data};
    call.stash = !skip && t->attributes.stash_type == F64 ? F64 : F32;
    call.axis = skip ? x->rank - 1 : (int)(t->attributes.axis < 0 ? t->attributes.axis + x->rank : t->attributes.axis);
    memcpy(call.dims, x->dims, sizeof(call.dims));
    memcpy(call.scale_dims, scale->dims, sizeof(call.scale_dims));
    if (skip) {
        call.skip = t->in[1].data;
        call.skip_rows = (int64_t)tensor_elements(&t->in[1]) / oracle_width(&call);
        call.bias = t->in[3].data;
    }
    return call;
}

static void expect_fit(const rmsnorm_tensor *out, size_t index, oracle_verdict verdict)
{
    if (!verdict.fits) {
        fail_msg("%s element %zu is %.17g, want %.17g", rmsnorm_dtype_name(out->dtype), index, tensor_get(out, index),
                 verdict.want);
    }
}

double expect_ideal(const trial *t)
{
    const oracle_call call = trial_oracle(t);
    const int64_t width = oracle_width(&call);
    const rmsnorm_tensor *const inverse = &t->out[call.kind == SKIP ? 2 : 1];
    double misrounded = 0;
    for (int64_t index = 0; index < oracle_rows(&call); index++) {
        const oracle_row row = oracle_row_of(&call, index);
        for (int64_t i = 0; i < width; i++) {
            const size_t at = (size_t)(index * width + i);
            const oracle_verdict verdict = oracle_output(&call, &row, i, tensor_get(&t->out[0], at));
            expect_fit(&t->out[0], at, verdict);
            misrounded += verdict.judged && !verdict.rounded;
            if (t->out[3].data != NULL) {
                expect_fit(&t->out[3], at, oracle_sum(&call, &row, i, tensor_get(&t->out[3], at)));
            }
        }
        if (inverse->data != NULL) {
            expect_fit(inverse, (size_t)index, oracle_inverse(&call, &row, tensor_get(inverse, (size_t)index)));
        }
    }
    return misrounded / (double)tensor_elements(&t->out[0]);
}

void run_everywhere(trial *t)
{
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int i = 0; i < isa_count; i++) {
        for (int j = 0; j < 5; j++) {
            if (t->out[j].data != NULL) {
                memset(t->out[j].data, POISON, tensor_bytes(&t->out[j]));
            }
        }
        t->options.max_isa = isas[i];
        trial_must_run(t);
        (void)expect_ideal(t);
    }
}
