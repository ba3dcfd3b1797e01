/* rows.c: the level below tensors, for an engine with its own buffers and threads: rows on plain pointers, some of a larger buffer's
 * columns, cut into tasks. Nothing is checked here and nothing allocated: what rmsnorm_run would refuse must not come in. */
#include <rmsnorm/rmsnorm.h>
#include <stdio.h>

enum { ROWS = 4, HIDDEN = 4, PITCH = 6, TASKS = 2 };

static void normalize_part(void *job, size_t index)
{
    const rmsnorm_rows *const rows = job;
    const int64_t task = (int64_t)index;
    rmsnorm_rows_run(rows, rows->rows * task / TASKS, rows->rows * (task + 1) / TASKS, RMSNORM_ISA_AUTO);
}

int main(void)
{
    /* The rows begin PITCH elements apart; what lies behind HIDDEN of them is not touched. */
    float buffer[ROWS][PITCH] = {{1, -1, 1, 1, 7, 7}, {2, 2, 2, -2, 7, 7}, {3, 1, 1, 1, 7, 7}, {0, 0, 0, 4, 7, 7}};
    const float gamma[HIDDEN] = {1, 1, 1, 2};
    rmsnorm_rows rows = {.rows = ROWS,
                         .hidden_size = HIDDEN,
                         .dtype = RMSNORM_FLOAT,
                         .gamma_dtype = RMSNORM_FLOAT,
                         .epsilon = 1e-6F,
                         .input = buffer,
                         .input_stride = PITCH,
                         .gamma = gamma,
                         .output = buffer, /* in place */
                         .output_stride = PITCH};

    /* Any threads will do; this is the pool that comes along. */
    rmsnorm_pool *pool = NULL;
    if (rmsnorm_pool_create(TASKS, &pool) != RMSNORM_OK) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        return 1;
    }
    const rmsnorm_runner runner = rmsnorm_pool_runner(pool);
    runner.run(runner.user, normalize_part, &rows, TASKS);
    rmsnorm_pool_destroy(pool);

    for (int row = 0; row < ROWS; row++) {
        const float *const y = buffer[row];
        printf("%.3f %.3f %.3f %.3f | %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3], (double)y[4],
               (double)y[5]);
    }
    return 0;
}
