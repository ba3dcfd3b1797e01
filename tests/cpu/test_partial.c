/* test_partial.c: a row in slices: sums added up, then each slice normalized, against one call on whole rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rmsnorm/rmsnorm.h>
#include <string.h>

enum { ROWS = 4, HIDDEN = 331 };

static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};

/* Small multiples of powers of two, which every type holds exactly. */
static double value_at(int row, int i)
{
    return (double)((i * 37 + row * 11) % 29 - 14) / 8.0 * (double)(1 << row);
}

static void put(rmsnorm_dtype dtype, void *buffer, int i, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    switch (dtype) {
    case RMSNORM_DOUBLE:
        ((double *)buffer)[i] = value;
        break;
    case RMSNORM_FLOAT:
        ((float *)buffer)[i] = single;
        break;
    case RMSNORM_BFLOAT16:
        ((uint16_t *)buffer)[i] = (uint16_t)(bits >> 16);
        break;
    default:
        ((uint16_t *)buffer)[i] =
            magnitude == 0 ? sign : (uint16_t)(sign | (uint16_t)((magnitude >> 13) - (112u << 10)));
        break;
    }
}

/* The distance in units of the last place of two results of one sign. */
static int64_t apart(rmsnorm_dtype dtype, const void *a, const void *b, int i)
{
    int64_t x = 0;
    int64_t y = 0;
    const size_t size = rmsnorm_dtype_size(dtype);
    memcpy(&x, (const char *)a + (size_t)i * size, size);
    memcpy(&y, (const char *)b + (size_t)i * size, size);
    return x > y ? x - y : y - x;
}

typedef struct buffers {
    double input[ROWS * HIDDEN], gamma[HIDDEN], whole[ROWS * HIDDEN], sliced[ROWS * HIDDEN];
    float whole_inv[ROWS], sliced_inv[ROWS];
} buffers;

static rmsnorm_rows rows_of(const buffers *data, rmsnorm_dtype dtype, void *output)
{
    const rmsnorm_rows rows = {.rows = ROWS,
                               .hidden_size = HIDDEN,
                               .dtype = dtype,
                               .gamma_dtype = dtype,
                               .stash_dtype = RMSNORM_FLOAT,
                               .epsilon = 1e-6f,
                               .input = data->input,
                               .input_stride = HIDDEN,
                               .gamma = data->gamma,
                               .output = output,
                               .output_stride = HIDDEN};
    return rows;
}

/* The rows [first, end) of elements as a slice: the same strides, later starts. */
static rmsnorm_rows slice_of(const rmsnorm_rows *whole, int first, int end)
{
    rmsnorm_rows slice = *whole;
    const size_t offset = (size_t)first * rmsnorm_dtype_size(whole->dtype);
    slice.input = (const char *)whole->input + offset;
    slice.gamma = (const char *)whole->gamma + offset;
    slice.output = (char *)whole->output + offset;
    slice.hidden_size = end - first;
    return slice;
}

static void test_slices_give_what_whole_rows_give(void **state)
{
    (void)state;
    static buffers data;
    static const int cuts[][4] = {{0, HIDDEN, HIDDEN, HIDDEN}, {0, 1, 200, HIDDEN}, {0, 128, 129, HIDDEN}};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        for (int i = 0; i < ROWS * HIDDEN; i++) {
            put(dtypes[d], data.input, i, value_at(i / HIDDEN, i % HIDDEN));
            put(dtypes[d], data.gamma, i % HIDDEN, 0.5 + (double)(i % HIDDEN % 7) / 4.0);
        }
        rmsnorm_rows whole = rows_of(&data, dtypes[d], data.whole);
        whole.inv_std_var = data.whole_inv;
        rmsnorm_rows_run(&whole, 0, ROWS, RMSNORM_ISA_AUTO);
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            rmsnorm_rows target = rows_of(&data, dtypes[d], data.sliced);
            target.inv_std_var = data.sliced_inv;
            double total[ROWS] = {0};
            memset(data.sliced, 0xff, sizeof data.sliced);
            for (int s = 0; s < 3; s++) {
                const rmsnorm_rows slice = slice_of(&target, cuts[c][s], cuts[c][s + 1]);
                double sums[ROWS];
                rmsnorm_partial_sums(&slice, 0, ROWS, sums, RMSNORM_ISA_AUTO);
                for (int row = 0; row < ROWS; row++) {
                    total[row] += sums[row];
                }
            }
            for (int s = 0; s < 3; s++) {
                const rmsnorm_rows slice = slice_of(&target, cuts[c][s], cuts[c][s + 1]);
                rmsnorm_partial_normalize(&slice, 0, 1, total, HIDDEN, RMSNORM_ISA_AUTO);
                rmsnorm_partial_normalize(&slice, 1, ROWS, total + 1, HIDDEN, RMSNORM_ISA_AUTO);
            }
            for (int i = 0; i < ROWS * HIDDEN; i++) {
                assert_true(apart(dtypes[d], data.whole, data.sliced, i) <= (dtypes[d] == RMSNORM_DOUBLE ? 2 : 1));
            }
            for (int row = 0; row < ROWS; row++) {
                assert_true(apart(RMSNORM_FLOAT, data.whole_inv, data.sliced_inv, row) <= 1);
            }
        }
    }
}

/* A bfloat16 square of 1e-60 is nothing in float, and yet the sum. */
static void test_sums_keep_the_range_of_the_type(void **state)
{
    (void)state;
    uint16_t tiny[64];
    uint16_t huge[64];
    uint16_t gamma[64];
    uint16_t output[64];
    for (int i = 0; i < 64; i++) {
        put(RMSNORM_BFLOAT16, tiny, i, 0x1p-100);
        put(RMSNORM_BFLOAT16, huge, i, 0x1p100);
        put(RMSNORM_BFLOAT16, gamma, i, 1.0);
    }
    rmsnorm_rows rows = {.rows = 1,
                         .hidden_size = 64,
                         .dtype = RMSNORM_BFLOAT16,
                         .gamma_dtype = RMSNORM_BFLOAT16,
                         .stash_dtype = RMSNORM_FLOAT,
                         .input = tiny,
                         .input_stride = 64,
                         .gamma = gamma,
                         .output = output,
                         .output_stride = 64};
    double sum;
    rmsnorm_partial_sums(&rows, 0, 1, &sum, RMSNORM_ISA_AUTO);
    assert_true(sum == 64 * 0x1p-200);
    rmsnorm_partial_normalize(&rows, 0, 1, &sum, 64, RMSNORM_ISA_AUTO);
    assert_int_equal(output[63], 0x3f80);
    rows.input = huge;
    rmsnorm_partial_sums(&rows, 0, 1, &sum, RMSNORM_ISA_AUTO);
    assert_true(sum == 64 * 0x1p200);
    rmsnorm_partial_normalize(&rows, 0, 1, &sum, 64, RMSNORM_ISA_AUTO);
    assert_int_equal(output[0], 0x3f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_give_what_whole_rows_give),
        cmocka_unit_test(test_sums_keep_the_range_of_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
