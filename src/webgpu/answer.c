/* answer.c: bounded waiting. The instance is polled: waiting with a timeout inside the library is optional there. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime, nanosleep */

#include "webgpu/answer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "operator/error.h"
#include "operator/text.h"

/* Polls without a sleep at first: most answers come within microseconds. Then sleeps that grow to MOST_NS. */
#define SPIN_NS 200000
#define MOST_NS 1000000

rmsnorm_answer *rmsnorm_answer_new(void)
{
    rmsnorm_answer *const answer = calloc(1, sizeof *answer);
    if (answer == NULL) {
        rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
        return NULL;
    }
    atomic_init(&answer->owners, 2);
    atomic_init(&answer->done, false);
    return answer;
}

void rmsnorm_answer_drop(rmsnorm_answer *answer)
{
    if (atomic_fetch_sub(&answer->owners, 1) == 1) {
        free(answer);
    }
}

void rmsnorm_answer_text(char *to, size_t size, WGPUStringView from)
{
    const size_t length = from.data == NULL ? 0 : from.length == WGPU_STRLEN ? strlen(from.data) : from.length;
    const size_t kept = length < size - 1 ? length : size - 1;
    if (kept > 0) {
        memcpy(to, from.data, kept);
    }
    to[kept] = '\0';
    for (size_t i = 0; i < kept; i++) {
        if (to[i] == '\n' || to[i] == '\t') {
            to[i] = ' ';
        }
    }
    rmsnorm_text_clean(to);
}

void rmsnorm_answer_give(rmsnorm_answer *answer, int status, int kind, void *object, WGPUStringView text)
{
    answer->status = status;
    answer->kind = kind;
    answer->object = object;
    rmsnorm_answer_text(answer->text, sizeof answer->text, text);
    atomic_store(&answer->done, true);
    rmsnorm_answer_drop(answer);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

rmsnorm_status rmsnorm_answer_wait(const rmsnorm_webgpu_functions *functions, WGPUInstance instance,
                                   rmsnorm_answer *answer, uint32_t timeout, void (*pause)(void *user),
                                   void (*resume)(void *user), void *user)
{
    const uint64_t start = now_ns();
    long sleep = 10000;
    for (;;) {
        functions->InstanceProcessEvents(instance);
        if (atomic_load(&answer->done)) {
            return RMSNORM_OK;
        }
        const uint64_t waited = now_ns() - start;
        if (waited > (uint64_t)timeout * 1000000) {
            return rmsnorm_fail(RMSNORM_TIMED_OUT, "WebGPU: no answer from the device within %u ms", (unsigned)timeout);
        }
        if (pause != NULL) {
            pause(user);
        }
        if (waited > SPIN_NS) {
            const struct timespec length = {0, sleep};
            nanosleep(&length, NULL);
            sleep = sleep < MOST_NS / 2 ? 2 * sleep : MOST_NS;
        }
        if (resume != NULL) {
            resume(user);
        }
    }
}
