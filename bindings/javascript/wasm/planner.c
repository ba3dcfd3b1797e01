#include "planner.h"

#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "request.h"

enum { MOST_FILES = 256 };

static struct {
    char *input;
    size_t room;
    rmsnorm_package_file files[MOST_FILES];
    char *texts[MOST_FILES]; /* name and data of each */
    size_t file_count;
    bool failed; /* a file was lost for want of memory, or there are too many */
    rmsnorm_js_text answer;
} own;

char *rmsnorm_js_input(size_t size)
{
    if (size >= own.room) {
        char *const larger = realloc(own.input, size + 1);
        if (larger == NULL) {
            return NULL;
        }
        own.input = larger;
        own.room = size + 1;
    }
    return own.input;
}

/* ---- Packages -------------------------------------------------------------------------------- */

void rmsnorm_js_file(size_t name, size_t size)
{
    char *const copy = own.file_count < MOST_FILES ? malloc(size + 1) : NULL;
    if (copy == NULL) {
        own.failed = true;
        return;
    }
    memcpy(copy, own.input, name);
    copy[name] = '\0';
    memcpy(copy + name + 1, own.input + name, size - name);
    own.texts[own.file_count] = copy;
    own.files[own.file_count++] = (rmsnorm_package_file){copy, copy + name + 1, size - name};
}

static rmsnorm_status open_files(rmsnorm_package **package)
{
    *package = NULL;
    const rmsnorm_status status =
        own.failed ? RMSNORM_OUT_OF_MEMORY : rmsnorm_package_open_verified(own.files, own.file_count, package);
    for (size_t i = 0; i < own.file_count; i++) {
        free(own.texts[i]);
    }
    own.file_count = 0;
    return status;
}

rmsnorm_package *rmsnorm_js_open(void)
{
    rmsnorm_package *package;
    own.answer.size = 0;
    own.answer.failed = false;
    const rmsnorm_status status = open_files(&package);
    if (status != RMSNORM_OK) {
        rmsnorm_js_write_refusal(&own.answer, status, own.failed ? "no memory for the package" : rmsnorm_last_error());
        own.failed = false;
        return NULL;
    }
    rmsnorm_package_info info;
    rmsnorm_package_describe(package, &info);
    rmsnorm_js_write_info(&own.answer, &info);
    return package;
}

void rmsnorm_js_close(rmsnorm_package *package)
{
    rmsnorm_package_close(package);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static void plan(const rmsnorm_package *package, const json_t *json)
{
    rmsnorm_package_info info;
    rmsnorm_js_request request;
    rmsnorm_plan *made;
    rmsnorm_package_describe(package, &info);
    rmsnorm_status status = rmsnorm_js_request_read(&info, json, &request);
    if (status != RMSNORM_OK) {
        rmsnorm_js_write_refusal(&own.answer, status, request.message);
        return;
    }
    status = rmsnorm_plan_make(package, &request.request, &made);
    if (status != RMSNORM_OK) {
        rmsnorm_js_write_refusal(&own.answer, status, rmsnorm_last_error());
        return;
    }
    rmsnorm_js_write_plan(&own.answer, &info, made);
    rmsnorm_plan_release(made);
}

void rmsnorm_js_plan(const rmsnorm_package *package, size_t size)
{
    json_error_t error;
    own.answer.size = 0;
    own.answer.failed = false;
    json_t *const json = json_loadb(own.input, size, 0, &error);
    if (json_is_object(json)) {
        plan(package, json);
    } else {
        rmsnorm_js_write_refusal(&own.answer, RMSNORM_INVALID_ARGUMENT, json == NULL ? error.text : "no object");
    }
    json_decref(json);
}

/* ---- Answers --------------------------------------------------------------------------------- */

const char *rmsnorm_js_answer(void)
{
    return own.answer.data;
}

size_t rmsnorm_js_answer_size(void)
{
    return own.answer.failed ? 0 : own.answer.size;
}
