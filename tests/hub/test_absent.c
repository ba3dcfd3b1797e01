/* A build without libcurl: the cache answers, and what is not in it is refused with a sentence. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "package/support.h"
#include "rmsnorm/hub.h"

#define COMMIT "0123456789012345678901234567890123456789"

static void test_absent(void **state)
{
    (void)state;
    static const char *const steps[] = {"cache", "cache/kernels--org--copy", "cache/kernels--org--copy/snapshots",
                                        "cache/kernels--org--copy/snapshots/" COMMIT,
                                        "cache/kernels--org--copy/snapshots/" COMMIT "/build"};
    char *folder;
    char cache[512];
    rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
    (void)folder_make();
    (void)snprintf(cache, sizeof cache, "%s", folder_path("cache"));
    options.cache = cache;
    options.version = 1;
    expect_sentence(rmsnorm_package_fetch("org/copy", &options, &folder, NULL), RMSNORM_NOT_BUILT,
                    "this build has no libcurl");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        assert_int_equal(mkdir(folder_path(steps[i]), 0777), 0);
    }
    parcel all = parcel_make();
    folder_unpack(&all, "cache/kernels--org--copy/snapshots/" COMMIT "/build/webgpu");
    parcel_free(&all);
    options.version = 0;
    options.revision = COMMIT;
    assert_int_equal(rmsnorm_package_fetch("org/copy", &options, &folder, NULL), RMSNORM_OK);
    free(folder);
    folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
