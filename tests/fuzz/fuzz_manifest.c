#include "fuzz/package.h"

#include <stdio.h>

static const char metadata[] = "{\"name\": \"%s.%s\", \"version\": 1, \"license\": \"MIT\","
                               "\"backend\": {\"type\": \"webgpu\"},"
                               "\"webgpu\": {\"manifestSpec\": \"rmsnorm-1\", \"opPath\": \"x\"}}";

/* What opens is planned, for one and for two inputs. Its expressions may fail and its passes be refused, in a sentence. */
static void plan(const rmsnorm_package *package)
{
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {3, 8}};
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    for (size_t i = 0; i < 2; ++i) {
        request.inputs[i] = &tensor;
        rmsnorm_plan *made = NULL;
        const rmsnorm_status status = rmsnorm_plan_make(package, &request, &made);
        FUZZ_CHECK((status == RMSNORM_OK) == (made != NULL));
        FUZZ_CHECK(strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
        if (status == RMSNORM_OK) {
            FUZZ_CHECK(made->pass_count == 0 || made->shader_count > 0);
            rmsnorm_plan_release(made);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Seeds are of many operators: the metadata follows the starter's name and those of kernels/. */
    static const char *const names[][2] = {{"com.example", "Scale"},
                                           {"ai.onnx", "RMSNormalization"},
                                           {"ai.onnx", "SimplifiedLayerNormalization"},
                                           {"com.microsoft", "SkipSimplifiedLayerNormalization"}};
    for (size_t i = 0; i < 4; ++i) {
        char text[sizeof metadata + 128];
        const int length = snprintf(text, sizeof text, metadata, names[i][0], names[i][1]);
        rmsnorm_package *package = fuzz_open(data, size, text, (size_t)length);
        if (package != NULL) {
            plan(package);
            rmsnorm_package_close(package);
            break;
        }
        if (strstr(rmsnorm_last_error(), "metadata.json: name is") == NULL) {
            break; /* another name would not help */
        }
    }
    return 0;
}
