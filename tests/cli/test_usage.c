/* The command line itself: help, versions, and a long table of wrong lines, each answered by one line and exit code 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#if defined(__aarch64__)
#define FOREIGN_ISA "avx2"
#else
#define FOREIGN_ISA "neon"
#endif

#define SIMPLE "rmsnorm run --op SimplifiedLayerNormalization "

static void help_is_on_standard_output(void **state)
{
    (void)state;
    DONE("rmsnorm --help", "Usage: rmsnorm SUBCOMMAND", "run ", "test ", "selftest ", "infer ", "describe ", "info ",
         "Exit codes: 0 done");
    DONE("rmsnorm -h", "Usage: rmsnorm SUBCOMMAND");
    DONE("rmsnorm run --help", "Usage: rmsnorm run MODEL.onnx", "       rmsnorm run --op", "is not replaced",
         "become %XX", "random:DTYPE", "Options:\n", "--version N", "-o, --output", "--output-dir DIR", "DIR is made",
         "--isa scalar|neon|avx2|avx512", "--threads N", "--json", "-h, --help");
    DONE("! rmsnorm run --help | grep -- '--version  '"); /* its own option of that name hides the common one */
    DONE("rmsnorm infer --help", "-h, --help", "--version  ");
    DONE("rmsnorm help", "Usage: rmsnorm SUBCOMMAND");
    DONE("rmsnorm help infer", "Usage: rmsnorm infer");
    DONE("rmsnorm test a b --help", "Usage: rmsnorm test DIR...",
         "float 1e-7 + 1e-5 * |expected|, double 1e-14 + 1e-12 * |expected|, float16 1 ulp, bfloat16 1 ulp");
    DONE("rmsnorm infer -h", "Usage: rmsnorm infer --op");
    DONE("rmsnorm describe --help", "Usage: rmsnorm describe [[DOMAIN::]NAME]", "--no-prose");
    DONE("rmsnorm info --help", "Usage: rmsnorm info\n");
    DONE("rmsnorm selftest --help", "Usage: rmsnorm selftest [--device cpu|webgpu", "--adapter TEXT", "--limit NAME=N");
    DONE(
        "for c in run test selftest infer check fuse convert plan describe bench tune get-kernel package info; do rmsnorm $c --help | awk 'length > 120 || / $/ { exit 1 }' || exit 1; done");
}

static void version_is_one_line(void **state)
{
    (void)state;
    DONE("[ \"$(rmsnorm --version)\" = 'rmsnorm 0.1.0' ]");
    DONE("[ \"$(rmsnorm infer --version)\" = 'rmsnorm 0.1.0' ]");
}

typedef struct wrong {
    const char *script;
    const char *sentence; /* a part of the line */
} wrong;

static void expect_all_refused(const wrong *lines, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        REFUSED(lines[i].script, lines[i].sentence);
    }
}

static void wrong_lines_of_any_subcommand(void **state)
{
    (void)state;
    static const wrong lines[] = {
        {"rmsnorm", "no subcommand is given, 'rmsnorm --help' lists them"},
        {"rmsnorm ''", "unknown subcommand ''"},
        {"rmsnorm rnu", "unknown subcommand 'rnu', did you mean 'run'?"},
        {"rmsnorm descirbe", "did you mean 'describe'?"},
        {"rmsnorm past", "unknown subcommand 'past', 'rmsnorm --help' lists them"}, /* half of 'test' */
        {"rmsnorm help frobnicate", "unknown subcommand 'frobnicate'"},
        {"rmsnorm frobnicate", "unknown subcommand 'frobnicate', 'rmsnorm --help' lists them"},
        {"rmsnorm --json info", "'--json' comes before the subcommand, options come after it"},
        {"rmsnorm info --jsn", "unknown option '--jsn', did you mean '--json'?"},
        {"rmsnorm info --thread=3", "unknown option '--thread', did you mean '--threads'?"},
        {"rmsnorm info --frobnicate", "unknown option '--frobnicate', 'rmsnorm info --help' lists the options"},
        {"rmsnorm info -j", "unknown option '-j'"},
        {"rmsnorm info ---", "unknown option '---'"},
        {"rmsnorm info --=3", "unknown option '--'"},
        {"rmsnorm info --json=1", "option '--json' takes no value, '1' was given"},
        {"rmsnorm info -h3", "option '--help' takes no value"},
        {"rmsnorm info --threads", "option '--threads' needs a value: --threads N"},
        {"rmsnorm info --threads 0", "--threads is '0', allowed are whole numbers from 1 to 1024"},
        {"rmsnorm info --threads=-1", "--threads is '-1'"},
        {"rmsnorm info --threads=", "--threads is ''"},
        {"rmsnorm info --threads 2x", "--threads is '2x'"},
        {"rmsnorm info --threads 99999999999999999999", "allowed are whole numbers from 1 to 1024"},
        {"rmsnorm info --isa sse9", "--isa: "},
        {"rmsnorm info --isa=", "--isa: "},
        {"rmsnorm info --isa " FOREIGN_ISA, "--isa is '" FOREIGN_ISA "', which this build does not have"},
        {"rmsnorm info --threads 1 --threads=1", "option '--threads' is given twice, once is allowed"},
        {"rmsnorm info --isa scalar --isa avx2", "option '--isa' is given twice, once is allowed"},
        {"rmsnorm info here", "info takes no argument, 'here' was given"},
        {"rmsnorm info -- --json", "info takes no argument, '--json' was given"},
        {"RMSNORM_ISA=mmx rmsnorm info", "RMSNORM_ISA"},
        {"RMSNORM_ISA=mmx " SIMPLE "random:float:2,4 random:float:4", "RMSNORM_ISA"},
        {"rmsnorm info \"--$(printf 'a\\033[31m\\nb\\377')\"", "unknown option '--a?[31m?b?'"},
        {"rmsnorm \"$(printf '\\302\\233x\\342\\200\\256')\"", "unknown subcommand '?\?x?\?\?'"},
        {"rmsnorm info --$(printf '%05000d' 1)", "unknown option '--000"},
    };
    expect_all_refused(lines, sizeof lines / sizeof lines[0]);
}

static void wrong_lines_of_run(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 1, 2);
    WRITE("int.pb", RMSNORM_FLOAT, "1", 1);
    write_bytes("short.npy", "\x93NUMPY", 6);
    write_bytes("empty.onnx", "", 0);
    static const wrong lines[] = {
        {"rmsnorm run", "nothing to run, give a MODEL.onnx or --op NAME"},
        {"rmsnorm run missing.onnx", "missing.onnx"},
        {"rmsnorm run .", "."},
        {"rmsnorm run ''", "the name is empty"},
        {"rmsnorm run empty.onnx", "empty.onnx"},
        {"rmsnorm run x.npy", "'x.npy' is a tensor: give a MODEL.onnx before it, or --op NAME"},
        {"rmsnorm run random:float:2", "'random:float:2' is a tensor"},
        {"rmsnorm run x.safetensors:x.onnx", "'x.safetensors:x.onnx' is a tensor"},
        {"rmsnorm run x.onnx --attr epsilon=1", "--attr 'epsilon=1' goes with --op"},
        {"rmsnorm run x.onnx --output-dir=", "--output-dir is empty"},
        {"rmsnorm run --op", "option '--op' needs a value: --op NAME"},
        {"rmsnorm run --op ''", "operator"},
        {"rmsnorm run --op RMSNorm x.npy", "RMSNormalization"},
        {"rmsnorm run --op a::b::c x.npy", "a::b::c"},
        {"rmsnorm run --op com.microsoft::RMSNormalization x.npy", "RMSNormalization"},
        {"rmsnorm run --op LayerNormalization x.npy", "no operator LayerNormalization"},
        {SIMPLE "--input X=x.npy", "--input 'X=x.npy' goes with a model"},
        {SIMPLE, "SimplifiedLayerNormalization: "},
        {SIMPLE "x.npy", "SimplifiedLayerNormalization: "},
        {SIMPLE "_ x.npy", "SimplifiedLayerNormalization: "},
        {SIMPLE "x.npy x.npy x.npy", "3 inputs were given, it has 2: X, scale"},
        {SIMPLE "x.npy x.npy -o Z=z.npy", "has no output 'Z', it has Y, inv_std_var"},
        {SIMPLE "x.npy x.npy -o =z.npy", "has no output ''"},
        {SIMPLE "x.npy x.npy -o z.npy", "has no output 'z.npy'; a file goes behind an output's name: -o Y=z.npy"},
        {SIMPLE "x.npy x.npy -o", "option '--output' needs a value"},
        {SIMPLE "x.npy x.npy -o Y=a.npy -o Y", "output 'Y' was asked for twice"},
        {SIMPLE "x.npy x.npy --attr axis=0 --attr epsilon=1 --attr axis=1", "--attr 'axis' is given twice"},
        {SIMPLE "x.npy x.npy --op RMSNormalization", "option '--op' is given twice"},
        {SIMPLE "x.npy x.npy --output-dir a --output-dir b", "option '--output-dir' is given twice"},
        {SIMPLE "ok.onnx", "the model 'ok.onnx' and --op 'SimplifiedLayerNormalization' exclude each other"},
        {"rmsnorm run ok.onnx --op X", "the model 'ok.onnx' and --op 'X' exclude each other"},
        {SIMPLE "x.npy x.npy --device gpu", "--device is 'gpu', allowed are cpu and webgpu"},
        {SIMPLE "x.npy x.npy --adapter llvm", "--adapter goes with --device webgpu"},
        {"RMSNORM_WEBGPU_LIBRARY=/nonexistent " SIMPLE "x.npy x.npy --device webgpu", "WebGPU"},
        {SIMPLE "x.npy x.npy --attr axis", "axis"},
        {SIMPLE "x.npy x.npy --attr axis=1.5", "axis"},
        {SIMPLE "x.npy x.npy --attr axis=7", "axis"},
        {SIMPLE "x.npy x.npy --attr=epsilon=", "epsilon"},
        {SIMPLE "x.npy x.npy --attr beta=1", "beta"},
        {SIMPLE "x.npy x.npy --attr epsilom=1", "no attribute 'epsilom'; did you mean 'epsilon'? allowed: "},
        {SIMPLE "x.npy x.npy --attr stash_type=16", "stash_type"},
        {SIMPLE "missing.npy x.npy", "X: missing.npy: "},
        {SIMPLE "x.npy missing.pb", "scale: missing.pb: "},
        {SIMPLE "x.npy x.txt", "scale: x.txt: "},
        {SIMPLE "x.npy short.npy", "scale: short.npy: "},
        {SIMPLE "x.npy ''", "scale: "},
        {SIMPLE "x.npy - </dev/null", "scale: "},
        {SIMPLE "x.npy - <&-", "scale: "},
        {"rmsnorm run --op SkipSimplifiedLayerNormalization --attr epsilon=nan x.npy x.npy x.npy", "epsilon"},
        {"rmsnorm run --op SkipSimplifiedLayerNormalization --attr epsilon=-1 x.npy x.npy x.npy", "epsilon"},
    };
    expect_all_refused(lines, sizeof lines / sizeof lines[0]);
}

static void wrong_lines_of_test_and_selftest(void **state)
{
    (void)state;
    write_bytes("file", "x", 1);
    DONE("mkdir nothing");
    static const wrong lines[] = {
        {"rmsnorm test", "no test folder is given"},
        {"rmsnorm test nothing --device gpu", "--device is 'gpu', allowed are cpu and webgpu"},
        {"rmsnorm test nothing --adapter x", "--adapter goes with --device webgpu, the CPU has none"},
        {"rmsnorm test nothing --device cpu --without subgroups", "--without goes with --device webgpu"},
        {"rmsnorm test nothing --limit maxBufferSize=1", "--limit goes with --device webgpu"},
        {"rmsnorm test nothing --device webgpu --adapter ''", "--adapter is empty"},
        {"rmsnorm selftest now", "selftest takes no argument, 'now' was given"},
        {"rmsnorm selftest --device tpu", "--device is 'tpu', allowed are cpu and webgpu"},
        {"rmsnorm selftest --adapter x", "--adapter goes with --device webgpu"},
        {"rmsnorm selftest --device webgpu --without f16", "--without is 'f16', allowed are shader-f16 and subgroups"},
        {"rmsnorm selftest --device webgpu --limit maxBufferSiz=1", "did you mean 'maxBufferSize'?"},
        {"rmsnorm selftest --device webgpu --limit maxBufferSize",
         "--limit is 'maxBufferSize', allowed is NAME=NUMBER"},
        {"rmsnorm selftest --device webgpu --limit maxBindGroups=1",
         "--limit 'maxBindGroups': nothing here depends on it"},
        {"rmsnorm selftest --device webgpu --limit subgroupMinSize=4", "'subgroupMinSize': nothing here depends on it"},
        {"RMSNORM_ISA=mmx rmsnorm selftest", "RMSNORM_ISA"},
        {"rmsnorm test missing", "'missing' cannot be read: No such file or directory"},
        {"rmsnorm test file", "'file' cannot be read: Not a directory"},
        {"rmsnorm test nothing", "'nothing' is no test folder and holds none"},
        {"rmsnorm test nothing --rtol x", "--rtol is 'x', allowed are numbers from 0"},
        {"rmsnorm test nothing --atol=-1", "--atol is '-1'"},
        {"rmsnorm test nothing --atol nan", "--atol is 'nan'"},
        {"rmsnorm test nothing --rtol 1 --rtol 1", "option '--rtol' is given twice"},
    };
    expect_all_refused(lines, sizeof lines / sizeof lines[0]);
}

static void wrong_lines_of_infer_and_describe(void **state)
{
    (void)state;
#define INFER "rmsnorm infer --op SimplifiedLayerNormalization "
    static const wrong lines[] = {
        {"rmsnorm describe --format text --format json", "option '--format' is given twice"},
        {INFER "X=float scale=float --output Y --output Y", "output 'Y' is asked for twice"},
        {INFER "X=float scale=float --attr axes=0", "no attribute 'axes'; did you mean 'axis'? allowed: "},
        {INFER "X=float scale=float --attr axis=0 --attr axis=0", "--attr 'axis' is given twice"},
        {"rmsnorm infer", "no operator is given, write --op [DOMAIN::]NAME"},
        {INFER "X", "'X' is no input, write INPUT=DTYPE:DIM,DIM,..."},
        {INFER "Z=float", "has no input 'Z', it has X, scale"},
        {INFER "X=float X=float", "input 'X' is given twice"},
        {INFER "X=int8:2", "X: unknown element type 'int8'"},
        {INFER "X=:2", "X: unknown element type ''"},
        {INFER "X=float:2,,3",
         "X: dim 1 is '', allowed are whole numbers from 0, names that begin with a letter, and ?"},
        {INFER "X=float:-2", "X: dim 0 is '-2'"},
        {INFER "X=float:2B", "X: dim 0 is '2B'"},
        {INFER "X=float:??", "X: dim 0 is '?\?'"},
        {INFER "X=float:2:3", "X: dim 0 is '2:3'"},
        {INFER "X=float:9999999999999999999", "X: dim 0 is '9999999999999999999'"},
        {INFER "X=float:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 scale=float", "X: more than 16 dims"},
        {INFER "X=float: scale=float:4", "X"},
        {INFER "X=float:2,4 scale=float:3", "scale"},
        {INFER "X=float:2,4 scale=float:4 --output Z", "has no output 'Z'"},
        {INFER "X=float:2,4 scale=float:4 --attr axis=2", "axis"},
        {"rmsnorm infer --op SkipSimplifiedLayerNormalization input=float:2,4 skip=float:2,4", "gamma"},
        {"rmsnorm infer --op SkipSimplifiedLayerNormalization input=double:2,4 skip=double:2,4 gamma=double:4",
         "double"},
        {"rmsnorm describe Softmax", "no operator Softmax"},
        {"rmsnorm describe a b", "one operator at a time: 'a' and 'b' were given"},
        {"rmsnorm describe --format xml", "--format is 'xml', allowed are text, markdown, json"},
        {"rmsnorm describe --threads 2", "unknown option '--threads'"},
    };
    expect_all_refused(lines, sizeof lines / sizeof lines[0]);
}

static void options_stand_in_any_place_and_form(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("-s.npy", RMSNORM_FLOAT, "2", 1, 2);
    DONE("rmsnorm run x.npy --op=SimplifiedLayerNormalization --attr=epsilon=12 --threads=1 -- -s.npy",
         "on the CPU: ", ", 1 thread\n", "first 0.5, -1\n");
    DONE("rmsnorm run --threads 1 --op SimplifiedLayerNormalization -oY=y.npy x.npy ./-s.npy", ", 1 thread\n",
         "-> y.npy\n");
    DONE("rmsnorm run --op SimplifiedLayerNormalization -o=Y=z.npy x.npy ./-s.npy && cmp y.npy z.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_on_standard_output),          cmocka_unit_test(version_is_one_line),
        cmocka_unit_test(wrong_lines_of_any_subcommand),       cmocka_unit_test(wrong_lines_of_run),
        cmocka_unit_test(wrong_lines_of_test_and_selftest),    cmocka_unit_test(wrong_lines_of_infer_and_describe),
        cmocka_unit_test(options_stand_in_any_place_and_form),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
