#include "rewrite/raise.h"

const char *rmsnorm_raise_obstacle(rmsnorm_ir *ir, const bool *going, int64_t to)
{
    const int64_t opset = rmsnorm_ir_opset(ir, "");
    if (ir->opset_fixed != NULL) {
        return ir->opset_fixed;
    }
    for (size_t n = 0; n < ir->node_count; n++) {
        const rmsnorm_ir_node *const node = &ir->nodes[n].shown;
        const bool stays = !node->gone && (going == NULL || !going[n]);
        if (stays && node->domain[0] == '\0' && !node->function &&
            rmsnorm_opset_check_raise(node, opset, to) != RMSNORM_OK) {
            const char *const why = rmsnorm_ir_format(ir, "%s: %s", rmsnorm_ir_label(ir, n).text, rmsnorm_last_error());
            return why != NULL ? why : "no memory is left";
        }
    }
    return NULL;
}
