/* Which instruction set of a list is chosen, whatever this machine runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/choose.h"

static const rmsnorm_compiled list[] = {{RMSNORM_ISA_AVX512, NULL, NULL},
                                        {RMSNORM_ISA_AVX2, NULL, NULL},
                                        {RMSNORM_ISA_NEON, NULL, NULL},
                                        {RMSNORM_ISA_SCALAR, NULL, NULL}};

static void the_best_that_runs_below_both_limits(void **state)
{
    (void)state;
    enum { AVX512 = 1, AVX2 = 2, NEON = 4, SCALAR = 8 };
    static const struct {
        unsigned running;
        rmsnorm_isa max_isa, limit, chosen;
    } cases[] = {
        {AVX512 | AVX2 | NEON | SCALAR, RMSNORM_ISA_AUTO, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX512},
        {AVX2 | SCALAR, RMSNORM_ISA_AUTO, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX2},
        {AVX2 | SCALAR, RMSNORM_ISA_AVX512, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX2},
        {AVX512 | AVX2 | SCALAR, RMSNORM_ISA_AVX2, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX2},
        {AVX512 | AVX2 | SCALAR, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX2, RMSNORM_ISA_AVX2},
        {AVX512 | AVX2 | NEON | SCALAR, RMSNORM_ISA_AVX2, RMSNORM_ISA_NEON, RMSNORM_ISA_NEON},
        {AVX512 | AVX2 | NEON | SCALAR, RMSNORM_ISA_NEON, RMSNORM_ISA_AVX2, RMSNORM_ISA_NEON},
        /* One that does not run lies below one that does. */
        {AVX512 | SCALAR, RMSNORM_ISA_AVX2, RMSNORM_ISA_AUTO, RMSNORM_ISA_SCALAR},
        {AVX512 | NEON | SCALAR, RMSNORM_ISA_AUTO, RMSNORM_ISA_AVX2, RMSNORM_ISA_NEON},
        {AVX512 | AVX2 | SCALAR, RMSNORM_ISA_NEON, RMSNORM_ISA_AUTO, RMSNORM_ISA_SCALAR},
        {SCALAR, RMSNORM_ISA_AUTO, RMSNORM_ISA_AUTO, RMSNORM_ISA_SCALAR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int index = rmsnorm_isa_select(list, cases[i].running, cases[i].max_isa, cases[i].limit);
        assert_int_equal(list[index].isa, cases[i].chosen);
    }
}

static void nowhere_to_write_is_refused(void **state)
{
    (void)state;
    assert_int_equal(rmsnorm_isa_from_name("scalar", NULL), RMSNORM_INVALID_ARGUMENT);
    assert_string_equal(rmsnorm_last_error(), "rmsnorm_isa_from_name: isa is NULL");
    assert_int_equal(rmsnorm_isa_in_use(RMSNORM_ISA_AUTO, NULL), RMSNORM_INVALID_ARGUMENT);
    assert_string_equal(rmsnorm_last_error(), "rmsnorm_isa_in_use: isa is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_that_runs_below_both_limits),
                                       cmocka_unit_test(nowhere_to_write_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
