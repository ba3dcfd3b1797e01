/* rmsnorm package: verify, build, new, render. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rmsnorm/package.h"
#include "support.h"

#define NAME "com.example.Scale"
#define INNER NAME "/build/webgpu/"

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    outcome result = shell("rmsnorm package new " NAME " >new.txt");
    const int code = result.code;
    outcome_free(&result);
    return code;
}

static void help(void **state)
{
    (void)state;
    DONE("rmsnorm package --help", "Usage: rmsnorm package SUBCOMMAND", "verify", "build", "new", "render");
    DONE("rmsnorm package verify --help", "Usage: rmsnorm package verify DIR", "Exit code 1", "--json");
    DONE("rmsnorm package build -h", "Usage: rmsnorm package build DIR [--check]");
    DONE("rmsnorm package new -h", "Usage: rmsnorm package new NAME [--into DIR]");
    DONE("rmsnorm package render -h", "Usage: rmsnorm package render TEMPLATE [--context FILE.json|-]");
    DONE(
        "for c in verify build new render; do rmsnorm package $c -h | awk 'length > 120 || / $/ { exit 1 }' || exit 1; done");
}

static void wrong_lines(void **state)
{
    (void)state;
    REFUSED("rmsnorm package", "package needs a subcommand, 'rmsnorm package --help' lists them");
    REFUSED("rmsnorm package verfy", "unknown subcommand 'package verfy', did you mean 'verify'?");
    REFUSED("rmsnorm package frobnicate",
            "unknown subcommand 'package frobnicate', 'rmsnorm package --help' lists them");
    REFUSED("rmsnorm package verify", "no package is given, write rmsnorm package verify DIR");
    REFUSED("rmsnorm package verify a b", "one folder at a time: 'a' and 'b' were given");
    REFUSED("rmsnorm package verify --chek",
            "unknown option '--chek', 'rmsnorm package verify --help' lists the options");
    REFUSED("rmsnorm package build", "no package is given");
    REFUSED("rmsnorm package build a b", "one folder at a time");
    REFUSED("rmsnorm package new", "no name is given, write rmsnorm package new DOMAIN.OPERATOR");
    REFUSED("rmsnorm package new a.b c.d", "one package at a time: 'a.b' and 'c.d' were given");
    static const char *const names[] = {"''", "Scale", ".a", "a.", "a..b", "a/b.c", "a.b-c", "../a.b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        expect_refused(shell("rmsnorm package new %s", names[i]),
                       (const char *const[]){"is no name for a package, allowed is DOMAIN.OPERATOR", NULL});
    }
    REFUSED("rmsnorm package new a.b --into nowhere", "'nowhere/a.b' cannot be made: No such file or directory");
    REFUSED("rmsnorm package render", "no template is given");
    REFUSED("rmsnorm package render a b", "one template at a time");
    REFUSED("rmsnorm package render - --context -", "template and context are both '-'");
}

static void cases_must_be_readable(void **state)
{
    (void)state;
    DONE("cp -r " NAME " broken && printf nonsense >broken/build/webgpu/bench.json");
    REFUSED("rmsnorm package build broken", "bench.json:1:");
    DONE("rm broken/build/webgpu/bench.json broken/build/webgpu/test.json");
    DONE("rmsnorm package build broken");
}

static void a_new_package_verifies(void **state)
{
    (void)state;
    DONE("cat new.txt", "./" NAME, "id  _com_example_scale_webgpu_", "rmsnorm package build ./" NAME);
    DONE("rmsnorm package verify " NAME, "ok      " NAME, "id       _com_example_scale_webgpu_", "version  1",
         "spec     rmsnorm-1\n", "files    4, each");
    json_t *root = json_of("rmsnorm package verify --json " NAME, 0);
    assert_true(json_is_true(at(root, "ok")));
    assert_string_equal(json_string_value(at(root, "name")), NAME);
    assert_string_equal(json_string_value(at(root, "spec")), "rmsnorm-1");
    assert_int_equal(json_integer_value(at(root, "version")), 1);
    assert_int_equal(json_integer_value(at(root, "files")), 4);
    json_decref(root);
    assert_int_equal(entry_count(NAME), 2);
    assert_int_equal(entry_count(INNER), 5);
    DONE("rmsnorm package build --check " NAME, "as it was " INNER "metadata.json", "as it was " NAME "/README.md");
    REFUSED("rmsnorm package new " NAME, "cannot be made: File exists");
    DONE("mkdir sub; rmsnorm package new a.b.C --into sub --json", "\"folder\": \"sub/a.b.C\"",
         "\"id\": \"_a_b_c_webgpu_");
}

static void a_new_package_plans(void **state)
{
    (void)state;
    rmsnorm_package *package;
    rmsnorm_plan *plan;
    const rmsnorm_tensor x = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1000, 1000}};
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    request.inputs[0] = &x;
    assert_int_equal(rmsnorm_package_open(NAME, &package), RMSNORM_OK);
    if (rmsnorm_plan_make(package, &request, &plan) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    assert_int_equal(plan->pass_count, 1);
    assert_int_equal(plan->passes[0].workgroups[0], 1000000 / 64);
    assert_int_equal(plan->outputs[0].dims[1], 1000);
    assert_non_null(strstr(plan->shaders[0].wgsl, "@group(0) @binding(1) var<storage, read_write> y: array<f32>;"));
    assert_non_null(strstr(plan->shaders[0].wgsl, "@workgroup_size(64)"));
    rmsnorm_plan_release(plan);
    rmsnorm_package_close(package);
}

/* Exit code 1: the package is wrong; 2: it is none. */
static void verify_says_no(void **state)
{
    (void)state;
    outcome result = shell("printf x >>" INNER "test.json; rmsnorm package verify " NAME);
    assert_int_equal(result.code, 1);
    assert_string_equal(result.err, "");
    assert_string_equal(result.out,
                        "FAILED  " NAME ": test.json is not the file whose digest metadata.json has: it was changed\n");
    outcome_free(&result);
    json_t *root = json_of("rmsnorm package verify --json " NAME, 1);
    assert_true(json_is_false(at(root, "ok")));
    assert_non_null(strstr(json_string_value(at(root, "error")), "test.json"));
    json_decref(root);
    root = json_of("rm " INNER "bench.json; rmsnorm package verify --json " INNER, 1);
    assert_non_null(strstr(json_string_value(at(root, "error")), "bench.json is missing"));
    json_decref(root);
    root = json_of("sed -i s/sha256/sha1/ " INNER "metadata.json; rmsnorm package verify --json " NAME, 1);
    assert_non_null(strstr(json_string_value(at(root, "error")), "digest.algorithm is \"sha1\""));
    json_decref(root);
    REFUSED("rmsnorm package verify nowhere", "nowhere: ", "cannot be opened: No such file or directory");
    REFUSED("rmsnorm package verify .", ".: metadata.json is missing: this is no package");
    REFUSED("rmsnorm package verify --json .", "metadata.json is missing");
}

static void another_spec_is_said(void **state)
{
    (void)state;
    DONE("sed -i 's/\"rmsnorm-1\"/\"1.0\"/' " INNER "metadata.json; rmsnorm package build " NAME, "written");
    DONE("rmsnorm package verify " NAME, "spec     1.0: its contract can be read, nothing planned (rmsnorm-1 can)");
}

static void build_mends_what_changed(void **state)
{
    (void)state;
    json_t *before = json_of("rmsnorm package verify --json " NAME, 0);
    json_t *root = json_of("printf '\\n' >>" INNER "test.json; rmsnorm package build --check --json " NAME, 1);
    assert_int_equal(json_array_size(at(root, "stale")), 2);
    assert_string_equal(json_string_value(at(root, "id_before")), json_string_value(at(before, "id")));
    assert_string_not_equal(json_string_value(at(root, "id")), json_string_value(at(before, "id")));
    json_decref(root);
    DONE("! rmsnorm package verify " NAME " >/dev/null");
    /* Everything else in metadata.json stays, permissions too. */
    DONE("sed -i 's/\"version\": 1/\"version\": 7/; s/Apache-2.0/MIT/' " INNER "metadata.json");
    static const char build[] = "chmod 640 " INNER "metadata.json; rmsnorm package build " NAME;
    DONE(build, ", before _com_example_scale_webgpu_", "written ", "metadata.json", "written ", "README.md");
    DONE("ls -l " INNER "metadata.json", "-rw-r-----");
    DONE("rmsnorm package verify " NAME, "version  7");
    DONE("cat " NAME "/README.md", "license: mit", "{ version: 7 }");
    DONE("tail -n 3 " NAME "/README.md", "## License\n\nMIT\n");
    DONE("rmsnorm package build " NAME, "as it was " INNER "metadata.json", "as it was " NAME "/README.md");
    DONE("rm " NAME "/README.md; rmsnorm package build " NAME, "as it was", "written   " NAME "/README.md");
    json_decref(before);
    assert_int_equal(entry_count(NAME), 2);
    assert_int_equal(entry_count(INNER), 5);
}

static void build_writes_nothing_that_would_not_open(void **state)
{
    (void)state;
    DONE("cp -r " NAME " kept");
    REFUSED("printf '{%% if %%}' >" INNER "copy.wgsl.jinja; rmsnorm package build " NAME, NAME ": copy.wgsl.jinja:1:");
    REFUSED("printf '{' >" INNER "manifest.json; rmsnorm package build " NAME, NAME ": ");
    DONE("cmp " INNER "metadata.json kept/build/webgpu/metadata.json && cmp " NAME "/README.md kept/README.md");
    REFUSED("rmsnorm package build " INNER, "has no build/webgpu in it, give the folder of a package");
    REFUSED("rm " INNER "metadata.json; rmsnorm package build " NAME, "metadata.json is missing");
}

static void the_card_has_what_the_manifest_has(void **state)
{
    (void)state;
    static const char print[] = "cat " NAME "/README.md";
    DONE(print, "---\ntags:\n- kernels\n- webgpu\n- onnx\nlicense: apache-2.0\n---\n\n# ", NAME,
         "the operator `Scale` of the domain `com.example`, since version 1.", "## Inputs", "| `x` | `X` | `T` | yes |",
         "## Outputs", "| `y` | `Y` | `T` | yes |", "## Type constraints", "| `T` | float32 |", "## Tunables",
         "| `WORKGROUP_SIZE` | 64 | 32, 64, 128, 256 |", "## Files", "| `bench.json` | ", "| `test.json` | ",
         "import { getKernel } from \"rmsnorm\";",
         "const kernel = await getKernel(\"webgpu-kernels/com.example.Scale\", { version: 1 });",
         "const { y } = await kernel({", "  x: { data: xData, shape: [8] },", "## License\n\nApache-2.0\n");
    DONE("awk '/ $/ { exit 1 }' " NAME "/README.md");
}

static void render(void **state)
{
    (void)state;
    DONE("printf 'a {{ n + 1 }} {{ s }}' >t.jinja; printf '{\"n\": 41, \"s\": \"x\"}' >c.json;"
         "[ \"$(rmsnorm package render t.jinja --context c.json)\" = 'a 42 x' ]");
    DONE("[ \"$(rmsnorm package render t.jinja --context - <c.json)\" = 'a 42 x' ]");
    DONE("[ \"$(printf hi | rmsnorm package render -)\" = hi ]");
    DONE("rmsnorm package render t.jinja --context c.json --json", "\"text\": \"a 42 x\"");
    REFUSED("rmsnorm package render nowhere", "'nowhere' cannot be opened");
    REFUSED("rmsnorm package render . ", "'.' cannot be read: Is a directory");
    REFUSED("rmsnorm package render t.jinja --context nowhere", "'nowhere' cannot be opened");
    REFUSED("printf '[]' >l.json; rmsnorm package render t.jinja --context l.json", "context: a JSON object is wanted");
    REFUSED("printf '{,' >l.json; rmsnorm package render t.jinja --context l.json", "context:1:2:");
    REFUSED("printf '{%% if %%}' >b.jinja; rmsnorm package render b.jinja", "b.jinja:1:");
    REFUSED("printf 'a\\000b' >z.jinja; rmsnorm package render z.jinja", "'z.jinja' is no text: byte 1 is zero");
    REFUSED("printf '{%% include \"x\" %%}' >i.jinja; rmsnorm package render i.jinja", "i.jinja:1:");
    REFUSED("head -c 5000000 /dev/zero | tr '\\0' x | rmsnorm package render -", "has more than 4194304 bytes");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(help),
        IN_FOLDER(wrong_lines),
        IN_FOLDER(cases_must_be_readable),
        IN_FOLDER(a_new_package_verifies),
        IN_FOLDER(a_new_package_plans),
        IN_FOLDER(verify_says_no),
        IN_FOLDER(another_spec_is_said),
        IN_FOLDER(build_mends_what_changed),
        IN_FOLDER(build_writes_nothing_that_would_not_open),
        IN_FOLDER(the_card_has_what_the_manifest_has),
        IN_FOLDER(render),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
