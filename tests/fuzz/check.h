/* check.h: what every fuzzer needs, whatever it reads. */
#ifndef RMSNORM_TESTS_FUZZ_CHECK_H
#define RMSNORM_TESTS_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run, with the line, unless the condition holds; also in builds without asserts. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_stop(#condition, __FILE__, __LINE__))
void fuzz_stop(const char *condition, const char *file, int line);

#endif
