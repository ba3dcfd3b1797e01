/* device.h: a device in use, and how the room talks to it. Everything below expects the device's lock to be held. */
#ifndef RMSNORM_WEBGPU_DEVICE_H
#define RMSNORM_WEBGPU_DEVICE_H

#include <pthread.h>

#include "webgpu/answer.h"

enum { RMSNORM_WEBGPU_OPERATORS = 3, RMSNORM_WEBGPU_SCRATCH = 8 };

/* What the device said unasked. It says so from any thread, and may outlive us: shared like an answer. */
typedef struct rmsnorm_failure {
    pthread_mutex_t mutex;
    int owners;
    bool lost;
    char lost_text[512];
    rmsnorm_status error; /* RMSNORM_OK, or the first since it was last asked */
    char error_text[512];
} rmsnorm_failure;

/* With one owner; NULL when memory ends. */
rmsnorm_failure *rmsnorm_failure_new(void);
void rmsnorm_failure_share(rmsnorm_failure *failure);
void rmsnorm_failure_drop(rmsnorm_failure *failure);
void rmsnorm_failure_error(rmsnorm_failure *failure, WGPUErrorType type, WGPUStringView message);
void rmsnorm_failure_lost(rmsnorm_failure *failure, WGPUStringView message);
void rmsnorm_failure_forget(rmsnorm_failure *failure);

typedef struct rmsnorm_pipelines rmsnorm_pipelines;
typedef struct rmsnorm_programs rmsnorm_programs;

/* Buffers that nobody uses at the moment, the oldest first. */
typedef struct rmsnorm_spare_buffers {
    WGPUBuffer *items;
    size_t count, room;
    uint64_t bytes;
} rmsnorm_spare_buffers;

struct rmsnorm_webgpu {
    rmsnorm_webgpu_functions functions;
    WGPUInstance instance;
    WGPUDevice device;
    WGPUQueue queue;
    bool own; /* the device is ours, so that its errors come to us */
    uint32_t timeout;
    rmsnorm_adapter adapter;
    rmsnorm_failure *failure;
    pthread_mutex_t mutex;
    rmsnorm_spare_buffers spare;
    rmsnorm_pipelines *pipelines;
    rmsnorm_programs *programs;
    WGPUBuffer scratch[RMSNORM_WEBGPU_SCRATCH]; /* shared by all runs: the queue keeps them apart */
    rmsnorm_package *packages[RMSNORM_WEBGPU_OPERATORS];
    rmsnorm_tuning *tuning; /* NULL: none */
};

/* Lock, and check that the device is still there. On an error it is unlocked again. */
rmsnorm_status rmsnorm_webgpu_enter(rmsnorm_webgpu *webgpu);

/* Unlock. Where the call went well so far, what the device has said since it was last asked is its status. */
rmsnorm_status rmsnorm_webgpu_leave(rmsnorm_webgpu *webgpu, rmsnorm_status status);

/* What the device has said since it was last asked. */
rmsnorm_status rmsnorm_webgpu_report(rmsnorm_webgpu *webgpu);

/* The status for an answer that is a refusal: a loss when its words say so, which from then on all calls do. A device of the caller's
 * tells its loss in no other way. */
rmsnorm_status rmsnorm_webgpu_failed(rmsnorm_webgpu *webgpu, const char *what, const char *words);

/* Waits with the lock released in between. The answer is still to be dropped. */
rmsnorm_status rmsnorm_webgpu_await(rmsnorm_webgpu *webgpu, rmsnorm_answer *answer);

/* Around calls that make things: what the device has to say of them comes as the status of the end, as "WHAT: its words". */
void rmsnorm_webgpu_scope_begin(rmsnorm_webgpu *webgpu);
rmsnorm_status rmsnorm_webgpu_scope_end(rmsnorm_webgpu *webgpu, const char *what);

/* Until the queue has done all it was given. */
rmsnorm_status rmsnorm_webgpu_drain(rmsnorm_webgpu *webgpu);

#endif
