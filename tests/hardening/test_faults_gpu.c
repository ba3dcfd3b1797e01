/* The same for rmsnorm tune, whose process has the threads of a driver: the tuning file is the old one or the new one. */
#include <stdlib.h>

#include "cli/pack.h"
#include "cli/support.h"
#include "hardening/faults.h"

static const fault_command commands[] = {
    {.words = "tune --device webgpu -o to/deep/t.json s",
     "",
     .varies = true,
     .named = true,
     .grows = true}, /* folders that were made stay */
    {.words = "tune --device webgpu -o to/t.json s",
     "echo '{\"adapters\": {}}' > t.json",
     .varies = true,
     .named = true},
};

static void every_call_fails_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        fault_sweep_errors(&commands[i], 1);
    }
}

static void every_call_meets_a_signal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        fault_sweep_signals(&commands[i]);
    }
}

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    pack_copy("ai.onnx.SimplifiedLayerNormalization", "s");
    pack_put("s", "bench.json",
             "{'cases': [{'name': 'small', 'inputs': {'x': {'dtype': 'float32', 'shape': [2, 64]}, 'scale': "
             "{'dtype': 'float32', 'shape': [64]}}}], 'tunables': {'WORKGROUP_SIZE': [64]}}");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(every_call_meets_a_signal),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
