/* Which nodes mean the same at a higher opset. */
#include "build.h"

#include <stdio.h>

typedef struct raise_case {
    const char *op, *inputs, *outputs;
    int64_t from, to;
    const char *sentence; /* NULL: means the same */
} raise_case;

static void check(const raise_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        build *const b = build_begin(cases[i].from);
        (void)build_value(b, "x", RMSNORM_FLOAT, "2,3");
        (void)build_value(b, "i", RMSNORM_INT64, "1");
        const size_t node = build_node(b, cases[i].op, cases[i].inputs, cases[i].outputs);
        const rmsnorm_status status =
            rmsnorm_opset_check_raise(rmsnorm_ir_node_at(b->ir, node), cases[i].from, cases[i].to);
        if (cases[i].sentence == NULL) {
            if (status != RMSNORM_OK) {
                fail_msg("%s: %s", cases[i].op, rmsnorm_last_error());
            }
        } else {
            if (status != RMSNORM_UNSUPPORTED) {
                fail_msg("%s from %d to %d: allowed", cases[i].op, (int)cases[i].from, (int)cases[i].to);
            }
            assert_string_equal(rmsnorm_last_error(), cases[i].sentence);
        }
        build_end(b);
    }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])

static void more_types_change_nothing(void **state)
{
    (void)state;
    static const raise_case cases[] = {
        {"Mul", "x,x", "y", 7, 25, NULL},
        {"MatMul", "x,x", "y", 1, 23, NULL},
        {"Reshape", "x,i", "y", 13, 23, NULL},
        {"Cast to=1", "x", "y", 9, 23, NULL},
        {"Gather", "x,i", "y", 11, 23, NULL},
        {"LayerNormalization", "x,x", "y", 17, 23, NULL},
        {"SimplifiedLayerNormalization", "x,x", "y", 13, 23, NULL},
        {"RMSNormalization", "x,x", "y", 23, 25, NULL},
        {"com.microsoft::Whatever", "x", "y", 13, 23, NULL},
        {"Unheard", "x", "y", 18, 18, NULL},
    };
    CHECK(cases);
}

static void an_attribute_that_became_an_input(void **state)
{
    (void)state;
    static const raise_case cases[] = {
        {"ReduceMean axes=[-1]", "x", "y", 13, 18, "ReduceMean means something else since opset 18"},
        {"ReduceMean axes=[-1]", "x", "y", 13, 17, NULL},
        {"ReduceMean", "x", "y", 13, 23, NULL},
        {"ReduceMean", "x,i", "y", 18, 23, NULL},
        {"ReduceSum axes=[-1]", "x", "y", 11, 13, "ReduceSum means something else since opset 13"},
        {"Squeeze axes=[0]", "x", "y", 11, 13, "Squeeze means something else since opset 13"},
        {"Squeeze", "x", "y", 11, 23, NULL},
        {"Unsqueeze axes=[0]", "x", "y", 11, 23, "Unsqueeze means something else since opset 13"},
        {"Unsqueeze", "x,i", "y", 13, 23, NULL},
        {"Split split=[1,1]", "x", "y,z", 11, 13, "Split means something else since opset 13"},
        {"Clip max=6.0", "x", "y", 6, 11, "Clip means something else since opset 11"},
        {"Clip", "x", "y", 6, 23, NULL},
        {"Slice starts=[0] ends=[1]", "x", "y", 9, 10, "Slice means something else since opset 10"},
        {"TopK k=1", "x", "y,z", 9, 11, "TopK means something else since opset 10"},
        {"Dropout ratio=0.5", "x", "y", 10, 12, "Dropout means something else since opset 12"},
        {"Dropout", "x", "y", 10, 23, NULL},
        {"Pad pads=[0,0,1,1]", "x", "y", 10, 11, "Pad means something else since opset 11"},
    };
    CHECK(cases);
}

static void results_that_are_others(void **state)
{
    (void)state;
    static const raise_case cases[] = {
        {"Softmax", "x", "y", 11, 13, "Softmax means something else since opset 13"},
        {"Softmax axis=1", "x", "y", 11, 13, "Softmax means something else since opset 13"},
        {"Softmax axis=-1", "x", "y", 11, 23, NULL},
        {"Softmax axis=1", "x", "y", 13, 23, NULL},
        {"Split", "x", "y,z", 13, 18, "Split means something else since opset 18"},
        {"Split", "x,i", "y,z", 13, 23, NULL},
        {"Dropout", "x", "y,mask", 7, 10, "Dropout means something else since opset 10"},
        {"BatchNormalization", "x,x,x,x,x", "y", 9, 23, NULL},
        {"BatchNormalization", "x,x,x,x,x", "y,m", 9, 14, "BatchNormalization means something else since opset 14"},
        {"Resize", "x,x", "y", 10, 11, "Resize means something else since opset 11"},
        {"GroupNormalization", "x,x,x", "y", 18, 23, "GroupNormalization means something else since opset 21"},
        {"RoiAlign", "x,x,i", "y", 10, 23, "RoiAlign means something else since opset 16"},
        {"Add broadcast=1", "x,x", "y", 6, 7, "Add means something else since opset 7"},
        {"Add", "x,x", "y", 6, 23, NULL},
        {"Upsample", "x,x", "y", 9, 23, "Upsample means something else since opset 10"},
        {"Relu consumed_inputs=[0]", "x", "y", 1, 6, "Relu has no attribute consumed_inputs since opset 6"},
    };
    CHECK(cases);
}

static void what_is_not_known(void **state)
{
    (void)state;
    static const raise_case cases[] = {
        {"Unheard", "x", "y", 13, 23, "ai.onnx::Unheard is not known as an operator of ONNX"},
        {"SkipSimplifiedLayerNormalization", "x,x,x", "y", 13, 23,
         "ai.onnx::SkipSimplifiedLayerNormalization is not known as an operator of ONNX"},
        {"LayerNormalization", "x,x", "y", 13, 23, "LayerNormalization is not in opset 13; it is there since opset 17"},
        {"Mul", "x,x", "y", 13, 26, "Mul: what changed up to opset 26 is not known; known: up to 25"},
        {"Mul", "x,x", "y", 23, 13, "Mul: from opset 23 to 13; allowed: to a higher one"},
        {"Mul", "x,x", "y", 0, 13, "Mul: from opset 0 to 13; allowed: to a higher one"},
    };
    CHECK(cases);
}

/* A function of the model's own has a name, and nothing else, in common with an operator. */
static void a_function_is_no_operator(void **state)
{
    (void)state;
    const rmsnorm_ir_node node = {.name = "f", .op_type = "Mul", .domain = "", .function = true};
    assert_int_equal(rmsnorm_opset_check_raise(&node, 13, 23), RMSNORM_UNSUPPORTED);
    assert_string_equal(rmsnorm_last_error(), "ai.onnx::Mul is not known as an operator of ONNX");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_types_change_nothing), cmocka_unit_test(an_attribute_that_became_an_input),
        cmocka_unit_test(results_that_are_others),   cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(a_function_is_no_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
