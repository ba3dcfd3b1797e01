/* names.h: bind keys, and what somebody meant who wrote another one. */
#ifndef RMSNORM_JS_NAMES_H
#define RMSNORM_JS_NAMES_H

#include "rmsnorm/package.h"

/* The slot with this key, or count. */
size_t rmsnorm_js_slot_find(const rmsnorm_package_slot *slots, size_t count, const char *key);

/* The slot that was most likely meant: ONNX's name, another case, or few letters away. Or count. */
size_t rmsnorm_js_slot_guess(const rmsnorm_package_slot *slots, size_t count, const char *key);

#endif
