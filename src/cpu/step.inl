/* step.inl: part of rows.inl. Both passes at once, of different rows. */
#define LINE 64 /* bytes */
/* How far ahead of its stores a row's outputs are asked for, in bytes. */
#define OUTPUT_AHEAD 2048
/* A row that comes from memory is read ahead, and written, at several places in turn: so many pages are looked up, and so
 * many banks of memory busy, at once. */
#define PLACES_MAXIMUM 8
#define PLACE 4096 /* bytes, at least: a page */

INLINE void prefetch_inputs(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i)
{
    UNROLL
    for (int64_t byte = 0; byte < RMSNORM_LANES * size_of(type); byte += LINE) {
        vf_prefetch_input((const char *)at(type, row->input, i) + byte);
        if (residual != PLAIN) {
            vf_prefetch_input((const char *)at(type, row->skip, i) + byte);
        }
    }
}

INLINE void prefetch_output(rmsnorm_type type, const void *base, int64_t i)
{
    UNROLL
    for (int64_t byte = OUTPUT_AHEAD; byte < OUTPUT_AHEAD + RMSNORM_LANES * size_of(type); byte += LINE) {
        vf_prefetch_output((const char *)at(type, base, i) + byte);
    }
}

INLINE void prefetch_outputs(rmsnorm_type type, rmsnorm_type type_y, bool sum, const rmsnorm_row *row, int64_t i)
{
    prefetch_output(type_y, row->output, i);
    if (sum) {
        prefetch_output(type, row->sum, i);
    }
}

/* The groups of a row, one place after the other, each of a group's first element; those that are left over come last. */
typedef struct places {
    int64_t count, length, place, begin, next;
} places;

INLINE places places_of(rmsnorm_type type, int64_t n)
{
    const int64_t pages = n * size_of(type) / PLACE;
    const int64_t count = pages < 1 ? 1 : pages < PLACES_MAXIMUM ? pages : PLACES_MAXIMUM;
    const places all = {count, n / (count * RMSNORM_LANES) * RMSNORM_LANES, 0, 0, 0};
    return all;
}

INLINE int64_t next_group(places *all)
{
    const int64_t i = all->next;
    all->place++;
    all->next += all->length;
    if (all->place >= all->count) {
        all->begin += RMSNORM_LANES;
        if (all->begin < all->length) {
            all->place = 0;
            all->next = all->begin;
        } else {
            all->next = all->count * all->length + (all->begin - all->length);
        }
    }
    return i;
}

/* A group of the next row. */
INLINE void add_next(bool chains, rmsnorm_type type, rmsnorm_residual residual, bool keep, const rmsnorm_row *next,
                     int64_t i, vf *chain, vw *lanes)
{
    if (chains) {
        add_link(type, residual, keep, next, i, RMSNORM_LANES, chain);
    } else {
        add_exact(type, residual, keep, next, i, RMSNORM_LANES, lanes);
    }
}

/* Scales a row while it sums the next one: reading from memory and writing to it overlap. The sum is that of the sum kernels:
 * the same links, chains and lanes. kept: a group of r is taken from where that of the next row is put then. */
INLINE rmsnorm_sum step(rmsnorm_form form, rmsnorm_type type, rmsnorm_type type_y, rmsnorm_residual residual, bool sum,
                        bool stream, bool kept, const rmsnorm_row *row, const void *gamma, int64_t gamma_step,
                        double inv, const rmsnorm_row *next, const rmsnorm_row *ahead, int64_t n)
{
    const bool chains = type != F32 && type_y != F32; /* as choose.c has it */
    const int64_t chain_elements = CHAIN_LENGTH * RMSNORM_LANES;
    const vf inv_float = vf_set((float)inv);
    vw lanes[VECTORS];
    vf chain[VECTORS];
    places turn = places_of(type, n);
    clear(lanes);
    for (int64_t i = 0; i < n;) {
        const int64_t end = chains && n - i > chain_elements ? i + chain_elements : n;
        start_chain(chain);
        for (; i < end; i += RMSNORM_LANES) {
            if (!kept) {
                add_next(chains, type, residual, false, next, i, chain, lanes);
            }
            const int64_t j = stream ? next_group(&turn) : i;
            if (stream) {
                prefetch_inputs(type, residual, ahead, j);
            } else {
                prefetch_outputs(type, type_y, sum, row, i);
            }
            scale_floats(form, type, type_y, residual, kept, false, sum, stream, row,
                         at(type_y, gamma, gamma_step == 0 ? 0 : j), inv_float, j, RMSNORM_LANES);
            if (kept) {
                add_next(chains, type, residual, true, next, i, chain, lanes);
            }
        }
        if (chains) {
            add_chain(chain, lanes);
        }
    }
    return fold(type == BF16, lanes);
}
