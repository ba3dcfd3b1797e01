#include "fuzz/fuzz.h"
#include "graph/safetensors.h"

static rmsnorm_status read_only_one(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name)
{
    return rmsnorm_safetensors_read(source, NULL, tensor, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const wanted[] = {NULL, "second"};
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_source source = rmsnorm_source_memory("FILE", data, size);
        rmsnorm_tensor tensor;
        const char *name;
        const rmsnorm_status status = rmsnorm_safetensors_read(&source, wanted[i], &tensor, &name);
        fuzz_check_status(status);
        if (status == RMSNORM_OK) {
            uint8_t *header;
            size_t header_size;
            fuzz_check_tensor(&tensor);
            FUZZ_CHECK(rmsnorm_safetensors_header_write("FILE", &tensor, name, &header, &header_size) == RMSNORM_OK);
            fuzz_check_again(&tensor, header, header_size, read_only_one);
            rmsnorm_tensor_file_release(&tensor);
        }
    }
    return 0;
}
