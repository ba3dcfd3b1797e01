/* support.c: running the command and making its files. */
#define _XOPEN_SOURCE 700

#include "support.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rmsnorm/graph.h"

static char folder[512];
static char home[512];

int folder_make(void **state)
{
    (void)state;
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/rmsnorm-cli-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (getcwd(home, sizeof home) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return -1;
    }
    (void)unsetenv("RMSNORM_ISA");
    return setenv("RMSNORM", RMSNORM_COMMAND_PATH, 1);
}

int folder_remove(void **state)
{
    (void)state;
    outcome result = shell("rm -rf -- '%s'", folder);
    const int code = result.code;
    outcome_free(&result);
    return code == 0 ? chdir(home) : -1;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

/* The results lie beside the folder that the tests look into. */
outcome shell(const char *format, ...)
{
    static const char prelude[] = "rmsnorm() { \"$RMSNORM\" \"$@\"; }\n";
    char script[8192];
    char paths[2][600];
    (void)snprintf(paths[0], sizeof paths[0], "%s.out", folder);
    (void)snprintf(paths[1], sizeof paths[1], "%s.err", folder);
    va_list arguments;
    va_start(arguments, format);
    const int length = snprintf(script, sizeof script, "%s", prelude);
    const int rest = vsnprintf(script + length, sizeof script - (size_t)length, format, arguments);
    va_end(arguments);
    assert_true(rest >= 0 && (size_t)(length + rest) < sizeof script);
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "rb", stdin) != NULL && freopen(paths[0], "wb", stdout) != NULL &&
            freopen(paths[1], "wb", stderr) != NULL) {
            (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        }
        _exit(126);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    const outcome result = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(paths[0]),
                            read_file(paths[1])};
    (void)unlink(paths[0]);
    (void)unlink(paths[1]);
    return result;
}

void outcome_free(outcome *result)
{
    free(result->out);
    free(result->err);
}

static void expect_parts(const char *text, const char *const *parts)
{
    const char *from = text;
    for (size_t i = 0; parts[i] != NULL; ++i) {
        const char *found = strstr(from, parts[i]);
        if (found == NULL) {
            fail_msg("'%s' is not where it should be in:\n%s", parts[i], text);
        }
        from = found + strlen(parts[i]);
    }
}

void expect_done(outcome result, const char *const *parts)
{
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 0);
    expect_parts(result.out, parts);
    outcome_free(&result);
}

void expect_refused(outcome result, const char *const *parts)
{
    assert_string_equal(result.out, "");
    const char *end = strchr(result.err, '\n');
    if (strncmp(result.err, "rmsnorm: ", 9) != 0 || end == NULL || end[1] != '\0') {
        fail_msg("not one line of error:\n%s", result.err);
    }
    expect_parts(result.err, parts);
    assert_int_equal(result.code, 2);
    outcome_free(&result);
}

void run_done(const char *const *words)
{
    expect_done(shell("%s", words[0]), words + 1);
}

void run_refused(const char *const *words)
{
    expect_refused(shell("%s", words[0]), words + 1);
}

json_t *json_of(const char *script, int code)
{
    outcome result = shell("%s", script);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, code);
    json_error_t error;
    json_t *root = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        fail_msg("no JSON: line %d: %s\n%s", error.line, error.text, result.out);
    }
    outcome_free(&result);
    return root;
}

json_t *at(json_t *root, const char *path)
{
    char key[128];
    for (const char *next = path; *next != '\0';) {
        const size_t length = strcspn(next, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, next);
        root = json_is_array(root) ? json_array_get(root, strtoul(key, NULL, 10)) : json_object_get(root, key);
        if (root == NULL) {
            fail_msg("no '%s' in the JSON", path);
        }
        next += length + (next[length] == '.');
    }
    return root;
}

bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

size_t entry_count(const char *directory)
{
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(stream);
    return count;
}

void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static rmsnorm_tensor shaped(rmsnorm_dtype dtype, const char *dims)
{
    rmsnorm_tensor tensor = {.dtype = dtype};
    for (const char *next = dims; *next != '\0'; ++tensor.rank) {
        char *end;
        tensor.dims[tensor.rank] = strtoll(next, &end, 10);
        next = end + (*end == ',');
    }
    return tensor;
}

/* Values that dtype holds exactly: normal numbers, zeros, infinities, NaN. */
static void store(rmsnorm_dtype dtype, void *data, size_t index, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    uint16_t narrow = (uint16_t)(bits >> 16);
    switch (dtype) {
    case RMSNORM_DOUBLE:
        memcpy((char *)data + 8 * index, &value, 8);
        break;
    case RMSNORM_FLOAT:
        memcpy((char *)data + 4 * index, &single, 4);
        break;
    case RMSNORM_FLOAT16: {
        const uint32_t exponent = (bits >> 23) & 0xff;
        const uint32_t fraction = (bits >> 13) & 0x3ff;
        narrow = (uint16_t)((bits >> 16) & 0x8000);
        if (exponent == 0xff) {
            narrow = (uint16_t)(narrow | 0x7c00 | fraction);
        } else if (exponent != 0) {
            narrow = (uint16_t)(narrow | ((exponent - 112) << 10) | fraction);
        }
    }
    /* fall through */
    default:
        memcpy((char *)data + 2 * index, &narrow, 2);
        break;
    }
}

void write_tensor(const char *path, rmsnorm_dtype dtype, const char *dims, const double *values, size_t count)
{
    rmsnorm_tensor tensor = shaped(dtype, dims);
    assert_int_equal(rmsnorm_tensor_count(&tensor), count);
    tensor.data = calloc(count + 1, 8);
    assert_non_null(tensor.data);
    for (size_t i = 0; i < count; ++i) {
        store(dtype, tensor.data, i, values[i]);
    }
    if (rmsnorm_tensor_write(path, &tensor, NULL) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    free(tensor.data);
}

void expect_tensor(const char *path, rmsnorm_dtype dtype, const char *dims, const double *values, size_t count)
{
    rmsnorm_tensor tensor;
    const rmsnorm_tensor wanted = shaped(dtype, dims);
    if (rmsnorm_tensor_read(path, &tensor, NULL) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    assert_int_equal(tensor.dtype, dtype);
    assert_int_equal(tensor.rank, wanted.rank);
    assert_memory_equal(tensor.dims, wanted.dims, sizeof wanted.dims);
    assert_int_equal(rmsnorm_tensor_count(&tensor), count);
    void *data = calloc(count + 1, 8);
    assert_non_null(data);
    for (size_t i = 0; i < count; ++i) {
        store(dtype, data, i, values[i]);
    }
    assert_memory_equal(tensor.data, data, count * rmsnorm_dtype_size(dtype));
    free(data);
    rmsnorm_tensor_file_release(&tensor);
}
