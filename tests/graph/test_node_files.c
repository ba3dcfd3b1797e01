/* ONNX's own node tests: every file of them is read, every single-node model resolves, and what is saved
 * without a change is the same. */
#define _XOPEN_SOURCE 700

#include "graph/support.h"

#include <glob.h>
#include <string.h>

static void test_every_tensor_file_is_read(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(NODE_TESTS "/test_rms_normalization_*/test_data_set_*/*.pb", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 57);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        rmsnorm_tensor tensor;
        const char *name;
        assert_int_equal(rmsnorm_tensor_read(found.gl_pathv[i], &tensor, &name), RMSNORM_OK);
        assert_int_equal(tensor.dtype, RMSNORM_FLOAT);
        assert_true(rmsnorm_tensor_count(&tensor) > 0);
        assert_true(name[0] != '\0');
        rmsnorm_tensor_file_release(&tensor);
    }
    globfree(&found);
}

static void test_every_model_is_read(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(NODE_TESTS "/test_rms_normalization_*/model.onnx", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 19);
    size_t single = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        rmsnorm_model *model;
        assert_int_equal(rmsnorm_model_read(found.gl_pathv[i], &model), RMSNORM_OK);
        const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
        assert_int_equal(graph->input_count, 2);
        assert_int_equal(graph->output_count, 1);
        assert_true(graph->inputs[0].tensor.rank >= 1 && graph->inputs[0].tensor.dims[0] > 0);
        assert_true(rmsnorm_model_opset(model, "") >= 18);
        if (strstr(found.gl_pathv[i], "_expanded") == NULL) {
            const rmsnorm_operator *op;
            rmsnorm_attributes attributes;
            assert_int_equal(graph->node_count, 1);
            assert_int_equal(rmsnorm_node_resolve(model, &graph->nodes[0], &op, &attributes), RMSNORM_OK);
            assert_int_equal(op->kind, RMSNORM_RMS_NORMALIZATION);
            single++;
        } else {
            assert_true(graph->node_count > 5);
        }
        rmsnorm_model_free(model);
    }
    assert_true(single >= 19);
    globfree(&found);
}

static void test_every_model_is_saved_as_it_is(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(NODE_TESTS "/test_rms_normalization_*/model.onnx", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        rmsnorm_document *document;
        assert_int_equal(rmsnorm_document_open(found.gl_pathv[i], &document), RMSNORM_OK);
        assert_int_equal(rmsnorm_document_save(document, path_of("model.onnx"), NULL), RMSNORM_OK);
        bytes before = load(found.gl_pathv[i]);
        bytes after = load(path_of("model.onnx"));
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, after.size);
        release(&before);
        release(&after);
        rmsnorm_document_free(document);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tensor_file_is_read),
        cmocka_unit_test(test_every_model_is_read),
        cmocka_unit_test(test_every_model_is_saved_as_it_is),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
