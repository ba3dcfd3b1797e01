/* request.h: a request as JSON:
 *
 *   {"inputs": {"x": {"dtype": "float16", "shape": [2, 8]}, ...},    by bind key
 *    "outputs": ["invStdVar"],                                       those wanted beside the required ones
 *    "inPlace": {"y": "x"}, "besideOutput": ["scale"],               as in rmsnorm_request
 *    "attributes": {"axis": -1, "epsilon": 1e-5},                    numbers; "NaN", "Infinity", "-Infinity"
 *    "tunables": {"SPLITS": 4}, "variant": "rows", "batchInvariant": true,
 *    "device": {"maxBufferSize": 268435456, "shader-f16": 1}}        what rmsnorm_device_profile_set takes
 *
 * Every member may be missing. */
#ifndef RMSNORM_JS_REQUEST_H
#define RMSNORM_JS_REQUEST_H

#include <jansson.h>

#include "rmsnorm/package.h"

#define RMSNORM_JS_MESSAGE 512

/* A request and what it points to. */
typedef struct rmsnorm_js_request {
    rmsnorm_request request;
    rmsnorm_tensor inputs[RMSNORM_MAX_SLOTS];
    rmsnorm_attributes attributes;
    rmsnorm_device_profile device;
    char message[RMSNORM_JS_MESSAGE]; /* why it was refused */
} rmsnorm_js_request;

/* Strings stay in json. */
rmsnorm_status rmsnorm_js_request_read(const rmsnorm_package_info *info, const json_t *json,
                                       rmsnorm_js_request *request);

#endif
