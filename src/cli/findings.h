/* findings.h: what a rewriting came upon, for people and for programs. */
#ifndef RMSNORM_CLI_FINDINGS_H
#define RMSNORM_CLI_FINDINGS_H

#include <stdio.h>

#include <jansson.h>

#include "rmsnorm/rewrite.h"

typedef struct rmsnorm_cli_tally {
    size_t chains, residuals, norms; /* done */
    size_t left;                     /* left alone */
} rmsnorm_cli_tally;
rmsnorm_cli_tally rmsnorm_cli_findings_count(const rmsnorm_ir *ir);

/* A line or two each. done: "fused", "converted". */
void rmsnorm_cli_findings_print(FILE *file, const rmsnorm_ir *ir, const char *done);

/* [{"kind": "chain", "done": true, "nodes": [...], "made": [...], "reason": ""}] */
json_t *rmsnorm_cli_findings_json(const rmsnorm_ir *ir);

/* 'Pow "/norm/Pow"', 'Pow of "y"' for a node without a name. */
#define RMSNORM_CLI_NODE_WORDS 400
const char *rmsnorm_cli_node_words(const rmsnorm_ir *ir, size_t node, char text[RMSNORM_CLI_NODE_WORDS]);
json_t *rmsnorm_cli_node_json(const rmsnorm_ir *ir, size_t node);

#endif
