#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kerncheck/rng.h"

enum { SLOTS = 5 };

void gpu_must(rmsnorm_status status)
{
    if (status != RMSNORM_OK) {
        fail_msg("status %d: %s", (int)status, rmsnorm_last_error());
    }
}

void gpu_must_fail(rmsnorm_status got, rmsnorm_status status, ...)
{
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
}

rmsnorm_device_profile gpu_widest(void)
{
    rmsnorm_device_profile profile;
    memset(&profile, 0xFF, sizeof profile);
    profile.struct_size = sizeof profile;
    profile.min_storage_buffer_offset_alignment = 1;
    profile.shader_f16 = true;
    profile.subgroups = true;
    return profile;
}

rmsnorm_webgpu *gpu_open(const rmsnorm_device_profile *profile)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    options.profile = profile;
    options.tuning = "";
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    return gpu;
}

rmsnorm_status gpu_run_host(rmsnorm_webgpu *gpu, trial *t, const rmsnorm_webgpu_run_options *options)
{
    const rmsnorm_tensor *inputs[SLOTS] = {NULL};
    rmsnorm_tensor *outputs[SLOTS] = {NULL};
    size_t input_count = 0;
    size_t output_count = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (t->in[i].data != NULL) {
            inputs[i] = &t->in[i];
            input_count = i + 1;
        }
        if (t->out[i].data != NULL) {
            outputs[i] = &t->out[i];
            output_count = i + 1;
        }
    }
    return rmsnorm_webgpu_run_host(gpu, t->op, &t->attributes, inputs, input_count, outputs, output_count, options);
}

/* ---- Tensors that stay on the device --------------------------------------------------------- */

static void place(rmsnorm_webgpu *gpu, rmsnorm_webgpu_tensor *to, const rmsnorm_tensor *from)
{
    if (from->data != NULL) {
        to->tensor = *from;
        gpu_must(rmsnorm_webgpu_tensor_create(gpu, to));
        gpu_must(rmsnorm_webgpu_upload(gpu, to, from->data));
    }
}

resident resident_start(rmsnorm_webgpu *gpu, trial *t)
{
    resident all = {.gpu = gpu, .t = t};
    for (size_t i = 0; i < SLOTS; i++) {
        place(gpu, &all.in[i], &t->in[i]);
        place(gpu, &all.out[i], &t->out[i]);
    }
    return all;
}

void resident_share(resident *all, int output, int input)
{
    rmsnorm_webgpu_tensor_release(all->gpu, &all->out[output]);
    all->out[output].buffer = all->in[input].buffer;
    all->out[output].offset = all->in[input].offset;
    all->borrowed[SLOTS + output] = true;
}

rmsnorm_status resident_run(resident *all, const rmsnorm_webgpu_run_options *options)
{
    const rmsnorm_webgpu_tensor *inputs[SLOTS] = {NULL};
    rmsnorm_webgpu_tensor *outputs[SLOTS] = {NULL};
    size_t input_count = 0;
    size_t output_count = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (all->t->in[i].data != NULL) {
            inputs[i] = &all->in[i];
            input_count = i + 1;
        }
        if (all->t->out[i].data != NULL) {
            outputs[i] = &all->out[i];
            output_count = i + 1;
        }
    }
    return rmsnorm_webgpu_run(all->gpu, all->t->op, &all->t->attributes, inputs, input_count, outputs, output_count,
                              options);
}

void resident_finish(resident *all)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (all->t->out[i].data != NULL) {
            gpu_must(rmsnorm_webgpu_download(all->gpu, &all->out[i], all->t->out[i].data));
        }
    }
}

void resident_end(resident *all)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (!all->borrowed[i]) {
            rmsnorm_webgpu_tensor_release(all->gpu, &all->in[i]);
        }
        if (!all->borrowed[SLOTS + i]) {
            rmsnorm_webgpu_tensor_release(all->gpu, &all->out[i]);
        }
    }
}

/* ---- Trials ---------------------------------------------------------------------------------- */

trial trial_copy(const trial *t)
{
    trial copy = trial_start(t->op->kind);
    copy.attributes = t->attributes;
    for (int i = 0; i < SLOTS; i++) {
        if (t->in[i].data != NULL) {
            rmsnorm_tensor *const to = trial_in(&copy, i, t->in[i].dtype, t->in[i].rank, t->in[i].dims, NULL);
            memcpy(to->data, t->in[i].data, tensor_bytes(to));
        }
        if (t->out[i].data != NULL) {
            trial_out(&copy, i, t->out[i].dtype, t->out[i].rank, t->out[i].dims);
        }
    }
    return copy;
}

static void fill(rmsnorm_tensor *tensor, rng *r)
{
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, rng_normal(r));
    }
}

trial rms_trial(rmsnorm_operator_kind kind, rmsnorm_dtype x, rmsnorm_dtype scale, int64_t rows, int64_t width)
{
    trial t = trial_start(kind);
    rng r = rng_seeded((uint64_t)(rows * 7919 + width));
    fill(trial_in(&t, 0, x, SHAPE(rows, width), NULL), &r);
    fill(trial_in(&t, 1, scale, SHAPE(width), NULL), &r);
    trial_out(&t, 0, scale, SHAPE(rows, width));
    if (kind == SIMPLE) {
        trial_out(&t, 1, F32, SHAPE(rows, 1));
    }
    return t;
}

/* Of two results that are rounded rightly but for rare ties. In operator 3 with a narrow X the middle value may fall to the other side
 * of a tie, and one step there is up to two of the product; but never often: a middle rounding that is left out moves a quarter of
 * all elements. */
typedef struct tolerance {
    double ulps;
    bool rare; /* differences at all are */
} tolerance;

static tolerance tolerance_of(const trial *t, size_t slot, double ulps)
{
    if (t->op->kind == SKIP && slot == 3) {
        return (tolerance){0, true};
    }
    const bool twice = t->op->kind == PLAIN && t->in[0].dtype == F16;
    const bool narrow = t->out[slot].dtype == F16;
    return (tolerance){twice ? (narrow ? 2 : ldexp(1, 14) + ulps) : narrow ? 1 : ulps, twice || narrow};
}

/* WGSL may flush what is below the normal numbers to zero: results, and before gamma x / root, which a gamma of up to 2^12 brings
 * back among them. */
static bool is_lost(double got, double want, const format *in)
{
    const double least = ldexp(1, in->least_exponent + (in == format_of(F32) ? 13 : 0));
    return fabs(want) < least && fabs(got) < least && (in == format_of(F32) || got == 0);
}

static double distance_of(double got, double want, const format *in)
{
    if ((isnan(got) && isnan(want)) || got == want || is_lost(got, want, in)) {
        return 0;
    }
    return isfinite(want) && isfinite(got) ? real_ulps(real_from(want), got, in) : INFINITY;
}

double expect_agreement(const trial *device, const trial *cpu, double ulps)
{
    double worst = 0;
    for (size_t slot = 0; slot < SLOTS; slot++) {
        const rmsnorm_tensor *const a = &device->out[slot];
        if (a->data == NULL) {
            continue;
        }
        const tolerance allowed = tolerance_of(device, slot, ulps);
        size_t differ = 0;
        for (size_t i = 0; i < tensor_elements(a); i++) {
            const double got = tensor_get(a, i);
            const double want = tensor_get(&cpu->out[slot], i);
            const double distance = distance_of(got, want, format_of(a->dtype));
            worst = distance > worst ? distance : worst;
            differ += distance > 0;
            if (!(distance <= allowed.ulps)) {
                fail_msg("%s, output %zu, element %zu: %.9g on the device, %.9g on the CPU (%.2f ulp)",
                         device->op->name, slot, i, got, want, distance);
            }
        }
        if (allowed.rare && differ > 2 + tensor_elements(a) / 100) {
            fail_msg("%s, output %zu: %zu of %zu elements differ", device->op->name, slot, differ, tensor_elements(a));
        }
    }
    return worst;
}

void expect_host_run(rmsnorm_webgpu *gpu, trial *t, const rmsnorm_webgpu_run_options *options)
{
    trial cpu = trial_copy(t);
    gpu_must(gpu_run_host(gpu, t, options));
    trial_must_run(&cpu);
    expect_agreement(t, &cpu, 4);
    trial_end(&cpu);
}
