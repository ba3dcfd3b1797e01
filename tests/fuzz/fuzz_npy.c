#include "fuzz/fuzz.h"
#include "graph/npy.h"

static rmsnorm_status read_plain(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name)
{
    return rmsnorm_npy_read(source, false, tensor, name);
}

static rmsnorm_status read_bfloat16(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name)
{
    return rmsnorm_npy_read(source, true, tensor, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int bfloat16 = 0; bfloat16 < 2; bfloat16++) {
        rmsnorm_source source = rmsnorm_source_memory("FILE", data, size);
        rmsnorm_tensor tensor;
        const char *name;
        const rmsnorm_status status = rmsnorm_npy_read(&source, bfloat16 != 0, &tensor, &name);
        fuzz_check_status(status);
        if (status == RMSNORM_OK) {
            uint8_t *header;
            size_t header_size;
            fuzz_check_tensor(&tensor);
            FUZZ_CHECK(rmsnorm_npy_header_write("FILE", bfloat16 != 0, &tensor, &header, &header_size) == RMSNORM_OK);
            fuzz_check_again(&tensor, header, header_size, bfloat16 != 0 ? read_bfloat16 : read_plain);
            rmsnorm_tensor_file_release(&tensor);
        }
    }
    return 0;
}
