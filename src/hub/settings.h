/* settings.h: what a fetch was asked for, with the environment's words filled in and everything checked. */
#ifndef RMSNORM_HUB_SETTINGS_H
#define RMSNORM_HUB_SETTINGS_H

#include "operator/error.h"
#include "rmsnorm/hub.h"

typedef struct rmsnorm_hub_settings {
    const char *name; /* "org/name" */
    int64_t version;  /* 0 where the commit is given */
    char branch[24];  /* "v1"; "" where the commit is given */
    char commit[RMSNORM_COMMIT_TEXT];
    const char *endpoint, *token; /* token NULL: none */
    char *cache;                  /* owned */
    bool offline;
    uint32_t timeout_ms, retries;
    uint64_t max_file_size, max_size;
    rmsnorm_fetch_progress *progress;
    void *context;
} rmsnorm_hub_settings;

rmsnorm_status rmsnorm_hub_settings_make(const char *name, const rmsnorm_fetch_options *options,
                                         rmsnorm_hub_settings *settings);
void rmsnorm_hub_settings_release(rmsnorm_hub_settings *settings);

/* Lower-case hex digits, count of them and nothing behind. */
bool rmsnorm_hub_is_hex(const char *text, size_t count);

/* Asks the caller whether to go on. */
rmsnorm_status rmsnorm_hub_report(const rmsnorm_hub_settings *settings, const char *file, uint64_t done, uint64_t size);

/* Sleeps, asking the caller in between. */
rmsnorm_status rmsnorm_hub_pause(const rmsnorm_hub_settings *settings, uint64_t milliseconds);

/* Milliseconds of a clock that only goes forward. */
uint64_t rmsnorm_hub_now(void);

#endif
