/* Memory that ends anywhere while a package is fetched from a Hub, or taken from the cache. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>

#include "hardening/memory.h"
#include "hub/support.h"

static rmsnorm_fetch_options options;

static rmsnorm_status fetch(void)
{
    char *folder = UNTOUCHED;
    char commit[RMSNORM_COMMIT_TEXT];
    const rmsnorm_status status = rmsnorm_package_fetch("kernels/copy", &options, &folder, commit);
    if (status != RMSNORM_OK) {
        assert_no_handle(folder);
        return status;
    }
    assert_int_equal(strlen(commit), RMSNORM_COMMIT_TEXT - 1);
    free(folder);
    return RMSNORM_OK;
}

static void test_what_is_cached(void **state)
{
    (void)state;
    options = hub_options();
    memory_succeed();
    assert_int_equal(fetch(), RMSNORM_OK);
    options.offline = true;
    memory_sweep("a cached package", fetch, BIT(RMSNORM_MALFORMED), 20);
}

static rmsnorm_status fetch_anew(void)
{
    const rmsnorm_status status = fetch();
    memory_succeed(); /* what follows is the test's own */
    (void)hub_reset(NULL);
    return status;
}

/* Its answers are looked at again where memory was short: what came then is no answer. */
static void test_what_is_fetched(void **state)
{
    (void)state;
    options = hub_options();
    memory_sweep("a package from a Hub", fetch_anew, BIT(RMSNORM_MALFORMED), 20);
}

int main(void)
{
    memory_begin(40);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_cached, hub_reset),
        cmocka_unit_test_setup(test_what_is_fetched, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
