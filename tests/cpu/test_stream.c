/* Calls whose outputs are written past the cache: every pair of types gives the bits that its rows have one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rmsnorm/rmsnorm.h"

#define WIDTH 4160 /* a multiple of 32 that no place of a page divides */
#define ROWS 1100  /* 18 MB at least */

static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};

static void *page_aligned(size_t bytes)
{
    void *const memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    assert_non_null(memory);
    return memory;
}

/* Numbers of ordinary size in any of the three types: no exponent is at the end of its range. */
static void fill(rmsnorm_dtype dtype, void *data, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = (float)(int32_t)seed * 0x1p-30f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (dtype == RMSNORM_FLOAT) {
            memcpy((char *)data + 4 * i, &value, sizeof value);
        } else {
            const uint16_t half = dtype == RMSNORM_BFLOAT16 ? (uint16_t)(bits >> 16) : (uint16_t)(0x3000u | seed >> 20);
            memcpy((char *)data + 2 * i, &half, sizeof half);
        }
    }
}

/* gamma: of a row, or one element for each row. */
static void check(const rmsnorm_operator *op, rmsnorm_dtype x_type, rmsnorm_dtype y_type, bool one_each,
                  rmsnorm_isa isa)
{
    const size_t count = (size_t)ROWS * WIDTH;
    const size_t x_size = rmsnorm_dtype_size(x_type);
    const size_t y_size = rmsnorm_dtype_size(y_type);
    const size_t gamma_count = one_each ? ROWS : WIDTH;
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    options.max_isa = isa;
    char *const x = page_aligned(count * x_size);
    char *const gamma = page_aligned(gamma_count * y_size);
    char *const whole = page_aligned(count * y_size);
    char *const single = page_aligned(WIDTH * y_size);
    fill(x_type, x, count, 1);
    fill(y_type, gamma, gamma_count, 2);
    rmsnorm_tensor input = {.dtype = x_type, .rank = 2, .dims = {ROWS, WIDTH}, .data = x};
    rmsnorm_tensor scale = {
        .dtype = y_type, .rank = 2, .dims = {one_each ? ROWS : 1, one_each ? 1 : WIDTH}, .data = gamma};
    rmsnorm_tensor output = {.dtype = y_type, .rank = 2, .dims = {ROWS, WIDTH}, .data = whole};
    const rmsnorm_tensor *const inputs[] = {&input, &scale};
    rmsnorm_tensor *const outputs[] = {&output};
    assert_int_equal(rmsnorm_run(op, NULL, inputs, 2, outputs, 1, &options), RMSNORM_OK);
    input.dims[0] = output.dims[0] = scale.dims[0] = 1;
    output.data = single;
    for (size_t row = 0; row < ROWS; row++) {
        input.data = x + row * WIDTH * x_size;
        scale.data = one_each ? gamma + row * y_size : gamma;
        assert_int_equal(rmsnorm_run(op, NULL, inputs, 2, outputs, 1, &options), RMSNORM_OK);
        assert_memory_equal(single, whole + row * WIDTH * y_size, WIDTH * y_size);
    }
    free(x);
    free(gamma);
    free(whole);
    free(single);
}

static void test_large_calls_of_every_pair_of_types(void **state)
{
    (void)state;
    const rmsnorm_operator *const ops[] = {rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0),
                                           rmsnorm_operator_find("", "RMSNormalization", 0)};
    size_t checked = 0;
    for (rmsnorm_isa isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; isa++) {
        for (size_t i = 0; rmsnorm_isa_runnable(isa) && i < 36; i++) {
            /* Plain C has no other stores than the usual ones. */
            if (isa != RMSNORM_ISA_SCALAR || i % 9 == 1) {
                check(ops[i / 18], types[i % 3], types[i / 3 % 3], i / 9 % 2 == 1, isa);
                checked++;
            }
        }
    }
    assert_true(checked > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_calls_of_every_pair_of_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
