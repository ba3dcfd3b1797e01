/* test_large.c: element offsets at and beyond 2^31 and 2^32. Memory is reserved, not used: only the touched rows become real. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rmsnorm/rmsnorm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HIDDEN = 96 };

static void *reserve(size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* float16 1.0 and -1.0 alternating, times a power of two by row: every result is 1 or -1. */
static void fill_row(uint16_t *row, int64_t index)
{
    for (int i = 0; i < HIDDEN; i++) {
        row[i] = (uint16_t)((15 + index % 8) << 10 | (i % 2) << 15);
    }
}

static void check_row(const uint16_t *row)
{
    for (int i = 0; i < HIDDEN; i++) {
        assert_int_equal(row[i], 0x3c00 | i % 2 << 15);
    }
}

/* With a gamma of ones and epsilon 0. */
static void normalize(const char *name, const rmsnorm_tensor *input, rmsnorm_tensor *output)
{
    uint16_t gamma[HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        gamma[i] = 0x3c00;
    }
    const rmsnorm_tensor scale = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {HIDDEN}, .data = gamma};
    const rmsnorm_tensor *const inputs[] = {input, &scale};
    rmsnorm_attributes attributes;
    const rmsnorm_operator *const op = rmsnorm_operator_find("", name, 0);
    rmsnorm_attributes_init(op, &attributes);
    attributes.epsilon = 0.0f;
    assert_int_equal(rmsnorm_run(op, &attributes, inputs, 2, &output, 1, NULL), RMSNORM_OK);
}

static void test_rows_beyond_2_to_the_32_elements(void **state)
{
    (void)state;
    const int64_t rows = 5;
    const int64_t stride = ((int64_t)1 << 30) + 8; /* row 2 begins behind 2^31 elements, row 4 behind 2^32 */
    const size_t bytes = ((size_t)(rows - 1) * (size_t)stride + HIDDEN) * sizeof(uint16_t);
    uint16_t *const x = reserve(bytes);
    uint16_t *const y = reserve(bytes);
    if (x == NULL || y == NULL) {
        skip();
    }
    for (int64_t row = 0; row < rows; row++) {
        fill_row(x + row * stride, row);
    }
    const rmsnorm_tensor input = {
        .dtype = RMSNORM_FLOAT16, .rank = 2, .dims = {rows, HIDDEN}, .data = x, .row_stride = stride};
    rmsnorm_tensor output = input;
    output.data = y;
    normalize("SimplifiedLayerNormalization", &input, &output);
    for (int64_t row = 0; row < rows; row++) {
        check_row(y + row * stride);
        assert_int_equal(y[row * stride + HIDDEN - 1 + (row + 1 < rows)], row + 1 < rows ? 0 : 0xbc00);
    }
    munmap(x, bytes);
    munmap(y, bytes);
}

/* More than 2^31 elements of float16, in place: 4.3 GB, so only with RMSNORM_TEST_LARGE in the environment. */
static void test_more_than_2_to_the_31_elements_in_place(void **state)
{
    (void)state;
    if (getenv("RMSNORM_TEST_LARGE") == NULL) {
        skip();
    }
    const int64_t rows = ((int64_t)1 << 31) / HIDDEN + 2;
    const size_t bytes = (size_t)rows * HIDDEN * sizeof(uint16_t);
    uint16_t *const x = reserve(bytes);
    assert_non_null(x);
    for (int64_t row = 0; row < rows; row++) {
        fill_row(x + row * HIDDEN, row);
    }
    rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT16, .rank = 2, .dims = {rows, HIDDEN}, .data = x};
    normalize("RMSNormalization", &tensor, &tensor);
    for (int64_t row = 0; row < rows; row++) {
        check_row(x + row * HIDDEN);
    }
    munmap(x, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_beyond_2_to_the_32_elements),
        cmocka_unit_test(test_more_than_2_to_the_31_elements_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
