/* The shapes that are refused, each in inference and, when it is numeric, in a run; and that symbolic inference is complete. */
#include <stdlib.h>

#include "call_text.h"

typedef struct refused {
    const char *op, *attributes, *inputs, *word, *other_word;
} refused;

static void check(const refused *cases, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        rmsnorm_problem problem;
        assert_refused(call_infer(cases[i].op, cases[i].attributes, cases[i].inputs), RMSNORM_INVALID_ARGUMENT,
                       cases[i].op, cases[i].word, cases[i].other_word);
        const char *const text = call_resolve(cases[i].op, cases[i].attributes, cases[i].inputs, "float:2,3", &problem);
        assert_refused(text, RMSNORM_INVALID_ARGUMENT, cases[i].op, "", "allowed");
        if (strpbrk(cases[i].inputs, "BSHNK*_") == NULL) {
            assert_refused(text, RMSNORM_INVALID_ARGUMENT, cases[i].op, cases[i].word, cases[i].other_word);
        }
    }
}

static void shapes_that_do_not_broadcast_are_refused(void **state)
{
    (void)state;
    static const refused cases[] = {
        {RMS, NULL, "float:2,3 | float:2", "scale has the shape (2), X (2,3)", "allowed"},
        {RMS, NULL, "float:2,3 | float:3,1", "scale has the shape (3,1)", "right-aligned"},
        {RMS, NULL, "float:2,3 | float:1,2,3", "scale has the shape (1,2,3)", "at most as many dims as X"},
        {RMS, NULL, "float:2,3 | float:1,1,1", "scale has the shape (1,1,1)", "at most as many dims"},
        {RMS, NULL, "float:1,3 | float:2,3", "scale has the shape (2,3), X (1,3)", "each 1 or equal"},
        {RMS, NULL, "float:2,3 | float:0", "scale has the shape (0)", "each 1 or equal"},
        {RMS, NULL, "float:0,3 | float:2,3", "scale has the shape (2,3)", "each 1 or equal"},
        {SIMPLIFIED, NULL, "float:B,3 | float:B,4", "scale has the shape (B,4), X (B,3)", "each 1 or equal"},
        {SIMPLIFIED, NULL, "float:B,H | float:N,B,H", "scale has the shape (N,B,H)", "at most as many dims"},
        {SIMPLIFIED, NULL, "float:N,N | float:3,4", "'N' of X would be both 3 and 4", "one number for a name"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

static void rows_without_elements_are_refused(void **state)
{
    (void)state;
    static const refused cases[] = {
        {RMS, NULL, "float: | float:", "X has rank 0", "allowed: 1 to 16"},
        {RMS, NULL, "float: | _", "X ", ""},
        {RMS, NULL, "float:2,0 | float:", "X has the shape (2,0)", "no elements"},
        {RMS, NULL, "float:2,0 | float:0", "X has the shape (2,0)", "no elements"},
        {RMS, "axis=0", "float:0,3 | float:3", "X has the shape (0,3)", "from axis 0"},
        {RMS, "axis=1", "float:0,0,3 | float:3", "X has the shape (0,0,3)", "from axis 1"},
        {SIMPLIFIED, NULL, "float:B,H | float:0", "X has the shape (B,H) and scale (0)", "no elements"},
        {SKIP, NULL, "float:2,0 | float:2,0 | float:0", "H, the last dim of all inputs, is 0",
         "allowed: 1 to 2147483647"},
        {SKIP, NULL, "float:B,H | float:B,H | float:0", "H, the last dim of all inputs, is 0",
         "allowed: 1 to 2147483647"},
        {SKIP, NULL, "float:1,2147483648 | float:1,2147483648 | float:2147483648", "is 2147483648",
         "allowed: 1 to 2147483647"},
        {SKIP, NULL, "float:* | float:* | float:2147483648", "is 2147483648", "allowed: 1 to 2147483647"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* F89 */
static void axis_outside_the_rank_is_refused(void **state)
{
    (void)state;
    static const refused cases[] = {
        {RMS, "axis=2", "float:2,3 | float:3", "axis is 2 for X of shape (2,3)", "allowed: -2 to 1"},
        {RMS, "axis=-3", "float:2,3 | float:3", "axis is -3", "allowed: -2 to 1"},
        {SIMPLIFIED, "axis=1", "float:3 | float:3", "axis is 1", "allowed: -1 to 0"},
        {SIMPLIFIED, "axis=2", "float:B,H | float:*", "axis is 2 for X of shape (B,H)", "allowed: -2 to 1"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* F23 and contract 2 */
static void skip_shapes_outside_the_three_are_refused(void **state)
{
    (void)state;
    static const refused cases[] = {
        {SKIP, NULL, "float:2,3 | float:1,3 | float:3", "skip has the shape (1,3), input (2,3)",
         "allowed: the shape of input"},
        {SKIP, NULL, "float:2,3 | float:1,2,3 | float:3", "skip has the shape (1,2,3)", "allowed: the shape of input"},
        {SKIP, NULL, "float:2,3 | float:3 | float:3", "skip has the shape (3)", "allowed: the shape of input"},
        {SKIP, NULL, "float:1,2,2 | float:1,3,2 | float:2", "skip has the shape (1,3,2)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:2,2,3 | float:3", "skip has the shape (2,2,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:1,2,3 | float:2,2,3 | float:3", "skip has the shape (2,2,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:1,3 | float:3", "skip has the shape (1,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:4,1,3 | float:3", "skip has the shape (4,1,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:2,1 | float:3", "skip has the shape (2,1)", "H would be both 3 and 1"},
        {SKIP, NULL, "float:4,2,3 | float:3 | float:3", "skip has the shape (3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:1,4,2,3 | float:3", "skip has the shape (1,4,2,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float:0,2,3 | float:3", "skip has the shape (0,2,3)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:4,2,3 | float: | float:3", "skip has the shape ()", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:B,2,H | float:B,3,H | float:H", "skip has the shape (B,3,H)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:* | float:1,2,3,4 | float:4", "skip has the shape (1,2,3,4)", "(S,H) or (1,S,H)"},
        {SKIP, NULL, "float:N,N,3 | float:4,5,3 | float:3", "'N' of input would be both 4 and 5", "one number"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* F23 */
static void input_gamma_and_bias_of_other_shapes_are_refused(void **state)
{
    (void)state;
    static const refused cases[] = {
        {SKIP, NULL, "float:3 | float:3 | float:3", "input has the shape (3)", "(S,H) or (B,S,H)"},
        {SKIP, NULL, "float:1,1,2,3 | float:1,1,2,3 | float:3", "input has the shape (1,1,2,3)", "(S,H) or (B,S,H)"},
        {SKIP, NULL, "float: | float: | float:3", "input has the shape ()", "(S,H) or (B,S,H)"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:2", "gamma has the shape (2), input (2,3)", "both 3 and 2"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:1", "gamma has the shape (1)", "both 3 and 1"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:1,3", "gamma has the shape (1,3)", "allowed: (H)"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:", "gamma has the shape ()", "allowed: (H)"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:3 | float:4", "bias has the shape (4)", "both 3 and 4"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:3 | float:1", "bias has the shape (1)", "both 3 and 1"},
        {SKIP, NULL, "float:2,3 | float:2,3 | float:3 | float:1,3", "bias has the shape (1,3)", "allowed: (H)"},
        {SKIP, NULL, "float:S,H | float:S,H | float:3 | float:4", "bias has the shape (4)", "both 3 and 4"},
        {SKIP, NULL, "float:* | float:* | float:3 | float:4", "bias has the shape (4), gamma (3)", "both 3 and 4"},
        {SKIP, NULL, "float:* | float:S,5 | float:3", "gamma has the shape (3), skip (S,5)", "both 5 and 3"},
    };
    check(cases, sizeof cases / sizeof cases[0]);
}

/* ---- Symbolic inference against numeric inference -------------------------------------------- */

static uint32_t random_state;

static int random_below(int limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)limit);
}

/* Shapes that fit each other more often than not. */
static void random_call(bool skip, call_side *inputs)
{
    memset(inputs, 0, sizeof *inputs);
    inputs->count = skip ? 4 : 2;
    const int32_t rank = (int32_t)(skip ? 2 + random_below(2) : 1 + random_below(4));
    for (size_t i = 0; i < inputs->count; ++i) {
        rmsnorm_tensor *const tensor = &inputs->tensors[i];
        inputs->slots[i] = i == 3 && random_below(2) != 0 ? NULL : tensor;
        tensor->dtype = RMSNORM_FLOAT;
        tensor->rank = i == 0 ? rank : skip && i > 1 ? 1 : skip ? 2 + random_below(2) : random_below(rank + 1);
        for (int32_t d = 0; d < tensor->rank; ++d) {
            const int32_t of_x = d + rank - tensor->rank;
            const int64_t like = i > 0 && of_x >= 0 ? inputs->tensors[0].dims[of_x] : random_below(4);
            const int chance = random_below(12);
            tensor->dims[d] = chance < 2 ? 1 : chance == 2 ? random_below(4) : like;
        }
    }
}

/* Hides some numbers: behind a name that stands for that number everywhere, or behind none. */
static void hide_numbers(call_side *inputs)
{
    static const char *const names[] = {"zero", "one", "two", "three"};
    for (size_t i = 0; i < inputs->count; ++i) {
        rmsnorm_tensor *const tensor = &inputs->tensors[i];
        for (int32_t d = 0; d < tensor->rank; ++d) {
            const int how = random_below(4);
            tensor->dim_names[d] = how == 0 ? names[tensor->dims[d]] : NULL;
            tensor->dims[d] = how < 2 ? RMSNORM_UNKNOWN : tensor->dims[d];
        }
    }
}

static bool holds(const rmsnorm_constraint *c, const call_side *numbers)
{
    const int64_t left = numbers->tensors[c->left.input].dims[c->left.dim];
    const int64_t right = numbers->tensors[c->right.input].dims[c->right.dim];
    switch (c->kind) {
    case RMSNORM_DIM_EQUAL:
        return left == right;
    case RMSNORM_DIM_ONE_OR_EQUAL:
        return left == 1 || left == right;
    case RMSNORM_DIM_RANGE:
        return c->minimum <= left && left <= c->maximum;
    }
    return false;
}

/* Whatever is hidden, symbolic inference refuses nothing legal, tells no wrong number, and a call that it and its constraints
 * pass is legal. */
static void constraints_say_exactly_what_is_legal(void **state)
{
    (void)state;
    random_state = 20240607;
    int legal_count = 0;
    for (int trial = 0; trial < 100000; ++trial) {
        const bool skip = random_below(2) != 0;
        const rmsnorm_operator *const op = rmsnorm_operator_parse(skip ? SKIP : SIMPLIFIED);
        call_side numbers;
        call_side symbols;
        rmsnorm_tensor exact = {0};
        rmsnorm_tensor told = {0};
        rmsnorm_tensor *exact_output = &exact;
        rmsnorm_tensor *told_output = &told;
        rmsnorm_attributes attributes;
        rmsnorm_attributes_init(op, &attributes);
        random_call(skip, &numbers);
        memcpy(&symbols, &numbers, sizeof numbers);
        for (size_t i = 0; i < numbers.count; ++i) {
            symbols.slots[i] = numbers.slots[i] == NULL ? NULL : &symbols.tensors[i];
        }
        hide_numbers(&symbols);
        attributes.axis = -1 - random_below(numbers.tensors[0].rank);
        rmsnorm_constraints constraints;
        const bool legal = rmsnorm_infer(op, &attributes, (const rmsnorm_tensor *const *)numbers.slots, numbers.count,
                                         &exact_output, 1, NULL) == RMSNORM_OK;
        bool passed = rmsnorm_infer(op, &attributes, (const rmsnorm_tensor *const *)symbols.slots, symbols.count,
                                    &told_output, 1, &constraints) == RMSNORM_OK;
        for (size_t i = 0; passed && i < constraints.count; ++i) {
            passed = holds(&constraints.items[i], &numbers);
        }
        if (legal != passed) {
            fail_msg("trial %d: legal %d, passed %d: %s", trial, legal, passed, rmsnorm_last_error());
        }
        for (int32_t d = 0; legal && d < exact.rank; ++d) {
            assert_true(told.dims[d] == RMSNORM_UNKNOWN || told.dims[d] == exact.dims[d]);
        }
        legal_count += legal;
    }
    assert_true(legal_count > 20000 && legal_count < 80000);
}

/* F59: nothing that a descriptor may hold makes inference or a run's checks misbehave (the sanitizers look on). */
static void random_descriptors_do_no_harm(void **state)
{
    (void)state;
    static const int64_t dims[] = {
        -1, 0, 1, 2, 3, 7, -2, INT64_MIN, INT64_MAX, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 62};
    static const int ranks[] = {0, 1, 2, 3, 3, 2, 4, 16, 17, -1, -2, INT32_MAX, INT32_MIN};
    static const int types[] = {0, 1, 1, 1, 1, 10, 11, 16, 7, 31, 32, -1, INT32_MAX};
    random_state = 7;
    for (int trial = 0; trial < 100000; ++trial) {
        const rmsnorm_operator *const op = rmsnorm_operator_at((size_t)random_below(3));
        rmsnorm_tensor tensors[8];
        rmsnorm_tensor *slots[8];
        rmsnorm_attributes attributes;
        rmsnorm_attributes_init(op, &attributes);
        attributes.axis = random_below(8) == 0 ? dims[random_below(12)] : -1;
        for (size_t i = 0; i < 8; ++i) {
            memset(&tensors[i], 0, sizeof tensors[i]);
            slots[i] = random_below(8) == 0 ? NULL : &tensors[i];
            tensors[i].dtype = (rmsnorm_dtype)types[random_below(13)];
            tensors[i].rank = ranks[random_below(13)];
            tensors[i].row_stride = random_below(3) == 0 ? dims[random_below(12)] : 0;
            tensors[i].data = call_pointer(random_below(4) == 0 ? UINTPTR_MAX - (uintptr_t)random_below(64)
                                                                : (uintptr_t)0x1000 * (i + 1));
            for (int d = 0; d < RMSNORM_MAX_RANK; ++d) {
                tensors[i].dims[d] = dims[random_below(random_below(4) == 0 ? 12 : 5)];
                tensors[i].dim_names[d] = random_below(2) == 0 ? "N" : NULL;
            }
        }
        rmsnorm_problem problem;
        rmsnorm_constraints constraints;
        const rmsnorm_tensor *const *const inputs = (const rmsnorm_tensor *const *)slots;
        const size_t n = (size_t)random_below(5);
        const size_t m = (size_t)random_below(5);
        (void)rmsnorm_resolve(op, &attributes, inputs, n, slots + 4, m, &problem);
        (void)rmsnorm_infer(op, &attributes, inputs, n, slots + 4, m, &constraints);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_do_not_broadcast_are_refused),
        cmocka_unit_test(rows_without_elements_are_refused),
        cmocka_unit_test(axis_outside_the_rank_is_refused),
        cmocka_unit_test(skip_shapes_outside_the_three_are_refused),
        cmocka_unit_test(input_gamma_and_bias_of_other_shapes_are_refused),
        cmocka_unit_test(constraints_say_exactly_what_is_legal),
        cmocka_unit_test(random_descriptors_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
