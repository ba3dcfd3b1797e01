/* answer.h: what one asynchronous call of WebGPU will say, and how long it is waited for. */
#ifndef RMSNORM_WEBGPU_ANSWER_H
#define RMSNORM_WEBGPU_ANSWER_H

#include <stdatomic.h>

#include "webgpu/library.h"

/* Belongs to the one who waits and to the one who answers, who may come after the first has given up. */
typedef struct rmsnorm_answer {
    atomic_int owners;
    atomic_bool done;
    int status; /* of the call: 1 is success in every enumeration of webgpu.h */
    int kind;   /* WGPUErrorType of an error scope */
    void *object;
    char text[512];
} rmsnorm_answer;

/* With two owners; NULL when memory ends. */
rmsnorm_answer *rmsnorm_answer_new(void);
void rmsnorm_answer_drop(rmsnorm_answer *answer);

/* From the callback: stores what was said and drops the callback's share. */
void rmsnorm_answer_give(rmsnorm_answer *answer, int status, int kind, void *object, WGPUStringView text);

/* A string of webgpu.h into a buffer: cut, cleaned, one line. */
void rmsnorm_answer_text(char *to, size_t size, WGPUStringView from);

/* Lets the instance work until the answer is there. RMSNORM_TIMED_OUT after `timeout` milliseconds. `pause` and `resume`, with
 * `user`, are called around every sleep; both may be NULL. */
rmsnorm_status rmsnorm_answer_wait(const rmsnorm_webgpu_functions *functions, WGPUInstance instance,
                                   rmsnorm_answer *answer, uint32_t timeout, void (*pause)(void *user),
                                   void (*resume)(void *user), void *user);

#endif
