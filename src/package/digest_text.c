/* digest_text.c: a digest in base64: ten groups of three bytes, and one of two with a '=' behind. */
#include "package/digest.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { BITS = 6, MASK = 63 };

void rmsnorm_digest_write(const rmsnorm_digest *digest, char text[RMSNORM_DIGEST_TEXT])
{
    for (size_t i = 0; i < RMSNORM_DIGEST_TEXT - 1; ++i) {
        const size_t bit = BITS * i;
        const size_t byte = bit / 8;
        unsigned int pair = 0;
        if (byte < sizeof digest->bytes) {
            pair = (unsigned int)digest->bytes[byte] << 8;
        }
        if (byte + 1 < sizeof digest->bytes) {
            pair |= digest->bytes[byte + 1];
        }
        text[i] = byte < sizeof digest->bytes ? letters[pair >> (16 - BITS - bit % 8) & MASK] : '=';
    }
    text[RMSNORM_DIGEST_TEXT - 1] = '\0';
}

bool rmsnorm_digest_read(const char *text, size_t length, rmsnorm_digest *digest)
{
    char again[RMSNORM_DIGEST_TEXT];
    unsigned int kept = 0; /* the newest bits at the low end */
    size_t count = 0;      /* how many of them are no byte yet */
    size_t bytes = 0;
    if (length != RMSNORM_DIGEST_TEXT - 1) {
        return false;
    }
    for (size_t i = 0; i < length - 1; ++i) {
        const char *const at = text[i] == '\0' ? NULL : strchr(letters, text[i]);
        if (at == NULL) {
            return false;
        }
        kept = kept << BITS | (unsigned int)(at - letters);
        count += BITS;
        if (count >= 8) {
            count -= 8;
            digest->bytes[bytes++] = (unsigned char)(kept >> count & 255);
        }
    }
    rmsnorm_digest_write(digest, again);
    return memcmp(text, again, length) == 0; /* other padding and spare bits are no digest of ours */
}
