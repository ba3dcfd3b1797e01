/* rows.h: the walk over rows: sums, inverse roots, gamma's broadcast; the same for every instruction set. */
#ifndef RMSNORM_CPU_ROWS_H
#define RMSNORM_CPU_ROWS_H

#include "cpu/choose.h"

/* Normalizes the rows [begin, end) of a problem in the calling thread. */
void rmsnorm_rows_range(const rmsnorm_problem *problem, const rmsnorm_choice *choice, int64_t begin, int64_t end);

/* Whether a row is long enough, and gamma simple enough, to be shared by threads. */
bool rmsnorm_rows_can_split(const rmsnorm_problem *problem);

/* All rows, one after the other, each by all of the runner's threads, at the blocks that its sum is made of anyway. */
void rmsnorm_rows_split(const rmsnorm_problem *problem, const rmsnorm_choice *choice, const rmsnorm_runner *runner);

#endif
