/* manifest.h: manifest.json, read into what the planner walks. docs/packages.md has the format. */
#ifndef RMSNORM_PACKAGE_MANIFEST_H
#define RMSNORM_PACKAGE_MANIFEST_H

#include "rmsnorm/package.h"
#include "template/expression.h"

/* An expression and the text it was read from, for messages. */
typedef struct rmsnorm_formula {
    const char *text;
    const rmsnorm_expression *expression;
} rmsnorm_formula;

typedef struct rmsnorm_named_formula {
    const char *name;
    rmsnorm_formula formula;
} rmsnorm_named_formula;

typedef struct rmsnorm_formulas {
    const rmsnorm_named_formula *items;
    size_t count;
} rmsnorm_formulas;

typedef struct rmsnorm_manifest_slot {
    const char *key, *onnx;
    const char *type; /* the name of a constraint, or of one element type */
    bool optional;
    rmsnorm_formula rank, shape; /* outputs: shape is there; inputs: rank may be, neither else */
} rmsnorm_manifest_slot;

typedef struct rmsnorm_manifest_attribute {
    const char *name;
    rmsnorm_any value; /* the default: INTEGER or FLOAT */
} rmsnorm_manifest_attribute;

typedef struct rmsnorm_manifest_constraint {
    const char *name;
    rmsnorm_dtypes types;
} rmsnorm_manifest_constraint;

typedef struct rmsnorm_manifest_tunable {
    const char *name;
    int64_t value; /* the default */
    const int64_t *values;
    size_t value_count;
} rmsnorm_manifest_tunable;

/* What a request must fulfil, with the sentence for when it does not: text with {{ }}. */
typedef struct rmsnorm_requirement {
    rmsnorm_formula holds;
    const rmsnorm_expression *message; /* a string */
} rmsnorm_requirement;

typedef struct rmsnorm_manifest_binding {
    const char *name;     /* in the shader */
    const char *tensor;   /* the bind key of a tensor, or the name of a scratch buffer */
    rmsnorm_formula when; /* text NULL: always */
    bool reads, writes;
    rmsnorm_formula row_bytes; /* bytes from one row to the next when the pass is cut at rows; text NULL: bound whole */
} rmsnorm_manifest_binding;

typedef struct rmsnorm_manifest_pass {
    const char *template_name;
    rmsnorm_formulas parameters; /* the template's context */
    const rmsnorm_manifest_binding *bindings;
    size_t binding_count;
    rmsnorm_formula rows;       /* how many there are to share out */
    rmsnorm_formula unit;       /* pieces of rows begin at multiples of it; text NULL: 1 */
    rmsnorm_formula workgroups; /* of a piece: an integer, or a list of up to three */
    rmsnorm_formulas uniforms;  /* u32 each, in the order of the shader's struct */
} rmsnorm_manifest_pass;

typedef struct rmsnorm_manifest_variant {
    const char *name;
    const rmsnorm_formula *when;
    size_t when_count;
    rmsnorm_formulas derive;
    rmsnorm_formulas scratch; /* bytes */
    const rmsnorm_manifest_pass *passes;
    size_t pass_count;
} rmsnorm_manifest_variant;

typedef struct rmsnorm_manifest {
    const char *domain, *name;
    int64_t since_version;
    const rmsnorm_manifest_slot *inputs, *outputs;
    size_t input_count, output_count;
    const rmsnorm_manifest_attribute *attributes;
    size_t attribute_count;
    const rmsnorm_manifest_constraint *constraints;
    size_t constraint_count;
    const rmsnorm_manifest_tunable *tunables;
    size_t tunable_count;
    rmsnorm_formulas derive;
    const rmsnorm_requirement *requirements;
    size_t requirement_count;
    const rmsnorm_manifest_variant *variants;
    size_t variant_count;
} rmsnorm_manifest;

/* From the parsed JSON. An error names the field: "manifest.json: variants[1].passes[0].workgroups: ...". With
 * contract_only the part from `tunables` on is not looked at. Everything lives in arena. */
rmsnorm_status rmsnorm_manifest_parse(rmsnorm_arena *arena, const rmsnorm_any *json, bool contract_only,
                                      rmsnorm_manifest *manifest);

#endif
