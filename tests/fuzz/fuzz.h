/* fuzz.h: what must hold whatever bytes a reader is given. */
#ifndef RMSNORM_TESTS_FUZZ_FUZZ_H
#define RMSNORM_TESTS_FUZZ_FUZZ_H

#include "fuzz/check.h"
#include "graph/source.h"
#include "rmsnorm/graph.h"

/* A refusal has one line, which names the file and does not blame the memory. */
void fuzz_check_status(rmsnorm_status status);

/* Every element can be read, memory is aligned, and the shape fits. */
void fuzz_check_tensor(const rmsnorm_tensor *tensor);

/* The tensor written as `header` and elements, and read back, is the same to the bit. */
typedef rmsnorm_status (*fuzz_reader)(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name);
void fuzz_check_again(const rmsnorm_tensor *tensor, uint8_t *header, size_t header_size, fuzz_reader read);

#endif
