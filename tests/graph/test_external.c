/* Tensors whose elements are in other files: where those may be, what is read of them, and that they go where the model
 * goes. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/models.h"

#include "graph/document.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* y = x * w, w being the tensor, which is released. */
static bytes model_with(bytes *tensor)
{
    bytes graph = {0};
    bytes node = begin_node("Mul", "", "x w", "y");
    field_message(&graph, GRAPH_NODE, &node);
    field_message(&graph, GRAPH_INITIALIZER, tensor);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "N");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "N");
    return finish_model(&graph);
}

static void save_model(const char *path, bytes tensor)
{
    bytes model = model_with(&tensor);
    save(path, &model);
    release(&model);
}

static void save_text(const char *path, const char *text)
{
    bytes content = {0};
    put_text(&content, text);
    save(path, &content);
    release(&content);
}

static void make_folder(const char *name)
{
    assert_true(mkdir(path_of(name), 0700) == 0 || errno == EEXIST);
}

static void remove_all(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(remove(path_of(names[i])), 0);
    }
    assert_int_equal(directory_count(), 0);
}

/* Both readers. */
static void expect_both(rmsnorm_status status, const char *part)
{
    rmsnorm_model *model;
    rmsnorm_document *document;
    expect_refusal(rmsnorm_model_read(path_of("m.onnx"), &model), status, part);
    expect_refusal(rmsnorm_document_open(path_of("m.onnx"), &document), status, part);
}

static void test_hostile_locations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *location, *part;
    } cases[] = {
        {"/etc/passwd", "only files in or below the model's folder"},
        {"..", "only files in or below"},
        {"../secret", "only files in or below"},
        {"a/../../secret", "only files in or below"},
        {"a/..", "only files in or below"},
        {"", "does not say in which"},
        {NULL, "does not say in which"},
        {"pipe", "no regular file"},
        {"folder", "no regular file"},
        {".", "a symbolic link out of the model's folder"}, /* the folder itself is no file in it */
        {"out", "a symbolic link out of the model's folder"},
        {"out-folder/passwd", "a symbolic link out of the model's folder"},
    };
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    make_folder("folder");
    assert_int_equal(symlink("/etc/passwd", path_of("out")), 0);
    assert_int_equal(symlink("/etc", path_of("out-folder")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        save_model(path_of("m.onnx"), external_tensor("w", 1, cases[i].location, NULL, NULL));
        expect_both(RMSNORM_MALFORMED, cases[i].part);
    }
    save_model(path_of("m.onnx"), external_tensor("w", 1, "absent.bin", NULL, NULL));
    rmsnorm_model *model;
    rmsnorm_document *document = NULL;
    expect_refusal(rmsnorm_model_read(path_of("m.onnx"), &model), RMSNORM_NOT_FOUND,
                   "has its data in \"absent.bin\", which cannot be read: No such file");
    /* For rewriting the data are not needed, unless they are to go to another folder. */
    assert_int_equal(rmsnorm_document_open(path_of("m.onnx"), &document), RMSNORM_OK);
    assert_int_equal(rmsnorm_document_save(document, path_of("beside.onnx"), NULL), RMSNORM_OK);
    make_folder("elsewhere");
    expect_refusal(rmsnorm_document_save(document, path_of("elsewhere/m.onnx"), NULL), RMSNORM_NOT_FOUND, "absent.bin");
    assert_int_equal(remove(path_of("beside.onnx")), 0);
    assert_int_equal(remove(path_of("elsewhere")), 0);
    rmsnorm_document_free(document);
    char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    save_model(path_of("m.onnx"), external_tensor("w", 1, longest, NULL, NULL));
    expect_both(RMSNORM_IO, "which cannot be read: File name too long");
    bytes tensor = external_tensor("w", 1, NULL, NULL, NULL);
    bytes entry = {0};
    field_text(&entry, 1, "location");
    field_bytes(&entry, 2, "w.bin\0/../x", 11);
    field_message(&tensor, TENSOR_EXTERNAL, &entry);
    save_model(path_of("m.onnx"), tensor);
    expect_both(RMSNORM_MALFORMED, "a name is not UTF-8 text");
    static const char *const names[] = {"pipe", "folder", "out", "out-folder", "m.onnx"};
    remove_all(names, 5);
}

static void test_numbers_must_fit_the_file_and_the_shape(void **state)
{
    (void)state;
    static const struct {
        const char *offset, *length, *part;
    } cases[] = {
        {"0", "12", "has 12 bytes in \"w.bin\", but its shape and type need 16"},
        {"4", "16", "16 bytes from byte 4 on, but that file ends after 16"},
        {"4", NULL, "16 bytes from byte 4 on, but that file ends after 16"},
        {"17", NULL, "but that file ends after 16"},
        {"9223372036854775807", NULL, "but that file ends after 16"},
        {"9223372036854775808", NULL, "a decimal number of 63 bits is allowed"},
        {"18446744073709551616", "16", "a decimal number of 63 bits is allowed"},
        {"0", "99999999999999999999999999", "as the length of its data; a decimal number"},
        {"-1", NULL, "has \"-1\" as the offset of its data"},
        {"", NULL, "has \"\" as the offset of its data"},
        {"0x0", NULL, "a decimal number"},
        {" 0", NULL, "a decimal number"},
    };
    save_text(path_of("w.bin"), "0123456789abcdef");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        save_model(path_of("m.onnx"), external_tensor("w", 4, "w.bin", cases[i].offset, cases[i].length));
        expect_both(RMSNORM_MALFORMED, cases[i].part);
    }
    bytes tensor = external_tensor("w", 4, "w.bin", "0", NULL);
    put_entry(&tensor, TENSOR_EXTERNAL, "offset", "0");
    save_model(path_of("m.onnx"), tensor);
    expect_both(RMSNORM_MALFORMED, "gives the offset of its data twice");
    tensor = external_tensor("w", 4, "w.bin", NULL, NULL);
    field_bytes(&tensor, TENSOR_RAW, "0123456789abcdef", 16);
    save_model(path_of("m.onnx"), tensor);
    expect_both(RMSNORM_MALFORMED, "in another file and in raw_data");
    static const char *const names[] = {"w.bin", "m.onnx"};
    remove_all(names, 2);
}

static void test_elements_are_read_from_their_place(void **state)
{
    (void)state;
    make_folder("deep");
    bytes data = {0};
    put_text(&data, "head");
    const float values[] = {1.0f, -2.0f, 3.0f};
    put(&data, values, sizeof values); /* this host is as the file: the tests of byte order are elsewhere */
    save(path_of("deep/w.bin"), &data);
    release(&data);
    save_model(path_of("m.onnx"), external_tensor("w", 3, "deep/w.bin", "4", "12"));
    rmsnorm_model *model;
    assert_int_equal(rmsnorm_model_read(path_of("m.onnx"), &model), RMSNORM_OK);
    const int64_t dim = 3;
    expect_tensor(&rmsnorm_model_graph(model)->initializers[0].tensor, RMSNORM_FLOAT, &dim, 1, values, sizeof values);
    rmsnorm_model_free(model);
    rmsnorm_document *document;
    assert_int_equal(rmsnorm_document_open(path_of("m.onnx"), &document), RMSNORM_OK);
    const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    size_t found = 0;
    for (size_t i = 0; i < rmsnorm_ir_value_count(ir); i++) {
        const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(ir, i);
        if (strcmp(value->name, "w") == 0) {
            assert_non_null(value->type.data);
            assert_memory_equal(value->type.data, values, sizeof values);
            found++;
        }
    }
    assert_int_equal(found, 1);
    rmsnorm_document_free(document);
    /* A stream is in no folder. */
    bytes tensor = external_tensor("w", 3, "deep/w.bin", "4", "12");
    bytes content = model_with(&tensor);
    expect_refusal(read_model(&content, &model), RMSNORM_UNSUPPORTED, "a stream has none; name the model's file");
    release(&content);
    static const char *const names[] = {"m.onnx", "deep/w.bin", "deep"};
    remove_all(names, 3);
}

/* Caches of downloads keep the model and its data elsewhere, under other names, and link to both. */
static void test_a_linked_model_may_link_to_what_lies_beside_it(void **state)
{
    (void)state;
    make_folder("blobs");
    make_folder("snapshot");
    save_text(path_of("blobs/2"), "0123456789abcdef");
    save_model(path_of("blobs/1"), external_tensor("w", 4, "w.bin", NULL, NULL));
    assert_int_equal(symlink("../blobs/1", path_of("snapshot/m.onnx")), 0);
    assert_int_equal(symlink("../blobs/2", path_of("snapshot/w.bin")), 0);
    rmsnorm_model *model;
    assert_int_equal(rmsnorm_model_read(path_of("snapshot/m.onnx"), &model), RMSNORM_OK);
    rmsnorm_model_free(model);
    /* Without the first link the second leads out. */
    assert_int_equal(remove(path_of("snapshot/m.onnx")), 0);
    assert_int_equal(rename(path_of("blobs/1"), path_of("snapshot/m.onnx")), 0);
    expect_refusal(rmsnorm_model_read(path_of("snapshot/m.onnx"), &model), RMSNORM_MALFORMED, "a symbolic link out of");
    static const char *const names[] = {"snapshot/m.onnx", "snapshot/w.bin", "blobs/2", "blobs", "snapshot"};
    remove_all(names, 5);
}

/* A thousand tensors of one place: shared up to a point. */
static void test_shared_data_are_not_read_without_end(void **state)
{
    (void)state;
    const int64_t count = 4 << 20;
    const int descriptor = open(path_of("w.bin"), O_WRONLY | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, 4 * count), 0);
    close(descriptor);
    for (int tensors = 4; tensors <= 40; tensors += 36) {
        bytes graph = {0};
        for (int i = 0; i < tensors; i++) {
            char name[16];
            snprintf(name, sizeof name, "w%d", i);
            bytes tensor = external_tensor(name, count, i % 2 == 0 ? "w.bin" : "./w.bin", NULL, NULL);
            field_message(&graph, GRAPH_INITIALIZER, &tensor);
        }
        bytes model = finish_model(&graph);
        save(path_of("m.onnx"), &model);
        release(&model);
        rmsnorm_model *read;
        rmsnorm_document *document;
        if (tensors == 4) {
            assert_int_equal(rmsnorm_model_read(path_of("m.onnx"), &read), RMSNORM_OK);
            rmsnorm_model_free(read);
        } else {
            expect_refusal(rmsnorm_model_read(path_of("m.onnx"), &read), RMSNORM_MALFORMED,
                           "one of too many tensors that have the same bytes");
        }
        assert_int_equal(rmsnorm_document_open(path_of("m.onnx"), &document), RMSNORM_OK); /* reads none of it */
        rmsnorm_document_free(document);
    }
    static const char *const names[] = {"m.onnx", "w.bin"};
    remove_all(names, 2);
}

static void expect_content(const char *name, const char *text)
{
    bytes content = load(path_of(name));
    assert_int_equal(content.size, strlen(text));
    assert_memory_equal(content.data, text, content.size);
    release(&content);
}

typedef struct seen {
    uint64_t done, total;
    size_t calls, most; /* most 0: no end to them */
} seen;

static bool see(void *user, uint64_t done, uint64_t total)
{
    seen *const s = user;
    assert_true(done >= s->done && done <= total);
    *s = (seen){done, total, s->calls + 1, s->most};
    return s->most == 0 || s->calls < s->most;
}

static rmsnorm_status save_to(const char *path, rmsnorm_data_files mode, seen *told)
{
    rmsnorm_document *document;
    assert_int_equal(rmsnorm_document_open(path_of("in/m.onnx"), &document), RMSNORM_OK);
    rmsnorm_document_save_options options = RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT;
    options.data_files = mode;
    options.progress = told != NULL ? see : NULL;
    options.user = told;
    const rmsnorm_status status = rmsnorm_document_save(document, path, &options);
    rmsnorm_document_free(document);
    return status;
}

static void make_input(void)
{
    make_folder("in");
    make_folder("in/deep");
    make_folder("out");
    save_text(path_of("in/deep/w.bin"), "0123456789abcdef");
    save_model(path_of("in/m.onnx"), external_tensor("w", 4, "deep/w.bin", NULL, NULL));
}

static void remove_input(void)
{
    static const char *const names[] = {"in/deep/w.bin", "in/deep", "in/m.onnx", "in", "out"};
    remove_all(names, 5);
}

static void test_cancelled_saving_leaves_nothing(void **state)
{
    (void)state;
    make_input();
    seen all = {0};
    assert_int_equal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, &all), RMSNORM_OK);
    static const char *const names[] = {"out/deep/w.bin", "out/deep", "out/m.onnx"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(remove(path_of(names[i])), 0);
    }
    assert_true(all.calls > 1);
    for (size_t most = 1; most <= all.calls; most++) {
        for (int mode = RMSNORM_DATA_FILES_COPY; mode <= RMSNORM_DATA_FILES_LINK; mode++) {
            struct stat there;
            seen some = {.most = most};
            expect_refusal(save_to(path_of("out/m.onnx"), (rmsnorm_data_files)mode, &some), RMSNORM_CANCELLED,
                           "writing was cancelled");
            assert_int_equal(stat(path_of("out"), &there), 0);
            assert_int_equal(rmdir(path_of("out")), 0); /* it is empty */
            make_folder("out");
        }
    }
    remove_input();
}

static void test_data_files_go_where_the_model_goes(void **state)
{
    (void)state;
    make_input();
    struct stat original;
    struct stat there;
    assert_int_equal(stat(path_of("in/deep/w.bin"), &original), 0);
    for (int mode = RMSNORM_DATA_FILES_COPY; mode <= RMSNORM_DATA_FILES_LEAVE; mode++) {
        seen told = {0};
        assert_int_equal(save_to(path_of("out/m.onnx"), (rmsnorm_data_files)mode, &told), RMSNORM_OK);
        assert_true(told.calls > 0 && told.done == told.total);
        if (mode == RMSNORM_DATA_FILES_LEAVE) {
            assert_int_equal(stat(path_of("out/deep"), &there), -1);
        } else {
            expect_content("out/deep/w.bin", "0123456789abcdef");
            assert_int_equal(stat(path_of("out/deep/w.bin"), &there), 0);
            assert_int_equal(there.st_ino == original.st_ino, mode == RMSNORM_DATA_FILES_LINK);
            /* What is there with the same content stays. */
            assert_int_equal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_OK);
            struct stat later;
            assert_int_equal(stat(path_of("out/deep/w.bin"), &later), 0);
            assert_int_equal(later.st_ino, there.st_ino);
            assert_int_equal(remove(path_of("out/deep/w.bin")), 0);
            assert_int_equal(remove(path_of("out/deep")), 0);
        }
        assert_int_equal(remove(path_of("out/m.onnx")), 0);
    }
    /* Beside the input there is nothing to do. */
    assert_int_equal(save_to(path_of("in/other.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_OK);
    assert_int_equal(remove(path_of("in/other.onnx")), 0);
    remove_input();
}

static void test_a_data_file_of_other_content_is_not_replaced(void **state)
{
    (void)state;
    static const char *const contents[] = {"0123456789abcdeF", "other"};
    make_input();
    make_folder("out/deep");
    for (size_t i = 0; i < 2; i++) {
        save_text(path_of("out/deep/w.bin"), contents[i]);
        expect_refusal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_INVALID_ARGUMENT,
                       "is there already, with other content");
        expect_content("out/deep/w.bin", contents[i]);
        assert_int_equal(access(path_of("out/m.onnx"), F_OK), -1);
    }
    assert_int_equal(remove(path_of("out/deep/w.bin")), 0);
    assert_int_equal(symlink("/nonexistent", path_of("out/deep/w.bin")), 0);
    expect_refusal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_IO, "cannot be read");
    assert_int_equal(remove(path_of("out/deep/w.bin")), 0);
    assert_int_equal(remove(path_of("out/deep")), 0);
    /* Nor is anything written through a link that stands in the place of a folder. */
    assert_int_equal(symlink("../in", path_of("out/deep")), 0);
    expect_refusal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_INVALID_ARGUMENT,
                   "out/deep: is no folder");
    assert_int_equal(remove(path_of("out/deep")), 0);
    remove_input();
}

static void test_a_model_does_not_replace_its_data(void **state)
{
    (void)state;
    make_input();
    expect_refusal(save_to(path_of("in/deep/w.bin"), RMSNORM_DATA_FILES_LEAVE, NULL), RMSNORM_INVALID_ARGUMENT,
                   "the model would replace its own data file \"deep/w.bin\"");
    expect_content("in/deep/w.bin", "0123456789abcdef");
    /* In another folder, the data file would get the model's name. */
    save_text(path_of("in/w.bin"), "0123456789abcdef");
    save_model(path_of("in/m.onnx"), external_tensor("w", 4, "w.bin", NULL, NULL));
    expect_refusal(save_to(path_of("out/w.bin"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_INVALID_ARGUMENT,
                   "is the name of one of the model's data files too");
    assert_int_equal(access(path_of("out/w.bin"), F_OK), -1);
    assert_int_equal(remove(path_of("in/w.bin")), 0);
    remove_input();
}

/* The disk is full after 20 bytes: the data fit, the model does not, and neither is left behind. */
static void test_a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    make_input();
    bytes before = load(path_of("in/m.onnx"));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rmsnorm_document *document;
        const struct rlimit limit = {20, 20};
        signal(SIGXFSZ, SIG_IGN);
        const bool opened = rmsnorm_document_open(path_of("in/m.onnx"), &document) == RMSNORM_OK;
        setrlimit(RLIMIT_FSIZE, &limit);
        const rmsnorm_status away = rmsnorm_document_save(document, path_of("out/m.onnx"), NULL);
        const bool told = strstr(rmsnorm_last_error(), "out/m.onnx: cannot be written: File too large") != NULL;
        const rmsnorm_status over = rmsnorm_document_save(document, path_of("in/m.onnx"), NULL);
        _exit(opened && away == RMSNORM_IO && told && over == RMSNORM_IO ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    bytes after = load(path_of("in/m.onnx"));
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, after.size);
    release(&before);
    release(&after);
    remove_input(); /* which sees that there is nothing else */
}

static uint64_t peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static void make_sparse(const char *path, uint64_t size)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    assert_int_equal(close(descriptor), 0);
}

/* 3 GiB beside a model, and 1.9 GiB in one: neither comes into memory, and holes stay holes. */
static void test_large_weights_cost_no_memory(void **state)
{
    (void)state;
    const uint64_t large = (uint64_t)3 << 30;
    make_input();
    assert_int_equal(remove(path_of("in/deep/w.bin")), 0);
    make_sparse(path_of("in/deep/w.bin"), large);
    save_model(path_of("in/m.onnx"), external_tensor("w", (int64_t)(large / 4), "deep/w.bin", NULL, NULL));
    assert_int_equal(save_to(path_of("out/m.onnx"), RMSNORM_DATA_FILES_COPY, NULL), RMSNORM_OK);
    struct stat there;
    assert_int_equal(stat(path_of("out/deep/w.bin"), &there), 0);
    assert_int_equal(there.st_size, large);
    assert_true((uint64_t)there.st_blocks * 512 < 1 << 20);
    static const char *const names[] = {"out/m.onnx", "out/deep/w.bin", "out/deep"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(remove(path_of(names[i])), 0);
    }
    const uint64_t inside = (uint64_t)1900 << 20;
    bytes model = {0};
    bytes graph = {0};
    bytes node = begin_node("Mul", "", "x w", "y");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "N");
    bytes tensor = {0};
    field_text(&tensor, TENSOR_NAME, "w");
    field_varint(&tensor, TENSOR_DIMS, inside / 4);
    field_varint(&tensor, TENSOR_TYPE, RMSNORM_FLOAT);
    put_varint(&tensor, TENSOR_RAW << 3 | 2);
    put_varint(&tensor, inside);
    put_varint(&graph, GRAPH_INITIALIZER << 3 | 2);
    put_varint(&graph, tensor.size + inside);
    put(&graph, tensor.data, tensor.size);
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, "", 23);
    put_varint(&model, MODEL_GRAPH << 3 | 2);
    put_varint(&model, graph.size + inside);
    put(&model, graph.data, graph.size);
    const uint64_t whole = model.size + inside;
    save(path_of("in/m.onnx"), &model);
    make_sparse(path_of("in/m.onnx"), whole);
    release(&tensor);
    release(&graph);
    release(&model);
    rmsnorm_document *document;
    assert_int_equal(rmsnorm_document_open(path_of("in/m.onnx"), &document), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_node_count(rmsnorm_document_ir(document)), 1);
    rmsnorm_document_free(document);
    print_message("peak memory: %llu MiB\n", (unsigned long long)(peak_memory() >> 20));
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(peak_memory() < (uint64_t)200 << 20);
#endif
    remove_input();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_weights_cost_no_memory), /* first: the others may take more */
        cmocka_unit_test(test_hostile_locations_are_refused),
        cmocka_unit_test(test_numbers_must_fit_the_file_and_the_shape),
        cmocka_unit_test(test_elements_are_read_from_their_place),
        cmocka_unit_test(test_a_linked_model_may_link_to_what_lies_beside_it),
        cmocka_unit_test(test_shared_data_are_not_read_without_end),
        cmocka_unit_test(test_cancelled_saving_leaves_nothing),
        cmocka_unit_test(test_data_files_go_where_the_model_goes),
        cmocka_unit_test(test_a_data_file_of_other_content_is_not_replaced),
        cmocka_unit_test(test_a_model_does_not_replace_its_data),
        cmocka_unit_test(test_a_full_disk_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
