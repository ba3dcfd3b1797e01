/* Who a server says it is: believed when an authority that the caller trusts says so too. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/support.h"

static const char *const variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"};

static void trust(const char *variable, const char *name)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
        (void)unsetenv(variables[i]);
    }
    if (variable != NULL) {
        assert_int_equal(setenv(variable, folder_path(name), 1), 0);
    }
}

static int reset(void **state)
{
    trust(NULL, NULL);
    return hub_reset(state);
}

static rmsnorm_fetch_options secure_options(void)
{
    rmsnorm_fetch_options options = hub_options();
    options.endpoint = hub_secure_endpoint();
    return options;
}

static size_t secure_requests(void)
{
    return count_requests((asked){.host = hub_secure_endpoint() + strlen("https://")});
}

static void test_trusted(void **state)
{
    (void)state;
    static const char *const names[] = {"authority.pem", "authority.pem", "authorities"};
    const rmsnorm_fetch_options options = secure_options();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        assert_int_equal(reset(NULL), 0);
        trust(variables[i], names[i]);
        (void)fetched("kernels/copy", &options);
        assert_int_equal(secure_requests(), 1 + 2 * 5); /* the commit, then what each file is, and the file */
    }
    (void)fetched("resolve-cache/copy", &options); /* a redirect to the same server */
    rmsnorm_fetch_options known = options;
    known.token = TOKEN;
    (void)fetched("private/copy", &known);
}

/* One sentence, at once, and nothing is asked: the token stays here. */
static void distrusted(const rmsnorm_fetch_options *options, const char *part)
{
    rmsnorm_fetch_options patient = *options;
    patient.retries = 4;
    patient.token = TOKEN;
    fetch_refused("private/copy", &patient, RMSNORM_IO, part);
    assert_null(strchr(rmsnorm_last_error(), '\n'));
    assert_int_equal(count_requests((asked){.method = NULL}), 0);
    assert_false(file_exists(cache_path("")));
}

static void test_distrusted(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = secure_options();
    static const char sentence[] = "private/copy: v1: 127.0.0.1 is not trusted: SSL certificate problem: ";
    distrusted(&options, sentence);
    distrusted(&options, "; CURL_CA_BUNDLE or SSL_CERT_FILE can name the authorities that are");
    trust("CURL_CA_BUNDLE", "other.pem");
    distrusted(&options, sentence);
    /* The first of the two counts. */
    assert_int_equal(setenv("SSL_CERT_FILE", folder_path("authority.pem"), 1), 0);
    distrusted(&options, sentence);
    trust("SSL_CERT_FILE", "missing.pem");
    distrusted(&options, "missing.pem");
}

/* The certificate is for the address, not for the name. */
static void test_another_name(void **state)
{
    (void)state;
    char endpoint[64];
    rmsnorm_fetch_options options = secure_options();
    (void)snprintf(endpoint, sizeof endpoint, "https://localhost:%s", strrchr(options.endpoint, ':') + 1);
    trust("CURL_CA_BUNDLE", "authority.pem");
    options.endpoint = endpoint;
    distrusted(&options, "private/copy: v1: localhost is not trusted: ");
}

/* Nothing goes without https but to this machine, nor from https to anywhere without it. */
static void test_without_tls(void **state)
{
    (void)state;
    static const char *const names[] = {"http://hub.invalid", "http://127.0.0.1.hub.invalid",
                                        "http://localhost.hub.invalid"};
    rmsnorm_fetch_options options = secure_options();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        options.endpoint = names[i];
        fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT,
                      "without https, which is allowed for this machine's");
    }
    assert_int_equal(count_requests((asked){.method = NULL}), 0);
    trust("CURL_CA_BUNDLE", "authority.pem");
    options = secure_options();
    fetch_refused("lfs/copy", &options, RMSNORM_MALFORMED, "a redirect leads from https to 127.0.0.1 without it");
    fetch_refused("insecure/copy", &options, RMSNORM_MALFORMED, "a redirect leads to hub.invalid without https");
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "?Signature=x"}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_trusted, reset),
        cmocka_unit_test_setup(test_distrusted, reset),
        cmocka_unit_test_setup(test_another_name, reset),
        cmocka_unit_test_setup(test_without_tls, reset),
    };
    return cmocka_run_group_tests(tests, hub_start_secure, hub_stop);
}
