/* primitive.c: the table of primitives, and what all of them have in common: slots, types, attributes. */
#include "primitive.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "element.h"
#include "primitive_parts.h"
#include "text.h"

#define REALS                                                                                           \
    (RMSNORM_DTYPES(RMSNORM_FLOAT) | RMSNORM_DTYPES(RMSNORM_DOUBLE) | RMSNORM_DTYPES(RMSNORM_FLOAT16) | \
     RMSNORM_DTYPES(RMSNORM_BFLOAT16))
#define LONGS RMSNORM_DTYPES(RMSNORM_INT64)
#define NUMBERS (REALS | LONGS | RMSNORM_DTYPES(RMSNORM_INT32))
#define ANY 0 /* whatever the type */

static double add(double a, double b)
{
    return a + b;
}

static double subtract(double a, double b)
{
    return a - b;
}

static double multiply(double a, double b)
{
    return a * b;
}

static double divide(double a, double b)
{
    return a / b;
}

static double power(double a, double b)
{
    return b == 2 ? a * a : pow(a, b);
}

static double root(double a, double b)
{
    (void)b;
    return sqrt(a);
}

static double reciprocal(double a, double b)
{
    (void)b;
    return 1 / a;
}

static int64_t add_integers(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract_integers(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t multiply_integers(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* clang-format off */
#define ATTRIBUTE(name, kind, presence, value) {name, RMSNORM_CLI_PRIMITIVE_##kind, RMSNORM_CLI_##presence, value}
#define ELEMENTS .infer = rmsnorm_cli_infer_elements, .compute = rmsnorm_cli_compute_elements
#define CAST .infer = rmsnorm_cli_infer_cast, .compute = rmsnorm_cli_compute_cast
#define MEAN .infer = rmsnorm_cli_infer_mean, .compute = rmsnorm_cli_compute_mean
#define SHAPE .reads_shapes = true, .infer = rmsnorm_cli_infer_shape, .compute = rmsnorm_cli_compute_shape
#define TO ATTRIBUTE("to", TYPE, REQUIRED, 0)
#define SATURATE ATTRIBUTE("saturate", ANY, OPTIONAL, 0)
#define KEEPDIMS ATTRIBUTE("keepdims", FLAG, DEFAULT, 1)

/* By name, then by opset. A type that an operator took only later on is taken in every opset. */
static const rmsnorm_cli_primitive table[] = {
    {"Add", 7, 0, 2, 2, .alike = true, .types = {NUMBERS, NUMBERS}, ELEMENTS, .real = add, .integer = add_integers},
    {"Cast", 7, 18, 1, 1, .types = {NUMBERS}, .attributes = {TO}, CAST},
    {"Cast", 19, 23, 1, 1, .types = {NUMBERS}, .attributes = {TO, SATURATE}, CAST},
    {"Cast", 24, 0, 1, 1, .types = {NUMBERS}, .attributes = {TO, SATURATE, ATTRIBUTE("round_mode", ANY, OPTIONAL, 0)}, CAST},
    {"Constant", 0, 0, 0, 0, .infer = rmsnorm_cli_infer_constant,
     .attributes = {ATTRIBUTE("value", TENSOR, OPTIONAL, 0), ATTRIBUTE("value_float", FLOAT, OPTIONAL, 0),
                    ATTRIBUTE("value_floats", FLOATS, OPTIONAL, 0), ATTRIBUTE("value_int", INT, OPTIONAL, 0),
                    ATTRIBUTE("value_ints", INTS, OPTIONAL, 0)}},
    {"ConstantOfShape", 9, 0, 1, 1, .types = {LONGS}, .attributes = {ATTRIBUTE("value", TENSOR, OPTIONAL, 0)},
     .infer = rmsnorm_cli_infer_filled, .compute = rmsnorm_cli_compute_filled},
    {"Div", 7, 0, 2, 2, .alike = true, .types = {REALS, REALS}, ELEMENTS, .real = divide},
    {"Identity", 7, 0, 1, 1, .types = {NUMBERS}, .infer = rmsnorm_cli_infer_elements, .compute = rmsnorm_cli_compute_copy},
    {"Mul", 7, 0, 2, 2, .alike = true, .types = {NUMBERS, NUMBERS}, ELEMENTS, .real = multiply, .integer = multiply_integers},
    {"Pow", 7, 11, 2, 2, .alike = true, .types = {REALS, REALS}, ELEMENTS, .real = power},
    {"Pow", 12, 0, 2, 2, .types = {REALS, NUMBERS}, ELEMENTS, .real = power},
    {"Range", 11, 0, 3, 3, .alike = true, .types = {NUMBERS, NUMBERS, NUMBERS},
     .infer = rmsnorm_cli_infer_range, .compute = rmsnorm_cli_compute_range},
    {"Reciprocal", 7, 0, 1, 1, .types = {REALS}, ELEMENTS, .real = reciprocal},
    {"ReduceMean", 7, 17, 1, 1, .types = {REALS}, .attributes = {ATTRIBUTE("axes", INTS, OPTIONAL, 0), KEEPDIMS}, MEAN},
    {"ReduceMean", 18, 0, 1, 2, .types = {REALS, LONGS},
     .attributes = {KEEPDIMS, ATTRIBUTE("noop_with_empty_axes", FLAG, DEFAULT, 0)}, MEAN},
    {"Shape", 7, 14, 1, 1, .types = {ANY}, SHAPE},
    {"Shape", 15, 0, 1, 1, .types = {ANY},
     .attributes = {ATTRIBUTE("start", INT, DEFAULT, 0), ATTRIBUTE("end", INT, OPTIONAL, 0)}, SHAPE},
    {"Size", 7, 0, 1, 1, .types = {ANY}, .reads_shapes = true,
     .infer = rmsnorm_cli_infer_size, .compute = rmsnorm_cli_compute_size},
    {"Sqrt", 7, 0, 1, 1, .types = {REALS}, ELEMENTS, .real = root},
    {"Sub", 7, 0, 2, 2, .alike = true, .types = {NUMBERS, NUMBERS}, ELEMENTS, .real = subtract, .integer = subtract_integers},
};
/* clang-format on */
enum { TABLE = sizeof table / sizeof table[0] };

/* ---- Finding --------------------------------------------------------------------------------- */

bool rmsnorm_cli_primitive_known(const char *name)
{
    for (size_t i = 0; i < TABLE; ++i) {
        if (strcmp(table[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *rmsnorm_cli_primitive_names(char text[RMSNORM_CLI_PRIMITIVES])
{
    text[0] = '\0';
    for (size_t i = 0; i < TABLE; ++i) {
        if (i == 0 || strcmp(table[i].name, table[i - 1].name) != 0) {
            rmsnorm_cli_append(text, RMSNORM_CLI_PRIMITIVES, "%s%s", i == 0 ? "" : ", ", table[i].name);
        }
    }
    return text;
}

/* NULL and a sentence: not in that opset. */
static const rmsnorm_cli_primitive *find(const char *name, int64_t opset)
{
    int first = 0;
    for (size_t i = TABLE; i-- > 0;) {
        if (strcmp(table[i].name, name) != 0) {
            continue;
        }
        if (opset >= table[i].since && (table[i].until == 0 || opset <= table[i].until)) {
            return &table[i];
        }
        first = table[i].since;
    }
    if (opset == 0) {
        (void)rmsnorm_cli_fail("the model imports no opset of ai.onnx; %s is run from opset %d on", name, first);
    } else {
        (void)rmsnorm_cli_fail("the model imports opset %" PRId64 "; %s is run from opset %d on", opset, name, first);
    }
    return NULL;
}

bool rmsnorm_cli_primitive_is_constant(const rmsnorm_cli_primitive *primitive)
{
    return primitive->compute == NULL;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static int check_slots(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node)
{
    size_t count = node->input_count;
    while (count > 0 && node->inputs[count - 1][0] == '\0') {
        --count;
    }
    const size_t least = (size_t)primitive->least;
    const size_t most = (size_t)primitive->most;
    if (count < least || count > most) {
        char allowed[32];
        (void)snprintf(allowed, sizeof allowed, least == most ? "%zu" : "%zu to %zu", least, most);
        return rmsnorm_cli_fail("the node has %zu input%s, %s takes %s", count, count == 1 ? "" : "s", primitive->name,
                                allowed);
    }
    for (size_t i = 0; i < least; ++i) {
        if (node->inputs[i][0] == '\0') {
            return rmsnorm_cli_fail("input %zu has no name, %s needs it", i, primitive->name);
        }
    }
    if (node->output_count != 1 || node->outputs[0][0] == '\0') {
        return rmsnorm_cli_fail("the node has %zu output%s%s, %s has one with a name", node->output_count,
                                node->output_count == 1 ? "" : "s", node->output_count == 1 ? " without a name" : "",
                                primitive->name);
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static const struct {
    const char *words;
    rmsnorm_node_attribute_kind kind;
} kinds[] = {
    [RMSNORM_CLI_PRIMITIVE_INT] = {"an int", RMSNORM_NODE_ATTRIBUTE_INT},
    [RMSNORM_CLI_PRIMITIVE_FLAG] = {"0 or 1", RMSNORM_NODE_ATTRIBUTE_INT},
    [RMSNORM_CLI_PRIMITIVE_TYPE] = {"the number of an element type", RMSNORM_NODE_ATTRIBUTE_INT},
    [RMSNORM_CLI_PRIMITIVE_INTS] = {"a list of ints", RMSNORM_NODE_ATTRIBUTE_INTS},
    [RMSNORM_CLI_PRIMITIVE_FLOAT] = {"a float", RMSNORM_NODE_ATTRIBUTE_FLOAT},
    [RMSNORM_CLI_PRIMITIVE_FLOATS] = {"a list of floats", RMSNORM_NODE_ATTRIBUTE_FLOATS},
    [RMSNORM_CLI_PRIMITIVE_TENSOR] = {"a tensor", RMSNORM_NODE_ATTRIBUTE_TENSOR},
};

const rmsnorm_node_attribute *rmsnorm_cli_call_attribute(const rmsnorm_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; ++i) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

static const rmsnorm_cli_primitive_attribute *attribute_of(const rmsnorm_cli_primitive *primitive, const char *name)
{
    for (size_t i = 0; i < RMSNORM_CLI_PRIMITIVE_ATTRIBUTES && primitive->attributes[i].name != NULL; ++i) {
        if (strcmp(primitive->attributes[i].name, name) == 0) {
            return &primitive->attributes[i];
        }
    }
    return NULL;
}

int64_t rmsnorm_cli_call_int(const rmsnorm_cli_call *call, const char *name)
{
    const rmsnorm_node_attribute *given = rmsnorm_cli_call_attribute(call->node, name);
    return given != NULL ? given->i : attribute_of(call->primitive, name)->value;
}

static const char *attribute_names(const rmsnorm_cli_primitive *primitive, char text[RMSNORM_CLI_ATTRIBUTES])
{
    text[0] = '\0';
    for (size_t i = 0; i < RMSNORM_CLI_PRIMITIVE_ATTRIBUTES && primitive->attributes[i].name != NULL; ++i) {
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s%s", i == 0 ? "" : ", ", primitive->attributes[i].name);
    }
    return text[0] == '\0' ? "none" : text;
}

static int check_attribute(const rmsnorm_cli_primitive *primitive, const rmsnorm_node_attribute *given)
{
    char names[RMSNORM_CLI_ATTRIBUTES];
    const rmsnorm_cli_primitive_attribute *known = attribute_of(primitive, given->name);
    if (known == NULL) {
        return rmsnorm_cli_fail("the node has the attribute '%.80s', %s has in the model's opset: %s", given->name,
                                primitive->name, attribute_names(primitive, names));
    }
    if (known->kind == RMSNORM_CLI_PRIMITIVE_ANY) {
        return RMSNORM_CLI_DONE;
    }
    const bool flag = known->kind == RMSNORM_CLI_PRIMITIVE_FLAG;
    if (given->kind != kinds[known->kind].kind || (flag && given->i != 0 && given->i != 1)) {
        return rmsnorm_cli_fail("the attribute '%s' is not %s", known->name, kinds[known->kind].words);
    }
    return RMSNORM_CLI_DONE;
}

static int check_attributes(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node)
{
    for (size_t i = 0; i < node->attribute_count; ++i) {
        if (check_attribute(primitive, &node->attributes[i]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    for (size_t i = 0; i < RMSNORM_CLI_PRIMITIVE_ATTRIBUTES && primitive->attributes[i].name != NULL; ++i) {
        const rmsnorm_cli_primitive_attribute *known = &primitive->attributes[i];
        if (known->presence == RMSNORM_CLI_REQUIRED && rmsnorm_cli_call_attribute(node, known->name) == NULL) {
            return rmsnorm_cli_fail("the node lacks the attribute '%s' (%s), %s needs it", known->name,
                                    kinds[known->kind].words, primitive->name);
        }
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_primitive_resolve(const rmsnorm_node *node, int64_t opset, const rmsnorm_cli_primitive **primitive)
{
    *primitive = find(node->op_type, opset);
    return *primitive == NULL || check_slots(*primitive, node) != RMSNORM_CLI_DONE ||
                   check_attributes(*primitive, node) != RMSNORM_CLI_DONE
               ? RMSNORM_CLI_BAD
               : RMSNORM_CLI_DONE;
}

/* ---- Inferring and computing ----------------------------------------------------------------- */

static rmsnorm_cli_call begin_call(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                   const rmsnorm_tensor *const *inputs, rmsnorm_tensor *output)
{
    rmsnorm_cli_call call = {.primitive = primitive, .node = node, .output = output};
    for (size_t i = 0; i < (size_t)primitive->most && i < node->input_count; ++i) {
        call.inputs[i] = inputs[i];
    }
    return call;
}

static int check_input(const rmsnorm_cli_call *call, int slot)
{
    char types[RMSNORM_CLI_TYPES];
    const rmsnorm_tensor *input = call->inputs[slot];
    const rmsnorm_dtypes allowed = call->primitive->types[slot];
    if (rmsnorm_tensor_count(input) < 0) {
        return rmsnorm_cli_fail("the shape of input %d is not known", slot);
    }
    if (allowed != ANY && ((int)input->dtype > 31 || (allowed & RMSNORM_DTYPES(input->dtype)) == 0)) {
        return rmsnorm_cli_fail("input %d is %s, %s takes %s", slot, rmsnorm_dtype_name(input->dtype),
                                call->primitive->name, rmsnorm_cli_types(allowed, types));
    }
    if (call->primitive->alike && input->dtype != call->inputs[0]->dtype) {
        return rmsnorm_cli_fail("input %d is %s, but input 0 is %s: they must be of one type", slot,
                                rmsnorm_dtype_name(input->dtype), rmsnorm_dtype_name(call->inputs[0]->dtype));
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_call_known(const rmsnorm_cli_call *call, int slot)
{
    return call->inputs[slot]->data != NULL
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("the shape of the output hangs on the numbers in input %d, which must follow from "
                                  "constants, initializers and shapes",
                                  slot);
}

static int compute(const rmsnorm_cli_call *call)
{
    const size_t count = (size_t)rmsnorm_tensor_count(call->output);
    const size_t size = rmsnorm_cli_element_size(call->output->dtype);
    call->output->data = count <= SIZE_MAX / size ? malloc(count > 0 ? count * size : 1) : NULL;
    if (call->output->data == NULL) {
        return rmsnorm_cli_fail("out of memory: %zu elements of %zu bytes were needed", count, size);
    }
    const int code = call->primitive->compute(call);
    if (code != RMSNORM_CLI_DONE) {
        free(call->output->data);
        call->output->data = NULL;
    }
    return code;
}

/* Integers that follow from shapes and known numbers: small, and wanted before the run. */
static bool early(const rmsnorm_cli_call *call)
{
    const rmsnorm_dtype dtype = call->output->dtype;
    bool known = call->primitive->compute != NULL && (dtype == RMSNORM_INT64 || dtype == RMSNORM_INT32);
    for (int i = 0; i < RMSNORM_CLI_PRIMITIVE_INPUTS && !call->primitive->reads_shapes; ++i) {
        known = known && (call->inputs[i] == NULL || call->inputs[i]->data != NULL);
    }
    return known;
}

int rmsnorm_cli_primitive_infer(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                const rmsnorm_tensor *const *inputs, rmsnorm_tensor *output, bool *made)
{
    const rmsnorm_cli_call call = begin_call(primitive, node, inputs, output);
    *made = false;
    for (int i = 0; i < primitive->most; ++i) {
        if (call.inputs[i] != NULL && check_input(&call, i) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    *output = (rmsnorm_tensor){.rank = 0};
    int code = primitive->infer(&call);
    if (code == RMSNORM_CLI_DONE && rmsnorm_tensor_count(output) < 0) {
        char shape[RMSNORM_CLI_SHAPE];
        code =
            rmsnorm_cli_fail("the output would be %.300s, more than fits any memory", rmsnorm_cli_shape(output, shape));
    }
    if (code == RMSNORM_CLI_DONE && early(&call)) {
        code = compute(&call);
        *made = code == RMSNORM_CLI_DONE;
    }
    return code;
}

int rmsnorm_cli_primitive_compute(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                  const rmsnorm_tensor *const *inputs, rmsnorm_tensor *output)
{
    const rmsnorm_cli_call call = begin_call(primitive, node, inputs, output);
    return compute(&call);
}
