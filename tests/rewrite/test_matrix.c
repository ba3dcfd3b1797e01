/* The pattern matrix: chains of every spelling, with what the contract ("Decomposed forms") says of each, and the same bits after
 * fusing as before. Every pair of choices meets; the rest of a sample is drawn. */
#include "rewritten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The choices ----------------------------------------------------------------------------- */

enum {
    SQUARE_POW,
    SQUARE_POW_INT,
    SQUARE_POW_VECTOR,
    SQUARE_MUL,
    SQUARE_CUBE,
    SQUARE_COMPUTED,
    SQUARE_MATRIX,
    SQUARES
};
enum {
    ROOT_DIV,
    ROOT_ONE_DIV,
    ROOT_RECIPROCAL,
    ROOT_POW_NEGATIVE,
    ROOT_POW_DIV,
    ROOT_POW_RECIPROCAL,
    ROOT_POW_ONE_DIV,
    ROOT_TWICE,
    ROOT_EPSILON_OUTSIDE,
    ROOT_NO_EPSILON,
    ROOT_MULTIPLIED,
    ROOT_OTHER_INPUT,
    ROOTS
};
enum {
    EPSILON_RIGHT,
    EPSILON_LEFT,
    EPSILON_VECTOR,
    EPSILON_NODE,
    EPSILON_NODE_FLOAT,
    EPSILON_NO_FLOAT,
    EPSILON_MATRIX,
    EPSILON_COMPUTED,
    EPSILONS
};
enum { ORDERS = 4 }; /* bit 0: the product, bit 1: the scale */
enum {
    CASTS_DOWN_BEFORE, /* up, normalize, down, scale */
    CASTS_DOWN_AFTER,  /* up, normalize, scale, down */
    CASTS_DOWN_AFTER_SCALE_UP,
    CASTS_UP,
    CASTS_UP_SCALE_UP,
    CASTS_TWO, /* of the input, one for the square and one for the product; down before the scale */
    CASTS_SCALE_DOWN,
    CASTS_SAME, /* to the type it has already, inside the statistics */
    CASTS_STATISTICS,
    CASTS_INVERSE,
    CASTS
};
enum {
    TYPES_FLOAT,
    TYPES_HALF,
    TYPES_BFLOAT,
    TYPES_DOUBLE,
    TYPES_FLOAT_DOUBLE,
    TYPES_HALF_DOUBLE,
    TYPES_ALL_HALF,
    TYPES_ALL_BFLOAT,
    TYPES
};
enum {
    SCALE_H,
    SCALE_NONE,
    SCALE_ONE,
    SCALE_SCALAR,
    SCALE_1H,
    SCALE_SH,
    SCALE_B1H,
    SCALE_BSH,
    SCALE_COMPUTED,
    SCALE_UNKNOWN,
    SCALE_ITSELF,
    SCALE_GROWS,
    SCALES
};
enum { OPSETS = 7 };
enum {
    AXES_LAST,
    AXES_LAST_UP,
    AXES_TWO,
    AXES_TWO_UP,
    AXES_TURNED,
    AXES_ALL,
    AXES_FIRST,
    AXES_TWO_FIRST,
    AXES_NONE,
    AXES_DROPPED,
    AXES
};
enum { SHAPE_NUMBERS, SHAPE_NAMES, SHAPE_ALL_NAMES, SHAPE_ANY, SHAPES };
enum {
    USE_NONE,
    USE_CAST,
    USE_PRODUCT_OUTPUT,
    USE_PRODUCT,
    USE_PRODUCT_INSIDE,
    USE_SQUARE_OUTPUT,
    USE_MEAN_OUTPUT,
    USE_SUM,
    USE_ROOT_OUTPUT,
    USE_INVERSE,
    USE_MEAN_INSIDE,
    USES
};
enum { TARGETS = 4, RELAXED = 2 };

enum { SQUARE, ROOT, EPSILON, ORDER, CAST, TYPE, SCALE, OPSET, AXIS, SHAPE, USE, TARGET, RELAX, CHOICES };
static const int choices[CHOICES] = {SQUARES, ROOTS, EPSILONS, ORDERS, CASTS,   TYPES,  SCALES,
                                     OPSETS,  AXES,  SHAPES,   USES,   TARGETS, RELAXED};
/* What others are drawn from, so that most samples are legal: the first so many of each. */
static const int harmless[CHOICES] = {4, 7, 5, 4, 8, 6, 9, OPSETS, 6, 3, 5, TARGETS, RELAXED};

typedef struct sample {
    int is[CHOICES];
    char text[96];
} sample;

static const int64_t opsets[OPSETS] = {7, 11, 13, 17, 18, 23, 24};

static rmsnorm_dtype raw_type(const sample *s)
{
    static const rmsnorm_dtype types[TYPES] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE,
                                               RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_FLOAT16,  RMSNORM_BFLOAT16};
    return types[s->is[TYPE]];
}

/* The type of the statistics. */
static rmsnorm_dtype wide_type(const sample *s)
{
    static const rmsnorm_dtype types[TYPES] = {RMSNORM_FLOAT,  RMSNORM_FLOAT,  RMSNORM_FLOAT,   RMSNORM_DOUBLE,
                                               RMSNORM_DOUBLE, RMSNORM_DOUBLE, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    return types[s->is[TYPE]];
}

static bool is_cast(const sample *s)
{
    return raw_type(s) != wide_type(s);
}

/* What a cast inside the statistics goes to. */
static rmsnorm_dtype middle_type(const sample *s)
{
    return s->is[CAST] != CASTS_STATISTICS ? wide_type(s)
           : wide_type(s) == RMSNORM_FLOAT ? RMSNORM_DOUBLE
                                           : RMSNORM_FLOAT;
}

/* ---- The graph ------------------------------------------------------------------------------- */

static const char *cast_to(rmsnorm_dtype type)
{
    static char text[24];
    snprintf(text, sizeof text, "Cast to=%d", (int)type);
    return text;
}

static void node2(build *b, const char *op, const char *first, const char *second, bool turned, const char *output)
{
    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s,%s", turned ? second : first, turned ? first : second);
    (void)build_node(b, op, inputs, output);
}

static void add_square(build *b, const sample *s, const char *x)
{
    const rmsnorm_dtype type = wide_type(s);
    switch (s->is[SQUARE]) {
    case SQUARE_MUL:
        node2(b, "Mul", x, x, false, "square");
        return;
    case SQUARE_POW_INT:
        (void)build_constant(b, "exponent", RMSNORM_INT64, "", "2");
        break;
    case SQUARE_COMPUTED:
        (void)build_value(b, "exponent", type, "");
        break;
    default:
        (void)build_constant(b, "exponent", type,
                             s->is[SQUARE] == SQUARE_POW_VECTOR ? "1"
                             : s->is[SQUARE] == SQUARE_MATRIX   ? "1,1,1,1"
                                                                : "",
                             s->is[SQUARE] == SQUARE_CUBE ? "3" : "2");
    }
    node2(b, "Pow", x, "exponent", false, "square");
}

static void add_mean(build *b, const sample *s)
{
    static const char *const axes[AXES] = {"-1", "2", "-2,-1", "1,2", "-1,-2", "0,1,2", "0", "0,1", "", "-1"};
    static const char *const upward[AXES] = {"2", "2", "1,2", "1,2", "2,1", "0,1,2", "0", "0,1", "", "2"};
    const char *const list = opsets[s->is[OPSET]] < 11 ? upward[s->is[AXIS]] : axes[s->is[AXIS]];
    const bool as_input = opsets[s->is[OPSET]] >= 18;
    const char *const keep = s->is[AXIS] == AXES_DROPPED ? " keepdims=0" : s->is[ORDER] % 2 == 0 ? " keepdims=1" : "";
    char op[64];
    if (list[0] == '\0' || as_input) {
        snprintf(op, sizeof op, "ReduceMean%s", keep);
    } else {
        snprintf(op, sizeof op, "ReduceMean axes=[%s]%s", list, keep);
    }
    if (as_input && list[0] != '\0') {
        const char count[] = {(char)('1' + (strchr(list, ',') != NULL) + (list[0] == '0' && strlen(list) == 5)), '\0'};
        (void)build_constant(b, "axes", RMSNORM_INT64, count, list);
        node2(b, op, "square", "axes", false, "mean");
    } else {
        (void)build_node(b, op, "square", "mean");
    }
}

static void add_epsilon(build *b, const sample *s, const char *mean)
{
    const rmsnorm_dtype type = middle_type(s);
    const char *const number = s->is[EPSILON] == EPSILON_NO_FLOAT ? "1e-5" : "7.62939453125e-06"; /* 2^-17 */
    char op[64];
    switch (s->is[EPSILON]) {
    case EPSILON_NODE_FLOAT:
        if (type == RMSNORM_FLOAT) {
            (void)build_node(b, "Constant value_float=1e-5", "", "epsilon");
            break;
        }
        __attribute__((fallthrough));
    case EPSILON_NODE:
        snprintf(op, sizeof op, "Constant value=%s:%s", rmsnorm_dtype_name(type), number);
        (void)build_node(b, op, "", "epsilon");
        break;
    case EPSILON_COMPUTED:
        (void)build_value(b, "epsilon", type, "");
        break;
    default:
        (void)build_constant(b, "epsilon", type,
                             s->is[EPSILON] == EPSILON_VECTOR   ? "1"
                             : s->is[EPSILON] == EPSILON_MATRIX ? "1,1"
                                                                : "",
                             number);
    }
    node2(b, "Add", mean, "epsilon", s->is[EPSILON] == EPSILON_LEFT, "sum");
}

/* From the shifted mean to the root, or the inverse root; at every other opset an Identity follows. */
static const char *add_root(build *b, const sample *s)
{
    const rmsnorm_dtype type = middle_type(s);
    const int root = s->is[ROOT];
    const char *last = "root";
    if (root == ROOT_POW_NEGATIVE || root == ROOT_POW_DIV || root == ROOT_POW_RECIPROCAL || root == ROOT_POW_ONE_DIV) {
        (void)build_constant(b, "half", type, "", root == ROOT_POW_NEGATIVE ? "-0.5" : "0.5");
        node2(b, "Pow", "sum", "half", false, "root");
    } else if (root == ROOT_EPSILON_OUTSIDE) {
        (void)build_node(b, "Sqrt", "mean", "plain_root");
        (void)build_constant(b, "outside", type, "", "0.001");
        node2(b, "Add", "plain_root", "outside", false, "root");
    } else if (root == ROOT_NO_EPSILON) {
        (void)build_node(b, "Sqrt", "mean", "root");
    } else {
        (void)build_node(b, "Sqrt", "sum", "root");
    }
    if (root == ROOT_TWICE) {
        (void)build_node(b, "Sqrt", "root", "second_root");
        last = "second_root";
    }
    if (root == ROOT_ONE_DIV || root == ROOT_POW_ONE_DIV) {
        (void)build_constant(b, "one", type, "", "1");
        node2(b, "Div", "one", last, false, "inverse");
        last = "inverse";
    } else if (root == ROOT_RECIPROCAL || root == ROOT_POW_RECIPROCAL) {
        (void)build_node(b, "Reciprocal", last, "inverse");
        last = "inverse";
    }
    if (s->is[OPSET] % 2 == 0) {
        return last;
    }
    (void)build_node(b, "Identity", last, "last");
    return "last";
}

static bool has_inverse(const sample *s)
{
    const int root = s->is[ROOT];
    return root == ROOT_ONE_DIV || root == ROOT_POW_ONE_DIV || root == ROOT_RECIPROCAL || root == ROOT_POW_RECIPROCAL;
}

static bool divides(const sample *s)
{
    const int root = s->is[ROOT];
    return !has_inverse(s) && root != ROOT_POW_NEGATIVE && root != ROOT_MULTIPLIED;
}

static bool cast_scale(const sample *s)
{
    return is_cast(s) && (s->is[CAST] == CASTS_DOWN_AFTER_SCALE_UP || s->is[CAST] == CASTS_UP_SCALE_UP);
}

/* What is multiplied in, of this type. */
static const char *add_scale(build *b, const sample *s, rmsnorm_dtype type, const char *rows)
{
    static const char *const dims[SCALES] = {"4", "", "1", "", "1,4", "2,4", "4,1,4", "4,2,4", "4", "*", "", "2,4,2,4"};
    static const char *const named[SCALES] = {"4",     "",      "1", "",  "1,4", "S,4",
                                              "B,1,4", "B,S,4", "4", "*", "",    "2,B,S,4"};
    static const char *const all[SCALES] = {"H", "", "1", "", "1,H", "S,H", "B,1,H", "B,S,H", "H", "*", "", "2,B,S,H"};
    const int scale = s->is[SCALE];
    const rmsnorm_dtype given = cast_scale(s)                                   ? raw_type(s)
                                : is_cast(s) && s->is[CAST] == CASTS_SCALE_DOWN ? wide_type(s)
                                                                                : type;
    const int shape = s->is[SHAPE];
    if (scale == SCALE_ITSELF) {
        return rows;
    }
    const char *const w = scale == SCALE_UNKNOWN ? "w" : "scale";
    (void)build_value(b, w, given, (shape == SHAPE_NAMES ? named : shape == SHAPE_ALL_NAMES ? all : dims)[scale]);
    const char *last = w;
    if (scale == SCALE_COMPUTED) {
        (void)build_constant(b, "plus", given, "", "1");
        node2(b, "Add", w, "plus", false, "scale_plus");
        last = "scale_plus";
    }
    if (given != type) {
        (void)build_node(b, cast_to(type), last, "scale_cast");
        last = "scale_cast";
    }
    return last;
}

static bool goes_down_after(const sample *s)
{
    return is_cast(s) && (s->is[CAST] == CASTS_DOWN_AFTER || s->is[CAST] == CASTS_DOWN_AFTER_SCALE_UP);
}

static bool goes_down_before(const sample *s)
{
    return is_cast(s) &&
           (s->is[CAST] == CASTS_DOWN_BEFORE || s->is[CAST] == CASTS_TWO || s->is[CAST] == CASTS_SCALE_DOWN ||
            s->is[CAST] == CASTS_SAME || s->is[CAST] == CASTS_STATISTICS);
}

static rmsnorm_dtype product_type(const sample *s)
{
    return s->is[CAST] == CASTS_INVERSE ? raw_type(s) : wide_type(s);
}

static void add_tail(build *b, const sample *s)
{
    rmsnorm_dtype type = product_type(s);
    const char *last = "product";
    if (goes_down_before(s)) {
        type = raw_type(s);
        (void)build_node(b, cast_to(type), last, "down");
        last = "down";
    }
    if (s->is[SCALE] != SCALE_NONE) {
        const char *const scale = add_scale(b, s, type, last);
        node2(b, "Mul", last, scale, (s->is[ORDER] & 2) != 0, "scaled");
        last = "scaled";
    }
    if (goes_down_after(s)) {
        (void)build_node(b, cast_to(raw_type(s)), last, "down");
        last = "down";
    }
    (void)build_node(b, "Neg", last, "y");
    build_output(b, "y");
}

static void add_use(build *b, const sample *s, const char *last)
{
    static const char *const used[USES] = {"",     "",    "product", "product", "product", "square",
                                           "mean", "sum", "root",    "inverse", "mean"};
    const char *name = used[s->is[USE]];
    switch (s->is[USE]) {
    case USE_NONE:
        break;
    case USE_PRODUCT_OUTPUT:
    case USE_SQUARE_OUTPUT:
    case USE_MEAN_OUTPUT:
    case USE_ROOT_OUTPUT:
        build_output(b, name);
        break;
    case USE_PRODUCT_INSIDE:
    case USE_MEAN_INSIDE: {
        (void)build_value(b, "choice", BUILD_BOOL, "");
        const size_t node = build_node(b, "If", "choice", "other");
        build_output(b, "other");
        (void)build_graph(b, node);
        (void)build_node(b, "Neg", name, "inside");
        build_output(b, "inside");
        b->graph = 0;
        break;
    }
    case USE_CAST:
        name = is_cast(s) ? "wide" : "x";
        __attribute__((fallthrough));
    default:
        (void)build_node(b, "Neg", s->is[USE] == USE_INVERSE && !has_inverse(s) ? last : name, "other");
        build_output(b, "other");
    }
}

static build *build_sample(const sample *s)
{
    static const char *const dims[SHAPES] = {"4,2,4", "B,S,4", "B,S,H", "*"};
    build *const b = build_begin(opsets[s->is[OPSET]]);
    const rmsnorm_dtype raw = raw_type(s), wide = wide_type(s), middle = middle_type(s);
    (void)build_value(b, "x", raw, dims[s->is[SHAPE]]);
    const char *x = "x", *second = "x", *mean = "mean";
    if (raw != wide) {
        (void)build_node(b, cast_to(wide), "x", "wide");
        x = second = "wide";
    }
    if (raw != wide && s->is[CAST] == CASTS_TWO) {
        (void)build_node(b, cast_to(wide), "x", "second");
        second = "second";
    }
    add_square(b, s, x);
    add_mean(b, s);
    if (middle != wide || s->is[CAST] == CASTS_SAME) {
        (void)build_node(b, cast_to(middle), mean, "middle");
        mean = "middle";
    }
    add_epsilon(b, s, mean);
    const char *const last = add_root(b, s);
    const char *inverse = last;
    const rmsnorm_dtype product = product_type(s);
    if (middle != product) {
        (void)build_node(b, cast_to(product), inverse, "turned");
        inverse = "turned";
    }
    const char *scaled = product != wide ? "x" : second;
    if (s->is[ROOT] == ROOT_OTHER_INPUT) {
        (void)build_node(b, "Neg", scaled, "another");
        scaled = "another";
    }
    node2(b, divides(s) ? "Div" : "Mul", scaled, inverse, !divides(s) && (s->is[ORDER] & 1) != 0, "product");
    add_tail(b, s);
    add_use(b, s, last);
    return b;
}

/* ---- What the contract says ------------------------------------------------------------------ */

static bool is_product_used(const sample *s)
{
    return s->is[USE] == USE_PRODUCT_OUTPUT || s->is[USE] == USE_PRODUCT || s->is[USE] == USE_PRODUCT_INSIDE;
}

/* Not a normalization that can be replaced, whatever the target. */
static bool is_refused(const sample *s)
{
    const bool upward = s->is[AXIS] == AXES_LAST_UP || s->is[AXIS] == AXES_TWO_UP || s->is[AXIS] == AXES_ALL ||
                        (opsets[s->is[OPSET]] < 11 && s->is[AXIS] <= AXES_TURNED);
    return s->is[SQUARE] >= SQUARE_CUBE || s->is[ROOT] >= ROOT_TWICE || s->is[EPSILON] == EPSILON_COMPUTED ||
           (s->is[EPSILON] == EPSILON_MATRIX && s->is[SHAPE] == SHAPE_ANY) ||
           (s->is[EPSILON] == EPSILON_NO_FLOAT && middle_type(s) == RMSNORM_DOUBLE) || s->is[AXIS] >= AXES_FIRST ||
           s->is[USE] >= USE_SQUARE_OUTPUT || (upward && s->is[SHAPE] == SHAPE_ANY) ||
           (s->is[SCALE] == SCALE_GROWS && s->is[SHAPE] != SHAPE_ANY && !is_product_used(s));
}

/* Something that a norm would not round is rounded. */
static bool is_rounded_between(const sample *s)
{
    return s->is[TYPE] >= TYPES_ALL_HALF || s->is[CAST] == CASTS_STATISTICS ||
           (s->is[CAST] == CASTS_INVERSE && is_cast(s));
}

/* How rows are rounded: their types in turn, 0 where the scale is multiplied in. Those that change nothing are left out. */
typedef struct steps {
    rmsnorm_dtype types[8];
    size_t count;
} steps;

static int bits_of(rmsnorm_dtype type)
{
    return type == RMSNORM_DOUBLE ? 53 : type == RMSNORM_FLOAT ? 24 : type == RMSNORM_FLOAT16 ? 11 : 8;
}

static void step(steps *to, rmsnorm_dtype type)
{
    const rmsnorm_dtype before = to->count > 0 ? to->types[to->count - 1] : RMSNORM_UNDEFINED;
    if (type != RMSNORM_UNDEFINED && before != RMSNORM_UNDEFINED && bits_of(type) >= bits_of(before) &&
        (type == before || bits_of(type) >= 24)) {
        return;
    }
    to->types[to->count++] = type;
}

/* The tail after the product: whether each step is the scale, and its type. */
typedef struct tail {
    bool scale[3];
    rmsnorm_dtype type[3];
    size_t count, coverable;
} tail;

static tail tail_of(const sample *s)
{
    tail t = {.count = 0};
    rmsnorm_dtype type = product_type(s);
    if (goes_down_before(s)) {
        t.type[t.count++] = type = raw_type(s);
    }
    if (s->is[SCALE] != SCALE_NONE) {
        t.scale[t.count] = true;
        t.type[t.count++] = type;
    }
    if (goes_down_after(s)) {
        t.type[t.count++] = raw_type(s);
    }
    const bool lies = s->is[SCALE] != SCALE_UNKNOWN && s->is[SCALE] != SCALE_ITSELF &&
                      (s->is[SHAPE] != SHAPE_ANY || s->is[SCALE] == SCALE_SCALAR);
    while (!is_product_used(s) && t.coverable < t.count && (!t.scale[t.coverable] || lies)) {
        t.coverable++;
    }
    return t;
}

/* ORT's WebGPU kernel takes a scale of exactly a row. */
static bool is_row(const sample *s, bool scaled)
{
    const bool two = s->is[AXIS] == AXES_TWO || s->is[AXIS] == AXES_TWO_UP || s->is[AXIS] == AXES_TURNED;
    const bool known =
        s->is[SHAPE] == SHAPE_NUMBERS || (s->is[SHAPE] == SHAPE_NAMES && !two && s->is[AXIS] != AXES_ALL);
    const int scale = s->is[SCALE];
    if (!scaled) {
        return known;
    }
    return known && (s->is[AXIS] == AXES_ALL ? scale == SCALE_BSH
                     : two                   ? scale == SCALE_SH
                                             : scale == SCALE_H || scale == SCALE_1H || scale == SCALE_COMPUTED);
}

static bool takes(rmsnorm_target target, bool standard, rmsnorm_dtype t, rmsnorm_dtype v)
{
    const bool common = bits_of(t) != 8 && bits_of(t) != 53 && bits_of(v) != 8 && bits_of(v) != 53;
    switch (target) {
    case RMSNORM_TARGET_RMSNORM:
        return true;
    case RMSNORM_TARGET_ONNX:
        return standard;
    case RMSNORM_TARGET_ORT_CPU:
        return !standard && t == v && (bits_of(t) == 24 || bits_of(t) == 53);
    default:
        return !standard && t == v && common;
    }
}

/* The fewest nodes of a chain that one norm of an operator leaves, with `covered` of the tail; -1: it gives other bits, or the
 * target does not take it. */
static int leaves(const sample *s, const tail *t, size_t covered, bool standard, bool source, bool scale_cast)
{
    const rmsnorm_target target = (rmsnorm_target)s->is[TARGET];
    const rmsnorm_dtype wide = wide_type(s), x = source ? wide : raw_type(s);
    steps chain = {.count = 0}, norm = {.count = 0};
    bool scaled = false;
    rmsnorm_dtype result = product_type(s), v = RMSNORM_UNDEFINED;
    step(&chain, result);
    for (size_t i = 0; i < covered; i++) {
        if (t->scale[i]) {
            scaled = true;
            step(&chain, RMSNORM_UNDEFINED);
            v = cast_scale(s) && !scale_cast ? raw_type(s) : t->type[i];
        }
        result = t->type[i];
        step(&chain, result);
    }
    if (!scaled) {
        v = result;
    }
    const bool wide_arithmetic = standard ? wide == RMSNORM_DOUBLE : x == RMSNORM_DOUBLE || v == RMSNORM_DOUBLE;
    const rmsnorm_dtype arithmetic = wide_arithmetic ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    step(&norm, arithmetic);
    step(&norm, standard ? x : arithmetic);
    if (scaled) {
        step(&norm, RMSNORM_UNDEFINED);
        if (!standard || bits_of(x) + bits_of(v) > bits_of(arithmetic)) { /* else the product is exact there */
            step(&norm, arithmetic);
        }
    }
    step(&norm, v);
    const bool same = result == v && chain.count == norm.count &&
                      memcmp(chain.types, norm.types, chain.count * sizeof chain.types[0]) == 0;
    if (!same || !takes(target, standard, x, v) || (target == RMSNORM_TARGET_ORT_WEBGPU && !is_row(s, scaled))) {
        return -1;
    }
    return (source && is_cast(s)) + (scaled && cast_scale(s) && scale_cast) + (int)(t->count - covered);
}

/* Over all ways, or -1. */
static int fewest_left(const sample *s)
{
    const tail t = tail_of(s);
    int fewest = -1;
    for (size_t covered = 0; covered <= t.coverable; covered++) {
        for (int way = 0; way < 8; way++) {
            const int left = leaves(s, &t, covered, (way & 1) != 0, (way & 2) != 0, (way & 4) != 0);
            fewest = left >= 0 && (fewest < 0 || left < fewest) ? left : fewest;
        }
    }
    return fewest;
}

/* ---- The check ------------------------------------------------------------------------------- */

typedef struct tally {
    size_t fused, relaxed, refused, unable;
} tally;

static void fail_sample(const sample *s, build *b, const char *sentence, const char *reason)
{
    fail_msg("%s: %s (%s): %s", s->text, sentence, reason, build_nodes(b, 0));
}

/* left: what fewest_left says; -1 also where nothing may be fused. */
static void check_left_alone(const sample *s, build *b, const rmsnorm_finding *found, const char *before, int left)
{
    const bool allowed = is_rounded_between(s) && s->is[RELAX] != 0 && !is_refused(s);
    if (strcmp(before, build_nodes(b, 0)) != 0 || found->reason[0] == '\0' || found->made_count != 0) {
        fail_sample(s, b, "left alone, but changed or without a reason", found->reason);
    }
    if (left >= 0 && !is_rounded_between(s)) {
        fail_sample(s, b, "left alone, but legal", found->reason);
    }
    if (allowed && s->is[TARGET] == RMSNORM_TARGET_RMSNORM) {
        fail_sample(s, b, "left alone, but allowed in relaxed mode", found->reason);
    }
}

static void check_fused(const sample *s, build *b, const rmsnorm_finding *found, const char *before, int left)
{
    const bool rounding = is_rounded_between(s);
    if (is_refused(s) || (rounding && s->is[RELAX] == 0) || (!rounding && left < 0)) {
        fail_sample(s, b, "fused, but not legal", before);
    }
    if ((found->reason[0] != '\0') != rounding || found->made_count != 1) {
        fail_sample(s, b, "fused, with a reason or without one", found->reason);
    }
    rewritten_check_graph(b, (rmsnorm_target)s->is[TARGET], s->text);
    const bool narrowed =
        s->is[CAST] == CASTS_SCALE_DOWN && is_cast(s) && s->is[SCALE] != SCALE_NONE && s->is[SCALE] != SCALE_ITSELF;
    const size_t kept = (size_t)(is_cast(s) && s->is[USE] == USE_CAST) + (size_t)narrowed;
    const size_t rest = rewritten_count(b, "Cast") + rewritten_count(b, "Mul");
    const bool scale_left = cast_scale(s) && rest > 0; /* its own cast stays with its Mul */
    if (!rounding && (rest < (size_t)left || rest > (size_t)left + kept + (size_t)scale_left)) {
        fail_sample(s, b, "fused, but not as far as it goes", before);
    }
}

static const rmsnorm_finding *fuse_sample(const sample *s, build *b, const char *before)
{
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.target = (rmsnorm_target)s->is[TARGET];
    options.relaxed = s->is[RELAX] != 0;
    if (rmsnorm_ir_fuse(b->ir, &options) != RMSNORM_OK) {
        fail_sample(s, b, "fusing failed", rmsnorm_last_error());
    }
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    if (count != 1 || found->kind != RMSNORM_FOUND_CHAIN) {
        fail_sample(s, b, "not one finding", "");
    }
    const int64_t opset = rmsnorm_ir_opset(b->ir, "");
    if (opset != opsets[s->is[OPSET]] && (rewritten_count(b, "RMSNormalization") == 0 || opset != 23)) {
        fail_sample(s, b, "raised for nothing", before);
    }
    return found;
}

static void name_sample(sample *s)
{
    int length = 0;
    for (int i = 0; i < CHOICES; i++) {
        length += snprintf(s->text + length, sizeof s->text - (size_t)length, "%s%d", i > 0 ? " " : "", s->is[i]);
    }
}

/* How far the result is from what it would be without any rounding, in ulps, the worst elements cut. */
static double error_of(const rmsnorm_tensor *y, const rmsnorm_tensor *truth)
{
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)rmsnorm_tensor_count(y); i++) {
        sum += fmin(evaluate_distance(y->dtype, evaluate_element(y, i), evaluate_element(truth, i)), 1000.0);
    }
    return sum / (double)rmsnorm_tensor_count(y);
}

/* What relaxed mode changes is for the better: seen over rows whose squares fit float16. */
static void check_relaxed(sample *s)
{
    static const char *const dims[SHAPES] = {"w=4", "B=4,S=2,w=4", "B=4,S=2,H=4,w=4", "x=4x2x4,w=4"};
    build *const b = build_sample(s);
    double was = 0.0, is = 0.0;
    rewritten_infer(b);
    rewritten runs[8] = {{.seed = 0}};
    evaluation *truths[8];
    for (unsigned i = 0; i < 8; i++) {
        runs[i] = (rewritten){.b = b, .seed = i, .coarse = true, .what = s->text};
        rewritten_before(&runs[i], dims[s->is[SHAPE]]);
        truths[i] = evaluate_begin_exact(b->ir);
        for (size_t k = 0; k < runs[i].given_count; k++) {
            evaluate_give(truths[i], runs[i].given[k], evaluate_value(runs[i].before, runs[i].given[k]));
        }
        evaluate_run(truths[i]);
    }
    const size_t y = build_find(b, "y");
    (void)fuse_sample(s, b, "");
    for (unsigned i = 0; i < 8; i++) {
        evaluation *const after = evaluate_begin(b->ir);
        for (size_t k = 0; k < runs[i].given_count; k++) {
            evaluate_give(after, runs[i].given[k], evaluate_value(runs[i].before, runs[i].given[k]));
        }
        evaluate_run(after);
        was += error_of(evaluate_value(runs[i].before, y), evaluate_value(truths[i], y));
        is += error_of(evaluate_value(after, y), evaluate_value(truths[i], y));
        evaluate_end(after);
        evaluate_end(truths[i]);
        rewritten_end(&runs[i]);
    }
    /* Where the statistics are cast to a wider type, both have the same number of roundings: of the root, or of its inverse. The
     * mean of so few is this uncertain. */
    if (is > 1.15 * was) {
        print_message("%g ulps were %g\n", is / 8.0, was / 8.0);
        fail_sample(s, b, "further from the truth", "");
    }
    build_end(b);
}

enum { RUNS = 4 };

static void check_sample(sample *s, tally *counts)
{
    static const char *const dims[SHAPES] = {"w=4", "B=4,S=2,w=4", "B=4,S=2,H=4,w=4", "x=4x2x4,w=4"};
    name_sample(s);
    build *const b = build_sample(s);
    rewritten runs[RUNS] = {{.seed = 0}};
    const bool refused = is_refused(s), rounding = is_rounded_between(s);
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const char *const before = build_nodes(b, 0);
    for (unsigned i = 0; i < RUNS && !refused && !rounding; i++) {
        runs[i] = (rewritten){.b = b, .seed = i * 3 + 1, .specials = i % 2 == 1, .what = s->text};
        rewritten_before(&runs[i], dims[s->is[SHAPE]]);
    }
    const rmsnorm_finding *const found = fuse_sample(s, b, before);
    const int left = refused || (rounding && s->is[RELAX] == 0) ? -1 : fewest_left(s);
    (found->done ? check_fused : check_left_alone)(s, b, found, before, left);
    counts->fused += found->done && !rounding;
    counts->relaxed += found->done && rounding;
    const bool relaxed = found->done && rounding;
    counts->refused += !found->done && refused;
    counts->unable += !found->done && !refused;
    for (unsigned i = 0; i < RUNS && !refused && !rounding; i++) {
        rewritten_after(&runs[i]);
        rewritten_end(&runs[i]);
    }
    build_end(b);
    if (relaxed) {
        check_relaxed(s);
    }
}

/* ---- The matrix ------------------------------------------------------------------------------ */

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* The first choice half of the time, else a harmless one. */
static sample drawn(uint32_t *state)
{
    sample s = {.text = ""};
    for (int i = 0; i < CHOICES; i++) {
        s.is[i] = draw(state, 2) == 0 ? 0 : (int)draw(state, (uint32_t)harmless[i]);
    }
    s.is[OPSET] = (int)draw(state, OPSETS);
    return s;
}

static void every_pair_of_choices(void **state)
{
    (void)state;
    uint32_t random = 1;
    tally counts = {0};
    for (int a = 0; a < CHOICES; a++) {
        for (int c = a + 1; c < CHOICES; c++) {
            for (int i = 0; i < choices[a] * choices[c]; i++) {
                sample s = drawn(&random);
                s.is[a] = i / choices[c];
                s.is[c] = i % choices[c];
                check_sample(&s, &counts);
            }
        }
    }
    print_message("%zu fused, %zu in relaxed mode, %zu refused, %zu no operator for\n", counts.fused, counts.relaxed,
                  counts.refused, counts.unable);
    assert_true(counts.fused > 500 && counts.relaxed > 20 && counts.refused > 500 && counts.unable > 100);
}

/* What decides the rounding, in full. */
static void every_rounding(void **state)
{
    (void)state;
    uint32_t random = 2;
    tally counts = {0};
    for (int i = 0; i < CASTS * TYPES * SCALES * TARGETS * 2; i += ONE_IN) {
        sample s = drawn(&random);
        s.is[CAST] = i % CASTS;
        s.is[TYPE] = i / CASTS % TYPES;
        s.is[SCALE] = i / (CASTS * TYPES) % SCALES;
        s.is[TARGET] = i / (CASTS * TYPES * SCALES) % TARGETS;
        s.is[USE] = USE_NONE;
        s.is[RELAX] = i / (CASTS * TYPES * SCALES * TARGETS);
        check_sample(&s, &counts);
    }
    assert_true(counts.fused > 500 / ONE_IN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_choices),
        cmocka_unit_test(every_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
