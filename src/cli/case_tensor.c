/* case_tensor.c: a tensor of a package's test.json. */
#include "case_tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "element.h"
#include "text.h"

/* Elements of a tensor at most: a few bytes of JSON may ask for any shape. A fuzzer has no time for large ones. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define ELEMENTS_MAXIMUM ((int64_t)1 << 12)
#else
#define ELEMENTS_MAXIMUM ((int64_t)1 << 26)
#endif

int rmsnorm_cli_case_fields(const char *what, const json_t *object, const char *const *names)
{
    if (!json_is_object(object)) {
        return rmsnorm_cli_fail("%s is no object", what);
    }
    char all[RMSNORM_CLI_SHAPE] = "";
    for (size_t i = 0; names[i] != NULL; ++i) {
        rmsnorm_cli_append(all, sizeof all, "%s%s", i == 0 ? "" : ", ", names[i] + (names[i][0] == '?'));
        if (names[i][0] != '?' && json_object_get(object, names[i]) == NULL) {
            return rmsnorm_cli_fail("%s has no field '%s'", what, names[i]);
        }
    }
    for (void *at = json_object_iter((json_t *)object); at != NULL; at = json_object_iter_next((json_t *)object, at)) {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i] + (names[i][0] == '?'), json_object_iter_key(at)) != 0) {
            ++i;
        }
        if (names[i] == NULL) {
            return rmsnorm_cli_fail("%s has a field '%.40s', allowed are %s", what, json_object_iter_key(at), all);
        }
    }
    return RMSNORM_CLI_DONE;
}

static int read_type(const char *what, const json_t *value, rmsnorm_dtype *dtype)
{
    const char *name = json_string_value(value);
    *dtype = name != NULL ? rmsnorm_dtype_from_name(name) : RMSNORM_UNDEFINED;
    return *dtype != RMSNORM_UNDEFINED
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s.dtype is '%.40s', allowed are float32, float16, bfloat16, float64", what,
                                  name != NULL ? name : "no string");
}

static int read_shape(const char *what, const json_t *value, rmsnorm_tensor *tensor)
{
    const size_t rank = json_array_size(value);
    if (!json_is_array(value) || rank > RMSNORM_MAX_RANK) {
        return rmsnorm_cli_fail("%s.shape is no list of at most %d dims", what, RMSNORM_MAX_RANK);
    }
    tensor->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; ++i) {
        const json_t *dim = json_array_get(value, i);
        tensor->dims[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || tensor->dims[i] < 0) {
            return rmsnorm_cli_fail("%s.shape: dim %zu is no whole number from 0 on", what, i);
        }
    }
    const int64_t count = rmsnorm_tensor_count(tensor);
    return count >= 0 && count <= ELEMENTS_MAXIMUM
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s.shape has more than %" PRId64 " elements, the most that a case may have", what,
                                  ELEMENTS_MAXIMUM);
}

/* The number that a value of data stands for. An integer that no double is, is no number here. */
static bool read_number(const json_t *value, double *number)
{
    const char *word = json_string_value(value);
    if (word != NULL) {
        *number = strcmp(word, "NaN") == 0 ? (double)NAN : (double)INFINITY;
        *number = strcmp(word, "-Infinity") == 0 ? -*number : *number;
        return strcmp(word, "NaN") == 0 || strcmp(word, "Infinity") == 0 || strcmp(word, "-Infinity") == 0;
    }
    *number = json_number_value(value);
    const bool exact =
        !json_is_integer(value) || (fabs(*number) < 0x1p63 && (json_int_t)*number == json_integer_value(value));
    return json_is_number(value) && exact;
}

static int read_value(const char *what, const json_t *value, rmsnorm_tensor *tensor, int64_t index)
{
    char text[RMSNORM_CLI_NUMBER];
    double number;
    if (!read_number(value, &number)) {
        return rmsnorm_cli_fail("%s.data: value %" PRId64
                                " is neither a number that a double holds nor \"NaN\", \"Infinity\" or \"-Infinity\"",
                                what, index);
    }
    rmsnorm_cli_element_store(tensor, index, number);
    const double stored = rmsnorm_cli_element(tensor, index);
    return stored == number || (isnan(stored) && isnan(number))
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s.data: value %" PRId64 " is %s, which no %s is", what, index,
                                  rmsnorm_cli_number(number, false, text), rmsnorm_dtype_name(tensor->dtype));
}

/* Fewer values than elements must divide their number: a pattern that is repeated, rather than a value that is missing. */
static int read_data(const char *what, const json_t *value, rmsnorm_tensor *tensor)
{
    const int64_t count = rmsnorm_tensor_count(tensor);
    const int64_t given = (int64_t)json_array_size(value);
    if (!json_is_array(value)) {
        return rmsnorm_cli_fail("%s.data is no list", what);
    }
    if (count == 0 ? given > 0 : given == 0 || given > count || count % given != 0) {
        return rmsnorm_cli_fail("%s.data has %" PRId64 " values for %" PRId64
                                " elements, allowed are as many, or a number that divides it",
                                what, given, count);
    }
    const size_t size = rmsnorm_dtype_size(tensor->dtype);
    tensor->data = rmsnorm_cli_allocate((size_t)count, size);
    for (int64_t i = 0; i < given; ++i) {
        if (read_value(what, json_array_get(value, (size_t)i), tensor, i) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    for (int64_t i = given; i < count; i += given) {
        memcpy((char *)tensor->data + (size_t)i * size, tensor->data, (size_t)given * size);
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_case_tensor(const char *what, const json_t *object, rmsnorm_tensor *tensor, int64_t *ulp)
{
    static const char *const fields[] = {"dtype", "shape", "data", NULL};
    static const char *const expected[] = {"dtype", "shape", "data", "ulp", NULL};
    *tensor = (rmsnorm_tensor){.data = NULL};
    int code = rmsnorm_cli_case_fields(what, object, ulp != NULL ? expected : fields);
    if (code == RMSNORM_CLI_DONE) {
        code = read_type(what, json_object_get(object, "dtype"), &tensor->dtype);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = read_shape(what, json_object_get(object, "shape"), tensor);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = read_data(what, json_object_get(object, "data"), tensor);
    }
    if (code == RMSNORM_CLI_DONE && ulp != NULL) {
        const json_t *value = json_object_get(object, "ulp");
        *ulp = json_integer_value(value);
        if (!json_is_integer(value) || *ulp < 0) {
            return rmsnorm_cli_fail("%s.ulp is no whole number from 0 on", what);
        }
    }
    return code;
}
