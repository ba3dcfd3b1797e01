/* describe_markdown.c: an operator's page for documents. */
#include <stdio.h>

#include "describe.h"
#include "text.h"

/* The text of a table cell: a bar would end it. */
static void print_cell(const char *text)
{
    printf(" ");
    for (; *text != '\0'; ++text) {
        if (*text == '|') {
            putchar('\\');
        }
        putchar(*text);
    }
    printf(" |");
}

static void print_row_end(const char *doc, bool prose)
{
    if (prose) {
        print_cell(doc);
    }
    putchar('\n');
}

/* "| a | b |" and the line under it. */
static void print_header(const char *const *columns, size_t count, bool prose)
{
    putchar('|');
    for (size_t i = 0; i < count; ++i) {
        print_cell(columns[i]);
    }
    print_row_end("description", prose);
    putchar('|');
    for (size_t i = 0; i < count + (prose ? 1 : 0); ++i) {
        printf("---|");
    }
    putchar('\n');
}

static void print_support(const rmsnorm_operator *op)
{
    const char *columns[1 + RMSNORM_DEVICE_COUNT] = {""};
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        columns[1 + device] = rmsnorm_cli_device_name(device);
    }
    printf("\n## Support\n\n");
    print_header(columns, 1 + RMSNORM_DEVICE_COUNT, false);
    const char *name;
    for (int i = 0; (name = rmsnorm_cli_support_name(i)) != NULL; ++i) {
        putchar('|');
        print_cell(name);
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
            print_cell(rmsnorm_cli_support_at(&op->support[device], i) ? "yes" : "no");
        }
        putchar('\n');
    }
}

static void print_types(const rmsnorm_operator *op, bool prose)
{
    const char *columns[1 + RMSNORM_DEVICE_COUNT] = {"constraint"};
    char types[RMSNORM_CLI_TYPES];
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        columns[1 + device] = rmsnorm_cli_device_name(device);
    }
    printf("\n## Type constraints\n\n");
    print_header(columns, 1 + RMSNORM_DEVICE_COUNT, prose);
    for (size_t i = 0; i < op->type_constraint_count; ++i) {
        const rmsnorm_type_constraint *constraint = &op->type_constraints[i];
        printf("| `%s` |", constraint->name);
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
            print_cell(rmsnorm_cli_types(constraint->types[device], types));
        }
        print_row_end(constraint->doc, prose);
    }
}

static void print_slots(const char *title, const rmsnorm_slot *slots, size_t count, bool prose)
{
    static const char *const columns[] = {"slot", "name", "type", "required", "shape"};
    printf("\n## %s\n\n", title);
    print_header(columns, 5, prose);
    for (size_t i = 0; i < count; ++i) {
        printf("| %zu | `%s` | `%s` | %s |", i, slots[i].name, slots[i].type, slots[i].required ? "yes" : "no");
        print_cell(slots[i].shape);
        print_row_end(slots[i].doc, prose);
    }
}

static void print_attributes(const rmsnorm_operator *op, bool prose)
{
    static const char *const columns[] = {"name", "type", "default", "allowed"};
    char value[RMSNORM_CLI_DEFAULT];
    printf("\n## Attributes\n\n");
    print_header(columns, 4, prose);
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *attribute = &op->attributes[i];
        printf("| `%s` | %s | %s |", attribute->name, rmsnorm_cli_kind(attribute),
               rmsnorm_cli_default(attribute, value));
        print_cell(attribute->allowed);
        print_row_end(attribute->doc, prose);
    }
}

void rmsnorm_cli_describe_markdown(const rmsnorm_operator *op, bool prose)
{
    char devices[RMSNORM_CLI_DEVICES];
    printf("# %s\n\n`%s`\n", op->name, op->summary);
    if (prose && op->doc[0] != '\0') {
        printf("\n%s\n", op->doc);
    }
    printf("\n- Domain: `%s`", rmsnorm_cli_domain(op->domain));
    if (op->other_domain != NULL) {
        printf(" (also accepted as `%s`)", rmsnorm_cli_domain(op->other_domain));
    }
    printf("\n- Since version: %d\n- Devices: %s\n", op->since_version, rmsnorm_cli_devices(op, devices));
    print_support(op);
    print_types(op, prose);
    print_slots("Inputs", op->inputs, op->input_count, prose);
    print_slots("Outputs", op->outputs, op->output_count, prose);
    print_attributes(op, prose);
}
