#include "decoder/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The decoder that is being written. */
typedef struct decoder {
    const decoder_options *options;
    onnx_file *file;
    decoder_counts counts;
    int numbered; /* weights so far that have a number for a name */
} decoder;

/* ---- Values and nodes ------------------------------------------------------------------------ */

static onnx_value hidden_state(const decoder *d, int64_t width)
{
    return (onnx_value){.dtype = (int32_t)d->options->dtype, .rank = 3, .dims = {ONNX_BATCH, ONNX_SEQUENCE, width}};
}

static onnx_value of_type(onnx_value value, rmsnorm_dtype dtype)
{
    value.dtype = (int32_t)dtype;
    return value;
}

/* An operator whose result is like its first input. */
static onnx_value apply(const decoder *d, const char *kind, onnx_value x)
{
    onnx_value y;
    onnx_file_node(d->file, kind, &x, NULL, &x, &y);
    return y;
}

/* The same of two inputs; the result is like the one of higher rank. */
static onnx_value combine(const decoder *d, const char *kind, onnx_value a, onnx_value b)
{
    onnx_value y;
    onnx_file_node(d->file, kind, &a, &b, a.rank >= b.rank ? &a : &b, &y);
    return y;
}

static onnx_value cast(const decoder *d, onnx_value x, rmsnorm_dtype dtype)
{
    const onnx_value type = of_type(x, dtype);
    onnx_value y;
    if (x.dtype == (int32_t)dtype) {
        return x;
    }
    onnx_node_int(d->file, onnx_file_node(d->file, "Cast", &x, NULL, &type, &y), "to", (int64_t)dtype);
    return y;
}

static onnx_value scalar(const decoder *d, rmsnorm_dtype dtype, double value)
{
    return onnx_file_scalar(d->file, (int32_t)dtype, value);
}

static onnx_value vector(decoder *d, const char *name, int64_t length, double centre, double spread)
{
    const onnx_value type = {.dtype = (int32_t)d->options->dtype, .rank = 1, .dims = {length}};
    return onnx_file_weight(d->file, name, &type, centre, spread);
}

/* x times a matrix that keeps the variance. */
static onnx_value linear(decoder *d, const char *scope, onnx_value x, int64_t width)
{
    const int64_t depth = x.dims[x.rank - 1];
    const onnx_value type = {.dtype = x.dtype, .rank = 2, .dims = {depth, width}};
    const onnx_value result = hidden_state(d, width);
    char name[64];
    onnx_value y;
    snprintf(name, sizeof name, "onnx::MatMul_%d", 1000 + d->numbered++);
    const onnx_value matrix = onnx_file_weight(d->file, name, &type, 0.0, sqrt(3.0 / (double)depth));
    onnx_file_scope(d->file, "%s", scope);
    onnx_file_node(d->file, "MatMul", &x, &matrix, &result, &y);
    return y;
}

/* ---- Norms ----------------------------------------------------------------------------------- */

static onnx_value mean_of(decoder *d, onnx_value x)
{
    static const int64_t last = -1;
    onnx_value type = x;
    onnx_value mean;
    onnx_node *node;
    type.dims[type.rank - 1] = 1;
    const int64_t axis = d->options->file.opset < 11 ? (int64_t)x.rank - 1 : last;
    if (d->options->file.opset < 18) {
        node = onnx_file_node(d->file, "ReduceMean", &x, NULL, &type, &mean);
        onnx_node_ints(d->file, node, "axes", &axis, 1);
    } else {
        char name[64];
        snprintf(name, sizeof name, "onnx::ReduceMean_%d", 1000 + d->numbered++);
        const onnx_value axes = onnx_file_integers(d->file, name, &axis, 1);
        node = onnx_file_node(d->file, "ReduceMean", &x, &axes, &type, &mean);
    }
    onnx_node_int(d->file, node, "keepdims", 1);
    return mean;
}

/* x / sqrt(mean(x^2) + epsilon), in float. */
static onnx_value normalize(decoder *d, onnx_value x)
{
    const onnx_value square = combine(d, "Pow", x, scalar(d, RMSNORM_FLOAT, 2.0));
    const onnx_value sum = combine(d, "Add", mean_of(d, square), scalar(d, RMSNORM_FLOAT, 1e-6));
    const onnx_value root = apply(d, "Sqrt", sum);
    switch (d->options->root) {
    case DECODER_DIVIDE:
        return combine(d, "Div", x, root);
    case DECODER_INVERSE:
        return combine(d, "Mul", x, combine(d, "Div", scalar(d, RMSNORM_FLOAT, 1.0), root));
    default:
        return combine(d, "Mul", x, apply(d, "Reciprocal", root));
    }
}

/* The norm at "/model/PATH", whose weight is "model.PATH.weight". */
static onnx_value norm(decoder *d, const char *path, onnx_value x)
{
    const rmsnorm_dtype dtype = d->options->dtype;
    const bool gemma = d->options->style == DECODER_GEMMA;
    char name[160];
    snprintf(name, sizeof name, "model.%s.weight", path);
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '/' ? '.' : *c;
    }
    const onnx_value weight = vector(d, name, x.dims[x.rank - 1], gemma ? 0.0 : 1.0, 0.125);
    onnx_file_scope(d->file, "/model/%s", path);
    d->counts.norms++;
    *(dtype == RMSNORM_FLOAT ? &d->counts.float_norms
      : gemma                ? &d->counts.late_rounded
                             : &d->counts.early_rounded) += 1;
    const onnx_value scaled = normalize(d, cast(d, x, RMSNORM_FLOAT));
    if (gemma) {
        const onnx_value wide = cast(d, weight, RMSNORM_FLOAT);
        const onnx_value scale = combine(d, "Add", wide, scalar(d, RMSNORM_FLOAT, 1.0));
        return cast(d, combine(d, "Mul", scaled, scale), dtype);
    }
    return combine(d, "Mul", weight, cast(d, scaled, dtype));
}

/* ---- Layers ---------------------------------------------------------------------------------- */

static onnx_value transposed(const decoder *d, onnx_value x, const int64_t order[4])
{
    onnx_value type = x;
    onnx_value y;
    for (int i = 0; i < 4; i++) {
        type.dims[i] = x.dims[order[i]];
    }
    onnx_node_ints(d->file, onnx_file_node(d->file, "Transpose", &x, NULL, &type, &y), "perm", order, 4);
    return y;
}

static onnx_value reshaped(const decoder *d, onnx_value x, onnx_value shape, const onnx_value *type)
{
    onnx_value y;
    onnx_file_node(d->file, "Reshape", &x, &shape, type, &y);
    return y;
}

/* A product of the scores: (batch, heads, rows, columns). */
static onnx_value product(const decoder *d, onnx_value a, onnx_value b)
{
    onnx_value type = a;
    onnx_value y;
    type.dims[3] = b.dims[3];
    onnx_file_node(d->file, "MatMul", &a, &b, &type, &y);
    return y;
}

/* Queries, keys or values by heads: (batch, sequence, heads, head_dim). */
static onnx_value by_heads(decoder *d, const char *attention, const char *which, onnx_value x, bool with_norm)
{
    const decoder_options *const o = d->options;
    const onnx_value type = {.dtype = x.dtype, .rank = 4, .dims = {ONNX_BATCH, ONNX_SEQUENCE, o->heads, o->head_dim}};
    const int64_t shape[] = {0, 0, o->heads, o->head_dim};
    char text[160];
    snprintf(text, sizeof text, "/model/%s/%s_proj", attention, which);
    const onnx_value flat = linear(d, text, x, o->heads * o->head_dim);
    snprintf(text, sizeof text, "model.%s.%s_shape", attention, which);
    const onnx_value dims = onnx_file_integers(d->file, text, shape, 4);
    onnx_file_scope(d->file, "/model/%s", attention);
    const onnx_value split = reshaped(d, flat, dims, &type);
    if (!with_norm) {
        return split;
    }
    snprintf(text, sizeof text, "%s/%s_norm", attention, which);
    return norm(d, text, split);
}

static onnx_value attention(decoder *d, const char *path, onnx_value x)
{
    static const int64_t heads_first[4] = {0, 2, 1, 3};
    static const int64_t keys_last[4] = {0, 2, 3, 1};
    const decoder_options *const o = d->options;
    const bool norms = o->style == DECODER_QWEN || o->qk_norms;
    const int64_t shape[] = {0, 0, o->heads * o->head_dim};
    const onnx_value joined = hidden_state(d, o->heads * o->head_dim);
    char text[160];
    const onnx_value q = by_heads(d, path, "q", x, norms);
    const onnx_value k = by_heads(d, path, "k", x, norms);
    const onnx_value v = by_heads(d, path, "v", x, false);
    snprintf(text, sizeof text, "model.%s.o_shape", path);
    const onnx_value dims = onnx_file_integers(d->file, text, shape, 3);
    onnx_file_scope(d->file, "/model/%s", path);
    const onnx_value rows = transposed(d, q, heads_first);
    const onnx_value scores = product(d, rows, transposed(d, k, keys_last));
    const onnx_value scaled = combine(d, "Mul", scores, scalar(d, o->dtype, 1.0 / sqrt((double)o->head_dim)));
    onnx_value weights;
    onnx_node_int(d->file, onnx_file_node(d->file, "Softmax", &scaled, NULL, &scaled, &weights), "axis",
                  o->file.opset < 11 ? 3 : -1);
    const onnx_value mixed = product(d, weights, transposed(d, v, heads_first));
    const onnx_value flat = reshaped(d, transposed(d, mixed, heads_first), dims, &joined);
    snprintf(text, sizeof text, "/model/%s/o_proj", path);
    return linear(d, text, flat, o->hidden);
}

static onnx_value mlp(decoder *d, const char *path, onnx_value x)
{
    const decoder_options *const o = d->options;
    char text[160];
    snprintf(text, sizeof text, "/model/%s/gate_proj", path);
    const onnx_value gate = linear(d, text, x, o->intermediate);
    onnx_file_scope(d->file, "/model/%s/act_fn", path);
    const onnx_value active = combine(d, "Mul", gate, apply(d, "Sigmoid", gate));
    snprintf(text, sizeof text, "/model/%s/up_proj", path);
    const onnx_value up = linear(d, text, x, o->intermediate);
    onnx_file_scope(d->file, "/model/%s", path);
    const onnx_value gated = combine(d, "Mul", active, up);
    snprintf(text, sizeof text, "/model/%s/down_proj", path);
    return linear(d, text, gated, o->hidden);
}

/* What stands for attention or MLP in a skeleton. */
static onnx_value bone(decoder *d, const char *path, onnx_value x)
{
    char name[160];
    snprintf(name, sizeof name, "model.%s.vector", path);
    const onnx_value factors = vector(d, name, d->options->hidden, 0.0, 1.0);
    onnx_file_scope(d->file, "/model/%s", path);
    return combine(d, "Mul", x, factors);
}

/* residual + part(norm(residual)); gemma has a norm behind the part as well. */
static onnx_value branch(decoder *d, int64_t layer, const char *before, const char *part, const char *after,
                         onnx_value residual)
{
    const bool is_attention = strcmp(part, "self_attn") == 0;
    char path[96];
    snprintf(path, sizeof path, "layers.%d/%s", (int)layer, before);
    onnx_value x = norm(d, path, residual);
    snprintf(path, sizeof path, "layers.%d/%s", (int)layer, part);
    x = d->options->skeleton ? bone(d, path, x) : is_attention ? attention(d, path, x) : mlp(d, path, x);
    if (after != NULL) {
        snprintf(path, sizeof path, "layers.%d/%s", (int)layer, after);
        x = norm(d, path, x);
    }
    onnx_file_scope(d->file, "/model/layers.%d", (int)layer);
    d->counts.residuals++; /* every sum goes into the next norm */
    return combine(d, "Add", residual, x);
}

static onnx_value embeddings(decoder *d)
{
    const decoder_options *const o = d->options;
    const onnx_value type = hidden_state(d, o->hidden);
    onnx_value x;
    if (o->vocabulary == 0) {
        return onnx_file_input(d->file, "inputs_embeds", &type);
    }
    const onnx_value ids_type = {.dtype = ONNX_INT64, .rank = 2, .dims = {ONNX_BATCH, ONNX_SEQUENCE}};
    const onnx_value table_type = {.dtype = (int32_t)o->dtype, .rank = 2, .dims = {o->vocabulary, o->hidden}};
    const onnx_value ids = onnx_file_input(d->file, "input_ids", &ids_type);
    const onnx_value table = onnx_file_weight(d->file, "model.embed_tokens.weight", &table_type, 0.0, 0.5);
    onnx_file_scope(d->file, "/model/embed_tokens");
    onnx_node_int(d->file, onnx_file_node(d->file, "Gather", &table, &ids, &type, &x), "axis", 0);
    if (o->style == DECODER_GEMMA) {
        onnx_file_scope(d->file, "/model");
        x = combine(d, "Mul", x, scalar(d, o->dtype, sqrt((double)o->hidden)));
    }
    return x;
}

bool decoder_write(const decoder_options *options, const char *path, decoder_counts *counts, char why[256])
{
    decoder d = {.options = options, .file = onnx_file_begin(&options->file)};
    const bool gemma = options->style == DECODER_GEMMA;
    if (d.file == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    onnx_value x = embeddings(&d);
    for (int64_t layer = 0; layer < options->layers; layer++) {
        x = branch(&d, layer, "input_layernorm", "self_attn", gemma ? "post_attention_layernorm" : NULL, x);
        x = branch(&d, layer, gemma ? "pre_feedforward_layernorm" : "post_attention_layernorm", "mlp",
                   gemma ? "post_feedforward_layernorm" : NULL, x);
    }
    x = norm(&d, "norm", x);
    if (options->vocabulary > 0) {
        (void)linear(&d, "/lm_head", x, options->vocabulary);
    }
    onnx_file_output(d.file, options->vocabulary > 0 ? "logits" : "last_hidden_state");
    const bool saved = onnx_file_save(d.file, path, &d.counts.size, why);
    *counts = d.counts;
    return saved;
}
