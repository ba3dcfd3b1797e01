#include <string.h>

#include "package/reader.h"

/* ---- The contract ---------------------------------------------------------------------------- */

/* The Hub writes float32 where ONNX writes float. */
static rmsnorm_dtype dtype_of(const rmsnorm_any *name)
{
    char text[16];
    if (name->kind != RMSNORM_ANY_STRING || name->as.string.length >= sizeof text) {
        return RMSNORM_UNDEFINED;
    }
    memcpy(text, name->as.string.text, name->as.string.length);
    text[name->as.string.length] = '\0';
    return rmsnorm_dtype_from_name(text);
}

static rmsnorm_status read_constraint(rmsnorm_reader *in, const char *name, const rmsnorm_any *json,
                                      const void *context, void *item)
{
    rmsnorm_manifest_constraint *const constraint = item;
    (void)context;
    constraint->name = name;
    if (json->kind != RMSNORM_ANY_LIST || json->as.list->count == 0) {
        return rmsnorm_reader_wrong(in, json, "a list of element types");
    }
    for (size_t t = 0; t < json->as.list->count; t++) {
        const rmsnorm_dtype dtype = dtype_of(&json->as.list->items[t]);
        if (dtype == RMSNORM_UNDEFINED) {
            return rmsnorm_reader_wrong(in, &json->as.list->items[t], "float32, float16, bfloat16, float64");
        }
        constraint->types |= RMSNORM_DTYPES(dtype);
    }
    return RMSNORM_OK;
}

static rmsnorm_status read_constraints(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    void *items;
    RMSNORM_TRY(rmsnorm_reader_members(in, json, "typeConstraints", true, &map));
    RMSNORM_TRY(rmsnorm_reader_each_member(in, "typeConstraints", map, sizeof *manifest->constraints, read_constraint,
                                           NULL, &items));
    manifest->constraints = items;
    manifest->constraint_count = map->count;
    return RMSNORM_OK;
}

static bool is_type(const rmsnorm_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->constraint_count; i++) {
        if (strcmp(manifest->constraints[i].name, name) == 0) {
            return true;
        }
    }
    return rmsnorm_dtype_from_name(name) != RMSNORM_UNDEFINED;
}

typedef struct slot_context {
    const rmsnorm_manifest *manifest;
    bool output;
} slot_context;

static rmsnorm_status read_slot(rmsnorm_reader *in, const char *name, const rmsnorm_any *json, const void *context,
                                void *item)
{
    const slot_context *const known = context;
    rmsnorm_manifest_slot *const slot = item;
    slot->key = name;
    RMSNORM_READER_KEYS(in, json, "onnx", "dtype", "rank", "shape", "optional");
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "onnx", &slot->onnx));
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "dtype", &slot->type));
    RMSNORM_CHECK(is_type(known->manifest, slot->type), RMSNORM_MALFORMED,
                  "manifest.json: %s.dtype is \"%s\"; allowed: a name of typeConstraints, or an element type", in->path,
                  slot->type);
    RMSNORM_TRY(rmsnorm_reader_flag(in, json, "optional", &slot->optional));
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_reader_formula_at(in, json, "rank", false, &slot->rank));
    return rmsnorm_reader_formula_at(in, json, "shape", known->output, &slot->shape);
}

static rmsnorm_status read_slots(rmsnorm_reader *in, const rmsnorm_any *json, const char *key,
                                 const rmsnorm_manifest *manifest, const rmsnorm_manifest_slot **slots, size_t *count)
{
    const slot_context context = {manifest, strcmp(key, "outputs") == 0};
    const rmsnorm_map *map;
    void *items;
    RMSNORM_TRY(rmsnorm_reader_members(in, json, key, true, &map));
    RMSNORM_CHECK(map->count >= 1 && map->count <= RMSNORM_MAX_SLOTS, RMSNORM_MALFORMED,
                  "manifest.json: %s has %zu members; allowed: 1 to %d", key, map->count, RMSNORM_MAX_SLOTS);
    RMSNORM_TRY(rmsnorm_reader_each_member(in, key, map, sizeof **slots, read_slot, &context, &items));
    *slots = items;
    *count = map->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_attribute(rmsnorm_reader *in, const char *name, const rmsnorm_any *json, const void *context,
                                     void *item)
{
    rmsnorm_manifest_attribute *const attribute = item;
    (void)context;
    attribute->name = name;
    RMSNORM_READER_KEYS(in, json, "default");
    const rmsnorm_any *const value = rmsnorm_reader_field(json, "default");
    if (value == NULL || (value->kind != RMSNORM_ANY_INTEGER && value->kind != RMSNORM_ANY_FLOAT)) {
        rmsnorm_reader_enter(in, "default");
        return rmsnorm_reader_wrong(in, value, "a number");
    }
    attribute->value = *value;
    return RMSNORM_OK;
}

static rmsnorm_status read_attributes(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    void *items;
    RMSNORM_TRY(rmsnorm_reader_members(in, json, "attributes", false, &map));
    RMSNORM_TRY(
        rmsnorm_reader_each_member(in, "attributes", map, sizeof *manifest->attributes, read_attribute, NULL, &items));
    manifest->attributes = items;
    manifest->attribute_count = map->count;
    return RMSNORM_OK;
}

/* ---- What the planner adds ------------------------------------------------------------------- */

static rmsnorm_status read_tunable(rmsnorm_reader *in, const char *name, const rmsnorm_any *json, const void *context,
                                   void *item)
{
    rmsnorm_manifest_tunable *const tunable = item;
    const rmsnorm_list *list;
    (void)context;
    tunable->name = name;
    RMSNORM_READER_KEYS(in, json, "default", "values");
    RMSNORM_TRY(rmsnorm_reader_integer(in, json, "default", &tunable->value));
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "values", true, &list));
    int64_t *const values = rmsnorm_reader_items(in, list->count, sizeof *values);
    if (values == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = rmsnorm_reader_enter(in, "values");
    bool has_default = false;
    for (size_t v = 0; v < list->count; v++) {
        if (list->items[v].kind != RMSNORM_ANY_INTEGER) {
            return rmsnorm_reader_wrong(in, &list->items[v], "integers");
        }
        values[v] = list->items[v].as.integer;
        has_default = has_default || values[v] == tunable->value;
    }
    RMSNORM_CHECK(has_default, RMSNORM_MALFORMED, "manifest.json: %s lacks the default %lld", in->path,
                  (long long)tunable->value);
    rmsnorm_reader_leave(in, before);
    tunable->values = values;
    tunable->value_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_tunables(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    void *items;
    RMSNORM_TRY(rmsnorm_reader_members(in, json, "tunables", false, &map));
    RMSNORM_TRY(
        rmsnorm_reader_each_member(in, "tunables", map, sizeof *manifest->tunables, read_tunable, NULL, &items));
    manifest->tunables = items;
    manifest->tunable_count = map->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_requirements(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_list *list;
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "require", false, &list));
    rmsnorm_requirement *const items = rmsnorm_reader_items(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = rmsnorm_reader_enter(in, "require");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = rmsnorm_reader_enter_item(in, i);
        rmsnorm_formula message;
        RMSNORM_READER_KEYS(in, &list->items[i], "holds", "message");
        RMSNORM_TRY(rmsnorm_reader_formula_at(in, &list->items[i], "holds", true, &items[i].holds));
        RMSNORM_TRY(rmsnorm_reader_formula_at(in, &list->items[i], "message", true, &message));
        items[i].message = message.expression;
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    manifest->requirements = items;
    manifest->requirement_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_binding(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest_binding *binding)
{
    const char *access;
    RMSNORM_READER_KEYS(in, json, "name", "tensor", "when", "access", "rowBytes");
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "name", &binding->name));
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "tensor", &binding->tensor));
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "access", &access));
    binding->reads = strcmp(access, "read") == 0 || strcmp(access, "read_write") == 0;
    binding->writes = strcmp(access, "write") == 0 || strcmp(access, "read_write") == 0;
    RMSNORM_CHECK(binding->reads || binding->writes, RMSNORM_MALFORMED,
                  "manifest.json: %s.access is \"%s\"; allowed: read, write, read_write", in->path, access);
    RMSNORM_TRY(rmsnorm_reader_formula_at(in, json, "when", false, &binding->when));
    return rmsnorm_reader_formula_at(in, json, "rowBytes", false, &binding->row_bytes);
}

static rmsnorm_status read_pass(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest_pass *pass)
{
    const rmsnorm_list *list;
    RMSNORM_READER_KEYS(in, json, "template", "parameters", "bindings", "rows", "unit", "workgroups", "uniforms");
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "template", &pass->template_name));
    RMSNORM_TRY(rmsnorm_reader_formulas(in, json, "parameters", &pass->parameters));
    RMSNORM_TRY(rmsnorm_reader_formulas(in, json, "uniforms", &pass->uniforms));
    RMSNORM_TRY(rmsnorm_reader_formula_at(in, json, "rows", true, &pass->rows));
    RMSNORM_TRY(rmsnorm_reader_formula_at(in, json, "unit", false, &pass->unit));
    RMSNORM_TRY(rmsnorm_reader_formula_at(in, json, "workgroups", true, &pass->workgroups));
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "bindings", true, &list));
    rmsnorm_manifest_binding *const items = rmsnorm_reader_items(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = rmsnorm_reader_enter(in, "bindings");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = rmsnorm_reader_enter_item(in, i);
        RMSNORM_TRY(read_binding(in, &list->items[i], &items[i]));
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    pass->bindings = items;
    pass->binding_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_variant(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest_variant *variant)
{
    const rmsnorm_list *list;
    RMSNORM_READER_KEYS(in, json, "name", "when", "derive", "scratch", "passes");
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "name", &variant->name));
    RMSNORM_TRY(rmsnorm_reader_formulas(in, json, "derive", &variant->derive));
    RMSNORM_TRY(rmsnorm_reader_formulas(in, json, "scratch", &variant->scratch));
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "when", false, &list));
    rmsnorm_formula *const when = rmsnorm_reader_items(in, list->count, sizeof *when);
    if (when == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    size_t before = rmsnorm_reader_enter(in, "when");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = rmsnorm_reader_enter_item(in, i);
        RMSNORM_TRY(rmsnorm_reader_formula(in, &list->items[i], &when[i]));
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    variant->when = when;
    variant->when_count = list->count;
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "passes", true, &list));
    rmsnorm_manifest_pass *const passes = rmsnorm_reader_items(in, list->count, sizeof *passes);
    if (passes == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    before = rmsnorm_reader_enter(in, "passes");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = rmsnorm_reader_enter_item(in, i);
        RMSNORM_TRY(read_pass(in, &list->items[i], &passes[i]));
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    variant->passes = passes;
    variant->pass_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_variants(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_list *list;
    RMSNORM_TRY(rmsnorm_reader_list(in, json, "variants", true, &list));
    rmsnorm_manifest_variant *const items = rmsnorm_reader_items(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = rmsnorm_reader_enter(in, "variants");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = rmsnorm_reader_enter_item(in, i);
        RMSNORM_TRY(read_variant(in, &list->items[i], &items[i]));
        for (size_t earlier = 0; earlier < i; earlier++) {
            RMSNORM_CHECK(strcmp(items[earlier].name, items[i].name) != 0, RMSNORM_MALFORMED,
                          "manifest.json: %s.name is \"%s\", as that of variants[%zu]", in->path, items[i].name,
                          earlier);
        }
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    manifest->variants = items;
    manifest->variant_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_manifest(rmsnorm_reader *in, const rmsnorm_any *json, rmsnorm_manifest *manifest)
{
    if (json->kind != RMSNORM_ANY_MAP) {
        return rmsnorm_fail(RMSNORM_MALFORMED, "manifest.json: holds %s; allowed: an object",
                            rmsnorm_any_kind_name(json->kind));
    }
    RMSNORM_READER_KEYS(in, json, "domain", "name", "sinceVersion", "inputs", "outputs", "attributes",
                        "typeConstraints", "tunables", "derive", "require", "variants");
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "domain", &manifest->domain));
    RMSNORM_TRY(rmsnorm_reader_text(in, json, "name", &manifest->name));
    RMSNORM_TRY(rmsnorm_reader_integer(in, json, "sinceVersion", &manifest->since_version));
    RMSNORM_TRY(read_constraints(in, json, manifest));
    RMSNORM_TRY(read_slots(in, json, "inputs", manifest, &manifest->inputs, &manifest->input_count));
    RMSNORM_TRY(read_slots(in, json, "outputs", manifest, &manifest->outputs, &manifest->output_count));
    for (size_t i = 0; i < manifest->input_count; i++) {
        for (size_t o = 0; o < manifest->output_count; o++) {
            RMSNORM_CHECK(strcmp(manifest->inputs[i].key, manifest->outputs[o].key) != 0, RMSNORM_MALFORMED,
                          "manifest.json: \"%s\" is the key of an input and of an output", manifest->inputs[i].key);
        }
    }
    RMSNORM_TRY(read_attributes(in, json, manifest));
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(read_tunables(in, json, manifest));
    RMSNORM_TRY(read_requirements(in, json, manifest));
    RMSNORM_TRY(rmsnorm_reader_formulas(in, json, "derive", &manifest->derive));
    return read_variants(in, json, manifest);
}

rmsnorm_status rmsnorm_manifest_parse(rmsnorm_arena *arena, const rmsnorm_any *json, bool contract_only,
                                      rmsnorm_manifest *manifest)
{
    rmsnorm_reader in = {.arena = arena, .contract_only = contract_only};
    memset(manifest, 0, sizeof *manifest);
    return read_manifest(&in, json, manifest);
}
