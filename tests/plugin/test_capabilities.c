/* The table of what is claimed, operator by operator and type by type, is what the plug-in and the runtime do: capabilities.txt, which
 * docs/onnxruntime.md shows. With the name of a file it is written there instead. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rig.h"

static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
static const int64_t opsets[] = {13, 17, 21, 22, 23, 24, 25};
enum { OPSETS = sizeof opsets / sizeof opsets[0] };

static const char *target; /* the file to write; NULL: compare */
static char text[1 << 14];

static void write_text(const char *format, const char *a, const char *b)
{
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, format, a, b);
}

static bool is_skip(const rmsnorm_operator *op)
{
    return op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
}

static bytes node_model(const rmsnorm_operator *op, const char *domain, rmsnorm_dtype input, rmsnorm_dtype scale,
                        int64_t opset)
{
    bytes graph = {0}, model = {0};
    field_text(&graph, GRAPH_NAME, "main");
    bytes node = begin_node(op->name, domain, is_skip(op) ? "x x gamma" : "x gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", (int32_t)input, "B,S,8");
    put_value(&graph, GRAPH_INPUT, "gamma", (int32_t)scale, "8");
    put_value(&graph, GRAPH_OUTPUT, "y", (int32_t)scale, NULL);
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, NULL, opset);
    put_opset(&model, "com.microsoft", 1);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

/* Whether it loads and runs, and in the provider's hands where there is one: in a kernel of its registry, or compiled where it has none. */
static bool runs(rig_mode mode, const bytes *model, rmsnorm_dtype input, rmsnorm_dtype scale)
{
    named inputs[] = {{"x", make_tensor(input, "2,3,8", 1)}, {"gamma", make_tensor(scale, "8", 2)}};
    named got = {.name = "y"};
    OrtSession *session = NULL;
    forget_said();
    OrtStatus *status = rig_session(mode, model, NULL, &session);
    if (status == NULL) {
        status = rig_run(session, inputs, 2, &got, 1);
        ort->ReleaseSession(session);
    }
    const bool good = status == NULL;
    if (good) {
        release_results(&got, 1);
    } else {
        ort->ReleaseStatus(status);
    }
    release_results(inputs, 2);
    const bool claimed = count_said("rmsnorm: claims ") == 1 && count_said(", compiled") == (mode == RIG_COMPILED);
    return good && (claimed || mode == RIG_ALONE || mode == RIG_CUSTOM);
}

/* "13-25" */
static void write_cell(const bool there[OPSETS])
{
    char cell[64] = "";
    for (size_t i = 0; i < OPSETS; i++) {
        size_t last = i;
        while (there[i] && last + 1 < OPSETS && there[last + 1]) {
            last++;
        }
        if (there[i]) {
            snprintf(cell + strlen(cell), 16, "%s%d-%d", cell[0] != '\0' ? "," : "", (int)opsets[i], (int)opsets[last]);
            i = last;
        }
    }
    write_text("  %-10s%s", cell[0] != '\0' ? cell : "-", "");
}

static void write_line(const rmsnorm_operator *op, const char *domain, rmsnorm_dtype input, rmsnorm_dtype scale)
{
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM, RIG_ALONE};
    write_text("%-10s%-10s", rmsnorm_dtype_name(input), is_skip(op) ? "" : rmsnorm_dtype_name(scale));
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        bool there[OPSETS];
        for (size_t i = 0; i < OPSETS; i++) {
            bytes model = node_model(op, domain, input, scale, opsets[i]);
            there[i] = runs(modes[m], &model, input, scale);
            release(&model);
        }
        write_cell(there);
    }
    while (text[strlen(text) - 1] == ' ') {
        text[strlen(text) - 1] = '\0';
    }
    write_text("\n%s%s", "", "");
}

static void write_operator(const rmsnorm_operator *op, const char *domain)
{
    write_text("\n%s::%s\n", domain[0] != '\0' ? domain : "ai.onnx", op->name);
    write_text("%s%s", is_skip(op) ? "all types           " : "X         scale     ",
               "  provider    as in 1.23  custom      alone\n");
    for (size_t t = 0; t < 4; t++) {
        for (size_t v = 0; v < 4; v++) {
            if (!is_skip(op) || v == t) {
                write_line(op, domain, types[t], types[v]);
            }
        }
    }
}

static void table_is_what_is_so(void **state)
{
    (void)state;
    const char *const chosen = getenv("RMSNORM_ORT_LIBRARY");
    if (chosen != NULL && chosen[0] != '\0') {
        print_message("not run with another runtime than the table's\n");
        skip();
    }
    write_text("ONNX Runtime %s: opsets of 13 to 25 in which a node runs%s\n", ort_base->GetVersionString(), "");
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
        write_operator(op, op->domain);
        if (op->other_domain != NULL) {
            write_operator(op, op->other_domain);
        }
    }
    bytes wanted = {0};
    if (target != NULL) {
        put(&wanted, text, strlen(text));
        save(target, &wanted);
    } else {
        wanted = load(CAPABILITIES);
        put(&wanted, "", 1);
        assert_string_equal((const char *)wanted.data, text);
    }
    release(&wanted);
}

int main(int count, char **arguments)
{
    target = count > 1 ? arguments[1] : NULL;
    if (setenv("RMSNORM_ORT_MICROSOFT_SPELLING", "1", 1) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_what_is_so),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
