/* document.h: what stands behind rmsnorm_document: a model file, what it says without its weights, and the graph for
 * rewriting. */
#ifndef RMSNORM_GRAPH_DOCUMENT_H
#define RMSNORM_GRAPH_DOCUMENT_H

#include "graph/external.h"
#include "graph/functions.h"
#include "graph/input.h"
#include "graph/names.h"
#include "graph/scope.h"
#include "rmsnorm/graph.h"

struct rmsnorm_document {
    char *path;
    rmsnorm_input input;     /* the file, which stays open */
    rmsnorm_budget budget;   /* for all that is made of it except the ir */
    Onnx__ModelProto *proto; /* slim; keeps every string the ir points to */
    rmsnorm_functions functions;
    rmsnorm_scopes scopes; /* numbered as the ir's graphs; a definition's value is the ir's, and used: by nodes,
                              before rewriting */
    rmsnorm_external external;
    rmsnorm_names data_files;           /* locations, sorted and distinct */
    rmsnorm_node_attribute *attributes; /* of all nodes, one after the other */
    size_t attribute_count;
    void **constants; /* the elements of small initializers */
    size_t constant_count;
    rmsnorm_ir *ir;
};

/* Reads the source, which is at path (NULL: nowhere). */
rmsnorm_status rmsnorm_document_load(rmsnorm_source *source, const char *path, rmsnorm_document **document);

/* intake.c: fills the ir. What is left after an error is freed with the document. */
rmsnorm_status rmsnorm_document_fill(rmsnorm_document *document, size_t memory);

/* data_list.c: lists the files that tensors have their data in, and checks that the data are there. */
rmsnorm_status rmsnorm_document_find_data(rmsnorm_document *document);

/* The IR version; 0: the file does not tell. */
int64_t rmsnorm_document_ir_version(const rmsnorm_document *document);

#endif
