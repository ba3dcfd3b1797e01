#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/package_cases.h"
#include "fuzz/kernels.h"

/* A case that is refused or fails says so in a sentence. */
static void check_answer(int code)
{
    FUZZ_CHECK(code == RMSNORM_CLI_DONE || code == RMSNORM_CLI_BAD || code == RMSNORM_CLI_NO);
    const char *const sentence = rmsnorm_cli_sentence();
    FUZZ_CHECK(code == RMSNORM_CLI_DONE || (sentence[0] != '\0' && strpbrk(sentence, "\r\n\t\033") == NULL));
}

/* Here everything runs on the CPU. */
int rmsnorm_cli_context_run(const rmsnorm_cli_context *context, const rmsnorm_operator *op,
                            const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs,
                            size_t input_count, rmsnorm_tensor *const *outputs, size_t output_count)
{
    (void)context;
    return rmsnorm_run_alloc(op, attributes, inputs, input_count, outputs, output_count, NULL) == RMSNORM_OK
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail_library();
}

static void run(const rmsnorm_cli_package_cases *cases)
{
    const rmsnorm_cli_context context = {.options = RMSNORM_OPTIONS_INIT, .threads = 1};
    const size_t count = rmsnorm_cli_package_cases_count(cases);
    FUZZ_CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        char *const name = rmsnorm_cli_package_cases_name(cases, i);
        FUZZ_CHECK(name[0] != '\0');
        free(name);
        rmsnorm_cli_results results;
        const int code = rmsnorm_cli_package_cases_run(cases, i, &context, &results);
        check_answer(code);
        FUZZ_CHECK(code != RMSNORM_CLI_DONE || results.count > 0);
        rmsnorm_cli_results_free(&results);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < FUZZ_KERNELS; i++) {
        rmsnorm_cli_package_cases *cases;
        const int code = rmsnorm_cli_package_cases_read("cases", fuzz_kernel(i), (const char *)data, size, &cases);
        check_answer(code);
        FUZZ_CHECK((code == RMSNORM_CLI_DONE) == (cases != NULL));
        if (cases != NULL) {
            run(cases);
        }
        rmsnorm_cli_package_cases_close(cases);
    }
    return 0;
}
