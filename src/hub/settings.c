/* settings.c: options and environment into what a fetch goes by. */
#define _XOPEN_SOURCE 700

#include "hub/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define PUBLIC_HUB "https://huggingface.co"
#define NAME_LIMIT 96 /* the Hub's own, for each half */

bool rmsnorm_hub_is_hex(const char *text, size_t count)
{
    return strlen(text) == count && strspn(text, "0123456789abcdef") == count;
}

/* The Hub's rule for names, which leaves nothing that could be a path, or mixed up with the -- that joins the halves. */
static bool is_half(const char *text, size_t length)
{
    if (length == 0 || length > NAME_LIMIT || strchr(".-", text[0]) != NULL || strchr(".-", text[length - 1]) != NULL) {
        return false;
    }
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!word && ((c != '.' && c != '-') || text[i + 1] == c)) {
            return false;
        }
    }
    return true;
}

static rmsnorm_status check_name(const char *name)
{
    const size_t length = name != NULL ? strcspn(name, "/") : 0;
    RMSNORM_CHECK(
        name != NULL && name[length] == '/' && is_half(name, length) &&
            is_half(name + length + 1, strlen(name + length + 1)),
        RMSNORM_INVALID_ARGUMENT,
        "\"%.200s\" is no package of a Hub; allowed is ORG/NAME, each of letters, digits, _, and single . and - "
        "inside, at most %d",
        name != NULL ? name : "", NAME_LIMIT);
    return RMSNORM_OK;
}

static rmsnorm_status choose_revision(const rmsnorm_fetch_options *options, rmsnorm_hub_settings *settings)
{
    const char *const revision = options->revision;
    RMSNORM_CHECK((options->version != 0) != (revision != NULL), RMSNORM_INVALID_ARGUMENT,
                  "%s: %s; exactly one of version and revision says which package is meant", settings->name,
                  revision != NULL ? "both a version and a revision are given" : "no version and no revision is given");
    if (revision == NULL) {
        RMSNORM_CHECK(options->version > 0, RMSNORM_INVALID_ARGUMENT,
                      "%s: version is %" PRId64 ", allowed is 1 or more", settings->name, options->version);
        settings->version = options->version;
        (void)snprintf(settings->branch, sizeof settings->branch, "v%" PRId64, options->version);
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(rmsnorm_hub_is_hex(revision, RMSNORM_COMMIT_TEXT - 1), RMSNORM_INVALID_ARGUMENT,
                  "%s: revision is \"%.80s\", allowed is a commit: 40 hex digits, lower case", settings->name,
                  revision);
    memcpy(settings->commit, revision, sizeof settings->commit);
    return RMSNORM_OK;
}

/* NULL also for an empty one. */
static const char *variable(const char *name)
{
    const char *const value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* As the Hub's own clients read a switch. */
static bool is_on(const char *name)
{
    static const char *const words[] = {"1", "on", "yes", "true"};
    const char *const value = getenv(name);
    for (size_t i = 0; value != NULL && i < sizeof words / sizeof words[0]; ++i) {
        if (strcasecmp(value, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static rmsnorm_status choose_cache(const char *given, char **cache)
{
    static const char *const places[][2] = {{"HF_HUB_CACHE", ""},
                                            {"HF_HOME", "/hub"},
                                            {"XDG_CACHE_HOME", "/huggingface/hub"},
                                            {"HOME", "/.cache/huggingface/hub"}};
    const char *folder = given;
    const char *rest = "";
    for (size_t i = 0; folder == NULL && i < sizeof places / sizeof places[0]; ++i) {
        folder = variable(places[i][0]);
        rest = places[i][1];
    }
    RMSNORM_CHECK(
        folder != NULL && folder[0] != '\0', RMSNORM_INVALID_ARGUMENT,
        "there is no folder for the cache: none is given, and HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME are not "
        "set");
    const size_t size = strlen(folder) + strlen(rest) + 1;
    *cache = malloc(size);
    RMSNORM_CHECK(*cache != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for the path of the cache");
    (void)snprintf(*cache, size, "%s%s", folder, rest);
    return RMSNORM_OK;
}

static rmsnorm_status choose_token(const char *given, const char **token)
{
    const char *const found = given != NULL ? given : variable("HF_TOKEN");
    *token = found != NULL && found[0] != '\0' ? found : NULL;
    for (const char *at = *token; at != NULL && *at != '\0'; ++at) {
        RMSNORM_CHECK(*at > ' ' && *at <= '~', RMSNORM_INVALID_ARGUMENT,
                      "the token for the Hub has a space, a control character or a letter beyond ASCII in it");
    }
    return RMSNORM_OK;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

rmsnorm_status rmsnorm_hub_settings_make(const char *name, const rmsnorm_fetch_options *options,
                                         rmsnorm_hub_settings *settings)
{
    static const rmsnorm_fetch_options defaults = RMSNORM_FETCH_OPTIONS_INIT;
    rmsnorm_fetch_options ours = defaults;
    *settings = (rmsnorm_hub_settings){.name = name};
    RMSNORM_TRY(check_name(name));
    if (options != NULL) {
        RMSNORM_CHECK(options->struct_size >= sizeof options->struct_size, RMSNORM_INVALID_ARGUMENT,
                      "%s: options.struct_size is %zu; allowed: sizeof(rmsnorm_fetch_options): start from "
                      "RMSNORM_FETCH_OPTIONS_INIT",
                      name, options->struct_size);
        memcpy(&ours, options, lesser(options->struct_size, sizeof ours));
    }
    const char *const endpoint = ours.endpoint != NULL ? ours.endpoint : variable("HF_ENDPOINT");
    settings->endpoint = endpoint != NULL ? endpoint : PUBLIC_HUB;
    settings->offline = ours.offline || is_on("HF_HUB_OFFLINE");
    settings->timeout_ms = ours.timeout_ms != 0 ? ours.timeout_ms : defaults.timeout_ms;
    settings->retries = (uint32_t)lesser(ours.retries, 16);
    settings->max_file_size = lesser(ours.max_file_size, defaults.max_file_size);
    settings->max_size = lesser(ours.max_size, defaults.max_size);
    settings->progress = ours.progress;
    settings->context = ours.context;
    RMSNORM_TRY(choose_revision(&ours, settings));
    RMSNORM_TRY(choose_token(ours.token, &settings->token));
    return choose_cache(ours.cache, &settings->cache);
}

void rmsnorm_hub_settings_release(rmsnorm_hub_settings *settings)
{
    free(settings->cache);
}

rmsnorm_status rmsnorm_hub_report(const rmsnorm_hub_settings *settings, const char *file, uint64_t done, uint64_t size)
{
    RMSNORM_CHECK(settings->progress == NULL || settings->progress(settings->context, file, done, size),
                  RMSNORM_CANCELLED, "%s: fetching was cancelled", settings->name);
    return RMSNORM_OK;
}

uint64_t rmsnorm_hub_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

rmsnorm_status rmsnorm_hub_pause(const rmsnorm_hub_settings *settings, uint64_t milliseconds)
{
    const uint64_t end = rmsnorm_hub_now() + milliseconds;
    for (uint64_t now = rmsnorm_hub_now(); now < end; now = rmsnorm_hub_now()) {
        const struct timespec step = {.tv_nsec = (long)lesser(end - now, 50) * 1000000};
        RMSNORM_TRY(rmsnorm_hub_report(settings, "", 0, 0));
        (void)nanosleep(&step, NULL);
    }
    return RMSNORM_OK;
}
