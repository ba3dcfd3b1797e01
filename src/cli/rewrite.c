#include "rewrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "file.h"
#include "findings.h"
#include "json.h"
#include "signals.h"
#include "text.h"
#include "verify.h"

/* What the report says beside the findings. */
typedef struct summary {
    int64_t opset; /* of ai.onnx, before */
    size_t nodes;  /* before */
    rmsnorm_cli_verdict verdict;
} summary;

static int parse_data_files(const char *word, rmsnorm_data_files *mode)
{
    static const char *const names[] = {"copy", "link", "leave"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(word, names[i]) == 0) {
            *mode = (rmsnorm_data_files)i;
            return RMSNORM_CLI_DONE;
        }
    }
    return rmsnorm_cli_fail("--data-files is '%s', allowed are copy, link, leave", word);
}

int rmsnorm_cli_rewrite_option(int id, const char *value, rmsnorm_cli_rewrite *rewrite)
{
    switch (id) {
    case RMSNORM_CLI_POSITIONAL:
        if (rewrite->input != NULL) {
            return rmsnorm_cli_fail("one model at a time: '%s' and '%s' were given", rewrite->input, value);
        }
        rewrite->input = value;
        return RMSNORM_CLI_DONE;
    case RMSNORM_CLI_REWRITE_OUTPUT:
        rewrite->output = value;
        return RMSNORM_CLI_DONE;
    case RMSNORM_CLI_REWRITE_DATA_FILES:
        return parse_data_files(value, &rewrite->data_files);
    default:
        rewrite->dry_run = rewrite->dry_run || id == RMSNORM_CLI_REWRITE_DRY_RUN;
        rewrite->verify = rewrite->verify || id == RMSNORM_CLI_REWRITE_VERIFY;
        rewrite->quiet = rewrite->quiet || id == RMSNORM_CLI_REWRITE_QUIET;
        return RMSNORM_CLI_DONE;
    }
}

static size_t count_nodes(const rmsnorm_ir *ir)
{
    size_t count = 0;
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); ++i) {
        count += rmsnorm_ir_node_at(ir, i)->gone ? 0 : 1;
    }
    return count;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_verdict(FILE *file, const rmsnorm_ir *ir, const rmsnorm_cli_verdict *verdict)
{
    size_t count = 0;
    const rmsnorm_finding *findings = rmsnorm_ir_findings(ir, &count);
    if (verdict->compared > 0) {
        char words[RMSNORM_CLI_NODE_WORDS];
        const rmsnorm_finding *worst = &findings[verdict->finding];
        const char *where = rmsnorm_cli_node_words(ir, worst->made[worst->made_count - 1], words);
        fprintf(file, "verified %zu on random inputs: ", verdict->compared);
        if (verdict->steps == UINT64_MAX) {
            fprintf(file, "a NaN on one side, at %s\n", where);
        } else {
            fprintf(file, "at most %" PRIu64 " ulp apart, at %s\n", verdict->steps, where);
        }
    }
    if (verdict->different > 0) {
        fprintf(file, "different: %zu, the first: ", verdict->different);
        rmsnorm_cli_show(file, verdict->how);
        (void)fputc('\n', file);
    }
    if (verdict->skipped > 0) {
        fprintf(file, "not verified: %zu, the first because ", verdict->skipped);
        rmsnorm_cli_show(file, verdict->why);
        (void)fputc('\n', file);
    }
}

static void print_text(FILE *file, const rmsnorm_cli_rewrite *rewrite, const rmsnorm_ir *ir, const summary *s)
{
    const rmsnorm_cli_tally tally = rmsnorm_cli_findings_count(ir);
    if (!rewrite->quiet) {
        rmsnorm_cli_findings_print(file, ir, rewrite->done);
    }
    if (rewrite->verify) {
        print_verdict(file, ir, &s->verdict);
    }
    if (tally.chains + tally.residuals + tally.norms + tally.left == 0) {
        fprintf(file, "%s\n", rewrite->nothing);
    }
    if (rewrite->target == NULL) {
        fprintf(file, "%s %zu node%s", rewrite->done, tally.norms, plural(tally.norms));
    } else {
        fprintf(file, "%s %zu chain%s and %zu residual%s", rewrite->done, tally.chains, plural(tally.chains),
                tally.residuals, plural(tally.residuals));
    }
    fprintf(file, ", left %zu alone; %zu node%s, before %zu", tally.left, count_nodes(ir), plural(count_nodes(ir)),
            s->nodes);
    if (rmsnorm_ir_opset(ir, "") != s->opset) {
        fprintf(file, "; opset %" PRId64 ", before %" PRId64, rmsnorm_ir_opset(ir, ""), s->opset);
    }
    (void)fputc('\n', file);
}

static void print_json(FILE *file, const rmsnorm_cli_rewrite *rewrite, const rmsnorm_ir *ir, const summary *s)
{
    const rmsnorm_cli_tally tally = rmsnorm_cli_findings_count(ir);
    json_t *root = json_object();
    (void)json_object_set_new(root, "model", rmsnorm_cli_json_text(rewrite->input));
    (void)json_object_set_new(root, "output", rewrite->dry_run ? json_null() : rmsnorm_cli_json_text(rewrite->output));
    if (rewrite->target != NULL) {
        (void)json_object_set_new(root, "target", json_string(rewrite->target));
    }
    (void)json_object_set_new(root, "findings", rmsnorm_cli_findings_json(ir));
    json_t *counts = json_object();
    (void)json_object_set_new(counts, "chains", json_integer((json_int_t)tally.chains));
    (void)json_object_set_new(counts, "residuals", json_integer((json_int_t)tally.residuals));
    (void)json_object_set_new(counts, "norms", json_integer((json_int_t)tally.norms));
    (void)json_object_set_new(counts, "left", json_integer((json_int_t)tally.left));
    (void)json_object_set_new(root, "counts", counts);
    (void)json_object_set_new(
        root, "nodes", json_pack("{s:I,s:I}", "before", (json_int_t)s->nodes, "after", (json_int_t)count_nodes(ir)));
    (void)json_object_set_new(
        root, "opset",
        json_pack("{s:I,s:I}", "before", (json_int_t)s->opset, "after", (json_int_t)rmsnorm_ir_opset(ir, "")));
    if (rewrite->verify) {
        json_t *verified = json_object();
        (void)json_object_set_new(verified, "compared", json_integer((json_int_t)s->verdict.compared));
        (void)json_object_set_new(verified, "skipped", json_integer((json_int_t)s->verdict.skipped));
        (void)json_object_set_new(verified, "different", json_integer((json_int_t)s->verdict.different));
        const bool nan = s->verdict.steps == UINT64_MAX; /* a NaN on one side is no distance */
        (void)json_object_set_new(verified, "ulp", nan ? json_null() : json_integer((json_int_t)s->verdict.steps));
        (void)json_object_set_new(root, "verified", verified);
    }
    rmsnorm_cli_write_json(file, root, false);
}

static int verify(const rmsnorm_ir *ir, int64_t opset, const rmsnorm_cli_args *args, rmsnorm_cli_verdict *verdict)
{
    rmsnorm_cli_context context;
    int code = rmsnorm_cli_context_open(args, &context);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_verify(ir, opset, &context, verdict);
    }
    rmsnorm_cli_context_close(&context);
    return code;
}

static bool may_go_on(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    return !rmsnorm_cli_signals_came();
}

static int rewrite_open(const rmsnorm_cli_rewrite *rewrite, rmsnorm_document *document, const rmsnorm_cli_args *args)
{
    rmsnorm_ir *ir = rmsnorm_document_ir(document);
    summary s = {.opset = rmsnorm_ir_opset(ir, ""), .nodes = count_nodes(ir)};
    if (rewrite->apply(ir, rewrite->options) != RMSNORM_OK) {
        return rmsnorm_cli_fail("%s: %s", rewrite->input, rmsnorm_last_error());
    }
    if (rewrite->verify && verify(ir, s.opset, args, &s.verdict) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const bool refused = s.verdict.different > 0;
    if (!rewrite->dry_run && !refused) {
        rmsnorm_document_save_options options = RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT;
        options.data_files = rewrite->data_files;
        options.progress = may_go_on;
        const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(
            rmsnorm_cli_file_is_stream(rewrite->output) ? RMSNORM_CLI_AT_ONCE : RMSNORM_CLI_NOTED);
        const rmsnorm_status status = rmsnorm_document_save(document, rewrite->output, &options);
        const int code = status == RMSNORM_OK ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library();
        if (rmsnorm_cli_signals_leave(before, code) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    const bool piped = !rewrite->dry_run && strcmp(rewrite->output, "-") == 0;
    (rewrite->json ? print_json : print_text)(piped ? stderr : stdout, rewrite, ir, &s);
    return refused ? RMSNORM_CLI_NO : RMSNORM_CLI_DONE;
}

int rmsnorm_cli_rewrite_run(const rmsnorm_cli_rewrite *rewrite, const rmsnorm_cli_args *args)
{
    rmsnorm_document *document = NULL;
    if (rewrite->input == NULL) {
        return rmsnorm_cli_fail("no model is given, write rmsnorm %s MODEL.onnx -o FILE", rewrite->verb);
    }
    if (rewrite->output == NULL && !rewrite->dry_run) {
        return rmsnorm_cli_fail("no output is given, write -o FILE, or --dry-run to see what would be done");
    }
    if (rmsnorm_document_open(rewrite->input, &document) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    const int code = rewrite_open(rewrite, document, args);
    rmsnorm_document_free(document);
    return code;
}
