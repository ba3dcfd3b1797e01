// main.cpp: ONNX files, from C++.
#include <cstdio>
#include <cstring>
#include <rmsnorm/graph.h>

int main(int argc, char **argv)
{
    rmsnorm_model *model = nullptr;
    const char *const path = argc > 1 ? argv[1] : "no-such-file.onnx";
    const rmsnorm_status status = rmsnorm_model_read(path, &model);
    if (status != RMSNORM_OK) {
        std::printf("%s\n", rmsnorm_last_error());
        return argc == 1 && std::strstr(rmsnorm_last_error(), path) != nullptr ? 0 : 1;
    }
    std::printf("%s: %zu nodes\n", path, rmsnorm_model_graph(model)->node_count);
    rmsnorm_model_free(model);
    return 0;
}
