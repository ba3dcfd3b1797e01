#define _GNU_SOURCE /* memfd_create */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/stop.h"
#include "rmsnorm/webgpu.h"

/* The input as a file; its name. */
static const char *keep(const uint8_t *data, size_t size)
{
    static char path[64];
    static int file = -1;
    if (file < 0) {
        file = memfd_create("tuning", MFD_CLOEXEC);
        FUZZ_CHECK(file >= 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    FUZZ_CHECK(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    return path;
}

static void check_choice(const rmsnorm_tuning_choice *choice)
{
    FUZZ_CHECK(memchr(choice->variant, '\0', sizeof choice->variant) != NULL);
    FUZZ_CHECK(choice->tunable_count <= RMSNORM_MAX_TUNABLES);
    for (size_t i = 0; i < choice->tunable_count; i++) {
        FUZZ_CHECK(memchr(choice->tunables[i].name, '\0', sizeof choice->tunables[i].name) != NULL);
    }
}

/* What is put can be found, whatever was there. */
static void check_again(rmsnorm_tuning *tuning, const rmsnorm_adapter *adapter)
{
    const rmsnorm_tuning_choice put = {.variant = "rows", .tunables = {{"N", 7}}, .tunable_count = 1, .seconds = 0.5};
    rmsnorm_tuning_choice choice;
    FUZZ_CHECK(rmsnorm_tuning_put(tuning, adapter, "c", &put) == RMSNORM_OK);
    FUZZ_CHECK(rmsnorm_tuning_find(tuning, adapter, "c", &choice));
    FUZZ_CHECK(strcmp(choice.variant, "rows") == 0 && choice.tunable_count == 1 && choice.tunables[0].value == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rmsnorm_adapter adapter = {.name = "a",
                                            .backend = "b",
                                            .driver = "d",
                                            .vendor_id = 1,
                                            .device_id = 2,
                                            .profile = {.shader_f16 = true, .subgroups = true}};
    rmsnorm_tuning *tuning = NULL;
    const rmsnorm_status status = rmsnorm_tuning_open(keep(data, size), &tuning);
    FUZZ_CHECK((status == RMSNORM_OK) == (tuning != NULL));
    if (status == RMSNORM_OK) {
        rmsnorm_tuning_choice choice;
        if (rmsnorm_tuning_find(tuning, &adapter, "c", &choice)) {
            check_choice(&choice);
        }
        check_again(tuning, &adapter);
        rmsnorm_tuning_close(tuning);
    } else {
        FUZZ_CHECK(status == RMSNORM_MALFORMED && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
    }
    return 0;
}
