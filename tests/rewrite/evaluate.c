#include "evaluate.h"

#include <math.h>
#include <stdlib.h>

/* What a value is of a row's statistics. PLAIN: nothing but its elements. */
typedef enum stage { PLAIN, SQUARE, MEAN, SHIFTED, ROOT, INVERSE } stage;

typedef struct computed {
    rmsnorm_tensor tensor; /* dtype RMSNORM_UNDEFINED: not there */
    stage stage;
    rmsnorm_tensor of; /* what is squared */
    int64_t axis;      /* from the end */
    float epsilon;
} computed;

struct evaluation {
    const rmsnorm_ir *ir;
    computed *values;
    rmsnorm_arena arena;
    bool exact; /* every number is a double */
};

/* ---- Elements -------------------------------------------------------------------------------- */

/* A number rounded to `bits` bits, and no finer than 2^finest; to nearest, ties to even. */
static double round_bits(double number, int bits, int lowest, double largest)
{
    if (number == 0.0 || isnan(number) || isinf(number)) {
        return number;
    }
    const int exponent = ilogb(number) > lowest ? ilogb(number) : lowest;
    const double rounded = ldexp(nearbyint(ldexp(number, bits - 1 - exponent)), exponent - bits + 1);
    return fabs(rounded) > largest ? copysign(INFINITY, number) : rounded;
}

static double rounded(rmsnorm_dtype dtype, double number)
{
    switch (dtype) {
    case RMSNORM_FLOAT:
        return (double)(float)number;
    case RMSNORM_FLOAT16:
        return round_bits(number, 11, -14, 65504.0);
    case RMSNORM_BFLOAT16:
        return round_bits(number, 8, -126, 0x1.fep127);
    default:
        return number;
    }
}

static uint16_t half_bits(double number)
{
    const uint16_t sign = signbit(number) ? 0x8000 : 0;
    const double size = fabs(number);
    if (isnan(number)) {
        return 0x7e00;
    }
    if (isinf(number)) {
        return (uint16_t)(sign | 0x7c00);
    }
    if (size < 0x1p-14) {
        return (uint16_t)(sign | (uint16_t)(size * 0x1p24));
    }
    const int exponent = ilogb(size);
    return (uint16_t)(sign | (uint16_t)((exponent + 15) << 10) | ((uint16_t)ldexp(size, 10 - exponent) & 1023));
}

static double half_number(uint16_t bits)
{
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 31) {
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25));
}

static size_t element_size(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_INT64   ? 8
           : dtype == RMSNORM_INT32 ? 4
           : dtype == BUILD_BOOL    ? 1
                                    : rmsnorm_dtype_size(dtype);
}

double evaluate_element(const rmsnorm_tensor *tensor, size_t index)
{
    const char *const at = (const char *)tensor->data + index * element_size(tensor->dtype);
    float single;
    double number;
    int64_t large;
    int32_t small;
    uint16_t half;
    uint32_t wide;
    switch ((int)tensor->dtype) {
    case RMSNORM_FLOAT:
        memcpy(&single, at, sizeof single);
        return (double)single;
    case RMSNORM_DOUBLE:
        memcpy(&number, at, sizeof number);
        return number;
    case RMSNORM_INT64:
        memcpy(&large, at, sizeof large);
        return (double)large;
    case RMSNORM_INT32:
        memcpy(&small, at, sizeof small);
        return (double)small;
    case RMSNORM_FLOAT16:
        memcpy(&half, at, sizeof half);
        return half_number(half);
    case RMSNORM_BFLOAT16:
        memcpy(&half, at, sizeof half);
        wide = (uint32_t)half << 16;
        memcpy(&single, &wide, sizeof single);
        return (double)single;
    default:
        fail_msg("no elements of type %d here", (int)tensor->dtype);
        return 0.0;
    }
}

void evaluate_store(const rmsnorm_tensor *tensor, size_t index, double number)
{
    char *const at = (char *)tensor->data + index * element_size(tensor->dtype);
    const double value = rounded(tensor->dtype, number);
    const float single = (float)value;
    const int64_t large = fabs(value) < 0x1p62 ? (int64_t)value : 0;
    uint32_t wide;
    uint16_t half;
    switch ((int)tensor->dtype) {
    case RMSNORM_FLOAT:
        memcpy(at, &single, sizeof single);
        break;
    case RMSNORM_DOUBLE:
        memcpy(at, &value, sizeof value);
        break;
    case RMSNORM_INT64:
        memcpy(at, &large, sizeof large);
        break;
    case RMSNORM_FLOAT16:
        half = half_bits(value);
        memcpy(at, &half, sizeof half);
        break;
    case RMSNORM_BFLOAT16:
        memcpy(&wide, &single, sizeof wide);
        half = isnan(single) ? 0x7fc0 : (uint16_t)(wide >> 16);
        memcpy(at, &half, sizeof half);
        break;
    default:
        fail_msg("no elements of type %d here", (int)tensor->dtype);
    }
}

static size_t count_of(const rmsnorm_tensor *tensor)
{
    const int64_t count = rmsnorm_tensor_count(tensor);
    assert_true(count >= 0);
    return (size_t)count;
}

static bool same_type(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

size_t evaluate_difference(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    assert_true(same_type(a, b));
    const size_t count = count_of(a), size = element_size(a->dtype);
    for (size_t i = 0; i < count; i++) {
        const double left = evaluate_element(a, i), right = evaluate_element(b, i);
        if (memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) != 0 &&
            !(isnan(left) && isnan(right))) {
            return i;
        }
    }
    return RMSNORM_NO_INDEX;
}

double evaluate_distance(rmsnorm_dtype dtype, double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) {
        return 0.0;
    }
    if (!isfinite(a) || !isfinite(b)) {
        return (double)INFINITY;
    }
    const int bits = dtype == RMSNORM_FLOAT16 ? 11 : dtype == RMSNORM_BFLOAT16 ? 8 : dtype == RMSNORM_FLOAT ? 24 : 53;
    const int lowest = dtype == RMSNORM_FLOAT16 ? -14 : dtype == RMSNORM_DOUBLE ? -1022 : -126;
    const double larger = fmax(fabs(a), fabs(b));
    const int exponent = ilogb(larger) > lowest ? ilogb(larger) : lowest;
    return fabs(a - b) / ldexp(1.0, exponent - bits + 1);
}

/* ---- Values ---------------------------------------------------------------------------------- */

evaluation *evaluate_begin(const rmsnorm_ir *ir)
{
    evaluation *const e = calloc(1, sizeof *e);
    assert_non_null(e);
    e->ir = ir;
    rmsnorm_arena_init(&e->arena, SIZE_MAX);
    e->values = rmsnorm_arena_allocate(&e->arena, (ir->value_count + 1) * sizeof *e->values);
    assert_non_null(e->values);
    return e;
}

evaluation *evaluate_begin_exact(const rmsnorm_ir *ir)
{
    evaluation *const e = evaluate_begin(ir);
    e->exact = true;
    return e;
}

void evaluate_end(evaluation *e)
{
    rmsnorm_arena_release(&e->arena);
    free(e);
}

static rmsnorm_tensor make(evaluation *e, rmsnorm_dtype dtype, int32_t rank, const int64_t *dims)
{
    rmsnorm_tensor tensor = {.dtype = dtype, .rank = rank};
    if (e->exact && rmsnorm_dtype_size(dtype) != 0) {
        tensor.dtype = RMSNORM_DOUBLE;
    }
    for (int32_t d = 0; d < rank; d++) {
        tensor.dims[d] = dims[d];
    }
    tensor.data = rmsnorm_arena_allocate(&e->arena, count_of(&tensor) * element_size(tensor.dtype) + 1);
    assert_non_null(tensor.data);
    return tensor;
}

static rmsnorm_tensor copied(evaluation *e, const rmsnorm_tensor *tensor)
{
    const rmsnorm_tensor copy = make(e, tensor->dtype, tensor->rank, tensor->dims);
    if (copy.dtype == tensor->dtype) {
        memcpy(copy.data, tensor->data, count_of(tensor) * element_size(tensor->dtype));
        return copy;
    }
    for (size_t i = 0; i < count_of(tensor); i++) {
        evaluate_store(&copy, i, evaluate_element(tensor, i));
    }
    return copy;
}

void evaluate_give(evaluation *e, size_t value, const rmsnorm_tensor *tensor)
{
    e->values[value] = (computed){.tensor = copied(e, tensor)};
}

const rmsnorm_tensor *evaluate_value(const evaluation *e, size_t value)
{
    const rmsnorm_ir_value *const shown = &e->ir->values[value].shown;
    if (shown->constant && shown->type.data != NULL) {
        return &shown->type;
    }
    if (e->values[value].tensor.dtype == RMSNORM_UNDEFINED) {
        fail_msg("\"%s\" has no elements", shown->name);
    }
    return &e->values[value].tensor;
}

static const rmsnorm_tensor *input(const evaluation *e, size_t node, size_t slot)
{
    const size_t value = rmsnorm_ir_input(e->ir, node, slot);
    assert_int_not_equal(value, RMSNORM_NO_INDEX);
    return evaluate_value(e, value);
}

/* The statistic in a slot; PLAIN for constants. */
static computed about(const evaluation *e, size_t node, size_t slot)
{
    return e->values[rmsnorm_ir_input(e->ir, node, slot)];
}

/* ---- Elementwise ----------------------------------------------------------------------------- */

typedef double (*combine)(double a, double b);

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

static double square_root(double a, double b)
{
    (void)b;
    return sqrt(a);
}

static double reciprocal(double a, double b)
{
    (void)b;
    return 1.0 / a;
}

static double negative(double a, double b)
{
    (void)b;
    return -a;
}

static double first(double a, double b)
{
    (void)b;
    return a;
}

static const struct {
    const char *op;
    combine combine;
} elementwise[] = {{"Add", add},    {"Sub", subtract},     {"Mul", multiply}, {"Div", divide},
                   {"Pow", pow},    {"Sqrt", square_root}, {"Neg", negative}, {"Reciprocal", reciprocal},
                   {"Cast", first}, {"Identity", first}};

/* Where an element of the result lies in an operand. */
static size_t place_in(const rmsnorm_tensor *operand, const rmsnorm_tensor *result, size_t index)
{
    size_t place = 0, step = 1;
    for (int32_t i = 1; i <= result->rank; i++) {
        const size_t dim = (size_t)result->dims[result->rank - i];
        const size_t at = index % dim;
        index /= dim;
        if (i <= operand->rank) {
            const size_t own = (size_t)operand->dims[operand->rank - i];
            place += own == 1 ? 0 : at * step;
            step *= own;
        }
    }
    return place;
}

static rmsnorm_tensor combined(evaluation *e, rmsnorm_dtype dtype, combine f, const rmsnorm_tensor *a,
                               const rmsnorm_tensor *b)
{
    int64_t dims[RMSNORM_MAX_RANK] = {0};
    const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= rank; i++) {
        const int64_t left = i <= a->rank ? a->dims[a->rank - i] : 1, right = i <= b->rank ? b->dims[b->rank - i] : 1;
        assert_true(left == right || left == 1 || right == 1);
        dims[rank - i] = left == 1 ? right : left;
    }
    const rmsnorm_tensor result = make(e, dtype, rank, dims);
    const size_t count = count_of(&result);
    for (size_t i = 0; i < count; i++) {
        evaluate_store(&result, i,
                       f(evaluate_element(a, place_in(a, &result, i)), evaluate_element(b, place_in(b, &result, i))));
    }
    return result;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static const rmsnorm_operator *operator_of(rmsnorm_operator_kind kind)
{
    const rmsnorm_operator *op = NULL;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL && op->kind != kind; i++) {
    }
    return op;
}

/* The rows normalized, and the inverse root, as the library has them for this type: exact up to there. */
static void normalize(evaluation *e, const computed *statistic, rmsnorm_tensor *rows, rmsnorm_tensor *inverse)
{
    const rmsnorm_tensor *const x = &statistic->of;
    const rmsnorm_operator *const op = operator_of(RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION);
    rmsnorm_attributes attributes;
    rmsnorm_attributes_init(op, &attributes);
    attributes.axis = statistic->axis;
    attributes.epsilon = statistic->epsilon;
    attributes.stash_type = x->dtype;
    const int64_t one = 1;
    const rmsnorm_tensor ones = make(e, x->dtype, 1, &one);
    evaluate_store(&ones, 0, 1.0);
    int64_t dims[RMSNORM_MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; d++) {
        dims[d] = d < x->rank + statistic->axis ? x->dims[d] : 1;
    }
    *rows = make(e, x->dtype, x->rank, x->dims);
    *inverse = make(e, x->dtype, x->rank, dims);
    const rmsnorm_tensor *const inputs[] = {x, &ones};
    rmsnorm_tensor *const outputs[] = {rows, inverse};
    assert_int_equal(rmsnorm_run(op, &attributes, inputs, 2, outputs, 2, NULL), RMSNORM_OK);
    /* Where nothing leaves the range, a row is its elements times the inverse. */
    for (size_t i = 0; i < count_of(rows); i++) {
        const double factor = evaluate_element(inverse, place_in(inverse, rows, i));
        if (factor > 1e-30 && factor < 1e30) {
            const double product = rounded(x->dtype, evaluate_element(x, i) * factor);
            assert_true(product == evaluate_element(rows, i) || isnan(product));
        }
    }
}

static bool is_number(const rmsnorm_tensor *tensor, double *number)
{
    if (count_of(tensor) != 1 || tensor->rank > 2) { /* rows here have three dims, which two more do not add to */
        return false;
    }
    *number = evaluate_element(tensor, 0);
    return true;
}

/* What an elementwise node with a statistic among its inputs gives, when it is the next stage. */
static bool next_stage(evaluation *e, size_t node, computed *result)
{
    const bool mul = rmsnorm_ir_is(e->ir, node, "Mul"), div = rmsnorm_ir_is(e->ir, node, "Div");
    const bool power = rmsnorm_ir_is(e->ir, node, "Pow");
    const rmsnorm_tensor *const a = input(e, node, 0);
    const bool two = e->ir->nodes[node].shown.input_count > 1;
    const rmsnorm_tensor *const b = two ? input(e, node, 1) : NULL;
    const computed left = about(e, node, 0), right = two ? about(e, node, 1) : (computed){.stage = PLAIN};
    const bool wide = a->dtype == RMSNORM_FLOAT || a->dtype == RMSNORM_DOUBLE;
    const stage first_stage = left.stage, second_stage = right.stage;
    rmsnorm_tensor rows, inverse;
    double number = 0.0;
    if (!wide) {
        return false;
    }
    if ((power && is_number(b, &number) && number == 2.0) ||
        (mul && same_type(a, b) && evaluate_difference(a, b) == RMSNORM_NO_INDEX)) {
        *result = (computed){.stage = SQUARE, .of = *a};
        return true;
    }
    if (rmsnorm_ir_is(e->ir, node, "Add") && (first_stage == MEAN || second_stage == MEAN)) {
        const bool before = first_stage == MEAN;
        *result = before ? left : right;
        result->stage = SHIFTED;
        const bool constant = is_number(before ? b : a, &number);
        result->epsilon = (float)number;
        return constant && (double)result->epsilon == number;
    }
    if (first_stage == SHIFTED &&
        (rmsnorm_ir_is(e->ir, node, "Sqrt") || (power && is_number(b, &number) && (number == 0.5 || number == -0.5)))) {
        *result = left;
        result->stage = number == -0.5 ? INVERSE : ROOT;
        return true;
    }
    if ((rmsnorm_ir_is(e->ir, node, "Reciprocal") && first_stage == ROOT) ||
        (div && second_stage == ROOT && is_number(a, &number) && number == 1.0)) {
        *result = two ? right : left;
        result->stage = INVERSE;
        return true;
    }
    const bool divides = div && second_stage == ROOT;
    if (divides || (mul && (first_stage == INVERSE || second_stage == INVERSE))) {
        const computed *const statistic = divides || second_stage == INVERSE ? &right : &left;
        const rmsnorm_tensor *const x = divides || second_stage == INVERSE ? a : b;
        if (!same_type(x, &statistic->of) || evaluate_difference(x, &statistic->of) != RMSNORM_NO_INDEX) {
            return false;
        }
        normalize(e, statistic, &rows, &inverse);
        *result = (computed){.tensor = rows};
        return true;
    }
    return false;
}

static void run_elementwise(evaluation *e, size_t node, combine f, computed *result)
{
    const bool two = e->ir->nodes[node].shown.input_count > 1;
    const rmsnorm_tensor *const a = input(e, node, 0);
    const rmsnorm_tensor *const b = two ? input(e, node, 1) : a;
    const rmsnorm_node_attribute *const to = rmsnorm_ir_attribute(e->ir, node, "to");
    const rmsnorm_dtype dtype = f == first && to != NULL ? (rmsnorm_dtype)to->i : a->dtype;
    if (two && f != pow && a->dtype != b->dtype && !e->exact) {
        fail_msg("%s: operands of two types", rmsnorm_ir_label(e->ir, node).text);
    }
    if (f == first && dtype == a->dtype) {
        *result = about(e, node, 0);
        result->tensor = copied(e, a);
        return;
    }
    if (f != first && !e->exact && next_stage(e, node, result)) {
        if (result->stage == PLAIN) {
            return;
        }
        if (result->stage == INVERSE) {
            rmsnorm_tensor rows;
            normalize(e, result, &rows, &result->tensor);
            return;
        }
    } else {
        *result = (computed){.stage = PLAIN};
    }
    result->tensor = combined(e, dtype, f, a, b);
}

/* ---- Other nodes ----------------------------------------------------------------------------- */

static void run_mean(evaluation *e, size_t node, computed *result)
{
    const rmsnorm_tensor *const x = input(e, node, 0);
    const rmsnorm_node_attribute *const attribute = rmsnorm_ir_attribute(e->ir, node, "axes");
    const rmsnorm_node_attribute *const keep = rmsnorm_ir_attribute(e->ir, node, "keepdims");
    const bool given = e->ir->nodes[node].shown.input_count > 1;
    const rmsnorm_tensor *const list = given ? input(e, node, 1) : NULL;
    const size_t count = attribute != NULL ? attribute->count : given ? count_of(list) : 0;
    bool reduced[RMSNORM_MAX_RANK] = {false};
    int64_t dims[RMSNORM_MAX_RANK] = {0};
    int64_t kept[RMSNORM_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        const int64_t axis = attribute != NULL ? attribute->ints[i] : (int64_t)evaluate_element(list, i);
        reduced[axis < 0 ? axis + x->rank : axis] = true;
    }
    double size = 1.0;
    int32_t rank = 0, trailing = 0;
    for (int32_t d = 0; d < x->rank; d++) {
        reduced[d] = reduced[d] || count == 0;
        dims[d] = reduced[d] ? 1 : x->dims[d];
        size *= reduced[d] ? (double)x->dims[d] : 1.0;
        if (!reduced[d] || keep == NULL || keep->i != 0) {
            kept[rank++] = dims[d];
        }
        trailing = reduced[d] ? trailing + 1 : 0;
    }
    bool all_last = trailing > 0 && rank == x->rank;
    for (int32_t d = 0; d < x->rank - trailing; d++) {
        all_last = all_last && !reduced[d];
    }
    rmsnorm_tensor sums = make(e, RMSNORM_DOUBLE, x->rank, dims);
    for (size_t i = 0; i < count_of(x); i++) {
        const size_t at = place_in(&sums, x, i);
        evaluate_store(&sums, at, evaluate_element(&sums, at) + evaluate_element(x, i));
    }
    const computed square = about(e, node, 0);
    *result = square.stage == SQUARE && all_last ? square : (computed){.stage = PLAIN};
    result->stage = result->stage == SQUARE ? MEAN : PLAIN;
    result->axis = -trailing;
    result->tensor = make(e, x->dtype, rank, kept);
    for (size_t i = 0; i < count_of(&sums); i++) {
        evaluate_store(&result->tensor, i, evaluate_element(&sums, i) / size);
    }
}

static void run_constant(evaluation *e, size_t node, computed *result)
{
    const rmsnorm_node_attribute *const attribute = &e->ir->nodes[node].shown.attributes[0];
    const int64_t count = (int64_t)attribute->count;
    switch (attribute->kind) {
    case RMSNORM_NODE_ATTRIBUTE_TENSOR:
        result->tensor = copied(e, &attribute->tensor);
        break;
    case RMSNORM_NODE_ATTRIBUTE_FLOAT:
        result->tensor = make(e, RMSNORM_FLOAT, 0, NULL);
        evaluate_store(&result->tensor, 0, (double)attribute->f);
        break;
    case RMSNORM_NODE_ATTRIBUTE_FLOATS:
        result->tensor = make(e, RMSNORM_FLOAT, 1, &count);
        for (size_t i = 0; i < attribute->count; i++) {
            evaluate_store(&result->tensor, i, (double)attribute->floats[i]);
        }
        break;
    default:
        fail_msg("%s: no elements", rmsnorm_ir_label(e->ir, node).text);
    }
}

static void run_shape(evaluation *e, size_t node, computed *result)
{
    const rmsnorm_tensor *const x = input(e, node, 0);
    const int64_t rank = x->rank;
    result->tensor = make(e, RMSNORM_INT64, 1, &rank);
    memcpy(result->tensor.data, x->dims, (size_t)rank * sizeof x->dims[0]);
}

static void run_zeros(evaluation *e, size_t node, computed *result)
{
    const rmsnorm_tensor *const shape = input(e, node, 0);
    assert_null(rmsnorm_ir_attribute(e->ir, node, "value"));
    result->tensor = make(e, RMSNORM_FLOAT, (int32_t)shape->dims[0], (const int64_t *)shape->data);
}

static bool run_norm(evaluation *e, size_t node)
{
    const rmsnorm_ir_node *const shown = &e->ir->nodes[node].shown;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    const rmsnorm_tensor *inputs[4];
    rmsnorm_tensor made[4];
    rmsnorm_tensor *outputs[4];
    if (rmsnorm_ir_resolve(e->ir, node, &op, &attributes) != RMSNORM_OK) {
        return false;
    }
    assert_true(shown->input_count <= 4 && shown->output_count <= 4);
    for (size_t i = 0; i < shown->input_count; i++) {
        inputs[i] = shown->inputs[i] != RMSNORM_NO_INDEX ? input(e, node, i) : NULL;
    }
    for (size_t i = 0; i < shown->output_count; i++) {
        made[i] = (rmsnorm_tensor){.rank = 0};
        outputs[i] = shown->outputs[i] != RMSNORM_NO_INDEX ? &made[i] : NULL;
    }
    rmsnorm_status status =
        rmsnorm_infer(op, &attributes, inputs, shown->input_count, outputs, shown->output_count, NULL);
    for (size_t i = 0; i < shown->output_count && status == RMSNORM_OK; i++) {
        if (outputs[i] != NULL) {
            made[i] = make(e, made[i].dtype, made[i].rank, made[i].dims);
            e->values[shown->outputs[i]] = (computed){.tensor = made[i]};
        }
    }
    if (status == RMSNORM_OK) {
        status = rmsnorm_run(op, &attributes, inputs, shown->input_count, outputs, shown->output_count, NULL);
    }
    if (status != RMSNORM_OK) {
        fail_msg("%s: %s", rmsnorm_ir_label(e->ir, node).text, rmsnorm_last_error());
    }
    return true;
}

static void run_graph(evaluation *e, size_t graph);

/* The first graph inside: its outputs, in the order of its nodes, are the node's. */
static bool run_inside(evaluation *e, size_t node)
{
    for (size_t g = 1; g < e->ir->graph_count; g++) {
        if (e->ir->graphs[g].owner != node) {
            continue;
        }
        run_graph(e, g);
        size_t slot = 0;
        for (size_t n = e->ir->graphs[g].first; n != RMSNORM_NO_INDEX; n = e->ir->nodes[n].shown.next) {
            const rmsnorm_ir_node *const inside = &e->ir->nodes[n].shown;
            for (size_t i = 0; i < inside->output_count; i++) {
                const size_t value = inside->outputs[i], to = rmsnorm_ir_output(e->ir, node, slot);
                if (value != RMSNORM_NO_INDEX && e->ir->values[value].shown.output && to != RMSNORM_NO_INDEX) {
                    evaluate_give(e, to, evaluate_value(e, value));
                    slot++;
                }
            }
        }
        return true;
    }
    return false;
}

static void run_node(evaluation *e, size_t node)
{
    static const struct {
        const char *op;
        void (*run)(evaluation *e, size_t node, computed *result);
    } others[] = {
        {"ReduceMean", run_mean}, {"Constant", run_constant}, {"Shape", run_shape}, {"ConstantOfShape", run_zeros}};
    computed result = {.stage = PLAIN};
    if (run_norm(e, node) || run_inside(e, node)) {
        return;
    }
    for (size_t i = 0; i < sizeof elementwise / sizeof elementwise[0]; i++) {
        if (rmsnorm_ir_is(e->ir, node, elementwise[i].op)) {
            run_elementwise(e, node, elementwise[i].combine, &result);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (rmsnorm_ir_is(e->ir, node, others[i].op)) {
            others[i].run(e, node, &result);
        }
    }
    if (result.tensor.dtype == RMSNORM_UNDEFINED) {
        fail_msg("%s: no rule", rmsnorm_ir_label(e->ir, node).text);
    }
    e->values[rmsnorm_ir_output(e->ir, node, 0)] = result;
}

static void run_graph(evaluation *e, size_t graph)
{
    for (size_t n = e->ir->graphs[graph].first; n != RMSNORM_NO_INDEX; n = e->ir->nodes[n].shown.next) {
        run_node(e, n);
    }
}

void evaluate_run(evaluation *e)
{
    run_graph(e, 0);
}
