/* suite.c: what rmsnorm test counts and prints. */
#include "suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "gpu.h"
#include "json.h"
#include "text.h"

const char *rmsnorm_cli_suite_tolerances(const rmsnorm_cli_tolerance *chosen, char text[RMSNORM_CLI_SHAPE])
{
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_DOUBLE, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        char one[RMSNORM_CLI_TOLERANCE];
        const rmsnorm_cli_tolerance tolerance = rmsnorm_cli_tolerance_of(types[i], chosen);
        rmsnorm_cli_append(text, RMSNORM_CLI_SHAPE, "%s%s %s", i == 0 ? "" : ", ", rmsnorm_dtype_name(types[i]),
                           rmsnorm_cli_tolerance_text(&tolerance, one));
    }
    return text;
}

/* What went wrong, without the folder when it begins with it: that stands in front already. */
static const char *sentence_in(const char *folder)
{
    const char *sentence = rmsnorm_cli_sentence();
    const size_t length = strlen(folder);
    return strncmp(sentence, folder, length) == 0 && sentence[length] == '/' ? sentence + length + 1 : sentence;
}

static json_t *differences_json(const rmsnorm_cli_results *results)
{
    json_t *differences = json_object();
    for (size_t i = 0; i < results->count; ++i) {
        json_t *key = rmsnorm_cli_json_text(results->names[i]);
        (void)json_object_set_new(differences, json_string_value(key),
                                  rmsnorm_cli_json_number(results->differences[i].largest, false));
        json_decref(key);
    }
    return differences;
}

static void add_json(const rmsnorm_cli_suite *suite, const char *name, int code, const rmsnorm_cli_results *results)
{
    json_t *test = json_object();
    (void)json_object_set_new(test, "name", rmsnorm_cli_json_text(name));
    if (suite->context != NULL && suite->context->webgpu != NULL) {
        (void)json_object_set_new(test, "adapter", rmsnorm_cli_json_text(suite->context->adapter.name));
        (void)json_object_set_new(test, "backend", rmsnorm_cli_json_text(suite->context->adapter.backend));
    }
    if (code == RMSNORM_CLI_SKIPPED) {
        (void)json_object_set_new(test, "skipped", json_string(sentence_in(name)));
    } else {
        (void)json_object_set_new(test, "ok", json_boolean(code == RMSNORM_CLI_DONE));
        if (code != RMSNORM_CLI_DONE) {
            (void)json_object_set_new(test, "error", json_string(sentence_in(name)));
        }
        (void)json_object_set_new(test, "largest_difference", differences_json(results));
    }
    (void)json_array_append_new(suite->tests, test);
}

static void print_line(const char *name, int code, const rmsnorm_cli_results *results)
{
    fputs(code == RMSNORM_CLI_DONE ? "ok      " : code == RMSNORM_CLI_SKIPPED ? "skipped " : "FAILED  ", stdout);
    rmsnorm_cli_show(stdout, name);
    printf(": ");
    if (code != RMSNORM_CLI_DONE) {
        fputs(sentence_in(name), stdout);
    }
    for (size_t i = 0; i < results->count && code == RMSNORM_CLI_DONE; ++i) {
        char number[RMSNORM_CLI_NUMBER];
        printf("%s", i == 0 ? "largest difference " : ", ");
        printf("%s", rmsnorm_cli_rounded(results->differences[i].largest, number));
        if (results->differences[i].steps > 0) {
            printf(" (%" PRIu64 " ulp)", results->differences[i].steps);
        }
        printf(" in ");
        rmsnorm_cli_show(stdout, results->names[i]);
    }
    putchar('\n');
    (void)fflush(stdout);
}

void rmsnorm_cli_suite_report(rmsnorm_cli_suite *suite, const char *name, int code, const rmsnorm_cli_results *results)
{
    ++*(code == RMSNORM_CLI_DONE ? &suite->passed : code == RMSNORM_CLI_SKIPPED ? &suite->skipped : &suite->failed);
    if (suite->tests != NULL) {
        add_json(suite, name, code, results);
    } else {
        print_line(name, code, results);
    }
}

int rmsnorm_cli_suite_end(rmsnorm_cli_suite *suite)
{
    char text[RMSNORM_CLI_SHAPE];
    if (suite->tests != NULL) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "allowed_differences",
                                  json_string(rmsnorm_cli_suite_tolerances(&suite->chosen, text)));
        (void)json_object_set_new(root, "tests", suite->tests);
        (void)json_object_set_new(root, "passed", json_integer((json_int_t)suite->passed));
        (void)json_object_set_new(root, "failed", json_integer((json_int_t)suite->failed));
        if (suite->gpu) {
            (void)json_object_set_new(root, "skipped", json_integer((json_int_t)suite->skipped));
        }
        rmsnorm_cli_print_json(root, false);
    } else {
        printf("%zu passed, %zu failed", suite->passed, suite->failed);
        if (suite->gpu) {
            printf(", %zu skipped", suite->skipped);
        }
        putchar('\n');
    }
    return suite->failed == 0 && suite->passed > 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_NO;
}
