/* amalgam.c: prints a digest of what each operator gives for each type, size and instruction set. tests/checks/amalgam builds it
 * with the one-file form and with the library, and compares. */
#include "rmsnorm.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 3, WIDEST = 4096 + 37, ELEMENT = 8 };

static unsigned char buffers[4][ROWS * WIDEST * ELEMENT];
static unsigned char outputs[2][ROWS * WIDEST * ELEMENT];

/* Bytes that are the same everywhere; as any float type finite, of moderate size, of both signs. */
static void fill(unsigned char *bytes, size_t count, size_t size, uint64_t state)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < size; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i * size + k] = (unsigned char)(state >> 56);
        }
        bytes[i * size + size - 1] =
            (unsigned char)((bytes[i * size + size - 1] & 0x83u) | 0x3cu); /* the exponent's upper bits */
    }
}

static uint64_t digest(const unsigned char *bytes, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static void run(const rmsnorm_operator *op, rmsnorm_dtype dtype, int64_t width, rmsnorm_isa isa)
{
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const size_t size = rmsnorm_dtype_size(dtype);
    rmsnorm_tensor tensors[4];
    for (size_t i = 0; i < 4; i++) {
        const bool rows = i == 0 || (skip && i == 1);
        tensors[i] = (rmsnorm_tensor){
            .dtype = dtype, .rank = rows ? 2 : 1, .dims = {rows ? ROWS : width, width}, .data = buffers[i]};
        fill(buffers[i], (size_t)(ROWS * width), size, i + 1);
    }
    const rmsnorm_tensor *const inputs[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3]};
    rmsnorm_tensor output = {.dtype = dtype, .rank = 2, .dims = {ROWS, width}, .data = outputs[0]};
    rmsnorm_tensor sum = output;
    sum.data = outputs[1];
    rmsnorm_tensor inverse = {0}; /* what most shows how squares were added up */
    rmsnorm_tensor *slots[4] = {&output};
    for (size_t i = 1; i < op->output_count; i++) {
        const char *const name = op->outputs[i].name;
        slots[i] = strncmp(name, "inv_std", 7) == 0 ? &inverse : strcmp(name, "input_skip_bias_sum") == 0 ? &sum : NULL;
    }
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    options.max_isa = isa;
    memset(outputs, 0, sizeof outputs);
    const rmsnorm_status status = rmsnorm_run_alloc(op, NULL, inputs, skip ? 4 : 2, slots, op->output_count, &options);
    printf("%s %s %" PRId64 " %s: %d %s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", op->name,
           rmsnorm_dtype_name(dtype), width, rmsnorm_isa_name(isa), (int)status,
           status == RMSNORM_OK ? "" : rmsnorm_last_error(), digest(outputs[0], sizeof outputs[0]),
           digest(outputs[1], sizeof outputs[1]),
           inverse.data == NULL ? 0 : digest(inverse.data, ROWS * rmsnorm_dtype_size(inverse.dtype)));
    rmsnorm_tensor_release(&inverse, &options);
}

int main(void)
{
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
    static const int64_t widths[] = {1, 31, 64, 4096, WIDEST};
    const rmsnorm_operator *op = NULL;
    printf("rmsnorm %s\n", rmsnorm_version());
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
        for (int isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; isa++) {
            for (size_t t = 0; rmsnorm_isa_runnable((rmsnorm_isa)isa) && t < 4; t++) {
                for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
                    run(op, dtypes[t], widths[w], (rmsnorm_isa)isa);
                }
            }
        }
    }
    return 0;
}
