#include "fuzz/package.h"

static const char manifest[] = "{\"domain\": \"com.example\", \"name\": \"Scale\", \"sinceVersion\": 1,"
                               "\"typeConstraints\": {\"T\": [\"float32\"]},"
                               "\"inputs\": {\"x\": {\"onnx\": \"X\", \"dtype\": \"T\"}},"
                               "\"outputs\": {\"y\": {\"onnx\": \"Y\", \"dtype\": \"T\", \"shape\": \"x.shape\"}},"
                               "\"variants\": [{\"name\": \"v\", \"passes\": [{\"template\": \"copy.wgsl.jinja\","
                               "\"rows\": 1, \"workgroups\": 1,"
                               "\"bindings\": [{\"name\": \"x\", \"tensor\": \"x\", \"access\": \"read\"}]}]}]}";

/* As it is, and with the digests made right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const rmsnorm_package_file files[] = {{"manifest.json", manifest, sizeof manifest - 1},
                                          {"metadata.json", data, size}};
    rmsnorm_package *package;
    const rmsnorm_status status = rmsnorm_package_open_files(files, 2, &package);
    FUZZ_CHECK((status == RMSNORM_OK) == (package != NULL));
    if (status != RMSNORM_OK) {
        fuzz_check_refusal(status);
    }
    rmsnorm_package_close(package);
    package = fuzz_open(manifest, sizeof manifest - 1, data, size);
    if (package != NULL) {
        rmsnorm_package_info info;
        rmsnorm_package_describe(package, &info);
        FUZZ_CHECK(strcmp(info.name, "com.example.Scale") == 0);
        FUZZ_CHECK(strncmp(info.id, "_com_example_scale_webgpu_", 26) == 0 && strlen(info.id) == 33);
        FUZZ_CHECK(info.version >= 1);
        rmsnorm_package_close(package);
    }
    return 0;
}
