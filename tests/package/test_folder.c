/* Folders: honest ones in their two forms, and hostile ones. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "package/support.h"

static parcel all;

static int setup(void **state)
{
    (void)state;
    all = parcel_make();
    (void)folder_make();
    folder_unpack(&all, "p");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    parcel_free(&all);
    folder_remove();
    return 0;
}

static void accepted(const char *name)
{
    rmsnorm_package *package;
    if (rmsnorm_package_open(folder_path(name), &package) != RMSNORM_OK) {
        fail_msg("refused: %s", rmsnorm_last_error());
    }
    rmsnorm_package_close(package);
}

static void refused(const char *name, rmsnorm_status status, const char *part)
{
    rmsnorm_package *package = (rmsnorm_package *)1;
    expect_sentence(rmsnorm_package_open(folder_path(name), &package), status, part);
    assert_null(package);
    const char *path = folder_path(name);
    assert_memory_equal(rmsnorm_last_error(), path, strlen(path)); /* the sentence begins with the folder */
}

/* One path keeps until the next call of folder_path. */
static void make_link(const char *target, const char *name)
{
    assert_int_equal(symlink(target, folder_path(name)), 0);
}

static void test_both_forms(void **state)
{
    (void)state;
    accepted("p");
    accepted("p/");
    assert_int_equal(mkdir(folder_path("outer"), 0777), 0);
    assert_int_equal(mkdir(folder_path("outer/build"), 0777), 0);
    folder_unpack(&all, "outer/build/webgpu");
    folder_write("outer/README.md", "anything", 8);
    accepted("outer");
    accepted("outer/build/webgpu");
    make_link("outer", "link"); /* the folder itself is the caller's choice */
    accepted("link");
}

static void test_no_package(void **state)
{
    (void)state;
    refused("nowhere", RMSNORM_NOT_FOUND, "cannot be opened");
    refused("p/test.json", RMSNORM_IO, "cannot be opened");
    assert_int_equal(mkdir(folder_path("empty"), 0777), 0);
    refused("empty", RMSNORM_NOT_FOUND, "metadata.json is missing: this is no package");
    refused("", RMSNORM_NOT_FOUND, "metadata.json is missing: this is no package");
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("p/inside"), 0777), 0);
    refused("p", RMSNORM_MALFORMED, "inside is a folder, only files are allowed");
    assert_int_equal(rmdir(folder_path("p/inside")), 0);
    assert_int_equal(mkfifo(folder_path("p/pipe"), 0666), 0);
    refused("p", RMSNORM_MALFORMED, "pipe is no regular file");
    assert_int_equal(unlink(folder_path("p/pipe")), 0);
    accepted("p");
}

static void test_links(void **state)
{
    (void)state;
    folder_write("outside", "{\"cases\": []}\n", 14);
    assert_int_equal(unlink(folder_path("p/test.json")), 0);
    static const char *const out[] = {"../outside", "/etc/hostname", "test.json", "..", "copy", "loop"};
    make_link("../outside", "p/copy");
    for (size_t i = 0; i < 5; ++i) {
        make_link(out[i], "p/test.json");
        refused("p", RMSNORM_MALFORMED, "is a symbolic link that leads out of the folder");
        assert_int_equal(unlink(folder_path("p/test.json")), 0);
    }
    assert_int_equal(unlink(folder_path("p/copy")), 0);
    /* A link to another file of the folder is that file. */
    parcel_put(&all, "twin.json", "{\"cases\": []}\n");
    parcel_seal(&all);
    folder_unpack(&all, "q");
    accepted("q");
    assert_int_equal(unlink(folder_path("q/twin.json")), 0);
    make_link("test.json", "q/twin.json");
    accepted("q");
    /* Nor may the way to the files be a link. */
    assert_int_equal(mkdir(folder_path("outer"), 0777), 0);
    assert_int_equal(mkdir(folder_path("outer/build"), 0777), 0);
    make_link("../../q", "outer/build/webgpu");
    refused("outer", RMSNORM_IO, "cannot be opened");
}

/* As a Hub's cache has it: snapshots/COMMIT/build/webgpu/FILE leads to blobs/NAME of the same repository, and nowhere else. */
static void test_snapshots(void **state)
{
    (void)state;
    static const char *const steps[] = {"hub", "hub/snapshots", "hub/snapshots/c0", "hub/snapshots/c0/build",
                                        "hub/blobs"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        assert_int_equal(mkdir(folder_path(steps[i]), 0777), 0);
    }
    folder_unpack(&all, "hub/snapshots/c0/build/webgpu");
    static const char file[] = "hub/snapshots/c0/build/webgpu/test.json";
    char old[512];
    (void)snprintf(old, sizeof old, "%s", folder_path(file));
    assert_int_equal(rename(old, folder_path("hub/blobs/b0")), 0);
    make_link("../../../../blobs/b0", file);
    accepted("hub/snapshots/c0");
    accepted("hub/snapshots/c0/build/webgpu");
    static const char *const out[] = {"../../../../blobs/../blobs/b0",
                                      "../../../../../hub/blobs/b0",
                                      "../../../../snapshots/b0",
                                      "../../../../blobs",
                                      "../../../../blobs/",
                                      "../../../../blobs/.."};
    for (size_t i = 0; i < sizeof out / sizeof out[0]; ++i) {
        assert_int_equal(unlink(folder_path(file)), 0);
        make_link(out[i], file);
        refused("hub/snapshots/c0", RMSNORM_MALFORMED, "is a symbolic link that leads out of the folder");
    }
    /* A blob that is a link itself, or blobs that are one. */
    assert_int_equal(unlink(folder_path(file)), 0);
    make_link("../../../../blobs/b1", file);
    make_link("b0", "hub/blobs/b1");
    refused("hub/snapshots/c0", RMSNORM_MALFORMED, "is a symbolic link that leads out of the folder");
    assert_int_equal(unlink(folder_path(file)), 0);
    make_link("../../../../blobs/b0", file);
    (void)snprintf(old, sizeof old, "%s", folder_path("hub/blobs"));
    assert_int_equal(rename(old, folder_path("elsewhere")), 0);
    make_link("../elsewhere", "hub/blobs");
    refused("hub/snapshots/c0", RMSNORM_IO, "test.json cannot be opened");
    /* Where the folder above is no `snapshots`, there are no blobs. */
    assert_int_equal(unlink(folder_path("hub/blobs")), 0);
    (void)snprintf(old, sizeof old, "%s", folder_path("elsewhere"));
    assert_int_equal(rename(old, folder_path("hub/blobs")), 0);
    accepted("hub/snapshots/c0");
    (void)snprintf(old, sizeof old, "%s", folder_path("hub/snapshots"));
    assert_int_equal(rename(old, folder_path("hub/others")), 0);
    refused("hub/others/c0", RMSNORM_MALFORMED, "is a symbolic link that leads out of the folder");
    assert_int_equal(mkdir(folder_path("hub/snapshots"), 0777), 0); /* there is one, beside it */
    refused("hub/others/c0", RMSNORM_MALFORMED, "is a symbolic link that leads out of the folder");
}

static void test_sizes_and_numbers(void **state)
{
    (void)state;
    folder_write("p/large", "", 0);
    assert_int_equal(truncate(folder_path("p/large"), (off_t)1 << 40), 0); /* sparse */
    refused("p", RMSNORM_MALFORMED, "large has 1099511627776 bytes, at most 4194304 are allowed");
    assert_int_equal(unlink(folder_path("p/large")), 0);
    for (int i = 0; i < 253; ++i) {
        char name[32];
        (void)snprintf(name, sizeof name, "p/f%d", i);
        folder_write(name, "", 0);
    }
    refused("p", RMSNORM_MALFORMED, "there are more than 256 files");
}

static void test_hostile_names(void **state)
{
    (void)state;
    folder_write("p/a\nb", "x", 1);
    refused("p", RMSNORM_MALFORMED, "is no name for a file of a package");
    assert_null(strchr(rmsnorm_last_error(), '\n'));
    assert_int_equal(unlink(folder_path("p/a\nb")), 0);
    folder_write("p/.hidden", "x", 1);
    refused("p", RMSNORM_MALFORMED, ".hidden is not listed in metadata.json");
}

static void test_a_file_that_may_not_be_read(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder_path("p/test.json"), 0), 0);
    if (access(folder_path("p/test.json"), R_OK) == 0) {
        print_message("not run: this user may read everything\n");
        return;
    }
    refused("p", RMSNORM_IO, "test.json cannot be opened");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_both_forms),      IN_FOLDER(test_no_package),
        IN_FOLDER(test_what_is_no_file), IN_FOLDER(test_links),
        IN_FOLDER(test_snapshots),       IN_FOLDER(test_sizes_and_numbers),
        IN_FOLDER(test_hostile_names),   IN_FOLDER(test_a_file_that_may_not_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
