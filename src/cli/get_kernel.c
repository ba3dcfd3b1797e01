/* get_kernel.c: rmsnorm get-kernel: where a kernel package of a Hub lies on this machine. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "kernel.h"

enum { KERNEL_VERSION = 1, REVISION, ENDPOINT, CACHE, OFFLINE };

static const rmsnorm_cli_option options[] = {
    RMSNORM_CLI_KERNEL_VERSION(KERNEL_VERSION),
    RMSNORM_CLI_KERNEL_REVISION(REVISION),
    {ENDPOINT, 0, "endpoint", "URL", "another Hub than the public one (HF_ENDPOINT does the same)"},
    {CACHE, 0, "cache", "DIR", "another cache than the user's (HF_HUB_CACHE does the same)"},
    {OFFLINE, 0, "offline", NULL, "only what is cached (HF_HUB_OFFLINE=1 does the same)"},
};

static const rmsnorm_cli_usage usage = {
    .command = "get-kernel",
    .synopsis = "ORG/NAME --version N\nORG/NAME --revision SHA",
    .text =
        "Fetches a kernel package from a Hub unless it is cached, and prints its folder, which the other subcommands take.\n"
        "Every file is checked against the package's digests before it is kept. The cache is the one that all clients of\n"
        "the Hub share: HF_HUB_CACHE, or hub in HF_HOME, or huggingface/hub in XDG_CACHE_HOME or ~/.cache.\n\n"
        "HF_TOKEN is sent to the Hub itself and to nobody else. Proxies are those of https_proxy and no_proxy, certificates\n"
        "those of the system, of CURL_CA_BUNDLE, or of SSL_CERT_FILE and SSL_CERT_DIR. What was interrupted goes on from\n"
        "there the next time.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

static int get(const rmsnorm_cli_kernel_words *words, bool json)
{
    char *folder;
    char commit[RMSNORM_COMMIT_TEXT];
    const int code = rmsnorm_cli_kernel_fetch(words, &folder, commit);
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    if (json) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "name", rmsnorm_cli_json_text(words->name));
        (void)json_object_set_new(root, "commit", json_string(commit));
        (void)json_object_set_new(root, "folder", rmsnorm_cli_json_text(folder));
        rmsnorm_cli_print_json(root, false);
    } else {
        printf("%s\n", folder); /* as it is: a shell takes it */
    }
    free(folder);
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_get_kernel(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    rmsnorm_cli_kernel_words words = {.name = NULL};
    const char **const places[] = {[RMSNORM_CLI_POSITIONAL] = &words.name,
                                   [KERNEL_VERSION] = &words.version,
                                   [REVISION] = &words.revision,
                                   [ENDPOINT] = &words.endpoint,
                                   [CACHE] = &words.cache};
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (id == OFFLINE) {
            words.offline = true;
        } else if (id == RMSNORM_CLI_POSITIONAL && words.name != NULL) {
            return rmsnorm_cli_fail("one package at a time: '%s' and '%s' were given", words.name, value);
        } else {
            *places[id] = value;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    return words.name != NULL ? get(&words, args.json)
                              : rmsnorm_cli_fail("no package is given, write rmsnorm get-kernel ORG/NAME --version N");
}
