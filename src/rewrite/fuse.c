/* rmsnorm_ir_fuse: chains, then additions. */
#include <string.h>

#include "rewrite/chain.h"
#include "rewrite/form.h"
#include "rewrite/made.h"
#include "rewrite/raise.h"
#include "rewrite/residual.h"
#include "rewrite/target.h"

typedef struct fusion {
    rmsnorm_ir *ir;
    rmsnorm_fuse_options options;
    bool standard;   /* RMSNormalization may be emitted */
    bool raised;     /* and the opset is raised for it */
    const char *low; /* why it may not, for a reason; "" when it may */
} fusion;

static bool choose(const fusion *f, const rmsnorm_chain *chain, bool standard, rmsnorm_form *form,
                   rmsnorm_reason *reason)
{
    const rmsnorm_target target = f->options.target;
    const bool prefer = rmsnorm_ir_opset(f->ir, "") >= RMSNORM_STANDARD_SINCE;
    return rmsnorm_form_choose(f->ir, chain, target, standard && rmsnorm_target_has(target, RMSNORM_RMS_NORMALIZATION),
                               prefer, form, reason);
}

/* ---- Whether to raise the opset -------------------------------------------------------------- */

/* Marks what goes when a chain is fused. Casts and constants that go with it mean the same at every opset. */
static void mark(const rmsnorm_chain *chain, const rmsnorm_form *form, bool *going)
{
    for (size_t i = 0; i < chain->node_count; i++) {
        going[chain->nodes[i]] = true;
    }
    for (size_t i = 0; i < form->covered; i++) {
        going[chain->tail[i]] = true;
    }
}

/* Whether RMSNormalization covers more of a chain; marks what goes either way. */
static bool gains(const fusion *f, size_t mean, bool *going)
{
    rmsnorm_chain chain;
    rmsnorm_reason reason;
    rmsnorm_form with, without;
    if (rmsnorm_chain_match(f->ir, mean, &chain, &reason) != RMSNORM_CHAIN_MATCHED ||
        (chain.rounding != NULL && !f->options.relaxed) || !choose(f, &chain, true, &with, &reason)) {
        return false;
    }
    mark(&chain, &with, going);
    return !choose(f, &chain, false, &without, &reason) || with.left < without.left;
}

static rmsnorm_status decide_opset(fusion *f)
{
    const int64_t opset = rmsnorm_ir_opset(f->ir, "");
    f->low = "";
    f->standard = opset >= RMSNORM_STANDARD_SINCE;
    if (f->standard || !rmsnorm_target_has(f->options.target, RMSNORM_RMS_NORMALIZATION)) {
        return RMSNORM_OK;
    }
    bool *const going = rmsnorm_ir_allocate(f->ir, f->ir->node_count + 1, sizeof *going);
    if (going == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    bool wanted = false;
    for (size_t n = 0; n < f->ir->node_count; n++) {
        const bool mean = !f->ir->nodes[n].shown.gone && rmsnorm_ir_is(f->ir, n, "ReduceMean");
        wanted = (mean && gains(f, n, going)) || wanted;
    }
    if (!wanted) {
        return RMSNORM_OK;
    }
    const char *const why = rmsnorm_raise_obstacle(f->ir, going, RMSNORM_STANDARD_SINCE);
    f->standard = f->raised = why == NULL;
    if (why != NULL) {
        f->low = rmsnorm_ir_format(f->ir, "RMSNormalization needs opset %d, and the model's %lld cannot be raised: %s",
                                   RMSNORM_STANDARD_SINCE, (long long)opset, why);
        return f->low != NULL ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
    }
    return RMSNORM_OK;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

enum { MOST_NODES = RMSNORM_CHAIN_NODES + RMSNORM_CHAIN_TAIL + 16 };

/* The nodes of a finding in the order of the graph. */
static void sort_nodes(const rmsnorm_ir *ir, size_t *nodes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && ir->nodes[nodes[j]].position < ir->nodes[nodes[j - 1]].position; j--) {
            const size_t swapped = nodes[j];
            nodes[j] = nodes[j - 1];
            nodes[j - 1] = swapped;
        }
    }
}

static rmsnorm_status report_chain(rmsnorm_ir *ir, size_t *nodes, size_t count, const size_t *made, const char *reason)
{
    sort_nodes(ir, nodes, count);
    const rmsnorm_finding finding = {.kind = RMSNORM_FOUND_CHAIN,
                                     .done = made != NULL,
                                     .nodes = nodes,
                                     .node_count = count,
                                     .made = made,
                                     .made_count = made != NULL ? 1 : 0,
                                     .reason = reason};
    return rmsnorm_ir_add_finding(ir, &finding);
}

static rmsnorm_status replace_chain(fusion *f, const rmsnorm_chain *chain, const rmsnorm_form *form)
{
    rmsnorm_ir *const ir = f->ir;
    size_t nodes[MOST_NODES];
    size_t count = chain->node_count + form->covered;
    memcpy(nodes, chain->nodes, chain->node_count * sizeof nodes[0]);
    memcpy(nodes + chain->node_count, chain->tail, form->covered * sizeof nodes[0]);
    const size_t last = nodes[count - 1], result = rmsnorm_form_result(ir, chain, form);
    rmsnorm_made_node node = rmsnorm_made_norm(form->kind, chain->axis, chain->epsilon, form->stash_type);
    node.inputs[0] = form->input;
    node.inputs[1] = form->scale;
    node.input_count = 2;
    node.outputs[0] = result;
    node.output_count = 1;
    if (form->scale == RMSNORM_NO_INDEX) {
        const rmsnorm_tensor ones =
            rmsnorm_made_ones_type(&ir->values[form->input].shown.type, chain->axis, form->type);
        RMSNORM_TRY(rmsnorm_made_ones(ir, &ones, &node.inputs[1]));
    }
    rmsnorm_ir_free_value(ir, result);
    size_t made;
    RMSNORM_TRY(rmsnorm_made_insert(ir, &node, last, &made));
    const size_t removed = count;
    for (size_t i = 0; i < removed; i++) {
        rmsnorm_ir_remove(ir, nodes[i]);
    }
    for (size_t i = 0; i < removed; i++) {
        for (size_t slot = 0; slot < ir->nodes[nodes[i]].shown.input_count; slot++) {
            rmsnorm_ir_sweep(ir, ir->nodes[nodes[i]].shown.inputs[slot], nodes, MOST_NODES, &count);
        }
    }
    const char *const rows = form->unrounded ? ", and so are the rows before the scale" : "";
    return report_chain(ir, nodes, count, &made,
                        chain->rounding != NULL ? rmsnorm_ir_format(ir, "%s%s", chain->rounding, rows) : "");
}

static rmsnorm_status fuse_chain(fusion *f, size_t mean)
{
    rmsnorm_chain chain;
    rmsnorm_reason reason;
    rmsnorm_form form;
    const rmsnorm_chain_answer answer = rmsnorm_chain_match(f->ir, mean, &chain, &reason);
    if (answer == RMSNORM_CHAIN_NONE) {
        return RMSNORM_OK;
    }
    if (answer == RMSNORM_CHAIN_MATCHED && chain.rounding != NULL && !f->options.relaxed) {
        return report_chain(f->ir, chain.nodes, chain.node_count, NULL, chain.rounding);
    }
    if (answer == RMSNORM_CHAIN_MATCHED && choose(f, &chain, f->standard, &form, &reason)) {
        return replace_chain(f, &chain, &form);
    }
    rmsnorm_reason ignored;
    const bool low = answer == RMSNORM_CHAIN_MATCHED && f->low[0] != '\0' && choose(f, &chain, true, &form, &ignored);
    return report_chain(f->ir, chain.nodes, chain.node_count, NULL,
                        low ? f->low : rmsnorm_ir_format(f->ir, "%s", reason.text));
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rmsnorm_status fuse_chains(fusion *f)
{
    RMSNORM_TRY(decide_opset(f));
    for (size_t g = 0; g < f->ir->graph_count; g++) {
        size_t next;
        for (size_t n = f->ir->graphs[g].first; n != RMSNORM_NO_INDEX; n = next) {
            next = f->ir->nodes[n].shown.next;
            if (rmsnorm_ir_is(f->ir, n, "ReduceMean")) {
                RMSNORM_TRY(fuse_chain(f, n));
                next = f->ir->nodes[n].shown.next; /* a node that is gone still knows what followed it */
            }
            while (next != RMSNORM_NO_INDEX && f->ir->nodes[next].shown.gone) {
                next = f->ir->nodes[next].shown.next;
            }
        }
    }
    return f->raised ? rmsnorm_ir_set_opset(f->ir, "", RMSNORM_STANDARD_SINCE) : RMSNORM_OK;
}

static rmsnorm_status fuse_residuals(fusion *f)
{
    const rmsnorm_target target = f->options.target;
    const bool kept = f->options.residuals == RMSNORM_RESIDUALS_KEEP ||
                      (f->options.residuals == RMSNORM_RESIDUALS_BY_TARGET && !rmsnorm_target_gains_by_skip(target));
    if (kept || !rmsnorm_target_has(target, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) ||
        rmsnorm_ir_opset(f->ir, "") < 7 || !rmsnorm_made_allowed(f->ir, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION)) {
        return RMSNORM_OK;
    }
    for (size_t g = 0; g < f->ir->graph_count; g++) {
        size_t next;
        for (size_t n = f->ir->graphs[g].first; n != RMSNORM_NO_INDEX; n = next) {
            next = f->ir->nodes[n].shown.next;
            RMSNORM_TRY(rmsnorm_residual_fuse(f->ir, n, &f->options));
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_ir_fuse(rmsnorm_ir *ir, const rmsnorm_fuse_options *options)
{
    fusion f = {.ir = ir, .options = RMSNORM_FUSE_OPTIONS_INIT};
    RMSNORM_CHECK(ir != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_fuse: ir is NULL");
    if (options != NULL) {
        const size_t size = options->struct_size < sizeof f.options ? options->struct_size : sizeof f.options;
        RMSNORM_CHECK(size > sizeof size, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_fuse: options has no struct_size");
        memcpy(&f.options, options, size);
    }
    RMSNORM_CHECK((unsigned)f.options.target <= RMSNORM_TARGET_ORT_WEBGPU, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_fuse: target %d is none", (int)f.options.target);
    RMSNORM_CHECK((unsigned)f.options.residuals <= RMSNORM_RESIDUALS_KEEP, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_ir_fuse: %d says nothing about residuals", (int)f.options.residuals);
    RMSNORM_TRY(rmsnorm_ir_check_order(ir));
    RMSNORM_TRY(fuse_chains(&f));
    RMSNORM_TRY(fuse_residuals(&f));
    rmsnorm_ir_settle(ir);
    return RMSNORM_OK;
}
