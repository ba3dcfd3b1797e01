/* What a model may hold beside tensors and operators: other kinds of values, functions of its own. */
#include "graph/models.h"

#include <stdio.h>

static void expect_no_graph(bytes *graph, const char *part)
{
    rmsnorm_model *model;
    bytes file = finish_model(graph);
    expect_refusal(read_model(&file, &model), RMSNORM_UNSUPPORTED, part);
    release(&file);
}

static void put_kind(bytes *graph, unsigned field, unsigned kind)
{
    bytes inner = {0};
    bytes type = {0};
    bytes value = {0};
    field_message(&type, kind, &inner);
    field_text(&value, 1, "v");
    field_message(&value, 2, &type);
    field_message(graph, field, &value);
}

static void test_refuses_values_that_are_no_tensors(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        const char *name;
    } kinds[] = {{4, "a sequence"},
                 {5, "a map"},
                 {8, "a sparse tensor"},
                 {9, "an optional"},
                 {77, "of a kind that is not known"}};
    for (size_t i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
        char part[128];
        bytes graph = {0};
        snprintf(part, sizeof part, "FILE: graph %s \"v\" is declared as %s; a tensor is allowed",
                 i % 2 == 0 ? "input" : "output", kinds[i / 2].name);
        put_kind(&graph, i % 2 == 0 ? GRAPH_INPUT : GRAPH_OUTPUT, kinds[i / 2].kind);
        expect_no_graph(&graph, part);
    }
}

static void test_resolve_refuses_what_the_model_defines_itself(void **state)
{
    (void)state;
    static const struct {
        const char *domain, *name;
        bool hides;
    } functions[] = {
        {"", "RMSNormalization", true},
        {"ai.onnx", "RMSNormalization", true},
        {"mine", "RMSNormalization", false},
        {"", "Other", false},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        bytes graph = {0};
        bytes node = begin_node("RMSNormalization", "ai.onnx", "x w", "y");
        field_message(&graph, GRAPH_NODE, &node);
        bytes file = finish_model(&graph);
        static const char *const others[] = {"A", "Z", NULL};
        for (size_t k = 0; k < 3; k++) {
            bytes function = {0};
            field_text(&function, 1, others[k] != NULL ? others[k] : functions[i].name);
            field_text(&function, 10, others[k] != NULL ? "" : functions[i].domain);
            field_message(&file, 25, &function);
        }
        rmsnorm_model *model;
        const rmsnorm_operator *op;
        rmsnorm_attributes attributes;
        assert_int_equal(read_model(&file, &model), RMSNORM_OK);
        release(&file);
        const rmsnorm_status status =
            rmsnorm_node_resolve(model, &rmsnorm_model_graph(model)->nodes[0], &op, &attributes);
        if (functions[i].hides) {
            expect_refusal(status, RMSNORM_UNSUPPORTED,
                           "ai.onnx::RMSNormalization is a function that the model defines itself");
        } else {
            assert_int_equal(status, RMSNORM_OK);
        }
        rmsnorm_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_values_that_are_no_tensors),
        cmocka_unit_test(test_resolve_refuses_what_the_model_defines_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
