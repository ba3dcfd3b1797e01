/* operand.c: an input on the command line. */
#define _POSIX_C_SOURCE 200809L

#include "operand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "descriptor.h"
#include "element.h"
#include "rmsnorm/graph.h"
#include "text.h"

static const char prefix[] = "random:";

/* SplitMix64's output function over a counter (Steele, Lea, Flood 2014): element i depends on the seed and i alone. */
static uint64_t mix(uint64_t state)
{
    state = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ (state >> 27)) * UINT64_C(0x94d049bb133111eb);
    return state ^ (state >> 31);
}

/* The sum of four uniform 16-bit numbers, centred and divided by its standard deviation sqrt((2^32 - 1) / 3): close to normal
 * within +-3.46, and without a libm call that could differ from machine to machine. */
static double draw(uint64_t seed, uint64_t index)
{
    const uint64_t bits = mix(mix(seed) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
    const uint64_t sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
    return ((double)sum - 131070.0) * (1.0 / 37837.22723720648);
}

/* Bytes of this machine's memory; a tensor beyond it is refused before an allocation that may be granted and never met. */
static uint64_t memory_size(void)
{
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) {
        return (uint64_t)pages * (uint64_t)page;
    }
#endif
    return SIZE_MAX;
}

static int make(const char *what, char *text, uint64_t seed, rmsnorm_cli_operand *operand)
{
    rmsnorm_tensor *tensor = &operand->tensor;
    char *end = strchr(text, ':');
    char *seed_text = end == NULL ? NULL : strchr(end + 1, ':');
    long long number;
    if (seed_text != NULL) {
        *seed_text++ = '\0';
        if (!rmsnorm_cli_integer(seed_text, 0, INT64_MAX, &number)) {
            return rmsnorm_cli_fail("%s: the seed is '%s', allowed are whole numbers from 0", what, seed_text);
        }
        seed = (uint64_t)number;
    }
    if (rmsnorm_cli_descriptor_parse(what, text, false, tensor) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const int64_t count = rmsnorm_tensor_count(tensor);
    char shape[RMSNORM_CLI_SHAPE];
    if (count < 0) {
        return rmsnorm_cli_fail("%s: a %s tensor %s has more bytes than 64 bits can count", what,
                                rmsnorm_dtype_name(tensor->dtype), rmsnorm_cli_shape(tensor, shape));
    }
    const size_t size = (size_t)count * rmsnorm_dtype_size(tensor->dtype);
    tensor->data = size <= memory_size() ? malloc(size > 0 ? size : 1) : NULL;
    if (tensor->data == NULL) {
        return rmsnorm_cli_fail("%s: no memory for a %s tensor %s of %zu bytes", what,
                                rmsnorm_dtype_name(tensor->dtype), rmsnorm_cli_shape(tensor, shape), size);
    }
    for (int64_t i = 0; i < count; ++i) {
        rmsnorm_cli_element_store(tensor, i, draw(seed, (uint64_t)i));
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_operand_read(const char *what, const char *spec, size_t position, rmsnorm_cli_operand *operand)
{
    *operand = (rmsnorm_cli_operand){.name = ""};
    if (strncmp(spec, prefix, sizeof prefix - 1) != 0) {
        if (rmsnorm_tensor_read(spec, &operand->tensor, &operand->name) != RMSNORM_OK) {
            return rmsnorm_cli_fail("%s: %s", what, rmsnorm_last_error());
        }
        operand->read = true;
        return RMSNORM_CLI_DONE;
    }
    operand->made = true;
    const size_t size = strlen(spec) + 1;
    char *text = rmsnorm_cli_allocate(size, 1);
    memcpy(text, spec, size);
    const int code = make(what, text + sizeof prefix - 1, position, operand);
    free(text);
    return code;
}

void rmsnorm_cli_operand_release(rmsnorm_cli_operand *operand)
{
    if (operand->made) {
        free(operand->tensor.data);
    } else if (operand->read) {
        rmsnorm_tensor_file_release(&operand->tensor);
    }
    *operand = (rmsnorm_cli_operand){.name = ""};
}

static bool is_stdin(const char *word)
{
    return word != NULL && (strcmp(word, "-") == 0 || strcmp(word, "-:bfloat16") == 0);
}

int rmsnorm_cli_stdin_check(const char *first, const char *const *words, size_t count)
{
    int uses = is_stdin(first);
    for (size_t i = 0; i < count; ++i) {
        uses += is_stdin(words[i]);
    }
    return uses < 2 ? RMSNORM_CLI_DONE
                    : rmsnorm_cli_fail("'-' is given %d times as an input, standard input can be read once", uses);
}
