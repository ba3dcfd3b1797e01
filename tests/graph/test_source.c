#define _XOPEN_SOURCE 700

#include "graph/source.h"
#include "graph/support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "0123456789" as memory, as a file and as a pipe. */
enum { MEMORY, REGULAR, PIPE, KINDS };

static rmsnorm_source open_ten(int kind)
{
    static const char ten[] = "0123456789";
    rmsnorm_source source = rmsnorm_source_memory("FILE", ten, 10);
    if (kind == REGULAR) {
        bytes content = {0};
        put_text(&content, ten);
        save(path_of("ten"), &content);
        release(&content);
        assert_int_equal(rmsnorm_source_open(&source, path_of("ten")), RMSNORM_OK);
        assert_true(source.sized && source.size == 10);
    } else if (kind == PIPE) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], ten, 10), 10);
        close(ends[1]);
        source = (rmsnorm_source){.file = "FILE", .descriptor = ends[0], .owned = true};
    }
    return source;
}

static void test_peeked_bytes_are_read_again(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        rmsnorm_source source = open_ten(kind);
        const uint8_t *head;
        size_t size;
        char read[11] = "";
        assert_int_equal(rmsnorm_source_peek(&source, 6, &head, &size), RMSNORM_OK);
        assert_int_equal(size, 6);
        assert_memory_equal(head, "012345", 6);
        assert_int_equal(rmsnorm_source_read(&source, read, 4, "it"), RMSNORM_OK);
        assert_int_equal(rmsnorm_source_peek(&source, 8, &head, &size), RMSNORM_OK);
        assert_int_equal(size, 6);
        assert_memory_equal(head, "456789", 6);
        assert_int_equal(rmsnorm_source_read(&source, read + 4, 6, "it"), RMSNORM_OK);
        assert_string_equal(read, "0123456789");
        assert_int_equal(source.position, 10);
        assert_int_equal(rmsnorm_source_end(&source, "it"), RMSNORM_OK);
        rmsnorm_source_close(&source);
    }
}

static void test_skipping_counts(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        rmsnorm_source source = open_ten(kind);
        const uint8_t *head;
        size_t size;
        char read[4] = "";
        assert_int_equal(rmsnorm_source_peek(&source, 2, &head, &size), RMSNORM_OK);
        assert_int_equal(rmsnorm_source_skip(&source, 6, "it"), RMSNORM_OK);
        assert_int_equal(source.position, 6);
        assert_int_equal(rmsnorm_source_skip(&source, 1, "it"), RMSNORM_OK);
        assert_int_equal(rmsnorm_source_read(&source, read, 2, "it"), RMSNORM_OK);
        assert_string_equal(read, "78");
        expect_refusal(rmsnorm_source_end(&source, "its start"), RMSNORM_MALFORMED,
                       "goes on after its start, which ends at byte 9");
        rmsnorm_source_close(&source);
        source = open_ten(kind);
        expect_refusal(rmsnorm_source_skip(&source, 11, "its middle"), RMSNORM_MALFORMED,
                       "ends after 10 bytes, but its middle needs 1 more");
        rmsnorm_source_close(&source);
    }
}

static void test_short_files_say_what_is_missing(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        rmsnorm_source source = open_ten(kind);
        uint8_t some[16];
        uint8_t *all;
        assert_int_equal(rmsnorm_source_read(&source, some, 3, "it"), RMSNORM_OK);
        expect_refusal(rmsnorm_source_read(&source, some, 9, "the rest"), RMSNORM_MALFORMED,
                       "ends after 10 bytes, but the rest needs 2 more");
        rmsnorm_source_close(&source);
        source = open_ten(kind);
        expect_refusal(rmsnorm_source_take(&source, 12, "the whole", &all), RMSNORM_MALFORMED,
                       "ends after 10 bytes, but the whole needs 2 more");
        rmsnorm_source_close(&source);
        source = open_ten(kind);
        assert_int_equal(rmsnorm_source_take(&source, 10, "the whole", &all), RMSNORM_OK);
        assert_string_equal((const char *)all, "0123456789");
        free(all);
        rmsnorm_source_close(&source);
    }
}

static void test_the_rest_is_limited(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        uint8_t *all;
        size_t size;
        rmsnorm_source source = open_ten(kind);
        assert_int_equal(rmsnorm_source_rest(&source, 10, NULL, &all, &size), RMSNORM_OK);
        assert_int_equal(size, 10);
        assert_memory_equal(all, "0123456789", 10);
        free(all);
        assert_int_equal(rmsnorm_source_rest(&source, 10, NULL, &all, &size), RMSNORM_OK);
        assert_int_equal(size, 0);
        free(all);
        rmsnorm_source_close(&source);
        source = open_ten(kind);
        expect_refusal(rmsnorm_source_rest(&source, 9, NULL, &all, &size), RMSNORM_UNSUPPORTED,
                       "larger than the 9 bytes");
        rmsnorm_source_close(&source);
    }
}

static void test_standard_input_is_measured_from_where_it_stands(void **state)
{
    (void)state;
    uint8_t *all;
    size_t size;
    rmsnorm_source source = open_ten(REGULAR);
    rmsnorm_source_close(&source);
    const int saved = dup(0);
    const int file = open(path_of("ten"), O_RDONLY);
    assert_true(saved >= 0 && file >= 0 && dup2(file, 0) == 0 && lseek(0, 4, SEEK_SET) == 4);
    assert_int_equal(rmsnorm_source_open(&source, "-"), RMSNORM_OK);
    assert_int_equal(source.size, 6);
    assert_int_equal(rmsnorm_source_rest(&source, 100, NULL, &all, &size), RMSNORM_OK);
    rmsnorm_source_close(&source);
    assert_int_equal(dup2(saved, 0), 0);
    close(saved);
    close(file);
    assert_int_equal(size, 6);
    assert_memory_equal(all, "456789", 6);
    free(all);
}

static void test_files_that_claim_to_be_empty_are_read_anyway(void **state)
{
    (void)state;
    uint8_t *all;
    size_t size;
    rmsnorm_source source;
    assert_int_equal(rmsnorm_source_open(&source, "/proc/self/status"), RMSNORM_OK);
    assert_false(source.sized);
    assert_int_equal(rmsnorm_source_rest(&source, 1 << 20, NULL, &all, &size), RMSNORM_OK);
    assert_true(size > 10);
    free(all);
    rmsnorm_source_close(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peeked_bytes_are_read_again),
        cmocka_unit_test(test_skipping_counts),
        cmocka_unit_test(test_short_files_say_what_is_missing),
        cmocka_unit_test(test_the_rest_is_limited),
        cmocka_unit_test(test_standard_input_is_measured_from_where_it_stands),
        cmocka_unit_test(test_files_that_claim_to_be_empty_are_read_anyway),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
