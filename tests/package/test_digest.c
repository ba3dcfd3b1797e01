/* SHA-256 by the vectors of FIPS 180-2, and one text for one digest. */
#include <string.h>

#include "package/digest.h"
#include "package/support.h"

static void test_known_digests(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
        {"abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
    };
    for (size_t i = 0; i < 2; ++i) {
        rmsnorm_digest digest;
        rmsnorm_digest read;
        char text[RMSNORM_DIGEST_TEXT];
        assert_int_equal(rmsnorm_digest_make(pairs[i][0], strlen(pairs[i][0]), &digest), RMSNORM_OK);
        rmsnorm_digest_write(&digest, text);
        assert_string_equal(text, pairs[i][1]);
        assert_true(rmsnorm_digest_read(text, strlen(text), &read));
        assert_memory_equal(&read, &digest, sizeof digest);
    }
}

static void test_one_text_for_one_digest(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "=",
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0",    /* no padding */
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa==",   /* 31 bytes */
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=",   /* spare bits */
        "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=",   /* of another alphabet */
        " ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa=",   /* white space */
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=\n", /* behind it */
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=AAAA",
        "ung=v48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        rmsnorm_digest digest;
        if (rmsnorm_digest_read(texts[i], strlen(texts[i]), &digest)) {
            fail_msg("accepted: '%s'", texts[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_digests),
        cmocka_unit_test(test_one_text_for_one_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
