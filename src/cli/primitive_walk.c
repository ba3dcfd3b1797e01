/* primitive_walk.c: the elements of one shape, and those of other tensors that belong to them. */
#include "primitive_parts.h"

static void set_strides(const rmsnorm_tensor *over, const rmsnorm_tensor *tensor, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t i = 1; tensor != NULL && i <= tensor->rank; ++i) { /* from the right */
        const int64_t dim = tensor->dims[tensor->rank - i];
        strides[over->rank - i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
}

rmsnorm_cli_walk rmsnorm_cli_walk_begin(const rmsnorm_tensor *over, const rmsnorm_tensor *first,
                                        const rmsnorm_tensor *second)
{
    rmsnorm_cli_walk walk = {.rank = over->rank, .dims = over->dims};
    if (rmsnorm_tensor_count(over) > 0) { /* else nobody goes along, and the strides need not fit */
        set_strides(over, first, walk.strides[0]);
        set_strides(over, second, walk.strides[1]);
    }
    return walk;
}

void rmsnorm_cli_walk_next(rmsnorm_cli_walk *walk)
{
    for (int32_t i = walk->rank - 1; i >= 0; --i) {
        const bool more = ++walk->index[i] < walk->dims[i];
        const int64_t steps = more ? 1 : 1 - walk->dims[i]; /* on, or back to the first */
        walk->at[0] += steps * walk->strides[0][i];
        walk->at[1] += steps * walk->strides[1][i];
        if (more) {
            return;
        }
        walk->index[i] = 0;
    }
}
