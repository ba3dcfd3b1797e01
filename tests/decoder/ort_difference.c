/* ort_difference.c: how far two outputs are apart. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "decoder/ort_model.h"

/* The place of an element among the numbers of its type: neighbours are 1 apart, both zeros are 0. */
static int64_t place(ONNXTensorElementDataType type, const void *data, size_t index)
{
    int64_t bits = 0;
    int64_t sign = 0x8000;
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
        bits = ((const uint32_t *)data)[index];
        sign = (int64_t)0x80000000;
    } else {
        bits = ((const uint16_t *)data)[index];
    }
    return (bits & sign) != 0 ? -(bits & (sign - 1)) : bits;
}

static bool is_compared(ONNXTensorElementDataType type)
{
    return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
           type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

static void add(const ort_output *a, const ort_output *b, size_t i, double *widest, ort_difference *difference)
{
    const double x = bench_data_get((rmsnorm_dtype)a->type, a->data, (int64_t)i);
    const double y = bench_data_get((rmsnorm_dtype)b->type, b->data, (int64_t)i);
    if (isnan(x) || isnan(y)) {
        if (!isnan(x) || !isnan(y)) {
            difference->ulp = UINT64_MAX;
            *widest = INFINITY;
        }
        return;
    }
    if (x == y) { /* infinities too */
        difference->largest = fmax(difference->largest, fabs(x));
        return;
    }
    const int64_t apart = place(a->type, a->data, i) - place(b->type, b->data, i);
    const uint64_t ulp = (uint64_t)(apart < 0 ? -apart : apart);
    difference->ulp = ulp > difference->ulp ? ulp : difference->ulp;
    difference->largest = fmax(difference->largest, fabs(x));
    *widest = fmax(*widest, fabs(x - y));
}

bool ort_compare_outputs(const ort_output *a, const ort_output *b, ort_difference *difference, char why[256])
{
    double widest = 0.0;
    memset(difference, 0, sizeof *difference);
    if (a->type != b->type || a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) != 0) {
        snprintf(why, 256, "the output %.100s is of another type or shape in the second model", a->name);
        return false;
    }
    if (!is_compared(a->type)) {
        snprintf(why, 256, "the output %.100s is neither float, float16 nor bfloat16", a->name);
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        add(a, b, i, &widest, difference);
    }
    difference->relative = widest > 0.0 ? widest / difference->largest : 0.0;
    return true;
}
