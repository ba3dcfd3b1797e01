#include <pthread.h>

#include "call_text.h"
#include "operator/error.h"

static void status_is_passed_through_and_the_sentence_kept(void **state)
{
    (void)state;
    assert_int_equal(rmsnorm_fail(RMSNORM_IO, "%s: %d", "a file", 7), RMSNORM_IO);
    assert_string_equal(rmsnorm_last_error(), "a file: 7");
    assert_non_null(rmsnorm_operator_find("", "RMSNormalization", 0));
    assert_string_equal(rmsnorm_last_error(), "a file: 7");
}

static void last_sentence_may_be_part_of_the_next(void **state)
{
    (void)state;
    rmsnorm_fail(RMSNORM_IO, "inner");
    rmsnorm_fail(RMSNORM_IO, "outer: %s", rmsnorm_last_error());
    assert_string_equal(rmsnorm_last_error(), "outer: inner");
}

static void sentence_is_cut_at_1023_bytes(void **state)
{
    (void)state;
    char longer[3000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    rmsnorm_fail(RMSNORM_IO, "%s", longer);
    assert_int_equal(strlen(rmsnorm_last_error()), 1023);
    memset(longer, 'x', 1022);
    memcpy(longer + 1022, "\xc3\xa4", 3); /* the cut splits this character */
    rmsnorm_fail(RMSNORM_IO, "%s", longer);
    assert_string_equal(rmsnorm_last_error() + 1021, "x?");
}

static void nothing_unprintable_gets_through(void **state)
{
    (void)state;
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"a\nb\r\t\x1b[31m\x7f", "a?b???[31m?"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x85\xc2\x9b", "????"},                          /* C1: next line, control sequence introducer */
        {"\x80\xbf\xff\xfe", "????"},                          /* never a lead byte */
        {"\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", "?????????"}, /* overlong */
        {"\xed\xa0\x80\xf4\x90\x80\x80\xf5\x80\x80\x80", "???????????"}, /* surrogate, beyond U+10FFFF */
        {"\xe2\x82", "??"},
        {"\xe2\x28\xa1", "?(?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        rmsnorm_fail(RMSNORM_MALFORMED, "%s", cases[i].given);
        assert_string_equal(rmsnorm_last_error(), cases[i].shown);
    }
}

static void *fail_elsewhere(void *before)
{
    *(char *)before = rmsnorm_last_error()[0];
    rmsnorm_fail(RMSNORM_IO, "of another thread");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state)
{
    (void)state;
    pthread_t thread;
    char before = 'x';
    rmsnorm_fail(RMSNORM_IO, "of this thread");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &before), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(before, '\0');
    assert_string_equal(rmsnorm_last_error(), "of this thread");
}

static void version_is_that_of_the_header(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", RMSNORM_VERSION_MAJOR, RMSNORM_VERSION_MINOR, RMSNORM_VERSION_PATCH);
    assert_string_equal(rmsnorm_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_is_passed_through_and_the_sentence_kept),
        cmocka_unit_test(last_sentence_may_be_part_of_the_next),
        cmocka_unit_test(sentence_is_cut_at_1023_bytes),
        cmocka_unit_test(nothing_unprintable_gets_through),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(version_is_that_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
