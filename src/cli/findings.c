#include "findings.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "text.h"

rmsnorm_cli_tally rmsnorm_cli_findings_count(const rmsnorm_ir *ir)
{
    rmsnorm_cli_tally tally = {0, 0, 0, 0};
    size_t count = 0;
    const rmsnorm_finding *findings = rmsnorm_ir_findings(ir, &count);
    for (size_t i = 0; i < count; ++i) {
        size_t *counters[] = {&tally.chains, &tally.residuals, &tally.norms};
        ++*(findings[i].done ? counters[findings[i].kind] : &tally.left);
    }
    return tally;
}

static const char *kind_name(rmsnorm_finding_kind kind)
{
    static const char *const names[] = {"chain", "residual", "norm"};
    return names[kind];
}

static const char *output_name(const rmsnorm_ir *ir, const rmsnorm_ir_node *node)
{
    for (size_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] != RMSNORM_NO_INDEX) {
            return rmsnorm_ir_value_at(ir, node->outputs[i])->name;
        }
    }
    return "";
}

const char *rmsnorm_cli_node_words(const rmsnorm_ir *ir, size_t node, char text[RMSNORM_CLI_NODE_WORDS])
{
    const rmsnorm_ir_node *shown = rmsnorm_ir_node_at(ir, node);
    const bool named = shown->name[0] != '\0';
    text[0] = '\0';
    rmsnorm_cli_append(text, RMSNORM_CLI_NODE_WORDS, "%.80s%s '%.240s'", shown->op_type, named ? "" : " of",
                       named ? shown->name : output_name(ir, shown));
    rmsnorm_cli_clean(text);
    return text;
}

json_t *rmsnorm_cli_node_json(const rmsnorm_ir *ir, size_t node)
{
    const rmsnorm_ir_node *shown = rmsnorm_ir_node_at(ir, node);
    json_t *entry = json_object();
    (void)json_object_set_new(entry, "name", rmsnorm_cli_json_text(shown->name));
    (void)json_object_set_new(entry, "op_type", rmsnorm_cli_json_text(shown->op_type));
    (void)json_object_set_new(entry, "domain", rmsnorm_cli_json_text(rmsnorm_cli_domain(shown->domain)));
    (void)json_object_set_new(entry, "output", rmsnorm_cli_json_text(output_name(ir, shown)));
    return entry;
}

static void print_nodes(FILE *file, const rmsnorm_ir *ir, const size_t *nodes, size_t count)
{
    char words[RMSNORM_CLI_NODE_WORDS];
    if (count > 3) {
        char last[RMSNORM_CLI_NODE_WORDS];
        size_t first = 0;
        while (first + 1 < count && strcmp(rmsnorm_ir_node_at(ir, nodes[first])->op_type, "Constant") == 0) {
            ++first;
        }
        fprintf(file, "%zu nodes, %s to %s", count, rmsnorm_cli_node_words(ir, nodes[first], words),
                rmsnorm_cli_node_words(ir, nodes[count - 1], last));
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        fprintf(file, "%s%s", i == 0 ? "" : ", ", rmsnorm_cli_node_words(ir, nodes[i], words));
    }
}

void rmsnorm_cli_findings_print(FILE *file, const rmsnorm_ir *ir, const char *done)
{
    size_t count = 0;
    const rmsnorm_finding *findings = rmsnorm_ir_findings(ir, &count);
    for (size_t i = 0; i < count; ++i) {
        const rmsnorm_finding *finding = &findings[i];
        fprintf(file, "%-9s %-8s ", finding->done ? done : "left", kind_name(finding->kind));
        print_nodes(file, ir, finding->nodes, finding->node_count);
        if (finding->done) {
            fprintf(file, " -> ");
            print_nodes(file, ir, finding->made, finding->made_count);
        }
        if (finding->reason[0] != '\0') {
            fprintf(file, "%s", finding->done ? " (" : ": ");
            rmsnorm_cli_show(file, finding->reason);
            fprintf(file, "%s", finding->done ? ")" : "");
        }
        (void)fputc('\n', file);
    }
}

static json_t *nodes_json(const rmsnorm_ir *ir, const size_t *nodes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; ++i) {
        (void)json_array_append_new(list, rmsnorm_cli_node_json(ir, nodes[i]));
    }
    return list;
}

json_t *rmsnorm_cli_findings_json(const rmsnorm_ir *ir)
{
    size_t count = 0;
    const rmsnorm_finding *findings = rmsnorm_ir_findings(ir, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; ++i) {
        const rmsnorm_finding *finding = &findings[i];
        json_t *entry = json_object();
        (void)json_object_set_new(entry, "kind", json_string(kind_name(finding->kind)));
        (void)json_object_set_new(entry, "done", json_boolean(finding->done));
        (void)json_object_set_new(entry, "nodes", nodes_json(ir, finding->nodes, finding->node_count));
        (void)json_object_set_new(entry, "made", nodes_json(ir, finding->made, finding->made_count));
        (void)json_object_set_new(entry, "reason", rmsnorm_cli_json_text(finding->reason));
        (void)json_array_append_new(list, entry);
    }
    return list;
}
