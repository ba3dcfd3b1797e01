/* rmsnorm run MODEL: what a primitive refuses, by node and with a sentence, before anything is computed where it can be told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "support.h"

static model file;

/* A node "n" on x [2,3] float, d [2,3] double, i an int64 list, s an int64 scalar, b a bool, f an int32. */
static void refused(int opset, const char *op_type, const char *inputs, const char *attributes, const char *sentence)
{
    char label[64];
    (void)snprintf(label, sizeof label, "one.onnx: node 0 'n' (ai.onnx::%s): ", op_type);
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2,3");
    model_input(&file, "d", RMSNORM_DOUBLE, "2,3");
    model_integers(&file, "i", "2", (const int64_t[]){1, -2});
    model_integers(&file, "s", "", (const int64_t[]){5});
    model_integers(&file, "zero", "", (const int64_t[]){0});
    model_integers(&file, "most", "", (const int64_t[]){INT64_MAX});
    model_integers(&file, "least", "", (const int64_t[]){INT64_MIN});
    model_integers(&file, "one", "", (const int64_t[]){1});
    model_integers(&file, "vast", "2", (const int64_t[]){INT64_C(1) << 40, INT64_C(1) << 30});
    model_integers(&file, "many", "17", NULL);
    model_integers(&file, "twice", "2", (const int64_t[]){1, -1});
    model_foreign_initializer(&file, "b", 9, 1, "2,3");
    model_foreign_initializer(&file, "f", RMSNORM_INT32, 4, "2");
    model_initializer(&file, "four", "4", (const float[]){0, 0, 0, 0});
    model_node(&file, "n", "", op_type, inputs, "y", attributes);
    model_output(&file, "y", 0, NULL);
    model_write(&file, opset, "one.onnx");
    REFUSED("rmsnorm run one.onnx random:float:2,3 random:double:2,3 --output y=y.npy", label, sentence);
    assert_false(exists("y.npy"));
}

static void slots_are_checked(void **state)
{
    (void)state;
    refused(13, "Add", "x", "", "the node has 1 input, Add takes 2\n");
    refused(13, "Sqrt", "x,x", "", "the node has 2 inputs, Sqrt takes 1\n");
    refused(18, "ReduceMean", "x,i,i", "", "the node has 3 inputs, ReduceMean takes 1 to 2\n");
    refused(17, "ReduceMean", "x,i", "", "the node has 2 inputs, ReduceMean takes 1\n");
    refused(13, "Add", ",x", "", "input 0 has no name, Add needs it\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "n", "", "Sqrt", "x", "y,z", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "two.onnx");
    REFUSED("rmsnorm run two.onnx random:float:2", "node 0 'n' (ai.onnx::Sqrt): the node has 2 outputs, Sqrt has one");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "n", "", "Sqrt", "x", "", "");
    model_write(&file, 13, "none.onnx");
    REFUSED("rmsnorm run none.onnx random:float:2", "the node has 1 output without a name, Sqrt has one with a name");
}

static void attributes_are_checked(void **state)
{
    (void)state;
    refused(13, "Add", "x,x", "axis=1", "the node has the attribute 'axis', Add has in the model's opset: none\n");
    refused(18, "ReduceMean", "x", "axes=[0]",
            "the node has the attribute 'axes', ReduceMean has in the model's opset: keepdims, noop_with_empty_axes\n");
    refused(17, "ReduceMean", "x", "noop_with_empty_axes=1",
            "the node has the attribute 'noop_with_empty_axes', ReduceMean has in the model's opset: axes, keepdims\n");
    refused(14, "Shape", "x", "start=1", "has the attribute 'start', Shape has in the model's opset: none\n");
    refused(18, "Cast", "x", "to=1 saturate=1", "has the attribute 'saturate', Cast has in the model's opset: to\n");
    refused(13, "Cast", "x", "", "the node lacks the attribute 'to' (the number of an element type), Cast needs it\n");
    refused(13, "Cast", "x", "to=1.0", "the attribute 'to' is not the number of an element type\n");
    refused(13, "Cast", "x", "to=9", "'to' is 9 (bool), allowed are float, int32, int64, float16, double, bfloat16\n");
    refused(13, "Cast", "x", "to=77", "'to' is 77 (unknown), allowed are float");
    refused(13, "Cast", "x", "to=-1", "'to' is -1 (unknown), allowed are float");
    refused(13, "ReduceMean", "x", "axes=1", "the attribute 'axes' is not a list of ints\n");
    refused(13, "ReduceMean", "x", "keepdims=2", "the attribute 'keepdims' is not 0 or 1\n");
    refused(13, "ReduceMean", "x", "keepdims=1.0", "the attribute 'keepdims' is not 0 or 1\n");
    refused(15, "Shape", "x", "end=[1]", "the attribute 'end' is not an int\n");
    refused(13, "Constant", NULL, "value=1", "the attribute 'value' is not a tensor\n");
    refused(13, "Constant", NULL, "value_float=1", "the attribute 'value_float' is not a float\n");
    refused(13, "Constant", NULL, "value_floats=[1]", "the attribute 'value_floats' is not a list of floats\n");
    refused(13, "Constant", NULL, "value_int=1 value_float=1.0", "the node has 2 attributes, a Constant has one\n");
}

static void types_are_checked(void **state)
{
    (void)state;
    refused(13, "Sqrt", "i", "", "input 0 is int64, Sqrt takes float, float16, double, bfloat16\n");
    refused(13, "Div", "s,s", "", "input 0 is int64, Div takes float");
    refused(13, "ReduceMean", "i", "", "input 0 is int64, ReduceMean takes float");
    refused(18, "ReduceMean", "x,f", "", "input 1 is int32, ReduceMean takes int64\n");
    refused(13, "Add", "b,b", "", "input 0 is bool, Add takes float, int32, int64, float16, double, bfloat16\n");
    refused(13, "Identity", "b", "", "input 0 is bool, Identity takes float");
    refused(13, "Mul", "x,d", "", "input 1 is double, but input 0 is float: they must be of one type\n");
    refused(11, "Pow", "x,d", "", "input 1 is double, but input 0 is float: they must be of one type\n");
    refused(13, "Pow", "s,s", "", "input 0 is int64, Pow takes float");
    refused(13, "ConstantOfShape", "f", "", "input 0 is int32, ConstantOfShape takes int64\n");
}

static void shapes_and_values_are_checked(void **state)
{
    (void)state;
    refused(
        13, "Add", "x,four", "",
        "the shapes [2,3] and [4] do not broadcast: dim 1 from the right is 3 and 4, allowed are equal ones and 1\n");
    refused(13, "ReduceMean", "x", "axes=[2]",
            "axis 2 is not among those of an input of rank 2, allowed are -2 to 1\n");
    refused(13, "ReduceMean", "x", "axes=[-3]", "axis -3 is not among those of an input of rank 2");
    refused(13, "ReduceMean", "x", "axes=[0,-2]", "axis 0 is given twice, once is allowed\n");
    refused(18, "ReduceMean", "x,twice", "", "axis 1 is given twice, once is allowed\n");
    refused(18, "ReduceMean", "x,s", "", "input 1 (axes) is of rank 0, it must be a list: rank 1\n");
    refused(13, "ConstantOfShape", "s", "", "input 0 is of the shape [], it must be a list of at most 16 dims\n");
    refused(13, "ConstantOfShape", "many", "", "input 0 is of the shape [17], it must be a list of at most 16 dims\n");
    refused(13, "ConstantOfShape", "i", "", "input 0 says that dim 1 is -2, allowed are 0 and more\n");
    refused(13, "ConstantOfShape", "vast", "",
            "the output would be [1099511627776,1073741824], more than fits any memory\n");
    refused(13, "Range", "s,i,s", "", "input 1 is of rank 1, Range takes scalars: rank 0\n");
    refused(13, "Range", "s,s,zero", "", "input 2 (delta) is 0, a range must move\n");
    refused(13, "Range", "least,most,one", "", "the range has no end or more elements than can be counted\n");
    model_begin(&file);
    model_integers(&file, "i", "1", (const int64_t[]){1});
    model_value_node(&file, "n", "ConstantOfShape", "i", "y", RMSNORM_FLOAT, 4, "2", NULL);
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "value.onnx");
    REFUSED("rmsnorm run value.onnx",
            "'value' is float [2], allowed is one float, double, float16, bfloat16, int32 or int64");
    model_begin(&file);
    model_integers(&file, "i", "1", (const int64_t[]){1});
    model_value_node(&file, "n", "ConstantOfShape", "i", "y", 9, 1, "1", NULL);
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "value.onnx");
    REFUSED("rmsnorm run value.onnx", "'value' is bool [1], allowed is one float");
}

static void integers_must_hold_what_is_cast(void **state)
{
    (void)state;
    static const struct {
        double value;
        int to;
        const char *sentence;
    } cases[] = {{0x1p31, 6, "element 1 is 2147483648, which int32 does not hold\n"},
                 {-0x1p31 - 256, 6, "element 1 is -2147483904, which int32 does not hold\n"},
                 {0x1p63, 7, "element 1 is 9.223372036854776e18, which int64 does not hold\n"},
                 {(double)__builtin_nanf(""), 7, "element 1 is nan, which int64 does not hold\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char word[16];
        (void)snprintf(word, sizeof word, "to=%d", cases[i].to);
        model_begin(&file);
        model_input(&file, "x", RMSNORM_FLOAT, "2");
        model_node(&file, "n", "", "Cast", "x", "i", word);
        model_node(&file, "", "", "Cast", "i", "y", "to=1");
        model_output(&file, "y", RMSNORM_FLOAT, NULL);
        model_write(&file, 13, "hold.onnx");
        WRITE("x.npy", RMSNORM_FLOAT, "2", 1, cases[i].value);
        REFUSED("rmsnorm run hold.onnx x.npy", "hold.onnx: node 0 'n' (ai.onnx::Cast): ", cases[i].sentence);
    }
    model_begin(&file);
    model_integers(&file, "large", "1", (const int64_t[]){INT64_C(1) << 31});
    model_node(&file, "n", "", "Cast", "large", "i", "to=6");
    model_node(&file, "", "", "Cast", "i", "y", "to=1");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "hold.onnx");
    REFUSED("rmsnorm run hold.onnx", "element 0 is 2147483648, which int32 does not hold\n");
}

static void opsets_are_checked(void **state)
{
    (void)state;
    refused(6, "Add", "x,x", "", "the model imports opset 6; Add is run from opset 7 on\n");
    refused(8, "ConstantOfShape", "i", "", "the model imports opset 8; ConstantOfShape is run from opset 9 on\n");
    refused(10, "Range", "s,s,s", "", "the model imports opset 10; Range is run from opset 11 on\n");
    refused(6, "ReduceMean", "x", "", "the model imports opset 6; ReduceMean is run from opset 7 on\n");
    refused(6, "Cast", "x", "to=1", "the model imports opset 6; Cast is run from opset 7 on\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "n", "my.domain", "Add", "x,x", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "mine.onnx");
    REFUSED("rmsnorm run mine.onnx random:float:2", "node \"n\": Add is of domain \"my.domain\"",
            "of ai.onnx Add, Cast, ", "Sub are run as well\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "n", "", "Softmax", "x", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 13, "softmax.onnx");
    REFUSED("rmsnorm run softmax.onnx missing.npy", "node \"n\": no operator ai.onnx::Softmax; there are ",
            "; of ai.onnx Add, Cast, Constant, ", "Sub are run as well\n");
}

/* Shapes must be known before the run; integers go into no file. */
static void what_cannot_be_planned_is_refused(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "", "", "Add", "x,x", "sum", "");
    model_node(&file, "", "", "Cast", "sum", "axes", "to=7");
    model_node(&file, "n", "", "ReduceMean", "x,axes", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 18, "late.onnx");
    REFUSED(
        "rmsnorm run late.onnx random:float:2",
        "node 2 'n' (ai.onnx::ReduceMean): the shape of the output hangs on the numbers in input 1, which must follow "
        "from constants, initializers and shapes\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "", "", "Shape", "x", "y", "");
    model_output(&file, "y", RMSNORM_INT64, "1");
    model_write(&file, 18, "shape.onnx");
    REFUSED("rmsnorm run shape.onnx random:float:2",
            "shape.onnx: output 'y' is of the element type int64, allowed are float, float16, bfloat16, double\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "", "", "SimplifiedLayerNormalization", ",x", "lost", "");
    model_node(&file, "n", "", "Sqrt", "lost", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 18, "lost.onnx");
    REFUSED("rmsnorm run lost.onnx random:float:2", "node 1 'n' (ai.onnx::Sqrt): the shape of input 0 is not known\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_checked),
        cmocka_unit_test(attributes_are_checked),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(shapes_and_values_are_checked),
        cmocka_unit_test(integers_must_hold_what_is_cast),
        cmocka_unit_test(opsets_are_checked),
        cmocka_unit_test(what_cannot_be_planned_is_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
