#define _XOPEN_SOURCE 700

#include "graph/support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t dims_2_3[] = {2, 3};

static rmsnorm_tensor small_tensor(void)
{
    static float values[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    return (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 3}, .data = values};
}

static void expect_small(const char *path)
{
    rmsnorm_tensor tensor;
    const char *name;
    const rmsnorm_tensor wanted = small_tensor();
    assert_int_equal(rmsnorm_tensor_read(path, &tensor, &name), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_FLOAT, dims_2_3, 2, wanted.data, 24);
    rmsnorm_tensor_file_release(&tensor);
    assert_null(tensor.data);
}

static void expect_round_trip(const char *path, const rmsnorm_tensor *tensor, size_t size, const char *wanted_name)
{
    rmsnorm_tensor back;
    const char *name = NULL;
    assert_int_equal(rmsnorm_tensor_write(path, tensor, "w"), RMSNORM_OK);
    assert_int_equal(rmsnorm_tensor_read(path, &back, &name), RMSNORM_OK);
    expect_tensor(&back, tensor->dtype, tensor->dims, tensor->rank, tensor->data, size);
    assert_string_equal(name, wanted_name);
    rmsnorm_tensor_file_release(&back);
}

static void test_every_bit_survives_a_round_trip(void **state)
{
    (void)state;
    /* 128 bytes, where protobuf's lengths take their second byte: NaNs with payloads, quiet and signalling, of both
     * signs, infinities, subnormals, zeros, for every element size. */
    uint64_t bits[] = {0x7ff4000000000001u, 0xfff8dead0000beefu, 0x7ff0000000000000u,
                       0x8000000000000000u, 0x7fa000017f800001u, 0xffc12345ff8fffffu,
                       0x7e017c01fe01fc01u, 0x7fc17f81ffc1ff81u, 1,
                       0x0000000100000001u, 0x0001000100010001u, 0,
                       0xfff0000000000000u, 0x3ff0000000000000u, 0x7bff00018000fc00u,
                       0x7f7f00018000ff80u};
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_DOUBLE, RMSNORM_BFLOAT16};
    for (size_t i = 0; i < 4; i++) {
        const int64_t items = (int64_t)(sizeof bits / rmsnorm_dtype_size(types[i]));
        const rmsnorm_tensor shapes[] = {
            {.dtype = types[i], .rank = 3, .dims = {2, 1, items / 2}, .data = bits},
            {.dtype = types[i], .rank = 1, .dims = {items}, .data = bits},
            {.dtype = types[i], .rank = 0, .data = bits},
            {.dtype = types[i], .rank = 2, .dims = {3, 0}, .data = NULL},
            {.dtype = types[i], .rank = 16, .dims = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, items}, .data = bits},
        };
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            const size_t size = (size_t)rmsnorm_tensor_count(&shapes[s]) * rmsnorm_dtype_size(types[i]);
            const bool bfloat16 = types[i] == RMSNORM_BFLOAT16;
            expect_round_trip(path_of(bfloat16 ? "t.npy:bfloat16" : "t.npy"), &shapes[s], size, "");
            expect_round_trip(path_of("t.pb"), &shapes[s], size, "w");
            expect_round_trip(path_of("t.safetensors:layer.0/w:x.pb"), &shapes[s], size, "layer.0/w:x.pb");
            expect_round_trip(path_of("u.safetensors"), &shapes[s], size, "w");
        }
    }
}

static void test_npy_is_what_numpy_writes(void **state)
{
    (void)state;
    static const struct {
        int32_t rank;
        int64_t dims[3];
        const char *shape;
    } cases[] = {{0, {0}, "()"}, {1, {3}, "(3,)"}, {2, {2, 3}, "(2, 3)"}, {3, {1, 0, 7}, "(1, 0, 7)"}};
    uint8_t data[64] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT16, .rank = cases[i].rank, .data = data};
        memcpy(tensor.dims, cases[i].dims, sizeof cases[i].dims);
        const char *const path = path_of("n.npy");
        assert_int_equal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_OK);
        bytes file = load(path);
        char dict[119];
        snprintf(dict, sizeof dict, "{'descr': '<f2', 'fortran_order': False, 'shape': %s, }", cases[i].shape);
        assert_true(file.size >= 128);
        assert_memory_equal(file.data, "\x93NUMPY\x01\x00\x76\x00", 10);
        assert_memory_equal(file.data + 10, dict, strlen(dict));
        for (size_t k = 10 + strlen(dict); k < 127; k++) {
            assert_int_equal(file.data[k], ' ');
        }
        assert_int_equal(file.data[127], '\n');
        release(&file);
    }
}

static void test_strided_rows_are_written_without_gaps(void **state)
{
    (void)state;
    /* More rows than fit one piece of the writer's, and one row longer than it. */
    static const int64_t shapes[][3] = {{1000, 2, 33}, {2, 1, 40000}, {5, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t rows = shapes[i][0] * shapes[i][1];
        const int64_t row = shapes[i][2];
        const int64_t stride = row + 3;
        float *const data = malloc((size_t)(rows * stride) * sizeof *data);
        float *const dense = malloc((size_t)(rows * row) * sizeof *dense);
        assert_true(data != NULL && dense != NULL);
        for (int64_t k = 0; k < rows * stride; k++) {
            data[k] = (float)k;
        }
        for (int64_t k = 0; k < rows * row; k++) {
            dense[k] = data[k / row * stride + k % row];
        }
        rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 3, .data = data, .row_stride = stride};
        memcpy(tensor.dims, shapes[i], sizeof shapes[i]);
        rmsnorm_tensor back;
        assert_int_equal(rmsnorm_tensor_write(path_of("s.pb"), &tensor, NULL), RMSNORM_OK);
        assert_int_equal(rmsnorm_tensor_read(path_of("s.pb"), &back, NULL), RMSNORM_OK);
        expect_tensor(&back, RMSNORM_FLOAT, shapes[i], 3, dense, (size_t)(rows * row) * sizeof *dense);
        rmsnorm_tensor_file_release(&back);
        free(data);
        free(dense);
    }
}

static void test_names_choose_the_format(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    static const char *const bad[] = {"x.onnx",        "x",     "x.npz",       "x.npy:float32",
                                      "x.pb:bfloat16", ".npyx", "x.safetensor"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refusal(rmsnorm_tensor_read(bad[i], &tensor, NULL), RMSNORM_INVALID_ARGUMENT,
                       "no name of a tensor file");
    }
    expect_refusal(rmsnorm_tensor_read("", &tensor, NULL), RMSNORM_INVALID_ARGUMENT, "name is empty");
    expect_refusal(rmsnorm_tensor_read(NULL, &tensor, NULL), RMSNORM_INVALID_ARGUMENT, "name is empty");
    expect_refusal(rmsnorm_tensor_read("x.npy", NULL, NULL), RMSNORM_INVALID_ARGUMENT, "tensor is NULL");
    expect_refusal(rmsnorm_tensor_read(path_of("absent.npy:bfloat16"), &tensor, NULL), RMSNORM_NOT_FOUND,
                   "absent.npy: cannot be opened");
    expect_refusal(rmsnorm_tensor_read(path_of("absent.safetensors:x"), &tensor, NULL), RMSNORM_NOT_FOUND,
                   "absent.safetensors: cannot be opened");
}

static void test_refuses_what_cannot_be_written(void **state)
{
    (void)state;
    const char *const path = path_of("never.npy");
    const size_t before = directory_count();
    rmsnorm_tensor tensor = small_tensor();
    tensor.dtype = RMSNORM_BFLOAT16;
    expect_refusal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_UNSUPPORTED,
                   "add :bfloat16 to its name for 2-byte items");
    tensor.dtype = RMSNORM_FLOAT;
    expect_refusal(rmsnorm_tensor_write(path_of("never.npy:bfloat16"), &tensor, NULL), RMSNORM_UNSUPPORTED,
                   "for bfloat16 tensors, this one is float");
    tensor.dtype = (rmsnorm_dtype)7;
    expect_refusal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_UNSUPPORTED, "type int64 are not written");
    tensor = small_tensor();
    tensor.row_stride = 2;
    expect_refusal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_INVALID_ARGUMENT, "row_stride 2");
    tensor = small_tensor();
    tensor.dims[0] = RMSNORM_UNKNOWN;
    expect_refusal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_INVALID_ARGUMENT, "no numeric shape");
    tensor = small_tensor();
    tensor.data = NULL;
    expect_refusal(rmsnorm_tensor_write(path, &tensor, NULL), RMSNORM_INVALID_ARGUMENT, "no data");
    expect_refusal(rmsnorm_tensor_write(path, NULL, NULL), RMSNORM_INVALID_ARGUMENT, "is NULL");
    tensor = small_tensor();
    expect_refusal(rmsnorm_tensor_write(path_of("never.pb"), &tensor, "\xff"), RMSNORM_INVALID_ARGUMENT, "UTF-8");
    expect_refusal(rmsnorm_tensor_write(path_of("no/such/never.npy"), &tensor, NULL), RMSNORM_IO, "cannot be created");
    assert_int_equal(mkdir(path_of("folder.npy"), 0777), 0);
    expect_refusal(rmsnorm_tensor_write(path_of("folder.npy"), &tensor, NULL), RMSNORM_IO, "is a directory");
    expect_refusal(rmsnorm_tensor_read(path_of("folder.npy"), &tensor, NULL), RMSNORM_IO, "is a directory");
    assert_int_equal(directory_count(), before + 1);
    assert_int_equal(rmdir(path_of("folder.npy")), 0);
}

static void test_devices_are_written_directly_and_full_ones_reported(void **state)
{
    (void)state;
    rmsnorm_tensor tensor = small_tensor();
    assert_int_equal(symlink("/dev/full", path_of("full.npy")), 0);
    assert_int_equal(symlink("/dev/null", path_of("null.pb")), 0);
    const size_t before = directory_count();
    expect_refusal(rmsnorm_tensor_write(path_of("full.npy"), &tensor, NULL), RMSNORM_IO, "cannot be written: No space");
    assert_int_equal(rmsnorm_tensor_write(path_of("null.pb"), &tensor, NULL), RMSNORM_OK);
    assert_int_equal(directory_count(), before);
    struct stat status;
    assert_int_equal(lstat(path_of("null.pb"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void test_a_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
    (void)state;
    rmsnorm_tensor tensor = small_tensor();
    static float many[4096];
    assert_int_equal(rmsnorm_tensor_write(path_of("kept.npy"), &tensor, NULL), RMSNORM_OK);
    const size_t before = directory_count();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* A disk that fills: no file may pass 4096 bytes. */
        const struct rlimit limit = {4096, 4096};
        signal(SIGXFSZ, SIG_IGN);
        const rmsnorm_tensor large = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {4096}, .data = many};
        const bool limited = setrlimit(RLIMIT_FSIZE, &limit) == 0;
        const rmsnorm_status status = rmsnorm_tensor_write(path_of("kept.npy"), &large, NULL);
        _exit(limited && status == RMSNORM_IO && strstr(rmsnorm_last_error(), "cannot be written") != NULL ? 0 : 1);
    }
    int result = 1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(directory_count(), before);
    expect_small(path_of("kept.npy"));
}

static void test_a_name_that_is_taken_is_not_written_beside(void **state)
{
    (void)state;
    char name[64];
    rmsnorm_tensor tensor = small_tensor();
    bytes other = {0};
    put_text(&other, "another's");
    snprintf(name, sizeof name, ".rmsnorm-%ld-0.part", (long)getpid());
    save(path_of(name), &other);
    assert_int_equal(rmsnorm_tensor_write(path_of("beside.npy"), &tensor, NULL), RMSNORM_OK);
    expect_small(path_of("beside.npy"));
    bytes kept = load(path_of(name));
    assert_int_equal(kept.size, other.size);
    assert_memory_equal(kept.data, other.data, other.size);
    release(&kept);
    release(&other);
}

static void test_a_replaced_file_keeps_its_permissions_and_links(void **state)
{
    (void)state;
    struct stat status;
    rmsnorm_tensor tensor = small_tensor();
    const mode_t mask = umask(022);
    assert_int_equal(rmsnorm_tensor_write(path_of("mode.npy"), &tensor, NULL), RMSNORM_OK);
    assert_int_equal(stat(path_of("mode.npy"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    umask(mask);
    assert_int_equal(chmod(path_of("mode.npy"), 0640), 0);
    assert_int_equal(symlink("mode.npy", path_of("link.npy")), 0);
    assert_int_equal(rmsnorm_tensor_write(path_of("link.npy"), &tensor, NULL), RMSNORM_OK);
    assert_int_equal(lstat(path_of("link.npy"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path_of("mode.npy"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    expect_small(path_of("mode.npy"));
    assert_int_equal(symlink("absent.npy", path_of("dangling.npy")), 0);
    assert_int_equal(rmsnorm_tensor_write(path_of("dangling.npy"), &tensor, NULL), RMSNORM_IO);
    assert_non_null(strstr(rmsnorm_last_error(), "dangling.npy: is a symbolic link that leads to no file"));
    assert_int_equal(lstat(path_of("dangling.npy"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void test_a_read_only_file_is_not_replaced(void **state)
{
    (void)state;
    rmsnorm_tensor tensor = small_tensor();
    assert_int_equal(rmsnorm_tensor_write(path_of("fixed.npy"), &tensor, NULL), RMSNORM_OK);
    assert_int_equal(chmod(path_of("fixed.npy"), 0444), 0);
    assert_int_equal(chmod(path_of("."), 0777), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool ordinary = geteuid() != 0 || setuid(65534) == 0; /* root may write everything */
        const rmsnorm_status status = rmsnorm_tensor_write(path_of("fixed.npy"), &tensor, NULL);
        _exit(ordinary && status == RMSNORM_IO ? 0 : 1);
    }
    int result = 1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

/* Sends the file through a pipe that is standard input, and reads it. */
static rmsnorm_status read_standard_input(const char *as, const bytes *file, rmsnorm_tensor *tensor)
{
    int ends[2];
    const int saved = dup(0);
    assert_true(saved >= 0 && pipe(ends) == 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        size_t sent = 0;
        close(ends[0]);
        while (sent < file->size) {
            /* In pieces, as a slow writer would. */
            const size_t step = file->size - sent < 700 ? file->size - sent : 700;
            const ssize_t count = write(ends[1], file->data + sent, step);
            if (count < 0) {
                _exit(0);
            }
            sent += (size_t)count;
        }
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(dup2(ends[0], 0), 0);
    close(ends[0]);
    const rmsnorm_status status = rmsnorm_tensor_read(as, tensor, NULL);
    assert_int_equal(dup2(saved, 0), 0);
    close(saved);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return status;
}

static void test_standard_input_may_be_a_pipe_of_any_format(void **state)
{
    (void)state;
    static float many[50000]; /* more than the first buffer of a stream */
    for (size_t i = 0; i < 50000; i++) {
        many[i] = (float)i;
    }
    const int64_t dim = 50000;
    static const char *const files[] = {"in.npy", "in.pb"};
    const rmsnorm_tensor large = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {50000}, .data = many};
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_tensor tensor;
        assert_int_equal(rmsnorm_tensor_write(path_of(files[i]), &large, NULL), RMSNORM_OK);
        bytes file = load(path_of(files[i]));
        assert_int_equal(read_standard_input("-", &file, &tensor), RMSNORM_OK);
        expect_tensor(&tensor, RMSNORM_FLOAT, &dim, 1, many, sizeof many);
        rmsnorm_tensor_file_release(&tensor);
        file.size -= 1;
        expect_refusal(read_standard_input("-", &file, &tensor), RMSNORM_MALFORMED, "standard input: ");
        file.size += 1;
        put(&file, "\x80", 1);
        expect_refusal(read_standard_input("-", &file, &tensor), RMSNORM_MALFORMED, "standard input: ");
        release(&file);
    }
    rmsnorm_tensor tensor;
    bytes empty = {0};
    expect_refusal(read_standard_input("-", &empty, &tensor), RMSNORM_MALFORMED, "standard input");
    bytes narrow = npy_file("{'descr': '<u2', 'fortran_order': False, 'shape': ()}", "\x80\x3f", 2);
    assert_int_equal(read_standard_input("-:bfloat16", &narrow, &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_BFLOAT16, NULL, 0, "\x80\x3f", 2);
    rmsnorm_tensor_file_release(&tensor);
    release(&narrow);
}

static void test_a_stream_that_claims_much_costs_little(void **state)
{
    (void)state;
    static const uint8_t thousand[1000];
    rmsnorm_tensor tensor;
    bytes file =
        npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296,)}", thousand, sizeof thousand);
    expect_refusal(read_standard_input("-", &file, &tensor), RMSNORM_MALFORMED, "needs 34359737368 more");
    release(&file);
    file = npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", NULL, 0);
    expect_refusal(read_standard_input("-", &file, &tensor), RMSNORM_UNSUPPORTED, "at most 68719476736 are read");
    release(&file);
}

static void test_a_fifo_is_read_as_safetensors(void **state)
{
    (void)state;
    const char *const path = path_of("pipe.safetensors");
    bytes file = safetensors_file("{\"x\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                                  "\"y\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[3,5]},"
                                  "\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[5,7]}}",
                                  "123\x80\x3f"
                                  "67",
                                  7);
    assert_int_equal(mkfifo(path, 0600), 0);
    static const int changes[] = {0, -1, 1};
    for (size_t i = 0; i < 3; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bytes sent = {0};
            put(&sent, file.data, file.size);
            put(&sent, "8", 1);
            sent.size = (size_t)((ptrdiff_t)file.size + changes[i]);
            save(path, &sent);
            _exit(0);
        }
        rmsnorm_tensor tensor;
        const rmsnorm_status status = rmsnorm_tensor_read(path_of("pipe.safetensors:y"), &tensor, NULL);
        if (changes[i] == 0) {
            const int64_t dim = 1;
            assert_int_equal(status, RMSNORM_OK);
            expect_tensor(&tensor, RMSNORM_FLOAT16, &dim, 1, "\x80\x3f", 2);
            rmsnorm_tensor_file_release(&tensor);
        } else {
            expect_refusal(status, RMSNORM_MALFORMED, changes[i] < 0 ? "needs 1 more" : "goes on after");
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    release(&file);
}

static void test_standard_output_takes_npy(void **state)
{
    (void)state;
    rmsnorm_tensor tensor = small_tensor();
    const int saved = dup(1);
    fflush(stdout);
    const int file = open(path_of("out.npy"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && file >= 0 && dup2(file, 1) == 1);
    const rmsnorm_status status = rmsnorm_tensor_write("-", &tensor, NULL);
    dup2(saved, 1);
    close(saved);
    close(file);
    assert_int_equal(status, RMSNORM_OK);
    expect_small(path_of("out.npy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bit_survives_a_round_trip),
        cmocka_unit_test(test_npy_is_what_numpy_writes),
        cmocka_unit_test(test_strided_rows_are_written_without_gaps),
        cmocka_unit_test(test_names_choose_the_format),
        cmocka_unit_test(test_refuses_what_cannot_be_written),
        cmocka_unit_test(test_devices_are_written_directly_and_full_ones_reported),
        cmocka_unit_test(test_a_failed_write_leaves_the_old_file_and_nothing_else),
        cmocka_unit_test(test_a_name_that_is_taken_is_not_written_beside),
        cmocka_unit_test(test_a_replaced_file_keeps_its_permissions_and_links),
        cmocka_unit_test(test_a_read_only_file_is_not_replaced),
        cmocka_unit_test(test_standard_input_may_be_a_pipe_of_any_format),
        cmocka_unit_test(test_a_stream_that_claims_much_costs_little),
        cmocka_unit_test(test_a_fifo_is_read_as_safetensors),
        cmocka_unit_test(test_standard_output_takes_npy),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
