/* sweep: writes every shader that the planner makes, once each, as JSON: [{"label", "wgsl", "f16"}, ...]. For validate.mjs.
 *
 * usage: sweep FILE */
#include <stdlib.h>
#include <string.h>

#include "requests.h"

typedef struct sweep {
    FILE *file;
    uint64_t *seen; /* hashes of shaders */
    size_t count, room;
    size_t plans;
} sweep;

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return hash;
}

static bool is_new(sweep *all, const char *wgsl)
{
    const uint64_t hash = hash_of(wgsl);
    for (size_t i = 0; i < all->count; i++) {
        if (all->seen[i] == hash) {
            return false;
        }
    }
    if (all->count == all->room) {
        all->room = all->room == 0 ? 1024 : 2 * all->room;
        all->seen = realloc(all->seen, all->room * sizeof *all->seen);
        if (all->seen == NULL) {
            abort();
        }
    }
    all->seen[all->count++] = hash;
    return true;
}

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            fputs("\\n", file);
        } else if (*text == '"' || *text == '\\') {
            fprintf(file, "\\%c", *text);
        } else {
            fputc(*text, file);
        }
    }
    fputc('"', file);
}

static void add(sweep *all, const drawn *d)
{
    rmsnorm_plan *plan;
    if (rmsnorm_plan_make(d->package, &d->request, &plan) != RMSNORM_OK) {
        return;
    }
    const char *const wrong = plan_fault(d, plan);
    if (wrong != NULL) {
        fprintf(stderr, "sweep: %s\n", wrong);
        exit(1);
    }
    all->plans++;
    for (size_t i = 0; i < plan->shader_count; i++) {
        if (is_new(all, plan->shaders[i].wgsl)) {
            fprintf(all->file, "%s{\"label\": ", all->count > 1 ? ",\n" : "");
            write_text(all->file, plan->shaders[i].label);
            fputs(", \"wgsl\": ", all->file);
            write_text(all->file, plan->shaders[i].wgsl);
            fputs("}", all->file);
        }
    }
    rmsnorm_plan_release(plan);
}

/* The forms of gamma beside a row of it: one for all, one for each row, one for each element, along a middle dim. */
static void set_form(drawn *d, int form)
{
    rmsnorm_tensor *const x = &d->inputs[0];
    rmsnorm_tensor *const gamma = &d->inputs[1];
    const int64_t rows = x->dims[0];
    const int64_t width = x->dims[1];
    x->rank = 3;
    x->dims[0] = 2;
    x->dims[1] = rows;
    x->dims[2] = width;
    gamma->rank = 3;
    gamma->dims[0] = form & 1 ? 2 : 1;
    gamma->dims[1] = form & 2 ? rows : 1;
    gamma->dims[2] = form & 4 ? width : 1;
    d->attributes.axis = form & 8 ? 1 : -1;
}

static void sweep_outputs(sweep *all, drawn *d)
{
    const size_t optional = d->op->output_count - 1;
    for (size_t set = 0; set < (size_t)1 << optional; set++) {
        for (size_t i = 0; i < optional; i++) {
            d->request.wanted[i + 1] = (set >> i & 1) != 0;
        }
        add(all, d);
    }
}

static void sweep_in_place(sweep *all, drawn *d)
{
    for (size_t out = 0; out < d->op->output_count; out++) {
        for (int in = 1; in <= 2; in++) {
            memset(d->request.in_place, 0, sizeof d->request.in_place);
            d->request.in_place[out] = in;
            sweep_outputs(all, d);
        }
    }
    memset(d->request.in_place, 0, sizeof d->request.in_place);
}

static void sweep_shapes(sweep *all, const rmsnorm_operator *op, const rmsnorm_device_profile *device, rmsnorm_dtype x,
                         rmsnorm_dtype v)
{
    static const int64_t widths[] = {1, 2, 3, 4, 33, 4096, 20000};
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    for (size_t i = 0; i <= sizeof widths / sizeof widths[0]; i++) {
        const bool many = i == sizeof widths / sizeof widths[0]; /* long rows, too many to be split */
        const int64_t width = widths[many ? i - 1 : i];
        drawn d;
        make_request(op, package_of(op), many ? 100 : 3, width, x, v, false, &d);
        d.device = *device;
        sweep_outputs(all, &d);
        sweep_in_place(all, &d);
        if (skip) {
            d.inputs[3].dtype = RMSNORM_UNDEFINED; /* without bias */
            drawn_bind(&d);
            sweep_outputs(all, &d);
            for (int32_t k = 0; k < 2; k++) {
                d.inputs[k].rank = 3;
                d.inputs[k].dims[2] = d.inputs[k].dims[1];
                d.inputs[k].dims[1] = d.inputs[k].dims[0];
                d.inputs[k].dims[0] = k == 0 ? 2 : 1;
            }
            sweep_outputs(all, &d);
        } else if (width < 10) {
            const drawn flat = d;
            for (int form = 0; form < 16; form += x == v ? 1 : 5) {
                d = flat;
                drawn_bind(&d);
                set_form(&d, form);
                sweep_outputs(all, &d);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16};
    static const uint32_t invocations[] = {256, 64, 1};
    static const uint32_t subgroups[][2] = {{0, 0}, {8, 8}, {32, 64}}; /* least and most invocations; none */
    sweep all = {.file = argc == 2 ? fopen(argv[1], "w") : NULL};
    if (all.file == NULL) {
        fprintf(stderr, "usage: sweep FILE\n");
        return 2;
    }
    fputs("[", all.file);
    for (size_t i = 0; i < 216; i++) {
        const uint32_t *const subgroup = subgroups[i / 72];
        rmsnorm_device_profile device = RMSNORM_DEVICE_PROFILE_INIT;
        device.subgroups = subgroup[1] > 0;
        device.subgroup_min_size = subgroup[0];
        device.subgroup_max_size = subgroup[1];
        device.shader_f16 = i / 3 % 2 == 1;
        device.max_compute_invocations_per_workgroup = invocations[i / 6 % 3];
        device.max_compute_workgroup_storage_size = i / 6 % 3 == 2 ? 16 : 16384;
        sweep_shapes(&all, rmsnorm_operator_at(i % 3), &device, types[i / 18 % 2], types[i / 36 % 2]);
    }
    fputs("]\n", all.file);
    printf("%zu plans, %zu shaders\n", all.plans, all.count);
    free(all.seen);
    return fclose(all.file) == 0 && all.count > 0 ? 0 : 1;
}
