#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- Inputs and memory ---- */

size_t case_elements(const check_case *c, slot s)
{
    const rmsnorm_tensor tensor = case_tensor(c, s);
    return (size_t)rmsnorm_tensor_count(&tensor);
}

size_t case_bytes(const check_case *c, slot s)
{
    return case_elements(c, s) * rmsnorm_dtype_size(case_dtype(c, s));
}

/* The rows of a very large tensor repeat: drawing them would take longer than normalizing them. */
static void fill_rows(const check_case *c, rng *r, slot s, char *data)
{
    const int64_t width = case_width(c);
    const int64_t rows = (int64_t)case_elements(c, s) / width;
    const int64_t most = (INT64_C(1) << 20) / width + 1;
    values_fill(c->values, r, c->types->t, rows < most ? rows : most, width, data);
    const size_t drawn = (size_t)((rows < most ? rows : most) * width) * rmsnorm_dtype_size(c->types->t);
    for (size_t done = drawn; done < case_bytes(c, s); done += drawn) {
        const size_t left = case_bytes(c, s) - done;
        memcpy(data + done, data, left < drawn ? left : drawn);
    }
}

static void fill_residual(check_case *c, rng *r, slot s, const checker *k, void *data)
{
    const rmsnorm_dtype dtype = c->types->t;
    const int64_t count = (int64_t)case_elements(c, s);
    const int64_t kind = c->values == VALUES_TIES ? 0 : rng_between(r, 0, 2);
    if (kind == 0) {
        memset(data, 0, case_bytes(c, s));
    } else if (kind == 1) {
        fill_rows(c, r, s, data);
    } else {
        values_fill_half_steps(r, dtype, count, (int64_t)case_elements(c, SLOT_INPUT), k->golden[SLOT_INPUT].data,
                               data);
    }
}

void case_fill(checker *k, check_case *c)
{
    rng r = rng_seeded(c->seed ^ UINT64_C(0x5EED));
    for (slot s = SLOT_INPUT; s < SLOT_FIRST_OUTPUT; s++) {
        if (!c->present[s]) {
            continue;
        }
        char *const data = buffer_reserve(&k->golden[s], case_bytes(c, s));
        if (s == SLOT_INPUT) {
            fill_rows(c, &r, s, data);
        } else if (s == SLOT_SCALE) {
            values_fill_gamma(c->gamma, &r, c->types->v, (int64_t)case_elements(c, s), data);
        } else if (c->alias[s] != SLOT_NONE) {
            memcpy(data, k->golden[c->alias[s]].data, case_bytes(c, s));
        } else {
            fill_residual(c, &r, s, k, data);
        }
    }
    if (c->values == VALUES_TIES && case_rows(c) > 0) {
        c->epsilon = values_ties_epsilon(c->types->t, case_width(c), k->golden[SLOT_INPUT].data);
    }
}

/* Copies rows between contiguous memory and a slot's own layout. */
static void copy_rows(const check_case *c, slot s, char *laid_out, char *contiguous, bool out)
{
    const size_t size = rmsnorm_dtype_size(case_dtype(c, s));
    const size_t total = case_bytes(c, s);
    const size_t row = c->stride[s] == 0 ? total : (size_t)case_width(c) * size;
    const size_t step = c->stride[s] == 0 ? total : (size_t)c->stride[s] * size;
    for (size_t done = 0, at = 0; done < total; done += row, at += step) {
        char *const here = laid_out + at;
        memcpy(out ? contiguous + done : here, out ? here : contiguous + done, row);
    }
}

static char *memory_of(const checker *k, const check_case *c, slot s)
{
    return k->guards[c->alias[s] == SLOT_NONE ? s : c->alias[s]].data;
}

static void place_buffers(checker *k, const check_case *c)
{
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        if (c->present[s] && c->alias[s] == SLOT_NONE) {
            char *const data = guard_place(&k->guards[s], case_extent(c, s), c->place[s], POISON);
            if (data == NULL) {
                abort();
            }
            if (s < SLOT_FIRST_OUTPUT) {
                copy_rows(c, s, data, k->golden[s].data, false);
            }
        }
    }
}

/* ---- The call ---- */

typedef struct call {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_tensor tensors[SLOT_COUNT];
    const rmsnorm_tensor *inputs[4];
    rmsnorm_tensor *outputs[4];
    size_t input_count, output_count;
    rmsnorm_options options;
    rmsnorm_status status;
} call;

/* Somebody else's threads: here the tasks run one by one, the last one first. */
static void run_backwards(void *user, rmsnorm_task task, void *job, size_t count)
{
    (void)user;
    while (count > 0) {
        task(job, --count);
    }
}

const rmsnorm_operator *operator_of(rmsnorm_operator_kind kind)
{
    for (size_t i = 0;; i++) {
        const rmsnorm_operator *const op = rmsnorm_operator_at(i);
        if (op == NULL || op->kind == kind) {
            return op;
        }
    }
}

static void make_call(const checker *k, const check_case *c, rmsnorm_isa isa, call *made)
{
    static const slot skip_inputs[] = {SLOT_INPUT, SLOT_SKIP, SLOT_SCALE, SLOT_BIAS};
    static const slot plain_inputs[] = {SLOT_INPUT, SLOT_SCALE};
    static const slot plain_outputs[] = {SLOT_OUTPUT, SLOT_INVERSE};
    const bool skip = c->types->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    *made = (call){.op = operator_of(c->types->kind), .options = RMSNORM_OPTIONS_INIT, .status = RMSNORM_IO};
    rmsnorm_attributes_init(made->op, &made->attributes);
    made->attributes.axis = c->axis;
    made->attributes.epsilon = c->epsilon;
    made->attributes.stash_type = c->types->stash;
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        made->tensors[s] = case_tensor(c, s);
        made->tensors[s].data = c->present[s] ? memory_of(k, c, s) : NULL;
    }
    made->input_count = skip ? (c->present[SLOT_BIAS] || c->index % 2 == 0 ? 4 : 3) : 2;
    made->output_count = skip ? 4 : c->present[SLOT_INVERSE] ? 2 : 1;
    for (size_t i = 0; i < made->input_count; i++) {
        const slot s = skip ? skip_inputs[i] : plain_inputs[i];
        made->inputs[i] = c->present[s] ? &made->tensors[s] : NULL;
    }
    for (size_t i = 0; i < made->output_count; i++) {
        const slot s = skip ? (slot)(SLOT_OUTPUT + (int)i) : plain_outputs[i];
        /* An output that is not wanted is a NULL pointer or a tensor without data. */
        made->outputs[i] = c->present[s] || c->index % 2 == 0 ? &made->tensors[s] : NULL;
    }
    made->options.max_isa = isa;
    made->options.outputs_read_soon = c->read_soon;
    if (k->runner != NULL) {
        made->options.runner = *k->runner;
    } else if (c->tasks > 0) {
        made->options.runner = (rmsnorm_runner){run_backwards, NULL, c->tasks};
    }
}

static void perform(void *argument)
{
    call *const made = argument;
    made->status = rmsnorm_run(made->op, &made->attributes, made->inputs, made->input_count, made->outputs,
                               made->output_count, &made->options);
}

/* ---- What the call left behind ---- */

static bool gaps_untouched(const checker *k, const check_case *c, slot s)
{
    if (c->stride[s] == 0) {
        return true;
    }
    const size_t size = rmsnorm_dtype_size(case_dtype(c, s));
    const size_t width = (size_t)case_width(c) * size;
    const size_t step = (size_t)c->stride[s] * size;
    const size_t extent = case_extent(c, s);
    const unsigned char *const data = (const unsigned char *)memory_of(k, c, s);
    for (size_t i = 0; i < extent; i++) {
        if (i % step >= width && data[i] != POISON) {
            return false;
        }
    }
    return true;
}

static bool overwritten(const check_case *c, slot input)
{
    for (slot s = SLOT_FIRST_OUTPUT; s < SLOT_COUNT; s++) {
        if (c->present[s] && c->alias[s] == input) {
            return true;
        }
    }
    return false;
}

static bool inspect_memory(checker *k, const check_case *c, rmsnorm_isa isa)
{
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        if (!c->present[s] || c->alias[s] != SLOT_NONE) {
            continue;
        }
        if (!guard_intact(&k->guards[s])) {
            check_fail(k, c, isa, "wrote outside of %s", slot_name(s, c->types->kind));
            return false;
        }
        if (!gaps_untouched(k, c, s)) {
            check_fail(k, c, isa, "wrote between the rows of %s", slot_name(s, c->types->kind));
            return false;
        }
        if (s < SLOT_FIRST_OUTPUT && !overwritten(c, s)) {
            char *const now = buffer_reserve(&k->result[s], case_bytes(c, s));
            copy_rows(c, s, k->guards[s].data, now, true);
            if (case_bytes(c, s) > 0 && memcmp(now, k->golden[s].data, case_bytes(c, s)) != 0) {
                check_fail(k, c, isa, "wrote the input %s", slot_name(s, c->types->kind));
                return false;
            }
        }
    }
    return true;
}

bool case_run(checker *k, const check_case *c, rmsnorm_isa isa, buffer into[SLOT_COUNT])
{
    call made;
    place_buffers(k, c);
    make_call(k, c, isa, &made);
    if (!survives(perform, &made)) {
        check_fail(k, c, isa, "touched memory before or after a buffer");
        return false;
    }
    if (made.status != RMSNORM_OK) {
        check_fail(k, c, isa, "refused: %s", rmsnorm_last_error());
        return false;
    }
    if (!inspect_memory(k, c, isa)) {
        return false;
    }
    for (slot s = SLOT_FIRST_OUTPUT; s < SLOT_COUNT; s++) {
        if (c->present[s]) {
            copy_rows(c, s, memory_of(k, c, s), buffer_reserve(&into[s], case_bytes(c, s)), true);
        }
    }
    return true;
}
