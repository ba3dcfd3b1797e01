/* form.h: which operator stands for a chain: every way to cover it is tried, and of those that round as the chain rounds the
 * one that leaves the fewest nodes is taken. */
#ifndef RMSNORM_REWRITE_FORM_H
#define RMSNORM_REWRITE_FORM_H

#include "rewrite/chain.h"

typedef struct rmsnorm_form {
    rmsnorm_operator_kind kind;
    size_t input;       /* chain->raw or chain->source */
    size_t scale;       /* RMSNORM_NO_INDEX: ones */
    rmsnorm_dtype type; /* of scale and result */
    size_t covered;     /* nodes of the tail that go */
    int64_t stash_type;
    int left;       /* casts and nodes of the tail that stay */
    bool unrounded; /* in relaxed mode: the rows are no longer rounded before the scale */
} rmsnorm_form;

/* False: the reason says what is in the way. standard: RMSNormalization may be used, because the model has an opset with
 * it or can be given one. prefer_standard: where both operators would do. */
bool rmsnorm_form_choose(const rmsnorm_ir *ir, const rmsnorm_chain *chain, rmsnorm_target target, bool standard,
                         bool prefer_standard, rmsnorm_form *form, rmsnorm_reason *reason);

/* The value the new node gives. */
size_t rmsnorm_form_result(const rmsnorm_ir *ir, const rmsnorm_chain *chain, const rmsnorm_form *form);

#endif
