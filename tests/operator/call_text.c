#include "call_text.h"

#include <inttypes.h>
#include <stdlib.h>

static char answer[8192];

void *call_pointer(uintptr_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

static const char *parse_tensor(const char *at, rmsnorm_tensor *tensor, char (*names)[16])
{
    static const struct {
        const char *name;
        int code;
    } types[] = {{"float:", 1}, {"float16:", 10}, {"double:", 11}, {"bfloat16:", 16},
                 {"int64:", 7}, {"int2:", 26},    {"?:", 0},       {"type99:", 99}};
    size_t i = 0;
    while (strncmp(at, types[i].name, strlen(types[i].name)) != 0) {
        ++i;
        assert_true(i < sizeof types / sizeof types[0]);
    }
    at += strlen(types[i].name);
    tensor->dtype = (rmsnorm_dtype)types[i].code;
    if (*at == '*') {
        tensor->rank = RMSNORM_UNKNOWN;
        return at + 1;
    }
    while (*at != '\0' && strchr(" @!&", *at) == NULL) {
        const size_t length = strcspn(at, ", @!&");
        char *end = NULL;
        tensor->dims[tensor->rank] = strtoll(at, &end, 10);
        if (end == at) {
            tensor->dims[tensor->rank] = RMSNORM_UNKNOWN;
            assert_true(length < 16);
            snprintf(names[tensor->rank], 16, "%.*s", (int)length, at);
            tensor->dim_names[tensor->rank] = *at == '?' ? NULL : names[tensor->rank];
        }
        ++tensor->rank;
        at += length;
        at += *at == ',';
    }
    return at;
}

void call_parse(const char *text, uintptr_t first_address, call_side *side)
{
    memset(side, 0, sizeof *side);
    const char *at = text;
    while (*at != '\0') {
        const size_t slot = side->count++;
        rmsnorm_tensor *const tensor = &side->tensors[slot];
        assert_true(slot < CALL_SLOTS);
        if (*at == '_') {
            ++at;
        } else {
            side->slots[slot] = tensor;
            at = parse_tensor(at, tensor, &side->names[slot * RMSNORM_MAX_RANK]);
            tensor->data = call_pointer(first_address + slot * ((uintptr_t)1 << 40));
            for (; *at != '\0' && *at != ' ';) {
                char *end = NULL;
                if (*at == '!') {
                    tensor->data = NULL;
                    ++at;
                } else if (*at == '@') {
                    tensor->row_stride = strtoll(at + 1, &end, 10);
                    at = end;
                } else {
                    assert_int_equal(*at, '&');
                    tensor->data = call_pointer((uintptr_t)strtoull(at + 1, &end, 16));
                    at = end;
                }
            }
        }
        at += strncmp(at, " | ", 3) == 0 ? 3 : 0;
    }
}

const rmsnorm_attributes *call_attributes(const rmsnorm_operator *op, const char *text, rmsnorm_attributes *attributes)
{
    if (text == NULL) {
        return NULL;
    }
    rmsnorm_attributes_init(op, attributes);
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *const value = strchr(at, '=') + 1;
        if (strncmp(at, "axis=", 5) == 0) {
            attributes->axis = strtoll(value, NULL, 10);
        } else if (strncmp(at, "epsilon=", 8) == 0) {
            attributes->epsilon = strtof(value, NULL);
        } else if (strncmp(at, "stash_type=", 11) == 0) {
            attributes->stash_type = strtoll(value, NULL, 10);
        } else {
            assert_int_equal(strncmp(at, "keep_dims=", 10), 0);
            attributes->keep_dims = strtoll(value, NULL, 10);
        }
        const char *const space = strchr(value, ' ');
        at = space != NULL ? space + 1 : NULL;
    }
    return attributes;
}

static void print_tensor(const rmsnorm_tensor *tensor, char *text, size_t size)
{
    const char *const type = tensor->dtype == RMSNORM_UNDEFINED ? "?" : rmsnorm_dtype_name(tensor->dtype);
    size_t length = (size_t)snprintf(text, size, "%s:%s", type, tensor->rank == RMSNORM_UNKNOWN ? "*" : "");
    for (int32_t i = 0; i < tensor->rank; ++i) {
        const char *const name = tensor->dim_names[i];
        length += (size_t)snprintf(text + length, size - length, "%s", i > 0 ? "," : "");
        if (tensor->dims[i] != RMSNORM_UNKNOWN) {
            assert_null(name);
            length += (size_t)snprintf(text + length, size - length, "%" PRId64, tensor->dims[i]);
        } else {
            length += (size_t)snprintf(text + length, size - length, "%s", name != NULL ? name : "?");
        }
    }
}

static const char *refusal(rmsnorm_status status)
{
    snprintf(answer, sizeof answer, "%d: %s", (int)status, rmsnorm_last_error());
    return answer;
}

const char *call_infer_outputs(const char *op_name, const char *attribute_text, const char *input_text,
                               const char *wanted)
{
    const rmsnorm_operator *const op = rmsnorm_operator_parse(op_name);
    rmsnorm_attributes attributes;
    call_side inputs;
    rmsnorm_tensor outputs[CALL_SLOTS];
    rmsnorm_tensor before[CALL_SLOTS];
    rmsnorm_tensor *slots[CALL_SLOTS];
    rmsnorm_constraints constraints;
    assert_non_null(op);
    call_parse(input_text, 0x1000, &inputs);
    memset(outputs, 0x5a, sizeof outputs);
    memcpy(before, outputs, sizeof outputs);
    const size_t count = strlen(wanted);
    for (size_t i = 0; i < count; ++i) {
        slots[i] = wanted[i] == 'y' ? &outputs[i] : NULL;
    }
    const rmsnorm_status status =
        rmsnorm_infer(op, call_attributes(op, attribute_text, &attributes), (const rmsnorm_tensor *const *)inputs.slots,
                      inputs.count, slots, count, &constraints);
    if (status != RMSNORM_OK) {
        assert_memory_equal(outputs, before, sizeof outputs);
        return refusal(status);
    }
    size_t length = 0;
    answer[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        char text[256] = "_";
        if (slots[i] != NULL) {
            print_tensor(slots[i], text, sizeof text);
            assert_ptr_equal(slots[i]->data, before[i].data);
            assert_int_equal(slots[i]->row_stride, before[i].row_stride);
        } else {
            assert_memory_equal(&outputs[i], &before[i], sizeof outputs[i]);
        }
        length += (size_t)snprintf(answer + length, sizeof answer - length, "%s%s", i == 0 ? "" : " | ", text);
    }
    for (size_t i = 0; i < constraints.count; ++i) {
        char text[256];
        assert_true(rmsnorm_constraint_format(op, (const rmsnorm_tensor *const *)inputs.slots, &constraints.items[i],
                                              text, sizeof text) < sizeof text);
        length += (size_t)snprintf(answer + length, sizeof answer - length, " ; %s", text);
    }
    assert_true(length < sizeof answer);
    return answer;
}

const char *call_infer(const char *op_name, const char *attributes, const char *inputs)
{
    const size_t count = rmsnorm_operator_parse(op_name)->output_count;
    return call_infer_outputs(op_name, attributes, inputs, count == 4 ? "yyyy" : count == 2 ? "yy" : "y");
}

const char *call_resolve(const char *op_name, const char *attribute_text, const char *input_text,
                         const char *output_text, rmsnorm_problem *problem)
{
    const rmsnorm_operator *const op = rmsnorm_operator_parse(op_name);
    rmsnorm_attributes attributes;
    call_side inputs;
    call_side outputs;
    call_side outputs_before;
    rmsnorm_problem problem_before;
    assert_non_null(op);
    call_parse(input_text, (uintptr_t)1 << 32, &inputs);
    call_parse(output_text, (uintptr_t)1 << 44, &outputs);
    memcpy(&outputs_before, &outputs, sizeof outputs);
    memset(problem, 0x5a, sizeof *problem);
    memcpy(&problem_before, problem, sizeof *problem);
    const rmsnorm_status status = rmsnorm_resolve(op, call_attributes(op, attribute_text, &attributes),
                                                  (const rmsnorm_tensor *const *)inputs.slots, inputs.count,
                                                  outputs.slots, outputs.count, problem);
    assert_memory_equal(&outputs, &outputs_before, sizeof outputs);
    if (status != RMSNORM_OK) {
        assert_memory_equal(problem, &problem_before, sizeof *problem);
        return refusal(status);
    }
    return "";
}

void call_assert_refused(const char *text, rmsnorm_status status, const char *op, const char *word,
                         const char *other_word, const char *file, int line)
{
    char beginning[128];
    const char *const colons = strstr(op, "::");
    snprintf(beginning, sizeof beginning, "%d: %s: ", (int)status, colons != NULL ? colons + 2 : op);
    const char *const missing = strncmp(text, beginning, strlen(beginning)) != 0 ? beginning
                                : strstr(text, word) == NULL                     ? word
                                : strstr(text, other_word) == NULL               ? other_word
                                                                                 : NULL;
    if (missing != NULL || strchr(text, '\n') != NULL) {
        print_error("'%s' lacks '%s'\n", text, missing != NULL ? missing : "one line");
        _fail(file, line);
    }
}
