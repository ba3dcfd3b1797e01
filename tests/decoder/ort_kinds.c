#include "decoder/ort_kinds.h"

#include <string.h>

#include "rmsnorm/graph.h"

static void add(ort_kinds *kinds, const char *name)
{
    size_t i = 0;
    while (i < kinds->count && strcmp(kinds->kinds[i].name, name) != 0) {
        i++;
    }
    if (i == kinds->count && i < ORT_MOST_KINDS) {
        snprintf(kinds->kinds[kinds->count++].name, sizeof kinds->kinds[i].name, "%s", name);
    }
    kinds->kinds[i < ORT_MOST_KINDS ? i : ORT_MOST_KINDS - 1].count++;
}

bool ort_kinds_read(const char *path, ort_kinds *kinds, char why[256])
{
    rmsnorm_model *model;
    memset(kinds, 0, sizeof *kinds);
    if (rmsnorm_model_read(path, &model) != RMSNORM_OK) {
        snprintf(why, 256, "%.255s", rmsnorm_last_error());
        return false;
    }
    const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
    for (size_t i = 0; i < graph->node_count; i++) {
        if (strcmp(graph->nodes[i].op_type, "Constant") != 0) {
            add(kinds, graph->nodes[i].op_type);
        }
    }
    rmsnorm_model_free(model);
    return true;
}

size_t ort_kinds_count(const ort_kinds *kinds, const char *name)
{
    for (size_t i = 0; i < kinds->count; i++) {
        if (strcmp(kinds->kinds[i].name, name) == 0) {
            return kinds->kinds[i].count;
        }
    }
    return 0;
}

void ort_kinds_print(FILE *file, const ort_kinds *kinds)
{
    for (size_t i = 0; i < kinds->count; i++) {
        fprintf(file, "%s%zu %s", i > 0 ? ", " : "", kinds->kinds[i].count, kinds->kinds[i].name);
    }
    fputc('\n', file);
}

void ort_kinds_print_json(FILE *file, const ort_kinds *kinds)
{
    fputc('{', file);
    for (size_t i = 0; i < kinds->count; i++) {
        fprintf(file, "%s\"%s\": %zu", i > 0 ? ", " : "", kinds->kinds[i].name, kinds->kinds[i].count);
    }
    fputc('}', file);
}
