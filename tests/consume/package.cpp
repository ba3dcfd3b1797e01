// package.cpp: a kernel package, from C++.
#include <cstdio>
#include <cstring>
#include <rmsnorm/package.h>

int main(int argc, char **argv)
{
    rmsnorm_package *package = nullptr;
    const char *const path = argc > 1 ? argv[1] : "no-such-package";
    if (rmsnorm_package_open(path, &package) != RMSNORM_OK) {
        std::printf("%s\n", rmsnorm_last_error());
        return argc == 1 && std::strstr(rmsnorm_last_error(), path) != nullptr ? 0 : 1;
    }
    rmsnorm_package_info info;
    rmsnorm_package_describe(package, &info);
    std::printf("%s: %zu inputs\n", info.id, info.input_count);
    rmsnorm_package_close(package);
    return 0;
}
