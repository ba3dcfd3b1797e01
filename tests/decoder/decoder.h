/* decoder.h: a decoder as exporters write it, with every RMS normalization as small nodes, and how many of them there are. */
#ifndef RMSNORM_TESTS_DECODER_DECODER_H
#define RMSNORM_TESTS_DECODER_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/onnx_file.h"

/* Which model's layers. A narrow norm is computed in float, from Cast to Cast. */
typedef enum decoder_style {
    DECODER_LLAMA, /* x * inv is rounded to the type, then multiplied by the weight */
    DECODER_GEMMA, /* x * inv is multiplied by 1 + weight in float, then rounded; four norms a layer */
    DECODER_QWEN   /* as llama, and a norm over every head of the queries and keys */
} decoder_style;

/* How x / sqrt(mean + epsilon) is written. */
typedef enum decoder_root {
    DECODER_DIVIDE,    /* Sqrt, Div(x, root) */
    DECODER_INVERSE,   /* Sqrt, Div(1, root), Mul: what a reciprocal square root becomes */
    DECODER_RECIPROCAL /* Sqrt, Reciprocal, Mul */
} decoder_root;

typedef struct decoder_options {
    decoder_style style;
    decoder_root root;
    rmsnorm_dtype dtype; /* float, float16 or bfloat16 */
    int64_t layers, hidden, heads, head_dim, intermediate;
    int64_t vocabulary; /* 0: takes embeddings and gives the last hidden state; else token ids and logits */
    bool qk_norms;      /* of gemma: norms of queries and keys as well */
    bool skeleton;      /* attention and MLP are one product with a vector each */
    onnx_file_options file;
} decoder_options;
#define DECODER_OPTIONS_INIT                                                                                     \
    {                                                                                                            \
        .root = DECODER_INVERSE, .dtype = RMSNORM_FLOAT, .layers = 32, .hidden = 64, .heads = 4, .head_dim = 16, \
        .intermediate = 128, .file = {                                                                           \
            .opset = 17,                                                                                         \
            .random = true,                                                                                      \
            .seed = 1                                                                                            \
        }                                                                                                        \
    }

/* What was put in: norms is the sum of the three forms below it. */
typedef struct decoder_counts {
    int64_t norms;
    int64_t float_norms;   /* without a Cast */
    int64_t early_rounded; /* Cast, then the product with the weight: op RMSNormalization */
    int64_t late_rounded;  /* the product with the weight, then Cast: op SimplifiedLayerNormalization */
    int64_t residuals;     /* norms of the sum of two hidden states */
    onnx_file_size size;
} decoder_counts;

/* Writes the model. false: a sentence is in `why`. */
bool decoder_write(const decoder_options *options, const char *path, decoder_counts *counts, char why[256]);

#endif
