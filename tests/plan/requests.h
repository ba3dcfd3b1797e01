/* requests.h: requests to plan, drawn at random or swept, and what every plan must fulfil. */
#ifndef RMSNORM_TESTS_PLAN_REQUESTS_H
#define RMSNORM_TESTS_PLAN_REQUESTS_H

#include <stdio.h>

#include "rmsnorm/package.h"

typedef struct rng {
    uint64_t state;
} rng;

/* Uniform in [least, most]. */
int64_t rng_between(rng *random, int64_t least, int64_t most);

/* A request with what its pointers point to. */
typedef struct drawn {
    const rmsnorm_operator *op;
    const rmsnorm_package *package;
    rmsnorm_request request;
    rmsnorm_tensor inputs[4];
    rmsnorm_attributes attributes;
    rmsnorm_device_profile device;
} drawn;

/* Binds request to the members again, after a copy. */
void drawn_bind(drawn *d);

/* Types, shapes, attributes, outputs: mostly legal, some not. The device is WebGPU's default. */
void draw_request(rng *random, const rmsnorm_operator *op, const rmsnorm_package *package, drawn *d);

/* A legal request of rows x width, X's type x, gamma's type v, all optional outputs when outputs is true. */
void make_request(const rmsnorm_operator *op, const rmsnorm_package *package, int64_t rows, int64_t width,
                  rmsnorm_dtype x, rmsnorm_dtype v, bool outputs, drawn *d);

/* What no plan may violate: limits of the device, ranges within the tensors, every row written by exactly one piece, the
 * shader's own declarations. NULL, or the sentence that says what is wrong. */
const char *plan_fault(const drawn *d, const rmsnorm_plan *plan);

/* The package of an operator, opened once. */
const rmsnorm_package *package_of(const rmsnorm_operator *op);

#endif
