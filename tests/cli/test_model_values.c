/* rmsnorm run MODEL: where values come from: Constants, initializers, defaults, and what only looks like an operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "support.h"

static const float twos[] = {2, 2, 2, 2};
static model file;

static void constants_come_as_tensor_or_number(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "number", "", "Constant", "", "g", "value_float=3.0");
    model_node(&file, "norm", "", "SimplifiedLayerNormalization", "x,g", "y,v", "epsilon=0.0");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "number.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "2", 4, -4);
    DONE("rmsnorm run number.onnx x.npy --output y=y.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "2", 3, -3);
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "number", "", "Constant", "", "g", "value_integer=3");
    model_output(&file, "g", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "int.onnx");
    REFUSED("rmsnorm run int.onnx x.npy",
            "node 0 'number' (ai.onnx::Constant): the node has the attribute 'value_integer', Constant has in the "
            "model's opset: value, value_float, value_floats, value_int, value_ints");
    model_begin(&file);
    model_node(&file, "none", "", "Constant", "", "g", "");
    model_write(&file, 23, "none.onnx");
    REFUSED("rmsnorm run none.onnx", "node 0 'none'", "the node has 0 attributes, a Constant has one");
    model_begin(&file);
    model_node(&file, "unnamed", "", "Constant", "", "", "value_float=3.0");
    model_write(&file, 23, "unnamed.onnx");
    REFUSED("rmsnorm run unnamed.onnx", "node 0 'unnamed' (ai.onnx::Constant): the node has 1 output without a name");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "fed", "", "Constant", ",x", "g", "value_float=3.0");
    model_output(&file, "g", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "fed.onnx");
    REFUSED("rmsnorm run fed.onnx x.npy", "node 0 'fed' (ai.onnx::Constant): the node has 2 inputs, Constant takes 0");
}

/* FunctionProto, field 25 of the model: name 1, domain 10. */
static void append_function(const char *path, const char *name)
{
    outcome result = shell("printf '\\312\\001\\%03o\\012\\%03o%s' >>%s", (unsigned)strlen(name) + 2,
                           (unsigned)strlen(name), name, path);
    assert_int_equal(result.code, 0);
    outcome_free(&result);
}

static void functions_of_the_model_are_not_taken_for_operators(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_constant(&file, "two", "g", "4", twos);
    model_node(&file, "norm", "", "RMSNormalization", "x,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    static const char *const names[] = {"RMSNormalization", "Constant", "Other"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        model_write(&file, 23, "function.onnx");
        append_function("function.onnx", names[i]);
        if (i == 2) {
            DONE("rmsnorm run function.onnx random:float:4", "y: float [4]\n");
        } else {
            REFUSED("rmsnorm run function.onnx random:float:4", names[i],
                    "is a function that the model defines itself");
        }
    }
}

static void an_initializer_that_is_an_input_is_a_default(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "g", RMSNORM_FLOAT, "2");
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_initializer(&file, "fixed", "2", twos);
    model_initializer(&file, "g", "2", twos);
    model_node(&file, "norm", "", "RMSNormalization", "x,g", "y", "epsilon=0.0");
    model_node(&file, "next", "", "RMSNormalization", "y,fixed", "z", "epsilon=0.0");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_output(&file, "z", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "default.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "2", 4, -4);
    WRITE("three.npy", RMSNORM_FLOAT, "2", 3, 3);
    DONE("rmsnorm run default.onnx x.npy --output y=y.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "2", 2, -2);
    DONE("rmsnorm run default.onnx x.npy --input g=three.npy --output y=y.npy --output z=z.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "2", 3, -3);
    EXPECT("z.npy", RMSNORM_FLOAT, "2", 2, -2);
    REFUSED("rmsnorm run default.onnx x.npy three.npy", "no input is left for 'three.npy', default.onnx declares 'x'");
    REFUSED("rmsnorm run default.onnx --input g=three.npy", "needs the inputs 'x', they are not given");
    REFUSED("rmsnorm run default.onnx x.npy --input fixed=three.npy", "has no input 'fixed', it declares 'x', 'g'");
    REFUSED("rmsnorm run default.onnx x.npy --input g=random:float:3",
            "input 'g' is float [3], the model declares float [2]");
    REFUSED("rmsnorm run default.onnx - --input g=- <x.npy", "'-' is given 2 times");
}

static void foreign_types_are_named(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_foreign_initializer(&file, "g", 7, 8, "2");
    model_node(&file, "norm", "", "RMSNormalization", "x,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "int64.onnx");
    REFUSED("rmsnorm run int64.onnx random:float:2", "norm", "int64");
    model_begin(&file);
    model_foreign_initializer(&file, "g", 7, 8, "2");
    model_output(&file, "g", 7, NULL);
    model_write(&file, 23, "passed.onnx");
    REFUSED("rmsnorm run passed.onnx", "output 'g' is of the element type int64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_come_as_tensor_or_number),
        cmocka_unit_test(functions_of_the_model_are_not_taken_for_operators),
        cmocka_unit_test(an_initializer_that_is_an_input_is_a_default),
        cmocka_unit_test(foreign_types_are_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
