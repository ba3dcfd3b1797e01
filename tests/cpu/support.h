/* support.h: small calls of the operators, spelled shortly. */
#ifndef TESTS_CPU_SUPPORT_H
#define TESTS_CPU_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kerncheck/oracle.h"
#include "kerncheck/real.h"
#include "rmsnorm/rmsnorm.h"

#define SIMPLE RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION
#define SKIP RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION
#define PLAIN RMSNORM_RMS_NORMALIZATION

#define F32 RMSNORM_FLOAT
#define F16 RMSNORM_FLOAT16
#define BF16 RMSNORM_BFLOAT16
#define F64 RMSNORM_DOUBLE

/* rank, dims */
#define SHAPE(...)                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                            \
        __VA_ARGS__                                                              \
    }
#define SCALAR 0, NULL
#define VALUES(...)  \
    (const double[]) \
    {                \
        __VA_ARGS__  \
    }
#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

#define MAX_ISAS RMSNORM_ISA_COUNT

/* A call in the making. Inputs and outputs without data are omitted ones. */
typedef struct trial {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    rmsnorm_options options;
    rmsnorm_tensor in[5], out[5];
    void *owned[10]; /* what the trial has to free: inputs, then outputs */
    size_t owned_bytes[10];
} trial;

/* Default attributes, no tensors, best instruction set, in this thread. */
trial trial_start(rmsnorm_operator_kind kind);

/* Gives a slot memory of its own; values NULL: zeros. Returns the tensor. */
rmsnorm_tensor *trial_in(trial *t, int slot, rmsnorm_dtype dtype, int rank, const int64_t *dims, const double *values);

/* The same for an output, filled with NaNs. */
rmsnorm_tensor *trial_out(trial *t, int slot, rmsnorm_dtype dtype, int rank, const int64_t *dims);

/* The skip operator with random input, skip, gamma and bias, and no outputs yet. */
trial skip_trial(rmsnorm_dtype dtype, int64_t rows, int64_t width);

/* Gives memory to the outputs of the skip operator whose bits are set, and takes it from the others. */
void trial_want(trial *t, unsigned which);

rmsnorm_status trial_run(trial *t);

/* Runs and fails the test with the library's sentence when the call is refused. */
void trial_must_run(trial *t);

/* Fails the test unless the call is refused with this status, a sentence with every one of the words (NULL ends them),
 * and outputs as they were. */
void trial_must_refuse(trial *t, rmsnorm_status status, ...);

void trial_end(trial *t);

size_t tensor_elements(const rmsnorm_tensor *tensor);
size_t tensor_bytes(const rmsnorm_tensor *tensor);
double tensor_get(const rmsnorm_tensor *tensor, size_t index);
void tensor_set(rmsnorm_tensor *tensor, size_t index, double value);
void tensor_set_all(rmsnorm_tensor *tensor, double value);

/* Fails the test unless the elements are exactly these numbers, rounded to the tensor's type, zeros' signs included. */
void expect_values(const rmsnorm_tensor *tensor, const double *values);

/* Fails the test unless each element is within so many ulps of its number. */
void expect_near(const rmsnorm_tensor *tensor, const double *values, double ulps);

/* Fails the test unless both hold the same bytes. */
void expect_same_bits(const rmsnorm_tensor *a, const rmsnorm_tensor *b);

/* Fails the test unless every output that is wanted is what the oracle says (contract 4.2), read from contiguous inputs
 * that are no outputs. Returns the share of elements of output 0 that are not correctly rounded. */
double expect_ideal(const trial *t);

/* The trial as the oracle takes it. */
oracle_call trial_oracle(const trial *t);

/* Runs the trial on every instruction set, each time into poisoned outputs, and expects the ideal. */
void run_everywhere(trial *t);

/* The instruction sets that run here. */
int list_isas(rmsnorm_isa list[MAX_ISAS]);

#endif
