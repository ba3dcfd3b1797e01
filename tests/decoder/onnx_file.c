#include "decoder/onnx_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/convert.h"
#include "decoder/onnx_write.h"
#include "operator/arena.h"

enum { EXTERNAL_LEAST = 1024, EXTERNAL_ALIGNMENT = 4096, NAME_MAXIMUM = 256, SAME_SCOPE = 256 };

struct onnx_node {
    Onnx__NodeProto proto;
};

struct onnx_file {
    onnx_file_options options;
    rmsnorm_arena arena;
    Onnx__ModelProto *model;
    Onnx__GraphProto *graph;
    onnx_value last; /* output of the last node */
    char scope[NAME_MAXIMUM];
    FILE *external;
    int64_t external_size;
    uint64_t random;
    onnx_file_size size;
    bool failed;
    char why[256];
};

/* The first failure counts. */
static void fail(onnx_file *file, const char *path, const char *what)
{
    if (!file->failed) {
        file->failed = true;
        snprintf(file->why, sizeof file->why, "%.180s: %.70s", path, what);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* These are programs for tests: without memory they end. */
static void *room(onnx_file *file, size_t size)
{
    void *const memory = rmsnorm_arena_allocate(&file->arena, size);
    if (memory == NULL) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        exit(2);
    }
    return memory;
}

static char *text(onnx_file *file, const char *from)
{
    const size_t size = strlen(from) + 1;
    return memcpy(room(file, size), from, size);
}

/* The list with one more; its capacity is the next power of two. */
static void *appended(onnx_file *file, void *items, size_t *count, void *item)
{
    void **list = items;
    if ((*count & (*count - 1)) == 0) {
        void **const larger = room(file, (*count == 0 ? 1 : *count * 2) * sizeof *list);
        if (*count > 0) {
            memcpy(larger, list, *count * sizeof *list);
        }
        list = larger;
    }
    list[(*count)++] = item;
    return list;
}

#define APPEND(file, list, count, item) ((list) = appended((file), (list), &(count), (item)))

static void *message(onnx_file *file, const ProtobufCMessageDescriptor *kind)
{
    void *const made = room(file, kind->sizeof_message);
    protobuf_c_message_init(kind, made);
    return made;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static Onnx__TensorShapeProto__Dimension *dimension(onnx_file *file, int64_t dim)
{
    Onnx__TensorShapeProto__Dimension *const made = message(file, &onnx__tensor_shape_proto__dimension__descriptor);
    if (dim >= 0) {
        made->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        made->dim_value = dim;
    } else {
        made->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        made->dim_param = text(file, dim == ONNX_BATCH ? ONNX_BATCH_NAME : ONNX_SEQUENCE_NAME);
    }
    return made;
}

static Onnx__ValueInfoProto *value_info(onnx_file *file, const char *name, const onnx_value *type)
{
    Onnx__ValueInfoProto *const info = message(file, &onnx__value_info_proto__descriptor);
    Onnx__TypeProto__Tensor *const tensor = message(file, &onnx__type_proto__tensor__descriptor);
    info->name = text(file, name);
    info->type = message(file, &onnx__type_proto__descriptor);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    info->type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = type->dtype;
    tensor->shape = message(file, &onnx__tensor_shape_proto__descriptor);
    for (size_t i = 0; i < type->rank; i++) {
        APPEND(file, tensor->shape->dim, tensor->shape->n_dim, dimension(file, type->dims[i]));
    }
    return info;
}

static onnx_value named(onnx_file *file, const char *name, const onnx_value *type)
{
    onnx_value value = *type;
    value.name = text(file, name);
    return value;
}

/* ---- Weights --------------------------------------------------------------------------------- */

static size_t size_of(int32_t dtype)
{
    return dtype == ONNX_INT64 ? sizeof(int64_t) : rmsnorm_dtype_size((rmsnorm_dtype)dtype);
}

static void put_element(int32_t dtype, void *data, size_t index, double value)
{
    uint16_t *const narrow = data;
    switch (dtype) {
    case RMSNORM_FLOAT16:
        narrow[index] = f16_of_float((float)value);
        break;
    case RMSNORM_BFLOAT16:
        narrow[index] = bf16_of_float((float)value);
        break;
    default:
        ((float *)data)[index] = (float)value;
        break;
    }
}

/* Uniform in [-1, 1): xorshift64*. */
static double next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 2685821657736338717u) >> 11) * 0x1p-52 - 1.0;
}

static void fill(onnx_file *file, int32_t dtype, void *data, size_t count, double centre, double spread)
{
    for (size_t i = 0; i < count; i++) {
        put_element(dtype, data, i, centre + spread * next_random(&file->random));
    }
}

static Onnx__TensorProto *tensor(onnx_file *file, const char *name, int32_t dtype, const int64_t *dims, size_t rank)
{
    Onnx__TensorProto *const made = message(file, &onnx__tensor_proto__descriptor);
    made->name = name != NULL ? text(file, name) : NULL;
    made->has_data_type = 1;
    made->data_type = dtype;
    if (rank > 0) {
        made->n_dims = rank;
        made->dims = memcpy(room(file, rank * sizeof *dims), dims, rank * sizeof *dims);
    }
    return made;
}

static void set_raw(onnx_file *file, Onnx__TensorProto *to, const void *data, size_t bytes)
{
    to->has_raw_data = 1;
    to->raw_data.len = bytes;
    to->raw_data.data = onnx_hole;
    if (data != NULL) {
        to->raw_data.data = memcpy(room(file, bytes), data, bytes);
    }
}

static void add_entry(onnx_file *file, Onnx__TensorProto *to, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *const entry = message(file, &onnx__string_string_entry_proto__descriptor);
    entry->key = text(file, key);
    entry->value = text(file, value);
    APPEND(file, to->external_data, to->n_external_data, entry);
}

static void set_external(onnx_file *file, Onnx__TensorProto *to, const void *data, size_t bytes)
{
    const int64_t offset =
        (file->external_size + EXTERNAL_ALIGNMENT - 1) / EXTERNAL_ALIGNMENT * (int64_t)EXTERNAL_ALIGNMENT;
    const char *const slash = strrchr(file->options.external, '/');
    char number[32];
    to->has_data_location = 1;
    to->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    add_entry(file, to, "location", slash != NULL ? slash + 1 : file->options.external);
    snprintf(number, sizeof number, "%" PRId64, offset);
    add_entry(file, to, "offset", number);
    snprintf(number, sizeof number, "%zu", bytes);
    add_entry(file, to, "length", number);
    file->external_size = offset + (int64_t)bytes;
    if (data != NULL && file->external != NULL &&
        (fseeko(file->external, (off_t)offset, SEEK_SET) != 0 || fwrite(data, 1, bytes, file->external) != bytes)) {
        fail(file, file->options.external, strerror(errno));
    }
}

onnx_value onnx_file_weight(onnx_file *file, const char *name, const onnx_value *type, double centre, double spread)
{
    size_t count = 1;
    for (size_t i = 0; i < type->rank; i++) {
        count *= (size_t)type->dims[i];
    }
    const size_t bytes = count * size_of(type->dtype);
    Onnx__TensorProto *const made = tensor(file, name, type->dtype, type->dims, type->rank);
    void *const data = file->options.random ? malloc(bytes) : NULL;
    if (data != NULL) {
        fill(file, type->dtype, data, count, centre, spread);
    } else if (file->options.random) {
        fail(file, name, "out of memory for a weight");
    }
    if (file->options.external != NULL && bytes >= EXTERNAL_LEAST) {
        set_external(file, made, data, bytes);
    } else {
        set_raw(file, made, data, bytes);
    }
    free(data);
    APPEND(file, file->graph->initializer, file->graph->n_initializer, made);
    file->size.weights += (int64_t)count;
    file->size.weight_bytes += (int64_t)bytes;
    return named(file, name, type);
}

onnx_value onnx_file_integers(onnx_file *file, const char *name, const int64_t *values, size_t count)
{
    const onnx_value type = {.dtype = ONNX_INT64, .rank = 1, .dims = {(int64_t)count}};
    Onnx__TensorProto *const made = tensor(file, name, type.dtype, type.dims, type.rank);
    set_raw(file, made, values, count * sizeof *values);
    APPEND(file, file->graph->initializer, file->graph->n_initializer, made);
    return named(file, name, &type);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

void onnx_file_scope(onnx_file *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->scope, sizeof file->scope, format, arguments);
    va_end(arguments);
}

static bool is_taken(const onnx_file *file, const char *name)
{
    const size_t count = file->graph->n_node;
    for (size_t i = 0; i < count && i < SAME_SCOPE; i++) {
        if (strcmp(file->graph->node[count - 1 - i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "/model/norm/Mul", then "/model/norm/Mul_1". */
static void name_node(const onnx_file *file, const char *kind, char name[2 * NAME_MAXIMUM])
{
    snprintf(name, 2 * (size_t)NAME_MAXIMUM, "%s/%s", file->scope, kind);
    for (unsigned next = 1; is_taken(file, name); next++) {
        snprintf(name, 2 * (size_t)NAME_MAXIMUM, "%s/%s_%u", file->scope, kind, next);
    }
}

onnx_node *onnx_file_node(onnx_file *file, const char *kind, const onnx_value *first, const onnx_value *second,
                          const onnx_value *type, onnx_value *output)
{
    char name[2 * NAME_MAXIMUM];
    char output_name[2 * NAME_MAXIMUM + 16];
    name_node(file, kind, name);
    snprintf(output_name, sizeof output_name, "%s_output_0", name);
    *output = named(file, output_name, type);
    onnx_node *const node = message(file, &onnx__node_proto__descriptor);
    node->proto.name = text(file, name);
    node->proto.op_type = text(file, kind);
    for (int i = 0; i < 2; i++) {
        const onnx_value *const input = i == 0 ? first : second;
        if (input != NULL) {
            APPEND(file, node->proto.input, node->proto.n_input, text(file, input->name));
        }
    }
    APPEND(file, node->proto.output, node->proto.n_output, text(file, output_name));
    if (file->options.value_info && file->last.name != NULL) {
        APPEND(file, file->graph->value_info, file->graph->n_value_info,
               value_info(file, file->last.name, &file->last));
    }
    APPEND(file, file->graph->node, file->graph->n_node, &node->proto);
    file->last = *output;
    file->size.nodes++;
    return node;
}

void onnx_node_input(onnx_file *file, onnx_node *node, const onnx_value *input)
{
    APPEND(file, node->proto.input, node->proto.n_input, text(file, input->name));
}

onnx_value onnx_node_output(onnx_file *file, onnx_node *node, size_t slot, const onnx_value *type)
{
    char name[2 * NAME_MAXIMUM + 16];
    snprintf(name, sizeof name, "%s_output_%zu", node->proto.name, slot);
    while (node->proto.n_output < slot) {
        APPEND(file, node->proto.output, node->proto.n_output, text(file, ""));
    }
    APPEND(file, node->proto.output, node->proto.n_output, text(file, name));
    return named(file, name, type);
}

static void import(onnx_file *file, const char *domain, int64_t version)
{
    for (size_t i = 0; i < file->model->n_opset_import; i++) {
        if (strcmp(file->model->opset_import[i]->domain, domain) == 0) {
            return;
        }
    }
    Onnx__OperatorSetIdProto *const opset = message(file, &onnx__operator_set_id_proto__descriptor);
    opset->domain = text(file, domain);
    opset->has_version = 1;
    opset->version = version;
    APPEND(file, file->model->opset_import, file->model->n_opset_import, opset);
}

void onnx_node_domain(onnx_file *file, onnx_node *node, const char *domain)
{
    node->proto.domain = text(file, domain);
    import(file, domain, 1);
}

static Onnx__AttributeProto *attribute(onnx_file *file, onnx_node *node, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *const made = message(file, &onnx__attribute_proto__descriptor);
    made->name = text(file, name);
    made->has_type = 1;
    made->type = type;
    APPEND(file, node->proto.attribute, node->proto.n_attribute, made);
    return made;
}

void onnx_node_int(onnx_file *file, onnx_node *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *const made = attribute(file, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    made->has_i = 1;
    made->i = value;
}

void onnx_node_ints(onnx_file *file, onnx_node *node, const char *name, const int64_t *values, size_t count)
{
    Onnx__AttributeProto *const made = attribute(file, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    made->n_ints = count;
    made->ints = memcpy(room(file, count * sizeof *values), values, count * sizeof *values);
}

onnx_value onnx_file_scalar(onnx_file *file, int32_t dtype, double value)
{
    const onnx_value type = {.dtype = dtype};
    onnx_value output;
    uint64_t bits = 0;
    onnx_node *const node = onnx_file_node(file, "Constant", NULL, NULL, &type, &output);
    Onnx__AttributeProto *const made = attribute(file, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    put_element(dtype, &bits, 0, value);
    made->t = tensor(file, NULL, dtype, NULL, 0);
    set_raw(file, made->t, &bits, size_of(dtype));
    return output;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The IR version that came with an opset version; 4, the first without weights among the inputs, at least. */
static int64_t ir_version(int64_t opset)
{
    static const int64_t newest_opset[] = {9, 10, 11, 14, 18, 20, 22, 23, 24}; /* of IR versions 4, 5, ... */
    int64_t version = 4;
    for (size_t i = 0; i < sizeof newest_opset / sizeof newest_opset[0]; i++) {
        version += opset > newest_opset[i] ? 1 : 0;
    }
    return version;
}

onnx_file *onnx_file_begin(const onnx_file_options *options)
{
    onnx_file *const file = calloc(1, sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    file->options = *options;
    file->random = options->seed * 2 + 1;
    rmsnorm_arena_init(&file->arena, SIZE_MAX);
    file->model = message(file, &onnx__model_proto__descriptor);
    file->graph = message(file, &onnx__graph_proto__descriptor);
    file->graph->name = text(file, "main_graph");
    file->model->graph = file->graph;
    file->model->has_ir_version = 1;
    file->model->ir_version = ir_version(options->opset);
    file->model->producer_name = text(file, "rmsnorm tests");
    import(file, "", options->opset);
    if (options->external != NULL) {
        file->external = fopen(options->external, "wb");
        if (file->external == NULL) {
            fail(file, options->external, strerror(errno));
        }
    }
    return file;
}

onnx_value onnx_file_input(onnx_file *file, const char *name, const onnx_value *type)
{
    APPEND(file, file->graph->input, file->graph->n_input, value_info(file, name, type));
    return named(file, name, type);
}

void onnx_file_output(onnx_file *file, const char *name)
{
    file->graph->node[file->graph->n_node - 1]->output[0] = text(file, name);
    APPEND(file, file->graph->output, file->graph->n_output, value_info(file, name, &file->last));
    file->last.name = NULL;
}

bool onnx_file_save(onnx_file *file, const char *path, onnx_file_size *size, char why[256])
{
    if (file->external != NULL && !onnx_write_end(file->external, file->external_size)) {
        fail(file, file->options.external, strerror(errno));
    }
    if (!file->failed && onnx__model_proto__get_packed_size(file->model) > INT32_MAX) {
        fail(file, path, "2 GiB or more, which only a file of external data can hold");
    }
    if (!file->failed && !onnx_write(file->model, path)) {
        fail(file, path, strerror(errno));
    }
    *size = file->size;
    const bool good = !file->failed;
    snprintf(why, 256, "%s", file->why);
    rmsnorm_arena_release(&file->arena);
    free(file);
    return good;
}
