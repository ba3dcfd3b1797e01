/* Rules for products of matrices. */
#include "rewrite/infer.h"

/* A vector stays one. */
static void swap_last(rmsnorm_known *known)
{
    if (known->rank < 2) {
        known->rank = known->open ? 0 : known->rank;
    } else {
        const rmsnorm_ir_dim last = known->dims[known->rank - 1];
        known->dims[known->rank - 1] = known->dims[known->rank - 2];
        known->dims[known->rank - 2] = last;
    }
}

/* The dims before the last `count`. */
static rmsnorm_known front(const rmsnorm_known *known, int32_t count)
{
    rmsnorm_known cut = *known;
    cut.rank = cut.rank > count ? cut.rank - count : 0;
    return cut;
}

static void append(rmsnorm_known *known, rmsnorm_ir_dim dim)
{
    if (known->rank == RMSNORM_MAX_RANK) {
        *known = rmsnorm_known_nothing(known->dtype);
        return;
    }
    known->dims[known->rank++] = dim;
}

/* Whether a tensor has at least two dims, as far as is known. */
static bool is_matrix(const rmsnorm_known *known)
{
    return known->rank >= 2;
}

static bool is_vector(const rmsnorm_known *known)
{
    return !known->open && known->rank == 1;
}

/* The dims that are summed over. */
static bool inner_fits(const rmsnorm_known *a, const rmsnorm_known *b)
{
    if (a->rank == 0 || !(is_matrix(b) || is_vector(b))) {
        return true;
    }
    rmsnorm_ir_dim inner = a->dims[a->rank - 1];
    return rmsnorm_dim_unite(&inner, b->dims[b->rank > 1 ? b->rank - 2 : 0]);
}

/* False: the dims before the last two contradict each other. */
static bool product(const rmsnorm_known *a, const rmsnorm_known *b, rmsnorm_known *result)
{
    const rmsnorm_dtype dtype = a->dtype != RMSNORM_UNDEFINED ? a->dtype : b->dtype;
    *result = rmsnorm_known_nothing(dtype);
    if (is_vector(b)) { /* the last dim of a goes */
        *result = front(a, 1);
    } else if (is_matrix(b) && is_vector(a)) {
        *result = front(b, 2);
        append(result, b->dims[b->rank - 1]);
    } else if (is_matrix(b) && !b->open && b->rank == 2) { /* whatever stands before in a, stays */
        *result = front(a, 1);
        append(result, b->dims[1]);
    } else if (is_matrix(b) && is_matrix(a)) {
        const rmsnorm_known batch = front(b, 2);
        *result = front(a, 2);
        if (!rmsnorm_known_broadcast(result, &batch)) {
            return false;
        }
        append(result, a->dims[a->rank - 2]);
        append(result, b->dims[b->rank - 1]);
    } else if (is_matrix(b)) {
        append(result, b->dims[b->rank - 1]);
    }
    result->dtype = dtype;
    return true;
}

static bool one_type(const rmsnorm_known *a, const rmsnorm_known *b)
{
    return a->dtype == b->dtype || a->dtype == RMSNORM_UNDEFINED || b->dtype == RMSNORM_UNDEFINED;
}

static rmsnorm_status types_fault(const rmsnorm_asked *asked, const rmsnorm_known *a, const rmsnorm_known *b)
{
    return rmsnorm_asked_fault(asked, "matrices are %s and %s; allowed: one element type",
                               rmsnorm_words_dtype(a->dtype).text, rmsnorm_words_dtype(b->dtype).text);
}

/* second: the element type, 0 for that of the operands. FusedMatMul says which operands are transposed. */
rmsnorm_status rmsnorm_rule_matmul(const rmsnorm_asked *asked)
{
    rmsnorm_known a = rmsnorm_asked_input(asked, 0);
    rmsnorm_known b = rmsnorm_asked_input(asked, 1);
    if (rmsnorm_asked_int(asked, "transBatchA", 0) != 0 || rmsnorm_asked_int(asked, "transBatchB", 0) != 0) {
        return RMSNORM_OK;
    }
    if (rmsnorm_asked_int(asked, "transA", 0) != 0) {
        swap_last(&a);
    }
    if (rmsnorm_asked_int(asked, "transB", 0) != 0) {
        swap_last(&b);
    }
    if (asked->rule->second == 0 && !one_type(&a, &b)) {
        return types_fault(asked, &a, &b);
    }
    rmsnorm_known result;
    const bool scalar = (!a.open && a.rank == 0) || (!b.open && b.rank == 0);
    if (scalar || !inner_fits(&a, &b) || !product(&a, &b, &result)) {
        return rmsnorm_asked_fault(asked, "matrices of the shapes %s and %s cannot be multiplied",
                                   rmsnorm_known_words(&a).text, rmsnorm_known_words(&b).text);
    }
    if (asked->rule->second != 0) {
        result.dtype = (rmsnorm_dtype)asked->rule->second;
    }
    return rmsnorm_asked_give(asked, 0, &result);
}

rmsnorm_status rmsnorm_rule_gemm(const rmsnorm_asked *asked)
{
    rmsnorm_known a = rmsnorm_asked_input(asked, 0);
    rmsnorm_known b = rmsnorm_asked_input(asked, 1);
    if (!one_type(&a, &b)) {
        return types_fault(asked, &a, &b);
    }
    const rmsnorm_words words[] = {rmsnorm_known_words(&a), rmsnorm_known_words(&b)};
    bool fits = rmsnorm_known_close(&a, 2) && rmsnorm_known_close(&b, 2);
    if (rmsnorm_asked_int(asked, "transA", 0) != 0) {
        swap_last(&a);
    }
    if (rmsnorm_asked_int(asked, "transB", 0) != 0) {
        swap_last(&b);
    }
    rmsnorm_ir_dim inner = a.dims[1];
    fits = fits && rmsnorm_dim_unite(&inner, b.dims[0]);
    if (!fits) {
        return rmsnorm_asked_fault(asked, "matrices of the shapes %s and %s cannot be multiplied", words[0].text,
                                   words[1].text);
    }
    const rmsnorm_ir_dim dims[] = {a.dims[0], b.dims[1]};
    const rmsnorm_known result = rmsnorm_known_dims(a.dtype != RMSNORM_UNDEFINED ? a.dtype : b.dtype, dims, 2);
    return rmsnorm_asked_give(asked, 0, &result);
}

/* com.microsoft::MatMulNBits: the sizes of the packed matrix are attributes. */
rmsnorm_status rmsnorm_rule_matmul_bits(const rmsnorm_asked *asked)
{
    const rmsnorm_known a = rmsnorm_asked_input(asked, 0);
    const rmsnorm_ir_dim k = rmsnorm_dim(rmsnorm_asked_int(asked, "K", RMSNORM_UNKNOWN));
    const rmsnorm_ir_dim n = rmsnorm_dim(rmsnorm_asked_int(asked, "N", RMSNORM_UNKNOWN));
    rmsnorm_ir_dim inner = k;
    if ((!a.open && a.rank == 0) || (a.rank > 0 && !rmsnorm_dim_unite(&inner, a.dims[a.rank - 1]))) {
        return rmsnorm_asked_fault(asked, "the attribute K and the shape %s of A contradict each other",
                                   rmsnorm_known_words(&a).text);
    }
    rmsnorm_known result = front(&a, 1);
    append(&result, n);
    return rmsnorm_asked_give(asked, 0, &result);
}
