/* json.h: JSON text into values. */
#ifndef RMSNORM_PACKAGE_JSON_H
#define RMSNORM_PACKAGE_JSON_H

#include "operator/error.h"
#include "template/value.h"

/* What no honest file of a package comes near: it bounds what jansson's tree of a hostile one costs, and colliding keys. */
#define RMSNORM_JSON_DEPTH 64
#define RMSNORM_JSON_VALUES 32768

/* Strict JSON, an object or a list: no key twice, integers that fit int64, reals that fit double, no \u0000. Everything is
 * copied into arena. An error is "name:line:column: ...". */
rmsnorm_status rmsnorm_json_parse(rmsnorm_arena *arena, const char *name, const char *text, size_t length,
                                  rmsnorm_any *value);

#endif
