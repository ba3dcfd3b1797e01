/* rmsnorm.h: RMS normalization for ONNX models: the three operators, their contract, and the CPU.
 *
 * Levels, from the top: an operator on whole tensors (rmsnorm_run, with every check), and rows on plain
 * pointers (rmsnorm_rows_run, without any). Every call may be made from any thread. No call aborts,
 * prints or exits: it returns a status, and rmsnorm_last_error() of the same thread holds the sentence. */
#ifndef RMSNORM_RMSNORM_H
#define RMSNORM_RMSNORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RMSNORM_VERSION_MAJOR 0
#define RMSNORM_VERSION_MINOR 1
#define RMSNORM_VERSION_PATCH 0

#if defined(_WIN32) && defined(RMSNORM_BUILDING)
#define RMSNORM_API __declspec(dllexport)
#elif defined(__GNUC__)
#define RMSNORM_API __attribute__((visibility("default")))
#else
#define RMSNORM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

typedef enum rmsnorm_status {
    RMSNORM_OK = 0,
    RMSNORM_INVALID_ARGUMENT = 1, /* a shape, attribute, slot, stride or overlap that the contract refuses */
    RMSNORM_UNSUPPORTED = 2,      /* an element type or stash_type that the operator does not take */
    RMSNORM_NOT_FOUND = 3,        /* no such operator, file, tensor or name */
    RMSNORM_OUT_OF_MEMORY = 4,
    RMSNORM_NOT_BUILT = 5,     /* this build lacks the device, or the way to a server */
    RMSNORM_MALFORMED = 6,     /* a file whose content contradicts its format */
    RMSNORM_IO = 7,            /* the system could not read or write */
    RMSNORM_DEVICE_FAILED = 8, /* a GPU refused: a shader, a buffer, a command */
    RMSNORM_DEVICE_LOST = 9,   /* a GPU is gone for good; what is kept for it can only be closed */
    RMSNORM_TIMED_OUT = 10,    /* a GPU or a server did not answer in time */
    RMSNORM_CANCELLED = 11     /* the caller's own callback ended it */
} rmsnorm_status;

/* The sentence of the last call of this thread that did not return RMSNORM_OK; "" before the first. It names
 * the operator, the argument, what was given and what is allowed. Valid until this thread's next failing call. */
RMSNORM_API const char *rmsnorm_last_error(void);

/* "0.1.0" */
RMSNORM_API const char *rmsnorm_version(void);

/* ---- Element types --------------------------------------------------------------------------- */

/* ONNX's TensorProto.DataType numbers. Other numbers may stand in a tensor; the operators refuse them by name. */
typedef enum rmsnorm_dtype {
    RMSNORM_UNDEFINED = 0,
    RMSNORM_FLOAT = 1,
    RMSNORM_INT32 = 6, /* in models alone (graph.h): no operator takes it */
    RMSNORM_INT64 = 7, /* as int32 */
    RMSNORM_FLOAT16 = 10,
    RMSNORM_DOUBLE = 11,
    RMSNORM_BFLOAT16 = 16
} rmsnorm_dtype;

/* ONNX's spelling ("float16"), also for the types no operator here takes ("int64"), "undefined" for 0; "unknown" for a
 * number that ONNX gives no type. */
RMSNORM_API const char *rmsnorm_dtype_name(rmsnorm_dtype dtype);
/* The four types by ONNX's spelling; float32 and float64 are understood too. RMSNORM_UNDEFINED if unknown. */
RMSNORM_API rmsnorm_dtype rmsnorm_dtype_from_name(const char *name);
/* Bytes per element of the four types, else 0. */
RMSNORM_API size_t rmsnorm_dtype_size(rmsnorm_dtype dtype);

/* ---- Tensors --------------------------------------------------------------------------------- */

#define RMSNORM_MAX_RANK 16
#define RMSNORM_UNKNOWN (-1) /* an unknown rank, or a dim that is no number */

/* A tensor, or without data a descriptor for inference. The caller owns every pointer in it. Zero-initialize. */
typedef struct rmsnorm_tensor {
    rmsnorm_dtype dtype;                     /* RMSNORM_UNDEFINED in inference: not known */
    int32_t rank;                            /* 0..RMSNORM_MAX_RANK; RMSNORM_UNKNOWN in inference */
    int64_t dims[RMSNORM_MAX_RANK];          /* elements; RMSNORM_UNKNOWN in inference for a named or unknown dim */
    const char *dim_names[RMSNORM_MAX_RANK]; /* read where dims[i] is RMSNORM_UNKNOWN: "S", or NULL for unknown */
    void *data;         /* row-major, any alignment; an input is never written unless it is also an output */
    int64_t row_stride; /* elements from one normalized row to the next, >= row length; 0: contiguous */
} rmsnorm_tensor;

/* Elements of a numeric shape; RMSNORM_UNKNOWN for a symbolic one, or when the count or its bytes do not fit int64. */
RMSNORM_API int64_t rmsnorm_tensor_count(const rmsnorm_tensor *tensor);

/* ---- Operators: the schema table ------------------------------------------------------------- */

typedef enum rmsnorm_device { RMSNORM_DEVICE_CPU = 0, RMSNORM_DEVICE_WEBGPU = 1 } rmsnorm_device;
#define RMSNORM_DEVICE_COUNT 2

/* A set of element types: bit `dtype` is 1. */
typedef uint32_t rmsnorm_dtypes;
#define RMSNORM_DTYPES(dtype) ((rmsnorm_dtypes)1 << (dtype))

typedef struct rmsnorm_type_constraint {
    const char *name;                           /* "T" */
    rmsnorm_dtypes types[RMSNORM_DEVICE_COUNT]; /* what each device takes */
    const char *doc;
} rmsnorm_type_constraint;

typedef struct rmsnorm_slot {
    const char *name;  /* ONNX's spelling: "X", "skip", "inv_std_var" */
    const char *type;  /* the name of a type constraint */
    const char *shape; /* in words of the contract: "(S,H) or (B,S,H)" */
    bool required;
    const char *doc;
} rmsnorm_slot;

typedef enum rmsnorm_attribute_kind { RMSNORM_ATTRIBUTE_INT, RMSNORM_ATTRIBUTE_FLOAT } rmsnorm_attribute_kind;

typedef struct rmsnorm_attribute {
    const char *name;
    rmsnorm_attribute_kind kind;
    int64_t default_int;
    float default_float;
    const char *allowed; /* "in [-r, r)" */
    const char *doc;
} rmsnorm_attribute;

/* What is there for an operator on a device. */
typedef struct rmsnorm_support {
    bool run, shape_inference, peak_memory, fusion, gradient;
} rmsnorm_support;

typedef enum rmsnorm_operator_kind {
    RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION,
    RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION,
    RMSNORM_RMS_NORMALIZATION
} rmsnorm_operator_kind;

/* One line of the schema table. `doc` strings are prose and empty in a build without RMSNORM_PROSE. */
typedef struct rmsnorm_operator {
    rmsnorm_operator_kind kind;
    const char *name;
    const char *domain;       /* "" is ai.onnx */
    const char *other_domain; /* a second accepted spelling of the domain, or NULL */
    int since_version;        /* and every later opset of the domain */
    const char *summary;      /* one line, also without prose */
    const char *doc;
    const rmsnorm_slot *inputs;
    size_t input_count;
    const rmsnorm_slot *outputs;
    size_t output_count;
    const rmsnorm_attribute *attributes;
    size_t attribute_count;
    const rmsnorm_type_constraint *type_constraints;
    size_t type_constraint_count;
    rmsnorm_support support[RMSNORM_DEVICE_COUNT];
} rmsnorm_operator;

/* The operator of a node. domain "" and "ai.onnx" are the same; opset is the model's version of that domain, or 0
 * for the newest. NULL when there is none: the last error says which spelling or opset would be right. */
RMSNORM_API const rmsnorm_operator *rmsnorm_operator_find(const char *domain, const char *name, int64_t opset);

/* By "NAME" or "DOMAIN::NAME", newest opset: what the command line takes. */
RMSNORM_API const rmsnorm_operator *rmsnorm_operator_parse(const char *name);

/* The index-th operator, NULL past the last. */
RMSNORM_API const rmsnorm_operator *rmsnorm_operator_at(size_t index);

/* ---- Attributes ------------------------------------------------------------------------------ */

/* The values of a node; only those the operator has are read. Start from rmsnorm_attributes_init: a 0 is a value, too. NULL
 * instead of a pointer to it means all defaults. */
typedef struct rmsnorm_attributes {
    int64_t axis;
    float epsilon;
    int64_t stash_type;
    int64_t keep_dims;
} rmsnorm_attributes;

/* The defaults of the schema (epsilon is 1e-12 for SkipSimplifiedLayerNormalization, 1e-5 for the others). */
RMSNORM_API void rmsnorm_attributes_init(const rmsnorm_operator *op, rmsnorm_attributes *attributes);

/* Set one by name. An attribute the operator does not have, of the other kind, or of a value that no shape could make
 * legal is refused and changes nothing. */
RMSNORM_API rmsnorm_status rmsnorm_attributes_set_int(const rmsnorm_operator *op, rmsnorm_attributes *attributes,
                                                      const char *name, int64_t value);
RMSNORM_API rmsnorm_status rmsnorm_attributes_set_float(const rmsnorm_operator *op, rmsnorm_attributes *attributes,
                                                        const char *name, float value);
/* From text: "epsilon=1e-6", "axis=-1". */
RMSNORM_API rmsnorm_status rmsnorm_attributes_parse(const rmsnorm_operator *op, rmsnorm_attributes *attributes,
                                                    const char *assignment);

/* ---- Shape inference and peak memory --------------------------------------------------------- */

/* What a symbolic shape leaves to be checked when the numbers are known. */
typedef enum rmsnorm_constraint_kind {
    RMSNORM_DIM_EQUAL,        /* left = right */
    RMSNORM_DIM_ONE_OR_EQUAL, /* left = 1 or left = right */
    RMSNORM_DIM_RANGE         /* minimum <= left <= maximum */
} rmsnorm_constraint_kind;

typedef struct rmsnorm_dim_ref {
    int input; /* slot */
    int dim;   /* index into that input's dims */
} rmsnorm_dim_ref;

typedef struct rmsnorm_constraint {
    rmsnorm_constraint_kind kind;
    rmsnorm_dim_ref left, right;
    int64_t minimum, maximum;
} rmsnorm_constraint;

#define RMSNORM_MAX_CONSTRAINTS 64

typedef struct rmsnorm_constraints {
    size_t count;
    rmsnorm_constraint items[RMSNORM_MAX_CONSTRAINTS];
} rmsnorm_constraints;

/* Types and shapes of the outputs from those of the inputs. Slots are positional: a NULL pointer (or a slot past the
 * count) is an omitted input or output. Fills dtype, rank, dims and dim_names of every output given, nothing else;
 * names are the inputs' own pointers. On an error no output is changed. constraints may be NULL. */
RMSNORM_API rmsnorm_status rmsnorm_infer(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                         const rmsnorm_tensor *const *inputs, size_t input_count,
                                         rmsnorm_tensor *const *outputs, size_t output_count,
                                         rmsnorm_constraints *constraints);

/* "gamma[0] (K) = input[2] (H)". Writes at most size bytes with the terminator, returns the length needed. */
RMSNORM_API size_t rmsnorm_constraint_format(const rmsnorm_operator *op, const rmsnorm_tensor *const *inputs,
                                             const rmsnorm_constraint *constraint, char *text, size_t size);

typedef struct rmsnorm_memory {
    int64_t bytes;        /* RMSNORM_UNKNOWN while the shapes are symbolic and the expression is no number */
    char expression[256]; /* "0", or over the inputs' dim names */
} rmsnorm_memory;

/* Workspace bytes beyond inputs and outputs. On the CPU 0, whatever the shapes. */
RMSNORM_API rmsnorm_status rmsnorm_peak_memory(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                               const rmsnorm_tensor *const *inputs, size_t input_count,
                                               rmsnorm_tensor *const *outputs, size_t output_count,
                                               rmsnorm_device device, rmsnorm_memory *memory);

/* ---- Options --------------------------------------------------------------------------------- */

/* Instruction sets of the CPU kernels. All give the same bits. */
typedef enum rmsnorm_isa {
    RMSNORM_ISA_AUTO = 0, /* the best that runs here */
    RMSNORM_ISA_SCALAR = 1,
    RMSNORM_ISA_NEON = 2,  /* aarch64 */
    RMSNORM_ISA_AVX2 = 3,  /* with FMA and F16C */
    RMSNORM_ISA_AVX512 = 4 /* F, BW, DQ, VL */
} rmsnorm_isa;
#define RMSNORM_ISA_COUNT 5 /* with RMSNORM_ISA_AUTO */

RMSNORM_API const char *rmsnorm_isa_name(rmsnorm_isa isa);                            /* "avx2"; "auto" */
RMSNORM_API rmsnorm_status rmsnorm_isa_from_name(const char *name, rmsnorm_isa *isa); /* an unknown name is an error */
RMSNORM_API bool rmsnorm_isa_compiled(rmsnorm_isa isa);
RMSNORM_API bool rmsnorm_isa_runnable(rmsnorm_isa isa);
/* The one a call with this limit uses: the best runnable one not above max_isa nor above the environment's RMSNORM_ISA
 * (read once, at first use; an unknown name there makes every run fail with a sentence). */
RMSNORM_API rmsnorm_status rmsnorm_isa_in_use(rmsnorm_isa max_isa, rmsnorm_isa *isa);

/* One part of a job; index < count. */
typedef void (*rmsnorm_task)(void *job, size_t index);

/* Runs task(job, 0) .. task(job, count - 1) in any order on any threads, and returns when all have returned. */
typedef struct rmsnorm_runner {
    void (*run)(void *user, rmsnorm_task task, void *job, size_t count); /* NULL: in the calling thread */
    void *user;
    size_t concurrency; /* tasks that run at the same time, at most; 0 counts as 1 */
} rmsnorm_runner;

/* The runner that comes along: a pool of threads. One pool may serve many threads at once. thread_count 0: one per core; where
 * the system gives fewer, the pool has those, and the runner's concurrency tells. */
typedef struct rmsnorm_pool rmsnorm_pool;
RMSNORM_API rmsnorm_status rmsnorm_pool_create(size_t thread_count, rmsnorm_pool **pool);
RMSNORM_API void rmsnorm_pool_destroy(rmsnorm_pool *pool);
RMSNORM_API rmsnorm_runner rmsnorm_pool_runner(rmsnorm_pool *pool);

typedef struct rmsnorm_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment); /* NULL: the C library */
    void (*release)(void *user, void *memory);
    void *user;
} rmsnorm_allocator;

typedef struct rmsnorm_options {
    size_t struct_size; /* sizeof(rmsnorm_options) of the caller: a shorter one from an older header is accepted */
    rmsnorm_isa max_isa;
    rmsnorm_runner runner;
    rmsnorm_allocator allocator; /* of rmsnorm_run_alloc */
    bool outputs_read_soon;      /* keep large outputs in the cache instead of writing them past it */
} rmsnorm_options;

/* clang-format off */
#define RMSNORM_OPTIONS_INIT {sizeof(rmsnorm_options), RMSNORM_ISA_AUTO, {NULL, NULL, 0}, {NULL, NULL, NULL}, false}
/* clang-format on */

/* ---- Run: whole operators -------------------------------------------------------------------- */

/* Computes the outputs given. Slots as in rmsnorm_infer; an optional output that is NULL or has NULL data is skipped.
 * dtype, rank and dims of an output must be what rmsnorm_infer says. An output may be exactly the buffer of an input of
 * the same type and shape; any other overlap is refused. All checks come before the first write. options may be NULL:
 * best ISA, in the calling thread. Needs up to 40 KiB of stack and nothing else. Formulas: ONNX RMSNormalization-23 (function body) and ONNX Runtime's contrib operators,
 * with the arithmetic of docs/numerics.md. */
RMSNORM_API rmsnorm_status rmsnorm_run(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                       const rmsnorm_tensor *const *inputs, size_t input_count,
                                       rmsnorm_tensor *const *outputs, size_t output_count,
                                       const rmsnorm_options *options);

/* The same, and infers and allocates every output given whose data is NULL. Release each with rmsnorm_tensor_release and
 * the same options. On an error nothing stays allocated and no output is changed. */
RMSNORM_API rmsnorm_status rmsnorm_run_alloc(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                             const rmsnorm_tensor *const *inputs, size_t input_count,
                                             rmsnorm_tensor *const *outputs, size_t output_count,
                                             const rmsnorm_options *options);
RMSNORM_API void rmsnorm_tensor_release(rmsnorm_tensor *tensor, const rmsnorm_options *options);

/* ---- Run: rows on plain pointers ------------------------------------------------------------- */

/* Where the result is rounded. */
typedef enum rmsnorm_rounding {
    RMSNORM_ROUND_ONCE, /* y = V((x * inv) * gamma): SimplifiedLayerNormalization and the skip operator */
    RMSNORM_ROUND_TWICE /* y = V(T(x * inv) * gamma): RMSNormalization */
} rmsnorm_rounding;

/* Rows of hidden_size elements, one normalization each. Strides count elements of the buffer's own type between the starts
 * of consecutive rows; a stride of 0 gives every row the same input. Nothing is checked: the caller promises what
 * rmsnorm_run checks. Zero-initialize, then set at least the fields marked *. */
typedef struct rmsnorm_rows {
    int64_t rows;              /* * */
    int64_t hidden_size;       /* * elements per row, >= 1 */
    rmsnorm_dtype dtype;       /* * T: of input, skip, bias and sum */
    rmsnorm_dtype gamma_dtype; /* * V: of gamma and output */
    rmsnorm_dtype stash_dtype; /* arithmetic of the statistics, and type of inv_std_var: RMSNORM_DOUBLE, else float */
    rmsnorm_rounding rounding;
    float epsilon;        /* * inside the root, as given */
    const void *input;    /* * */
    int64_t input_stride; /* * */
    const void
        *skip; /* NULL: none. Row r reads skip row r modulo skip_rows. Needs T = V, float or narrower, ROUND_ONCE */
    int64_t skip_stride;
    int64_t skip_rows;
    const void *bias;      /* hidden_size elements, or NULL. Needs skip */
    const void *gamma;     /* * hidden_size elements per row */
    int64_t gamma_stride;  /* 0: one gamma for all rows */
    void *output;          /* * */
    int64_t output_stride; /* * */
    void *sum;             /* (input + skip) + bias rounded to T, or NULL */
    int64_t sum_stride;
    void *inv_std_var; /* one per row, float or double by stash_dtype, or NULL */
} rmsnorm_rows;

/* Normalizes the rows [begin, end) in the calling thread. No checks, no allocation. */
RMSNORM_API void rmsnorm_rows_run(const rmsnorm_rows *rows, int64_t begin, int64_t end, rmsnorm_isa max_isa);

/* ---- Run: a hidden dimension in slices ------------------------------------------------------- */

/* For rows whose elements are spread over processes: each describes its slice as rmsnorm_rows (hidden_size is the slice's, and
 * input, gamma and output hold the slice), takes the sums, adds up everybody's with the all-reduce of its choice, and
 * normalizes with the total. The same total gives the same bits everywhere; against one call on whole rows, inv may differ in
 * its last bit. No checks, no allocation, calling thread, like rmsnorm_rows_run. */

/* The sums of squares of rows [begin, end), sums[0] being that of begin. The squares of floats and narrower types always fit a
 * double; doubles must lie between 2^-450 and 2^450, or be 0. */
RMSNORM_API void rmsnorm_partial_sums(const rmsnorm_rows *rows, int64_t begin, int64_t end, double *sums,
                                      rmsnorm_isa max_isa);

/* Scales the slices of rows [begin, end), given the sums over the whole rows and their whole hidden size. */
RMSNORM_API void rmsnorm_partial_normalize(const rmsnorm_rows *rows, int64_t begin, int64_t end, const double *sums,
                                           int64_t whole_hidden_size, rmsnorm_isa max_isa);

#ifdef __cplusplus
}
#endif

#endif
