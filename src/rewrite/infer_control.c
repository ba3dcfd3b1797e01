/* Rules for nodes that have graphs inside. A graph's outputs are a set here, not a list: what comes out of it is told only where
 * there is one. */
#include "rewrite/infer.h"

/* The only output of a graph; RMSNORM_NO_INDEX: none, or several. */
static size_t only_output(const rmsnorm_ir *ir, size_t graph)
{
    size_t found = RMSNORM_NO_INDEX;
    for (size_t n = ir->graphs[graph].first; n != RMSNORM_NO_INDEX; n = ir->nodes[n].shown.next) {
        const rmsnorm_ir_node *const node = &ir->nodes[n].shown;
        for (size_t i = 0; i < node->output_count; i++) {
            const size_t value = node->outputs[i];
            if (value != RMSNORM_NO_INDEX && ir->values[value].shown.output) {
                if (found != RMSNORM_NO_INDEX) {
                    return RMSNORM_NO_INDEX;
                }
                found = value;
            }
        }
    }
    return found;
}

/* What two branches have in common. */
static rmsnorm_known common(const rmsnorm_known *a, const rmsnorm_known *b)
{
    rmsnorm_known known = rmsnorm_known_nothing(a->dtype == b->dtype ? a->dtype : RMSNORM_UNDEFINED);
    const int32_t rank = a->rank < b->rank ? a->rank : b->rank;
    known.open = a->open || b->open || a->rank != b->rank;
    known.rank = rank;
    for (int32_t d = 0; d < rank; d++) {
        const rmsnorm_ir_dim left = a->dims[a->rank - rank + d], right = b->dims[b->rank - rank + d];
        known.dims[d] = rmsnorm_dim_same(left, right) ? left : rmsnorm_dim_unknown();
    }
    return known;
}

/* Both branches of an If that has one output. */
rmsnorm_status rmsnorm_rule_if(const rmsnorm_asked *asked)
{
    const rmsnorm_ir *const ir = asked->ir;
    rmsnorm_known known[2];
    size_t count = 0;
    if (ir->nodes[asked->node].shown.output_count != 1) {
        return RMSNORM_OK;
    }
    for (size_t graph = asked->inside; graph != RMSNORM_NO_INDEX; graph = asked->beside[graph]) {
        const size_t output = only_output(ir, graph);
        if (output == RMSNORM_NO_INDEX || count == 2) {
            return RMSNORM_OK;
        }
        known[count++] = rmsnorm_known_value(ir, output);
    }
    if (count != 2) {
        return RMSNORM_OK;
    }
    const rmsnorm_known both = common(&known[0], &known[1]);
    return rmsnorm_asked_give(asked, 0, &both);
}

/* Loop and Scan: what is carried from round to round keeps its element type. first: inputs before what is carried. */
rmsnorm_status rmsnorm_rule_loop(const rmsnorm_asked *asked)
{
    const rmsnorm_ir_node *const node = &asked->ir->nodes[asked->node].shown;
    const size_t before = (size_t)asked->rule->first;
    const int64_t scanned = rmsnorm_asked_int(asked, "num_scan_inputs", 0);
    size_t end = node->input_count;
    if (scanned > 0) {
        end = (uint64_t)scanned < end ? end - (size_t)scanned : 0;
    }
    for (size_t i = before; i < end; i++) {
        const rmsnorm_known input = rmsnorm_asked_input(asked, i);
        const rmsnorm_known carried = rmsnorm_known_nothing(input.dtype);
        RMSNORM_TRY(rmsnorm_asked_give(asked, i - before, &carried));
    }
    return RMSNORM_OK;
}
