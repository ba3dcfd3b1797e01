/* choose.h: from the types of a problem to its kernels. */
#ifndef RMSNORM_CPU_CHOOSE_H
#define RMSNORM_CPU_CHOOSE_H

#include "cpu/kernel.h"
#include "operator/problem.h"

typedef struct rmsnorm_choice {
    rmsnorm_type type_x, type_y;
    rmsnorm_residual residual;
    rmsnorm_form form;
    rmsnorm_sum_kernel *sum;
    rmsnorm_sum_kernel *sum_in_range; /* for rows whose sum left the range of `sum`; NULL when it cannot */
    rmsnorm_scale_kernel *scale;
    rmsnorm_step_kernel *step; /* NULL where there is no straight path */
    void (*fence)(void);       /* to be called after the last row when step writes past the cache, else NULL */
} rmsnorm_choice;

static inline bool rmsnorm_stage_is_wide(rmsnorm_form form) { return form == ONCE_WIDE || form == TWICE_WIDE; }

rmsnorm_choice rmsnorm_choose(const rmsnorm_problem *problem, bool read_soon, const rmsnorm_kernels *kernels);

/* The table of the best instruction set that max_isa and the environment allow. */
rmsnorm_status rmsnorm_kernels_find(rmsnorm_isa max_isa, const rmsnorm_kernels **kernels);

#endif
