/* primitive_parts.h: inside the primitives: a line of their table, a call, and what computes it. Of primitive*.c alone. */
#ifndef RMSNORM_CLI_PRIMITIVE_PARTS_H
#define RMSNORM_CLI_PRIMITIVE_PARTS_H

#include "primitive.h"

enum { RMSNORM_CLI_PRIMITIVE_INPUTS = 3, RMSNORM_CLI_PRIMITIVE_ATTRIBUTES = 5 };

typedef enum rmsnorm_cli_primitive_kind {
    RMSNORM_CLI_PRIMITIVE_INT,
    RMSNORM_CLI_PRIMITIVE_FLAG, /* an int, 0 or 1 */
    RMSNORM_CLI_PRIMITIVE_TYPE, /* an int, the number of an element type */
    RMSNORM_CLI_PRIMITIVE_INTS,
    RMSNORM_CLI_PRIMITIVE_FLOAT,
    RMSNORM_CLI_PRIMITIVE_FLOATS,
    RMSNORM_CLI_PRIMITIVE_TENSOR,
    RMSNORM_CLI_PRIMITIVE_ANY /* of no meaning for the types here */
} rmsnorm_cli_primitive_kind;

typedef struct rmsnorm_cli_primitive_attribute {
    const char *name;
    rmsnorm_cli_primitive_kind kind;
    enum { RMSNORM_CLI_OPTIONAL, RMSNORM_CLI_REQUIRED, RMSNORM_CLI_DEFAULT } presence;
    int64_t value; /* the default */
} rmsnorm_cli_primitive_attribute;

typedef struct rmsnorm_cli_call {
    const rmsnorm_cli_primitive *primitive;
    const rmsnorm_node *node;
    const rmsnorm_tensor *inputs[RMSNORM_CLI_PRIMITIVE_INPUTS]; /* NULL: omitted */
    rmsnorm_tensor *output;
} rmsnorm_cli_call;

struct rmsnorm_cli_primitive {
    const char *name;
    int since, until;  /* opsets; until 0: and later */
    int least, most;   /* inputs */
    bool alike;        /* the inputs are of one type */
    bool reads_shapes; /* and no data */
    rmsnorm_dtypes types[RMSNORM_CLI_PRIMITIVE_INPUTS];
    rmsnorm_cli_primitive_attribute attributes[RMSNORM_CLI_PRIMITIVE_ATTRIBUTES];
    /* Gives the output its type and shape, from checked inputs. */
    int (*infer)(const rmsnorm_cli_call *call);
    /* Fills output->data. NULL: infer gives the data. */
    int (*compute)(const rmsnorm_cli_call *call);
    /* One element, where the work goes by elements; b is 0 where there is one input. */
    double (*real)(double a, double b);
    int64_t (*integer)(int64_t a, int64_t b);
};

/* ---- The node's attributes ------------------------------------------------------------------- */

/* NULL: the node does not have it. */
const rmsnorm_node_attribute *rmsnorm_cli_call_attribute(const rmsnorm_node *node, const char *name);
/* Of an int with a default. */
int64_t rmsnorm_cli_call_int(const rmsnorm_cli_call *call, const char *name);

/* ---- Several tensors, element by element ----------------------------------------------------- */

/* Goes through the elements of a shape in row-major order; at[k] is the element of tensor k that belongs to the present one. */
typedef struct rmsnorm_cli_walk {
    int32_t rank;
    const int64_t *dims;
    int64_t index[RMSNORM_MAX_RANK];
    int64_t strides[2][RMSNORM_MAX_RANK];
    int64_t at[2];
} rmsnorm_cli_walk;

/* Along `over`; a tensor (NULL: none) is aligned at the right, and a dim of 1 stays where it is. */
rmsnorm_cli_walk rmsnorm_cli_walk_begin(const rmsnorm_tensor *over, const rmsnorm_tensor *first,
                                        const rmsnorm_tensor *second);
void rmsnorm_cli_walk_next(rmsnorm_cli_walk *walk);

/* ---- What infers and computes ---------------------------------------------------------------- */

/* primitive_elements.c */
int rmsnorm_cli_infer_elements(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_elements(const rmsnorm_cli_call *call);
int rmsnorm_cli_infer_cast(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_cast(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_copy(const rmsnorm_cli_call *call);

/* primitive_mean.c */
int rmsnorm_cli_infer_mean(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_mean(const rmsnorm_cli_call *call);

/* primitive_values.c */
int rmsnorm_cli_infer_constant(const rmsnorm_cli_call *call);
int rmsnorm_cli_infer_shape(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_shape(const rmsnorm_cli_call *call);
int rmsnorm_cli_infer_size(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_size(const rmsnorm_cli_call *call);
int rmsnorm_cli_infer_filled(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_filled(const rmsnorm_cli_call *call);
int rmsnorm_cli_infer_range(const rmsnorm_cli_call *call);
int rmsnorm_cli_compute_range(const rmsnorm_cli_call *call);

/* Refuses an input whose data is not known when shapes are inferred. */
int rmsnorm_cli_call_known(const rmsnorm_cli_call *call, int slot);

#endif
