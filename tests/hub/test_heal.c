/* What stands in a snapshot and is not the package's: rebuilt when the server is there, said when it is not. Killed at any step
 * of that, the next call still finds the old state or the new one. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/support.h"

#define FOLDER "kernels--kernels--copy"

/* ---- Every change of a folder, to be the last one ---------------------------------------------- */

static int changes_left = -1; /* -1: no end to them */
static bool no_exchange;      /* as on a file system that cannot */

static void before_change(void)
{
    if (changes_left >= 0 && changes_left-- == 0) {
        (void)kill(getpid(), SIGKILL);
    }
}

#define CHANGE(name, parameters, arguments) \
    int __real_##name parameters;           \
    int __wrap_##name parameters;           \
    int __wrap_##name parameters            \
    {                                       \
        before_change();                    \
        return __real_##name arguments;     \
    }

CHANGE(mkdirat, (int folder, const char *name, mode_t mode), (folder, name, mode))
CHANGE(unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
CHANGE(symlinkat, (const char *target, int folder, const char *name), (target, folder, name))
CHANGE(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))

int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    if (no_exchange) {
        errno = EINVAL;
        return -1;
    }
    before_change();
    return __real_renameat2(a, from, b, to, flags);
}

/* ---- What is wrong with a snapshot ------------------------------------------------------------- */

static void shell(const char *words, const char *folder)
{
    char command[1600];
    (void)snprintf(command, sizeof command, "cd '%s' && %s", folder, words);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a folder of ours */
}

static const struct fault {
    const char *spoil;    /* in the snapshot's folder */
    const char *sentence; /* offline */
} faults[] = {
    {"echo x > build/webgpu/extra.txt", "extra.txt is not listed in metadata.json"},
    {"echo x > build/webgpu/.extra", ".extra is not listed in metadata.json"},
    {"mkdir -p build/webgpu/extra/a/b && echo x > build/webgpu/extra/a/b/c",
     "extra is a folder, only files are allowed"},
    {"ln -s /etc build/webgpu/extra", "extra is a symbolic link that leads out of the folder"},
    {"mkfifo build/webgpu/extra", "extra is no regular file"},
    {"cd build/webgpu && rm manifest.json && mkdir manifest.json && echo x > manifest.json/x",
     "manifest.json is a folder"},
    {"cd build/webgpu && rm metadata.json && mkdir metadata.json", "metadata.json is a folder"},
    {"cd build/webgpu && mv test.json other.json", "the file was renamed"},
    {"rm -r build/webgpu && echo x > build/webgpu", "build/webgpu in it, cannot be opened: Not a directory"},
    {"mv build/webgpu build/w && ln -s w build/webgpu", "build/webgpu in it, cannot be opened: "},
    {"rm -r build && echo x > build", "build/webgpu in it, cannot be opened: Not a directory"},
    {"b=$(readlink -f build/webgpu/manifest.json) && rm $b && mkdir $b && echo x > $b/x", "manifest.json is a folder"},
    {"b=$(readlink -f build/webgpu/manifest.json) && rm $b && mkdir -p $b.incomplete/x", "is not in the cache"},
    {"mkdir -p ../../blobs/rmsnorm.incomplete/x && rm build/webgpu/metadata.json", "is not in the cache"},
    {"mkdir -p build/rmsnorm.incomplete/x build/rmsnorm.old.incomplete/x && rm -r build/webgpu", "is not in the cache"},
    {"rm README.md && mkdir README.md && echo x > README.md/x && rm build/webgpu/metadata.json", "is not in the cache"},
};

static void check_rebuilt(const char *folder)
{
    assert_int_equal(count_files(FOLDER "/blobs", ".incomplete"), 0);
    shell("test $(ls -A build/webgpu | wc -l) = 4 && test $(ls -A build | grep -c incomplete) = 0", folder);
}

static void check_healed(const rmsnorm_fetch_options *options, const char *folder)
{
    rmsnorm_fetch_options offline = *options;
    offline.offline = true;
    (void)fetched("kernels/copy", options);
    (void)fetched("kernels/copy", &offline);
    check_rebuilt(folder);
}

static void heal_all(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
        assert_int_equal(hub_reset(NULL), 0);
        const rmsnorm_fetch_options options = hub_options();
        rmsnorm_fetch_options offline = options;
        const char *const folder = fetched("kernels/copy", &options);
        char *none;
        shell(faults[i].spoil, folder);
        offline.offline = true;
        const rmsnorm_status status = rmsnorm_package_fetch("kernels/copy", &offline, &none, NULL);
        assert_null(none);
        expect_sentence(status, status == RMSNORM_OK ? RMSNORM_IO : status, faults[i].sentence);
        expect_sentence(status, status, "network is not used: offline");
        assert_null(strchr(rmsnorm_last_error(), '\n'));
        check_healed(&options, folder);
    }
}

static void test_every_fault(void **state)
{
    (void)state;
    heal_all();
}

static void test_without_exchange(void **state)
{
    (void)state;
    no_exchange = true;
    heal_all();
    no_exchange = false;
}

/* The commit's own folder is a file, or a link: what that leads to stays as it is. */
static void test_no_folder_at_all(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    const char *const folder = fetched("kernels/copy", &options);
    const char *const commit = strrchr(folder, '/') + 1;
    char spoil[256];
    (void)snprintf(spoil, sizeof spoil, "rm -r %s && echo x > %s", commit, commit);
    shell(spoil, cache_path(FOLDER "/snapshots"));
    check_healed(&options, folder);
    (void)snprintf(spoil, sizeof spoil, "mkdir ../../outside && rm -r %s && ln -s ../../outside %s", commit, commit);
    shell(spoil, cache_path(FOLDER "/snapshots"));
    check_healed(&options, folder);
    assert_int_equal(count_files("outside", ""), 0);
    /* A folder where the commit of a version is kept. */
    shell("rm v1 && mkdir v1 && echo x > v1/x", cache_path(FOLDER "/refs"));
    rmsnorm_fetch_options offline = options;
    offline.offline = true;
    fetch_refused("kernels/copy", &offline, RMSNORM_IO, "v1 in the cache ");
    check_healed(&options, folder);
}

/* The folder of a commit is every client's: only build/webgpu is ours. */
static void test_others_files_stay(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    const char *const folder = fetched("kernels/copy", &options);
    shell("mkdir build/torch && echo x > build/torch/x && echo y > LICENSE && echo z > build/webgpu/extra", folder);
    check_healed(&options, folder);
    shell("test $(cat build/torch/x) = x && test $(cat LICENSE) = y && test ! -e build/webgpu/extra", folder);
}

/* A link in what is removed is removed, not followed. */
static void test_nothing_outside_is_removed(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    const char *const folder = fetched("kernels/copy", &options);
    shell("mkdir ../../../victim && echo x > ../../../victim/x && mkdir build/webgpu/extra && "
          "ln -s ../../../../../../victim build/webgpu/extra/link && ln -s ../../../../../victim build/webgpu/link",
          folder);
    check_healed(&options, folder);
    assert_int_equal(count_files("victim", ""), 1);
}

/* ---- Crashes and other processes --------------------------------------------------------------- */

static int fetch_in_child(void *context)
{
    char *folder;
    const rmsnorm_status status = rmsnorm_package_fetch("kernels/copy", context, &folder, NULL);
    if (status != RMSNORM_OK) {
        (void)fprintf(stderr, "%s\n", rmsnorm_last_error());
        return (int)status;
    }
    opens(folder);
    free(folder);
    return 0;
}

/* Kills the rebuilding before its first change, before its second, and so on until it comes to its end. */
static int kill_at_every_step(const rmsnorm_fetch_options *options, const char *folder, bool may_be_gone)
{
    rmsnorm_fetch_options online = *options;
    rmsnorm_fetch_options offline = *options;
    offline.offline = true;
    int code = 128 + SIGKILL;
    int steps = 0;
    for (; code != 0; ++steps) {
        char *found;
        shell("echo x > build/webgpu/extra && rm build/webgpu/manifest.json && mkdir build/webgpu/manifest.json",
              folder);
        changes_left = steps;
        const int process = child_start(fetch_in_child, &online);
        changes_left = -1;
        code = child_wait(process);
        assert_true(code == 0 || code == 128 + SIGKILL);
        const rmsnorm_status status = rmsnorm_package_fetch("kernels/copy", &offline, &found, NULL);
        free(found);
        assert_true(status == RMSNORM_OK || status == RMSNORM_MALFORMED ||
                    (may_be_gone && status == RMSNORM_NOT_FOUND));
        assert_int_equal(child_wait(child_start(fetch_in_child, &online)), 0);
        if (status != RMSNORM_OK || code == 0) { /* else the old state may lie beside the new one until the next time */
            check_rebuilt(folder);
        }
    }
    return steps;
}

static void test_killed(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    char folder[600];
    (void)snprintf(folder, sizeof folder, "%s", fetched("kernels/copy", &options));
    assert_true(kill_at_every_step(&options, folder, false) > 10);
    no_exchange = true;
    assert_true(kill_at_every_step(&options, folder, true) > 10);
    no_exchange = false;
}

static void test_at_once(void **state)
{
    (void)state;
    enum { PROCESSES = 8 };
    rmsnorm_fetch_options options = hub_options();
    const char *const folder = fetched("kernels/copy", &options);
    shell("echo x > build/webgpu/extra", folder);
    int processes[PROCESSES];
    for (int i = 0; i < PROCESSES; ++i) {
        processes[i] = child_start(fetch_in_child, &options);
    }
    for (int i = 0; i < PROCESSES; ++i) {
        assert_int_equal(child_wait(processes[i]), 0);
    }
    assert_int_equal(count_requests((asked){.method = "HEAD"}), 2 * 5); /* one process has rebuilt it */
    check_healed(&options, folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_fault, hub_reset),
        cmocka_unit_test_setup(test_without_exchange, hub_reset),
        cmocka_unit_test_setup(test_no_folder_at_all, hub_reset),
        cmocka_unit_test_setup(test_others_files_stay, hub_reset),
        cmocka_unit_test_setup(test_nothing_outside_is_removed, hub_reset),
        cmocka_unit_test_setup(test_killed, hub_reset),
        cmocka_unit_test_setup(test_at_once, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
