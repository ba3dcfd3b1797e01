/* describe_text.c: an operator's page for a terminal. */
#include <stdio.h>

#include "describe.h"
#include "text.h"

static void print_prose(const char *doc, bool prose, int indent)
{
    if (prose && doc[0] != '\0') {
        rmsnorm_cli_wrap(stdout, doc, indent);
    }
}

static void print_support(const rmsnorm_operator *op)
{
    printf("\nSupport         ");
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        printf("  %6s", rmsnorm_cli_device_name(device));
    }
    const char *name;
    for (int i = 0; (name = rmsnorm_cli_support_name(i)) != NULL; ++i) {
        printf("\n  %-15s", name);
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
            printf(" %6s", rmsnorm_cli_support_at(&op->support[device], i) ? "yes" : "no");
        }
    }
    putchar('\n');
}

static void print_types(const rmsnorm_operator *op, bool prose)
{
    char types[RMSNORM_CLI_TYPES];
    printf("\nType constraints\n");
    for (size_t i = 0; i < op->type_constraint_count; ++i) {
        const rmsnorm_type_constraint *constraint = &op->type_constraints[i];
        printf("  %s:", constraint->name);
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
            printf("%s %s %s", device == 0 ? "" : ";", rmsnorm_cli_device_name(device),
                   rmsnorm_cli_types(constraint->types[device], types));
        }
        putchar('\n');
        print_prose(constraint->doc, prose, 6);
    }
}

static void print_slots(const char *title, const rmsnorm_slot *slots, size_t count, bool prose)
{
    printf("\n%s\n", title);
    for (size_t i = 0; i < count; ++i) {
        printf("  %zu %s: %s, %s; %s\n", i, slots[i].name, slots[i].type, slots[i].required ? "required" : "optional",
               slots[i].shape);
        print_prose(slots[i].doc, prose, 6);
    }
}

static void print_attributes(const rmsnorm_operator *op, bool prose)
{
    char value[RMSNORM_CLI_DEFAULT];
    printf("\nAttributes\n");
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *attribute = &op->attributes[i];
        printf("  %s: %s, default %s; %s\n", attribute->name, rmsnorm_cli_kind(attribute),
               rmsnorm_cli_default(attribute, value), attribute->allowed);
        print_prose(attribute->doc, prose, 6);
    }
}

void rmsnorm_cli_describe_text(const rmsnorm_operator *op, bool prose)
{
    char devices[RMSNORM_CLI_DEVICES];
    printf("%s::%s\n%s\n", rmsnorm_cli_domain(op->domain), op->name, op->summary);
    if (prose && op->doc[0] != '\0') {
        putchar('\n');
        rmsnorm_cli_wrap(stdout, op->doc, 0);
    }
    printf("\nDomain   %s", rmsnorm_cli_domain(op->domain));
    if (op->other_domain != NULL) {
        printf(", also accepted as %s", rmsnorm_cli_domain(op->other_domain));
    }
    printf("\nSince    version %d and every later one\nDevices  %s\n", op->since_version,
           rmsnorm_cli_devices(op, devices));
    print_support(op);
    print_types(op, prose);
    print_slots("Inputs", op->inputs, op->input_count, prose);
    print_slots("Outputs", op->outputs, op->output_count, prose);
    print_attributes(op, prose);
}
