/* Memory that ends anywhere, in every call of rmsnorm.h, rewrite.h, graph.h and package.h. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/models.h"
#include "hardening/memory.h"
#include "package/support.h"
#include "rmsnorm/graph.h"
#include "rmsnorm/package.h"

/* ---- rmsnorm.h ------------------------------------------------------------------------------- */

enum { ROWS = 6, WIDTH = 33 };

/* The skip operator with every output: [6, 33] of float. */
typedef struct skip_call {
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    float x[ROWS * WIDTH], gamma[WIDTH], y[4][ROWS * WIDTH];
    rmsnorm_tensor in[4], out[4];
    const rmsnorm_tensor *inputs[4];
    rmsnorm_tensor *outputs[4];
} skip_call;

static void skip_start(skip_call *c)
{
    memset(c, 0, sizeof *c);
    c->op = rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNormalization", 1);
    rmsnorm_attributes_init(c->op, &c->attributes);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        c->x[i] = (float)(i % 7) - 2.5F;
        c->gamma[i % WIDTH] = 1.0F + (float)(i % 3);
    }
    for (int i = 0; i < 4; i++) {
        c->in[i] = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {ROWS, WIDTH}, .data = c->x};
        c->out[i] = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {ROWS, WIDTH}, .data = c->y[i]};
        if (i == 1 || i == 2) {
            c->out[i].dims[1] = 1;
        }
        if (i >= 2) {
            c->in[i] = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {WIDTH}, .data = c->gamma};
        }
        c->inputs[i] = &c->in[i];
        c->outputs[i] = &c->out[i];
    }
}

static rmsnorm_status describe(void)
{
    skip_call c;
    rmsnorm_isa isa;
    rmsnorm_memory memory;
    rmsnorm_constraints constraints;
    rmsnorm_tensor inferred[4];
    rmsnorm_tensor *outputs[4];
    char text[128];
    skip_start(&c);
    memset(inferred, 0, sizeof inferred);
    for (size_t i = 0; i < 4; i++) {
        outputs[i] = &inferred[i];
    }
    c.in[0].dims[0] = RMSNORM_UNKNOWN;
    c.in[0].dim_names[0] = "S";
    assert_non_null(rmsnorm_operator_parse("RMSNormalization"));
    assert_non_null(rmsnorm_operator_at(2));
    assert_null(rmsnorm_operator_find("", "SimplifiedLayerNormalisation", 0));
    assert_int_equal(rmsnorm_attributes_parse(c.op, &c.attributes, "epsilon=nothing"), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(rmsnorm_dtype_from_name("float16"), RMSNORM_FLOAT16);
    assert_string_equal(rmsnorm_dtype_name(RMSNORM_FLOAT16), "float16");
    assert_int_equal(rmsnorm_dtype_size(RMSNORM_FLOAT16), 2);
    assert_non_null(strchr(rmsnorm_version(), '.'));
    assert_string_equal(rmsnorm_isa_name(RMSNORM_ISA_SCALAR), "scalar");
    assert_true(rmsnorm_isa_compiled(RMSNORM_ISA_SCALAR) && rmsnorm_isa_runnable(RMSNORM_ISA_SCALAR));
    assert_int_equal(rmsnorm_tensor_count(&c.in[1]), ROWS * WIDTH);
    CALL_TRY(rmsnorm_attributes_parse(c.op, &c.attributes, "epsilon=1e-6"));
    CALL_TRY(rmsnorm_attributes_set_float(c.op, &c.attributes, "epsilon", 1e-6F));
    CALL_TRY(rmsnorm_attributes_set_int(rmsnorm_operator_at(0), &c.attributes, "axis", -1));
    CALL_TRY(rmsnorm_isa_from_name("scalar", &isa));
    CALL_TRY(rmsnorm_isa_in_use(RMSNORM_ISA_AUTO, &isa));
    CALL_TRY(rmsnorm_infer(c.op, &c.attributes, c.inputs, 4, outputs, 4, &constraints));
    assert_true(constraints.count > 0);
    assert_true(rmsnorm_constraint_format(c.op, c.inputs, &constraints.items[0], text, sizeof text) > 0);
    return rmsnorm_peak_memory(c.op, &c.attributes, c.inputs, 4, outputs, 4, RMSNORM_DEVICE_CPU, &memory);
}

static rmsnorm_status run_in_this_thread(void)
{
    static skip_call c; /* of a size that a small stack need not hold */
    double sums[ROWS];
    skip_start(&c);
    CALL_TRY(rmsnorm_run(c.op, &c.attributes, c.inputs, 4, c.outputs, 4, NULL));
    const rmsnorm_rows rows = {.rows = ROWS,
                               .hidden_size = WIDTH,
                               .dtype = RMSNORM_FLOAT,
                               .gamma_dtype = RMSNORM_FLOAT,
                               .epsilon = 1e-5F,
                               .input = c.x,
                               .input_stride = WIDTH,
                               .gamma = c.gamma,
                               .output = c.y[0],
                               .output_stride = WIDTH};
    rmsnorm_rows_run(&rows, 0, ROWS, RMSNORM_ISA_AUTO);
    rmsnorm_partial_sums(&rows, 0, ROWS, sums, RMSNORM_ISA_AUTO);
    rmsnorm_partial_normalize(&rows, 0, ROWS, sums, WIDTH, RMSNORM_ISA_AUTO);
    return RMSNORM_OK;
}

static rmsnorm_pool *pool;

/* Rows that are split, and rows that are shared out. */
static rmsnorm_status run_on_the_pool(void)
{
    enum { LONG = 1 << 18 };
    static float x[LONG], y[LONG], gamma[LONG];
    const rmsnorm_operator *const op = rmsnorm_operator_at(0);
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    options.runner = rmsnorm_pool_runner(pool);
    for (int64_t rows = 1; rows <= 64; rows *= 64) {
        rmsnorm_tensor in[] = {{.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {rows, LONG / rows}, .data = x},
                               {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {LONG / rows}, .data = gamma}};
        rmsnorm_tensor out = in[0];
        out.data = y;
        CALL_TRY(rmsnorm_run(op, NULL, (const rmsnorm_tensor *const[]){&in[0], &in[1]}, 2, (rmsnorm_tensor *[]){&out},
                             1, &options));
    }
    return RMSNORM_OK;
}

static void test_what_computes_needs_no_memory(void **state)
{
    (void)state;
    memory_none("schema, inference and peak memory", describe);
    memory_none("a run in this thread", run_in_this_thread);
    assert_int_equal(rmsnorm_pool_create(3, &pool), RMSNORM_OK);
    memory_none("a run on a pool", run_on_the_pool);
    rmsnorm_pool_destroy(pool);
}

static rmsnorm_status make_pool(void)
{
    rmsnorm_pool *made = UNTOUCHED;
    const rmsnorm_status status = rmsnorm_pool_create(3, &made);
    if (status != RMSNORM_OK) {
        assert_no_handle(made);
        return status;
    }
    rmsnorm_pool_destroy(made);
    return RMSNORM_OK;
}

static rmsnorm_status run_and_allocate(void)
{
    static skip_call c;
    skip_start(&c);
    rmsnorm_tensor before[4];
    for (size_t i = 0; i < 4; i++) {
        memset(&c.out[i], 0, sizeof c.out[i]);
    }
    memcpy(before, c.out, sizeof before);
    const rmsnorm_status status = rmsnorm_run_alloc(c.op, &c.attributes, c.inputs, 4, c.outputs, 4, NULL);
    if (status != RMSNORM_OK) {
        assert_memory_equal(c.out, before, sizeof before);
        return status;
    }
    for (size_t i = 0; i < 4; i++) {
        rmsnorm_tensor_release(&c.out[i], NULL);
    }
    return RMSNORM_OK;
}

static void test_pools_and_outputs(void **state)
{
    (void)state;
    memory_sweep("a pool", make_pool, 0, 1);
    memory_sweep("outputs", run_and_allocate, 0, 4);
}

/* ---- rewrite.h ------------------------------------------------------------------------------- */

static rmsnorm_status add_value(rmsnorm_ir *ir, const char *name, const rmsnorm_tensor *type, size_t *index)
{
    return rmsnorm_ir_add_value(
        ir, &(rmsnorm_ir_value){.name = name, .type = *type, .constant = type->data != NULL, .maker = RMSNORM_NO_INDEX},
        index);
}

static rmsnorm_status add_node(rmsnorm_ir *ir, const char *op_type, const size_t *inputs, size_t count, size_t output,
                               const rmsnorm_node_attribute *axes)
{
    size_t index;
    return rmsnorm_ir_add_node(ir,
                               &(rmsnorm_ir_node){.name = "",
                                                  .op_type = op_type,
                                                  .domain = "",
                                                  .inputs = inputs,
                                                  .input_count = count,
                                                  .outputs = &output,
                                                  .output_count = 1,
                                                  .attributes = axes,
                                                  .attribute_count = axes != NULL,
                                                  .origin = 0},
                               &index);
}

/* x + skip, then a chain over it. */
static rmsnorm_status build_graph(rmsnorm_ir *ir)
{
    static const char *const names[] = {"x",    "skip",  "epsilon", "gamma",  "sum", "square",
                                        "mean", "moved", "root",    "scaled", "y"};
    static float epsilon = 1e-5F;
    static const int64_t last[] = {-1};
    static const rmsnorm_node_attribute axes = {
        .name = "axes", .kind = RMSNORM_NODE_ATTRIBUTE_INTS, .ints = last, .count = 1};
    const rmsnorm_tensor rows = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {RMSNORM_UNKNOWN, 8}, .dim_names = {"S"}};
    const rmsnorm_tensor number = {.dtype = RMSNORM_FLOAT, .rank = 0, .data = &epsilon};
    const rmsnorm_tensor scale = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {8}};
    const rmsnorm_tensor unknown = {.rank = RMSNORM_UNKNOWN};
    const rmsnorm_tensor *const types[] = {&rows, &rows, &number, &scale};
    size_t v[11];
    CALL_TRY(rmsnorm_ir_set_opset(ir, "", 17));
    CALL_TRY(rmsnorm_ir_set_opset(ir, "com.microsoft", 1));
    CALL_TRY(rmsnorm_ir_add_function(ir, "com.example", "Own"));
    for (size_t i = 0; i < 11; i++) {
        CALL_TRY(rmsnorm_ir_add_value(ir,
                                      &(rmsnorm_ir_value){.name = names[i],
                                                          .type = i < 4 ? *types[i] : unknown,
                                                          .open = i >= 4,
                                                          .constant = i == 2,
                                                          .output = i == 10,
                                                          .maker = RMSNORM_NO_INDEX},
                                      &v[i]));
    }
    CALL_TRY(add_node(ir, "Add", (size_t[]){v[0], v[1]}, 2, v[4], NULL));
    CALL_TRY(add_node(ir, "Mul", (size_t[]){v[4], v[4]}, 2, v[5], NULL));
    CALL_TRY(add_node(ir, "ReduceMean", &v[5], 1, v[6], &axes));
    CALL_TRY(add_node(ir, "Add", (size_t[]){v[6], v[2]}, 2, v[7], NULL));
    CALL_TRY(add_node(ir, "Sqrt", &v[7], 1, v[8], NULL));
    CALL_TRY(add_node(ir, "Div", (size_t[]){v[4], v[8]}, 2, v[9], NULL));
    CALL_TRY(add_node(ir, "Mul", (size_t[]){v[9], v[3]}, 2, v[10], NULL));
    size_t inside;
    size_t index;
    CALL_TRY(rmsnorm_ir_add_graph(ir, 0, &inside));
    return add_value(ir, "inside", &rows, &index);
}

static bool is_fused(const rmsnorm_ir *ir)
{
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); i++) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(ir, i);
        if (!node->gone && strcmp(node->op_type, "SkipSimplifiedLayerNormalization") == 0) {
            return true;
        }
    }
    return false;
}

/* The norm among the nodes: what it is, and whether a later opset leaves it as it is. */
static rmsnorm_status resolve_graph(const rmsnorm_ir *ir)
{
    size_t norms = 0;
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); i++) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(ir, i);
        const rmsnorm_operator *op;
        rmsnorm_attributes attributes;
        if (rmsnorm_ir_resolve(ir, i, &op, &attributes) == RMSNORM_OK) {
            rmsnorm_attributes again;
            CALL_TRY(rmsnorm_attributes_read(op, node->attributes, node->attribute_count, &again));
            assert_true(again.epsilon == attributes.epsilon);
            norms++;
        }
        CALL_TRY(rmsnorm_opset_check_raise(node, 17, 17));
    }
    assert_int_equal(rmsnorm_opset_check_raise(rmsnorm_ir_node_at(ir, 0), 17, 16), RMSNORM_UNSUPPORTED);
    assert_true(norms > 0);
    return RMSNORM_OK;
}

static rmsnorm_ir *shown;

static rmsnorm_status show_graph(void)
{
    size_t count;
    assert_int_equal(rmsnorm_ir_opset(shown, "com.microsoft"), 1);
    assert_int_equal(rmsnorm_ir_graph_at(shown, rmsnorm_ir_graph_count(shown) - 1)->owner, 0);
    assert_string_equal(rmsnorm_ir_value_at(shown, rmsnorm_ir_value_count(shown) - 1)->name, "inside");
    assert_string_equal(rmsnorm_target_name(RMSNORM_TARGET_ONNX), "onnx");
    rmsnorm_ir_fix_opset(shown, "nothing is to change");
    (void)rmsnorm_ir_findings(shown, &count);
    (void)rmsnorm_ir_faults(shown, &count);
    return RMSNORM_OK;
}

static rmsnorm_status rewrite_graph(rmsnorm_ir *ir)
{
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.residuals = RMSNORM_RESIDUALS_FUSE;
    size_t count;
    CALL_TRY(build_graph(ir));
    CALL_TRY(rmsnorm_ir_infer(ir));
    CALL_TRY(rmsnorm_ir_fuse(ir, &options));
    assert_true(is_fused(ir));
    (void)rmsnorm_ir_findings(ir, &count);
    assert_true(count > 0);
    CALL_TRY(resolve_graph(ir));
    CALL_TRY(rmsnorm_ir_convert(ir, RMSNORM_TO_RMS_NORMALIZATION));
    assert_false(is_fused(ir));
    CALL_TRY(rmsnorm_ir_convert(ir, RMSNORM_TO_DECOMPOSED));
    return rmsnorm_ir_infer(ir);
}

static rmsnorm_status rewrite(void)
{
    rmsnorm_ir *ir = UNTOUCHED;
    rmsnorm_status status = rmsnorm_ir_create(0, &ir);
    if (status != RMSNORM_OK) {
        assert_no_handle(ir);
        return status;
    }
    status = rewrite_graph(ir);
    if (status != RMSNORM_OK) { /* whatever is left can be looked at, worked on and freed */
        size_t count;
        char sentence[512];
        (void)snprintf(sentence, sizeof sentence, "%s", rmsnorm_last_error());
        memory_succeed();
        (void)rmsnorm_ir_findings(ir, &count);
        (void)rmsnorm_ir_faults(ir, &count);
        (void)rmsnorm_ir_infer(ir);
        (void)rmsnorm_ir_fuse(ir, NULL);
        assert_true(sentence[0] != '\0');
    }
    rmsnorm_ir_free(ir);
    return status;
}

static void test_rewriting(void **state)
{
    (void)state;
    memory_sweep("a graph by hand", rewrite, 0, 5);
    assert_int_equal(rmsnorm_ir_create(0, &shown), RMSNORM_OK);
    assert_int_equal(build_graph(shown), RMSNORM_OK);
    memory_none("a look at a graph", show_graph);
    rmsnorm_ir_free(shown);
}

/* ---- graph.h --------------------------------------------------------------------------------- */

static const char *tensor_path;

static rmsnorm_status read_tensor(void)
{
    rmsnorm_tensor tensor;
    memset(&tensor, 0x5A, sizeof tensor);
    rmsnorm_tensor before = tensor;
    const char *name = UNTOUCHED;
    const rmsnorm_status status = rmsnorm_tensor_read(path_of(tensor_path), &tensor, &name);
    if (status != RMSNORM_OK) {
        assert_memory_equal(&tensor, &before, sizeof tensor);
        assert_ptr_equal(name, UNTOUCHED);
        return status;
    }
    assert_int_equal(((const unsigned char *)tensor.data)[0], 1);
    rmsnorm_tensor_file_release(&tensor);
    return RMSNORM_OK;
}

/* The file that was there stays as it was. */
static rmsnorm_status write_tensor(void)
{
    unsigned char values[24] = {1, 2, 3};
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 3}, .data = values};
    const size_t files = directory_count();
    const char *const path = path_of(tensor_path);
    CALL_TRY(rmsnorm_tensor_write_check(path, "w"));
    const rmsnorm_status status = rmsnorm_tensor_write(path, &tensor, "w");
    memory_succeed(); /* what follows is the test's own */
    assert_true(directory_count() == files);
    bytes content = load(path);
    assert_true(content.size > sizeof values);
    release(&content);
    return status;
}

static rmsnorm_status write_bytes(void)
{
    const char *const path = path_of("bytes");
    const size_t before = directory_count();
    const rmsnorm_status status = rmsnorm_bytes_write(path, "new", 3);
    memory_succeed(); /* what follows is the test's own */
    bytes content = load(path);
    assert_true(directory_count() == before);
    assert_memory_equal(content.data, status == RMSNORM_OK ? "new" : "old", 3);
    release(&content);
    bytes old = {NULL, 0, 0};
    put_text(&old, "old");
    save(path, &old);
    release(&old);
    return status;
}

/* The system's own request, for the name behind the links to a file that is there. */
static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(rmsnorm_bytes_write(path_of("bytes"), "old", 3), RMSNORM_OK);
    memory_sweep("a file of bytes", write_bytes, 0, 1);
    assert_int_equal(remove(path_of("bytes")), 0);
}

static void test_tensor_files(void **state)
{
    (void)state;
    static const char *const names[] = {"w.npy", "w.pb", "w.safetensors"};
    unsigned char values[24] = {1, 2, 3};
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 3}, .data = values};
    for (size_t i = 0; i < 3; i++) {
        tensor_path = names[i];
        assert_int_equal(rmsnorm_tensor_write(path_of(names[i]), &tensor, "w"), RMSNORM_OK);
        memory_sweep(names[i], read_tensor, i == 2 ? BIT(RMSNORM_MALFORMED) : 0, 2); /* jansson says: bad JSON */
        memory_sweep(names[i], write_tensor, i == 2 ? BIT(RMSNORM_MALFORMED) : 0, 1);
        assert_int_equal(remove(path_of(names[i])), 0);
    }
}

static const char *model_name;

static rmsnorm_status read_model_file(void)
{
    rmsnorm_model *model = UNTOUCHED;
    rmsnorm_status status = rmsnorm_model_read(path_of(model_name), &model);
    if (status != RMSNORM_OK) {
        assert_no_handle(model);
        return status;
    }
    const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
    for (size_t i = 0; i < graph->node_count && status != RMSNORM_OUT_OF_MEMORY; i++) {
        const rmsnorm_operator *op;
        rmsnorm_attributes attributes;
        status = rmsnorm_node_resolve(model, &graph->nodes[i], &op, &attributes);
    }
    (void)rmsnorm_model_opset(model, "");
    rmsnorm_model_free(model);
    return status == RMSNORM_OUT_OF_MEMORY ? status : RMSNORM_OK;
}

static rmsnorm_status rewrite_document(rmsnorm_document *document)
{
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    CALL_TRY(rmsnorm_ir_infer(ir));
    CALL_TRY(rmsnorm_ir_fuse(ir, NULL));
    CALL_TRY(rmsnorm_ir_convert(ir, RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION));
    return rmsnorm_document_save(document, path_of("saved.onnx"), NULL);
}

/* A result that fails leaves no file. */
static rmsnorm_status rewrite_file(void)
{
    rmsnorm_document *document = UNTOUCHED;
    const size_t files = directory_count();
    rmsnorm_status status = rmsnorm_document_open(path_of(model_name), &document);
    if (status != RMSNORM_OK) {
        assert_no_handle(document);
        return status;
    }
    status = rewrite_document(document);
    rmsnorm_document_free(document);
    memory_succeed();
    assert_int_equal(directory_count(), files + (status == RMSNORM_OK));
    if (status == RMSNORM_OK) {
        assert_int_equal(remove(path_of("saved.onnx")), 0);
    }
    return status;
}

static void test_models(void **state)
{
    (void)state;
    static const char *const names[] = {"rich.onnx", "chain.onnx", "strange.onnx"};
    bytes (*const makers[])(void) = {rich_model, chain_model, strange_model};
    for (size_t i = 0; i < 3; i++) {
        model_name = names[i];
        bytes file = makers[i]();
        save(path_of(model_name), &file);
        release(&file);
        if (i < 2) { /* the strange one is refused as a model to run */
            memory_sweep(names[i], read_model_file, 0, 20);
        }
        memory_sweep(names[i], rewrite_file, 0, 20);
        assert_int_equal(remove(path_of(model_name)), 0);
    }
}

/* ---- package.h ------------------------------------------------------------------------------- */

static const rmsnorm_operator *planned;

static rmsnorm_status plan_request(const rmsnorm_package *package)
{
    const rmsnorm_tensor rows = {.dtype = RMSNORM_FLOAT16, .rank = 2, .dims = {3, 64}};
    const rmsnorm_tensor scale = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {64}};
    rmsnorm_device_profile device = RMSNORM_DEVICE_PROFILE_INIT;
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    rmsnorm_plan *plan = UNTOUCHED;
    CALL_TRY(rmsnorm_device_profile_set(&device, "maxStorageBufferBindingSize", 4096));
    const bool skip = planned->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    request.device = &device;
    request.inputs[0] = &rows;
    request.inputs[1] = skip ? &rows : &scale;
    request.inputs[2] = skip ? &scale : NULL;
    const rmsnorm_status status = rmsnorm_plan_make(package, &request, &plan);
    if (status != RMSNORM_OK) {
        assert_no_handle(plan);
        return status;
    }
    assert_true(plan->pass_count > 0);
    rmsnorm_plan_release(plan);
    return RMSNORM_OK;
}

static rmsnorm_status open_and_plan(void)
{
    rmsnorm_package *package = UNTOUCHED;
    rmsnorm_package_info info;
    size_t size;
    rmsnorm_status status = rmsnorm_package_open_operator(planned->domain, planned->name, &package);
    if (status != RMSNORM_OK) {
        assert_no_handle(package);
        return status;
    }
    rmsnorm_package_describe(package, &info);
    assert_true(info.plans);
    assert_non_null(rmsnorm_package_text(package, "manifest.json", &size));
    assert_null(rmsnorm_package_text(package, "nothing.json", &size));
    status = plan_request(package);
    rmsnorm_package_close(package);
    return status;
}

static rmsnorm_package *opened;

static rmsnorm_status plan_opened(void)
{
    return plan_request(opened);
}

static rmsnorm_package_file files[PARCEL_FILES];
static size_t file_count;

static rmsnorm_status open_in_memory(void)
{
    for (int verified = 0; verified < 2; verified++) {
        rmsnorm_package *package = UNTOUCHED;
        const rmsnorm_status status =
            (verified == 1 ? rmsnorm_package_open_verified : rmsnorm_package_open_files)(files, file_count, &package);
        if (status != RMSNORM_OK) {
            assert_no_handle(package);
            return status;
        }
        rmsnorm_package_close(package);
    }
    return RMSNORM_OK;
}

static rmsnorm_status open_and_seal_folder(void)
{
    for (int seal = 0; seal < 2; seal++) {
        rmsnorm_package *package = UNTOUCHED;
        const rmsnorm_status status =
            (seal == 1 ? rmsnorm_package_seal : rmsnorm_package_open)(KERNELS "/ai.onnx.RMSNormalization", &package);
        if (status != RMSNORM_OK) {
            assert_no_handle(package);
            return status;
        }
        rmsnorm_package_close(package);
    }
    return RMSNORM_OK;
}

static rmsnorm_status render(void)
{
    static const char source[] =
        "{% for i in [1, 2] %}{{ a ~ i }}{% macro m(x) %}{{ x }}{% endmacro %}{{ m(i) }}{% endfor %}";
    char *text = UNTOUCHED;
    const rmsnorm_status status =
        rmsnorm_template_render_json("t", source, sizeof source - 1, "{\"a\": [1, {\"b\": \"c\"}]}", &text);
    if (status != RMSNORM_OK) {
        assert_no_handle(text);
        return status;
    }
    free(text);
    return RMSNORM_OK;
}

static void test_packages_and_plans(void **state)
{
    (void)state;
    for (size_t i = 0; (planned = rmsnorm_operator_at(i)) != NULL; i++) {
        assert_int_equal(rmsnorm_package_open_operator(planned->domain, planned->name, &opened), RMSNORM_OK);
        memory_sweep("a plan", plan_opened, 0, 2);
        memory_sweep("a package that is compiled in", open_and_plan, BIT(RMSNORM_MALFORMED), 20);
        rmsnorm_package_close(opened);
    }
}

static void test_packages_from_files(void **state)
{
    (void)state;
    parcel all = parcel_make();
    file_count = all.count;
    memcpy(files, all.files, all.count * sizeof files[0]);
    memory_sweep("a package in memory", open_in_memory, BIT(RMSNORM_MALFORMED), 20); /* jansson says: bad JSON */
    parcel_free(&all);
    memory_sweep("a package in a folder", open_and_seal_folder, BIT(RMSNORM_MALFORMED), 20);
}

static void test_templates(void **state)
{
    (void)state;
    memory_sweep("a template", render, BIT(RMSNORM_MALFORMED), 3);
}

int main(void)
{
    memory_begin(500);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_computes_needs_no_memory),
        cmocka_unit_test(test_pools_and_outputs),
        cmocka_unit_test(test_rewriting),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_tensor_files),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_packages_and_plans),
        cmocka_unit_test(test_packages_from_files),
        cmocka_unit_test(test_templates),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
