/* tune_print.c: what tuning found, for people and as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "gpu.h"
#include "json.h"
#include "text.h"
#include "tune.h"

const char *rmsnorm_cli_tune_choice_text(const rmsnorm_tuning_choice *choice, char text[RMSNORM_CLI_TUNE_CHOICE])
{
    text[0] = '\0';
    rmsnorm_cli_append(text, RMSNORM_CLI_TUNE_CHOICE, "%s", choice->variant);
    for (size_t i = 0; i < choice->tunable_count; ++i) {
        rmsnorm_cli_append(text, RMSNORM_CLI_TUNE_CHOICE, "%s%s=%lld", text[0] == '\0' ? "" : " ",
                           choice->tunables[i].name, (long long)choice->tunables[i].value);
    }
    if (text[0] == '\0') {
        rmsnorm_cli_append(text, RMSNORM_CLI_TUNE_CHOICE, "the package's own");
    }
    rmsnorm_cli_clean(text);
    return text;
}

static double gain_of(const rmsnorm_tuning_choice *choice)
{
    return choice->seconds > 0 ? choice->default_seconds / choice->seconds : 1.0;
}

static bool is_timed(const rmsnorm_cli_tune_result *result)
{
    return result->state == RMSNORM_CLI_TUNE_DONE || result->state == RMSNORM_CLI_TUNE_KEPT;
}

static void print_row(const rmsnorm_cli_tune_result *result)
{
    char text[RMSNORM_CLI_TUNE_CHOICE];
    const rmsnorm_tuning_choice *const choice = &result->choice;
    char name[160] = "";
    rmsnorm_cli_append(name, sizeof name, "%s", result->what->name);
    rmsnorm_cli_clean(name);
    if (is_timed(result)) {
        printf("  %-28s %11.2f %11.2f %5.2f  %4zu  %s%s\n", name, 1e6 * choice->default_seconds, 1e6 * choice->seconds,
               gain_of(choice), result->tried, rmsnorm_cli_tune_choice_text(choice, text),
               result->state == RMSNORM_CLI_TUNE_KEPT ? " (there already)" : "");
    } else {
        (void)snprintf(text, sizeof text, "%.390s", result->reason);
        rmsnorm_cli_clean(text);
        printf("  %-28s %s%s%s\n", name,
               result->state == RMSNORM_CLI_TUNE_SKIPPED ? "skipped"
               : result->state == RMSNORM_CLI_TUNE_WRONG ? "WRONG"
                                                         : "not finished",
               text[0] == '\0' ? "" : ": ", text);
    }
    for (size_t i = 0; i < result->thrown_out_count; ++i) {
        printf("    thrown out: ");
        rmsnorm_cli_show(stdout, result->thrown_out[i]);
        putchar('\n');
    }
}

void rmsnorm_cli_tune_print_text(const rmsnorm_adapter *adapter, const char *path,
                                 const rmsnorm_cli_tune_result *results, size_t count)
{
    char name[RMSNORM_CLI_GPU_NAME];
    const rmsnorm_cli_tune_source *source = NULL;
    printf("%s%s\n", rmsnorm_cli_gpu_name(adapter, name),
           adapter->timestamps ? "" : "; without timestamps: all times are the host's");
    for (size_t i = 0; i < count; ++i) {
        if (results[i].source != source) {
            source = results[i].source;
            rmsnorm_cli_show(stdout, source->info.name);
            printf("\n  %-28s %11s %11s %5s  %4s  %s\n", "case", "default us", "best us", "gain", "tried", "choice");
        }
        print_row(&results[i]);
    }
    printf("in ");
    rmsnorm_cli_show(stdout, path);
    putchar('\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *describe(const rmsnorm_cli_tune_result *result)
{
    static const char *const states[] = {[RMSNORM_CLI_TUNE_DONE] = "tuned",
                                         [RMSNORM_CLI_TUNE_KEPT] = "kept",
                                         [RMSNORM_CLI_TUNE_SKIPPED] = "skipped",
                                         [RMSNORM_CLI_TUNE_WRONG] = "wrong",
                                         [RMSNORM_CLI_TUNE_CUT] = "unfinished"};
    const rmsnorm_tuning_choice *const choice = &result->choice;
    json_t *const row = json_object();
    json_t *const tunables = json_object();
    json_t *const thrown_out = json_array();
    (void)json_object_set_new(row, "package", rmsnorm_cli_json_text(result->source->info.name));
    (void)json_object_set_new(row, "case", rmsnorm_cli_json_text(result->what->name));
    (void)json_object_set_new(row, "class", rmsnorm_cli_json_text(result->request_class));
    (void)json_object_set_new(row, "state", json_string(states[result->state]));
    (void)json_object_set_new(row, "tried", json_integer((json_int_t)result->tried));
    if (is_timed(result)) {
        for (size_t i = 0; i < choice->tunable_count; ++i) {
            (void)json_object_set_new(tunables, choice->tunables[i].name, json_integer(choice->tunables[i].value));
        }
        (void)json_object_set_new(row, "default_us", json_real(1e6 * choice->default_seconds));
        (void)json_object_set_new(row, "best_us", json_real(1e6 * choice->seconds));
        (void)json_object_set_new(row, "gain", json_real(gain_of(choice)));
        (void)json_object_set_new(row, "variant", rmsnorm_cli_json_text(choice->variant));
        (void)json_object_set(row, "tunables", tunables);
    } else if (result->reason[0] != '\0') {
        (void)json_object_set_new(row, "reason", rmsnorm_cli_json_text(result->reason));
    }
    for (size_t i = 0; i < result->thrown_out_count; ++i) {
        (void)json_array_append_new(thrown_out, rmsnorm_cli_json_text(result->thrown_out[i]));
    }
    (void)json_object_set_new(row, "thrown_out", thrown_out);
    json_decref(tunables);
    return row;
}

void rmsnorm_cli_tune_print_json(const rmsnorm_adapter *adapter, const char *path,
                                 const rmsnorm_cli_tune_result *results, size_t count)
{
    json_t *const root = json_object();
    json_t *const rows = json_array();
    for (size_t i = 0; i < count; ++i) {
        (void)json_array_append_new(rows, describe(&results[i]));
    }
    (void)json_object_set_new(root, "adapter", rmsnorm_cli_json_text(adapter->name));
    (void)json_object_set_new(root, "backend", rmsnorm_cli_json_text(adapter->backend));
    (void)json_object_set_new(root, "driver", rmsnorm_cli_json_text(adapter->driver));
    (void)json_object_set_new(root, "timestamps", json_boolean(adapter->timestamps));
    (void)json_object_set_new(root, "file", rmsnorm_cli_json_text(path));
    (void)json_object_set_new(root, "cases", rows);
    rmsnorm_cli_print_json(root, false);
}
