#define _GNU_SOURCE /* dladdr */

#include "webgpu/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "operator/text.h"
#include "webgpu/adapter.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#if defined(_WIN32)
static const char *const usual_names[] = {"webgpu_dawn.dll", "wgpu_native.dll"};
#elif defined(__APPLE__)
static const char *const usual_names[] = {"libwebgpu_dawn.dylib", "libwgpu_native.dylib"};
#else
static const char *const usual_names[] = {"libwebgpu_dawn.so", "libwebgpu.so", "libwgpu_native.so"};
#endif

/* A function's address as the system has it; the standard lets it be copied, not cast. */
typedef void (*function)(void);

static const char *const names[] = {
#define RMSNORM_WEBGPU_FUNCTION(name) "wgpu" #name,
#include "webgpu/functions.inc"
#undef RMSNORM_WEBGPU_FUNCTION
};

enum { FUNCTIONS = sizeof names / sizeof names[0] };

_Static_assert(sizeof(rmsnorm_webgpu_functions) == FUNCTIONS * sizeof(function), "one pointer for each name");

#if defined(_WIN32)
static void *load(const char *name)
{
    return LoadLibraryA(name);
}

static void *process(void)
{
    return GetModuleHandleA(NULL);
}

static void *find(void *library, const char *name)
{
    const FARPROC found = GetProcAddress(library, name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

static const char *reason(void)
{
    return "it could not be loaded";
}

static bool file_of(const void *address, char *path, size_t size)
{
    HMODULE module;
    if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            address, &module) ||
        GetModuleFileNameA(module, path, (DWORD)size) == 0) {
        snprintf(path, size, "unknown");
    }
    return GetLastError() != ERROR_INSUFFICIENT_BUFFER;
}
#else
static void *load(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *process(void)
{
    return dlopen(NULL, RTLD_NOW);
}

static void *find(void *library, const char *name)
{
    return dlsym(library, name);
}

static const char *reason(void)
{
    const char *const text = dlerror();
    return text == NULL ? "it could not be loaded" : text;
}

static bool file_of(const void *address, char *path, size_t size)
{
    Dl_info info;
    const bool known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
    const int length = snprintf(path, size, "%s", known ? info.dli_fname : "unknown");
    return length >= 0 && (size_t)length < size;
}
#endif

/* Fills the table; returns the name of a function that is not there, or NULL. */
static const char *fill(void *(*get)(void *user, const char *name), void *user, rmsnorm_webgpu_functions *functions)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        void *const address = get(user, names[i]);
        if (address == NULL) {
            return names[i];
        }
        memcpy((char *)functions + i * sizeof(function), &address, sizeof address);
    }
    return NULL;
}

/* A library that was asked for by name. */
static rmsnorm_status load_named(const char *name, const char *from, rmsnorm_webgpu_functions *functions)
{
    void *const library = load(name);
    RMSNORM_CHECK(library != NULL, RMSNORM_NOT_FOUND, "WebGPU: the library %s (from %s): %s", name, from, reason());
    const char *const absent = fill(find, library, functions);
    RMSNORM_CHECK(absent == NULL, RMSNORM_UNSUPPORTED,
                  "WebGPU: the library %s (from %s) has no %s; allowed: one with the C API of webgpu.h, as Dawn's",
                  name, from, absent);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_webgpu_load(const rmsnorm_webgpu_options *options, rmsnorm_webgpu_functions *functions)
{
    if (options->get_function != NULL) {
        const char *const absent = fill(options->get_function, options->user, functions);
        RMSNORM_CHECK(absent == NULL, RMSNORM_UNSUPPORTED, "WebGPU: options.get_function has no %s", absent);
        return RMSNORM_OK;
    }
    if (options->library != NULL) {
        return load_named(options->library, "the options", functions);
    }
    const char *const wanted = getenv("RMSNORM_WEBGPU_LIBRARY");
    if (wanted != NULL && wanted[0] != '\0') {
        return load_named(wanted, "RMSNORM_WEBGPU_LIBRARY", functions);
    }
    if (fill(find, process(), functions) == NULL) {
        return RMSNORM_OK;
    }
    char tried[256];
    rmsnorm_text text = {tried, sizeof tried, 0};
    for (size_t i = 0; i < sizeof usual_names / sizeof usual_names[0]; i++) {
        void *const library = load(usual_names[i]);
        if (library != NULL && fill(find, library, functions) == NULL) {
            return RMSNORM_OK;
        }
        rmsnorm_text_add(&text, "%s%s", i > 0 ? ", " : "", usual_names[i]);
    }
    return rmsnorm_fail(
        RMSNORM_NOT_FOUND,
        "WebGPU: no library found (tried %s); name one in RMSNORM_WEBGPU_LIBRARY, Dawn's or wgpu-native. "
        "The CPU needs none",
        tried);
}

rmsnorm_status rmsnorm_webgpu_library(const rmsnorm_webgpu_options *options, char *path, size_t size)
{
    rmsnorm_webgpu_options ours;
    rmsnorm_webgpu_functions functions;
    RMSNORM_CHECK(path != NULL && size > 0, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_library: path is NULL or size is 0; allowed: room for the name of a file");
    path[0] = '\0';
    RMSNORM_TRY(rmsnorm_webgpu_read_options(options, &ours));
    RMSNORM_TRY(rmsnorm_webgpu_load(&ours, &functions));
    const void *address;
    memcpy(&address, &functions.CreateInstance, sizeof address);
    RMSNORM_CHECK(file_of(address, path, size), RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_library: the name of the file is longer than the %zu bytes given", size);
    return RMSNORM_OK;
}
