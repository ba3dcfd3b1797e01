/* ort_library.h: ONNX Runtime's library, found and loaded at run time, and what its calls say. */
#ifndef RMSNORM_BENCH_ORT_LIBRARY_H
#define RMSNORM_BENCH_ORT_LIBRARY_H

#include <onnxruntime_c_api.h>
#include <stdbool.h>

/* The library is that of the environment's RMSNORM_ORT_LIBRARY, else the system's libonnxruntime.so.1. It stays loaded for good:
 * its threads may not be gone yet when a session is closed. version, unless NULL, becomes "1.30.0". NULL: a sentence is in `why`. */
const OrtApi *bench_ort_load(const char **version, char why[256]);

/* The sentence of a failure into `why`; true without one. Takes the status. */
bool bench_ort_check(const OrtApi *api, OrtStatus *status, char why[256]);

#endif
