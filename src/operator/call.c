#include "operator/call.h"

#include <inttypes.h>

#include "operator/attribute.h"
#include "operator/error.h"
#include "operator/text.h"

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Types that the inputs bind their constraints to. */
typedef struct binding {
    rmsnorm_dtype dtypes[RMSNORM_MAX_TYPE_CONSTRAINTS]; /* RMSNORM_UNDEFINED while not known */
    bool of_inputs[RMSNORM_MAX_TYPE_CONSTRAINTS];
} binding;

/* A run is on the CPU; inference takes what any device takes. */
static rmsnorm_dtypes allowed_types(const rmsnorm_call *call, const rmsnorm_type_constraint *constraint)
{
    rmsnorm_dtypes types = constraint->types[RMSNORM_DEVICE_CPU];
    for (size_t device = 0; !call->strict && device < RMSNORM_DEVICE_COUNT; ++device) {
        types |= constraint->types[device];
    }
    return types;
}

static rmsnorm_status bind_type(const rmsnorm_call *call, const rmsnorm_slot *slot, size_t constraint,
                                rmsnorm_dtype dtype, binding *bound)
{
    const char *const op = call->op->name;
    if (dtype == RMSNORM_UNDEFINED && !call->strict) {
        return RMSNORM_OK;
    }
    const rmsnorm_dtypes allowed = allowed_types(call, &call->op->type_constraints[constraint]);
    RMSNORM_CHECK((unsigned)dtype < 32 && (allowed & RMSNORM_DTYPES(dtype)) != 0, RMSNORM_UNSUPPORTED,
                  "%s: %s has element type %s; allowed: %s", op, slot->name, rmsnorm_words_dtype(dtype).text,
                  rmsnorm_words_types(allowed).text);
    const rmsnorm_dtype before = bound->dtypes[constraint];
    RMSNORM_CHECK(before == RMSNORM_UNDEFINED || before == dtype, RMSNORM_UNSUPPORTED,
                  "%s: %s has element type %s, an input before it %s; allowed: one type for all of %s", op, slot->name,
                  rmsnorm_dtype_name(dtype), rmsnorm_dtype_name(before), slot->type);
    bound->dtypes[constraint] = dtype;
    return RMSNORM_OK;
}

/* Why a shape has no count of elements: none of its own fault when it is symbolic, as inference allows. */
static rmsnorm_status check_uncounted(const rmsnorm_call *call, const char *name, const rmsnorm_tensor *tensor)
{
    const char *const op = call->op->name;
    if (tensor->rank == RMSNORM_UNKNOWN && !call->strict) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(tensor->rank >= 0 && tensor->rank <= RMSNORM_MAX_RANK, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has rank %" PRId32 "; allowed: 0 to %d", op, name, tensor->rank, RMSNORM_MAX_RANK);
    bool symbolic = false;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        const int64_t dim = tensor->dims[i];
        RMSNORM_CHECK(dim >= 0 || (dim == RMSNORM_UNKNOWN && !call->strict), RMSNORM_INVALID_ARGUMENT,
                      "%s: %s has the shape %s; allowed: dims of 0 and up%s", op, name,
                      rmsnorm_words_tensor(tensor).text, call->strict ? ", as numbers" : "");
        symbolic = symbolic || dim < 0;
    }
    RMSNORM_CHECK(symbolic, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has the shape %s; allowed: at most 2^63 - 1 elements and bytes", op, name,
                  rmsnorm_words_tensor(tensor).text);
    return RMSNORM_OK;
}

static rmsnorm_status take_inputs(rmsnorm_call *call, const rmsnorm_tensor *const *inputs, size_t count, binding *bound)
{
    const rmsnorm_operator *const op = call->op;
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    RMSNORM_CHECK(inputs != NULL || count == 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: the array of inputs is NULL for a count of %zu; allowed: an array, or a count of 0", op->name,
                  count);
    for (size_t i = op->input_count; i < count; ++i) {
        RMSNORM_CHECK(inputs[i] == NULL, RMSNORM_INVALID_ARGUMENT,
                      "%s: an input in slot %zu; allowed: slots 0 to %zu (%s)%s", op->name, i, op->input_count - 1,
                      rmsnorm_words_slots(op->inputs, op->input_count).text, skip ? ", there is no beta" : "");
    }
    for (size_t i = 0; i < op->input_count; ++i) {
        const rmsnorm_slot *const slot = &op->inputs[i];
        const rmsnorm_tensor *const tensor = i < count ? inputs[i] : NULL;
        const size_t constraint = rmsnorm_slot_constraint(op, slot);
        call->inputs[i] = tensor;
        bound->of_inputs[constraint] = true;
        if (tensor != NULL) {
            RMSNORM_TRY(bind_type(call, slot, constraint, tensor->dtype, bound));
            call->counts[i] = rmsnorm_tensor_count(tensor);
            if (call->counts[i] == RMSNORM_UNKNOWN) {
                RMSNORM_TRY(check_uncounted(call, slot->name, tensor));
            }
        } else {
            RMSNORM_CHECK(!slot->required || !(call->strict || skip), RMSNORM_INVALID_ARGUMENT,
                          "%s: %s (input slot %zu) is missing; allowed: a tensor", op->name, slot->name, i);
        }
    }
    return RMSNORM_OK;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* An output has the type of its constraint. One that no input has is that of the statistics, whose type stash_type tells. */
static rmsnorm_status take_outputs(rmsnorm_call *call, rmsnorm_tensor *const *outputs, size_t count,
                                   const binding *bound)
{
    const rmsnorm_operator *const op = call->op;
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    RMSNORM_CHECK(outputs != NULL || count == 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: the array of outputs is NULL for a count of %zu; allowed: an array, or a count of 0", op->name,
                  count);
    for (size_t i = op->output_count; i < count; ++i) {
        RMSNORM_CHECK(outputs[i] == NULL, RMSNORM_INVALID_ARGUMENT,
                      "%s: an output in slot %zu; allowed: slots 0 to %zu (%s)", op->name, i, op->output_count - 1,
                      rmsnorm_words_slots(op->outputs, op->output_count).text);
    }
    for (size_t i = 0; i < op->output_count; ++i) {
        const rmsnorm_slot *const slot = &op->outputs[i];
        const size_t constraint = rmsnorm_slot_constraint(op, slot);
        call->outputs[i] = i < count ? outputs[i] : NULL;
        call->is_statistic[i] = !bound->of_inputs[constraint];
        call->output_dtypes[i] = call->is_statistic[i] ? call->stash_dtype : bound->dtypes[constraint];
        RMSNORM_CHECK(call->outputs[i] != NULL || !slot->required || !(call->strict || skip), RMSNORM_INVALID_ARGUMENT,
                      "%s: %s (output slot %zu) is missing; allowed: a tensor", op->name, slot->name, i);
    }
    return RMSNORM_OK;
}

/* ---- The call -------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_call_check(rmsnorm_call *call, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                  const rmsnorm_tensor *const *inputs, size_t input_count,
                                  rmsnorm_tensor *const *outputs, size_t output_count, bool strict,
                                  rmsnorm_constraints *constraints)
{
    RMSNORM_CHECK(op != NULL, RMSNORM_INVALID_ARGUMENT,
                  "the operator is NULL; allowed: one that rmsnorm_operator_find gives");
    call->op = op;
    call->strict = strict;
    call->constraints = constraints;
    call->attributes = attributes;
    if (attributes == NULL) {
        rmsnorm_attributes_init(op, &call->defaults);
        call->attributes = &call->defaults;
    } else {
        RMSNORM_TRY(rmsnorm_attributes_check(op, attributes));
    }
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    call->stash_dtype = !skip && call->attributes->stash_type == RMSNORM_DOUBLE ? RMSNORM_DOUBLE : RMSNORM_FLOAT;
    binding bound = {{RMSNORM_UNDEFINED}, {false}};
    RMSNORM_TRY(take_inputs(call, inputs, input_count, &bound));
    RMSNORM_TRY(take_outputs(call, outputs, output_count, &bound));
    return skip ? rmsnorm_shape_skip(call) : rmsnorm_shape_broadcast(call);
}

void rmsnorm_call_output(const rmsnorm_call *call, size_t slot, rmsnorm_tensor *tensor)
{
    tensor->dtype = call->output_dtypes[slot];
    tensor->rank = call->rank;
    for (int32_t i = 0; i < call->rank; ++i) {
        const bool one = call->is_statistic[slot] && i >= call->axis;
        const char *const name = one ? NULL : call->names[i];
        tensor->dims[i] = one ? 1 : name != NULL ? RMSNORM_UNKNOWN : call->dims[i];
        tensor->dim_names[i] = name;
    }
}
