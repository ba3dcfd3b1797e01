/* graph.h: ONNX models and tensor files: .onnx, TensorProto .pb, .npy, .safetensors.
 *
 * Files are untrusted: a truncated, oversized, lying or hostile one gives RMSNORM_MALFORMED (or RMSNORM_UNSUPPORTED,
 * RMSNORM_IO) and one sentence in rmsnorm_last_error(); on an error nothing of the caller's is changed. Memory stays
 * within a small multiple of what the file really holds, and 64 MiB. Files may be pipes; directories are refused.
 * Limits: 2 GiB - 1 for .onnx and .pb (protobuf's own), 64 GiB for one tensor of the others. */
#ifndef RMSNORM_GRAPH_H
#define RMSNORM_GRAPH_H

#include "rmsnorm/rewrite.h"
#include "rmsnorm/rmsnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tensor files ---------------------------------------------------------------------------- */

/* Reads one tensor. The format follows the name:
 *   FILE.npy            float16, float32, float64, C order (Fortran order is refused), versions 1 to 3, any byte order
 *   FILE.npy:bfloat16   2-byte items ("<u2", "|V2", "<i2", "<f2") read as bfloat16
 *   FILE.pb             ONNX TensorProto, raw_data or the typed field, the four types; data in other files is refused
 *   FILE.safetensors:TENSOR   F16, BF16, F32, F64; TENSOR may be left out when the file holds one tensor
 *   -                   standard input, the format told by its first bytes (.npy, else TensorProto)
 *   -:bfloat16          standard input, .npy with 2-byte items read as bfloat16
 * A file whose data is shorter or longer than its shape says is refused. On success tensor owns its memory (64-byte
 * aligned, not NULL even without elements); release it with rmsnorm_tensor_file_release. name, if not NULL, receives
 * the tensor's name in the file ("" where the format has none) and is released with the tensor's memory. */
RMSNORM_API rmsnorm_status rmsnorm_tensor_read(const char *path, rmsnorm_tensor *tensor, const char **name);
RMSNORM_API void rmsnorm_tensor_file_release(rmsnorm_tensor *tensor);

/* Writes one tensor, contiguous or row-strided (rows of its last dim, row_stride apart), in the format of the name as
 * above; "-" writes .npy to standard output. bfloat16 goes to FILE.npy:bfloat16 (or -:bfloat16) as "<u2"; plain .npy
 * refuses it with a sentence that says so. name is the tensor's name in .pb (NULL: none); in .safetensors the path
 * names it, else name, else "tensor". The file appears complete or not at all: written beside its final name, then
 * renamed, with the permissions of the file it replaces. A file that is not regular (a device, a pipe) is written to
 * directly. A .safetensors file is written with this one tensor: where a file already holds others, or is of another
 * format, it is refused and stays as it is. */
RMSNORM_API rmsnorm_status rmsnorm_tensor_write(const char *path, const rmsnorm_tensor *tensor, const char *name);

/* Writes a file of these bytes in the same way. Errors: RMSNORM_IO or RMSNORM_OUT_OF_MEMORY, with the
 * system's reason. */
RMSNORM_API rmsnorm_status rmsnorm_bytes_write(const char *path, const void *bytes, size_t size);

/* Refuses what rmsnorm_tensor_write would refuse for its path and name alone: no name of a tensor file, a .safetensors
 * file with other tensors. Nothing is written. */
RMSNORM_API rmsnorm_status rmsnorm_tensor_write_check(const char *path, const char *name);

/* ---- Models ---------------------------------------------------------------------------------- */

typedef struct rmsnorm_model rmsnorm_model;

/* A node as the file has it: inputs and outputs are value names by slot, "" for an omitted one. Attribute names are
 * distinct. */
typedef struct rmsnorm_node {
    const char *name, *op_type, *domain; /* "" where the file has none; domain "ai.onnx" is given as "" */
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    const rmsnorm_node_attribute *attributes;
    size_t attribute_count;
} rmsnorm_node;

/* A named value: a graph input or output (a descriptor; dtype and rank may be unknown) or an initializer (with
 * data). */
typedef struct rmsnorm_value {
    const char *name;
    rmsnorm_tensor tensor; /* a numeric or symbolic shape; everything it points to is owned by the model */
} rmsnorm_value;

/* The main graph, read-only. inputs are the true inputs: those that are not initializers too. Behind them, at
 * inputs[input_count], stand default_count more: declared inputs that an initializer of the same name gives a value,
 * which a caller may replace (ONNX calls it a default). Inputs and outputs of another kind than tensors (sequences,
 * maps, optionals, sparse tensors) are refused. Initializers and tensor
 * attributes of the four element types, int32 and int64 hold their data, in this host's byte order; those of other types
 * keep dtype and shape and have NULL data. No value is defined twice,
 * whether by inputs, initializers or node outputs, and none is listed twice as an output; inputs, outputs and
 * initializers have names. Nodes stand in the file's order. Sparse initializers are refused.
 *
 * Data in other files (external_data) is read into memory, so that a file that changes later changes nothing: a location
 * is relative to the model's folder and stays in or below it, symbolic links followed (where the model's name is a link
 * itself, the folder it leads to counts as well); what stands there is a regular file. A model from a stream has no folder,
 * so there such data is refused. */
typedef struct rmsnorm_graph {
    const char *name;
    const rmsnorm_node *nodes;
    size_t node_count;
    const rmsnorm_value *inputs;
    size_t input_count;
    const rmsnorm_value *outputs;
    size_t output_count;
    const rmsnorm_value *initializers;
    size_t initializer_count;
    size_t default_count;
} rmsnorm_graph;

/* path "-" is standard input. Free with rmsnorm_model_free. */
RMSNORM_API rmsnorm_status rmsnorm_model_read(const char *path, rmsnorm_model **model);
RMSNORM_API void rmsnorm_model_free(rmsnorm_model *model);
RMSNORM_API const rmsnorm_graph *rmsnorm_model_graph(const rmsnorm_model *model);

/* The model's opset version of a domain ("" is ai.onnx); 0 when it imports none. */
RMSNORM_API int64_t rmsnorm_model_opset(const rmsnorm_model *model, const char *domain);

/* The operator and attribute values of a node, by the opset the model imports of its domain (ai.onnx before IR version
 * 3: 1). A node that is none of the three operators is RMSNORM_NOT_FOUND; one that calls a function of the model, whatever
 * its name, is RMSNORM_UNSUPPORTED; an attribute that the operator does not
 * have, or of the wrong type, is RMSNORM_INVALID_ARGUMENT. The sentence names the node, or by its operator and first
 * output when it has no name. */
RMSNORM_API rmsnorm_status rmsnorm_node_resolve(const rmsnorm_model *model, const rmsnorm_node *node,
                                                const rmsnorm_operator **op, rmsnorm_attributes *attributes);

/* ---- Rewriting ------------------------------------------------------------------------------- */

/* A model file for rewriting. Its weights, inside it or in other files, are never read into memory: only tensors of at most
 * 256 bytes are. What rewriting does not touch stays as it is to the byte, whether it is understood or not: functions,
 * subgraphs, metadata, unknown fields, types other than tensors. */
typedef struct rmsnorm_document rmsnorm_document;

/* Refused besides what is no ONNX model: a name that nothing defines, or that a graph defines twice; data in other files
 * that rmsnorm_model_read would refuse. Data files that are not there are no obstacle: what depends on their numbers is not
 * known then, and only saving to another folder needs them. "-" is standard input, where no data in other files can be.
 * A file is kept open and read again when the result is written; a stream is kept in memory. Free with
 * rmsnorm_document_free. */
RMSNORM_API rmsnorm_status rmsnorm_document_open(const char *path, rmsnorm_document **document);
RMSNORM_API void rmsnorm_document_free(rmsnorm_document *document);

/* Its graphs, the main one and those inside nodes, but not the bodies of functions; belongs to the document. A node's origin is
 * its number in its graph. A tensor's elements are there when it has at most 256 bytes and is a constant: an initializer
 * that is an input too is one before IR version 4 only. A name of a graph inside that a graph around it defines too
 * means the inner value. */
RMSNORM_API rmsnorm_ir *rmsnorm_document_ir(rmsnorm_document *document);

/* What becomes of the data files when the model is written to another folder than the one it was in. */
typedef enum rmsnorm_data_files {
    RMSNORM_DATA_FILES_COPY, /* sharing blocks where the file system can */
    RMSNORM_DATA_FILES_LINK, /* another name of the same file; copied where that cannot be */
    RMSNORM_DATA_FILES_LEAVE /* nothing: the model is written alone */
} rmsnorm_data_files;

typedef struct rmsnorm_document_save_options {
    size_t struct_size;
    rmsnorm_data_files data_files;
    bool (*progress)(void *user, uint64_t done,
                     uint64_t total); /* bytes; false ends it: RMSNORM_CANCELLED. NULL: not told */
    void *user;
} rmsnorm_document_save_options;
#define RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT                                         \
    {                                                                              \
        sizeof(rmsnorm_document_save_options), RMSNORM_DATA_FILES_COPY, NULL, NULL \
    }

/* Writes the model as its rmsnorm_ir is now; without a change, the bytes it had. path may be the file it came from; "-" is
 * standard output, where data files are left. Of a changed graph, new nodes and constants are added, nodes that are gone
 * are left out with what is said of their values and with initializers that only they used, and opset imports are raised
 * or added. The file appears complete or not
 * at all, as with rmsnorm_tensor_write, after its data files: one that is there already with the same content stays, one
 * with other content is refused. More than 2 GiB - 1 is RMSNORM_UNSUPPORTED, a file that was written to since it was
 * opened RMSNORM_IO. options NULL: the defaults. */
RMSNORM_API rmsnorm_status rmsnorm_document_save(rmsnorm_document *document, const char *path,
                                                 const rmsnorm_document_save_options *options);

#ifdef __cplusplus
}
#endif

#endif
