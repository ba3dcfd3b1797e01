/* run_model.c: rmsnorm run MODEL: files to the declared inputs, declared outputs to files. */
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "cli.h"
#include "operand.h"
#include "run.h"
#include "summary.h"
#include "text.h"

enum { NAMES = 512 };

/* The declared value a "NAME=FILE" is about. A name may hold '=' itself: the longest declared name that fits is meant. */
static const rmsnorm_value *declared(const rmsnorm_value *values, size_t count, const char *word, size_t *length)
{
    const rmsnorm_value *found = NULL;
    for (size_t i = 0; i < count; ++i) {
        const size_t size = strlen(values[i].name);
        const bool fits = strncmp(values[i].name, word, size) == 0 && (word[size] == '=' || word[size] == '\0');
        if (fits && (found == NULL || size > *length)) {
            found = &values[i];
            *length = size;
        }
    }
    return found;
}

/* "'X', 'scale'": those the words of the list do not name yet, or all. */
static const char *names_of(const rmsnorm_value *values, size_t count, const char *const *given, char text[NAMES])
{
    text[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        if (given == NULL || given[i] == NULL) {
            rmsnorm_cli_append(text, NAMES, "%s'%s'", text[0] == '\0' ? "" : ", ", values[i].name);
        }
    }
    return text[0] == '\0' ? "none" : text;
}

/* The words of --input or --output by declared value: what follows the name, "=FILE" or "". */
static int match_words(const char *kind, const char *path, const rmsnorm_value *values, size_t count,
                       const rmsnorm_cli_list *words, const char **given)
{
    char names[NAMES];
    for (size_t i = 0; i < words->count; ++i) {
        const char *word = words->items[i];
        size_t length = strcspn(word, "=");
        const rmsnorm_value *value = declared(values, count, word, &length);
        if (value == NULL) {
            const bool file = word[length] == '\0' && strchr(word, '.') != NULL;
            return rmsnorm_cli_fail("%s has no %s '%.*s', it declares %s%s", path, kind,
                                    (int)(length < 200 ? length : 200), word, names_of(values, count, NULL, names),
                                    file ? "; a file goes behind a name: NAME=FILE" : "");
        }
        if (given[value - values] != NULL) {
            return rmsnorm_cli_fail("%s '%s' is given twice, once is allowed", kind, value->name);
        }
        given[value - values] = word + length;
    }
    return RMSNORM_CLI_DONE;
}

/* Those that files must fill, and behind them those that have a default. */
static size_t input_count(const rmsnorm_graph *graph)
{
    return graph->input_count + graph->default_count;
}

static int fill_inputs(const rmsnorm_cli_request *request, const rmsnorm_graph *graph, const char **files)
{
    const char *path = request->words.items[0];
    char names[NAMES];
    const size_t all = input_count(graph);
    if (match_words("input", path, graph->inputs, all, &request->inputs, files) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    for (size_t i = 0; i < all; ++i) {
        if (files[i] != NULL && (files[i][0] == '\0' || files[i][1] == '\0')) {
            return rmsnorm_cli_fail("--input '%s' names no file, write --input NAME=FILE", graph->inputs[i].name);
        }
        files[i] = files[i] == NULL ? NULL : files[i] + 1;
    }
    size_t next = 0;
    for (size_t i = 1; i < request->words.count; ++i) {
        while (next < graph->input_count && files[next] != NULL) {
            ++next;
        }
        if (next == graph->input_count) {
            return rmsnorm_cli_fail("no input is left for '%s', %s declares %s", request->words.items[i], path,
                                    names_of(graph->inputs, graph->input_count, NULL, names));
        }
        files[next] = request->words.items[i];
    }
    for (size_t i = 0; i < graph->input_count; ++i) {
        if (files[i] == NULL) {
            return rmsnorm_cli_fail("%s needs the inputs %s, they are not given", path,
                                    names_of(graph->inputs, graph->input_count, files, names));
        }
    }
    return RMSNORM_CLI_DONE;
}

static int plan_outputs(const rmsnorm_cli_request *request, const rmsnorm_cli_chain *chain, rmsnorm_cli_output *results)
{
    const rmsnorm_graph *graph = rmsnorm_cli_chain_graph(chain);
    const char **given = rmsnorm_cli_allocate(graph->output_count, sizeof *given);
    int code =
        match_words("output", request->words.items[0], graph->outputs, graph->output_count, &request->outputs, given);
    for (size_t i = 0; i < graph->output_count && code == RMSNORM_CLI_DONE; ++i) {
        const rmsnorm_tensor *tensor = rmsnorm_cli_chain_output(chain, i);
        const char *name = graph->outputs[i].name;
        results[i] =
            (rmsnorm_cli_output){name, tensor, rmsnorm_cli_output_target(given[i], request->directory, name, tensor)};
    }
    free(given);
    return code != RMSNORM_CLI_DONE ? code : rmsnorm_cli_outputs_check(results, graph->output_count, request->json);
}

static int compute(const rmsnorm_cli_request *request, rmsnorm_cli_chain *chain, rmsnorm_cli_operand *operands,
                   const char *const *files, rmsnorm_cli_output *results)
{
    const rmsnorm_graph *graph = rmsnorm_cli_chain_graph(chain);
    const rmsnorm_tensor **inputs = rmsnorm_cli_allocate(input_count(graph), sizeof *inputs);
    int code = rmsnorm_cli_stdin_check(request->words.items[0], files, input_count(graph));
    for (size_t i = 0; i < input_count(graph) && code == RMSNORM_CLI_DONE; ++i) {
        if (files[i] != NULL) {
            code = rmsnorm_cli_operand_read(graph->inputs[i].name, files[i], i, &operands[i]);
            inputs[i] = &operands[i].tensor;
        }
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_chain_prepare(chain, inputs, inputs + graph->input_count);
    }
    free(inputs);
    if (code == RMSNORM_CLI_DONE) {
        code = plan_outputs(request, chain, results);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_chain_compute(chain, &request->context);
    }
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    rmsnorm_cli_report_data data = {.model = request->words.items[0], .outputs = results, .context = &request->context};
    data.output_count = graph->output_count;
    data.steps = rmsnorm_cli_chain_steps(chain, &data.step_count);
    return rmsnorm_cli_deliver(&data, request->directory, request->json);
}

int rmsnorm_cli_run_model(const rmsnorm_cli_request *request)
{
    rmsnorm_cli_chain *chain = NULL;
    if (rmsnorm_cli_chain_open(request->words.items[0], &chain) != RMSNORM_CLI_DONE) {
        rmsnorm_cli_chain_free(chain);
        return RMSNORM_CLI_BAD;
    }
    const rmsnorm_graph *graph = rmsnorm_cli_chain_graph(chain);
    const char **files = rmsnorm_cli_allocate(input_count(graph), sizeof *files);
    rmsnorm_cli_operand *operands = rmsnorm_cli_allocate(input_count(graph), sizeof *operands);
    rmsnorm_cli_output *results = rmsnorm_cli_allocate(graph->output_count, sizeof *results);
    int code = fill_inputs(request, graph, files);
    if (code == RMSNORM_CLI_DONE) {
        code = compute(request, chain, operands, files, results);
    }
    for (size_t i = 0; i < input_count(graph); ++i) {
        rmsnorm_cli_operand_release(&operands[i]);
    }
    rmsnorm_cli_outputs_free(results, graph->output_count);
    free(operands);
    free(files);
    rmsnorm_cli_chain_free(chain);
    return code;
}
