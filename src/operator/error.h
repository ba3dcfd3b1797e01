/* error.h: how every room reports a refusal: one sentence per thread, one macro at the border. */
#ifndef RMSNORM_OPERATOR_ERROR_H
#define RMSNORM_OPERATOR_ERROR_H

#include "rmsnorm/rmsnorm.h"

#if defined(__GNUC__)
#define RMSNORM_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define RMSNORM_COLD __attribute__((cold)) /* keeps the making of sentences out of the way of calls that succeed */
#else
#define RMSNORM_PRINTF(string, first)
#define RMSNORM_COLD
#endif

/* Stores the sentence (cut at 1023 bytes, control characters and invalid UTF-8 replaced by '?') and returns status. */
RMSNORM_API RMSNORM_COLD rmsnorm_status rmsnorm_fail(rmsnorm_status status, const char *format, ...)
    RMSNORM_PRINTF(2, 3);

#ifdef __clang_analyzer__ /* sees one file at a time: the status given is the status returned */
#define rmsnorm_fail(status, ...) (rmsnorm_fail((status), __VA_ARGS__), (status))
#endif

/* At the border only: RMSNORM_CHECK(axis < rank, RMSNORM_INVALID_ARGUMENT, "%s: axis is %d, ...", ...). */
#define RMSNORM_CHECK(condition, status, ...)           \
    do {                                                \
        if (!(condition)) {                             \
            return rmsnorm_fail((status), __VA_ARGS__); \
        }                                               \
    } while (0)

/* Passes a failure on. */
#define RMSNORM_TRY(expression)                          \
    do {                                                 \
        const rmsnorm_status try_status_ = (expression); \
        if (try_status_ != RMSNORM_OK) {                 \
            return try_status_;                          \
        }                                                \
    } while (0)

#endif
