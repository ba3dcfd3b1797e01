/* lists.c: growing lists, and the word that was meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"

static void a_list_keeps_its_order(void **state)
{
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    rmsnorm_cli_list list = {NULL, 0};
    for (size_t i = 0; i < 26; ++i) {
        rmsnorm_cli_list_add(&list, letters + i);
    }
    assert_int_equal(list.count, 26);
    for (size_t i = 0; i < 26; ++i) {
        assert_ptr_equal(list.items[i], letters + i);
    }
    rmsnorm_cli_list_free(&list);
    assert_int_equal(list.count, 0);
}

static const char *const words[] = {"run", "test", "threads", "output", "output-dir", NULL};

static const char *word_at(const void *table, size_t index)
{
    return ((const char *const *)table)[index];
}

static void expect_nearest(const char *word, const char *wanted)
{
    const int index = rmsnorm_cli_nearest(word, word_at, words);
    if (wanted == NULL) {
        assert_int_equal(index, -1);
    } else {
        assert_true(index >= 0);
        assert_string_equal(words[index], wanted);
    }
}

static void slips_of_the_fingers_are_understood(void **state)
{
    (void)state;
    expect_nearest("run", "run");
    expect_nearest("rnu", "run");
    expect_nearest("tset", "test");
    expect_nearest("treads", "threads");
    expect_nearest("thread", "threads");
    expect_nearest("ouptut", "output");
    expect_nearest("outputdir", "output-dir");
    expect_nearest("output-dri", "output-dir");
}

static void other_words_are_not(void **state)
{
    (void)state;
    expect_nearest("", NULL);
    expect_nearest("plan", NULL);
    expect_nearest("xyz", NULL);
    char *endless = malloc(100001);
    assert_non_null(endless);
    memset(endless, 'r', 100000);
    endless[100000] = '\0';
    expect_nearest(endless, NULL);
    free(endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_order),
        cmocka_unit_test(slips_of_the_fingers_are_understood),
        cmocka_unit_test(other_words_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
