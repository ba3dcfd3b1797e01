/* card.c: README.md of a package. Nothing in it is written by hand: manifest and metadata say what the package has, the
 * operator's schema what it means. */
#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli.h"
#include "package.h"
#include "text.h"

/* What a card is drawn from. */
typedef struct card {
    FILE *file;
    rmsnorm_package_info info;
    const rmsnorm_operator *op; /* NULL: none of ours, so there is no prose */
    json_t *manifest, *metadata;
    const rmsnorm_package *package;
} card;

/* Text of a cell or a line: made safe, and a bar would end a cell. */
static void show(const card *to, const char *text)
{
    char *copy = rmsnorm_cli_allocate(strlen(text) + 1, 1);
    memcpy(copy, text, strlen(text));
    rmsnorm_cli_clean(copy);
    for (const char *c = copy; *c != '\0'; ++c) {
        if (*c == '|') {
            (void)fputc('\\', to->file);
        }
        (void)fputc(*c, to->file);
    }
    free(copy);
}

/* A name, as code. */
static void show_code(const card *to, const char *name)
{
    (void)fputc('`', to->file);
    show(to, name);
    (void)fputc('`', to->file);
}

/* A row of cells, each a text; ends with NULL. */
static void row(const card *to, ...)
{
    va_list cells;
    va_start(cells, to);
    const char *cell;
    (void)fputc('|', to->file);
    while ((cell = va_arg(cells, const char *)) != NULL) {
        (void)fputc(' ', to->file);
        show(to, cell);
        (void)fputs(cell[0] == '\0' ? "|" : " |", to->file);
    }
    va_end(cells);
    (void)fputc('\n', to->file);
}

/* A number as its shortest text; the numbers of a manifest are integers, or floats printed as doubles. */
static const char *number(const json_t *value, char text[RMSNORM_CLI_NUMBER])
{
    if (json_is_integer(value)) {
        (void)snprintf(text, RMSNORM_CLI_NUMBER, "%lld", (long long)json_integer_value(value));
        return text;
    }
    return rmsnorm_cli_number((double)(float)json_real_value(value), true, text);
}

/* "a, b, c" of the items of a list, texts or numbers; to be freed. */
static char *joined(const json_t *list)
{
    const size_t count = json_array_size(list);
    size_t size = 1;
    for (size_t i = 0; i < count; ++i) {
        const json_t *item = json_array_get(list, i);
        size += 2 + (json_is_string(item) ? json_string_length(item) : RMSNORM_CLI_NUMBER);
    }
    char *text = rmsnorm_cli_allocate(size, 1);
    for (size_t i = 0; i < count; ++i) {
        const json_t *item = json_array_get(list, i);
        char digits[RMSNORM_CLI_NUMBER];
        rmsnorm_cli_append(text, size, "%s%s", i > 0 ? ", " : "",
                           json_is_string(item) ? json_string_value(item) : number(item, digits));
    }
    return text;
}

static void draw_front(const card *to)
{
    char license[64];
    (void)snprintf(license, sizeof license, "%s", json_string_value(json_object_get(to->metadata, "license")));
    for (char *c = license; *c != '\0'; ++c) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    rmsnorm_cli_clean(license);
    (void)fprintf(to->file, "---\ntags:\n- kernels\n- webgpu\n- onnx\nlicense: %s\n---\n\n# ", license);
    show(to, to->info.name);
    (void)fputs("\n\n", to->file);
    if (to->op != NULL) {
        show_code(to, to->op->summary);
        (void)fputs("\n\n", to->file);
    }
    (void)fputs("A kernel package for WebGPU: the operator ", to->file);
    show_code(to, to->info.operator_name);
    (void)fputs(" of the domain ", to->file);
    show_code(to, to->info.domain);
    (void)fprintf(to->file, ", since version %" PRId64 ".", to->info.since_version);
    if (to->op != NULL && to->op->doc[0] != '\0') {
        (void)fputc(' ', to->file);
        show(to, to->op->doc);
    }
    (void)fputc('\n', to->file);
}

static const rmsnorm_slot *find_slot(const rmsnorm_slot *slots, size_t count, const char *name)
{
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(slots[i].name, name) == 0) {
            return &slots[i];
        }
    }
    return NULL;
}

static void draw_slots(const card *to, const char *title, const rmsnorm_package_slot *slots, size_t count,
                       const rmsnorm_slot *schema, size_t schema_count)
{
    (void)fprintf(to->file, "\n## %s\n\n| key | ONNX name | type | required | shape | description |\n", title);
    (void)fputs("|---|---|---|---|---|---|\n", to->file);
    for (size_t i = 0; i < count; ++i) {
        const rmsnorm_slot *slot = find_slot(schema, schema_count, slots[i].onnx);
        (void)fputs("| ", to->file);
        show_code(to, slots[i].key);
        (void)fputs(" | ", to->file);
        show_code(to, slots[i].onnx);
        (void)fputs(" | ", to->file);
        show_code(to, slots[i].type);
        (void)fputc(' ', to->file);
        row(to, slots[i].optional ? "no" : "yes", slot != NULL ? slot->shape : "", slot != NULL ? slot->doc : "", NULL);
    }
}

/* The contract's words, but for a type that WebGPU does not have. */
static const char *allowed(const card *to, const rmsnorm_attribute *attribute)
{
    rmsnorm_dtypes types = 0;
    for (size_t i = 0; i < to->op->type_constraint_count; ++i) {
        types |= to->op->type_constraints[i].types[RMSNORM_DEVICE_WEBGPU];
    }
    const bool narrowed = strcmp(attribute->name, "stash_type") == 0 && (types & RMSNORM_DTYPES(RMSNORM_DOUBLE)) == 0;
    return narrowed ? "1 (float)" : attribute->allowed;
}

static void draw_attributes(const card *to)
{
    json_t *attributes = json_object_get(to->manifest, "attributes");
    if (json_object_size(attributes) == 0) {
        return;
    }
    (void)fputs("\n## Attributes\n\n| name | default | allowed | description |\n|---|---|---|---|\n", to->file);
    for (void *at = json_object_iter(attributes); at != NULL; at = json_object_iter_next(attributes, at)) {
        const char *name = json_object_iter_key(at);
        const rmsnorm_attribute *attribute = NULL;
        for (size_t i = 0; to->op != NULL && i < to->op->attribute_count; ++i) {
            attribute = strcmp(to->op->attributes[i].name, name) == 0 ? &to->op->attributes[i] : attribute;
        }
        char text[RMSNORM_CLI_NUMBER];
        (void)fputs("| ", to->file);
        show_code(to, name);
        (void)fputc(' ', to->file);
        row(to, number(json_object_get(json_object_iter_value(at), "default"), text),
            attribute != NULL ? allowed(to, attribute) : "", attribute != NULL ? attribute->doc : "", NULL);
    }
}

static void draw_types(const card *to)
{
    json_t *constraints = json_object_get(to->manifest, "typeConstraints");
    (void)fputs("\n## Type constraints\n\n| name | element types | description |\n|---|---|---|\n", to->file);
    for (void *at = json_object_iter(constraints); at != NULL; at = json_object_iter_next(constraints, at)) {
        const char *name = json_object_iter_key(at);
        const char *doc = "";
        for (size_t i = 0; to->op != NULL && i < to->op->type_constraint_count; ++i) {
            const rmsnorm_type_constraint *constraint = &to->op->type_constraints[i];
            doc = strcmp(constraint->name, name) == 0 ? constraint->doc : doc;
        }
        char *types = joined(json_object_iter_value(at));
        (void)fputs("| ", to->file);
        show_code(to, name);
        (void)fputc(' ', to->file);
        row(to, types, doc, NULL);
        free(types);
    }
}

static void draw_tunables(const card *to)
{
    json_t *tunables = json_object_get(to->manifest, "tunables");
    if (!to->info.plans || json_object_size(tunables) == 0) {
        return;
    }
    (void)fputs("\n## Tunables\n\nThey change the speed, not the results.\n\n"
                "| name | default | values worth trying |\n|---|---|---|\n",
                to->file);
    for (void *at = json_object_iter(tunables); at != NULL; at = json_object_iter_next(tunables, at)) {
        char text[RMSNORM_CLI_NUMBER];
        char *values = joined(json_object_get(json_object_iter_value(at), "values"));
        (void)fputs("| ", to->file);
        show_code(to, json_object_iter_key(at));
        (void)fputc(' ', to->file);
        row(to, number(json_object_get(json_object_iter_value(at), "default"), text), values, NULL);
        free(values);
    }
}

static void draw_files(const card *to)
{
    json_t *files = json_object_get(json_object_get(to->metadata, "digest"), "files");
    (void)fputs("\n## Files\n\nIn `build/webgpu`, beside `metadata.json`, which has the digest of each.\n\n"
                "| file | bytes |\n|---|---|\n",
                to->file);
    for (void *at = json_object_iter(files); at != NULL; at = json_object_iter_next(files, at)) {
        size_t size;
        (void)rmsnorm_package_text(to->package, json_object_iter_key(at), &size);
        (void)fputs("| ", to->file);
        show_code(to, json_object_iter_key(at));
        (void)fprintf(to->file, " | %zu |\n", size);
    }
}

/* One row of eight elements, or two where the operator's shapes are (S,H). */
static void draw_input(const card *to, size_t index)
{
    const char *key = to->info.inputs[index].key;
    const rmsnorm_slot *first = to->op != NULL ? &to->op->inputs[0] : NULL;
    const rmsnorm_slot *slot =
        first != NULL ? find_slot(first, to->op->input_count, to->info.inputs[index].onnx) : NULL;
    const bool sequences = first != NULL && strncmp(first->shape, "(S,H)", 5) == 0;
    const bool rows = sequences && slot != NULL && (slot == first || strncmp(slot->shape, "the shape of", 12) == 0);
    (void)fprintf(to->file, "  %s: { data: %sData, shape: [%s8] },\n", key, key, rows ? "2, " : "");
}

static void draw_usage(const card *to)
{
    (void)fprintf(to->file,
                  "\n## Usage\n\n```js\nimport { getKernel } from \"rmsnorm\";\n\n"
                  "const kernel = await getKernel(\"webgpu-kernels/%s\", { version: %" PRId64 " });\nconst {",
                  to->info.name, to->info.version);
    size_t shown = 0;
    for (size_t i = 0; i < to->info.output_count; ++i) {
        if (!to->info.outputs[i].optional) {
            (void)fprintf(to->file, "%s %s", shown++ > 0 ? "," : "", to->info.outputs[i].key);
        }
    }
    (void)fputs(" } = await kernel({\n", to->file);
    for (size_t i = 0; i < to->info.input_count; ++i) {
        if (!to->info.inputs[i].optional) {
            draw_input(to, i);
        }
    }
    (void)fputs("});\n```\n\n## License\n\n", to->file);
    show(to, json_string_value(json_object_get(to->metadata, "license")));
    (void)fputc('\n', to->file);
}

static void draw(const card *to)
{
    const rmsnorm_operator *op = to->op;
    draw_front(to);
    draw_slots(to, "Inputs", to->info.inputs, to->info.input_count, op != NULL ? op->inputs : NULL,
               op != NULL ? op->input_count : 0);
    draw_slots(to, "Outputs", to->info.outputs, to->info.output_count, op != NULL ? op->outputs : NULL,
               op != NULL ? op->output_count : 0);
    draw_attributes(to);
    draw_types(to);
    draw_tunables(to);
    draw_files(to);
    draw_usage(to);
}

/* A file of an opened package: it has been parsed before. */
static json_t *json_of(const rmsnorm_package *package, const char *name)
{
    size_t size;
    const char *text = rmsnorm_package_text(package, name, &size);
    return json_loadb(text, size, 0, NULL);
}

int rmsnorm_cli_card(const rmsnorm_package *package, char **text, size_t *length)
{
    card to = {.package = package};
    *text = NULL;
    to.file = open_memstream(text, length);
    if (to.file == NULL) {
        return rmsnorm_cli_fail("out of memory: no room for a card");
    }
    rmsnorm_package_describe(package, &to.info);
    to.op = rmsnorm_operator_find(to.info.domain, to.info.operator_name, 0);
    to.manifest = json_of(package, "manifest.json");
    to.metadata = json_of(package, "metadata.json");
    draw(&to);
    json_decref(to.manifest);
    json_decref(to.metadata);
    if (fclose(to.file) != 0) {
        free(*text);
        *text = NULL;
        return rmsnorm_cli_fail("out of memory: no room for a card");
    }
    return RMSNORM_CLI_DONE;
}
