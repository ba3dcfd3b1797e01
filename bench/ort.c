/* ort.c: ONNX Runtime's CPU provider. Its workers stop spinning at the end of a call ("session.force_spinning_stop"), so that they
 * do not take the cores from the contender that follows. */
#include <stdlib.h>

#include "ort_session.h"

static bool configure(const bench_ort_session *session, const bench_case *what, char why[256])
{
    BENCH_ORT_TRY(session->api->SetIntraOpNumThreads(session->options, (int)what->threads));
    BENCH_ORT_TRY(session->api->AddSessionConfigEntry(session->options, "session.force_spinning_stop", "1"));
    return true;
}

static bool prepare(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    bench_ort_session *const session = calloc(1, sizeof *session);
    *user = session;
    snprintf(why, 256, "out of memory");
    return session != NULL && bench_ort_open(session, what, data, configure, why);
}

static bool call(void *user)
{
    char why[256];
    return bench_ort_run(user, why);
}

static void release(void *user)
{
    bench_ort_close(user);
    free(user);
}

const bench_contender bench_ort = {"ONNX Runtime", prepare, call, release};
