/* tune.c: rmsnorm tune: the fastest variants and tunables on a device, into the file that runs look them up in. */
#define _XOPEN_SOURCE 700

#include "tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "context.h"
#include "folder.h"
#include "gpu.h"
#include "signals.h"

enum { DEVICE = 1, ADAPTER, OUTPUT, SHAPE, TIME, AGAIN };

static const rmsnorm_cli_option options[] = {
    {DEVICE, 0, "device", "webgpu", "what is tuned: webgpu, the CPU needs none"},
    RMSNORM_CLI_GPU_ADAPTER(ADAPTER),
    {OUTPUT, 'o', "output", "FILE", "the tuning file (RMSNORM_TUNING, or rmsnorm/tuning.json in the user's cache)"},
    {SHAPE, 0, "shape", "ROWSxWIDTH", "these rows and width instead of the package's cases; may be repeated"},
    {TIME, 0, "time", "SECONDS", "begin nothing new after so long; what is finished is kept"},
    {AGAIN, 0, "again", NULL, "also what the file has already"},
};

static const rmsnorm_cli_usage usage = {
    .command = "tune",
    .synopsis = "--device webgpu [--output FILE] [--shape ROWSxWIDTH]... [PACKAGE|OPERATOR]...",
    .text =
        "Tries the variants of kernel packages (folders, or those of the operators that are built in: all of them when none is\n"
        "named) with the tunables of their bench.json, compares each result with the CPU's, times them beside the package's own\n"
        "choice, and keeps what is faster by more than noise in a file. Runs on the same adapter look there. The file is\n"
        "written after every case; what it has is not tried again, so that a tuning that was stopped goes on where it was.\n"
        "Exit code 1 if the package's own choice computes something wrong.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << SHAPE,
    .computes = true,
};

typedef struct request {
    rmsnorm_cli_gpu_words gpu;
    const char *output;
    rmsnorm_cli_list shapes, names;
    double seconds; /* 0: as long as it takes */
    bool again;
} request;

typedef struct session {
    const request *asked;
    rmsnorm_webgpu *webgpu;
    rmsnorm_adapter adapter;
    rmsnorm_tuning *tuning;
    rmsnorm_cli_context cpu;
    rmsnorm_cli_tune_source *sources;
    size_t source_count;
    rmsnorm_cli_tune_result *results;
    size_t count; /* of those that were begun */
    size_t total;
} session;

/* ---- Stopping and progress ------------------------------------------------------------------- */

static double deadline = INFINITY; /* of the one tuning that a process does */
static size_t case_count, case_index;

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool stopped(void)
{
    return rmsnorm_cli_signals_came() || now() > deadline;
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

static void show_progress(const rmsnorm_cli_tune_result *result, double default_us, double best_us)
{
    if (isatty(STDERR_FILENO)) {
        clear_progress();
        fprintf(stderr, "%zu/%zu  %s, %s: %zu tried, %.2f us, at first %.2f", case_index + 1, case_count,
                result->source->info.operator_name, result->what->name, result->tried, best_us, default_us);
    }
}

/* ---- Packages -------------------------------------------------------------------------------- */

static int add_source(session *all, rmsnorm_status status, rmsnorm_package *package)
{
    if (status != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    rmsnorm_cli_tune_source *const sources = rmsnorm_cli_allocate(all->source_count + 1, sizeof *sources);
    if (all->source_count > 0) {
        memcpy(sources, all->sources, all->source_count * sizeof *sources);
    }
    free(all->sources);
    all->sources = sources;
    rmsnorm_cli_tune_source *const source = &sources[all->source_count++];
    const int code = rmsnorm_cli_tune_source_open(package, &all->asked->shapes, source);
    all->total += source->case_count;
    return code;
}

static int add_operator(session *all, const rmsnorm_operator *op)
{
    rmsnorm_package *package = NULL;
    const rmsnorm_status status = rmsnorm_package_open_operator(op->domain, op->name, &package);
    return add_source(all, status, package);
}

static int add_folder(session *all, const char *folder)
{
    rmsnorm_cli_paths paths = {NULL, 0};
    int code = rmsnorm_cli_folder_find(folder, &paths);
    for (size_t i = 0; i < paths.count && code == RMSNORM_CLI_DONE; ++i) {
        rmsnorm_package *package = NULL;
        const rmsnorm_status status = rmsnorm_package_open(paths.items[i], &package);
        code = add_source(all, status, package);
    }
    rmsnorm_cli_paths_free(&paths);
    return code;
}

static int add_sources(session *all)
{
    const rmsnorm_cli_list *const names = &all->asked->names;
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; names->count == 0 && rmsnorm_operator_at(i) != NULL && code == RMSNORM_CLI_DONE; ++i) {
        code = add_operator(all, rmsnorm_operator_at(i));
    }
    for (size_t i = 0; i < names->count && code == RMSNORM_CLI_DONE; ++i) {
        struct stat status;
        if (stat(names->items[i], &status) == 0) {
            code = add_folder(all, names->items[i]);
        } else {
            const rmsnorm_operator *const op = rmsnorm_operator_parse(names->items[i]);
            code = op != NULL ? add_operator(all, op) : rmsnorm_cli_fail_library();
        }
    }
    return code;
}

/* ---- Tuning ---------------------------------------------------------------------------------- */

/* Whether the class is in the file; with --again: whether this tuning has put it there. */
static bool is_there(const session *all, rmsnorm_cli_tune_result *result)
{
    bool there = !all->asked->again;
    for (size_t i = 0; i < all->count && !there; ++i) {
        there = all->results[i].state == RMSNORM_CLI_TUNE_DONE &&
                strcmp(all->results[i].request_class, result->request_class) == 0;
    }
    return there && rmsnorm_tuning_find(all->tuning, &all->adapter, result->request_class, &result->choice);
}

static int name_class(rmsnorm_cli_tune_result *result)
{
    rmsnorm_request made = RMSNORM_REQUEST_INIT;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        made.inputs[i] = result->what->inputs[i].rank < 0 ? NULL : &result->what->inputs[i];
        made.wanted[i] = result->what->wanted[i];
    }
    return rmsnorm_tuning_class(result->source->package, &made, result->request_class, sizeof result->request_class) ==
                   RMSNORM_OK
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail_library();
}

static int save(const rmsnorm_tuning *tuning)
{
    const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(RMSNORM_CLI_NOTED);
    const rmsnorm_status status = rmsnorm_tuning_save(tuning);
    return rmsnorm_cli_signals_leave(before, status == RMSNORM_OK ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library());
}

static int tune_case(session *all, rmsnorm_cli_tune_result *result)
{
    static const rmsnorm_cli_tune_watch watch = {stopped, show_progress};
    rmsnorm_cli_tune_data data;
    int code = rmsnorm_cli_tune_data_open(all->webgpu, &all->cpu.options, result->source, result->what, &data);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_tune_search(&data, &watch, result);
    } else if (code == RMSNORM_CLI_NO) {
        result->state = RMSNORM_CLI_TUNE_SKIPPED;
        (void)snprintf(result->reason, sizeof result->reason, "%s", rmsnorm_cli_sentence());
        code = RMSNORM_CLI_DONE;
    }
    rmsnorm_cli_tune_data_close(&data);
    if (code == RMSNORM_CLI_DONE && result->state == RMSNORM_CLI_TUNE_DONE &&
        rmsnorm_tuning_put(all->tuning, &all->adapter, result->request_class, &result->choice) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    } else if (code == RMSNORM_CLI_DONE && result->state == RMSNORM_CLI_TUNE_DONE) {
        code = save(all->tuning);
    }
    return code;
}

static int tune_all(session *all)
{
    all->results = rmsnorm_cli_allocate(all->total, sizeof *all->results);
    case_count = all->total;
    for (size_t s = 0; s < all->source_count; ++s) {
        for (size_t i = 0; i < all->sources[s].case_count && !stopped(); ++i) {
            rmsnorm_cli_tune_result *const result = &all->results[all->count];
            result->source = &all->sources[s];
            result->what = &all->sources[s].cases[i];
            int code = name_class(result);
            if (code == RMSNORM_CLI_DONE && is_there(all, result)) {
                result->state = RMSNORM_CLI_TUNE_KEPT;
            } else if (code == RMSNORM_CLI_DONE) {
                code = tune_case(all, result);
                clear_progress();
            }
            if (code != RMSNORM_CLI_DONE) {
                return code;
            }
            case_index = ++all->count;
        }
    }
    return RMSNORM_CLI_DONE;
}

static int report(const session *all, bool json)
{
    const char *const path = rmsnorm_tuning_path(all->tuning);
    bool wrong = false;
    for (size_t i = 0; i < all->count; ++i) {
        wrong = wrong || all->results[i].state == RMSNORM_CLI_TUNE_WRONG;
    }
    (json ? rmsnorm_cli_tune_print_json : rmsnorm_cli_tune_print_text)(&all->adapter, path, all->results, all->count);
    if (rmsnorm_cli_signals_came()) {
        return rmsnorm_cli_fail("interrupted; what was finished is in %s, and the next tuning goes on from there",
                                path);
    }
    if (!json && all->count < all->total) {
        printf("the time is up: %zu of %zu cases were not begun\n", all->total - all->count, all->total);
    }
    return wrong ? RMSNORM_CLI_NO : RMSNORM_CLI_DONE;
}

static void close_session(session *all)
{
    for (size_t i = 0; i < all->count; ++i) {
        for (size_t k = 0; k < all->results[i].thrown_out_count; ++k) {
            free(all->results[i].thrown_out[k]);
        }
        free(all->results[i].thrown_out);
    }
    free(all->results);
    for (size_t i = 0; i < all->source_count; ++i) {
        rmsnorm_cli_tune_source_close(&all->sources[i]);
    }
    free(all->sources);
    rmsnorm_tuning_close(all->tuning);
    rmsnorm_webgpu_close(all->webgpu);
    rmsnorm_cli_context_close(&all->cpu);
}

static int tune(const request *asked, const rmsnorm_cli_args *args)
{
    session all = {.asked = asked};
    int code = rmsnorm_cli_context_open(args, &all.cpu);
    if (code == RMSNORM_CLI_DONE) {
        code = add_sources(&all);
    }
    if (code == RMSNORM_CLI_DONE && rmsnorm_tuning_open(asked->output, &all.tuning) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_gpu_open(asked->gpu.adapter, "", &all.webgpu);
    }
    if (code == RMSNORM_CLI_DONE) {
        rmsnorm_webgpu_describe(all.webgpu, &all.adapter);
        const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(RMSNORM_CLI_ASKED);
        code = tune_all(&all);
        (void)rmsnorm_cli_signals_enter(before); /* the report says what came of it */
    }
    if (code == RMSNORM_CLI_DONE) {
        code = report(&all, args->json);
    }
    close_session(&all);
    return code;
}

/* ---- The command line ------------------------------------------------------------------------ */

static int take(int id, const char *value, request *asked)
{
    char *end;
    switch (id) {
    case DEVICE:
        asked->gpu.device = value;
        return RMSNORM_CLI_DONE;
    case ADAPTER:
        asked->gpu.adapter = value;
        return RMSNORM_CLI_DONE;
    case OUTPUT:
        asked->output = value;
        return value[0] != '\0' ? RMSNORM_CLI_DONE : rmsnorm_cli_fail("--output is empty, a file's name is needed");
    case SHAPE:
        rmsnorm_cli_list_add(&asked->shapes, value);
        return RMSNORM_CLI_DONE;
    case TIME:
        asked->seconds = strtod(value, &end);
        return *end == '\0' && end != value && asked->seconds > 0 && asked->seconds <= 1e6
                   ? RMSNORM_CLI_DONE
                   : rmsnorm_cli_fail("--time is '%s', allowed is a number of seconds above 0, at most 1000000", value);
    case AGAIN:
        asked->again = true;
        return RMSNORM_CLI_DONE;
    default:
        rmsnorm_cli_list_add(&asked->names, value);
        return RMSNORM_CLI_DONE;
    }
}

static int start(const request *asked, const rmsnorm_cli_args *args)
{
    if (rmsnorm_cli_gpu_check(&asked->gpu, args) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (!rmsnorm_cli_gpu_wanted(&asked->gpu)) {
        return rmsnorm_cli_fail("tune is for GPUs, write rmsnorm tune --device webgpu");
    }
    deadline = asked->seconds > 0 ? now() + asked->seconds : (double)INFINITY;
    return tune(asked, args);
}

int rmsnorm_cli_tune(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    request asked = {.seconds = 0};
    const char *value;
    int code = RMSNORM_CLI_DONE;
    int id = RMSNORM_CLI_END;
    while (code == RMSNORM_CLI_DONE && (id = rmsnorm_cli_next(&args, &value)) >= 0) {
        code = take(id, value, &asked);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = id == RMSNORM_CLI_END ? start(&asked, &args) : rmsnorm_cli_stopped(id);
    }
    rmsnorm_cli_list_free(&asked.shapes);
    rmsnorm_cli_list_free(&asked.names);
    return code;
}
