/* measure.c: interleaved samples of every contender on the same buffers. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define SAMPLES_MAXIMUM 4000
#define SAMPLES_MINIMUM 7
/* A sample is this long at least: the clock costs 30 ns and ticks are of no matter then. With threads, long enough that what
 * counts is how they work together, not how they were woken. */
#define SAMPLE_US 200.0
#define SAMPLE_THREADS_US 2000.0
/* After a sample with threads everybody waits until no worker of a contender spins any more. */
#define REST_NS 2000000

static const bench_contender *const contenders[BENCH_CONTENDERS] = {
    [BENCH_OURS] = &bench_ours,          [BENCH_ORT] = &bench_ort,
    [BENCH_MEMCPY] = &bench_memcpy,      [BENCH_COPY] = &bench_copy,
    [BENCH_STREAM] = &bench_stream_copy,
};

double bench_now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

typedef struct running {
    void *state;
    int calls; /* per sample */
    double *samples;
} running;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_summarize(double *samples, size_t count, bench_timing *timing)
{
    qsort(samples, count, sizeof samples[0], compare);
    timing->samples = count;
    timing->minimum = samples[0];
    timing->median = samples[count / 2];
    timing->quartile_low = samples[count / 4];
    timing->quartile_high = samples[count * 3 / 4];
}

/* The first call is not timed: it brings back the caches and the workers that the others' samples took away. */
static double sample(const bench_contender *contender, const running *run)
{
    contender->call(run->state);
    const double start = bench_now_us();
    for (int i = 0; i < run->calls; i++) {
        contender->call(run->state);
    }
    return (bench_now_us() - start) / run->calls;
}

/* One call to warm up, one to see how long it is. */
static bool start(const bench_contender *contender, running *run, bool threads)
{
    const double least = threads ? SAMPLE_THREADS_US : SAMPLE_US;
    if (!contender->call(run->state)) {
        return false;
    }
    run->calls = 1;
    const double first = sample(contender, run);
    run->calls = first < least ? (int)(least / (first + 0.01)) + 1 : 1;
    return true;
}

static size_t sample_all(bool threads, double seconds, const bench_result *result, running runs[BENCH_CONTENDERS])
{
    const struct timespec rest = {0, REST_NS};
    const double end = bench_now_us() + seconds * 1e6;
    size_t count = 0;
    while (count < SAMPLES_MAXIMUM && (count < SAMPLES_MINIMUM || bench_now_us() < end)) {
        for (int i = 0; i < BENCH_CONTENDERS; i++) {
            /* Each round begins with another one, so that nobody always follows the same. */
            const int c = (int)((count + (size_t)i) % BENCH_CONTENDERS);
            if (result->timings[c].ran) {
                runs[c].samples[count] = sample(contenders[c], &runs[c]);
                if (threads) {
                    nanosleep(&rest, NULL);
                }
            }
        }
        count++;
    }
    return count;
}

bool bench_measure(const bench_case *what, double seconds, bench_result *result, char why[256])
{
    bench_data data;
    running runs[BENCH_CONTENDERS];
    memset(runs, 0, sizeof runs);
    memset(result, 0, sizeof *result);
    result->what = *what;
    bool good = bench_data_make(what, &data);
    snprintf(why, 256, "out of memory for the buffers of the case");
    result->bytes = data.bytes;
    for (int c = 0; good && c < BENCH_CONTENDERS; c++) {
        bench_timing *const timing = &result->timings[c];
        timing->ran = contenders[c]->prepare(what, &data, &runs[c].state, timing->why);
        if (timing->ran && !start(contenders[c], &runs[c], what->threads > 1)) {
            timing->ran = false;
            snprintf(timing->why, sizeof timing->why, "%s",
                     c == BENCH_OURS ? rmsnorm_last_error() : "its first call failed");
        }
        runs[c].samples = malloc(SAMPLES_MAXIMUM * sizeof(double));
        good = runs[c].samples != NULL;
    }
    if (good && !result->timings[BENCH_OURS].ran) {
        snprintf(why, 256, "%s", result->timings[BENCH_OURS].why);
        good = false;
    }
    const size_t count = good ? sample_all(what->threads > 1, seconds, result, runs) : 0;
    for (int c = 0; c < BENCH_CONTENDERS; c++) {
        if (good && result->timings[c].ran) {
            bench_summarize(runs[c].samples, count, &result->timings[c]);
        }
        if (runs[c].state != NULL) {
            contenders[c]->release(runs[c].state);
        }
        free(runs[c].samples);
    }
    bench_data_release(&data);
    return good;
}

double bench_against_ort(const bench_result *result)
{
    const bench_timing *const ours = &result->timings[BENCH_OURS];
    const bench_timing *const ort = &result->timings[BENCH_ORT];
    return ours->ran && ort->ran ? ort->median / ours->median : 0.0;
}

double bench_of_copy_limit(const bench_result *result)
{
    double best = 0.0;
    for (int c = BENCH_MEMCPY; c < BENCH_CONTENDERS; c++) {
        const bench_timing *const copy = &result->timings[c];
        if (copy->ran && (best == 0.0 || copy->median < best)) {
            best = copy->median;
        }
    }
    return result->timings[BENCH_OURS].ran ? best / result->timings[BENCH_OURS].median : 0.0;
}
