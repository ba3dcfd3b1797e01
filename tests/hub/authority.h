/* authority.h: an authority that nobody knows, and a certificate of it for 127.0.0.1, made anew for each run. */
#ifndef RMSNORM_TESTS_HUB_AUTHORITY_H
#define RMSNORM_TESTS_HUB_AUTHORITY_H

#include <stdbool.h>

/* In the test's folder: authority.pem, server.pem, server.key; authorities/ with the authority as OpenSSL looks one up; other.pem,
 * an authority that has nothing to do with it. false without the command openssl. */
bool authority_make(void);

#endif
