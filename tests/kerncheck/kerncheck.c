/* kerncheck: every kernel behind the public calls, on every instruction set that runs here, against an oracle.
 *
 * Each case is drawn from the seed, its operator and types, its family and its number, so that one case can be run
 * again alone. The first instruction set in the list (scalar, unless --isa says otherwise) is judged by the oracle; the
 * others must give its bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

#define DEFAULT_SEED 20230

typedef struct arguments {
    uint64_t seed, case_seed; /* case_seed 0: each from seed and its name */
    rmsnorm_isa isa;          /* RMSNORM_ISA_AUTO: all */
    const char *filter;
    bool quick, deep, bench, list;
} arguments;

static const char usage[] =
    "usage: kerncheck [--seed N|random] [--case N] [--isa NAME] [--filter TEXT] [--quick|--long] [--bench] [--list]\n"
    "  --seed N       draw other cases; 'random' picks a seed and prints it\n"
    "  --case N       the case of this seed, of those that --filter leaves: as a failure says\n"
    "  --isa NAME     one instruction set only\n"
    "  --filter TEXT  only cases whose name (see --list) contains the text\n"
    "  --quick        every seventh case: for emulators and sanitizers\n"
    "  --long         many more cases, rows of up to 2^24 elements\n"
    "  --bench        time the calls instead of checking them\n"
    "  --list         print the names of the cases instead of running them\n";

static _Noreturn void refuse(const char *what, const char *given)
{
    (void)fprintf(stderr, "kerncheck: %s%s\n%s", what, given, usage);
    exit(2);
}

static uint64_t parse_seed(const char *text)
{
    if (strcmp(text, "random") == 0) {
        return rng_mix((uint64_t)time(NULL) * 1000003 + (uint64_t)clock()) >> 32;
    }
    char *end = NULL;
    const uint64_t seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0') {
        refuse("--seed takes a number or 'random', not ", text);
    }
    return seed;
}

static arguments parse(int count, char **words)
{
    arguments a = {.seed = DEFAULT_SEED, .filter = ""};
    for (int i = 1; i < count; i++) {
        const char *const word = words[i];
        const char *const value = i + 1 < count ? words[i + 1] : NULL;
        const bool takes = strcmp(word, "--seed") == 0 || strcmp(word, "--case") == 0 || strcmp(word, "--isa") == 0 ||
                           strcmp(word, "--filter") == 0;
        if (takes && value == NULL) {
            refuse("a value is missing after ", word);
        }
        if (strcmp(word, "--seed") == 0) {
            a.seed = parse_seed(value);
        } else if (strcmp(word, "--case") == 0) {
            a.case_seed = parse_seed(value);
        } else if (strcmp(word, "--isa") == 0) {
            if (rmsnorm_isa_from_name(value, &a.isa) != RMSNORM_OK) {
                refuse(rmsnorm_last_error(), "");
            }
        } else if (strcmp(word, "--filter") == 0) {
            a.filter = value;
        } else if (strcmp(word, "--quick") == 0) {
            a.quick = true;
        } else if (strcmp(word, "--long") == 0) {
            a.deep = true;
        } else if (strcmp(word, "--bench") == 0) {
            a.bench = true;
        } else if (strcmp(word, "--list") == 0) {
            a.list = true;
        } else if (strcmp(word, "--help") == 0) {
            (void)fputs(usage, stdout);
            exit(0);
        } else {
            refuse("there is no option ", word);
        }
        i += takes ? 1 : 0;
    }
    return a;
}

/* Those that a call limited to them really uses here: RMSNORM_ISA in the environment may keep some away. */
static void list_isas(checker *k, rmsnorm_isa only)
{
    for (int isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; isa++) {
        rmsnorm_isa used = RMSNORM_ISA_AUTO;
        if ((only != RMSNORM_ISA_AUTO && only != (rmsnorm_isa)isa) || !rmsnorm_isa_runnable((rmsnorm_isa)isa)) {
            continue;
        }
        if (rmsnorm_isa_in_use((rmsnorm_isa)isa, &used) != RMSNORM_OK) {
            refuse(rmsnorm_last_error(), "");
        }
        if (used == (rmsnorm_isa)isa) {
            k->isas[k->isa_count++] = used;
        }
    }
    if (k->isa_count == 0) {
        refuse("this machine cannot run ", rmsnorm_isa_name(only));
    }
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text != '\0'; text++) {
        hash = rng_mix(hash ^ (uint64_t)(unsigned char)*text);
    }
    return hash;
}

/* The rules that hold for many elements together, and the line of the report. */
static void finish_combination(checker *k, const combination *types)
{
    const oracle_call call = {.kind = types->kind, .t = types->t, .v = types->v, .stash = types->stash};
    for (int i = 0; i < k->isa_count; i++) {
        const tally *const t = &k->tallies[i];
        if (t->calls == 0) {
            continue;
        }
        const double judged = t->judged > 0 ? (double)t->judged : 1;
        const double mean = tally_mean(t);
        const double share = (double)t->misrounded / judged;
        (void)printf(
            "%-8s %-50s %5" PRIu64 " calls %9" PRIu64 " elements  max %6.3f ulp  mean %.3f ulp  misrounded %.4f %%\n",
            rmsnorm_isa_name(k->isas[i]), types->name, t->calls, t->elements, t->largest_ulps, mean, 100 * share);
        const bool rounds = oracle_rounds(&call);
        if (t->judged >= 10000 && rounds && share > 0.001) {
            k->failed++;
            (void)printf("FAILED: more than 1 of 1000 elements is not correctly rounded\n");
        } else if (tally_suffices(t) && !rounds && types->v == RMSNORM_FLOAT && mean > 0.5) {
            k->failed++;
            (void)printf("FAILED: the mean error is above 0.5 ulp\n");
        } else {
            k->passed++;
        }
        k->tallies[i] = (tally){0};
    }
    (void)fflush(stdout);
}

static void check_combination(checker *k, const combination *types, const arguments *a)
{
    for (size_t f = 0; f < family_count; f++) {
        const int count = a->deep ? families[f].long_count : families[f].count;
        const int step = a->quick ? 7 : 1;
        /* Which seventh differs from one combination to the next, so that together they still see every kind of case. */
        for (int i = a->quick ? (int)(hash_text(types->name) % 7) : 0; i < count; i += step) {
            char name[160];
            (void)snprintf(name, sizeof(name), "%s, %s %d;", types->name, families[f].name, i);
            if (strstr(name, a->filter) == NULL) {
                continue;
            }
            if (a->list) {
                (void)printf("%s\n", name);
                continue;
            }
            const uint64_t own = rng_mix(a->seed + (uint64_t)i) ^ hash_text(name);
            check_case c = case_draw(types, &families[f], i, a->case_seed != 0 ? a->case_seed : own);
            check_case_everywhere(k, &c);
        }
    }
    if (!a->list) {
        finish_combination(k, types);
    }
}

int main(int argument_count, char **words)
{
    const arguments a = parse(argument_count, words);
    checker k = {0};
    list_isas(&k, a.isa);
    if (a.bench) {
        return bench_run(&k, a.filter, a.deep);
    }
    if (!a.list) {
        (void)printf("kerncheck: seed %" PRIu64 ", instruction sets", a.seed);
        for (int i = 0; i < k.isa_count; i++) {
            (void)printf(" %s", rmsnorm_isa_name(k.isas[i]));
        }
        (void)printf("\n");
    }
    static combination list[MAX_COMBINATIONS];
    const int count = combinations_list(list);
    for (int i = 0; i < count; i++) {
        check_combination(&k, &list[i], &a);
    }
    if (a.list) {
        return 0;
    }
    if (*a.filter == '\0') {
        check_refusals(&k);
    }
    checker_release(&k);
    (void)printf("%" PRIu64 " passed, %" PRIu64 " failed\n", k.passed, k.failed);
    return k.failed == 0 && k.passed > 0 ? 0 : 1;
}
