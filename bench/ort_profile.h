/* ort_profile.h: times by kind of node out of ONNX Runtime's profile. */
#ifndef RMSNORM_BENCH_ORT_PROFILE_H
#define RMSNORM_BENCH_ORT_PROFILE_H

#include "ort_model.h"

/* Reads the profile of `runs` runs, after one that does not count. */
bool bench_profile_read(const char *path, size_t runs, bench_model_kind *kinds, size_t *count, char why[256]);

#endif
