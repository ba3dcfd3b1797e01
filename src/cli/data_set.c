/* data_set.c: one test_data_set_N through a model. */
#include "data_set.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "folder.h"
#include "operand.h"

/* The tensors of the files of one kind, in the order of the declared values. */
typedef struct tensors {
    rmsnorm_cli_operand *files;
    size_t count;
    const rmsnorm_tensor **by_value;
} tensors;

static void free_tensors(tensors *set)
{
    for (size_t i = 0; i < set->count; ++i) {
        rmsnorm_cli_operand_release(&set->files[i]);
    }
    free(set->files);
    free(set->by_value);
}

/* By tensor name if every file's name is a declared one and no two are the same. */
static bool match_by_name(tensors *set, const rmsnorm_value *values)
{
    for (size_t i = 0; i < set->count; ++i) {
        size_t value = 0;
        while (value < set->count && strcmp(values[value].name, set->files[i].name) != 0) {
            ++value;
        }
        if (value == set->count || set->by_value[value] != NULL) {
            return false;
        }
        set->by_value[value] = &set->files[i].tensor;
    }
    return true;
}

static int read_tensors(const char *set_path, const char *prefix, const char *kind, const rmsnorm_value *values,
                        size_t count, tensors *set)
{
    rmsnorm_cli_paths paths = {NULL, 0};
    int code = rmsnorm_cli_folder_files(set_path, prefix, &paths);
    if (code == RMSNORM_CLI_DONE && paths.count != count) {
        code = rmsnorm_cli_fail("'%s' has %zu files %sK.pb, the model declares %zu %s%s%s%s%s", set_path, paths.count,
                                prefix, count, kind, count == 1 ? "" : "s", count > 0 ? ", the first is '" : "",
                                count > 0 ? values[0].name : "", count > 0 ? "'" : "");
    }
    set->files = rmsnorm_cli_allocate(paths.count, sizeof *set->files);
    set->by_value = rmsnorm_cli_allocate(paths.count, sizeof *set->by_value);
    for (size_t i = 0; i < paths.count && code == RMSNORM_CLI_DONE; ++i) {
        code = rmsnorm_cli_operand_read(values[i].name, paths.items[i], i, &set->files[i]);
        ++set->count;
    }
    rmsnorm_cli_paths_free(&paths);
    if (code == RMSNORM_CLI_DONE && !match_by_name(set, values)) {
        for (size_t i = 0; i < set->count; ++i) {
            set->by_value[i] = &set->files[i].tensor;
        }
    }
    return code;
}

static int compare(const rmsnorm_cli_chain *chain, const tensors *expected, const rmsnorm_cli_tolerance *chosen,
                   rmsnorm_cli_results *results)
{
    const rmsnorm_graph *graph = rmsnorm_cli_chain_graph(chain);
    for (size_t i = 0; i < graph->output_count; ++i) {
        results->names[i] = graph->outputs[i].name;
        const rmsnorm_cli_tolerance tolerance = rmsnorm_cli_tolerance_of(expected->by_value[i]->dtype, chosen);
        const int code = rmsnorm_cli_compare(graph->outputs[i].name, rmsnorm_cli_chain_output(chain, i),
                                             expected->by_value[i], &tolerance, &results->differences[i]);
        ++results->count;
        if (code != RMSNORM_CLI_DONE) {
            return code;
        }
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_data_set_run(rmsnorm_cli_chain *chain, const char *set, const rmsnorm_cli_tolerance *chosen,
                             const rmsnorm_cli_context *context, rmsnorm_cli_results *results)
{
    const rmsnorm_graph *graph = rmsnorm_cli_chain_graph(chain);
    tensors inputs = {.count = 0};
    tensors outputs = {.count = 0};
    results->count = 0;
    results->names = rmsnorm_cli_allocate(graph->output_count, sizeof *results->names);
    results->differences = rmsnorm_cli_allocate(graph->output_count, sizeof *results->differences);
    int code = read_tensors(set, "input_", "input", graph->inputs, graph->input_count, &inputs);
    if (code == RMSNORM_CLI_DONE) {
        code = read_tensors(set, "output_", "output", graph->outputs, graph->output_count, &outputs);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_chain_prepare(chain, inputs.by_value, NULL);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_chain_compute(chain, context);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = compare(chain, &outputs, chosen, results);
    }
    free_tensors(&inputs);
    free_tensors(&outputs);
    return code;
}
