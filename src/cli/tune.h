/* tune.h: rmsnorm tune: what there is to try, the tensors it is tried on, the search, and the report. */
#ifndef RMSNORM_CLI_TUNE_H
#define RMSNORM_CLI_TUNE_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/gpu.h"
#include "options.h"

/* ---- What there is to try -------------------------------------------------------------------- */

enum { RMSNORM_CLI_TUNE_VALUES = 16, RMSNORM_CLI_TUNE_VARIANTS = 16 };

typedef struct rmsnorm_cli_tune_knob {
    char name[32];
    int64_t standard; /* the package's own value */
    int64_t values[RMSNORM_CLI_TUNE_VALUES];
    size_t count;
} rmsnorm_cli_tune_knob;

typedef struct rmsnorm_cli_tune_case {
    char name[96];
    rmsnorm_tensor inputs[RMSNORM_MAX_SLOTS]; /* without data; rank RMSNORM_UNKNOWN where there is none */
    bool wanted[RMSNORM_MAX_SLOTS];
} rmsnorm_cli_tune_case;

/* A package: its variants, the tunables of its bench.json, its cases. */
typedef struct rmsnorm_cli_tune_source {
    rmsnorm_package *package;
    rmsnorm_package_info info;
    const rmsnorm_operator *op;
    char variants[RMSNORM_CLI_TUNE_VARIANTS][64];
    size_t variant_count;
    rmsnorm_cli_tune_knob knobs[RMSNORM_MAX_TUNABLES];
    size_t knob_count;
    rmsnorm_cli_tune_case *cases;
    size_t case_count;
} rmsnorm_cli_tune_source;

/* Takes an open package. With shapes ("128x4096") the cases are of those rows and widths, once for each choice of types and outputs
 * that bench.json has, and of types with the required outputs alone. Close it also after a failure. */
int rmsnorm_cli_tune_source_open(rmsnorm_package *package, const rmsnorm_cli_list *shapes,
                                 rmsnorm_cli_tune_source *source);
void rmsnorm_cli_tune_source_close(rmsnorm_cli_tune_source *source);

/* ---- Tensors --------------------------------------------------------------------------------- */

typedef struct rmsnorm_cli_tune_data {
    rmsnorm_webgpu *webgpu;
    const rmsnorm_options *options; /* of the CPU's runs */
    rmsnorm_attributes attributes;
    rmsnorm_request request; /* of the case, without variant and tunables */
    rmsnorm_device_profile device;
    rmsnorm_tensor inputs[RMSNORM_MAX_SLOTS], expected[RMSNORM_MAX_SLOTS];
    rmsnorm_webgpu_tensor device_inputs[RMSNORM_MAX_SLOTS], device_outputs[RMSNORM_MAX_SLOTS];
    bench_gpu_work work; /* without a plan */
    void *scratch;       /* as large as the largest output */
    bool twice;          /* results are rounded in the middle, too, to float16 */
} rmsnorm_cli_tune_data;

/* RMSNORM_CLI_NO: the case does not fit the device, or it does not take it; the sentence says why. Close it in any case. */
int rmsnorm_cli_tune_data_open(rmsnorm_webgpu *webgpu, const rmsnorm_options *options,
                               const rmsnorm_cli_tune_source *source, const rmsnorm_cli_tune_case *what,
                               rmsnorm_cli_tune_data *data);
/* RMSNORM_CLI_NO: the plan's outputs are not those of the CPU, within 4 steps of float and 1 of float16 (with a rounding in the
 * middle, few elements within as much as a step there comes to), or the device refuses it.
 * What an earlier run left in the outputs is overwritten before. */
int rmsnorm_cli_tune_data_check(const rmsnorm_cli_tune_data *data, const rmsnorm_plan *plan);
void rmsnorm_cli_tune_data_close(rmsnorm_cli_tune_data *data);

/* ---- Search ---------------------------------------------------------------------------------- */

typedef enum rmsnorm_cli_tune_state {
    RMSNORM_CLI_TUNE_DONE,
    RMSNORM_CLI_TUNE_KEPT,    /* the file has its class already */
    RMSNORM_CLI_TUNE_SKIPPED, /* it does not fit the device */
    RMSNORM_CLI_TUNE_WRONG,   /* the package's own choice computes something else than the CPU */
    RMSNORM_CLI_TUNE_CUT      /* the time was up, or the user stopped it */
} rmsnorm_cli_tune_state;

typedef struct rmsnorm_cli_tune_result {
    const rmsnorm_cli_tune_source *source;
    const rmsnorm_cli_tune_case *what;
    rmsnorm_cli_tune_state state;
    char request_class[192], reason[512];
    rmsnorm_tuning_choice choice;
    size_t tried;      /* different plans */
    char **thrown_out; /* sentences about those that were wrong */
    size_t thrown_out_count;
} rmsnorm_cli_tune_result;

typedef struct rmsnorm_cli_tune_watch {
    bool (*stopped)(void);
    void (*progress)(const rmsnorm_cli_tune_result *result, double default_us, double best_us); /* after each plan */
} rmsnorm_cli_tune_watch;

/* Sets state, choice, tried, and the reason where there is one. RMSNORM_CLI_BAD: the device is gone. */
int rmsnorm_cli_tune_search(const rmsnorm_cli_tune_data *data, const rmsnorm_cli_tune_watch *watch,
                            rmsnorm_cli_tune_result *result);

/* ---- Report ---------------------------------------------------------------------------------- */

void rmsnorm_cli_tune_print_text(const rmsnorm_adapter *adapter, const char *path,
                                 const rmsnorm_cli_tune_result *results, size_t count);
void rmsnorm_cli_tune_print_json(const rmsnorm_adapter *adapter, const char *path,
                                 const rmsnorm_cli_tune_result *results, size_t count);
/* "WORKGROUP_SIZE=64 VECTOR=1"; empty: the package's own. */
#define RMSNORM_CLI_TUNE_CHOICE 400
const char *rmsnorm_cli_tune_choice_text(const rmsnorm_tuning_choice *choice, char text[RMSNORM_CLI_TUNE_CHOICE]);

#endif
