/* What happens when memory ends while a package is opened. malloc and its kin are wrapped at link time; jansson is told to use
 * the same ones. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package/support.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static size_t requests;           /* since it was set to 0 */
static size_t failing = SIZE_MAX; /* this request and all later ones get nothing */

void *__wrap_malloc(size_t size)
{
    return requests++ < failing ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return requests++ < failing ? __real_calloc(count, size) : NULL;
}

static void fail_from(size_t request)
{
    requests = 0;
    failing = request;
}

static rmsnorm_status open_files(const parcel *all, rmsnorm_package **package)
{
    return parcel_open(all, package);
}

static rmsnorm_status open_folder(const parcel *all, rmsnorm_package **package)
{
    (void)all;
    return rmsnorm_package_open(folder_path("p"), package);
}

static rmsnorm_status seal_folder(const parcel *all, rmsnorm_package **package)
{
    (void)all;
    return rmsnorm_package_seal(folder_path("p"), package);
}

/* Every request in turn is the first to fail: a status, a sentence, no package, and (under the address sanitizer) no leak. */
static void test_every_failed_request_is_an_error(void **state)
{
    (void)state;
    rmsnorm_status (*const openers[])(const parcel *, rmsnorm_package **) = {open_files, open_folder, seal_folder};
    parcel all = parcel_make();
    (void)folder_make();
    folder_unpack(&all, "p");
    for (size_t i = 0; i < 3; ++i) {
        size_t from = 0;
        for (;; ++from) {
            assert_true(from < 10000); /* it opens in the end */
            rmsnorm_package *package = (rmsnorm_package *)1;
            fail_from(from);
            const rmsnorm_status status = openers[i](&all, &package);
            fail_from(SIZE_MAX);
            if (status == RMSNORM_OK) {
                rmsnorm_package_close(package);
                break;
            }
            assert_null(package);
            assert_true(rmsnorm_last_error()[0] != '\0');
            /* A folder's stream is the system's; and jansson may take it for bad JSON. */
            if (!(i > 0 && status == RMSNORM_IO) &&
                !(status == RMSNORM_MALFORMED && strstr(rmsnorm_last_error(), ".json:"))) {
                assert_int_equal(status, RMSNORM_OUT_OF_MEMORY);
            }
        }
        assert_true(from > 20);
    }
    folder_remove();
    parcel_free(&all);
}

static void test_rendering_without_memory(void **state)
{
    (void)state;
    size_t from = 0;
    for (;; ++from) {
        assert_true(from < 10000);
        char *text = NULL;
        fail_from(from);
        const rmsnorm_status status = rmsnorm_template_render_json("t", "x", 1, "{\"a\": 1}", &text);
        fail_from(SIZE_MAX);
        if (status == RMSNORM_OK) {
            free(text);
            break;
        }
        assert_null(text);
        if (status != RMSNORM_MALFORMED) {
            assert_int_equal(status, RMSNORM_OUT_OF_MEMORY);
        }
    }
    assert_true(from > 3);
}

int main(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failed_request_is_an_error),
        cmocka_unit_test(test_rendering_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
