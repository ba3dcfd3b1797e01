/* digest.c: SHA-256, through OpenSSL. */
#include "package/digest.h"

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
