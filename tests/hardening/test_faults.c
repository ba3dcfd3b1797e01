/* Disks that are full, broken or read-only at any moment, signals at any moment, threads that cannot be had: what a command
 * writes is there complete or not at all, what was there before stays, and nothing lies beside it. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model.h"
#include "cli/support.h"
#include "hardening/faults.h"

#define RUN "run --op SimplifiedLayerNormalization in/x.npy in/scale.npy --threads 1 "

static const fault_command commands[] = {
    {.words = RUN "-o Y=to/y.npy", ""},
    {.words = RUN "-o Y=to/y.npy", "echo old > y.npy; chmod 640 y.npy"},
    {.words = RUN "-o Y=to/y.pb -o inv_std_var=to/i.safetensors", ""},
    {.words = RUN "-o Y=to/y.npy -o inv_std_var=to/i.npy", "echo old > y.npy; chmod 600 y.npy; echo old > i.npy"},
    {.words = "run in/m.onnx in/x4.npy in/x4.npy --output-dir to/all", ""},
    {.words = "fuse in/m.onnx -o to/f.onnx", ""},
    {.words = "fuse in/m.onnx -o to/f.onnx", "echo old > real.onnx; ln -s real.onnx f.onnx"},
    {.words = "fuse in/e.onnx -o to/e.onnx", ""},
    {.words = "fuse in/e.onnx -o to/e.onnx --data-files link", "echo old > e.onnx"},
    {.words = "convert in/f.onnx --to decomposed -o to/c.onnx", "echo old > c.onnx"},
    {.words = "package new com.example.Scale --into to", ""},
    {.words = "package build to/p",
     "\"$RMSNORM\" package new com.example.Scale >/dev/null && mv com.example.Scale p && rm p/README.md"},
    {.words = "package build to/p",
     "\"$RMSNORM\" package new com.example.Scale >/dev/null && mv com.example.Scale p && echo >> p/build/webgpu/bench.json &&"
     " echo old > p/README.md",
     .grows = true}, /* two files, each complete */
    {.words = "bench --shape 1x4 --seconds 0.01 --threads 1 --svg to/c.svg", "", .varies = true},
    {.words = "bench --shape 1x4 --seconds 0.01 --threads 1 --svg to/c.svg", "echo old > c.svg", .varies = true},
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

static void reads_may_be_short_and_interrupted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        if (!commands[i].varies) { /* bench reads no file */
            fault_slow_reads(&commands[i]);
        }
    }
}

static void threads_that_cannot_be_had_are_done_without(void **state)
{
    (void)state;
    DONE("rmsnorm run --op SimplifiedLayerNormalization random:float:64,512 random:float:512 --threads 8 -o Y=all.npy");
    for (int at = 1; at <= 8; ++at) {
        expect_done(
            shell("rm -f mark; LD_PRELOAD=" FAULT_LIBRARY " FAULT_THREADS=1 FAULT_AT=%d FAULT_MARK=mark rmsnorm run "
                  "--op SimplifiedLayerNormalization random:float:64,512 random:float:512 --threads 8 -o Y=few.npy && "
                  "cmp all.npy few.npy && ls mark 2>/dev/null | wc -l",
                  at),
            (const char *const[]){at < 8 ? "1\n" : "0\n", NULL});
    }
}

/* The loader of programs speaks to descriptor 2 at each of these calls, as a driver might. */
static void a_file_never_gets_the_number_of_a_stream(void **state)
{
    (void)state;
    DONE("rmsnorm " RUN "-o Y=right.npy");
    expect_done(shell("LD_DEBUG=bindings LD_PRELOAD=" FAULT_LIBRARY " rmsnorm " RUN "-o Y=noisy.npy >/dev/null 2>&-; "
                      "cmp right.npy noisy.npy && echo same"),
                (const char *const[]){"same\n", NULL});
}

/* A large external tensor, copied by the system; an initializer beyond what is gathered in memory. */
static void write_model(const char *path, bool external)
{
    static model m;
    static float large[5000];
    const float two = 2.0F, epsilon = 0.001F;
    const float scale[] = {1, 2, 3, 4};
    const int64_t axes[] = {-1};
    model_begin(&m);
    model_input(&m, "X", RMSNORM_FLOAT, "B,4");
    model_input(&m, "skip", RMSNORM_FLOAT, "B,4");
    model_output(&m, "Y", RMSNORM_FLOAT, "B,4");
    model_output(&m, "sum", RMSNORM_FLOAT, "B,4");
    model_initializer(&m, "two", "", &two);
    model_initializer(&m, "epsilon", "1", &epsilon);
    model_initializer(&m, "scale", "4", scale);
    model_integers(&m, "axes", "1", axes);
    model_initializer(&m, "large", "5000", large);
    if (external) { /* dims 65536, float, name "w", location "d/w.bin" */
        static const char tensor[] = "\x2a\x20\x08\x80\x80\x04\x10\x01\x42\x01w\x6a\x13\x0a\x08location\x12\x07"
                                     "d/w.bin\x70\x01";
        memcpy(m.graph.bytes + m.graph.size, tensor, sizeof tensor - 1);
        m.graph.size += sizeof tensor - 1;
    }
    model_node(&m, "/Add_0", "", "Add", "X,skip", "sum", "");
    model_node(&m, "/Pow", "", "Pow", "sum,two", "square", "");
    model_node(&m, "/ReduceMean", "", "ReduceMean", "square,axes", "mean", "");
    model_node(&m, "/Add", "", "Add", "mean,epsilon", "moved", "");
    model_node(&m, "/Sqrt", "", "Sqrt", "moved", "root", "");
    model_node(&m, "/Div", "", "Div", "sum,root", "rows", "");
    model_node(&m, "/Mul", "", "Mul", "rows,scale", "Y", "");
    model_write(&m, 18, path);
}

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    DONE("mkdir in in/d && head -c 262144 /dev/zero > in/d/w.bin");
    WRITE("in/x.npy", RMSNORM_FLOAT, "2,2", 2, -2, 3, 4);
    WRITE("in/x4.npy", RMSNORM_FLOAT, "1,4", 2, -2, 3, 4);
    WRITE("in/scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    write_model("in/m.onnx", false);
    write_model("in/e.onnx", true);
    DONE("rmsnorm fuse in/m.onnx -o in/f.onnx");
    return setenv("RMSNORM_ORT_LIBRARY", "/nonexistent", 1);
}

int main(int count, char **words)
{
    if (count > 1) { /* one test alone */
        cmocka_set_test_filter(words[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(every_call_meets_a_signal),
        cmocka_unit_test(reads_may_be_short_and_interrupted),
        cmocka_unit_test(threads_that_cannot_be_had_are_done_without),
        cmocka_unit_test(a_file_never_gets_the_number_of_a_stream),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
