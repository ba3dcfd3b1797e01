/* A row's bits depend on its values, types, length, gamma and epsilon alone (contract 4.3): the same calls under other
 * instruction sets, among other rows, at other addresses and floating-point settings. */
#define _POSIX_C_SOURCE 200809L
#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "kerncheck/check.h"
#include "support.h"

#define CALLS 1200
#define SHORT_FAMILIES 7 /* all but the long and the many rows */

/* ---- Random calls and their hash ---- */

/* Call number i: families, types and operators in turn. */
static check_case draw(int i)
{
    static combination list[MAX_COMBINATIONS];
    static int count;
    if (count == 0) {
        count = combinations_list(list);
    }
    return case_draw(&list[i * 5 % count], &families[i % SHORT_FAMILIES], i, rng_mix((uint64_t)i));
}

static uint64_t hash_outputs(const checker *k, const check_case *c, uint64_t hash)
{
    for (slot s = SLOT_FIRST_OUTPUT; s < SLOT_COUNT; s++) {
        const size_t bytes = c->present[s] ? case_bytes(c, s) : 0;
        for (size_t i = 0; i < bytes; i++) {
            hash = (hash ^ (uint64_t)(unsigned char)k->result[s].data[i]) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}

/* One hash per call; the number of refused or wrong calls. */
static uint64_t run_calls(rmsnorm_isa isa, uint64_t hashes[CALLS])
{
    static checker k;
    for (int i = 0; i < CALLS; i++) {
        check_case c = draw(i);
        case_fill(&k, &c);
        hashes[i] = case_run(&k, &c, isa, k.result) ? hash_outputs(&k, &c, UINT64_C(0xCBF29CE484222325)) : 0;
    }
    const uint64_t failed = k.failed;
    checker_release(&k);
    memset(&k, 0, sizeof(k));
    return failed;
}

static void compare_hashes(const uint64_t *a, const uint64_t *b, const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        if (a[i] != b[i]) {
            const check_case c = draw(i);
            char text[1024];
            case_describe(&c, text, sizeof(text));
            fail_msg("other bits with %s: %s", name, text);
        }
    }
}

/* ---- Processes of their own: the environment is read once ---- */

typedef struct answer {
    uint64_t failed;
    uint64_t hashes[CALLS];
    rmsnorm_status status;
    rmsnorm_isa used;
    char sentence[256];
} answer;

static void answer_in_child(int out)
{
    static answer a;
    a.status = rmsnorm_isa_in_use(RMSNORM_ISA_AUTO, &a.used);
    if (a.status == RMSNORM_OK) {
        a.failed = run_calls(RMSNORM_ISA_AUTO, a.hashes);
    } else {
        trial t = trial_start(SIMPLE);
        trial_in(&t, 0, F32, SHAPE(4), NULL);
        trial_in(&t, 1, F32, SHAPE(4), NULL);
        trial_out(&t, 0, F32, SHAPE(4));
        a.status = trial_run(&t);
        (void)snprintf(a.sentence, sizeof(a.sentence), "%s", rmsnorm_last_error());
    }
    const char *bytes = (const char *)&a;
    for (size_t done = 0; done < sizeof(a);) {
        const ssize_t wrote = write(out, bytes + done, sizeof(a) - done);
        if (wrote <= 0) {
            _exit(1);
        }
        done += (size_t)wrote;
    }
    _exit(0);
}

/* This program again, as it is before it has called the library, with RMSNORM_ISA set. */
static void ask_child(const char *isa_name, answer *a)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        if (setenv("RMSNORM_ISA", isa_name, 1) != 0) {
            _exit(1);
        }
        answer_in_child(ends[1]);
    }
    (void)close(ends[1]);
    size_t done = 0;
    ssize_t got = 1;
    while (done < sizeof(*a) && got > 0) {
        got = read(ends[0], (char *)a + done, sizeof(*a) - done);
        done += got > 0 ? (size_t)got : 0;
    }
    (void)close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(done, sizeof(*a));
}

/* First: afterwards this process has read its own environment. */
static void test_1200_calls_give_the_same_bits_under_every_rmsnorm_isa(void **state)
{
    (void)state;
    static answer first;
    static answer other;
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int i = 0; i < isa_count; i++) {
        answer *const a = i == 0 ? &first : &other;
        ask_child(rmsnorm_isa_name(isas[i]), a);
        assert_int_equal(a->status, RMSNORM_OK);
        assert_int_equal(a->used, isas[i]);
        assert_int_equal(a->failed, 0);
        print_message("  RMSNORM_ISA=%s: %d calls\n", rmsnorm_isa_name(isas[i]), CALLS);
        compare_hashes(first.hashes, a->hashes, rmsnorm_isa_name(isas[i]));
    }
}

/* On every machine: x86-64 and aarch64 compute the same number, from these calls as they are drawn today. After a change of what is
 * drawn the message tells the new one. */
static void test_1200_calls_give_the_same_bits_on_every_machine(void **state)
{
    (void)state;
    static uint64_t hashes[CALLS];
    const uint64_t expected = UINT64_C(0xe22ab7f471ff37dd);
    uint64_t all = 0;
    assert_int_equal(run_calls(RMSNORM_ISA_AUTO, hashes), 0);
    for (int i = 0; i < CALLS; i++) {
        all = rng_mix(all ^ hashes[i]);
    }
    if (all != expected) {
        fail_msg("the hash of all results is 0x%016" PRIx64 ", expected 0x%016" PRIx64, all, expected);
    }
}

static void test_an_unknown_name_in_the_environment_fails_every_run(void **state)
{
    (void)state;
    static answer a;
    ask_child("sse9", &a);
    assert_int_equal(a.status, RMSNORM_INVALID_ARGUMENT);
    assert_non_null(strstr(a.sentence, "sse9"));
    assert_non_null(strstr(a.sentence, "RMSNORM_ISA"));
    assert_non_null(strstr(a.sentence, "scalar"));
}

static void test_1200_calls_give_the_same_bits_under_every_max_isa(void **state)
{
    (void)state;
    static uint64_t first[CALLS];
    static uint64_t other[CALLS];
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int i = 0; i < isa_count; i++) {
        uint64_t *const hashes = i == 0 ? first : other;
        assert_int_equal(run_calls(isas[i], hashes), 0);
        print_message("  max_isa %s: %d calls\n", rmsnorm_isa_name(isas[i]), CALLS);
        compare_hashes(first, hashes, rmsnorm_isa_name(isas[i]));
    }
}

/* ---- Neighbours, addresses, settings ---- */

#define ROWS 7

static const struct {
    rmsnorm_operator_kind kind;
    rmsnorm_dtype t, v;
} kinds[] = {{SIMPLE, F32, F32}, {SIMPLE, F16, F16}, {SIMPLE, BF16, F32}, {SIMPLE, F64, F64},
             {PLAIN, F32, F32},  {PLAIN, F16, F16},  {PLAIN, BF16, BF16}, {PLAIN, F64, F32},
             {SKIP, F32, F32},   {SKIP, F16, F16},   {SKIP, BF16, BF16}};

static const int64_t widths[] = {1, 7, 64, 129, 1000, 4097};

static void fill(rmsnorm_tensor *tensor, rng *r, double spread)
{
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, rng_normal(r) * spread);
    }
}

/* A call of kinds[number / widths] with random operands, all outputs wanted. */
static trial draw_trial(size_t number)
{
    const size_t k = number / COUNT_OF(widths);
    const int64_t width = widths[number % COUNT_OF(widths)];
    const bool skip = kinds[k].kind == SKIP;
    trial t = trial_start(kinds[k].kind);
    rng r = rng_seeded(number);
    fill(trial_in(&t, 0, kinds[k].t, SHAPE(ROWS, width), NULL), &r, 1);
    if (skip) {
        fill(trial_in(&t, 1, kinds[k].t, SHAPE(ROWS, width), NULL), &r, 0.1);
        fill(trial_in(&t, 3, kinds[k].t, SHAPE(width), NULL), &r, 0.1);
        trial_out(&t, 3, kinds[k].t, SHAPE(ROWS, width));
        trial_out(&t, 2, F32, SHAPE(ROWS, 1));
    } else if (kinds[k].kind == SIMPLE) {
        trial_out(&t, 1, F32, SHAPE(ROWS, 1));
    }
    fill(trial_in(&t, skip ? 2 : 1, kinds[k].v, SHAPE(width), NULL), &r, 1);
    trial_out(&t, 0, kinds[k].v, SHAPE(ROWS, width));
    return t;
}

#define TRIALS (COUNT_OF(kinds) * COUNT_OF(widths))

static bool one_per_row(const rmsnorm_tensor *tensor)
{
    return tensor->data != NULL && tensor->rank == 2;
}

/* The same trial with row `row` of every tensor that has rows. */
static void keep_row(trial *t, const trial *all, int64_t row)
{
    for (int i = 0; i < 10; i++) {
        const rmsnorm_tensor *const from = i < 5 ? &all->in[i] : &all->out[i - 5];
        rmsnorm_tensor *const to = i < 5 ? &t->in[i] : &t->out[i - 5];
        *to = *from;
        if (one_per_row(from)) {
            const size_t bytes = tensor_bytes(from) / ROWS;
            to->dims[0] = 1;
            t->owned[i] = malloc(bytes);
            assert_non_null(t->owned[i]);
            memcpy(t->owned[i], (const char *)from->data + (size_t)row * bytes, bytes);
            to->data = t->owned[i];
        }
    }
}

static void test_a_row_alone_has_the_bits_it_has_among_others(void **state)
{
    (void)state;
    for (size_t number = 0; number < TRIALS; number++) {
        trial all = draw_trial(number);
        trial_must_run(&all);
        for (int64_t row = 0; row < ROWS; row++) {
            trial one = {.op = all.op, .attributes = all.attributes, .options = all.options};
            keep_row(&one, &all, row);
            trial_must_run(&one);
            for (int i = 0; i < 5; i++) {
                if (one_per_row(&all.out[i])) {
                    const size_t bytes = tensor_bytes(&one.out[i]);
                    assert_memory_equal(one.out[i].data, (const char *)all.out[i].data + (size_t)row * bytes, bytes);
                }
            }
            trial_end(&one);
        }
        trial_end(&all);
    }
}

/* Every tensor moved to an address `offset` bytes past a multiple of 64. */
static trial displaced(const trial *t, size_t offset)
{
    trial moved = *t;
    for (int i = 0; i < 10; i++) {
        rmsnorm_tensor *const tensor = i < 5 ? &moved.in[i] : &moved.out[i - 5];
        moved.owned[i] = NULL;
        if (tensor->data != NULL) {
            const size_t bytes = tensor_bytes(tensor);
            moved.owned[i] = aligned_alloc(64, (bytes + offset + 63) / 64 * 64 + 64);
            assert_non_null(moved.owned[i]);
            memcpy((char *)moved.owned[i] + offset, tensor->data, bytes);
            tensor->data = (char *)moved.owned[i] + offset;
        }
    }
    return moved;
}

static void expect_same_outputs(const trial *a, const trial *b)
{
    for (int i = 0; i < 5; i++) {
        if (a->out[i].data != NULL) {
            expect_same_bits(&a->out[i], &b->out[i]);
        }
    }
}

static void test_addresses_do_not_matter(void **state)
{
    (void)state;
    for (size_t number = 0; number < TRIALS; number++) {
        trial still = draw_trial(number);
        trial_must_run(&still);
        for (size_t offset = 0; offset < 64; offset += offset < 9 ? 1 : 11) {
            trial moved = displaced(&still, offset);
            trial_must_run(&moved);
            expect_same_outputs(&still, &moved);
            trial_end(&moved);
        }
        trial_end(&still);
    }
}

static void test_in_place_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t number = 0; number < TRIALS; number++) {
        trial apart = draw_trial(number);
        trial_must_run(&apart);
        trial in_place = draw_trial(number);
        if (in_place.in[0].dtype == in_place.out[0].dtype) {
            in_place.out[0].data = in_place.in[0].data;
        }
        if (in_place.out[3].data != NULL) {
            in_place.out[3].data = in_place.in[1].data;
        }
        trial_must_run(&in_place);
        expect_same_outputs(&apart, &in_place);
        trial_end(&in_place);
        trial_end(&apart);
    }
}

/* Engines run with other settings; rows of subnormals would show a flush, all rows another rounding. */
static void test_the_callers_rounding_mode_and_flushing_do_not_matter(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t number = 0; number < TRIALS; number++) {
        trial plain = draw_trial(number);
        plain.attributes.epsilon = 0;
        fill(&plain.in[0], &(rng){number + 1},
             plain.in[0].dtype == F16   ? 1e-6
             : plain.in[0].dtype == F64 ? 1e-310
                                        : 1e-40);
        trial changed = displaced(&plain, 0);
        trial_must_run(&plain);
        for (size_t m = 0; m < COUNT_OF(modes); m++) {
            assert_int_equal(fesetround(modes[m]), 0);
#if defined(__SSE__)
            _mm_setcsr(_mm_getcsr() | 0x8040); /* flush results, take subnormal operands for zero */
#endif
            const rmsnorm_status status = trial_run(&changed);
            const int after = fegetround();
#if defined(__SSE__)
            const unsigned control = _mm_getcsr();
            _mm_setcsr(control & ~0x8040U);
            assert_int_equal(control & 0x8040, 0x8040);
#endif
            (void)fesetround(FE_TONEAREST);
            assert_int_equal(status, RMSNORM_OK);
            assert_int_equal(after, modes[m]);
            expect_same_outputs(&plain, &changed);
        }
        trial_end(&changed);
        trial_end(&plain);
    }
}

static float statistic_of_a_long_row(const rmsnorm_options *options)
{
    enum { LENGTH = 40000 };
    static float input[LENGTH];
    static float output[LENGTH];
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0);
    float gamma = 1;
    float statistic = 0;
    for (int i = 0; i < LENGTH; i++) {
        input[i] = (float)(i % 97) * 0.37f;
    }
    const rmsnorm_tensor x = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1, LENGTH}, .data = input};
    const rmsnorm_tensor scale = {.dtype = RMSNORM_FLOAT, .data = &gamma};
    rmsnorm_tensor y = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1, LENGTH}, .data = output};
    rmsnorm_tensor inv_std_var = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {1, 1}, .data = &statistic};
    const rmsnorm_tensor *const inputs[] = {&x, &scale};
    rmsnorm_tensor *const outputs[] = {&y, &inv_std_var};
    (void)fesetround(FE_UPWARD);
    const rmsnorm_status status = rmsnorm_run(op, NULL, inputs, 2, outputs, 2, options);
    (void)fesetround(FE_TONEAREST);
    assert_int_equal(status, RMSNORM_OK);
    return statistic;
}

static void test_the_statistic_of_a_shared_row_does_not_depend_on_the_callers_rounding_mode(void **state)
{
    (void)state;
    rmsnorm_pool *pool;
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    const float alone = statistic_of_a_long_row(&options);
    assert_int_equal(rmsnorm_pool_create(2, &pool), RMSNORM_OK);
    options.runner = rmsnorm_pool_runner(pool);
    const float shared = statistic_of_a_long_row(&options);
    rmsnorm_pool_destroy(pool);
    assert_memory_equal(&alone, &shared, sizeof alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1200_calls_give_the_same_bits_under_every_rmsnorm_isa),
        cmocka_unit_test(test_an_unknown_name_in_the_environment_fails_every_run),
        cmocka_unit_test(test_1200_calls_give_the_same_bits_under_every_max_isa),
        cmocka_unit_test(test_1200_calls_give_the_same_bits_on_every_machine),
        cmocka_unit_test(test_a_row_alone_has_the_bits_it_has_among_others),
        cmocka_unit_test(test_addresses_do_not_matter),
        cmocka_unit_test(test_in_place_gives_the_same_bits),
        cmocka_unit_test(test_the_callers_rounding_mode_and_flushing_do_not_matter),
        cmocka_unit_test(test_the_statistic_of_a_shared_row_does_not_depend_on_the_callers_rounding_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
