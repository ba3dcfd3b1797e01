/* digest.c: SHA-256 and base64, through OpenSSL. */
#include "package/digest.h"

#include <string.h>

#include <openssl/evp.h>

rmsnorm_status rmsnorm_digest_make(const void *data, size_t size, rmsnorm_digest *digest)
{
    unsigned int length = 0;
    /* What fails with a plain SHA-256 in memory is the memory. */
    RMSNORM_CHECK(EVP_Digest(data, size, digest->bytes, &length, EVP_sha256(), NULL) == 1 &&
                      length == sizeof digest->bytes,
                  RMSNORM_OUT_OF_MEMORY, "no memory for a digest, or no SHA-256 in this OpenSSL");
    return RMSNORM_OK;
}

void rmsnorm_digest_write(const rmsnorm_digest *digest, char text[RMSNORM_DIGEST_TEXT])
{
    (void)EVP_EncodeBlock((unsigned char *)text, digest->bytes, (int)sizeof digest->bytes);
}

bool rmsnorm_digest_read(const char *text, size_t length, rmsnorm_digest *digest)
{
    unsigned char bytes[RMSNORM_DIGEST_TEXT];
    char again[RMSNORM_DIGEST_TEXT];
    if (length != RMSNORM_DIGEST_TEXT - 1 ||
        EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length) != (int)sizeof digest->bytes + 1) {
        return false; /* decoding counts the padding as a byte */
    }
    memcpy(digest->bytes, bytes, sizeof digest->bytes);
    rmsnorm_digest_write(digest, again);
    return memcmp(text, again, length) == 0; /* white space, other padding and spare bits are no digest of ours */
}
