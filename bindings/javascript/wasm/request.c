#include "request.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

/* What is read, and into what. */
typedef struct reading {
    const rmsnorm_package_info *info;
    rmsnorm_js_request *to;
} reading;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static rmsnorm_status
refuse(const reading *from, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(from->to->message, RMSNORM_JS_MESSAGE, format, arguments);
    va_end(arguments);
    return RMSNORM_INVALID_ARGUMENT;
}

/* The library's own sentence. */
static rmsnorm_status pass_on(const reading *from, rmsnorm_status status)
{
    if (status != RMSNORM_OK) {
        (void)snprintf(from->to->message, RMSNORM_JS_MESSAGE, "%s", rmsnorm_last_error());
    }
    return status;
}

/* ---- Names ----------------------------------------------------------------------------------- */

enum { MOST_CANDIDATES = 32 };

static rmsnorm_status refuse_name(const reading *from, const char *what, const char *name,
                                  const rmsnorm_js_candidate *candidates, size_t count)
{
    char names[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < count && length < sizeof names; i++) {
        const int more =
            snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ", candidates[i].name);
        length += more < 0 ? 0 : (size_t)more;
    }
    const size_t guess = rmsnorm_js_guess(candidates, count, name);
    return refuse(from, "%s has no %s '%.80s'%s%s%s; it has %s", from->info->operator_name, what, name,
                  guess < count ? ": did you mean '" : "", guess < count ? candidates[guess].name : "",
                  guess < count ? "'?" : "", names);
}

static rmsnorm_status find_slot(const reading *from, bool input, const char *key, size_t *slot)
{
    const rmsnorm_package_slot *const slots = input ? from->info->inputs : from->info->outputs;
    const size_t count = input ? from->info->input_count : from->info->output_count;
    rmsnorm_js_candidate candidates[MOST_CANDIDATES];
    *slot = rmsnorm_js_slot_find(slots, count, key);
    if (*slot < count) {
        return RMSNORM_OK;
    }
    const size_t shown = count < MOST_CANDIDATES ? count : MOST_CANDIDATES;
    for (size_t i = 0; i < shown; i++) {
        candidates[i] = (rmsnorm_js_candidate){slots[i].key, slots[i].onnx};
    }
    return refuse_name(from, input ? "input" : "output", key, candidates, shown);
}

static rmsnorm_status find_attribute(const reading *from, const rmsnorm_operator *op, const char *name,
                                     const rmsnorm_attribute **attribute)
{
    rmsnorm_js_candidate candidates[MOST_CANDIDATES];
    size_t shown = 0;
    for (size_t i = 0; i < op->attribute_count; i++) {
        if (strcmp(op->attributes[i].name, name) == 0) {
            *attribute = &op->attributes[i];
            return RMSNORM_OK;
        }
        if (shown < MOST_CANDIDATES) {
            candidates[shown++] = (rmsnorm_js_candidate){op->attributes[i].name, NULL};
        }
    }
    return refuse_name(from, "attribute", name, candidates, shown);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static rmsnorm_status read_shape(const reading *from, const char *key, const json_t *shape, rmsnorm_tensor *tensor)
{
    if (!json_is_array(shape) || json_array_size(shape) > RMSNORM_MAX_RANK) {
        return refuse(from, "%s: the shape of '%s' is no list of at most %d dims", from->info->operator_name, key,
                      RMSNORM_MAX_RANK);
    }
    tensor->rank = (int32_t)json_array_size(shape);
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *const dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0) {
            return refuse(from, "%s: dim %zu of '%s' is no whole number from 0 on", from->info->operator_name, i, key);
        }
        tensor->dims[i] = json_integer_value(dim);
    }
    return RMSNORM_OK;
}

static rmsnorm_status read_input(const reading *from, const char *key, const json_t *json)
{
    size_t slot;
    rmsnorm_status status = find_slot(from, true, key, &slot);
    if (status != RMSNORM_OK) {
        return status;
    }
    rmsnorm_tensor *const tensor = &from->to->inputs[slot];
    const char *const type = json_string_value(json_object_get(json, "dtype"));
    tensor->dtype = rmsnorm_dtype_from_name(type);
    if (tensor->dtype == RMSNORM_UNDEFINED) {
        return refuse(from, "%s: the type of '%s' is '%.40s'; allowed: float32, float16", from->info->operator_name,
                      key, type == NULL ? "" : type);
    }
    from->to->request.inputs[slot] = tensor;
    return read_shape(from, key, json_object_get(json, "shape"), tensor);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static rmsnorm_status read_wanted(const reading *from, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *const key = json_string_value(json_array_get(list, i));
        size_t slot;
        const rmsnorm_status status = find_slot(from, false, key == NULL ? "" : key, &slot);
        if (status != RMSNORM_OK) {
            return status;
        }
        from->to->request.wanted[slot] = true;
    }
    return RMSNORM_OK;
}

static rmsnorm_status read_in_place(const reading *from, const char *output, const json_t *json)
{
    const char *const input = json_string_value(json);
    size_t to;
    size_t at;
    rmsnorm_status status = find_slot(from, false, output, &to);
    if (status == RMSNORM_OK) {
        status = find_slot(from, true, input == NULL ? "" : input, &at);
    }
    if (status != RMSNORM_OK) {
        return status;
    }
    if (from->to->request.inputs[at] == NULL) {
        return refuse(from, "%s: '%s' is to share the buffer of '%s', which is not given", from->info->operator_name,
                      output, input);
    }
    from->to->request.in_place[to] = (int)at + 1;
    return RMSNORM_OK;
}

static rmsnorm_status read_beside(const reading *from, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *const key = json_string_value(json_array_get(list, i));
        size_t slot;
        const rmsnorm_status status = find_slot(from, true, key == NULL ? "" : key, &slot);
        if (status != RMSNORM_OK) {
            return status;
        }
        from->to->request.beside_output[slot] = true;
    }
    return RMSNORM_OK;
}

/* ---- Attributes, tunables, the device -------------------------------------------------------- */

/* JSON has no name for what is no number. */
static bool read_float(const json_t *json, float *value)
{
    const char *const text = json_string_value(json);
    if (json_is_number(json)) {
        *value = (float)json_number_value(json);
    } else if (text != NULL && strcmp(text, "NaN") == 0) {
        *value = NAN;
    } else if (text != NULL && (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)) {
        *value = text[0] == '-' ? -INFINITY : INFINITY;
    } else {
        return false;
    }
    return true;
}

static rmsnorm_status read_attribute(const reading *from, const rmsnorm_operator *op, const char *name,
                                     const json_t *json)
{
    rmsnorm_attributes *const attributes = &from->to->attributes;
    const rmsnorm_attribute *attribute;
    if (op == NULL) {
        return refuse(from, "%s is no operator of this library: its attributes are the manifest's defaults",
                      from->info->operator_name);
    }
    const rmsnorm_status status = find_attribute(from, op, name, &attribute);
    if (status != RMSNORM_OK) {
        return status;
    }
    if (attribute->kind == RMSNORM_ATTRIBUTE_FLOAT) {
        float value;
        return !read_float(json, &value)
                   ? refuse(from, "%s: the attribute '%s' is no number", from->info->operator_name, name)
                   : pass_on(from, rmsnorm_attributes_set_float(op, attributes, name, value));
    }
    return !json_is_integer(json)
               ? refuse(from, "%s: the attribute '%s' is no whole number", from->info->operator_name, name)
               : pass_on(from, rmsnorm_attributes_set_int(op, attributes, name, json_integer_value(json)));
}

static rmsnorm_status read_tunable(const reading *from, const char *name, const json_t *json)
{
    rmsnorm_request *const request = &from->to->request;
    if (request->tunable_count == RMSNORM_MAX_TUNABLES) {
        return refuse(from, "%s: more than %d tunables", from->info->operator_name, RMSNORM_MAX_TUNABLES);
    }
    if (!json_is_integer(json)) {
        return refuse(from, "%s: the tunable '%.80s' is no whole number", from->info->operator_name, name);
    }
    request->tunables[request->tunable_count++] = (rmsnorm_tunable){name, json_integer_value(json)};
    return RMSNORM_OK;
}

static rmsnorm_status read_limit(const reading *from, const char *name, const json_t *json)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0) {
        return refuse(from, "%s: the device's '%.80s' is no whole number from 0 on", from->info->operator_name, name);
    }
    return pass_on(from, rmsnorm_device_profile_set(&from->to->device, name, (uint64_t)json_integer_value(json)));
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rmsnorm_status read_attributes(const reading *from, json_t *object)
{
    const rmsnorm_operator *const op = rmsnorm_operator_find(from->info->domain, from->info->operator_name, 0);
    if (op != NULL) {
        rmsnorm_attributes_init(op, &from->to->attributes);
        from->to->request.attributes = &from->to->attributes;
    }
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const rmsnorm_status status = read_attribute(from, op, key, value);
        if (status != RMSNORM_OK) {
            return status;
        }
    }
    return RMSNORM_OK;
}

typedef rmsnorm_status read_member(const reading *from, const char *key, const json_t *value);

static rmsnorm_status read_each(const reading *from, const json_t *json, const char *name, read_member *read)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(json, name), key, value)
    {
        const rmsnorm_status status = read(from, key, value);
        if (status != RMSNORM_OK) {
            return status;
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_js_request_read(const rmsnorm_package_info *info, const json_t *json,
                                       rmsnorm_js_request *request)
{
    const reading from = {info, request};
    *request = (rmsnorm_js_request){.request = RMSNORM_REQUEST_INIT, .device = RMSNORM_DEVICE_PROFILE_INIT};
    request->request.device = &request->device;
    request->request.variant = json_string_value(json_object_get(json, "variant"));
    request->request.batch_invariant = json_is_true(json_object_get(json, "batchInvariant"));
    rmsnorm_status status = read_attributes(&from, json_object_get(json, "attributes"));
    status = status != RMSNORM_OK ? status : read_each(&from, json, "inputs", read_input);
    status = status != RMSNORM_OK ? status : read_wanted(&from, json_object_get(json, "outputs"));
    status = status != RMSNORM_OK ? status : read_each(&from, json, "inPlace", read_in_place);
    status = status != RMSNORM_OK ? status : read_beside(&from, json_object_get(json, "besideOutput"));
    status = status != RMSNORM_OK ? status : read_each(&from, json, "tunables", read_tunable);
    return status != RMSNORM_OK ? status : read_each(&from, json, "device", read_limit);
}
