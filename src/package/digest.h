/* digest.h: SHA-256, and its text in metadata.json. */
#ifndef RMSNORM_PACKAGE_DIGEST_H
#define RMSNORM_PACKAGE_DIGEST_H

#include "operator/error.h"

typedef struct rmsnorm_digest {
    unsigned char bytes[32];
} rmsnorm_digest;

#define RMSNORM_DIGEST_TEXT 45 /* of 32 bytes in base64, with the terminator */

rmsnorm_status rmsnorm_digest_make(const void *data, size_t size, rmsnorm_digest *digest);

void rmsnorm_digest_write(const rmsnorm_digest *digest, char text[RMSNORM_DIGEST_TEXT]);

/* false unless the text is what rmsnorm_digest_write makes of some digest: padded, nothing before, between or behind. */
bool rmsnorm_digest_read(const char *text, size_t length, rmsnorm_digest *digest);

#endif
