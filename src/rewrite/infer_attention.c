/* Rules for attention, ONNX's and ONNX Runtime's: the first output; the others' element type. */
#include "rewrite/infer.h"

#include "operator/size.h"

static rmsnorm_status give_first(const rmsnorm_asked *asked, const rmsnorm_known *known)
{
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, known));
    const rmsnorm_known typed = rmsnorm_known_nothing(known->dtype);
    for (size_t slot = 1; slot < 3; slot++) { /* present keys and values */
        RMSNORM_TRY(rmsnorm_asked_give(asked, slot, &typed));
    }
    return RMSNORM_OK;
}

/* The size of `parts` of `whole` equal parts of a dim. */
static rmsnorm_ir_dim share(rmsnorm_ir_dim dim, int64_t parts, int64_t whole)
{
    int64_t result;
    if (dim.number == RMSNORM_NO_NUMBER || parts <= 0 || whole <= 0 || dim.number % whole != 0 ||
        !rmsnorm_multiply(dim.number / whole, parts, &result)) {
        return rmsnorm_dim_unknown();
    }
    return rmsnorm_dim(result);
}

/* ai.onnx: Q (B,Hq,S,D), V (B,H,T,Dv) gives (B,Hq,S,Dv); Q (B,S,Hq*D), V (B,T,H*Dv) gives (B,S,Hq*Dv). */
rmsnorm_status rmsnorm_rule_attention(const rmsnorm_asked *asked)
{
    rmsnorm_known query = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known value = rmsnorm_asked_input(asked, 2);
    if (query.open || (query.rank != 3 && query.rank != 4)) {
        query = rmsnorm_known_nothing(query.dtype);
        return give_first(asked, &query);
    }
    rmsnorm_ir_dim *const last = &query.dims[query.rank - 1];
    const bool same_rank = !value.open && value.rank == query.rank;
    if (!same_rank) {
        *last = rmsnorm_dim_unknown();
    } else if (query.rank == 4) {
        *last = value.dims[3];
    } else {
        const int64_t heads = rmsnorm_asked_int(asked, "q_num_heads", 0);
        *last = share(value.dims[2], heads, rmsnorm_asked_int(asked, "kv_num_heads", heads));
    }
    return give_first(asked, &query);
}

/* com.microsoft: query (B,S,N*D) and value (B,T,N*Dv) give (B,S,N*Dv); packed queries, of five dims, are left. */
rmsnorm_status rmsnorm_rule_multi_head(const rmsnorm_asked *asked)
{
    rmsnorm_known query = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known value = rmsnorm_asked_input(asked, 2);
    if (query.open || query.rank != 3 || !rmsnorm_asked_has(asked, 2)) {
        query = rmsnorm_known_nothing(query.dtype);
        return give_first(asked, &query);
    }
    query.dims[2] = !value.open && value.rank == 3 ? value.dims[2] : rmsnorm_dim_unknown();
    return give_first(asked, &query);
}

/* com.microsoft: the shape of query; without a key, query holds keys and values behind it. */
rmsnorm_status rmsnorm_rule_group_query(const rmsnorm_asked *asked)
{
    rmsnorm_known query = rmsnorm_asked_input(asked, 0);
    if (!rmsnorm_asked_has(asked, 1) && rmsnorm_known_close(&query, 3)) {
        const int64_t heads = rmsnorm_asked_int(asked, "num_heads", 0);
        const int64_t others = rmsnorm_asked_int(asked, "kv_num_heads", 0);
        const bool told = heads > 0 && others > 0 && heads < INT32_MAX && others < INT32_MAX;
        query.dims[2] = told ? share(query.dims[2], heads, heads + 2 * others) : rmsnorm_dim_unknown();
    }
    return give_first(asked, &query);
}
