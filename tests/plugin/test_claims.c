/* What the provider claims is what runs in it, and nothing else changes: random models, with the plug-in and without. A claimed norm has
 * the bits of rmsnorm_run, or that call refuses its tensors too; a model of which nothing is claimed loads, runs and fails as without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rig.h"

enum { MODELS = 2000 / ONE_IN, MOST_VALUES = 40, MOST_STEPS = 12, SLOTS = 4 };
enum { NONE = -1 };

typedef enum place { GIVEN, INITIALIZER, CONSTANT, RESULT } place;

/* A value of a model. */
typedef struct value {
    char name[8];
    place place;
    char dims[96]; /* as declared; "-": no shape */
    bool exposed;  /* a result of the graph */
    bool known;    /* whether the tensor has its numbers */
    rmsnorm_tensor tensor;
} value;

/* A node: an addition, or a norm. */
typedef struct step {
    const rmsnorm_operator *op; /* NULL: an addition */
    const char *domain;
    char name[8];
    int inputs[SLOTS], outputs[SLOTS]; /* values, or NONE */
    size_t input_count, output_count;
    char attributes[4][32]; /* "axis=-1" */
    size_t attribute_count;
} step;

typedef struct random_model {
    unsigned number;
    uint32_t state;
    rig_mode mode;
    int64_t opset;
    value values[MOST_VALUES];
    size_t value_count;
    step steps[MOST_STEPS];
    size_t step_count;
    char option[160];
} random_model;

/* What a session made of it. */
typedef struct outcome {
    bool made, ran;
    char error[512];
    named results[MOST_TENSORS];
    size_t count;
} outcome;

/* Over all models. */
static struct tally {
    size_t claimed, fused, compiled, refused, unclaimed_models, failing, unreadable, checked;
} tally;

/* ---- Chance ---------------------------------------------------------------------------------- */

static uint32_t draw(random_model *m, uint32_t below)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 17;
    m->state ^= m->state << 5;
    return (m->state >> 8) % below;
}

static bool chance(random_model *m, uint32_t percent)
{
    return draw(m, 100) < percent;
}

static const char *pick(random_model *m, const char *const *list, size_t count)
{
    return list[draw(m, (uint32_t)count)];
}
#define PICK(m, list) pick(m, list, sizeof(list) / sizeof((list)[0]))

static rmsnorm_dtype draw_type(random_model *m)
{
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT,   RMSNORM_FLOAT,    RMSNORM_FLOAT,    RMSNORM_FLOAT16,
                                          RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
    return types[draw(m, 8)];
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A shape as a model may declare it: numbers, names and nothing, and sometimes no shape at all. */
static void declare(random_model *m, value *v)
{
    v->dims[0] = '\0';
    if (chance(m, 8)) {
        snprintf(v->dims, sizeof v->dims, "-");
        return;
    }
    const bool symbolic = chance(m, 50);
    for (int32_t i = 0; i < v->tensor.rank; i++) {
        const size_t used = strlen(v->dims);
        const char *const comma = i == 0 ? "" : ",";
        if (symbolic && chance(m, 40)) {
            snprintf(v->dims + used, sizeof v->dims - used, "%sN%lld", comma, (long long)v->tensor.dims[i]);
        } else if (symbolic && chance(m, 20)) {
            snprintf(v->dims + used, sizeof v->dims - used, "%s?", comma);
        } else {
            snprintf(v->dims + used, sizeof v->dims - used, "%s%lld", comma, (long long)v->tensor.dims[i]);
        }
    }
}

static int add_value(random_model *m, place where, rmsnorm_dtype dtype, const char *dims)
{
    assert_true(m->value_count < MOST_VALUES);
    value *const v = &m->values[m->value_count];
    *v = (value){.place = where};
    snprintf(v->name, sizeof v->name, "v%zu", m->value_count);
    v->tensor.dtype = dtype;
    if (where != RESULT) {
        v->tensor = make_tensor(dtype, dims, m->number * 31U + (uint32_t)m->value_count);
        v->known = true;
        declare(m, v);
    }
    return (int)m->value_count++;
}

static place draw_place(random_model *m)
{
    return chance(m, 50) ? GIVEN : chance(m, 70) ? INITIALIZER : CONSTANT;
}

static void write_dims(const int64_t *dims, int32_t rank, char text[96])
{
    text[0] = '\0';
    for (int32_t i = 0; i < rank; i++) {
        snprintf(text + strlen(text), 24, "%s%lld", i == 0 ? "" : ",", (long long)dims[i]);
    }
}

/* A scale for x: usually one that fits. */
static int draw_scale(random_model *m, const int64_t *dims, int32_t rank, rmsnorm_dtype dtype, bool one_dim)
{
    char text[96] = "";
    int64_t shape[RMSNORM_MAX_RANK] = {0};
    const int32_t most = one_dim ? 1 : rank;
    int32_t length = chance(m, 75) ? 1 : (int32_t)draw(m, (uint32_t)most + 1U);
    length = length > rank ? rank : length;
    for (int32_t i = 0; i < length; i++) {
        const int64_t dim = dims[rank - length + i];
        shape[i] = !one_dim && chance(m, 15) ? 1 : chance(m, 3) ? dim + 1 : dim;
    }
    write_dims(shape, length, text);
    return add_value(m, draw_place(m), dtype, text);
}

/* A second operand of x's shape, or of the part of it that broadcasts. */
static int draw_operand(random_model *m, const int64_t *dims, int32_t rank, rmsnorm_dtype dtype, int32_t least)
{
    char text[96];
    int64_t shape[RMSNORM_MAX_RANK];
    memcpy(shape, dims, sizeof shape);
    int32_t from = chance(m, 70) || rank <= least ? 0 : rank - (chance(m, 50) ? least : rank - 1);
    from = from < 0 ? 0 : from;
    if (rank == 3 && from == 0 && chance(m, 10)) {
        shape[0] = 1;
    } else if (rank > 0 && chance(m, 3)) {
        shape[rank - 1]++;
    }
    write_dims(shape + from, rank - from, text);
    return add_value(m, draw_place(m), dtype, text);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static step *add_step(random_model *m, const rmsnorm_operator *op)
{
    assert_true(m->step_count < MOST_STEPS);
    step *const s = &m->steps[m->step_count];
    *s = (step){.op = op, .domain = op != NULL ? op->domain : ""};
    snprintf(s->name, sizeof s->name, "n%zu", m->step_count++);
    return s;
}

static int add_addition(random_model *m, int x, int other)
{
    step *const s = add_step(m, NULL);
    s->inputs[0] = chance(m, 50) ? x : other;
    s->inputs[1] = s->inputs[0] == x ? other : x;
    s->outputs[0] = add_value(m, RESULT, m->values[x].tensor.dtype, "");
    s->input_count = 2;
    s->output_count = 1;
    return s->outputs[0];
}

/* Attributes, legal ones and others. */
static void draw_attributes(random_model *m, step *s, int32_t rank)
{
    static const char *const epsilons[] = {"epsilon=1e-5", "epsilon=1e-5",  "epsilon=1e-12", "epsilon=0",
                                           "epsilon=1",    "epsilon=0.125", "epsilon=2e-6",  "epsilon=-1"};
    static const char *const stashes[] = {"stash_type=1",  "stash_type=1",  "stash_type=11",
                                          "stash_type=10", "stash_type=16", "stash_type=0"};
    const bool skip = s->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    if (chance(m, 70)) {
        snprintf(s->attributes[s->attribute_count++], 32, "%s", PICK(m, epsilons));
    }
    if (!skip && chance(m, 50)) {
        const int axis = chance(m, 50)   ? -1
                         : chance(m, 10) ? (int)rank - (chance(m, 50) ? 0 : 2 * (int)rank + 1)
                                         : (int)draw(m, 2U * (uint32_t)rank + 1U) - (int)rank;
        snprintf(s->attributes[s->attribute_count++], 32, "axis=%d", axis);
    }
    if (!skip && chance(m, 25)) {
        snprintf(s->attributes[s->attribute_count++], 32, "%s", PICK(m, stashes));
    }
    if (chance(m, 2)) {
        snprintf(s->attributes[s->attribute_count++], 32, "center=1");
    }
}

/* Mostly one that may take x, so that models are not refused before anything is claimed. */
static const rmsnorm_operator *draw_operator(random_model *m, const value *x, int32_t rank)
{
    const rmsnorm_operator *const op = rmsnorm_operator_at(draw(m, 3));
    const bool fits = op->kind == RMSNORM_RMS_NORMALIZATION ? m->opset >= op->since_version
                      : op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION
                          ? x->tensor.dtype != RMSNORM_DOUBLE && (rank == 2 || rank == 3)
                          : true;
    return fits || chance(m, 5) ? op : rmsnorm_operator_at(0);
}

static void draw_outputs(random_model *m, step *s, rmsnorm_dtype input, rmsnorm_dtype scale)
{
    const bool skip = s->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    s->output_count = 1;
    for (size_t i = 0; i < s->op->output_count; i++) {
        const bool wanted = i == 0 ? !chance(m, 1) : chance(m, skip && i == 3 ? 50 : 25);
        const bool statistic = i == 1 || i == 2;
        s->outputs[i] = NONE;
        if (wanted) {
            s->outputs[i] = add_value(m, RESULT, statistic ? RMSNORM_FLOAT : i == 0 ? scale : input, "");
            s->output_count = i + 1;
        }
    }
    for (size_t i = 0; i < s->attribute_count; i++) {
        if (!skip && s->outputs[1] != NONE && s->output_count > 1 && strcmp(s->attributes[i], "stash_type=11") == 0) {
            m->values[s->outputs[1]].tensor.dtype = RMSNORM_DOUBLE;
        }
    }
}

/* One norm of x. Returns its first result, or NONE. */
static int add_norm(random_model *m, int x, const int64_t *dims, int32_t rank)
{
    step *const s = add_step(m, draw_operator(m, &m->values[x], rank));
    const bool skip = s->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const rmsnorm_dtype input = m->values[x].tensor.dtype;
    const rmsnorm_dtype scale = chance(m, 75) || (skip && chance(m, 90)) ? input : draw_type(m);
    if (s->op->kind == RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION && m->mode == RIG_PROVIDER && chance(m, 25)) {
        s->domain = "com.microsoft";
    }
    s->inputs[s->input_count++] = x;
    if (skip) {
        s->inputs[s->input_count++] = draw_operand(m, dims, rank, input, 2);
    }
    s->inputs[s->input_count++] = draw_scale(m, dims, rank, scale, skip);
    if (skip && chance(m, 40)) {
        s->inputs[s->input_count++] = chance(m, 25) ? NONE : draw_scale(m, dims, rank, input, true);
    }
    draw_attributes(m, s, rank);
    draw_outputs(m, s, input, scale);
    return s->outputs[0];
}

static void draw_option(random_model *m)
{
    static const char *const disabled[] = {"SimplifiedLayerNormalization", "RMSNormalization",
                                           "SkipSimplifiedLayerNormalization",
                                           "SimplifiedLayerNormalization,SkipSimplifiedLayerNormalization"};
    snprintf(m->option, sizeof m->option, "threads=%u", draw(m, 5));
    if (chance(m, 15)) {
        snprintf(m->option + strlen(m->option), 100, ";disable=%s", PICK(m, disabled));
    }
    if (chance(m, 20)) {
        strcat(m->option, ";fuse=0");
    }
    if (chance(m, 10)) {
        strcat(m->option, ";isa=scalar");
    }
}

static void draw_dims(random_model *m, int64_t dims[RMSNORM_MAX_RANK], int32_t *rank)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 2, 3, 17, 0};
    *rank = chance(m, 3) ? 0 : chance(m, 70) ? 2 + (int32_t)draw(m, 2) : 1 + (int32_t)draw(m, 4);
    for (int32_t i = 0; i < *rank; i++) {
        const bool last = i == *rank - 1;
        dims[i] = last && !chance(m, 5) ? (int64_t)(1U + draw(m, 40)) : sizes[draw(m, chance(m, 20) ? 8 : 7)];
    }
}

static void draw_model(random_model *m, unsigned number, rig_mode mode)
{
    static const int64_t opsets[] = {13, 17, 21, 23, 23, 24, 24, 25};
    int64_t dims[RMSNORM_MAX_RANK] = {0};
    int32_t rank;
    char text[96];
    *m = (random_model){.number = number, .state = (number + 1U) * 2654435761U | 1U, .mode = mode};
    m->opset = opsets[draw(m, 8)];
    draw_option(m);
    draw_dims(m, dims, &rank);
    write_dims(dims, rank, text);
    int x = add_value(m, GIVEN, draw_type(m), text);
    const uint32_t norms = 1 + draw(m, 3);
    for (uint32_t i = 0; i < norms && x != NONE; i++) {
        const int residual = x;
        if (chance(m, m->values[x].tensor.dtype == RMSNORM_FLOAT ? 60 : 20)) {
            x = add_addition(m, x, draw_operand(m, dims, rank, m->values[x].tensor.dtype, 1));
        }
        x = add_norm(m, x, dims, rank);
        if (x != NONE && chance(m, 30) && m->values[x].tensor.dtype == m->values[residual].tensor.dtype) {
            x = add_addition(m, x, residual);
        }
    }
    const bool all = chance(m, 50);
    for (size_t i = 0; i < m->value_count; i++) {
        m->values[i].exposed = m->values[i].place == RESULT && (all || (int)i == x || chance(m, 15));
    }
}

/* ---- The model as a file --------------------------------------------------------------------- */

static bytes tensor_of(const value *v)
{
    const size_t size = (size_t)rmsnorm_tensor_count(&v->tensor) * rmsnorm_dtype_size(v->tensor.dtype);
    return tensor_message(v->name, (int32_t)v->tensor.dtype, v->tensor.dims, (size_t)v->tensor.rank, v->tensor.data,
                          size);
}

static void put_random_value(bytes *graph, const value *v)
{
    if (v->place == GIVEN) {
        put_value(graph, GRAPH_INPUT, v->name, (int32_t)v->tensor.dtype, v->dims[0] == '-' ? NULL : v->dims);
    } else if (v->place == INITIALIZER) {
        bytes tensor = tensor_of(v);
        field_message(graph, GRAPH_INITIALIZER, &tensor);
    } else if (v->place == CONSTANT) {
        bytes node = begin_node("Constant", "", "", v->name), attribute = {0}, tensor = tensor_of(v);
        field_text(&attribute, ATTRIBUTE_NAME, "value");
        field_message(&attribute, ATTRIBUTE_T, &tensor);
        field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_TENSOR);
        field_message(&node, NODE_ATTRIBUTE, &attribute);
        field_message(graph, GRAPH_NODE, &node);
    } else if (v->exposed) {
        put_value(graph, GRAPH_OUTPUT, v->name, (int32_t)v->tensor.dtype, NULL);
    }
}

static void list_names(const random_model *m, const int *values, size_t count, char text[64])
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), 16, "%s%s", i == 0 ? "" : " ",
                 values[i] == NONE ? "-" : m->values[values[i]].name);
    }
}

static void put_step(bytes *graph, const random_model *m, const step *s)
{
    char inputs[64], outputs[64];
    list_names(m, s->inputs, s->input_count, inputs);
    list_names(m, s->outputs, s->output_count, outputs);
    bytes node = begin_node(s->op != NULL ? s->op->name : "Add", s->domain, inputs, outputs);
    field_text(&node, NODE_NAME, s->name);
    for (size_t i = 0; i < s->attribute_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s", s->attributes[i]);
        char *const number = strchr(name, '=');
        *number = '\0';
        if (strcmp(name, "epsilon") == 0) {
            put_attribute_float(&node, name, strtof(number + 1, NULL));
        } else {
            put_attribute_int(&node, name, strtol(number + 1, NULL, 10));
        }
    }
    field_message(graph, GRAPH_NODE, &node);
}

static bytes write_model(const random_model *m)
{
    bytes graph = {0}, model = {0};
    field_text(&graph, GRAPH_NAME, "main");
    for (size_t i = 0; i < m->value_count; i++) {
        put_random_value(&graph, &m->values[i]);
    }
    for (size_t i = 0; i < m->step_count; i++) {
        put_step(&graph, m, &m->steps[i]);
    }
    field_varint(&model, MODEL_IR, 10);
    put_opset(&model, NULL, m->opset);
    put_opset(&model, "com.microsoft", 1);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

/* Fails the test with the model in words. */
static void complain(const random_model *m, const char *what, const char *more)
{
    print_error("model %u, mode %d, opset %lld, options \"%s\":\n", m->number, (int)m->mode, (long long)m->opset,
                m->option);
    for (size_t i = 0; i < m->value_count; i++) {
        const value *const v = &m->values[i];
        char dims[96];
        write_dims(v->tensor.dims, v->tensor.rank, dims);
        print_error("  %s %s [%s]%s%s%s%s\n", v->name, rmsnorm_dtype_name(v->tensor.dtype), dims,
                    v->place == GIVEN    ? " declared "
                    : v->place == RESULT ? ""
                                         : " constant",
                    v->place == GIVEN ? v->dims : "", v->place == CONSTANT ? " node" : "",
                    v->exposed ? " exposed" : "");
    }
    for (size_t i = 0; i < m->step_count; i++) {
        const step *const s = &m->steps[i];
        char inputs[64], outputs[64];
        list_names(m, s->inputs, s->input_count, inputs);
        list_names(m, s->outputs, s->output_count, outputs);
        print_error("  %s: %s::%s(%s) -> %s", s->name, s->domain, s->op != NULL ? s->op->name : "Add", inputs, outputs);
        for (size_t a = 0; a < s->attribute_count; a++) {
            print_error(" %s", s->attributes[a]);
        }
        print_error("\n");
    }
    fail_msg("%s: %s\n%s", what, more, said());
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Takes the status. */
static bool passed(OrtStatus *status, outcome *o)
{
    if (status == NULL) {
        return true;
    }
    snprintf(o->error, sizeof o->error, "%s", ort->GetErrorMessage(status));
    ort->ReleaseStatus(status);
    return false;
}

static void try_model(const random_model *m, rig_mode mode, const bytes *model, outcome *o)
{
    OrtSession *session = NULL;
    named inputs[MOST_TENSORS];
    size_t count = 0;
    *o = (outcome){0};
    for (size_t i = 0; i < m->value_count; i++) {
        const value *const v = &m->values[i];
        if (v->place == GIVEN) {
            inputs[count++] = (named){v->name, v->tensor};
        } else if (v->exposed) {
            o->results[o->count++].name = v->name;
        }
    }
    o->made = passed(rig_session(mode, model, mode == RIG_ALONE ? NULL : m->option, &session), o);
    if (o->made) {
        o->ran = passed(rig_run(session, inputs, count, o->results, o->count), o);
        ort->ReleaseSession(session);
    }
}

static void forget_outcome(outcome *o)
{
    if (o->ran) {
        release_results(o->results, o->count);
    }
}

static const rmsnorm_tensor *result_of(const outcome *o, const char *name)
{
    for (size_t i = 0; o->ran && i < o->count; i++) {
        if (strcmp(o->results[i].name, name) == 0) {
            return o->results[i].tensor.dtype != RMSNORM_UNDEFINED ? &o->results[i].tensor : NULL;
        }
    }
    return NULL;
}

static bool are_same(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    const size_t size = (size_t)rmsnorm_tensor_count(a) * rmsnorm_dtype_size(a->dtype);
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0 &&
           (size == 0 || memcmp(a->data, b->data, size) == 0);
}

/* ---- What has to hold ------------------------------------------------------------------------ */

/* What the provider says of a node. */
static bool is_claimed(const step *s)
{
    for (const char *at = said(); (at = strstr(at, "rmsnorm: claims ")) != NULL; at++) {
        char part[16];
        const char *const end = strchr(at, '\n'), *const name = strchr(at, '"');
        snprintf(part, sizeof part, "\"%s\"", s->name);
        if (name != NULL && name < end && strncmp(name, part, strlen(part)) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_disabled(const random_model *m, const step *s)
{
    const char *const list = strstr(m->option, "disable=");
    for (const char *at = list; at != NULL && (at = strstr(at, s->op->name)) != NULL; at++) {
        const char before = at[-1], after = at[strlen(s->op->name)];
        if ((before == '=' || before == ',') && (after == '\0' || after == ',' || after == ';')) {
            return true;
        }
    }
    return false;
}

/* Attributes as rmsnorm_run takes them; whether it takes them. */
static bool read_attributes(const step *s, rmsnorm_attributes *attributes)
{
    rmsnorm_attributes_init(s->op, attributes);
    for (size_t i = 0; i < s->attribute_count; i++) {
        if (rmsnorm_attributes_parse(s->op, attributes, s->attributes[i]) != RMSNORM_OK) {
            return false;
        }
    }
    return true;
}

/* The library's own call on the step's inputs, which are known. */
static bool compute(const random_model *m, const step *s, rmsnorm_tensor results[SLOTS])
{
    rmsnorm_attributes attributes;
    const rmsnorm_tensor *inputs[SLOTS] = {NULL};
    rmsnorm_tensor *outputs[SLOTS] = {NULL};
    for (size_t i = 0; i < s->input_count; i++) {
        inputs[i] = s->inputs[i] == NONE ? NULL : &m->values[s->inputs[i]].tensor;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        results[i] = (rmsnorm_tensor){0};
        outputs[i] = i < s->output_count && s->outputs[i] != NONE ? &results[i] : NULL;
    }
    return rmsnorm_operator_find(s->domain, s->op->name, s->domain[0] == '\0' ? m->opset : 1) != NULL &&
           read_attributes(s, &attributes) &&
           rmsnorm_run_alloc(s->op, &attributes, inputs, s->input_count, outputs, s->output_count, NULL) == RMSNORM_OK;
}

static bool knows_inputs(const random_model *m, const step *s)
{
    for (size_t i = 0; i < s->input_count; i++) {
        if (s->inputs[i] != NONE && !m->values[s->inputs[i]].known) {
            return false;
        }
    }
    return true;
}

/* From here on the value has these numbers: the tensor's own. */
static void set_known(value *v, const rmsnorm_tensor *tensor)
{
    const size_t size = (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
    v->tensor = *tensor;
    v->tensor.data = malloc(size + 1);
    assert_non_null(v->tensor.data);
    if (size != 0) {
        memcpy(v->tensor.data, tensor->data, size);
    }
    v->known = true;
}

/* The results of a claimed norm that the library computes as well. */
static void check_bits(random_model *m, const step *s, const rmsnorm_tensor results[SLOTS], const outcome *with)
{
    for (size_t i = 0; i < s->output_count; i++) {
        if (s->outputs[i] == NONE) {
            continue;
        }
        value *const v = &m->values[s->outputs[i]];
        const rmsnorm_tensor *const got = result_of(with, v->name);
        if (v->exposed) {
            tally.checked++;
            if (got == NULL || !are_same(got, &results[i])) {
                complain(m, "not the bits of rmsnorm_run", v->name);
            }
        }
        if (!v->known) {
            set_known(v, &results[i]);
        }
    }
}

/* As the runtime tells shapes: a scalar and an input without a shape are one to it. */
static bool has_static_shapes(const random_model *m)
{
    for (size_t i = 0; i < m->value_count; i++) {
        const char *const dims = m->values[i].dims;
        if (m->values[i].place == GIVEN && (dims[0] == '\0' || strpbrk(dims, "N?-") != NULL)) {
            return false;
        }
    }
    return true;
}

/* A spelling that the runtime does not know without the plug-in: then it complains of that one. */
static bool is_known_without(const random_model *m)
{
    for (size_t i = 0; i < m->step_count; i++) {
        if (m->steps[i].op != NULL && strcmp(m->steps[i].domain, m->steps[i].op->domain) != 0) {
            return false;
        }
    }
    return true;
}

static void check_claimed(random_model *m, const step *s, const outcome *alone, const outcome *with)
{
    rmsnorm_tensor results[SLOTS];
    tally.claimed++;
    if (is_disabled(m, s)) {
        complain(m, "claimed, though it is disabled", s->name);
    }
    if (!knows_inputs(m, s)) {
        return;
    }
    const bool good = compute(m, s, results);
    char why[512], own[24];
    snprintf(why, sizeof why, "%s", good ? "" : rmsnorm_last_error());
    snprintf(own, sizeof own, "node \"%s\": ", s->name);
    if (good && with->made && !with->ran && strstr(with->error, own) != NULL) {
        complain(m, "claimed and legal, and the run fails", with->error);
    }
    if (!good) {
        tally.refused++;
        if (with->ran) {
            complain(m, "rmsnorm_run refuses what ran", why);
        }
        if (alone->ran) {
            complain(m, "the runtime alone runs what is claimed and refused", why);
        }
        if (has_static_shapes(m)) {
            complain(m, "claimed, though it is known to be refused", why);
        }
    } else if (with->ran) {
        check_bits(m, s, results, with);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        rmsnorm_tensor_release(&results[i], NULL);
    }
}

/* Amid additions alone, which the runtime has in float where they are float16, and the norm between them as well. */
static bool is_amid_additions(const random_model *m, const step *s)
{
    const value *const x = &m->values[s->inputs[0]], *const y = &m->values[s->outputs[0]];
    bool before = false, after = !y->exposed;
    for (size_t i = 0; i < m->step_count; i++) {
        const step *const other = &m->steps[i];
        for (size_t j = 0; j < other->output_count; j++) {
            before = before || (other->op == NULL && other->outputs[j] == s->inputs[0]);
        }
        for (size_t j = 0; j < other->input_count; j++) {
            after = after && (other->op == NULL || other->inputs[j] != s->outputs[0]);
        }
    }
    return s->op->kind == RMSNORM_RMS_NORMALIZATION && x->tensor.dtype == RMSNORM_FLOAT16 &&
           y->tensor.dtype == RMSNORM_FLOAT16 && before && after;
}

/* And a scale as long as a row, which every runtime's own kernel takes. */
static bool is_left_in_float(const random_model *m, const step *s)
{
    const rmsnorm_tensor *const x = &m->values[s->inputs[0]].tensor, *const scale = &m->values[s->inputs[1]].tensor;
    bool last = true;
    for (size_t i = 0; i < s->attribute_count; i++) {
        if (strncmp(s->attributes[i], "axis=", 5) == 0) {
            const long axis = strtol(s->attributes[i] + 5, NULL, 10);
            last = axis == -1 || axis == x->rank - 1;
        }
    }
    return is_amid_additions(m, s) && last && scale->rank == 1 && x->rank > 0 && scale->dims[0] == x->dims[x->rank - 1];
}

/* Left alone: for a reason. */
static void check_left(random_model *m, const step *s, const outcome *with)
{
    rmsnorm_tensor results[SLOTS];
    if (!with->ran || is_disabled(m, s) || !knows_inputs(m, s) || is_left_in_float(m, s)) {
        return;
    }
    if (compute(m, s, results)) {
        complain(m, "rmsnorm_run takes what is not claimed", s->name);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        rmsnorm_tensor_release(&results[i], NULL);
    }
}

/* In float and double, of two operands in one type. */
static void compute_addition(random_model *m, const step *s)
{
    const rmsnorm_tensor *const a = &m->values[s->inputs[0]].tensor, *const b = &m->values[s->inputs[1]].tensor;
    const rmsnorm_tensor *const whole = a->rank >= b->rank ? a : b, *const part = whole == a ? b : a;
    const int64_t count = rmsnorm_tensor_count(whole), period = rmsnorm_tensor_count(part);
    value *const v = &m->values[s->outputs[0]];
    bool tail = whole->dtype == RMSNORM_FLOAT || whole->dtype == RMSNORM_DOUBLE;
    for (int32_t i = 0; i < part->rank; i++) {
        tail = tail && part->dims[i] == whole->dims[whole->rank - part->rank + i];
    }
    if (!tail || v->known || count == 0) {
        return;
    }
    set_known(v, whole);
    for (int64_t i = 0; i < count; i++) {
        if (whole->dtype == RMSNORM_FLOAT) {
            ((float *)v->tensor.data)[i] += ((const float *)part->data)[i % period];
        } else {
            ((double *)v->tensor.data)[i] += ((const double *)part->data)[i % period];
        }
    }
}

static void check_alike(random_model *m, const outcome *alone, const outcome *with)
{
    tally.unclaimed_models++;
    if (alone->made != with->made || alone->ran != with->ran) {
        complain(m, "nothing is claimed, and it ends otherwise", alone->ran ? with->error : alone->error);
    }
    if (!alone->ran) {
        tally.failing++;
        if (is_known_without(m) && strcmp(alone->error, with->error) != 0) {
            complain(m, alone->error, with->error);
        }
    }
    for (size_t i = 0; alone->ran && i < alone->count; i++) {
        if (!are_same(&alone->results[i].tensor, &with->results[i].tensor)) {
            complain(m, "nothing is claimed, and the bits are others", alone->results[i].name);
        }
    }
}

static void check_model(random_model *m)
{
    outcome alone, with;
    bytes model = write_model(m);
    try_model(m, RIG_ALONE, &model, &alone);
    forget_said();
    try_model(m, m->mode, &model, &with);
    const size_t claims = count_said("rmsnorm: claims ");
    tally.fused += count_said(", fused from");
    tally.compiled += count_said(", compiled");
    tally.unreadable += !with.made && claims == 0;
    if (!with.made && alone.made) {
        complain(m, "no longer loads", with.error);
    }
    if (with.made && rig_placed() != claims) {
        complain(m, "the runtime placed another number of nodes than are claimed", "");
    }
    if (strstr(m->option, "fuse=0") != NULL && count_said(", fused from") > 0) {
        complain(m, "fused, though it may not be", m->option);
    }
    if (claims == 0) {
        check_alike(m, &alone, &with);
    }
    for (size_t i = 0; i < m->value_count; i++) { /* what the model itself says of values in between */
        const rmsnorm_tensor *const got = result_of(&with, m->values[i].name);
        if (got != NULL) {
            set_known(&m->values[i], got);
        }
    }
    for (size_t i = 0; i < m->step_count; i++) {
        const step *const s = &m->steps[i];
        if (s->op == NULL) {
            if (with.ran && knows_inputs(m, s)) {
                compute_addition(m, s);
            }
        } else if (is_claimed(s)) {
            check_claimed(m, s, &alone, &with);
        } else {
            check_left(m, s, &with);
        }
    }
    forget_outcome(&alone);
    forget_outcome(&with);
    release(&model);
}

static void tell_placement(OrtSessionOptions *options)
{
    expect_good(ort->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_VERBOSE));
}

static void check_models(rig_mode mode, unsigned first, unsigned last)
{
    if (ort_minor <
        29) { /* older runtimes, alone, end on some of these models, or read past a constant that is too small */
        print_message("not run with a runtime before 1.29\n");
        skip();
    }
    rig_prepare = tell_placement;
    for (unsigned i = first; i < last; i++) {
        static random_model m;
        draw_model(&m, i, mode);
        check_model(&m);
        for (size_t v = 0; v < m.value_count; v++) {
            free(m.values[v].tensor.data);
        }
    }
    rig_prepare = NULL;
    print_message(
        "%u models: %zu norms claimed (%zu fused, %zu compiled), %zu of them refused as they ran, %zu results compared; "
        "nothing claimed in %zu, of which %zu fail, %zu of them before they are looked at\n",
        last - first, tally.claimed, tally.fused, tally.compiled, tally.refused, tally.checked, tally.unclaimed_models,
        tally.failing, tally.unreadable);
    assert_true(tally.claimed > (last - first) / 4 && tally.checked > (last - first) / 4);
    assert_true(tally.fused > 0 && tally.refused > 0 && tally.unclaimed_models > tally.failing);
    tally = (struct tally){0};
}

static void claims_agree_with_run(void **state)
{
    (void)state;
    check_models(RIG_PROVIDER, 0, MODELS * 3 / 4);
}

static void claims_agree_with_run_where_all_is_compiled(void **state)
{
    (void)state;
    check_models(RIG_COMPILED, MODELS * 3 / 4, MODELS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_agree_with_run),
        cmocka_unit_test(claims_agree_with_run_where_all_is_compiled),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
