/* device.c: turns at a device, and what it says of its troubles. */
#include "webgpu/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"

/* ---- Failures -------------------------------------------------------------------------------- */

rmsnorm_failure *rmsnorm_failure_new(void)
{
    rmsnorm_failure *const failure = calloc(1, sizeof *failure);
    if (failure == NULL) {
        rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
        return NULL;
    }
    pthread_mutex_init(&failure->mutex, NULL);
    failure->owners = 1;
    return failure;
}

void rmsnorm_failure_share(rmsnorm_failure *failure)
{
    pthread_mutex_lock(&failure->mutex);
    failure->owners++;
    pthread_mutex_unlock(&failure->mutex);
}

void rmsnorm_failure_drop(rmsnorm_failure *failure)
{
    pthread_mutex_lock(&failure->mutex);
    const int left = --failure->owners;
    pthread_mutex_unlock(&failure->mutex);
    if (left == 0) {
        pthread_mutex_destroy(&failure->mutex);
        free(failure);
    }
}

static rmsnorm_status status_of(WGPUErrorType type)
{
    return type == WGPUErrorType_OutOfMemory ? RMSNORM_OUT_OF_MEMORY : RMSNORM_DEVICE_FAILED;
}

void rmsnorm_failure_error(rmsnorm_failure *failure, WGPUErrorType type, WGPUStringView message)
{
    pthread_mutex_lock(&failure->mutex);
    if (failure->error == RMSNORM_OK) {
        failure->error = status_of(type);
        rmsnorm_answer_text(failure->error_text, sizeof failure->error_text, message);
    }
    pthread_mutex_unlock(&failure->mutex);
}

void rmsnorm_failure_lost(rmsnorm_failure *failure, WGPUStringView message)
{
    pthread_mutex_lock(&failure->mutex);
    failure->lost = true;
    rmsnorm_answer_text(failure->lost_text, sizeof failure->lost_text, message);
    pthread_mutex_unlock(&failure->mutex);
}

void rmsnorm_failure_forget(rmsnorm_failure *failure)
{
    pthread_mutex_lock(&failure->mutex);
    failure->lost = false;
    failure->error = RMSNORM_OK;
    pthread_mutex_unlock(&failure->mutex);
}

/* Reports it once; a loss for ever. */
static rmsnorm_status report(rmsnorm_failure *failure)
{
    rmsnorm_status status = RMSNORM_OK;
    pthread_mutex_lock(&failure->mutex);
    if (failure->lost) {
        status = rmsnorm_fail(RMSNORM_DEVICE_LOST, "WebGPU: the device was lost: %s", failure->lost_text);
    } else if (failure->error != RMSNORM_OK) {
        status = rmsnorm_fail(failure->error, "WebGPU: %s", failure->error_text);
        failure->error = RMSNORM_OK;
    }
    pthread_mutex_unlock(&failure->mutex);
    return status;
}

rmsnorm_status rmsnorm_webgpu_report(rmsnorm_webgpu *webgpu)
{
    return report(webgpu->failure);
}

rmsnorm_status rmsnorm_webgpu_failed(rmsnorm_webgpu *webgpu, const char *what, const char *words)
{
    if (strstr(words, "lost") != NULL || strstr(words, "Lost") != NULL) {
        rmsnorm_failure_lost(webgpu->failure, (WGPUStringView){words, strlen(words)});
        return report(webgpu->failure);
    }
    return rmsnorm_fail(RMSNORM_DEVICE_FAILED, "WebGPU: %s: %s", what, words);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_webgpu_enter(rmsnorm_webgpu *webgpu)
{
    pthread_mutex_lock(&webgpu->mutex);
    const rmsnorm_status status = report(webgpu->failure);
    if (status != RMSNORM_OK) {
        pthread_mutex_unlock(&webgpu->mutex);
    }
    return status;
}

rmsnorm_status rmsnorm_webgpu_leave(rmsnorm_webgpu *webgpu, rmsnorm_status status)
{
    const rmsnorm_status unasked = status == RMSNORM_OK ? report(webgpu->failure) : status;
    pthread_mutex_unlock(&webgpu->mutex);
    return unasked;
}

static void unlock(void *user)
{
    rmsnorm_webgpu *const webgpu = user;
    pthread_mutex_unlock(&webgpu->mutex);
}

static void lock(void *user)
{
    rmsnorm_webgpu *const webgpu = user;
    pthread_mutex_lock(&webgpu->mutex);
}

rmsnorm_status rmsnorm_webgpu_await(rmsnorm_webgpu *webgpu, rmsnorm_answer *answer)
{
    const rmsnorm_status status =
        rmsnorm_answer_wait(&webgpu->functions, webgpu->instance, answer, webgpu->timeout, unlock, lock, webgpu);
    if (status != RMSNORM_OK && report(webgpu->failure) == RMSNORM_DEVICE_LOST) {
        return RMSNORM_DEVICE_LOST; /* says more than that the time ran out */
    }
    return status;
}

/* ---- Error scopes ---------------------------------------------------------------------------- */

/* Popped in the opposite order. */
static const WGPUErrorFilter filters[] = {WGPUErrorFilter_Internal, WGPUErrorFilter_OutOfMemory,
                                          WGPUErrorFilter_Validation};
enum { FILTERS = sizeof filters / sizeof filters[0] };

void rmsnorm_webgpu_scope_begin(rmsnorm_webgpu *webgpu)
{
    for (size_t i = 0; i < FILTERS; i++) {
        webgpu->functions.DevicePushErrorScope(webgpu->device, filters[i]);
    }
}

static void on_scope(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void *first,
                     void *second)
{
    (void)second;
    if (first != NULL) {
        rmsnorm_answer_give(first, (int)status, (int)type, NULL, message);
    }
}

static rmsnorm_status pop(rmsnorm_webgpu *webgpu, const char *what)
{
    rmsnorm_answer *const answer = rmsnorm_answer_new();
    const WGPUPopErrorScopeCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_scope, .userdata1 = answer};
    /* Without an answer, too: a scope that stays would keep all later errors. */
    webgpu->functions.DevicePopErrorScope(webgpu->device, callback);
    if (answer == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    rmsnorm_status status = rmsnorm_answer_wait(&webgpu->functions, webgpu->instance, answer, webgpu->timeout, NULL,
                                                NULL, NULL); /* nobody else's errors into our scope: keep the lock */
    if (status == RMSNORM_OK && answer->status == WGPUPopErrorScopeStatus_Success &&
        answer->kind != WGPUErrorType_NoError) {
        status = answer->kind == WGPUErrorType_OutOfMemory
                     ? rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: %s: %s", what, answer->text)
                     : rmsnorm_webgpu_failed(webgpu, what, answer->text);
    } else if (status == RMSNORM_OK && answer->status != WGPUPopErrorScopeStatus_Success) {
        status = rmsnorm_fail(RMSNORM_DEVICE_LOST, "WebGPU: %s: the device was lost: %s", what, answer->text);
    }
    rmsnorm_answer_drop(answer);
    return status;
}

rmsnorm_status rmsnorm_webgpu_scope_end(rmsnorm_webgpu *webgpu, const char *what)
{
    rmsnorm_status first = RMSNORM_OK;
    for (size_t i = 0; i < FILTERS; i++) {
        const rmsnorm_status status = pop(webgpu, what);
        first = first == RMSNORM_OK ? status : first;
    }
    return first;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_webgpu_wait(rmsnorm_webgpu *webgpu)
{
    RMSNORM_CHECK(webgpu != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_webgpu_wait: webgpu is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    return rmsnorm_webgpu_leave(webgpu, rmsnorm_webgpu_drain(webgpu));
}
