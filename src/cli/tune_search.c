/* tune_search.c: the fastest plan of a case. From the package's own choice, and from each other variant that can be had, one tunable
 * is changed at a time for as long as that helps. Plans that come to the same shaders and dispatches are timed once. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tune.h"

/* What is so much slower at its first sample is not looked at again. */
#define HOPELESS 1.5
/* A step of the search must win this much, the winner in the end that much. */
#define STEP_GAIN 0.99
#define FINAL_GAIN 0.97
enum { ROUNDS = 7, FINAL_ROUNDS = 21, WALKS = 3, SEEN_MAXIMUM = 512 };

typedef struct point {
    const char *variant; /* NULL: the package's choice */
    int64_t values[RMSNORM_MAX_TUNABLES];
} point;

typedef struct search {
    const rmsnorm_cli_tune_data *data;
    const rmsnorm_cli_tune_source *source;
    const rmsnorm_cli_tune_watch *watch;
    rmsnorm_cli_tune_result *result;
    rmsnorm_plan *standard_plan;
    bench_gpu_work standard;
    double standard_us;
    uint64_t seen[SEEN_MAXIMUM];
    size_t seen_count;
    point best;
    double best_ratio; /* of its time by the standard's */
    bool gone;         /* the device fails at what it could do before */
} search;

/* ---- Plans ----------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t state, const void *data, size_t size)
{
    const unsigned char *const bytes = data;
    for (size_t i = 0; i < size; ++i) {
        state = (state ^ bytes[i]) * 1099511628211U; /* FNV-1a */
    }
    return state;
}

/* All that the device gets to see of a plan, but the places of its buffers. */
static uint64_t fingerprint(const rmsnorm_plan *plan)
{
    uint64_t state = 14695981039346656037U;
    for (size_t i = 0; i < plan->pass_count; ++i) {
        const rmsnorm_pass *const pass = &plan->passes[i];
        const rmsnorm_shader *const shader = &plan->shaders[pass->shader];
        state = hash(state, shader->wgsl, shader->length);
        state = hash(state, pass->workgroups, sizeof pass->workgroups);
        state = hash(state, pass->uniforms, pass->uniform_count * sizeof pass->uniforms[0]);
    }
    return state;
}

static bool is_new(search *all, const rmsnorm_plan *plan)
{
    const uint64_t print = fingerprint(plan);
    for (size_t i = 0; i < all->seen_count; ++i) {
        if (all->seen[i] == print) {
            return false;
        }
    }
    if (all->seen_count == SEEN_MAXIMUM) {
        return false;
    }
    all->seen[all->seen_count++] = print;
    return true;
}

/* NULL: there is no such plan here. */
static rmsnorm_plan *make_plan(const search *all, const point *at)
{
    rmsnorm_request request = all->data->request;
    rmsnorm_plan *plan;
    request.variant = at->variant;
    for (size_t i = 0; i < all->source->knob_count; ++i) {
        const rmsnorm_cli_tune_knob *const knob = &all->source->knobs[i];
        if (at->values[i] != knob->standard) {
            request.tunables[request.tunable_count++] = (rmsnorm_tunable){knob->name, at->values[i]};
        }
    }
    return rmsnorm_plan_make(all->source->package, &request, &plan) == RMSNORM_OK ? plan : NULL;
}

static point standard_point(const search *all, const char *variant)
{
    point at = {.variant = variant};
    for (size_t i = 0; i < all->source->knob_count; ++i) {
        at.values[i] = all->source->knobs[i].standard;
    }
    return at;
}

static void describe(const search *all, const point *at, rmsnorm_tuning_choice *choice)
{
    (void)snprintf(choice->variant, sizeof choice->variant, "%s", at->variant == NULL ? "" : at->variant);
    choice->tunable_count = 0;
    for (size_t i = 0; i < all->source->knob_count; ++i) {
        const rmsnorm_cli_tune_knob *const knob = &all->source->knobs[i];
        if (at->values[i] != knob->standard) {
            const size_t k = choice->tunable_count++;
            (void)snprintf(choice->tunables[k].name, sizeof choice->tunables[k].name, "%s", knob->name);
            choice->tunables[k].value = at->values[i];
        }
    }
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Both in turn: the ratios of neighbours, sorted, as what else the machine does hits neighbours alike. */
static bool sample_pairs(search *all, const bench_gpu_work *work, size_t count, double *ratios, double *us)
{
    double own[FINAL_ROUNDS];
    double standard[FINAL_ROUNDS];
    for (size_t i = 0; i < count; ++i) {
        standard[i] = bench_gpu_sample(all->data->webgpu, &all->standard);
        own[i] = bench_gpu_sample(all->data->webgpu, work);
        if (standard[i] < 0 || own[i] < 0) {
            all->gone = standard[i] < 0;
            return false;
        }
        ratios[i] = standard[i] > 0 ? own[i] / standard[i] : 1.0;
    }
    qsort(ratios, count, sizeof ratios[0], compare);
    *us = bench_median(own, count);
    all->standard_us = bench_median(standard, count);
    return true;
}

static void throw_out(search *all, const point *at)
{
    rmsnorm_cli_tune_result *const result = all->result;
    rmsnorm_tuning_choice choice = {.variant = ""};
    char text[RMSNORM_CLI_TUNE_CHOICE];
    const size_t size = 1200 + sizeof text;
    char *const sentence = rmsnorm_cli_allocate(size, 1);
    char **const sentences = rmsnorm_cli_allocate(result->thrown_out_count + 1, sizeof *sentences);
    describe(all, at, &choice);
    (void)snprintf(sentence, size, "%s: %s", rmsnorm_cli_tune_choice_text(&choice, text), rmsnorm_cli_sentence());
    if (result->thrown_out_count > 0) {
        memcpy(sentences, result->thrown_out, result->thrown_out_count * sizeof *sentences);
    }
    free(result->thrown_out);
    sentences[result->thrown_out_count++] = sentence;
    result->thrown_out = sentences;
}

/* Its time by the standard's; above HOPELESS for one that is thrown out. */
static double rate(search *all, const point *at, const rmsnorm_plan *plan)
{
    const double hopeless = 2 * HOPELESS;
    bench_gpu_work work = all->data->work;
    double ratios[ROUNDS];
    double us;
    work.plan = plan;
    if (rmsnorm_cli_tune_data_check(all->data, plan) != RMSNORM_CLI_DONE) {
        throw_out(all, at);
        return hopeless;
    }
    work.repeats = all->standard.repeats;
    us = bench_gpu_sample(all->data->webgpu, &work);
    if (us >= 0 && us > HOPELESS * all->standard_us * all->best_ratio) {
        return hopeless;
    }
    if (us < 0 || !bench_gpu_start(all->data->webgpu, &work) || !sample_pairs(all, &work, ROUNDS, ratios, &us)) {
        (void)rmsnorm_cli_fail_library();
        throw_out(all, at);
        return hopeless;
    }
    return ratios[ROUNDS / 2];
}

/* ---- The walk -------------------------------------------------------------------------------- */

static bool is_over(const search *all)
{
    return all->gone || all->watch->stopped();
}

/* Whether there is such a plan; a new one is timed, and is the best if it is. */
static bool visit(search *all, const point *at, double *ratio)
{
    rmsnorm_plan *const plan = make_plan(all, at);
    *ratio = 2 * HOPELESS;
    if (plan == NULL) {
        return false;
    }
    if (is_new(all, plan)) {
        *ratio = rate(all, at, plan);
        ++all->result->tried;
        if (*ratio < all->best_ratio * STEP_GAIN) {
            all->best_ratio = *ratio;
            all->best = *at;
        }
        all->watch->progress(all->result, all->standard_us, all->standard_us * all->best_ratio);
    }
    rmsnorm_plan_release(plan);
    return true;
}

/* A variant whose conditions the package's own values do not meet may be had with one of them changed. */
static bool enter(search *all, point *at, double *ratio)
{
    if (visit(all, at, ratio)) {
        return true;
    }
    for (size_t k = 0; k < all->source->knob_count; ++k) {
        const int64_t kept = at->values[k];
        for (size_t i = 0; i < all->source->knobs[k].count; ++i) {
            at->values[k] = all->source->knobs[k].values[i];
            if (is_over(all) || visit(all, at, ratio)) {
                return !is_over(all);
            }
        }
        at->values[k] = kept;
    }
    return false;
}

/* The best value of one tunable, the others as they are; whether it is another one. */
static bool improve(search *all, point *at, double *ratio, size_t knob)
{
    int64_t best = at->values[knob];
    const int64_t before = best;
    for (size_t i = 0; i < all->source->knobs[knob].count && !is_over(all); ++i) {
        point next = *at;
        double found;
        next.values[knob] = all->source->knobs[knob].values[i];
        if (next.values[knob] != before && visit(all, &next, &found) && found < *ratio * STEP_GAIN) {
            *ratio = found;
            best = next.values[knob];
        }
    }
    at->values[knob] = best;
    return best != before;
}

static void walk(search *all, point at, double ratio)
{
    bool moved = true;
    for (int i = 0; i < WALKS && moved && !is_over(all); ++i) {
        moved = false;
        for (size_t k = 0; k < all->source->knob_count && !is_over(all); ++k) {
            moved = improve(all, &at, &ratio, k) || moved;
        }
    }
}

/* ---- The result ------------------------------------------------------------------------------ */

/* Against the standard once more: it must win by more than noise, and three times of four. */
static void decide(search *all)
{
    rmsnorm_tuning_choice *const choice = &all->result->choice;
    rmsnorm_plan *const plan = all->best_ratio < 1.0 ? make_plan(all, &all->best) : NULL;
    double ratios[FINAL_ROUNDS];
    double us = all->standard_us;
    memset(choice, 0, sizeof *choice);
    if (plan != NULL) {
        bench_gpu_work work = all->data->work;
        work.plan = plan;
        if (bench_gpu_start(all->data->webgpu, &work) && sample_pairs(all, &work, FINAL_ROUNDS, ratios, &us) &&
            ratios[FINAL_ROUNDS / 2] < FINAL_GAIN && ratios[FINAL_ROUNDS * 3 / 4] < 1.0) {
            describe(all, &all->best, choice);
            if (choice->variant[0] == '\0') {
                (void)snprintf(choice->variant, sizeof choice->variant, "%s", plan->variant);
            }
        } else {
            us = all->standard_us;
        }
        rmsnorm_plan_release(plan);
    }
    choice->seconds = us * 1e-6;
    choice->default_seconds = all->standard_us * 1e-6;
}

/* The package's own choice, checked; the measure of all others. */
static rmsnorm_cli_tune_state begin(search *all)
{
    const point at = standard_point(all, NULL);
    double ratios[ROUNDS];
    all->standard_plan = make_plan(all, &at);
    if (all->standard_plan == NULL) {
        (void)rmsnorm_cli_fail_library();
        return RMSNORM_CLI_TUNE_SKIPPED;
    }
    (void)is_new(all, all->standard_plan);
    all->standard = all->data->work;
    all->standard.plan = all->standard_plan;
    if (rmsnorm_cli_tune_data_check(all->data, all->standard_plan) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_TUNE_WRONG;
    }
    if (!bench_gpu_start(all->data->webgpu, &all->standard) ||
        !sample_pairs(all, &all->standard, ROUNDS, ratios, &all->standard_us)) {
        (void)rmsnorm_cli_fail_library();
        return RMSNORM_CLI_TUNE_WRONG;
    }
    all->best = at;
    all->best_ratio = 1.0;
    all->result->tried = 1;
    return RMSNORM_CLI_TUNE_DONE;
}

static void explore(search *all)
{
    walk(all, all->best, 1.0);
    for (size_t i = 0; i < all->source->variant_count && !is_over(all); ++i) {
        const char *const variant = all->source->variants[i];
        point at = standard_point(all, variant);
        double ratio;
        if (strcmp(variant, all->standard_plan->variant) != 0 && enter(all, &at, &ratio) && !is_over(all)) {
            walk(all, at, ratio);
        }
    }
}

int rmsnorm_cli_tune_search(const rmsnorm_cli_tune_data *data, const rmsnorm_cli_tune_watch *watch,
                            rmsnorm_cli_tune_result *result)
{
    search *const all = rmsnorm_cli_allocate(1, sizeof *all);
    all->data = data;
    all->source = result->source;
    all->watch = watch;
    all->result = result;
    result->state = begin(all);
    if (result->state == RMSNORM_CLI_TUNE_DONE) {
        explore(all);
        result->state = is_over(all) ? RMSNORM_CLI_TUNE_CUT : RMSNORM_CLI_TUNE_DONE;
        if (!is_over(all)) {
            decide(all);
        }
    } else {
        (void)snprintf(result->reason, sizeof result->reason, "%s", rmsnorm_cli_sentence());
    }
    const int code = all->gone ? rmsnorm_cli_fail_library() : RMSNORM_CLI_DONE;
    rmsnorm_plan_release(all->standard_plan);
    free(all);
    return code;
}
