/* support_table.c: prints the support table of the README, drawn from the schema table. tests/checks/readme compares the two. */
#include <rmsnorm/rmsnorm.h>
#include <stdio.h>
#include <string.h>

static const char *yes(bool there)
{
    return there ? "yes" : "no";
}

static void print_types(const rmsnorm_operator *op, rmsnorm_device device)
{
    for (size_t i = 0; i < op->type_constraint_count; i++) {
        const rmsnorm_type_constraint *const constraint = &op->type_constraints[i];
        printf("%s%s:", i > 0 ? "; " : "", constraint->name);
        for (int dtype = 0; dtype < 32; dtype++) {
            if ((constraint->types[device] & RMSNORM_DTYPES(dtype)) != 0) {
                printf(" %s", rmsnorm_dtype_name((rmsnorm_dtype)dtype));
            }
        }
    }
}

int main(void)
{
    static const char *const devices[RMSNORM_DEVICE_COUNT] = {"CPU", "WebGPU"};
    puts("| operator | since opset | device | runs | types | shape inference | peak memory | fusion | gradient |");
    puts("|---|---|---|---|---|---|---|---|---|");
    const rmsnorm_operator *op = NULL;
    for (size_t index = 0; (op = rmsnorm_operator_at(index)) != NULL; index++) {
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; device++) {
            const rmsnorm_support *const support = &op->support[device];
            const bool named = strcmp(op->domain, "") != 0;
            printf("| `%s%s%s` | %d | %s | %s | ", op->domain, named ? "::" : "", op->name, op->since_version,
                   devices[device], yes(support->run));
            print_types(op, (rmsnorm_device)device);
            printf(" | %s | %s | %s | %s |\n", yes(support->shape_inference), yes(support->peak_memory),
                   yes(support->fusion), yes(support->gradient));
        }
    }
    return 0;
}
