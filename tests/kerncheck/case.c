#include "case.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *slot_name(slot s, rmsnorm_operator_kind kind)
{
    const bool skip = kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    switch (s) {
    case SLOT_INPUT:
        return skip ? "input" : "X";
    case SLOT_SKIP:
        return "skip";
    case SLOT_BIAS:
        return "bias";
    case SLOT_SCALE:
        return skip ? "gamma" : "scale";
    case SLOT_OUTPUT:
        return skip ? "output" : "Y";
    case SLOT_MEAN:
        return "mean";
    case SLOT_INVERSE:
        return "inv_std_var";
    case SLOT_SUM:
        return "input_skip_bias_sum";
    default:
        return "none";
    }
}

/* ---- Combinations ---- */

static void add_combination(combination *c, rmsnorm_operator_kind kind, rmsnorm_dtype t, rmsnorm_dtype v,
                            rmsnorm_dtype stash)
{
    static const char *const short_names[] = {"SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization",
                                              "RMSNormalization"};
    *c = (combination){.kind = kind, .t = t, .v = v, .stash = stash};
    const bool skip = kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    (void)snprintf(c->name, sizeof(c->name), "%s %s%s%s%s", short_names[kind], rmsnorm_dtype_name(t), skip ? "" : "*",
                   skip ? "" : rmsnorm_dtype_name(v), stash == RMSNORM_DOUBLE ? " stash 11" : "");
}

int combinations_list(combination list[MAX_COMBINATIONS])
{
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
    static const rmsnorm_operator_kind kinds[] = {RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, RMSNORM_RMS_NORMALIZATION};
    int count = 0;
    for (size_t t = 0; t < 3; t++) {
        add_combination(&list[count++], RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, dtypes[t], dtypes[t],
                        RMSNORM_FLOAT);
    }
    for (size_t i = 0; i < (size_t)2 * 4 * 4 * 2; i++) {
        add_combination(&list[count++], kinds[i / 32], dtypes[i / 8 % 4], dtypes[i / 2 % 4],
                        i % 2 == 0 ? RMSNORM_FLOAT : RMSNORM_DOUBLE);
    }
    return count;
}

/* ---- Shapes ---- */

int case_first_normalized(const check_case *c)
{
    return (int)(c->axis < 0 ? c->axis + c->rank : c->axis);
}

static int64_t product(const int64_t *dims, int from, int to)
{
    int64_t count = 1;
    for (int i = from; i < to; i++) {
        count *= dims[i];
    }
    return count;
}

int64_t case_rows(const check_case *c)
{
    return product(c->dims, 0, case_first_normalized(c));
}

int64_t case_width(const check_case *c)
{
    return product(c->dims, case_first_normalized(c), c->rank);
}

rmsnorm_dtype case_dtype(const check_case *c, slot s)
{
    if (s == SLOT_SCALE || s == SLOT_OUTPUT) {
        return c->types->v;
    }
    if (s == SLOT_MEAN) {
        return RMSNORM_FLOAT;
    }
    return s == SLOT_INVERSE ? c->types->stash : c->types->t;
}

rmsnorm_tensor case_tensor(const check_case *c, slot s)
{
    rmsnorm_tensor tensor = {.dtype = case_dtype(c, s), .rank = c->rank, .row_stride = c->stride[s]};
    const int64_t *dims = c->dims;
    if (s == SLOT_SCALE) {
        tensor.rank = c->scale_rank;
        dims = c->scale_dims;
    } else if (s == SLOT_SKIP) {
        tensor.rank = c->skip_rank;
        dims = c->skip_dims;
    } else if (s == SLOT_BIAS) {
        tensor.rank = 1;
        dims = &c->dims[c->rank - 1];
    }
    memcpy(tensor.dims, dims, (size_t)tensor.rank * sizeof(*dims));
    if (s == SLOT_MEAN || s == SLOT_INVERSE) {
        for (int i = case_first_normalized(c); i < c->rank; i++) {
            tensor.dims[i] = 1;
        }
    }
    return tensor;
}

size_t case_extent(const check_case *c, slot s)
{
    const rmsnorm_tensor tensor = case_tensor(c, s);
    const int64_t count = product(tensor.dims, 0, tensor.rank);
    const size_t size = rmsnorm_dtype_size(tensor.dtype);
    if (c->stride[s] == 0 || count == 0) {
        return (size_t)count * size;
    }
    const int64_t width = case_width(c);
    return (size_t)((count / width - 1) * c->stride[s] + width) * size;
}

/* ---- Words ---- */

typedef struct words {
    char *text;
    size_t size, used;
} words;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(words *w, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    const int length = vsnprintf(w->text + w->used, w->size - w->used, text, arguments);
    va_end(arguments);
    w->used += length < 0 ? 0 : (size_t)length;
    w->used = w->used < w->size ? w->used : w->size - 1;
}

static void add_slot(words *w, const check_case *c, slot s)
{
    const rmsnorm_tensor tensor = case_tensor(c, s);
    add(w, " %s[", slot_name(s, c->types->kind));
    for (int i = 0; i < tensor.rank; i++) {
        add(w, "%s%lld", i > 0 ? "," : "", (long long)tensor.dims[i]);
    }
    add(w, "]");
    if (c->stride[s] != 0) {
        add(w, " row stride %lld", (long long)c->stride[s]);
    }
    if (c->alias[s] != SLOT_NONE) {
        add(w, " in place of %s", slot_name(c->alias[s], c->types->kind));
    } else {
        add(w, " %zu bytes %s a page's %s", c->place[s].gap, c->place[s].at_end ? "before" : "after",
            c->place[s].at_end ? "end" : "start");
    }
}

void case_describe(const check_case *c, char *text, size_t size)
{
    words w = {.size = size};
    w.text = text;
    add(&w, "%s, %s %d (case seed %llu):", c->types->name, c->family, c->index, (unsigned long long)c->seed);
    if (c->types->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        add(&w, " axis %lld", (long long)c->axis);
    }
    add(&w, " epsilon %.9g, values %s, gamma %s, tasks %zu%s;", (double)c->epsilon, value_class_name(c->values),
        gamma_class_name(c->gamma), c->tasks, c->read_soon ? ", outputs read soon" : "");
    for (slot s = SLOT_INPUT; s < SLOT_COUNT; s++) {
        if (c->present[s]) {
            add_slot(&w, c, s);
        }
    }
}
