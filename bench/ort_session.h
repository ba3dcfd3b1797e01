/* ort_session.h: ONNX Runtime through its C API, loaded at run time: a model of one node made in memory, a session, and its inputs and
 * outputs bound to the buffers of a case. What differs between providers is what a session is asked for. */
#ifndef RMSNORM_BENCH_ORT_SESSION_H
#define RMSNORM_BENCH_ORT_SESSION_H

#include "bench.h"
#include "ort_library.h"

#define BENCH_ORT_NODE "node" /* the name of the one node */

typedef struct bench_ort_session {
    const OrtApi *api;
    OrtEnv *env;
    OrtModel *model;
    OrtSessionOptions *options;
    OrtSession *session;
    OrtIoBinding *binding;
    OrtRunOptions *run_options;
} bench_ort_session;

/* Asks for a provider, threads, a profile: on session->options, before the session is made. */
typedef bool bench_ort_configure(const bench_ort_session *session, const bench_case *what, char why[256]);

/* false: a sentence is in `why`, and the session, zero before, is to be closed all the same. */
bool bench_ort_open(bench_ort_session *session, const bench_case *what, const bench_data *data,
                    bench_ort_configure *configure, char why[256]);
bool bench_ort_run(const bench_ort_session *session, char why[256]);
void bench_ort_close(bench_ort_session *session);

/* The sentence of a failure into `why`; true without one. Takes the status. */
bool bench_ort_good(const bench_ort_session *session, OrtStatus *status, char why[256]);

/* In a function that returns bool and has `session` and `why`. */
#define BENCH_ORT_TRY(expression)                          \
    do {                                                   \
        if (!bench_ort_good(session, (expression), why)) { \
            return false;                                  \
        }                                                  \
    } while (0)

#endif
