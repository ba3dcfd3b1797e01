/* The kinds of cases, each a way to draw a call. Whatever a family does not fix is drawn at random: where the buffers
 * lie, the rank, which optional outputs are wanted, the runner. */
#include <math.h>

#include "case.h"

static bool is_skip(const check_case *c)
{
    return c->types->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
}

/* ---- What every family starts from ---- */

static placement draw_placement(rng *r, size_t element)
{
    const size_t gaps[] = {0, 0, 0, 1, element, 3 * element, 5 * element + 1, 64 - element};
    const bool at_end = rng_chance(r, 2);
    return (placement){at_end, gaps[rng_between(r, 0, 7)]};
}

static float draw_epsilon(rng *r)
{
    static const float list[] = {1e-5F, 0.0F, 1e-12F, 1e-6F, 1e-3F, 12.0F};
    return list[rng_between(r, 0, 5)];
}

static void draw_outputs(check_case *c, rng *r)
{
    c->present[SLOT_INPUT] = c->present[SLOT_SCALE] = c->present[SLOT_OUTPUT] = true;
    c->present[SLOT_SKIP] = is_skip(c);
    c->present[SLOT_BIAS] = is_skip(c) && rng_chance(r, 2);
    c->present[SLOT_MEAN] = is_skip(c) && rng_chance(r, 2);
    c->present[SLOT_SUM] = is_skip(c) && rng_chance(r, 2);
    c->present[SLOT_INVERSE] = c->types->kind != RMSNORM_RMS_NORMALIZATION && rng_chance(r, 2);
}

/* Splits a count into two factors. */
static int64_t draw_factor(rng *r, int64_t count)
{
    for (int attempt = 0; attempt < 8 && count > 1; attempt++) {
        const int64_t factor = rng_between(r, 1, count < 64 ? count : 64);
        if (count % factor == 0) {
            return factor;
        }
    }
    return count == 0 ? rng_between(r, 0, 3) : 1;
}

static void put_dims(check_case *c, int from, int count, int64_t total, rng *r)
{
    for (int i = 0; i < count; i++) {
        const int64_t dim = i == count - 1 ? total : draw_factor(r, total);
        c->dims[from + i] = dim;
        total = dim == 0 ? (i == count - 2 ? 3 : total) : total / dim;
    }
}

static void draw_skip_shape(check_case *c, rng *r)
{
    const int64_t pick = c->rank == 2 ? 0 : rng_between(r, 0, 2);
    c->skip_rank = pick == 1 ? 2 : c->rank;
    for (int i = 0; i < c->skip_rank; i++) {
        c->skip_dims[i] = c->dims[c->rank - c->skip_rank + i];
    }
    if (pick == 2) {
        c->skip_dims[0] = 1;
    }
}

static void draw_shape(check_case *c, rng *r, int64_t rows, int64_t width)
{
    const int leading = is_skip(c)  ? (int)rng_between(r, 1, 2)
                        : rows == 1 ? (int)rng_between(r, 0, 2)
                                    : (int)rng_between(r, 1, 3);
    const int trailing = is_skip(c) || rng_chance(r, 2) ? 1 : 2;
    c->rank = leading + trailing;
    put_dims(c, 0, leading, rows, r);
    put_dims(c, leading, trailing, width, r);
    c->axis = is_skip(c) ? c->rank - 1 : rng_chance(r, 2) ? leading : leading - c->rank;
    if (is_skip(c)) {
        draw_skip_shape(c, r);
    }
    c->scale_rank = trailing;
    for (int i = 0; i < trailing; i++) {
        c->scale_dims[i] = c->dims[leading + i];
    }
}

/* Any shape that broadcasts: the last `rank` dims, each kept or 1. */
static void draw_scale_shape(check_case *c, rng *r)
{
    c->scale_rank = (int)rng_between(r, 0, c->rank);
    for (int i = 0; i < c->scale_rank; i++) {
        c->scale_dims[i] = rng_chance(r, 2) ? 1 : c->dims[c->rank - c->scale_rank + i];
    }
}

check_case case_draw(const combination *types, const family *kind, int index, uint64_t seed)
{
    check_case c = {.types = types, .family = kind->name, .index = index, .seed = seed};
    rng r = rng_seeded(seed);
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        c.alias[s] = SLOT_NONE;
        c.place[s] = draw_placement(&r, rmsnorm_dtype_size(case_dtype(&c, s)));
    }
    draw_outputs(&c, &r);
    c.epsilon = draw_epsilon(&r);
    c.gamma = rng_chance(&r, 3) ? GAMMA_WIDE : rng_chance(&r, 4) ? GAMMA_ONES : GAMMA_NORMAL;
    c.tasks = rng_chance(&r, 2) ? 0 : (size_t)rng_between(&r, 1, 8);
    c.read_soon = rng_chance(&r, 2);
    kind->draw(&c, &r);
    return c;
}

/* ---- Families ---- */

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof((list)[0])))

static int64_t draw_rows(rng *r, int64_t width)
{
    const int64_t most = width < 1200 ? 17 : width < 10000 ? 3 : 2;
    return rng_chance(r, 32) ? 0 : rng_between(r, 1, most);
}

/* 1 to 70, every power of two of interest with its neighbours, and hidden sizes of real models. */
static void draw_widths(check_case *c, rng *r)
{
    static const int64_t more[] = {127,  128,  129,  255,  256,  257,  511,  512,   513,   1023,  1024, 1025,
                                   2047, 2048, 2049, 3584, 4095, 4096, 4097, 16383, 16384, 16385, 40000};
    const int place = c->index % (70 + COUNT_OF(more));
    const int64_t width = place < 70 ? place + 1 : more[place - 70];
    draw_shape(c, r, draw_rows(r, width), width);
}

static int64_t draw_width(rng *r)
{
    static const int64_t edges[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 512, 1024, 1025, 3584};
    return rng_chance(r, 2) ? rng_between(r, 1, 300) : edges[rng_between(r, 0, COUNT_OF(edges) - 1)];
}

static void draw_values(check_case *c, rng *r)
{
    const int64_t width = draw_width(r);
    c->values = (value_class)(c->index % VALUES_CLASSES);
    c->gamma = (gamma_class)rng_between(r, 0, c->values == VALUES_SPECIAL ? GAMMA_CLASSES - 1 : GAMMA_CLASSES - 2);
    draw_shape(c, r, draw_rows(r, width), width);
    if (c->values == VALUES_OUTLIERS) {
        const int64_t rows = rng_between(r, 1, 3);
        draw_shape(c, r, rows, rng_between(r, 512, 4096));
    } else if (c->values == VALUES_TIES) {
        /* A power of two, so that the mean and 1 - mean are exact: a hair beside the midpoint no float could see it. */
        const int64_t rows = rng_between(r, 1, 9);
        draw_shape(c, r, rows, INT64_C(1) << rng_between(r, 0, 11));
    }
    const bool sensitive = c->values == VALUES_CONSTANT || c->values == VALUES_SUBNORMAL || c->values == VALUES_BITS;
    if (sensitive && rng_chance(r, 2)) {
        c->epsilon = 0;
    }
}

/* The shapes that contract.md lists for X of (B,S,H), with either of the last two axes, then any other. */
static void draw_scales(check_case *c, rng *r)
{
    const int64_t b = rng_between(r, 1, 4);
    const int64_t s = rng_between(r, 1, 5);
    const int64_t h = rng_between(r, 1, 70);
    if (is_skip(c) || c->index % 20 >= 16) {
        draw_shape(c, r, b * s, h);
        if (!is_skip(c)) {
            draw_scale_shape(c, r);
        }
        return;
    }
    const struct {
        int rank;
        int64_t dims[3];
    } listed[] = {{0, {0}}, {1, {1}}, {1, {h}}, {2, {1, h}}, {2, {s, 1}}, {2, {s, h}}, {3, {b, 1, h}}, {3, {b, s, h}}};
    const int64_t dims[] = {b, s, h};
    c->rank = 3;
    c->axis = (int64_t[]){2, -1, 1, -2}[rng_between(r, 0, 3)];
    c->scale_rank = listed[c->index % 8].rank;
    for (int i = 0; i < 3; i++) {
        c->dims[i] = dims[i];
        c->scale_dims[i] = listed[c->index % 8].dims[i];
    }
}

/* Every axis of every rank from 1 to 5, counted from the front and from the back. */
static void draw_axes(check_case *c, rng *r)
{
    if (is_skip(c)) {
        const int64_t rows = rng_between(r, 0, 17);
        draw_shape(c, r, rows, draw_width(r));
        return;
    }
    c->rank = 1;
    int axis = c->index % 15;
    while (axis >= c->rank) {
        axis -= c->rank;
        c->rank++;
    }
    c->axis = c->index % 30 < 15 ? axis : axis - c->rank;
    for (int i = 0; i < c->rank; i++) {
        c->dims[i] = rng_between(r, i < axis ? 0 : 1, 6);
    }
    draw_scale_shape(c, r);
}

static void draw_strides(check_case *c, rng *r)
{
    const int64_t width = draw_width(r);
    draw_shape(c, r, draw_rows(r, width), width);
    static const slot strided[] = {SLOT_INPUT, SLOT_SKIP, SLOT_OUTPUT, SLOT_SUM};
    for (int i = 0; i < COUNT_OF(strided); i++) {
        const int64_t more = rng_chance(r, 2) ? rng_between(r, 0, 5) : rng_between(r, 0, 2) * width;
        c->stride[strided[i]] = c->present[strided[i]] && !rng_chance(r, 4) ? width + more : 0;
    }
}

/* Is the output of the input's type and shape? */
static bool may_share(const check_case *c, slot output, slot input)
{
    if (!c->present[output] || !c->present[input] || case_dtype(c, output) != case_dtype(c, input)) {
        return false;
    }
    const rmsnorm_tensor a = case_tensor(c, output);
    const rmsnorm_tensor b = case_tensor(c, input);
    bool equal = a.rank == b.rank;
    for (int i = 0; equal && i < a.rank; i++) {
        equal = a.dims[i] == b.dims[i];
    }
    return equal;
}

/* Memory that is shared is walked alike. */
static void stride_shared(check_case *c, int64_t stride)
{
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        const bool strided = s == SLOT_SKIP || s == SLOT_OUTPUT || s == SLOT_SUM;
        if (strided && (c->alias[s] == SLOT_INPUT || c->alias[s] == SLOT_SKIP)) {
            c->stride[s] = c->stride[c->alias[s]] = stride;
        }
    }
}

static void draw_aliases(check_case *c, rng *r)
{
    const int64_t width = rng_chance(r, 4) ? 1 : draw_width(r);
    draw_shape(c, r, rng_between(r, 1, 9), width);
    c->present[SLOT_SUM] = is_skip(c);
    if (!is_skip(c) && rng_chance(r, 2)) {
        c->scale_rank = c->rank;
        for (int i = 0; i < c->rank; i++) {
            c->scale_dims[i] = c->dims[i];
        }
    }
    if (may_share(c, SLOT_SKIP, SLOT_INPUT) && rng_chance(r, 4)) {
        c->alias[SLOT_SKIP] = SLOT_INPUT;
    }
    bool taken[SLOT_COUNT] = {false};
    for (slot output = SLOT_COUNT - 1; output >= SLOT_FIRST_OUTPUT; output--) {
        const slot drawn = (slot)rng_between(r, SLOT_INPUT, SLOT_SCALE);
        const slot input = c->alias[drawn] != SLOT_NONE ? c->alias[drawn] : drawn;
        if (may_share(c, output, input) && !taken[input]) {
            c->alias[output] = input;
            taken[input] = true;
        }
    }
    /* Statistics lie without gaps, and so does what one of them shares. */
    const bool gaps = c->alias[SLOT_MEAN] == SLOT_NONE && c->alias[SLOT_INVERSE] == SLOT_NONE && rng_chance(r, 3);
    stride_shared(c, gaps ? width + rng_between(r, 0, 9) : 0);
}

/* Any IEEE epsilon for operators 1 and 3; operator 2 takes finite ones from 0. */
static void draw_epsilons(check_case *c, rng *r)
{
    static const float any[] = {0.0F,     -0.0F, 1e-45F,    1e-12F, 1e-6F,  1.0F,  3e38F,
                                INFINITY, NAN,   -INFINITY, -1e-3F, -1e-8F, -1.0F, -3e38F};
    static const float skip[] = {0.0F, -0.0F, 1e-45F, 1e-30F, 1e-12F, 1e-5F, 1.0F, 3e38F};
    const int64_t width = draw_width(r);
    draw_shape(c, r, draw_rows(r, width), width);
    c->epsilon = is_skip(c) ? skip[c->index % COUNT_OF(skip)] : any[c->index % COUNT_OF(any)];
    c->values = rng_chance(r, 3) ? VALUES_ZERO_ROWS : VALUES_NORMAL;
}

static void draw_long_rows(check_case *c, rng *r)
{
    static const int64_t widths[] = {65535, 65537, 131072, 100003, 262145};
    const int64_t longest = c->index == 63 ? INT64_C(1) << 24 : INT64_C(1) << 20; /* the first only with --long */
    const int64_t width = c->index == 63 || rng_chance(r, 12) ? longest : widths[rng_between(r, 0, 4)];
    draw_shape(c, r, width > 200000 ? 1 : rng_between(r, 1, 2), width);
    c->values = rng_chance(r, 4) ? VALUES_OUTLIERS : VALUES_NORMAL;
}

/* Enough of them for several tasks, whose numbers of rows are then uneven. */
static void draw_many_rows(check_case *c, rng *r)
{
    const bool tasks = c->index % 4 == 3;
    const int64_t rows = c->index % 8 == 7 ? 100003 : rng_between(r, 18, 3000);
    draw_shape(c, r, rows, rows > 3000 ? rng_between(r, 1, 3) : tasks ? 120000 / rows + 1 : rng_between(r, 1, 20));
    c->tasks = tasks ? (size_t)rng_between(r, 2, 3) : c->tasks;
    if (!is_skip(c) && rng_chance(r, 2)) {
        draw_scale_shape(c, r);
    }
}

/* More than a cache is expected to keep, in rows of whole cache lines: what kernels may write past it. Or just not. */
static void draw_large_outputs(check_case *c, rng *r)
{
    const bool may = c->types->t == c->types->v && c->types->stash == RMSNORM_FLOAT && c->types->t != RMSNORM_DOUBLE;
    const bool whole_lines = c->index % 2 == 0;
    const int64_t size = (int64_t)rmsnorm_dtype_size(c->types->t);
    const int64_t width = 64 / size * rng_between(r, 20, 300) + (whole_lines ? 0 : rng_between(r, 1, 5));
    const int64_t buffers = 2 + (is_skip(c) ? 1 : 0) + (c->present[SLOT_SUM] ? 1 : 0);
    draw_shape(c, r, may ? (INT64_C(17) << 20) / (width * size * buffers) + 1 : 3, width);
    if (whole_lines) {
        c->place[SLOT_OUTPUT] = c->place[SLOT_SUM] = (placement){false, 0};
    }
}

const family families[] = {
    {"widths", 93, 372, draw_widths},
    {"values", 66, 1100, draw_values},
    {"scales", 40, 400, draw_scales},
    {"axes", 30, 300, draw_axes},
    {"strides", 20, 200, draw_strides},
    {"aliases", 40, 400, draw_aliases},
    {"epsilons", 28, 140, draw_epsilons},
    {"long rows", 1, 64, draw_long_rows},
    {"large outputs", 2, 8, draw_large_outputs},
    {"many rows", 4, 16, draw_many_rows},
};
const size_t family_count = sizeof(families) / sizeof(families[0]);
