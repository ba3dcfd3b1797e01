/* Rules for operators that keep a shape, or broadcast several. */
#include "rewrite/infer.h"

/* first: the input whose shape it is. second: the element type, 0 for that input's. */
rmsnorm_status rmsnorm_rule_same(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, (size_t)asked->rule->first);
    if (asked->rule->second != 0) {
        known.dtype = (rmsnorm_dtype)asked->rule->second;
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    rmsnorm_content content;
    const bool identity = rmsnorm_ir_is(asked->ir, asked->node, "Identity");
    return identity && rmsnorm_asked_content(asked, 0, &content) ? rmsnorm_asked_give_content(asked, &content)
                                                                 : RMSNORM_OK;
}

/* The element type alone. first: the input that has it. second: the element type, 0 for that input's. */
rmsnorm_status rmsnorm_rule_dtype(const rmsnorm_asked *asked)
{
    const rmsnorm_dtype given = (rmsnorm_dtype)asked->rule->second;
    const rmsnorm_known input = rmsnorm_asked_input(asked, (size_t)asked->rule->first);
    const rmsnorm_known known = rmsnorm_known_nothing(given != RMSNORM_UNDEFINED ? given : input.dtype);
    return rmsnorm_asked_give(asked, 0, &known);
}

/* The element type and the rank. first: the input that has both. */
rmsnorm_status rmsnorm_rule_ranked(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, (size_t)asked->rule->first);
    for (int32_t d = 0; d < known.rank; d++) {
        known.dims[d] = rmsnorm_dim_unknown();
    }
    return rmsnorm_asked_give(asked, 0, &known);
}

rmsnorm_status rmsnorm_rule_cast(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const int64_t to = rmsnorm_asked_int(asked, "to", 0);
    known.dtype = (rmsnorm_dtype)(to > 0 && to < 256 ? to : 0);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    rmsnorm_content content;
    return (to == RMSNORM_INT64 || to == RMSNORM_INT32) && rmsnorm_asked_content(asked, 0, &content)
               ? rmsnorm_asked_give_content(asked, &content)
               : RMSNORM_OK;
}

/* The shape of input 0, the element type of input 1 (first) and, where that is omitted, second. */
rmsnorm_status rmsnorm_rule_like(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const size_t typed = (size_t)asked->rule->first;
    known.dtype =
        rmsnorm_asked_has(asked, typed) ? rmsnorm_asked_input(asked, typed).dtype : (rmsnorm_dtype)asked->rule->second;
    return rmsnorm_asked_give(asked, 0, &known);
}

rmsnorm_status rmsnorm_rule_quantize(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const int64_t wanted = rmsnorm_asked_int(asked, "output_dtype", 0);
    known.dtype = rmsnorm_asked_has(asked, 2) ? rmsnorm_asked_input(asked, 2).dtype
                                              : (rmsnorm_dtype)(wanted > 0 && wanted < 256 ? wanted : RMSNORM_UINT8);
    return rmsnorm_asked_give(asked, 0, &known);
}

rmsnorm_status rmsnorm_rule_dynamic_quantize(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    known.dtype = (rmsnorm_dtype)RMSNORM_UINT8;
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    known = rmsnorm_known_dims(RMSNORM_FLOAT, NULL, 0);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 1, &known));
    known = rmsnorm_known_dims((rmsnorm_dtype)RMSNORM_UINT8, NULL, 0);
    return rmsnorm_asked_give(asked, 2, &known);
}

/* Dropout: the mask is bool since opset 10. */
rmsnorm_status rmsnorm_rule_masked(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    if (asked->opset >= 10) {
        known.dtype = (rmsnorm_dtype)RMSNORM_BOOL;
    }
    return rmsnorm_asked_give(asked, 1, &known);
}

/* ---- Broadcast ------------------------------------------------------------------------------- */

/* Shapes of all inputs together; element types from input `typed` on are one, when they are to be. */
static rmsnorm_status broadcast(const rmsnorm_asked *asked, size_t typed, bool one_type, rmsnorm_known *known,
                                bool *faulted)
{
    const size_t count = asked->ir->nodes[asked->node].shown.input_count;
    *faulted = false;
    *known = rmsnorm_known_dims(RMSNORM_UNDEFINED, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        const rmsnorm_known input = rmsnorm_asked_input(asked, i);
        const rmsnorm_known before = *known;
        if (i >= typed && known->dtype == RMSNORM_UNDEFINED) {
            known->dtype = input.dtype;
        }
        if (!rmsnorm_known_broadcast(known, &input)) {
            *faulted = true;
            return rmsnorm_asked_fault(asked,
                                       "operands of the shapes %s and %s do not go together; allowed: dims that are "
                                       "equal or 1, from the right",
                                       rmsnorm_known_words(&before).text, rmsnorm_known_words(&input).text);
        }
        if (one_type && i >= typed && input.dtype != RMSNORM_UNDEFINED && input.dtype != known->dtype) {
            *faulted = true;
            return rmsnorm_asked_fault(asked, "operands are %s and %s; allowed: one element type",
                                       rmsnorm_words_dtype(known->dtype).text, rmsnorm_words_dtype(input.dtype).text);
        }
    }
    return RMSNORM_OK;
}

/* first: what is done to elements that describe shapes, or 0; 'p' for Pow, whose exponent has a type of its own. second: the
 * element type of the result, 0 for that of the operands. */
rmsnorm_status rmsnorm_rule_broadcast(const rmsnorm_asked *asked)
{
    rmsnorm_known known;
    bool faulted;
    const bool legacy = asked->opset < 7 && rmsnorm_ir_attribute(asked->ir, asked->node, "broadcast") != NULL;
    if (legacy) { /* aligned by an attribute: the first operand's shape is the result's */
        known = rmsnorm_asked_input(asked, 0);
    } else {
        RMSNORM_TRY(broadcast(asked, 0, asked->rule->first != 'p', &known, &faulted));
        if (faulted) {
            return RMSNORM_OK;
        }
    }
    if (asked->rule->second != 0) {
        known.dtype = (rmsnorm_dtype)asked->rule->second;
    } else if (asked->rule->first == 'p') {
        known.dtype = rmsnorm_asked_input(asked, 0).dtype;
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    return asked->rule->first != 0 ? rmsnorm_content_combine(asked, asked->rule->first) : RMSNORM_OK;
}

rmsnorm_status rmsnorm_rule_where(const rmsnorm_asked *asked)
{
    rmsnorm_known known;
    bool faulted;
    RMSNORM_TRY(broadcast(asked, 1, true, &known, &faulted));
    if (faulted) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    return rmsnorm_content_choose(asked);
}

/* The shape of input 0, broadcast with that of input 1, which holds dims. */
rmsnorm_status rmsnorm_rule_expand(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    rmsnorm_content content;
    if (!rmsnorm_asked_content(asked, 1, &content) || content.count > RMSNORM_MAX_RANK) {
        known = rmsnorm_known_nothing(known.dtype);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    const rmsnorm_known shape = rmsnorm_known_dims(RMSNORM_UNDEFINED, content.items, content.count);
    const rmsnorm_known before = known;
    if (!rmsnorm_known_broadcast(&known, &shape)) {
        return rmsnorm_asked_fault(asked, "a tensor of the shape %s cannot be expanded to %s",
                                   rmsnorm_known_words(&before).text, rmsnorm_known_words(&shape).text);
    }
    return rmsnorm_asked_give(asked, 0, &known);
}
