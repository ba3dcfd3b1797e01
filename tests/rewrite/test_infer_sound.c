/* What is inferred from little must be true of what is inferred from everything: random graphs over tensors whose dims are numbers,
 * against the same graphs when dims are names, unknown, or missing from the left. */
#include "build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { GIVEN = 5, NODES = 6, TRIALS = 3000 };

static uint64_t seed;

static size_t pick(size_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % count;
}

static const char *const ops[] = {
    "Neg",
    "Add",
    "Mul",
    "Equal",
    "MatMul",
    "com.microsoft::FusedMatMul transB=1",
    "ReduceMean axes=[-1]",
    "ReduceMean axes=[0] keepdims=0",
    "ReduceSum keepdims=0",
    "ReduceMax axes=[-2,-1] keepdims=0",
    "ArgMax axis=-2",
    "Transpose",
    "Transpose perm=[0,2,1]",
    "Transpose perm=[1,0]",
    "Flatten axis=2",
    "Reshape",
    "Expand",
    "Tile",
    "Unsqueeze axes=[0]",
    "Unsqueeze axes=[-1,1]",
    "Unsqueeze axes=[-2]",
    "Squeeze axes=[0]",
    "Squeeze axes=[-1]",
    "Squeeze",
    "Concat axis=0",
    "Concat axis=-1",
    "Split axis=-1",
    "Split axis=0",
    "Slice starts=[0] ends=[2147483647] axes=[-1]",
    "Slice starts=[1] ends=[3] axes=[0]",
    "Slice starts=[-1] ends=[-9] axes=[-2] steps=[-1]",
    "Gather",
    "Gather axis=-1",
    "Gather axis=-2",
    "GatherElements",
    "Shape",
    "Shape start=1",
    "Shape start=-1",
    "Size",
    "ConstantOfShape value=int64:[1]",
    "Range",
    "NonZero",
    "LayerNormalization axis=-1",
    "Where",
    "RMSNormalization",
    "RMSNormalization axis=-2",
    "Cast to=7",
    "Attention",
    "Sub",
    "Div",
};

/* Small integers too: for Reshape, Gather and the like. */
static const char *const constants[][2] = {{"2", "0,1"},  {"3", "2,-1,3"}, {"", "0"},     {"1", "1"},
                                           {"2", "0,-1"}, {"1", "-1"},     {"3", "1,2,1"}};
enum { CONSTANTS = sizeof constants / sizeof constants[0] };

typedef struct line {
    const char *op;
    char inputs[32];
} line;

typedef struct plan {
    char dims[GIVEN][32];
    line lines[NODES];
    size_t count;
} plan;

static const char *value_name(size_t index, char name[8])
{
    snprintf(name, 8,
             index < GIVEN               ? "g%zu"
             : index < GIVEN + CONSTANTS ? "k%zu"
                                         : "v%zu",
             index < GIVEN               ? index
             : index < GIVEN + CONSTANTS ? index - GIVEN
                                         : index - GIVEN - CONSTANTS);
    return name;
}

/* Less of the dims: "d3" for 3, "?", "..." for some from the left. */
static const char *blur(const char *dims, char text[64])
{
    size_t length = 0;
    bool open = false;
    text[0] = '\0';
    while (*dims != '\0' && pick(5) == 0) { /* from the left */
        open = true;
        dims += strcspn(dims, ",");
        dims += *dims == ',';
    }
    if (open || pick(12) == 0) {
        length = (size_t)snprintf(text, 64, "%s", *dims != '\0' ? "...," : "*");
    }
    while (*dims != '\0') {
        const size_t digits = strcspn(dims, ",");
        const size_t kind = pick(4);
        const char *const prefix = kind == 0 ? "?" : kind == 1 ? "d" : "";
        length += (size_t)snprintf(text + length, 64 - length, "%s%.*s%s", prefix, kind == 0 ? 0 : (int)digits, dims,
                                   dims[digits] == ',' ? "," : "");
        dims += digits + (dims[digits] == ',');
    }
    return text;
}

static build *make(const plan *p, bool blurred)
{
    build *const b = build_begin(23);
    char name[8];
    char text[64];
    for (size_t i = 0; i < GIVEN; i++) {
        (void)build_value(b, value_name(i, name), blurred && pick(4) == 0 ? RMSNORM_UNDEFINED : RMSNORM_FLOAT,
                          blurred ? blur(p->dims[i], text) : p->dims[i]);
    }
    for (size_t i = 0; i < CONSTANTS; i++) {
        (void)build_constant(b, value_name(GIVEN + i, name), RMSNORM_INT64, constants[i][0], constants[i][1]);
    }
    for (size_t i = 0; i < p->count; i++) {
        (void)build_node(b, p->lines[i].op, p->lines[i].inputs, value_name(GIVEN + CONSTANTS + i, name));
    }
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    return b;
}

static size_t fault_count(const build *b)
{
    size_t count;
    (void)rmsnorm_ir_faults(b->ir, &count);
    return count;
}

static void describe(const plan *p)
{
    for (size_t i = 0; i < GIVEN; i++) {
        print_message("g%zu: %s\n", i, p->dims[i]);
    }
    for (size_t i = 0; i < p->count; i++) {
        print_message("v%zu = %s(%s)\n", i, p->lines[i].op, p->lines[i].inputs);
    }
}

/* Whether `full` is one of those that `part` may be. */
static bool may_be(const rmsnorm_ir_value *part, const rmsnorm_ir_value *full)
{
    const rmsnorm_tensor *const a = &part->type, *const b = &full->type;
    if (full->open || (a->dtype != RMSNORM_UNDEFINED && b->dtype != RMSNORM_UNDEFINED && a->dtype != b->dtype)) {
        return full->open;
    }
    if (part->open ? a->rank > b->rank : a->rank != b->rank) {
        return false;
    }
    for (int32_t d = 0; d < a->rank; d++) {
        const int64_t truth = b->dims[b->rank - a->rank + d];
        const int64_t said = a->dims[d] != RMSNORM_UNKNOWN ? a->dims[d]
                             : a->dim_names[d] != NULL     ? strtoll(a->dim_names[d] + 1, NULL, 10)
                                                           : RMSNORM_UNKNOWN;
        if (truth != RMSNORM_UNKNOWN && said != RMSNORM_UNKNOWN && said != truth) {
            return false;
        }
    }
    return true;
}

static void draw(plan *p)
{
    char name[8];
    for (size_t i = 0; i < GIVEN; i++) {
        const size_t rank = pick(4);
        size_t length = 0;
        p->dims[i][0] = '\0';
        for (size_t d = 0; d < rank; d++) {
            static const int sizes[] = {1, 2, 2, 3, 4};
            length += (size_t)snprintf(p->dims[i] + length, sizeof p->dims[i] - length, "%s%d", d > 0 ? "," : "",
                                       sizes[pick(5)]);
        }
    }
    p->count = 0;
    for (size_t tries = 0; tries < 40 && p->count < NODES; tries++) {
        line *const next = &p->lines[p->count];
        next->op = ops[pick(sizeof ops / sizeof ops[0])];
        const size_t inputs = strncmp(next->op, "Concat", 6) == 0 ? 2 : 1 + pick(3);
        size_t length = 0;
        for (size_t i = 0; i < inputs; i++) {
            const size_t value = pick(GIVEN + CONSTANTS + p->count);
            length += (size_t)snprintf(next->inputs + length, sizeof next->inputs - length, "%s%s", i > 0 ? "," : "",
                                       value_name(value, name));
        }
        p->count++;
        build *const b = make(p, false);
        p->count -= fault_count(b) > 0;
        build_end(b);
    }
}

static void less_knowledge_contradicts_nothing(void **state)
{
    (void)state;
    plan p;
    size_t compared = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        seed = trial;
        draw(&p);
        build *const full = make(&p, false);
        for (size_t round = 0; round < 4; round++) {
            build *const part = make(&p, true);
            if (fault_count(part) > 0) {
                describe(&p);
                size_t count;
                fail_msg("trial %zu: %s", trial, rmsnorm_ir_faults(part->ir, &count)[0].sentence);
            }
            for (size_t v = 0; v < part->ir->value_count; v++) {
                const rmsnorm_ir_value *const value = &part->ir->values[v].shown;
                if (!may_be(value, &full->ir->values[v].shown)) {
                    describe(&p);
                    for (size_t i = 0; i < GIVEN; i++) {
                        char name[8];
                        print_message("%s\n", build_type(part, value_name(i, name)));
                    }
                    fail_msg("trial %zu: %s is %s, which %s is not", trial, value->name, build_type(full, value->name),
                             build_type(part, value->name));
                }
                compared += value->maker != RMSNORM_NO_INDEX && value->type.rank > 0;
            }
            build_end(part);
        }
        build_end(full);
    }
    assert_true(compared > TRIALS); /* there was something to compare */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(less_knowledge_contradicts_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
