/* authority.c: what the command openssl makes. */
#define _XOPEN_SOURCE 700

#include "hub/authority.h"

#include <stdio.h>
#include <stdlib.h>

#include "hub/support.h"

static void run(const char *words)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && OPENSSL=%s && { %s; } > openssl.log 2>&1 || { cat openssl.log; false; }",
                   folder_path(""), HUB_OPENSSL, words);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of ours */
}

bool authority_make(void)
{
    if (HUB_OPENSSL[0] == '\0') {
        return false;
    }
    run("for name in authority other; do $OPENSSL req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj \"/CN=A test's $name\" -keyout $name.key -out $name.pem || exit 1; done");
    run("$OPENSSL req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=A test' -keyout server.key "
        "-out server.csr && echo subjectAltName=IP:127.0.0.1 > names && "
        "$OPENSSL x509 -req -in server.csr -CA authority.pem -CAkey authority.key -set_serial 1 -days 2 -extfile names "
        "-out server.pem");
    run("mkdir authorities && cp authority.pem authorities/$($OPENSSL x509 -noout -hash -in authority.pem).0");
    return true;
}
