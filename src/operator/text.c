#include "operator/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rmsnorm_text_add(rmsnorm_text *text, const char *format, ...)
{
    const size_t used = text->length < text->size ? text->length : text->size;
    const size_t space = text->size - used;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(space > 0 ? text->data + used : NULL, space, format, arguments);
    va_end(arguments);
    if (length > 0) {
        text->length += (size_t)length;
    }
}

/* Bytes of the UTF-8 character at `at` if it is well formed (shortest form, no surrogate, at most U+10FFFF) and no control
 * character, else 0. Table 3-7 of the Unicode standard. */
static size_t character_length(const unsigned char *at)
{
    const unsigned char lead = at[0];
    if (lead < 0x80) {
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (lead == 0xc2 || lead == 0xe0) {
        low = 0xa0; /* after C2, 80..9F are the C1 controls; after E0, an overlong form */
    } else if (lead == 0xed) {
        high = 0x9f; /* surrogates */
    } else if (lead == 0xf0) {
        low = 0x90; /* overlong */
    } else if (lead == 0xf4) {
        high = 0x8f; /* past U+10FFFF */
    }
    const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; ++i) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

void rmsnorm_text_clean(char *text)
{
    unsigned char *at = (unsigned char *)text;
    while (*at != '\0') {
        const size_t length = character_length(at);
        if (length == 0) {
            *at = '?';
        }
        at += length > 0 ? length : 1;
    }
}

rmsnorm_words rmsnorm_words_shape(int32_t rank, const int64_t *dims, const char *const *names)
{
    rmsnorm_words words;
    rmsnorm_text text = {words.text, sizeof words.text, 0};
    if (rank < 0 || rank > RMSNORM_MAX_RANK) {
        rmsnorm_text_add(&text, "of unknown rank");
        return words;
    }
    rmsnorm_text_add(&text, "(");
    for (int32_t i = 0; i < rank; ++i) {
        const char *const separator = i == 0 ? "" : ",";
        if (dims[i] != RMSNORM_UNKNOWN) {
            rmsnorm_text_add(&text, "%s%" PRId64, separator, dims[i]);
        } else {
            const char *const name = names != NULL ? names[i] : NULL;
            rmsnorm_text_add(&text, "%s%.60s", separator, name != NULL && name[0] != '\0' ? name : "?");
        }
    }
    rmsnorm_text_add(&text, ")");
    return words;
}

rmsnorm_words rmsnorm_words_tensor(const rmsnorm_tensor *tensor)
{
    return rmsnorm_words_shape(tensor->rank, tensor->dims, tensor->dim_names);
}

rmsnorm_words rmsnorm_words_types(rmsnorm_dtypes types)
{
    rmsnorm_words words = {""};
    rmsnorm_text text = {words.text, sizeof words.text, 0};
    for (int code = 0; code < 32; ++code) {
        if ((types & RMSNORM_DTYPES(code)) != 0) {
            rmsnorm_text_add(&text, "%s%s", text.length == 0 ? "" : ", ", rmsnorm_dtype_name((rmsnorm_dtype)code));
        }
    }
    return words;
}

rmsnorm_words rmsnorm_words_slots(const rmsnorm_slot *slots, size_t count)
{
    rmsnorm_words words = {""};
    rmsnorm_text text = {words.text, sizeof words.text, 0};
    for (size_t i = 0; i < count; ++i) {
        rmsnorm_text_add(&text, "%s%s", i == 0 ? "" : ", ", slots[i].name);
    }
    return words;
}

rmsnorm_words rmsnorm_words_dtype(rmsnorm_dtype dtype)
{
    rmsnorm_words words;
    const char *const name = rmsnorm_dtype_name(dtype);
    rmsnorm_text text = {words.text, sizeof words.text, 0};
    if (strcmp(name, "unknown") == 0) {
        rmsnorm_text_add(&text, "%ld (unknown)", (long)dtype);
    } else {
        rmsnorm_text_add(&text, "%s", name);
    }
    return words;
}

const char *rmsnorm_words_domain(const char *domain)
{
    return domain[0] == '\0' ? "ai.onnx" : domain;
}
