#define _GNU_SOURCE /* memfd_create */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/descriptor.h"
#include "cli/device.h"
#include "fuzz/stop.h"
#include "rmsnorm/rmsnorm.h"

/* Of the library or of the command. */
static void check_sentence(const char *sentence)
{
    FUZZ_CHECK(sentence[0] != '\0' && strpbrk(sentence, "\r\n\t\033") == NULL);
}

static char *text_of(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A type has two names, "float32" is float; of the rest, a name that is known is spelled as the answer is. */
static void check_names(const char *text)
{
    const rmsnorm_dtype dtype = rmsnorm_dtype_from_name(text);
    FUZZ_CHECK(dtype == RMSNORM_UNDEFINED || rmsnorm_dtype_from_name(rmsnorm_dtype_name(dtype)) == dtype);
    rmsnorm_isa isa;
    if (rmsnorm_isa_from_name(text, &isa) == RMSNORM_OK) {
        FUZZ_CHECK(strcmp(rmsnorm_isa_name(isa), text) == 0);
    } else {
        check_sentence(rmsnorm_last_error());
    }
    const rmsnorm_operator *const op = rmsnorm_operator_parse(text);
    if (op != NULL) {
        const size_t length = strlen(text), own = strlen(op->name);
        FUZZ_CHECK(length >= own && strcmp(text + length - own, op->name) == 0);
    } else {
        check_sentence(rmsnorm_last_error());
    }
}

/* What is accepted can be checked, and what is refused changes nothing. */
static void check_assignment(const char *text)
{
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
        rmsnorm_attributes attributes;
        rmsnorm_attributes_init(op, &attributes);
        const rmsnorm_attributes before = attributes;
        if (rmsnorm_attributes_parse(op, &attributes, text) == RMSNORM_OK) {
            FUZZ_CHECK(strchr(text, '=') != NULL && !isnan(attributes.epsilon));
        } else {
            check_sentence(rmsnorm_last_error());
            FUZZ_CHECK(attributes.axis == before.axis && attributes.stash_type == before.stash_type);
        }
    }
}

static void check_descriptor(const char *text, bool symbolic)
{
    char *const copy = text_of((const uint8_t *)text, strlen(text));
    rmsnorm_tensor tensor;
    if (rmsnorm_cli_descriptor_parse("--input", copy, symbolic, &tensor) == RMSNORM_CLI_DONE) {
        FUZZ_CHECK(tensor.rank >= (symbolic ? RMSNORM_UNKNOWN : 0) && tensor.rank <= RMSNORM_MAX_RANK);
        for (int32_t i = 0; i < tensor.rank; i++) {
            FUZZ_CHECK(tensor.dims[i] >= (symbolic ? RMSNORM_UNKNOWN : 0));
            FUZZ_CHECK(tensor.dim_names[i] == NULL || (symbolic && strlen(tensor.dim_names[i]) > 0));
        }
    } else {
        check_sentence(rmsnorm_cli_sentence());
    }
    free(copy);
}

static void check_profile(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    file = file >= 0 ? file : memfd_create("device", MFD_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    FUZZ_CHECK(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    rmsnorm_device_profile profile = RMSNORM_DEVICE_PROFILE_INIT;
    if (rmsnorm_cli_device_read(path, &profile) != RMSNORM_CLI_DONE) {
        check_sentence(rmsnorm_cli_sentence());
    }
}

static void check_device(const char *text)
{
    rmsnorm_device_profile profile = RMSNORM_DEVICE_PROFILE_INIT;
    if (rmsnorm_cli_device_limit(text, &profile) != RMSNORM_CLI_DONE) {
        check_sentence(rmsnorm_cli_sentence());
    }
    if (rmsnorm_cli_device_feature(text, &profile) != RMSNORM_CLI_DONE) {
        check_sentence(rmsnorm_cli_sentence());
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{') {
        check_profile(data, size);
        return 0;
    }
    char *const text = text_of(data, size);
    check_names(text);
    check_assignment(text);
    check_descriptor(text, false);
    check_descriptor(text, true);
    check_device(text);
    free(text);
    return 0;
}
