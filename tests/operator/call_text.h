/* call_text.h: whole calls written as text, so that a test reads as a table of what goes in and what comes out.
 *
 * A tensor is DTYPE:DIM,DIM,... where a dim is a number, a name or ?. "float:" has rank 0, "float:*" an unknown rank, "?:2" an
 * unknown type. Behind it may stand @STRIDE (row_stride), !(no data), &ADDRESS (data, hexadecimal; nothing ever reads it).
 * Without an address each slot has memory of its own. Tensors are separated by " | "; _ is an omitted one. */
#ifndef RMSNORM_TESTS_CALL_TEXT_H
#define RMSNORM_TESTS_CALL_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "operator/problem.h"

#define SIMPLIFIED "SimplifiedLayerNormalization"
#define SKIP "com.microsoft::SkipSimplifiedLayerNormalization"
#define RMS "RMSNormalization"

enum { CALL_SLOTS = 6 };

/* The tensors of one side of a call. Not to be copied: it points into itself. */
typedef struct call_side {
    rmsnorm_tensor tensors[CALL_SLOTS];
    rmsnorm_tensor *slots[CALL_SLOTS];
    size_t count;
    char names[CALL_SLOTS * RMSNORM_MAX_RANK][16];
} call_side;

/* first_address: where slot 0 has its memory; each next slot is far behind. */
void call_parse(const char *text, uintptr_t first_address, call_side *side);

/* "axis=1 epsilon=nan" on top of the operator's defaults, without any check; NULL stays NULL. */
const rmsnorm_attributes *call_attributes(const rmsnorm_operator *op, const char *text, rmsnorm_attributes *attributes);

/* A pointer for descriptors whose data nothing reads. */
void *call_pointer(uintptr_t address);

/* What rmsnorm_infer says about all outputs of the operator: "float:B,S,H | float:B,S,1", and the constraints behind
 * " ; ". A refusal is "STATUS: sentence"; then no output may have changed. The text lives until the next call. */
const char *call_infer(const char *op_name, const char *attributes, const char *inputs);

/* The same with the outputs wanted given: "y" or "_" per slot, "y__y". */
const char *call_infer_outputs(const char *op_name, const char *attribute_text, const char *input_text,
                               const char *wanted);

/* rmsnorm_resolve: "" or "STATUS: sentence"; then neither the problem nor an output may have changed. */
const char *call_resolve(const char *op_name, const char *attribute_text, const char *input_text,
                         const char *output_text, rmsnorm_problem *problem);

/* The text of a refusal begins with this status and the operator's name, and holds both words. */
#define assert_refused(text, status, op, word, other_word) \
    call_assert_refused((text), (status), (op), (word), (other_word), __FILE__, __LINE__)
void call_assert_refused(const char *text, rmsnorm_status status, const char *op, const char *word,
                         const char *other_word, const char *file, int line);

#endif
