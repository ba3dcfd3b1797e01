#include "package/pieces.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* More dispatches than any tensor needs on a device that could hold it. */
#define PASSES_MAXIMUM 4096
#define SHADER_LIMIT ((size_t)1 << 20)

rmsnorm_status rmsnorm_draft_refuse(rmsnorm_draft *draft, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(draft->reason, sizeof draft->reason, format, arguments);
    va_end(arguments);
    draft->refused = true;
    return RMSNORM_OK;
}

/* ---- Bindings -------------------------------------------------------------------------------- */

/* A binding of the pass, before it is cut. */
typedef struct range {
    rmsnorm_binding binding; /* offset 0, the whole buffer's size */
    uint64_t row_bytes;      /* 0: bound whole */
    uint64_t element;        /* bytes of one; 1 for scratch */
} range;

typedef struct ranges {
    range items[2 * RMSNORM_MAX_SLOTS];
    size_t count;
} ranges;

static uint64_t tensor_bytes(const rmsnorm_tensor *tensor)
{
    const uint64_t bytes = (uint64_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
    return (bytes + 3) / 4 * 4;
}

/* What a binding's tensor is: an input, an output, or a scratch buffer. An output that shares an input's buffer is the output. */
static rmsnorm_status find_tensor(const rmsnorm_planning *planning, const rmsnorm_draft *draft, const char *name,
                                  range *found)
{
    const rmsnorm_manifest *const manifest = &planning->package->manifest;
    for (size_t i = 0; i < manifest->output_count; i++) {
        if (strcmp(manifest->outputs[i].key, name) == 0 && planning->outputs[i].rank != RMSNORM_UNKNOWN) {
            found->binding.kind = RMSNORM_BUFFER_OUTPUT;
            found->binding.slot = i;
            found->binding.size = tensor_bytes(&planning->outputs[i]);
            found->element = rmsnorm_dtype_size(planning->outputs[i].dtype);
            return RMSNORM_OK;
        }
    }
    for (size_t i = 0; i < manifest->input_count; i++) {
        if (strcmp(manifest->inputs[i].key, name) == 0 && planning->request->inputs[i] != NULL) {
            found->binding.kind = RMSNORM_BUFFER_INPUT;
            found->binding.writes |= planning->request->beside_output[i];
            found->binding.slot = i;
            found->binding.size = tensor_bytes(planning->request->inputs[i]);
            found->element = rmsnorm_dtype_size(planning->request->inputs[i]->dtype);
            return RMSNORM_OK;
        }
    }
    for (size_t i = 0; i < draft->scratch_names->count; i++) {
        if (strcmp(draft->scratch_names->items[i].name, name) == 0) {
            found->binding.kind = RMSNORM_BUFFER_SCRATCH;
            found->binding.slot = i;
            found->binding.size = draft->scratch[i];
            found->element = 4;
            return RMSNORM_OK;
        }
    }
    return rmsnorm_fail(RMSNORM_MALFORMED, "manifest.json: a pass of %s binds %s, which is not there",
                        draft->variant->name, name);
}

/* The newest of all against the device's buffers, and against the others: a buffer that is written is bound once. */
static rmsnorm_status check_range(const rmsnorm_planning *planning, rmsnorm_draft *draft, const ranges *all)
{
    const rmsnorm_binding *const own = &all->items[all->count].binding;
    for (size_t i = 0; i < all->count; i++) {
        const rmsnorm_binding *const other = &all->items[i].binding;
        RMSNORM_CHECK(other->kind != own->kind || other->slot != own->slot || (!other->writes && !own->writes),
                      RMSNORM_MALFORMED, "manifest.json: a pass of %s binds the buffer of %s twice and writes it",
                      draft->variant->name, own->name);
    }
    if (own->size > planning->device.max_buffer_size) {
        return rmsnorm_draft_refuse(draft, "%s takes %" PRIu64 " bytes, the device's largest buffer %" PRIu64,
                                    own->name, own->size, planning->device.max_buffer_size);
    }
    return RMSNORM_OK;
}

static rmsnorm_status find_ranges(rmsnorm_planning *planning, const rmsnorm_manifest_pass *pass, rmsnorm_draft *draft,
                                  ranges *all)
{
    all->count = 0;
    for (size_t i = 0; i < pass->binding_count; i++) {
        const rmsnorm_manifest_binding *const from = &pass->bindings[i];
        bool there = true;
        if (from->when.text != NULL) {
            RMSNORM_TRY(rmsnorm_planning_flag(planning, &from->when, &there));
        }
        if (!there) {
            continue;
        }
        RMSNORM_CHECK(all->count < sizeof all->items / sizeof all->items[0], RMSNORM_MALFORMED,
                      "manifest.json: a pass of %s has more than %zu bindings", draft->variant->name,
                      sizeof all->items / sizeof all->items[0]);
        range *const to = &all->items[all->count];
        memset(to, 0, sizeof *to);
        to->binding.name = from->name;
        to->binding.writes = from->writes;
        to->binding.binding = (uint32_t)all->count;
        RMSNORM_TRY(find_tensor(planning, draft, from->tensor, to));
        if (from->row_bytes.text != NULL) {
            int64_t bytes;
            RMSNORM_TRY(rmsnorm_planning_integer(planning, &from->row_bytes, 0, &bytes));
            to->row_bytes = (uint64_t)bytes;
        }
        RMSNORM_TRY(check_range(planning, draft, all));
        all->count++;
    }
    if (all->count > planning->device.max_storage_buffers_per_shader_stage) {
        return rmsnorm_draft_refuse(draft, "it binds %zu storage buffers, the device at most %" PRIu32, all->count,
                                    planning->device.max_storage_buffers_per_shader_stage);
    }
    return RMSNORM_OK;
}

/* ---- Shaders --------------------------------------------------------------------------------- */

static const rmsnorm_template *find_template(void *user, const char *name, size_t length)
{
    const rmsnorm_package *const *const package = user;
    const rmsnorm_file *const file = rmsnorm_package_find(*package, name, length);
    return file == NULL ? NULL : file->parsed;
}

static rmsnorm_status set_map(rmsnorm_planning *planning, rmsnorm_map *map, const char *key, rmsnorm_map *member)
{
    rmsnorm_any value = rmsnorm_any_null();
    value.kind = RMSNORM_ANY_MAP;
    value.as.map = member;
    return rmsnorm_planning_set(planning, map, key, value);
}

/* The parameters, and `binding` and `access` of every bound name, and `uniformBinding`. */
static rmsnorm_status make_context(rmsnorm_planning *planning, const rmsnorm_manifest_pass *pass, const ranges *all,
                                   rmsnorm_map **context)
{
    rmsnorm_map *numbers;
    rmsnorm_map *access;
    RMSNORM_TRY(rmsnorm_planning_map(planning, context));
    RMSNORM_TRY(rmsnorm_planning_map(planning, &numbers));
    RMSNORM_TRY(rmsnorm_planning_map(planning, &access));
    for (size_t i = 0; i < all->count; i++) {
        const rmsnorm_binding *const binding = &all->items[i].binding;
        RMSNORM_TRY(rmsnorm_planning_set(planning, numbers, binding->name, rmsnorm_any_integer(binding->binding)));
        RMSNORM_TRY(rmsnorm_planning_set(planning, access, binding->name,
                                         rmsnorm_any_text(binding->writes ? "read_write" : "read")));
    }
    RMSNORM_TRY(set_map(planning, *context, "binding", numbers));
    RMSNORM_TRY(set_map(planning, *context, "access", access));
    RMSNORM_TRY(rmsnorm_planning_set(planning, *context, "uniformBinding", rmsnorm_any_integer((int64_t)all->count)));
    for (size_t i = 0; i < pass->parameters.count; i++) {
        rmsnorm_any value;
        RMSNORM_TRY(rmsnorm_planning_value(planning, &pass->parameters.items[i].formula, &value));
        RMSNORM_TRY(rmsnorm_planning_set(planning, *context, pass->parameters.items[i].name, value));
    }
    return RMSNORM_OK;
}

static rmsnorm_status grow(rmsnorm_arena *arena, void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return RMSNORM_OK;
    }
    const size_t larger = *room == 0 ? 4 : 2 * *room;
    void *const copy = rmsnorm_arena_allocate(arena, larger * size);
    if (copy == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    if (count > 0) {
        memcpy(copy, *items, count * size);
    }
    *items = copy;
    *room = larger;
    return RMSNORM_OK;
}

static rmsnorm_status add_shader(rmsnorm_planning *planning, const rmsnorm_manifest_pass *pass, const ranges *all,
                                 rmsnorm_draft *draft)
{
    const rmsnorm_package *const package = planning->package;
    const rmsnorm_file *const file = rmsnorm_package_find(package, pass->template_name, strlen(pass->template_name));
    RMSNORM_CHECK(file != NULL && file->parsed != NULL, RMSNORM_MALFORMED,
                  "manifest.json: a pass of %s uses the template %s, which is not in the package", draft->variant->name,
                  pass->template_name);
    rmsnorm_map *context;
    RMSNORM_TRY(make_context(planning, pass, all, &context));
    void *items = draft->shaders;
    RMSNORM_TRY(grow(planning->arena, &items, draft->shader_count, &draft->shader_room, sizeof *draft->shaders));
    draft->shaders = items;
    rmsnorm_shader *const shader = &draft->shaders[draft->shader_count];
    const rmsnorm_package *user = package;
    const rmsnorm_library library = {find_template, &user};
    RMSNORM_TRY(rmsnorm_template_render(file->parsed, context, &library, &planning->evaluation, SHADER_LIMIT,
                                        &shader->wgsl, &shader->length));
    const char *const dot = strchr(pass->template_name, '.');
    char label[192];
    const int length = snprintf(label, sizeof label, "%s/%s/%.*s", package->manifest.name, draft->variant->name,
                                (int)(dot == NULL ? strlen(pass->template_name) : (size_t)(dot - pass->template_name)),
                                pass->template_name);
    shader->label = rmsnorm_arena_copy(planning->arena, label, length < 0 ? 0 : strlen(label));
    if (shader->label == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    draft->shader_count++;
    return RMSNORM_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* How many rows from `first` on fit every binding. 0: not even one, and the draft is refused. */
static int64_t rows_that_fit(const rmsnorm_planning *planning, const ranges *all, int64_t first, int64_t rows,
                             int64_t unit, rmsnorm_draft *draft)
{
    const uint64_t most = planning->device.max_storage_buffer_binding_size / 4 * 4;
    const uint64_t alignment = planning->device.min_storage_buffer_offset_alignment;
    int64_t fit = rows - first;
    for (size_t i = 0; i < all->count; i++) {
        const range *const r = &all->items[i];
        if (r->binding.size <= most) {
            continue; /* bound whole */
        }
        const uint64_t before = (uint64_t)first * r->row_bytes % alignment;
        const uint64_t count = r->row_bytes == 0 || before > most ? 0 : (most - before) / r->row_bytes;
        if (count < (uint64_t)fit) {
            fit = (int64_t)count / unit * unit;
        }
        if (fit <= 0) {
            const uint64_t needed = r->row_bytes == 0 ? r->binding.size : r->row_bytes * (uint64_t)unit;
            rmsnorm_draft_refuse(draft, "%s takes %" PRIu64 " bytes%s%s, the device binds at most %" PRIu64,
                                 r->binding.name, needed,
                                 r->row_bytes == 0 ? ""
                                 : unit == 1       ? " in a row"
                                                   : " in two rows",
                                 needed <= most ? " behind an offset that is aligned" : "", most);
            return 0;
        }
    }
    return fit;
}

/* Binds the rows [first, first + count), and sets `piece`: first, rows, and base, the elements before them in each binding. */
static rmsnorm_status bind_piece(rmsnorm_planning *planning, const ranges *all, int64_t first, int64_t count,
                                 rmsnorm_pass *pass)
{
    const uint64_t most = planning->device.max_storage_buffer_binding_size / 4 * 4;
    const uint64_t alignment = planning->device.min_storage_buffer_offset_alignment;
    rmsnorm_binding *const bindings = rmsnorm_arena_allocate(planning->arena, all->count * sizeof *bindings);
    rmsnorm_map *piece;
    rmsnorm_map *base;
    if (bindings == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(rmsnorm_planning_map(planning, &piece));
    RMSNORM_TRY(rmsnorm_planning_map(planning, &base));
    for (size_t i = 0; i < all->count; i++) {
        const range *const r = &all->items[i];
        uint64_t before = 0;
        bindings[i] = r->binding;
        if (r->row_bytes > 0 && r->binding.size > most) {
            const uint64_t begin = (uint64_t)first * r->row_bytes;
            before = begin % alignment;
            bindings[i].offset = begin - before;
            bindings[i].size = (before + (uint64_t)count * r->row_bytes + 3) / 4 * 4;
            RMSNORM_CHECK(bindings[i].size <= r->binding.size &&
                              bindings[i].offset <= r->binding.size - bindings[i].size,
                          RMSNORM_MALFORMED, "manifest.json: rowBytes of %s leads beyond its %" PRIu64 " bytes",
                          r->binding.name, r->binding.size);
        } else {
            before = (uint64_t)first * r->row_bytes;
        }
        RMSNORM_TRY(
            rmsnorm_planning_set(planning, base, r->binding.name, rmsnorm_any_integer((int64_t)(before / r->element))));
    }
    RMSNORM_TRY(rmsnorm_planning_set(planning, piece, "first", rmsnorm_any_integer(first)));
    RMSNORM_TRY(rmsnorm_planning_set(planning, piece, "rows", rmsnorm_any_integer(count)));
    RMSNORM_TRY(set_map(planning, piece, "base", base));
    pass->bindings = bindings;
    pass->binding_count = all->count;
    return set_map(planning, planning->names, "piece", piece);
}

static rmsnorm_status set_workgroups(rmsnorm_planning *planning, const rmsnorm_manifest_pass *from,
                                     rmsnorm_draft *draft, rmsnorm_pass *pass)
{
    rmsnorm_any value;
    RMSNORM_TRY(rmsnorm_planning_value(planning, &from->workgroups, &value));
    const bool list = value.kind == RMSNORM_ANY_LIST;
    RMSNORM_CHECK(value.kind == RMSNORM_ANY_INTEGER || (list && value.as.list->count >= 1 && value.as.list->count <= 3),
                  RMSNORM_MALFORMED, "manifest.json: `%s` gives no workgroup counts", from->workgroups.text);
    for (size_t i = 0; i < 3; i++) {
        const rmsnorm_any one = rmsnorm_any_integer(1);
        const rmsnorm_any *const count =
            !list ? (i == 0 ? &value : &one) : (i < value.as.list->count ? &value.as.list->items[i] : &one);
        RMSNORM_CHECK(count->kind == RMSNORM_ANY_INTEGER && count->as.integer >= 1, RMSNORM_MALFORMED,
                      "manifest.json: `%s` gives no workgroup counts", from->workgroups.text);
        if (count->as.integer > planning->device.max_compute_workgroups_per_dimension) {
            return rmsnorm_draft_refuse(draft,
                                        "it needs %" PRId64 " workgroups in a dimension, the device has %" PRIu32,
                                        count->as.integer, planning->device.max_compute_workgroups_per_dimension);
        }
        pass->workgroups[i] = (uint32_t)count->as.integer;
    }
    return RMSNORM_OK;
}

static rmsnorm_status set_uniforms(rmsnorm_planning *planning, const rmsnorm_manifest_pass *from, rmsnorm_pass *pass)
{
    const size_t count = (from->uniforms.count + 3) / 4 * 4; /* whole 16 bytes */
    uint32_t *const words = rmsnorm_arena_allocate(planning->arena, (count + 1) * sizeof *words);
    if (words == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < from->uniforms.count; i++) {
        int64_t value;
        RMSNORM_TRY(rmsnorm_planning_integer(planning, &from->uniforms.items[i].formula, 0, &value));
        RMSNORM_CHECK(value <= UINT32_MAX, RMSNORM_INVALID_ARGUMENT, "%s: %s is %" PRId64 "; allowed: 32 bits",
                      planning->package->manifest.name, from->uniforms.items[i].name, value);
        words[i] = (uint32_t)value;
    }
    pass->uniforms = words;
    pass->uniform_count = count;
    return RMSNORM_OK;
}

static rmsnorm_status add_piece(rmsnorm_planning *planning, const rmsnorm_manifest_pass *from, const ranges *all,
                                int64_t first, int64_t count, rmsnorm_draft *draft)
{
    if (draft->pass_count >= PASSES_MAXIMUM) {
        return rmsnorm_draft_refuse(draft, "it needs more than %d dispatches", PASSES_MAXIMUM);
    }
    void *items = draft->passes;
    RMSNORM_TRY(grow(planning->arena, &items, draft->pass_count, &draft->pass_room, sizeof *draft->passes));
    draft->passes = items;
    rmsnorm_pass *const pass = &draft->passes[draft->pass_count];
    memset(pass, 0, sizeof *pass);
    pass->shader = draft->shader_count - 1;
    pass->uniform_binding = (uint32_t)all->count;
    RMSNORM_TRY(bind_piece(planning, all, first, count, pass));
    RMSNORM_TRY(set_workgroups(planning, from, draft, pass));
    RMSNORM_TRY(set_uniforms(planning, from, pass));
    draft->pass_count++;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_draft_pass(rmsnorm_planning *planning, const rmsnorm_manifest_pass *pass, rmsnorm_draft *draft)
{
    int64_t rows;
    int64_t unit = 1;
    ranges all;
    RMSNORM_TRY(rmsnorm_planning_integer(planning, &pass->rows, 0, &rows));
    if (rows == 0) {
        return RMSNORM_OK;
    }
    if (pass->unit.text != NULL) {
        RMSNORM_TRY(rmsnorm_planning_integer(planning, &pass->unit, 1, &unit));
    }
    RMSNORM_TRY(find_ranges(planning, pass, draft, &all));
    if (draft->refused) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(add_shader(planning, pass, &all, draft));
    for (int64_t first = 0; !draft->refused && first < rows;) {
        const int64_t count = rows_that_fit(planning, &all, first, rows, unit, draft);
        if (count == 0) {
            return RMSNORM_OK;
        }
        RMSNORM_TRY(add_piece(planning, pass, &all, first, count, draft));
        first += count;
    }
    return RMSNORM_OK;
}
