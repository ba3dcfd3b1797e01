/* Custom operators in models of every kind: which optimizers of the runtime's go together with them, constants, attributes that
 * a schema would have refused, graphs inside graphs, functions. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/rig.h"

static const rmsnorm_operator *operator_of(const char *domain, const char *type)
{
    const rmsnorm_operator *const op = rmsnorm_operator_find(domain, type, 0);
    assert_non_null(op);
    return op;
}

/* ---- Models in few words --------------------------------------------------------------------- */

static void put_node(bytes *graph, const char *type, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, "", inputs, outputs);
    field_text(&node, NODE_NAME, outputs);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_norm(bytes *graph, const char *domain, const char *type, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, domain, inputs, outputs);
    field_text(&node, NODE_NAME, "the norm");
    put_attribute_float(&node, "epsilon", 1e-5F);
    field_message(graph, GRAPH_NODE, &node);
}

/* ---- The operators, as models spell them ------------------------------------------------------ */

typedef struct spelled {
    const char *domain, *type;
    int64_t opset;
} spelled;

static const spelled norms[] = {{"", "SimplifiedLayerNormalization", 17},
                                {"com.microsoft", "SimplifiedLayerNormalization", 17},
                                {"com.microsoft", "SkipSimplifiedLayerNormalization", 17},
                                {"", "RMSNormalization", 23}};
enum { NORMS = sizeof norms / sizeof norms[0] };

static bool is_skip(const spelled *s)
{
    return operator_of(s->domain, s->type)->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
}

static void put_spelled(bytes *graph, const spelled *s, const char *x, const char *outputs)
{
    char inputs[64];
    snprintf(inputs, sizeof inputs, is_skip(s) ? "%s %s gamma" : "%s gamma", x, x);
    put_norm(graph, s->domain, s->type, inputs, outputs);
}

/* The library's own call: x, x again as skip, gamma. */
static rmsnorm_tensor norm_of(const spelled *s, const rmsnorm_tensor *x, const rmsnorm_tensor *gamma)
{
    const rmsnorm_operator *const op = operator_of(s->domain, s->type);
    rmsnorm_attributes attributes;
    rmsnorm_tensor output = {0};
    rmsnorm_attributes_init(op, &attributes);
    attributes.epsilon = 1e-5F;
    const rmsnorm_tensor *const inputs[] = {x, is_skip(s) ? x : gamma, gamma};
    if (rmsnorm_run_alloc(op, &attributes, inputs, is_skip(s) ? 3 : 2, (rmsnorm_tensor *const[]){&output}, 1, NULL) !=
        RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    return output;
}

/* ---- Models that do not import com.microsoft -------------------------------------------------- */

/* Nodes that the runtime's optimizers, from the extended level on, replace by one of com.microsoft's. n is the norm's result, y
 * the graph's. */
typedef struct fusion {
    const char *made; /* its name there */
    const char *nodes[9][3];
} fusion;

static const fusion fusions[] = {
    {"QuickGelu", {{"Mul", "n a", "s"}, {"Sigmoid", "s", "t"}, {"Mul", "n t", "y"}}},
    {"Gelu",
     {{"Div", "n root2", "s"}, {"Erf", "s", "t"}, {"Add", "t one", "u"}, {"Mul", "n u", "v"}, {"Mul", "v half", "y"}}},
    {"BiasGelu",
     {{"Add", "n row", "b"},
      {"Div", "b root2", "s"},
      {"Erf", "s", "t"},
      {"Add", "t one", "u"},
      {"Mul", "b u", "v"},
      {"Mul", "v half", "y"}}},
    {"FusedMatMul", {{"Transpose", "n", "s"}, {"MatMul", "s n", "y"}}},
    {"FusedMatMul", {{"Mul", "n half", "s"}, {"MatMul", "s square", "y"}}},
    {"FusedGemm", {{"Gemm", "n square", "s"}, {"Relu", "s", "y"}}},
    {"SkipLayerNormalization",
     {{"Unsqueeze", "n zeros", "a3"},
      {"Unsqueeze", "x zeros", "b3"},
      {"Add", "a3 b3", "s"},
      {"LayerNormalization", "s row row", "t"},
      {"Squeeze", "t zeros", "y"}}},
    {"DynamicQuantizeMatMul",
     {{"DynamicQuantizeLinear", "n", "s scale zero"},
      {"MatMulInteger", "s bytes zero", "t"},
      {"Cast", "t", "u"},
      {"Mul", "scale half", "m"},
      {"Mul", "u m", "y"}}},
    {"QLinearAdd",
     {{"QuantizeLinear", "n half point", "s"},
      {"DequantizeLinear", "s half point", "t"},
      {"Add", "t t", "u"},
      {"QuantizeLinear", "u half point", "v"},
      {"DequantizeLinear", "v half point", "y"}}},
    {"FusedConv",
     {{"Unsqueeze", "n zeros", "s"}, {"Conv", "s kernel", "t"}, {"Relu", "t", "u"}, {"Squeeze", "u zeros", "y"}}},
};

static void put_numbers(bytes *graph)
{
    static const int64_t zero = 0, kernel[] = {8, 8, 1}, square[] = {8, 8}, row = 8;
    float numbers[64];
    uint8_t octets[64];
    for (size_t i = 0; i < 64; i++) {
        numbers[i] = (float)(i % 7) * 0.25F - 0.5F;
        octets[i] = (uint8_t)(i * 3);
    }
    put_scalar(graph, "a", 1.702F);
    put_scalar(graph, "half", 0.5F);
    put_scalar(graph, "one", 1.0F);
    put_scalar(graph, "root2", 1.4142135381698608F);
    bytes tensors[] = {tensor_message("kernel", RMSNORM_FLOAT, kernel, 3, numbers, sizeof numbers),
                       tensor_message("square", RMSNORM_FLOAT, square, 2, numbers, sizeof numbers),
                       tensor_message("row", RMSNORM_FLOAT, &row, 1, numbers, 8 * sizeof numbers[0]),
                       tensor_message("bytes", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, square, 2, octets, sizeof octets),
                       tensor_message("point", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, NULL, 0, octets + 43, 1),
                       tensor_message("zeros", RMSNORM_INT64, &(const int64_t){1}, 1, &zero, sizeof zero)};
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        field_message(graph, GRAPH_INITIALIZER, &tensors[i]);
    }
}

static bytes fusion_model(const fusion *f, int64_t microsoft)
{
    bytes graph = {0};
    put_norm(&graph, "", "SimplifiedLayerNormalization", "x gamma", "n");
    for (size_t i = 0; i < 9 && f->nodes[i][0] != NULL; i++) {
        bytes node = begin_node(f->nodes[i][0], "", f->nodes[i][1], f->nodes[i][2]);
        field_text(&node, NODE_NAME, f->nodes[i][2]);
        if (strcmp(f->nodes[i][0], "Cast") == 0) {
            put_attribute_int(&node, "to", RMSNORM_FLOAT);
        }
        field_message(&graph, GRAPH_NODE, &node);
    }
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "8,8");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "8,8");
    return finish(&graph, 17, microsoft);
}

/* Whether the model that a session would run holds a node of that type. */
static bool optimized_has(rig_mode mode, const bytes *model, const char *type)
{
    char path[] = "/tmp/rmsnorm-plugin-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    OrtSession *session;
    rig_save_to = path;
    OrtStatus *const status = rig_session(mode, model, NULL, &session);
    rig_save_to = NULL;
    expect_good(status);
    ort->ReleaseSession(session);
    bytes saved = load(path);
    const size_t length = strlen(type);
    bool found = false;
    for (size_t i = 0; i + length <= saved.size; i++) {
        found = found || memcmp(saved.data + i, type, length) == 0;
    }
    release(&saved);
    assert_int_equal(unlink(path), 0);
    return found;
}

static void models_need_not_import_the_domain_of_the_runtimes_own_operators(void **state)
{
    (void)state;
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "8,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    for (size_t i = 0; i < sizeof fusions / sizeof fusions[0]; i++) {
        bytes model = fusion_model(&fusions[i], 0);
        named wanted = {.name = "y"}, got = {.name = "y"};
        if (!optimized_has(RIG_ALONE, &model, fusions[i].made)) {
            fail_msg("the runtime makes no %s of these nodes any more", fusions[i].made);
        }
        run_model(RIG_ALONE, &model, inputs, 2, &wanted, 1);
        run_model(RIG_CUSTOM, &model, inputs, 2, &got, 1);
        expect_close(&got.tensor, &wanted.tensor, 2e-2); /* where it is quantized: one step in 128 */
        release_results(&wanted, 1);
        release_results(&got, 1);
        release(&model);
    }
    release_results(inputs, 2);
}

/* What the caller has switched off stays so, and what the caller switches on again is on. */
static void optimizers_are_switched_off_beside_the_callers(void **state)
{
    (void)state;
    static const char key[] = "optimization.disable_specified_optimizers";
    OrtSessionOptions *options;
    char value[4096];
    size_t size = sizeof value;
    expect_good(ort->CreateSessionOptions(&options));
    expect_good(ort->AddSessionConfigEntry(options, key, "ConstantFolding"));
    expect_good(ort->RegisterCustomOpsLibrary_V2(options, PLUGIN_LIBRARY));
    expect_good(ort->GetSessionConfigEntry(options, key, value, &size));
    assert_memory_equal(value, "ConstantFolding;", 16);
    assert_non_null(strstr(value, ";QuickGeluFusion;"));
    expect_good(ort->AddSessionConfigEntry(options, key, ""));
    bytes model = fusion_model(&fusions[0], 1);
    OrtSession *session = NULL;
    expect_good(ort->CreateSessionFromArray(env, model.data, model.size, options, &session));
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    release(&model);
}

/* ---- Attributes ------------------------------------------------------------------------------- */

/* A type no attribute of the operators has. */
typedef enum other_type {
    A_STRING,
    SOME_STRINGS,
    SOME_INTS,
    SOME_FLOATS,
    A_TENSOR,
    A_GRAPH,
    AN_INT,
    A_FLOAT
} other_type;

static void put_attribute(bytes *node, const char *name, other_type type)
{
    enum { ATTRIBUTE_S = 4, ATTRIBUTE_STRINGS = 9, TYPE_STRING = 3, TYPE_STRINGS = 8 };
    static const uint64_t types[] = {TYPE_STRING, TYPE_STRINGS, TYPE_INTS, TYPE_FLOATS,
                                     TYPE_TENSOR, TYPE_GRAPH,   TYPE_INT,  TYPE_FLOAT};
    const float one = 1.0F;
    bytes attribute = {0}, inner = {0};
    field_text(&attribute, ATTRIBUTE_NAME, name);
    switch (type) {
    case A_STRING:
        field_text(&attribute, ATTRIBUTE_S, "1");
        break;
    case SOME_STRINGS:
        field_text(&attribute, ATTRIBUTE_STRINGS, "1");
        break;
    case SOME_INTS:
        field_varint(&attribute, ATTRIBUTE_INTS, 1);
        break;
    case SOME_FLOATS:
        field_float(&attribute, ATTRIBUTE_FLOATS, 1.0F);
        break;
    case A_TENSOR:
        inner = tensor_message("", RMSNORM_FLOAT, NULL, 0, &one, sizeof one);
        field_message(&attribute, ATTRIBUTE_T, &inner);
        break;
    case A_GRAPH:
        field_text(&inner, GRAPH_NAME, "inner");
        field_message(&attribute, ATTRIBUTE_G, &inner);
        break;
    case AN_INT:
        field_varint(&attribute, ATTRIBUTE_I, 1);
        break;
    default:
        field_float(&attribute, ATTRIBUTE_F, 1.0F);
    }
    field_varint(&attribute, ATTRIBUTE_TYPE, types[type]);
    field_message(node, NODE_ATTRIBUTE, &attribute);
}

static bytes attribute_model(const spelled *s, const char *name, other_type type)
{
    bytes graph = {0};
    bytes node = begin_node(s->type, s->domain, is_skip(s) ? "x x gamma" : "x gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    put_attribute(&node, name, type);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,8");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    return finish(&graph, s->opset, 1);
}

/* The runtime's schema check does so for the runtime's own operators; a custom operator's schema checks nothing. */
static void attributes_of_another_type_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NORMS; i++) {
        const rmsnorm_operator *const op = operator_of(norms[i].domain, norms[i].type);
        for (size_t a = 0; a < op->attribute_count; a++) {
            const bool is_int = op->attributes[a].kind == RMSNORM_ATTRIBUTE_INT;
            for (other_type type = A_STRING; type <= A_FLOAT; type++) {
                if (type == (is_int ? AN_INT : A_FLOAT)) {
                    continue;
                }
                bytes model = attribute_model(&norms[i], op->attributes[a].name, type);
                OrtSession *session = NULL;
                char part[128];
                snprintf(part, sizeof part, "node \"the norm\": %s: ", op->name);
                expect_status(rig_session(RIG_CUSTOM, &model, NULL, &session), part);
                release(&model);
            }
        }
    }
}

static void attributes_of_the_other_operators_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"axis", "stash_type"};
    const spelled skip = {"com.microsoft", "SkipSimplifiedLayerNormalization", 17};
    for (size_t i = 0; i < 2; i++) {
        bytes model = attribute_model(&skip, names[i], AN_INT);
        OrtSession *session = NULL;
        char part[64];
        snprintf(part, sizeof part, "no attribute '%s'", names[i]);
        expect_status(rig_session(RIG_CUSTOM, &model, NULL, &session), part);
        release(&model);
    }
}

/* ---- Constants and both ways at once ---------------------------------------------------------- */

static void norms_of_constants_are_made(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_CUSTOM, RIG_BOTH};
    rmsnorm_tensor constant = make_tensor(RMSNORM_FLOAT, "3,8", 1), gamma = make_tensor(RMSNORM_FLOAT, "8", 2);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "3,8", 3)}};
    for (size_t i = 0; i < NORMS; i++) {
        bytes graph = {0};
        put_spelled(&graph, &norms[i], "constant", "n");
        put_node(&graph, "Add", "x n", "y");
        put_constant(&graph, "constant", &constant);
        put_constant(&graph, "gamma", &gamma);
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "3,8");
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
        bytes model = finish(&graph, norms[i].opset, 1);
        rmsnorm_tensor wanted = norm_of(&norms[i], &constant, &gamma);
        for (size_t e = 0; e < 24; e++) {
            ((float *)wanted.data)[e] += ((const float *)inputs[0].tensor.data)[e];
        }
        for (size_t m = 0; m < 2; m++) {
            named got = {.name = "y"};
            run_model(modes[m], &model, inputs, 1, &got, 1);
            expect_same_bits(&got.tensor, &wanted);
            release_results(&got, 1);
        }
        rmsnorm_tensor_release(&wanted, NULL);
        release(&model);
    }
    free(constant.data);
    free(gamma.data);
    release_results(inputs, 1);
}

static void the_provider_takes_what_custom_operators_describe(void **state)
{
    (void)state;
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "3,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT16, "8", 2)}};
    for (size_t i = 0; i < NORMS; i++) {
        bytes graph = {0};
        put_spelled(&graph, &norms[i], "x", "y");
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "A,8");
        put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT16, "8");
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
        bytes model = finish(&graph, norms[i].opset, 1);
        rmsnorm_tensor wanted = norm_of(&norms[i], &inputs[0].tensor, &inputs[1].tensor);
        named got = {.name = "y"};
        forget_said();
        run_model(RIG_BOTH, &model, inputs, 2, &got, 1);
        const bool known =
            strcmp(norms[i].domain, "com.microsoft") != 0 || is_skip(&norms[i]); /* else it may be a function */
        if (count_said("claims") != (known ? 1 : 0)) {
            fail_msg("claimed as it should not be: %s %s", norms[i].type, said());
        }
        expect_same_bits(&got.tensor, &wanted);
        release_results(&got, 1);
        rmsnorm_tensor_release(&wanted, NULL);
        release(&model);
    }
    release_results(inputs, 2);
}

/* ---- Where nodes stand ------------------------------------------------------------------------ */

/* The model, of inputs x and gamma, gives y = norm(x). */
static void expect_norm(const spelled *s, const bytes *model, rmsnorm_dtype dtype)
{
    static const rig_mode modes[] = {RIG_CUSTOM, RIG_BOTH};
    named inputs[] = {{"x", make_tensor(dtype, "3,8", 1)}, {"gamma", make_tensor(dtype, "8", 2)}};
    rmsnorm_tensor wanted = norm_of(s, &inputs[0].tensor, &inputs[1].tensor);
    for (size_t m = 0; m < 2; m++) {
        named got = {.name = "y"};
        run_model(modes[m], model, inputs, 2, &got, 1);
        expect_same_bits(&got.tensor, &wanted);
        release_results(&got, 1);
    }
    rmsnorm_tensor_release(&wanted, NULL);
    release_results(inputs, 2);
}

static void put_values(bytes *graph, rmsnorm_dtype dtype)
{
    put_value(graph, GRAPH_INPUT, "x", (int32_t)dtype, "A,8");
    put_value(graph, GRAPH_INPUT, "gamma", (int32_t)dtype, "8");
    put_value(graph, GRAPH_OUTPUT, "y", (int32_t)dtype, NULL);
}

/* A branch that is the norm, of values around it. */
static bytes branch(const spelled *s, const char *name, rmsnorm_dtype dtype)
{
    bytes graph = {0};
    put_spelled(&graph, s, "x", name);
    field_text(&graph, GRAPH_NAME, name);
    put_value(&graph, GRAPH_OUTPUT, name, (int32_t)dtype, NULL);
    return graph;
}

static void norms_stand_in_branches(void **state)
{
    (void)state;
    for (size_t i = 0; i < NORMS; i++) {
        bytes graph = {0}, one = branch(&norms[i], "one", RMSNORM_FLOAT16),
              two = branch(&norms[i], "two", RMSNORM_FLOAT16);
        const int64_t dim = 8;
        put_node(&graph, "Size", "gamma", "size");
        bytes tensor = tensor_message("eight", RMSNORM_INT64, NULL, 0, &dim, sizeof dim);
        field_message(&graph, GRAPH_INITIALIZER, &tensor);
        put_node(&graph, "Equal", "size eight", "flag");
        bytes node = begin_node("If", "", "flag", "y");
        put_graph_attribute(&node, "then_branch", &one);
        put_graph_attribute(&node, "else_branch", &two);
        field_message(&graph, GRAPH_NODE, &node);
        put_values(&graph, RMSNORM_FLOAT16);
        bytes model = finish(&graph, norms[i].opset, 1);
        expect_norm(&norms[i], &model, RMSNORM_FLOAT16);
        release(&model);
    }
}

/* Twice, by a loop that carries the result. */
static void norms_stand_in_loops(void **state)
{
    (void)state;
    const int64_t two = 2;
    const uint8_t yes = 1;
    named inputs[] = {{"x", make_tensor(RMSNORM_BFLOAT16, "3,8", 1)}, {"gamma", make_tensor(RMSNORM_BFLOAT16, "8", 2)}};
    for (size_t i = 0; i < NORMS; i++) {
        bytes graph = {0}, body = {0};
        put_node(&body, "Identity", "again", "more");
        put_spelled(&body, &norms[i], "carried", "next");
        field_text(&body, GRAPH_NAME, "body");
        put_value(&body, GRAPH_INPUT, "step", RMSNORM_INT64, "");
        put_value(&body, GRAPH_INPUT, "again", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
        put_value(&body, GRAPH_INPUT, "carried", RMSNORM_BFLOAT16, NULL);
        put_value(&body, GRAPH_OUTPUT, "more", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, "");
        put_value(&body, GRAPH_OUTPUT, "next", RMSNORM_BFLOAT16, NULL);
        bytes node = begin_node("Loop", "", "two yes x", "y");
        put_graph_attribute(&node, "body", &body);
        field_message(&graph, GRAPH_NODE, &node);
        bytes tensors[] = {tensor_message("two", RMSNORM_INT64, NULL, 0, &two, sizeof two),
                           tensor_message("yes", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, NULL, 0, &yes, sizeof yes)};
        field_message(&graph, GRAPH_INITIALIZER, &tensors[0]);
        field_message(&graph, GRAPH_INITIALIZER, &tensors[1]);
        put_values(&graph, RMSNORM_BFLOAT16);
        bytes model = finish(&graph, norms[i].opset, 1);
        rmsnorm_tensor once = norm_of(&norms[i], &inputs[0].tensor, &inputs[1].tensor);
        rmsnorm_tensor wanted = norm_of(&norms[i], &once, &inputs[1].tensor);
        named got = {.name = "y"};
        run_model(RIG_CUSTOM, &model, inputs, 2, &got, 1);
        expect_same_bits(&got.tensor, &wanted);
        release_results(&got, 1);
        rmsnorm_tensor_release(&once, NULL);
        rmsnorm_tensor_release(&wanted, NULL);
        release(&model);
    }
    release_results(inputs, 2);
}

/* Function F(a, b) -> c { c = norm(a, [a], b) } in a domain of the model's own. SimplifiedLayerNormalization of the default domain is
 * left out: in a function it ends the runtime's own process, with this library and without. */
static void norms_stand_in_functions(void **state)
{
    (void)state;
    enum { F_NAME = 1, F_INPUT = 4, F_OUTPUT = 5, F_NODE = 7, F_OPSET = 9, F_DOMAIN = 10 };
    for (size_t i = 1; i < NORMS; i++) {
        bytes graph = {0}, function = {0};
        bytes node = begin_node(norms[i].type, norms[i].domain, is_skip(&norms[i]) ? "a a b" : "a b", "c");
        put_attribute_float(&node, "epsilon", 1e-5F);
        field_text(&function, F_NAME, "F");
        field_text(&function, F_DOMAIN, "own");
        field_text(&function, F_INPUT, "a");
        field_text(&function, F_INPUT, "b");
        field_text(&function, F_OUTPUT, "c");
        field_message(&function, F_NODE, &node);
        const char *const domains[] = {"", "com.microsoft"};
        for (size_t d = 0; d < 2; d++) {
            bytes opset = {0};
            field_text(&opset, 1, domains[d]);
            field_varint(&opset, 2, d == 0 ? (uint64_t)norms[i].opset : 1);
            field_message(&function, F_OPSET, &opset);
        }
        node = begin_node("F", "own", "x gamma", "y");
        field_message(&graph, GRAPH_NODE, &node);
        put_values(&graph, RMSNORM_BFLOAT16);
        bytes model = finish(&graph, norms[i].opset, 1);
        put_opset(&model, "own", 1);
        field_message(&model, MODEL_FUNCTION, &function);
        expect_norm(&norms[i], &model, RMSNORM_BFLOAT16);
        release(&model);
    }
}

static void omitted_slots_may_be_named_or_left_out(void **state)
{
    (void)state;
    const spelled *const skip = &norms[2];
    bytes graph = {0};
    put_norm(&graph, skip->domain, skip->type, "x x gamma -", "y - - -");
    put_values(&graph, RMSNORM_FLOAT);
    bytes model = finish(&graph, skip->opset, 1);
    expect_norm(skip, &model, RMSNORM_FLOAT);
    release(&model);
}

/* What has no shape in the model is no scalar to the node after it. */
static void a_value_of_unknown_rank_goes_on(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_ALONE, RIG_CUSTOM, RIG_BOTH};
    for (size_t n = 0; n < NORMS; n++) {
        const spelled *const s = &norms[n];
        bytes graph = {0};
        if (strcmp(s->domain, "com.microsoft") == 0 && !is_skip(s)) {
            continue; /* the runtime alone has none */
        }
        put_spelled(&graph, s, "x", "n");
        put_node(&graph, "MatMul", "n w", "y");
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, NULL);
        put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "8");
        put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, "8,8");
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
        bytes model = finish(&graph, s->opset, 1);
        named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "3,8", 1)},
                          {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)},
                          {"w", make_tensor(RMSNORM_FLOAT, "8,8", 3)}};
        named results[3];
        for (size_t m = 0; m < 3; m++) {
            results[m].name = "y";
            run_model(modes[m], &model, inputs, 3, &results[m], 1);
            expect_close(&results[m].tensor, &results[0].tensor, 1e-4);
        }
        release_results(results, 3);
        release_results(inputs, 3);
        release(&model);
    }
}

/* Small nodes become the operator by an optimizer of the extended level, which has to be on. */
static void what_the_runtime_fuses_runs_here(void **state)
{
    (void)state;
    bytes graph = {0};
    bytes mean = begin_node("ReduceMean", "", "square", "mean"), attribute = {0};
    put_scalar(&graph, "two", 2.0F);
    put_scalar(&graph, "small", 1e-5F);
    put_node(&graph, "Pow", "x two", "square");
    field_text(&attribute, ATTRIBUTE_NAME, "axes");
    field_varint(&attribute, ATTRIBUTE_INTS, (uint64_t)-1);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
    field_message(&mean, NODE_ATTRIBUTE, &attribute);
    field_message(&graph, GRAPH_NODE, &mean);
    put_node(&graph, "Add", "mean small", "sum");
    put_node(&graph, "Sqrt", "sum", "root");
    put_node(&graph, "Div", "x root", "n");
    put_node(&graph, "Mul", "n gamma", "y");
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "8", 2);
    put_constant(&graph, "gamma", &gamma);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "3,8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 0);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "3,8", 1)}};
    rmsnorm_tensor wanted = norm_of(&norms[0], &inputs[0].tensor, &gamma);
    named got = {.name = "y"};
    assert_true(optimized_has(RIG_CUSTOM, &model, "SimplifiedLayerNormalization"));
    run_model(RIG_CUSTOM, &model, inputs, 1, &got, 1);
    expect_same_bits(&got.tensor, &wanted);
    release_results(&got, 1);
    rmsnorm_tensor_release(&wanted, NULL);
    free(gamma.data);
    release_results(inputs, 1);
    release(&model);
}

/* ---- Sessions --------------------------------------------------------------------------------- */

static void every_level_of_optimization_gives_the_same_bits(void **state)
{
    (void)state;
    static const GraphOptimizationLevel levels[] = {ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED,
                                                    ORT_ENABLE_ALL};
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "3,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    for (size_t i = 0; i < NORMS; i++) {
        bytes graph = {0};
        put_spelled(&graph, &norms[i], "x", "y");
        put_values(&graph, RMSNORM_FLOAT);
        bytes model = finish(&graph, norms[i].opset, 1);
        rmsnorm_tensor wanted = norm_of(&norms[i], &inputs[0].tensor, &inputs[1].tensor);
        for (size_t l = 0; l < 4; l++) {
            OrtSessionOptions *options;
            OrtSession *session = NULL;
            named got = {.name = "y"};
            expect_good(ort->CreateSessionOptions(&options));
            expect_good(ort->RegisterCustomOpsLibrary_V2(options, PLUGIN_LIBRARY));
            expect_good(ort->SetSessionGraphOptimizationLevel(options, levels[l]));
            expect_good(ort->CreateSessionFromArray(env, model.data, model.size, options, &session));
            ort->ReleaseSessionOptions(options); /* the session keeps the library */
            expect_good(rig_run(session, inputs, 2, &got, 1));
            expect_same_bits(&got.tensor, &wanted);
            ort->ReleaseSession(session);
            release_results(&got, 1);
        }
        rmsnorm_tensor_release(&wanted, NULL);
        release(&model);
    }
    release_results(inputs, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_need_not_import_the_domain_of_the_runtimes_own_operators),
        cmocka_unit_test(optimizers_are_switched_off_beside_the_callers),
        cmocka_unit_test(attributes_of_another_type_are_refused),
        cmocka_unit_test(attributes_of_the_other_operators_are_refused),
        cmocka_unit_test(norms_of_constants_are_made),
        cmocka_unit_test(the_provider_takes_what_custom_operators_describe),
        cmocka_unit_test(norms_stand_in_branches),
        cmocka_unit_test(norms_stand_in_loops),
        cmocka_unit_test(norms_stand_in_functions),
        cmocka_unit_test(omitted_slots_may_be_named_or_left_out),
        cmocka_unit_test(a_value_of_unknown_rank_goes_on),
        cmocka_unit_test(what_the_runtime_fuses_runs_here),
        cmocka_unit_test(every_level_of_optimization_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
