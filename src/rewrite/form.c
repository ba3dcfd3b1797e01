#include "rewrite/form.h"

#include <stdio.h>
#include <string.h>

#include "rewrite/made.h"
#include "rewrite/target.h"

/* How rows come out: the type they are scaled in, the type they are rounded to before the scale, and that of the result. */
typedef struct rounding {
    rmsnorm_dtype arithmetic, before_scale, result;
} rounding;

static rmsnorm_dtype dtype_of(const rmsnorm_ir *ir, size_t value)
{
    return ir->values[value].shown.type.dtype;
}

static size_t output_of(const rmsnorm_ir *ir, const rmsnorm_chain *chain, size_t covered)
{
    return covered == 0 ? chain->product : rmsnorm_ir_output(ir, chain->tail[covered - 1], 0);
}

size_t rmsnorm_form_result(const rmsnorm_ir *ir, const rmsnorm_chain *chain, const rmsnorm_form *form)
{
    return output_of(ir, chain, form->covered);
}

/* What the covered nodes do. A Mul rounds to the type of its result, and so does a Cast before it. */
static rounding of_chain(const rmsnorm_ir *ir, const rmsnorm_chain *chain, size_t covered)
{
    const rmsnorm_dtype type = dtype_of(ir, chain->product);
    rounding result = {dtype_of(ir, chain->source), type, type};
    bool scaled = false;
    for (size_t i = 0; i < covered; i++) {
        const bool scale = rmsnorm_ir_is(ir, chain->tail[i], "Mul");
        result.result = dtype_of(ir, rmsnorm_ir_output(ir, chain->tail[i], 0));
        scaled = scaled || scale;
        if (!scaled) {
            result.before_scale = result.result;
        }
    }
    if (!scaled) { /* ones change nothing: only the last rounding counts */
        result.before_scale = result.arithmetic;
    }
    if (chain->rounding != NULL) { /* what is rounded in between is given up anyway */
        result.arithmetic = result.arithmetic == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
        result.before_scale = scaled ? result.before_scale : result.arithmetic;
    }
    return result;
}

static rounding of_form(const rmsnorm_ir *ir, const rmsnorm_form *form)
{
    const rmsnorm_dtype input = dtype_of(ir, form->input);
    rounding result = {.result = form->type};
    if (form->kind == RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION) {
        result.arithmetic = input == RMSNORM_DOUBLE || form->type == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
        result.before_scale = result.arithmetic;
        return result;
    }
    result.arithmetic = form->stash_type == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    result.before_scale = input;
    if (form->scale == RMSNORM_NO_INDEX && (input == form->type || input == result.arithmetic)) {
        result.before_scale = result.arithmetic; /* the second rounding is the first again, or the first is none */
    }
    return result;
}

/* In relaxed mode a row may be rounded less often, not more. */
static bool is_same(const rmsnorm_chain *chain, rounding wanted, rounding given)
{
    const bool before = wanted.before_scale == given.before_scale ||
                        (chain->rounding != NULL && given.before_scale == given.arithmetic);
    return wanted.arithmetic == given.arithmetic && before && wanted.result == given.result;
}

/* Whether a form may stand for the chain, apart from rounding. */
static bool is_runnable(const rmsnorm_ir *ir, const rmsnorm_chain *chain, rmsnorm_target target,
                        const rmsnorm_form *form)
{
    if (!rmsnorm_made_allowed(ir, form->kind) ||
        !rmsnorm_target_takes(target, form->kind, dtype_of(ir, form->input), form->type)) {
        return false;
    }
    const rmsnorm_tensor *const input = &ir->values[form->input].shown.type;
    const rmsnorm_tensor ones = rmsnorm_made_ones_type(input, chain->axis, form->type);
    return rmsnorm_target_broadcasts(target, input, chain->axis,
                                     form->scale == RMSNORM_NO_INDEX ? &ones : &ir->values[form->scale].shown.type);
}

static bool covers_scale(const rmsnorm_ir *ir, const rmsnorm_chain *chain, size_t covered)
{
    for (size_t i = 0; i < covered; i++) {
        if (rmsnorm_ir_is(ir, chain->tail[i], "Mul")) {
            return true;
        }
    }
    return false;
}

typedef struct search {
    const rmsnorm_ir *ir;
    const rmsnorm_chain *chain;
    rmsnorm_target target;
    rmsnorm_operator_kind preferred;
    bool found;
    rmsnorm_form best;
} search;

static void consider(search *s, const rmsnorm_form *form)
{
    const rounding wanted = of_chain(s->ir, s->chain, form->covered), given = of_form(s->ir, form);
    if (!is_runnable(s->ir, s->chain, s->target, form) || !is_same(s->chain, wanted, given)) {
        return;
    }
    const int casts =
        (form->input != s->chain->raw) + (form->scale != RMSNORM_NO_INDEX && form->scale != s->chain->raw_scale);
    rmsnorm_form candidate = *form;
    candidate.unrounded = wanted.before_scale != given.before_scale;
    candidate.left = casts + (int)(s->chain->tail_count - form->covered);
    const bool tie =
        s->found && candidate.left == s->best.left && form->kind == s->preferred && s->best.kind != s->preferred;
    if (!s->found || candidate.left < s->best.left || tie) {
        s->best = candidate;
        s->found = true;
    }
}

/* All inputs and scales of one operator. */
static void consider_kind(search *s, rmsnorm_operator_kind kind, size_t covered)
{
    const rmsnorm_chain *const chain = s->chain;
    const bool scaled = covers_scale(s->ir, chain, covered);
    const size_t inputs[] = {chain->raw, chain->source};
    const size_t scales[] = {scaled ? chain->raw_scale : RMSNORM_NO_INDEX, scaled ? chain->scale : RMSNORM_NO_INDEX};
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < 2; j++) {
            rmsnorm_form form = {.kind = kind, .input = inputs[i], .scale = scales[j], .covered = covered};
            form.type = scaled ? dtype_of(s->ir, form.scale) : dtype_of(s->ir, output_of(s->ir, chain, covered));
            form.stash_type = dtype_of(s->ir, chain->source) == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
            consider(s, &form);
        }
    }
}

bool rmsnorm_form_choose(const rmsnorm_ir *ir, const rmsnorm_chain *chain, rmsnorm_target target, bool standard,
                         bool prefer_standard, rmsnorm_form *form, rmsnorm_reason *reason)
{
    search s = {.ir = ir, .chain = chain, .target = target};
    s.preferred = prefer_standard ? RMSNORM_RMS_NORMALIZATION : RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION;
    for (size_t covered = 0; covered <= chain->tail_count; covered++) {
        consider_kind(&s, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, covered);
        if (standard) {
            consider_kind(&s, RMSNORM_RMS_NORMALIZATION, covered);
        }
    }
    *form = s.best;
    if (!s.found) {
        snprintf(reason->text, sizeof reason->text, "%s runs no operator that takes %s and rounds as the chain does%s",
                 rmsnorm_target_name(target), rmsnorm_dtype_name(dtype_of(ir, chain->source)),
                 ir->function_count > 0 ? ", apart from those whose names are functions of the model's own" : "");
    }
    return s.found;
}
