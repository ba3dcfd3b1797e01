#include <inttypes.h>

#include "operator/text.h"

/* "gamma[0] (K)" */
static void add_dim(rmsnorm_text *text, const rmsnorm_operator *op, const rmsnorm_tensor *const *inputs,
                    rmsnorm_dim_ref dim)
{
    if (dim.input < 0 || (size_t)dim.input >= op->input_count) {
        rmsnorm_text_add(text, "?");
        return;
    }
    rmsnorm_text_add(text, "%s[%d] (", op->inputs[dim.input].name, dim.dim);
    const rmsnorm_tensor *const tensor = inputs != NULL ? inputs[dim.input] : NULL;
    if (tensor == NULL || dim.dim < 0 || dim.dim >= RMSNORM_MAX_RANK || dim.dim >= tensor->rank) {
        rmsnorm_text_add(text, "?)");
    } else if (tensor->dims[dim.dim] != RMSNORM_UNKNOWN) {
        rmsnorm_text_add(text, "%" PRId64 ")", tensor->dims[dim.dim]);
    } else {
        const char *const name = tensor->dim_names[dim.dim];
        rmsnorm_text_add(text, "%s)", name != NULL && name[0] != '\0' ? name : "?");
    }
}

size_t rmsnorm_constraint_format(const rmsnorm_operator *op, const rmsnorm_tensor *const *inputs,
                                 const rmsnorm_constraint *constraint, char *text, size_t size)
{
    rmsnorm_text out = {text, text != NULL ? size : 0, 0};
    if (out.size > 0) {
        text[0] = '\0';
    }
    if (op == NULL || constraint == NULL) {
        return 0;
    }
    if (constraint->kind == RMSNORM_DIM_RANGE) {
        rmsnorm_text_add(&out, "%" PRId64 " <= ", constraint->minimum);
        add_dim(&out, op, inputs, constraint->left);
        if (constraint->maximum != INT64_MAX) {
            rmsnorm_text_add(&out, " <= %" PRId64, constraint->maximum);
        }
    } else {
        add_dim(&out, op, inputs, constraint->left);
        rmsnorm_text_add(&out, constraint->kind == RMSNORM_DIM_EQUAL ? " = " : " = 1 or ");
        add_dim(&out, op, inputs, constraint->right);
    }
    if (out.size > 0) {
        rmsnorm_text_clean(text);
    }
    return out.length;
}
