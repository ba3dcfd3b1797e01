/* sum.inl: part of rows.inl. Pass 1: the sum of the squares. */
INLINE void clear(vw *lanes)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_zero();
    }
}

/* Folds the lanes in halves: lane i + lane i + 16, then + 8, and so on: first whole vectors, then within one. Of a pair the even
 * and the odd lanes are folded apart, and the last half is the one of the other. */
INLINE rmsnorm_sum fold(bool paired, vw *lanes)
{
    const int apart = paired ? 2 : 1;
    UNROLL
    for (int half = VECTORS / 2; half >= apart; half /= 2) {
        for (int v = 0; v < half; v++) {
            lanes[v] = vw_add(lanes[v], lanes[v + half]);
        }
    }
    const rmsnorm_sum sum = {paired ? vw_fold(lanes[0]) + vw_fold(lanes[1]) : vw_fold(lanes[0]), 0.0};
    return sum;
}

INLINE void add_exact(rmsnorm_type type, rmsnorm_residual residual, bool keep, const rmsnorm_row *row, int64_t i, int n,
                      vw *lanes)
{
    if (type == F32 && residual == PLAIN && n == RMSNORM_LANES) { /* widened as they are loaded, without a shuffle */
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            lanes[v] = vw_add_square(vw_load_f32(at(type, row->input, i + v * VF)), lanes[v]);
        }
        return;
    }
    vf r[VECTORS];
    load_r(type, residual, type == BF16, row, i, n, r);
    if (keep) {
        keep_r(type, row->kept, i, n, r);
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add_square(vw_widen(r[v]), lanes[v]);
    }
}

INLINE rmsnorm_sum sum_exact(rmsnorm_type type, rmsnorm_residual residual, bool keep, const rmsnorm_row *row,
                             int64_t begin, int64_t end)
{
    vw lanes[VECTORS];
    clear(lanes);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_exact(type, residual, keep, row, i, RMSNORM_LANES, lanes);
    }
    if (i < end) {
        add_exact(type, residual, keep, row, i, (int)(end - i), lanes);
    }
    return fold(type == BF16, lanes);
}

INLINE void start_chain(vf *chain)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        chain[v] = vf_zero();
    }
}

INLINE void add_link(rmsnorm_type type, rmsnorm_residual residual, bool keep, const rmsnorm_row *row, int64_t i, int n,
                     vf *chain)
{
    vf r[VECTORS];
    load_r(type, residual, type == BF16, row, i, n, r);
    if (keep) {
        keep_r(type, row->kept, i, n, r);
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        chain[v] = vf_fma(r[v], r[v], chain[v]);
    }
}

INLINE void add_chain(const vf *chain, vw *lanes)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add(lanes[v], vw_widen(chain[v]));
    }
}

INLINE rmsnorm_sum sum_chain(rmsnorm_type type, rmsnorm_residual residual, bool keep, const rmsnorm_row *row,
                             int64_t begin, int64_t end)
{
    vw lanes[VECTORS];
    vf chain[VECTORS];
    clear(lanes);
    int64_t i = begin;
    while (i <= end - CHAIN_LENGTH * RMSNORM_LANES) {
        start_chain(chain);
        UNROLL
        for (int link = 0; link < CHAIN_LENGTH; link++, i += RMSNORM_LANES) {
            add_link(type, residual, keep, row, i, RMSNORM_LANES, chain);
        }
        add_chain(chain, lanes);
    }
    if (i < end) { /* the last chain is shorter, and its last link may be */
        start_chain(chain);
        for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
            add_link(type, residual, keep, row, i, RMSNORM_LANES, chain);
        }
        if (i < end) {
            add_link(type, residual, keep, row, i, (int)(end - i), chain);
        }
        add_chain(chain, lanes);
    }
    return fold(type == BF16, lanes);
}

/* s + square, with what the addition and the squaring lose gathered in errors (Ogita, Rump and Oishi, "Accurate sum and dot
 * product", 2005: as if computed in twice the precision). */
INLINE void add_wide(rmsnorm_type type, const rmsnorm_row *row, int64_t i, int n, vw *sums, vw *errors)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const vw x = load_wide(type, row->input, i + v * VF, part(n, v, VF));
        const vw square = vw_mul(x, x);
        const vw square_error = vw_fms(x, x, square);
        const vw sum = vw_add(sums[v], square);
        const vw added = vw_sub(sum, sums[v]);
        const vw sum_error = vw_add(vw_sub(sums[v], vw_sub(sum, added)), vw_sub(square, added));
        errors[v] = vw_add(errors[v], vw_add(sum_error, square_error));
        sums[v] = sum;
    }
}

INLINE rmsnorm_sum sum_wide(rmsnorm_type type, const rmsnorm_row *row, int64_t begin, int64_t end)
{
    vw sums[VECTORS];
    vw errors[VECTORS];
    clear(sums);
    clear(errors);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_wide(type, row, i, RMSNORM_LANES, sums, errors);
    }
    if (i < end) {
        add_wide(type, row, i, (int)(end - i), sums, errors);
    }
    double high[RMSNORM_LANES];
    double low[RMSNORM_LANES];
    for (int v = 0; v < VECTORS; v++) {
        vw_store(high + v * VF, sums[v]);
        vw_store(low + v * VF, errors[v]);
    }
    rmsnorm_sum total = {0.0, 0.0};
    for (int lane = 0; lane < RMSNORM_LANES; lane++) {
        const rmsnorm_sum one = {high[lane], low[lane]};
        total = rmsnorm_sum_add(total, one);
    }
    return total;
}
