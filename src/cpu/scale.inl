/* scale.inl: part of rows.inl. Pass 2: r times inv times gamma. */
INLINE bool multiplies_wide(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y)
{
    return form == ONCE_WIDE || type_x == F64 || type_y == F64;
}

/* All in float: r, its scaling, gamma and the results as groups; every load comes before the first store. */
INLINE void scale_floats(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual,
                         bool kept, bool wide, bool sum, bool stream, const rmsnorm_row *row, const void *gamma, vf inv,
                         int64_t i, int n)
{
    const bool paired = type_x == BF16 && type_y == BF16;
    vf r[VECTORS];
    vf g[VECTORS];
    vf y[VECTORS];
    if (kept) {
        load_kept(row->kept, i, r);
    } else {
        load_r(type_x, residual, paired, row, i, n, r);
    }
    if (wide) {
        load_kept(gamma, 0, g);
    } else {
        load_group(type_y, paired, gamma, 0, n, g);
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        y[v] = vf_mul(r[v], inv);
        if (form == TWICE) {
            y[v] = round_to(type_x, y[v]);
        }
        y[v] = vf_mul_gamma(y[v], g[v]);
    }
    if (sum) {
        stream ? stream_group(type_x, paired, row->sum, i, r) : store_group(type_x, paired, row->sum, i, n, r);
    }
    stream ? stream_group(type_y, paired, row->output, i, y) : store_group(type_y, paired, row->output, i, n, y);
}

/* One vector of T(r * inv) where double is involved: in the stage, in the last product, or in both. */
INLINE vw normalize_wide(rmsnorm_form form, rmsnorm_type type, const rmsnorm_row *row, vf inv, vw inv_wide, int64_t i,
                         int n)
{
    if (form == TWICE) {
        return vw_widen(round_to(type, vf_mul(load(type, row->input, i, n), inv)));
    }
    const vw y = vw_mul(load_wide(type, row->input, i, n), inv_wide);
    return form == ONCE_WIDE ? y : vw_widen(round_to(type, narrow_for(type, y)));
}

INLINE void scale_doubles(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, const rmsnorm_row *row,
                          const void *gamma, vf inv, vw inv_wide, int64_t i, int n)
{
    vw y[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const int touched = part(n, v, VF);
        y[v] = normalize_wide(form, type_x, row, inv, inv_wide, i + v * VF, touched);
        if (multiplies_wide(form, type_x, type_y)) {
            y[v] = vw_mul_gamma(y[v], load_wide(type_y, gamma, v * VF, touched));
        } else { /* both factors are floats, and so is the product */
            y[v] = vw_widen(vf_mul_gamma(vf_narrow(y[v]), load(type_y, gamma, v * VF, touched)));
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        store_wide(type_y, row->output, i + v * VF, y[v], part(n, v, VF));
    }
}

INLINE void scale_group(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual,
                        bool kept, bool wide, bool sum, const rmsnorm_row *row, const void *gamma, vf inv, vw inv_wide,
                        int64_t i, int n)
{
    if (form == ONCE || (form == TWICE && !multiplies_wide(form, type_x, type_y))) {
        scale_floats(form, type_x, type_y, residual, kept, wide, sum, false, row, gamma, inv, i, n);
    } else {
        scale_doubles(form, type_x, type_y, row, gamma, inv, inv_wide, i, n);
    }
}

INLINE void scale(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual, bool kept,
                  bool wide, bool sum, const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv,
                  int64_t begin, int64_t end)
{
    const vf inv_float = vf_set((float)inv);
    const vw inv_wide = vw_set(inv);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        scale_group(form, type_x, type_y, residual, kept, wide, sum, row, gamma, inv_float, inv_wide, i, RMSNORM_LANES);
        gamma = at(wide ? F32 : type_y, gamma, gamma_step);
    }
    if (i < end) {
        scale_group(form, type_x, type_y, residual, kept, wide, sum, row, gamma, inv_float, inv_wide, i,
                    (int)(end - i));
    }
}
