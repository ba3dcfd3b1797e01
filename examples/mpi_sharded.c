/* mpi_sharded.c: RMS normalization of rows whose hidden dimension is spread over the ranks of an MPI job.
 *
 * Every rank makes its slice of the same rows, normalizes it with the sums of all, and rank 0 compares the whole with one call on
 * whole rows: at most 1 ulp apart, and the totals the same bits on every rank. */
#include <math.h>
#include <mpi.h>
#include <rmsnorm/rmsnorm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, HIDDEN = 1000 };

static float value_at(int row, int i)
{
    return (float)sin(1.0 + row * 7.0 + i * 0.37) * (float)(1 << row);
}

static int first_of(int rank, int ranks)
{
    return HIDDEN * rank / ranks;
}

/* Without an output yet. */
static rmsnorm_rows slice(const float *input, const float *gamma, int hidden_size)
{
    const rmsnorm_rows rows = {.rows = ROWS,
                               .hidden_size = hidden_size,
                               .dtype = RMSNORM_FLOAT,
                               .gamma_dtype = RMSNORM_FLOAT,
                               .stash_dtype = RMSNORM_FLOAT,
                               .epsilon = 1e-6f,
                               .input = input,
                               .input_stride = hidden_size,
                               .gamma = gamma,
                               .output_stride = hidden_size};
    return rows;
}

static void fill(float *input, float *gamma, int first, int count)
{
    for (int i = 0; i < count; i++) {
        gamma[i] = 0.5f + (float)((first + i) % 11) / 8.0f;
        for (int row = 0; row < ROWS; row++) {
            input[row * count + i] = value_at(row, first + i);
        }
    }
}

/* Added up in the order of the ranks, so that every rank gets the same bits. */
static void all_reduce(double *sums, int ranks)
{
    double *const all = malloc((size_t)ranks * ROWS * sizeof *all);
    MPI_Allgather(sums, ROWS, MPI_DOUBLE, all, ROWS, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int row = 0; row < ROWS; row++) {
        sums[row] = 0.0;
        for (int rank = 0; rank < ranks; rank++) {
            sums[row] += all[rank * ROWS + row];
        }
    }
    free(all);
}

static int ulps_apart(float a, float b)
{
    int x;
    int y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x > y ? x - y : y - x;
}

/* The largest distance of this rank's slice from one call on whole rows. */
static int compare(const float *output, int first, int count)
{
    static float input[ROWS * HIDDEN], gamma[HIDDEN], whole[ROWS * HIDDEN];
    int worst = 0;
    fill(input, gamma, 0, HIDDEN);
    rmsnorm_rows rows = slice(input, gamma, HIDDEN);
    rows.output = whole;
    rmsnorm_rows_run(&rows, 0, ROWS, RMSNORM_ISA_AUTO);
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < count; i++) {
            const int apart = ulps_apart(output[row * count + i], whole[row * HIDDEN + first + i]);
            worst = apart > worst ? apart : worst;
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    int rank;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    static float input[ROWS * HIDDEN], gamma[HIDDEN], output[ROWS * HIDDEN];
    const int first = first_of(rank, ranks);
    const int count = first_of(rank + 1, ranks) - first;
    fill(input, gamma, first, count);
    rmsnorm_rows rows = slice(input, gamma, count);
    rows.output = output;
    double sums[ROWS];
    rmsnorm_partial_sums(&rows, 0, ROWS, sums, RMSNORM_ISA_AUTO);
    all_reduce(sums, ranks);
    rmsnorm_partial_normalize(&rows, 0, ROWS, sums, HIDDEN, RMSNORM_ISA_AUTO);

    double of_first[ROWS];
    memcpy(of_first, sums, sizeof of_first);
    MPI_Bcast(of_first, ROWS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int differ = 0;
    for (int row = 0; row < ROWS; row++) {
        differ += of_first[row] != sums[row];
    }
    int result[2] = {compare(output, first, count), differ};
    int worst[2];
    MPI_Reduce(result, worst, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    const int good = worst[0] <= 1 && worst[1] == 0;
    if (rank == 0) {
        printf("%d rank%s: largest difference %d ulp, totals %s\n", ranks, ranks == 1 ? "" : "s", worst[0],
               worst[1] == 0 ? "the same on every rank" : "not the same on every rank");
    }
    MPI_Finalize();
    return rank == 0 && !good;
}
