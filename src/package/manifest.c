#include "package/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where in the manifest the reader is: "variants[1].passes[0]". */
typedef struct reader {
    rmsnorm_arena *arena;
    char path[192];
    size_t length;
    bool
        contract_only; /* of a spec that is not ours: its expressions are not read, and fields may be there that we do not know */
} reader;

/* ---- The path -------------------------------------------------------------------------------- */

static size_t enter_key(reader *in, const char *key)
{
    const size_t before = in->length;
    const size_t room = sizeof in->path - before;
    const int written = snprintf(in->path + before, room, before == 0 ? "%s" : ".%s", key);
    in->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
    return before;
}

static size_t enter_item(reader *in, size_t index)
{
    const size_t before = in->length;
    const size_t room = sizeof in->path - before;
    const int written = snprintf(in->path + before, room, "[%zu]", index);
    in->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
    return before;
}

static void leave(reader *in, size_t before)
{
    in->length = before;
    in->path[before] = '\0';
}

RMSNORM_COLD static rmsnorm_status wrong(const reader *in, const rmsnorm_value *got, const char *allowed)
{
    return rmsnorm_fail(RMSNORM_MALFORMED, "manifest.json: %s is %s; allowed: %s", in->path,
                        got == NULL ? "missing" : rmsnorm_value_kind_name(got->kind), allowed);
}

static void *items_of(reader *in, size_t count, size_t size)
{
    return rmsnorm_arena_allocate(in->arena, count == 0 ? 1 : count * size);
}

/* ---- Single fields --------------------------------------------------------------------------- */

static const rmsnorm_value *field(const rmsnorm_value *object, const char *key)
{
    return rmsnorm_map_get(object->as.map, key, strlen(key));
}

static bool is_absent(const rmsnorm_value *value)
{
    return value == NULL || value->kind == RMSNORM_VALUE_NULL;
}

/* Every key of an object is one that is known: what is misspelt is not silently left out. */
static rmsnorm_status check_keys(const reader *in, const rmsnorm_value *object, const char *const *known, size_t count)
{
    if (object->kind != RMSNORM_VALUE_MAP) {
        return wrong(in, object, "an object");
    }
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    for (size_t i = 0; i < object->as.map->count; i++) {
        const rmsnorm_entry *const entry = &object->as.map->entries[i];
        bool found = false;
        for (size_t k = 0; !found && k < count; k++) {
            found = strlen(known[k]) == entry->length && memcmp(known[k], entry->key, entry->length) == 0;
        }
        RMSNORM_CHECK(found, RMSNORM_MALFORMED, "manifest.json: %s%sunknown field \"%.*s\"", in->path,
                      in->length > 0 ? " has the " : "the ", (int)(entry->length < 64 ? entry->length : 64),
                      entry->key);
    }
    return RMSNORM_OK;
}

#define CHECK_KEYS(in, object, ...)                                                        \
    do {                                                                                   \
        static const char *const known_[] = {__VA_ARGS__};                                 \
        RMSNORM_TRY(check_keys((in), (object), known_, sizeof known_ / sizeof known_[0])); \
    } while (0)

static rmsnorm_status read_text(reader *in, const rmsnorm_value *object, const char *key, const char **text)
{
    const size_t before = enter_key(in, key);
    const rmsnorm_value *const value = field(object, key);
    if (value == NULL || value->kind != RMSNORM_VALUE_STRING || value->as.string.length == 0 ||
        memchr(value->as.string.text, '\0', value->as.string.length) != NULL) {
        return wrong(in, value, "a text that is not empty");
    }
    *text = rmsnorm_arena_copy(in->arena, value->as.string.text, value->as.string.length);
    leave(in, before);
    return *text == NULL ? RMSNORM_OUT_OF_MEMORY : RMSNORM_OK;
}

static rmsnorm_status read_integer(reader *in, const rmsnorm_value *object, const char *key, int64_t *number)
{
    const size_t before = enter_key(in, key);
    const rmsnorm_value *const value = field(object, key);
    if (value == NULL || value->kind != RMSNORM_VALUE_INTEGER) {
        return wrong(in, value, "an integer");
    }
    *number = value->as.integer;
    leave(in, before);
    return RMSNORM_OK;
}

/* An absent one is false. */
static rmsnorm_status read_flag(reader *in, const rmsnorm_value *object, const char *key, bool *flag)
{
    const rmsnorm_value *const value = field(object, key);
    *flag = false;
    if (is_absent(value)) {
        return RMSNORM_OK;
    }
    const size_t before = enter_key(in, key);
    if (value->kind != RMSNORM_VALUE_BOOLEAN) {
        return wrong(in, value, "true or false");
    }
    *flag = value->as.boolean;
    leave(in, before);
    return RMSNORM_OK;
}

/* The members of an object or the items of a list, whatever they are; an absent one has none. */
static rmsnorm_status read_members(reader *in, const rmsnorm_value *object, const char *key, bool needed,
                                   const rmsnorm_map **map)
{
    static const rmsnorm_map none = {0};
    const rmsnorm_value *const value = field(object, key);
    *map = &none;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = enter_key(in, key);
    if (value == NULL || value->kind != RMSNORM_VALUE_MAP) {
        return wrong(in, value, "an object");
    }
    *map = value->as.map;
    leave(in, before);
    return RMSNORM_OK;
}

static rmsnorm_status read_items(reader *in, const rmsnorm_value *object, const char *key, bool needed,
                                 const rmsnorm_list **list)
{
    static const rmsnorm_list none = {0};
    const rmsnorm_value *const value = field(object, key);
    *list = &none;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = enter_key(in, key);
    if (value == NULL || value->kind != RMSNORM_VALUE_LIST || (needed && value->as.list->count == 0)) {
        return wrong(in, value, needed ? "a list that is not empty" : "a list");
    }
    *list = value->as.list;
    leave(in, before);
    return RMSNORM_OK;
}

/* ---- Formulas -------------------------------------------------------------------------------- */

/* The value at the path: an expression, or a number or truth value that stands for itself. */
static rmsnorm_status make_formula(reader *in, const rmsnorm_value *value, rmsnorm_formula *formula)
{
    char text[32];
    rmsnorm_source source = {in->path, text, 0};
    if (value != NULL && value->kind == RMSNORM_VALUE_STRING && value->as.string.length > 0) {
        source.text = value->as.string.text;
        source.length = value->as.string.length;
    } else if (value != NULL && value->kind == RMSNORM_VALUE_INTEGER) {
        source.length = (size_t)snprintf(text, sizeof text, "%lld", (long long)value->as.integer);
    } else if (value != NULL && value->kind == RMSNORM_VALUE_BOOLEAN) {
        source.length = (size_t)snprintf(text, sizeof text, "%s", value->as.boolean ? "true" : "false");
    } else {
        return wrong(in, value, "an expression as text, an integer, true or false");
    }
    formula->text = rmsnorm_arena_copy(in->arena, source.text, source.length);
    source.name = rmsnorm_arena_copy(in->arena, in->path, in->length);
    if (formula->text == NULL || source.name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    return rmsnorm_expression_parse(in->arena, &source, &formula->expression);
}

static rmsnorm_status read_formula(reader *in, const rmsnorm_value *object, const char *key, bool needed,
                                   rmsnorm_formula *formula)
{
    const rmsnorm_value *const value = field(object, key);
    formula->text = NULL;
    formula->expression = NULL;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = enter_key(in, key);
    RMSNORM_TRY(make_formula(in, value, formula));
    leave(in, before);
    return RMSNORM_OK;
}

static rmsnorm_status read_formulas(reader *in, const rmsnorm_value *object, const char *key,
                                    rmsnorm_formulas *formulas)
{
    const rmsnorm_map *map;
    RMSNORM_TRY(read_members(in, object, key, false, &map));
    rmsnorm_named_formula *const items = items_of(in, map->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, key);
    for (size_t i = 0; i < map->count; i++) {
        items[i].name = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (items[i].name == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = enter_key(in, items[i].name);
        RMSNORM_TRY(make_formula(in, &map->entries[i].value, &items[i].formula));
        leave(in, inside);
    }
    leave(in, before);
    formulas->items = items;
    formulas->count = map->count;
    return RMSNORM_OK;
}

/* ---- The contract ---------------------------------------------------------------------------- */

/* The Hub writes float32 where ONNX writes float. */
static rmsnorm_dtype dtype_of(const rmsnorm_value *name)
{
    char text[16];
    if (name->kind != RMSNORM_VALUE_STRING || name->as.string.length >= sizeof text) {
        return RMSNORM_UNDEFINED;
    }
    memcpy(text, name->as.string.text, name->as.string.length);
    text[name->as.string.length] = '\0';
    return rmsnorm_dtype_from_name(text);
}

static rmsnorm_status read_constraints(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    RMSNORM_TRY(read_members(in, json, "typeConstraints", true, &map));
    rmsnorm_manifest_constraint *const items = items_of(in, map->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "typeConstraints");
    for (size_t i = 0; i < map->count; i++) {
        const rmsnorm_value *const value = &map->entries[i].value;
        items[i].name = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (items[i].name == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = enter_key(in, items[i].name);
        if (value->kind != RMSNORM_VALUE_LIST || value->as.list->count == 0) {
            return wrong(in, value, "a list of element types");
        }
        for (size_t t = 0; t < value->as.list->count; t++) {
            const rmsnorm_dtype dtype = dtype_of(&value->as.list->items[t]);
            if (dtype == RMSNORM_UNDEFINED) {
                return wrong(in, &value->as.list->items[t], "float32, float16, bfloat16, float64");
            }
            items[i].types |= RMSNORM_DTYPES(dtype);
        }
        leave(in, inside);
    }
    leave(in, before);
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

static rmsnorm_status read_slot(reader *in, const rmsnorm_manifest *manifest, const rmsnorm_entry *entry, bool output,
                                rmsnorm_manifest_slot *slot)
{
    const rmsnorm_value *const json = &entry->value;
    CHECK_KEYS(in, json, "onnx", "dtype", "rank", "shape", "optional");
    RMSNORM_TRY(read_text(in, json, "onnx", &slot->onnx));
    RMSNORM_TRY(read_text(in, json, "dtype", &slot->type));
    RMSNORM_CHECK(is_type(manifest, slot->type), RMSNORM_MALFORMED,
                  "manifest.json: %s.dtype is \"%s\"; allowed: a name of typeConstraints, or an element type", in->path,
                  slot->type);
    RMSNORM_TRY(read_flag(in, json, "optional", &slot->optional));
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(read_formula(in, json, "rank", false, &slot->rank));
    return read_formula(in, json, "shape", output, &slot->shape);
}

static rmsnorm_status read_slots(reader *in, const rmsnorm_value *json, const char *key,
                                 const rmsnorm_manifest *manifest, const rmsnorm_manifest_slot **slots, size_t *count)
{
    const rmsnorm_map *map;
    RMSNORM_TRY(read_members(in, json, key, true, &map));
    const size_t before = enter_key(in, key);
    RMSNORM_CHECK(map->count >= 1 && map->count <= RMSNORM_MAX_SLOTS, RMSNORM_MALFORMED,
                  "manifest.json: %s has %zu members; allowed: 1 to %d", key, map->count, RMSNORM_MAX_SLOTS);
    rmsnorm_manifest_slot *const items = items_of(in, map->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < map->count; i++) {
        items[i].key = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (items[i].key == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = enter_key(in, items[i].key);
        RMSNORM_TRY(read_slot(in, manifest, &map->entries[i], strcmp(key, "outputs") == 0, &items[i]));
        leave(in, inside);
    }
    leave(in, before);
    *slots = items;
    *count = map->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_attributes(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    RMSNORM_TRY(read_members(in, json, "attributes", false, &map));
    rmsnorm_manifest_attribute *const items = items_of(in, map->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "attributes");
    for (size_t i = 0; i < map->count; i++) {
        items[i].name = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (items[i].name == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = enter_key(in, items[i].name);
        CHECK_KEYS(in, &map->entries[i].value, "default");
        const rmsnorm_value *const value = field(&map->entries[i].value, "default");
        if (value == NULL || (value->kind != RMSNORM_VALUE_INTEGER && value->kind != RMSNORM_VALUE_FLOAT)) {
            enter_key(in, "default");
            return wrong(in, value, "a number");
        }
        items[i].value = *value;
        leave(in, inside);
    }
    leave(in, before);
    manifest->attributes = items;
    manifest->attribute_count = map->count;
    return RMSNORM_OK;
}

/* ---- What the planner adds ------------------------------------------------------------------- */

static rmsnorm_status read_tunables(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_map *map;
    RMSNORM_TRY(read_members(in, json, "tunables", false, &map));
    rmsnorm_manifest_tunable *const items = items_of(in, map->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "tunables");
    for (size_t i = 0; i < map->count; i++) {
        const rmsnorm_value *const value = &map->entries[i].value;
        items[i].name = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (items[i].name == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = enter_key(in, items[i].name);
        CHECK_KEYS(in, value, "default", "values");
        RMSNORM_TRY(read_integer(in, value, "default", &items[i].value));
        const rmsnorm_list *list;
        RMSNORM_TRY(read_items(in, value, "values", true, &list));
        int64_t *const values = items_of(in, list->count, sizeof *values);
        if (values == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        enter_key(in, "values");
        bool has_default = false;
        for (size_t v = 0; v < list->count; v++) {
            if (list->items[v].kind != RMSNORM_VALUE_INTEGER) {
                return wrong(in, &list->items[v], "integers");
            }
            values[v] = list->items[v].as.integer;
            has_default = has_default || values[v] == items[i].value;
        }
        RMSNORM_CHECK(has_default, RMSNORM_MALFORMED, "manifest.json: %s lacks the default %lld", in->path,
                      (long long)items[i].value);
        items[i].values = values;
        items[i].value_count = list->count;
        leave(in, inside);
    }
    leave(in, before);
    manifest->tunables = items;
    manifest->tunable_count = map->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_requirements(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_list *list;
    RMSNORM_TRY(read_items(in, json, "require", false, &list));
    rmsnorm_requirement *const items = items_of(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "require");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = enter_item(in, i);
        rmsnorm_formula message;
        CHECK_KEYS(in, &list->items[i], "holds", "message");
        RMSNORM_TRY(read_formula(in, &list->items[i], "holds", true, &items[i].holds));
        RMSNORM_TRY(read_formula(in, &list->items[i], "message", true, &message));
        items[i].message = message.expression;
        leave(in, inside);
    }
    leave(in, before);
    manifest->requirements = items;
    manifest->requirement_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_binding(reader *in, const rmsnorm_value *json, rmsnorm_manifest_binding *binding)
{
    const char *access;
    CHECK_KEYS(in, json, "name", "tensor", "when", "access", "rowBytes");
    RMSNORM_TRY(read_text(in, json, "name", &binding->name));
    RMSNORM_TRY(read_text(in, json, "tensor", &binding->tensor));
    RMSNORM_TRY(read_text(in, json, "access", &access));
    binding->reads = strcmp(access, "read") == 0 || strcmp(access, "read_write") == 0;
    binding->writes = strcmp(access, "write") == 0 || strcmp(access, "read_write") == 0;
    RMSNORM_CHECK(binding->reads || binding->writes, RMSNORM_MALFORMED,
                  "manifest.json: %s.access is \"%s\"; allowed: read, write, read_write", in->path, access);
    RMSNORM_TRY(read_formula(in, json, "when", false, &binding->when));
    return read_formula(in, json, "rowBytes", false, &binding->row_bytes);
}

static rmsnorm_status read_pass(reader *in, const rmsnorm_value *json, rmsnorm_manifest_pass *pass)
{
    const rmsnorm_list *list;
    CHECK_KEYS(in, json, "template", "parameters", "bindings", "rows", "unit", "workgroups", "uniforms");
    RMSNORM_TRY(read_text(in, json, "template", &pass->template_name));
    RMSNORM_TRY(read_formulas(in, json, "parameters", &pass->parameters));
    RMSNORM_TRY(read_formulas(in, json, "uniforms", &pass->uniforms));
    RMSNORM_TRY(read_formula(in, json, "rows", true, &pass->rows));
    RMSNORM_TRY(read_formula(in, json, "unit", false, &pass->unit));
    RMSNORM_TRY(read_formula(in, json, "workgroups", true, &pass->workgroups));
    RMSNORM_TRY(read_items(in, json, "bindings", true, &list));
    rmsnorm_manifest_binding *const items = items_of(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "bindings");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = enter_item(in, i);
        RMSNORM_TRY(read_binding(in, &list->items[i], &items[i]));
        leave(in, inside);
    }
    leave(in, before);
    pass->bindings = items;
    pass->binding_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_variant(reader *in, const rmsnorm_value *json, rmsnorm_manifest_variant *variant)
{
    const rmsnorm_list *list;
    CHECK_KEYS(in, json, "name", "when", "derive", "scratch", "passes");
    RMSNORM_TRY(read_text(in, json, "name", &variant->name));
    RMSNORM_TRY(read_formulas(in, json, "derive", &variant->derive));
    RMSNORM_TRY(read_formulas(in, json, "scratch", &variant->scratch));
    RMSNORM_TRY(read_items(in, json, "when", false, &list));
    rmsnorm_formula *const when = items_of(in, list->count, sizeof *when);
    if (when == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    size_t before = enter_key(in, "when");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = enter_item(in, i);
        RMSNORM_TRY(make_formula(in, &list->items[i], &when[i]));
        leave(in, inside);
    }
    leave(in, before);
    variant->when = when;
    variant->when_count = list->count;
    RMSNORM_TRY(read_items(in, json, "passes", true, &list));
    rmsnorm_manifest_pass *const passes = items_of(in, list->count, sizeof *passes);
    if (passes == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    before = enter_key(in, "passes");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = enter_item(in, i);
        RMSNORM_TRY(read_pass(in, &list->items[i], &passes[i]));
        leave(in, inside);
    }
    leave(in, before);
    variant->passes = passes;
    variant->pass_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_variants(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    const rmsnorm_list *list;
    RMSNORM_TRY(read_items(in, json, "variants", true, &list));
    rmsnorm_manifest_variant *const items = items_of(in, list->count, sizeof *items);
    if (items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = enter_key(in, "variants");
    for (size_t i = 0; i < list->count; i++) {
        const size_t inside = enter_item(in, i);
        RMSNORM_TRY(read_variant(in, &list->items[i], &items[i]));
        for (size_t earlier = 0; earlier < i; earlier++) {
            RMSNORM_CHECK(strcmp(items[earlier].name, items[i].name) != 0, RMSNORM_MALFORMED,
                          "manifest.json: %s.name is \"%s\", as that of variants[%zu]", in->path, items[i].name,
                          earlier);
        }
        leave(in, inside);
    }
    leave(in, before);
    manifest->variants = items;
    manifest->variant_count = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status read_manifest(reader *in, const rmsnorm_value *json, rmsnorm_manifest *manifest)
{
    if (json->kind != RMSNORM_VALUE_MAP) {
        return rmsnorm_fail(RMSNORM_MALFORMED, "manifest.json: holds %s; allowed: an object",
                            rmsnorm_value_kind_name(json->kind));
    }
    CHECK_KEYS(in, json, "domain", "name", "sinceVersion", "inputs", "outputs", "attributes", "typeConstraints",
               "tunables", "derive", "require", "variants");
    RMSNORM_TRY(read_text(in, json, "domain", &manifest->domain));
    RMSNORM_TRY(read_text(in, json, "name", &manifest->name));
    RMSNORM_TRY(read_integer(in, json, "sinceVersion", &manifest->since_version));
    RMSNORM_TRY(read_constraints(in, json, manifest));
    RMSNORM_TRY(read_slots(in, json, "inputs", manifest, &manifest->inputs, &manifest->input_count));
    RMSNORM_TRY(read_slots(in, json, "outputs", manifest, &manifest->outputs, &manifest->output_count));
    RMSNORM_TRY(read_attributes(in, json, manifest));
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(read_tunables(in, json, manifest));
    RMSNORM_TRY(read_requirements(in, json, manifest));
    RMSNORM_TRY(read_formulas(in, json, "derive", &manifest->derive));
    return read_variants(in, json, manifest);
}

rmsnorm_status rmsnorm_manifest_parse(rmsnorm_arena *arena, const rmsnorm_value *json, bool contract_only,
                                      rmsnorm_manifest *manifest)
{
    reader in = {.arena = arena, .contract_only = contract_only};
    memset(manifest, 0, sizeof *manifest);
    return read_manifest(&in, json, manifest);
}
