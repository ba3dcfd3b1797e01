/* Where requests may go. */
#include <string.h>

#include "hub/support.h"

#include "hub/url.h"

static void test_endpoints(void **state)
{
    (void)state;
    static const char *const good[][2] = {{"https://hub.invalid", "https://hub.invalid:443"},
                                          {"https://hub.invalid:8443/mirror/", "https://hub.invalid:8443"},
                                          {"HTTPS://hub.invalid/", "https://hub.invalid:443"},
                                          {"http://127.0.0.1:80", "http://127.0.0.1:80"},
                                          {"http://127.9.8.7", "http://127.9.8.7:80"},
                                          {"http://localhost:5", "http://localhost:5"},
                                          {"http://[::1]:5", "http://[::1]:5"}};
    static const char *const bad[] = {"",
                                      "hub",
                                      "ftp://hub.invalid",
                                      "httpx://hub.invalid",
                                      "file:///etc/passwd",
                                      "http://hub.invalid",
                                      "http://[::2]",
                                      "http://127.0.0.1.hub.invalid",
                                      "http://localhost.hub.invalid",
                                      "http://localhost@hub.invalid",
                                      "https://user:secret@hub.invalid",
                                      "https://hub.invalid?x",
                                      "https://hub.invalid#x",
                                      "https://hub.invalid/ x"};
    rmsnorm_url url;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        assert_int_equal(rmsnorm_url_endpoint(good[i][0], &url), RMSNORM_OK);
        assert_string_equal(url.origin, good[i][1]);
        assert_true(url.text[strlen(url.text) - 1] != '/');
        rmsnorm_url_release(&url);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_int_equal(rmsnorm_url_endpoint(bad[i], &url), RMSNORM_INVALID_ARGUMENT);
        assert_null(url.text);
        assert_null(strstr(rmsnorm_last_error(), "secret"));
    }
}

static void test_join(void **state)
{
    (void)state;
    rmsnorm_url endpoint;
    rmsnorm_url url;
    assert_int_equal(rmsnorm_url_endpoint("https://hub.invalid/mirror/", &endpoint), RMSNORM_OK);
    assert_int_equal(rmsnorm_url_join(&endpoint, "kernels/a/b c%2e?#\xc3\xa9", &url), RMSNORM_OK);
    assert_string_equal(url.text, "https://hub.invalid/mirror/kernels/a/b%20c%252e%3F%23%C3%A9");
    rmsnorm_url_release(&url);
    rmsnorm_url_release(&endpoint);
}

static void test_follow(void **state)
{
    (void)state;
    rmsnorm_url secure;
    rmsnorm_url local;
    rmsnorm_url url;
    assert_int_equal(rmsnorm_url_endpoint("https://hub.invalid", &secure), RMSNORM_OK);
    assert_int_equal(rmsnorm_url_endpoint("http://127.0.0.1:5", &local), RMSNORM_OK);
    assert_int_equal(rmsnorm_url_follow(&secure, "/api/x?Signature=y", &url), RMSNORM_OK);
    assert_string_equal(url.text, "https://hub.invalid/api/x?Signature=y");
    rmsnorm_url_release(&url);
    assert_int_equal(rmsnorm_url_follow(&secure, "https://cdn.invalid/x", &url), RMSNORM_OK);
    assert_string_equal(url.origin, "https://cdn.invalid:443");
    rmsnorm_url_release(&url);
    expect_sentence(rmsnorm_url_follow(&secure, "http://cdn.invalid/x", &url), RMSNORM_MALFORMED, "without https");
    expect_sentence(rmsnorm_url_follow(&secure, "http://127.0.0.1:5/x", &url), RMSNORM_MALFORMED,
                    "from https to 127.0.0.1");
    expect_sentence(rmsnorm_url_follow(&secure, "file:///etc/passwd", &url), RMSNORM_MALFORMED, "scheme file");
    expect_sentence(rmsnorm_url_follow(&secure, "gopher://127.0.0.1/x", &url), RMSNORM_MALFORMED, "scheme gopher");
    assert_null(url.text);
    assert_int_equal(rmsnorm_url_follow(&local, "http://localhost:5/x", &url), RMSNORM_OK);
    rmsnorm_url_release(&url);
    rmsnorm_url_release(&secure);
    rmsnorm_url_release(&local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_endpoints), cmocka_unit_test(test_join),
                                       cmocka_unit_test(test_follow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
