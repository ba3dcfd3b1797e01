/* text.h: words for sentences and listings: bounded, one line, safe to print whatever a file put into a name. */
#ifndef RMSNORM_OPERATOR_TEXT_H
#define RMSNORM_OPERATOR_TEXT_H

#include "operator/error.h"

/* A buffer that text is added to. length counts what was asked for, like snprintf: it may pass size. */
typedef struct rmsnorm_text {
    char *data; /* may be NULL when size is 0 */
    size_t size;
    size_t length;
} rmsnorm_text;

RMSNORM_API void rmsnorm_text_add(rmsnorm_text *text, const char *format, ...) RMSNORM_PRINTF(2, 3);

/* Replaces, in place, every control character (C0, DEL, C1) and every byte that is not part of valid UTF-8 by '?'. */
RMSNORM_API void rmsnorm_text_clean(char *text);

/* Short texts by value, so that a sentence can take them as arguments. Cut when too long. */
typedef struct rmsnorm_words {
    char text[256];
} rmsnorm_words;

/* "(2,S,?)", "of unknown rank" */
RMSNORM_API rmsnorm_words rmsnorm_words_shape(int32_t rank, const int64_t *dims, const char *const *names);
RMSNORM_API rmsnorm_words rmsnorm_words_tensor(const rmsnorm_tensor *tensor);
/* "float, float16" in the order of the schema's four types */
rmsnorm_words rmsnorm_words_types(rmsnorm_dtypes types);
/* "input, skip, gamma, bias" */
rmsnorm_words rmsnorm_words_slots(const rmsnorm_slot *slots, size_t count);
/* "float16", or "type 99" for a code without a name */
rmsnorm_words rmsnorm_words_dtype(rmsnorm_dtype dtype);

/* "com.microsoft", "ai.onnx" for "" */
const char *rmsnorm_words_domain(const char *domain);

#endif
