/* choose.h: from the types of a problem to its kernels. */
#ifndef RMSNORM_CPU_CHOOSE_H
#define RMSNORM_CPU_CHOOSE_H

#include "cpu/kernel.h"
#include "operator/problem.h"

/* Where the first pass puts r, so that the second need not make it again. */
typedef enum rmsnorm_keeping {
    KEPT_NOT,
    KEPT_IN_OUTPUT, /* floats: in the sum output, or else in the output, which the second pass overwrites */
    KEPT_ASIDE /* narrow rows of up to RMSNORM_KEPT_MAXIMUM elements: as floats on the stack. With a step of its own for large calls */
} rmsnorm_keeping;

#define RMSNORM_KEPT_MAXIMUM 4096

typedef struct rmsnorm_choice {
    rmsnorm_type type_x, type_y;
    rmsnorm_residual residual; /* for the second pass: PLAIN when r is KEPT_IN_OUTPUT */
    rmsnorm_form form;
    rmsnorm_keeping keeping;
    rmsnorm_sum_kernel *sum;
    rmsnorm_sum_kernel *sum_in_range; /* for rows whose sum left the range of `sum`; NULL when it cannot */
    rmsnorm_scale_kernel *scale;
    rmsnorm_step_kernel *step;   /* NULL where there is no straight path */
    rmsnorm_widen_kernel *widen; /* when scale takes gamma as widen leaves it, else NULL */
    void (*fence)(void);         /* to be called after the last row when step writes past the cache, else NULL */
} rmsnorm_choice;

static inline bool rmsnorm_stage_is_wide(rmsnorm_form form) { return form == ONCE_WIDE || form == TWICE_WIDE; }

rmsnorm_choice rmsnorm_choose(const rmsnorm_problem *problem, bool read_soon, const rmsnorm_kernels *kernels);

/* The same for passes in different calls: the first keeps nothing. */
rmsnorm_choice rmsnorm_choose_apart(const rmsnorm_problem *problem, const rmsnorm_kernels *kernels);

/* An instruction set of this build. */
typedef struct rmsnorm_compiled {
    rmsnorm_isa isa;
    const rmsnorm_kernels *kernels;
    bool (*runs)(void);
} rmsnorm_compiled;

/* The first of a list, best first, that runs here (bit i of `running` for list[i]) and is above neither limit, of which
 * RMSNORM_ISA_AUTO is none. The last one has to be RMSNORM_ISA_SCALAR, which always will do. */
int rmsnorm_isa_select(const rmsnorm_compiled *list, unsigned running, rmsnorm_isa max_isa, rmsnorm_isa limit);

/* The table of the best instruction set that max_isa and the environment allow. */
rmsnorm_status rmsnorm_kernels_find(rmsnorm_isa max_isa, const rmsnorm_kernels **kernels);

#endif
