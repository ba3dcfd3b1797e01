#include "fuzz/fuzz.h"
#include "graph/tensor_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rmsnorm_source source = rmsnorm_source_memory("FILE", data, size);
    rmsnorm_tensor tensor;
    const char *name;
    const rmsnorm_status status = rmsnorm_tensor_proto_read(&source, &tensor, &name);
    fuzz_check_status(status);
    if (status == RMSNORM_OK) {
        uint8_t *header;
        size_t header_size;
        fuzz_check_tensor(&tensor);
        FUZZ_CHECK(rmsnorm_tensor_proto_header_write("FILE", &tensor, name, &header, &header_size) == RMSNORM_OK);
        fuzz_check_again(&tensor, header, header_size, rmsnorm_tensor_proto_read);
        rmsnorm_tensor_file_release(&tensor);
    }
    return 0;
}
