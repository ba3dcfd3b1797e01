/* verify.c: a finding's old nodes and its new ones on the same inputs. */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "element.h"
#include "primitive.h"
#include "text.h"

/* A part's inputs are not made larger than this; and its dims that are no numbers get these. */
enum { MOST_ELEMENTS = 1 << 24, NAMED_DIMS = 64 };

/* A value of one run of a part. */
typedef struct slot {
    rmsnorm_tensor tensor;
    bool used;     /* in this run */
    bool made;     /* by a node of the part */
    bool borrowed; /* the data is the ir's */
} slot;

typedef struct part {
    const rmsnorm_ir *ir;
    const rmsnorm_cli_context *context;
    int64_t opset; /* of ai.onnx, for nodes that were there before */
    const rmsnorm_finding *finding;
    slot *old, *new; /* by value */
    size_t *makers;  /* by value: the node that makes it, or did */
    size_t *used;    /* values of this run */
    size_t used_count;
    const char *names[NAMED_DIMS];
    size_t name_count;
    uint64_t seed;
} part;

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* The same number for the same name; without one, the same for the same place from the end, so that shapes still fit. */
static int64_t dim_for(part *p, const char *name, int32_t from_end)
{
    static const int64_t unnamed[] = {8, 3, 2};
    if (name == NULL) {
        return from_end < 3 ? unnamed[from_end] : 1;
    }
    for (size_t i = 0; i < p->name_count; ++i) {
        if (strcmp(p->names[i], name) == 0) {
            return 2 + (int64_t)i;
        }
    }
    if (p->name_count == NAMED_DIMS) {
        return 2;
    }
    p->names[p->name_count++] = name;
    return 1 + (int64_t)p->name_count;
}

/* The normal distribution would not do more here than this: numbers of both signs and several magnitudes, none of them 0. */
static double next_number(part *p)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    const double unit = (double)(p->seed >> 11) * 0x1p-53;
    const double sign = (p->seed >> 7 & 1) != 0 ? 1.0 : -1.0;
    return sign * exp2(6.0 * unit - 4.0);
}

static int run_node(const part *p, slot *slots, size_t index);

static void use(part *p, size_t value)
{
    if (!p->old[value].used) {
        p->old[value].used = true;
        p->used[p->used_count++] = value;
    }
}

/* A Constant that stays outside the part, and what is cast from it: not for random numbers. */
static bool is_constant(const part *p, size_t value, int depth)
{
    if (rmsnorm_ir_value_at(p->ir, value)->type.data != NULL) {
        return true;
    }
    const size_t maker = p->makers[value];
    if (maker == RMSNORM_NO_INDEX || depth == 0) {
        return false;
    }
    const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, maker);
    if (node->domain[0] != '\0' || node->function) {
        return false;
    }
    const bool passes = strcmp(node->op_type, "Cast") == 0 || strcmp(node->op_type, "Identity") == 0;
    return strcmp(node->op_type, "Constant") == 0 ||
           (passes && node->input_count == 1 && node->inputs[0] != RMSNORM_NO_INDEX &&
            is_constant(p, node->inputs[0], depth - 1));
}

static int fill(part *p, size_t value)
{
    const rmsnorm_ir_value *source = rmsnorm_ir_value_at(p->ir, value);
    slot *filled = &p->old[value];
    use(p, value);
    if (source->type.data != NULL) {
        filled->tensor = source->type;
        filled->borrowed = true;
        return RMSNORM_CLI_DONE;
    }
    if (is_constant(p, value, 4)) {
        const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, p->makers[value]);
        if (node->input_count > 0 && p->old[node->inputs[0]].tensor.data == NULL &&
            fill(p, node->inputs[0]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        return run_node(p, p->old, p->makers[value]);
    }
    filled->tensor = source->type;
    if (rmsnorm_dtype_size(source->type.dtype) == 0) {
        return rmsnorm_cli_fail("the value '%.160s' is of the element type %s", source->name,
                                rmsnorm_dtype_name(source->type.dtype));
    }
    rmsnorm_tensor *tensor = &filled->tensor;
    if (source->open && tensor->rank == 0) { /* nothing is known */
        tensor->rank = 3;
        memset(tensor->dim_names, 0, sizeof tensor->dim_names);
        tensor->dims[0] = tensor->dims[1] = tensor->dims[2] = RMSNORM_UNKNOWN;
    }
    for (int32_t i = 0; i < tensor->rank; ++i) {
        if (tensor->dims[i] < 0) {
            tensor->dims[i] = dim_for(p, tensor->dim_names[i], tensor->rank - 1 - i);
        }
    }
    const int64_t count = rmsnorm_tensor_count(tensor);
    if (count < 0 || count > MOST_ELEMENTS) {
        return rmsnorm_cli_fail("the value '%.160s' has more than %d elements", source->name, (int)MOST_ELEMENTS);
    }
    tensor->data = calloc((size_t)count + 1, rmsnorm_dtype_size(tensor->dtype));
    if (tensor->data == NULL) {
        return rmsnorm_cli_fail("no memory for the %lld elements of '%.160s'", (long long)count, source->name);
    }
    for (int64_t i = 0; i < count; ++i) {
        rmsnorm_cli_element_store(tensor, i, next_number(p));
    }
    return RMSNORM_CLI_DONE;
}

static void mark_made(part *p, slot *slots, const size_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, nodes[i]);
        for (size_t j = 0; j < node->output_count; ++j) {
            if (node->outputs[j] != RMSNORM_NO_INDEX) {
                use(p, node->outputs[j]);
                slots[node->outputs[j]].made = true;
            }
        }
    }
}

/* What neither the old nor the new nodes make is given to both. */
static int fill_inputs(part *p, const size_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, nodes[i]);
        for (size_t j = 0; j < node->input_count; ++j) {
            const size_t value = node->inputs[j];
            if (value == RMSNORM_NO_INDEX || p->old[value].made || p->new[value].made ||
                p->old[value].tensor.data != NULL) {
                continue;
            }
            if (fill(p, value) != RMSNORM_CLI_DONE) {
                return RMSNORM_CLI_BAD;
            }
            p->new[value].tensor = p->old[value].tensor;
            p->new[value].borrowed = true;
        }
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Running --------------------------------------------------------------------------------- */

enum { MOST_SLOTS = 8 };

typedef struct operands {
    const rmsnorm_tensor *inputs[MOST_SLOTS];
    rmsnorm_tensor *outputs[MOST_SLOTS];
    const char *input_names[MOST_SLOTS], *output_names[MOST_SLOTS];
} operands;

static int gather(const part *p, slot *slots, const rmsnorm_ir_node *node, operands *found)
{
    if (node->input_count > MOST_SLOTS || node->output_count > MOST_SLOTS) {
        return rmsnorm_cli_fail("%.80s has more slots than any node of a norm", node->op_type);
    }
    for (size_t i = 0; i < node->input_count; ++i) {
        const size_t value = node->inputs[i];
        found->inputs[i] = value == RMSNORM_NO_INDEX ? NULL : &slots[value].tensor;
        found->input_names[i] = value == RMSNORM_NO_INDEX ? "" : rmsnorm_ir_value_at(p->ir, value)->name;
    }
    for (size_t i = 0; i < node->output_count; ++i) {
        const size_t value = node->outputs[i];
        found->outputs[i] = value == RMSNORM_NO_INDEX ? NULL : &slots[value].tensor;
        found->output_names[i] = value == RMSNORM_NO_INDEX ? "" : rmsnorm_ir_value_at(p->ir, value)->name;
        if (value != RMSNORM_NO_INDEX) {
            slots[value].tensor = (rmsnorm_tensor){.rank = RMSNORM_UNKNOWN};
        }
    }
    return RMSNORM_CLI_DONE;
}

static int run_primitive(const part *p, const rmsnorm_ir_node *node, operands *found)
{
    const rmsnorm_node plain = {.name = node->name,
                                .op_type = node->op_type,
                                .domain = node->domain,
                                .inputs = found->input_names,
                                .input_count = node->input_count,
                                .outputs = found->output_names,
                                .output_count = node->output_count,
                                .attributes = node->attributes,
                                .attribute_count = node->attribute_count};
    const rmsnorm_cli_primitive *primitive = NULL;
    bool made = false;
    const int64_t opset = node->origin != RMSNORM_NO_INDEX ? p->opset : rmsnorm_ir_opset(p->ir, "");
    int code = rmsnorm_cli_primitive_resolve(&plain, opset, &primitive);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_primitive_infer(primitive, &plain, found->inputs, found->outputs[0], &made);
    }
    if (code != RMSNORM_CLI_DONE || made) {
        return code;
    }
    if (found->outputs[0]->data != NULL) { /* a Constant's, which is the ir's */
        const rmsnorm_dtype dtype = found->outputs[0]->dtype;
        const size_t real = rmsnorm_dtype_size(dtype),
                     whole = dtype == RMSNORM_INT32 ? sizeof(int32_t) : sizeof(int64_t);
        const size_t size = (size_t)rmsnorm_tensor_count(found->outputs[0]) * (real > 0 ? real : whole);
        void *const copy = malloc(size + 1);
        if (copy == NULL) {
            return rmsnorm_cli_fail("no memory for a constant");
        }
        memcpy(copy, found->outputs[0]->data, size);
        found->outputs[0]->data = copy;
        return RMSNORM_CLI_DONE;
    }
    return rmsnorm_cli_primitive_compute(primitive, &plain, found->inputs, found->outputs[0]);
}

static int run_node(const part *p, slot *slots, size_t index)
{
    const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, index);
    const rmsnorm_operator *op = NULL;
    rmsnorm_attributes attributes;
    operands found;
    if (gather(p, slots, node, &found) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (rmsnorm_ir_resolve(p->ir, index, &op, &attributes) == RMSNORM_OK) {
        return rmsnorm_cli_context_run(p->context, op, &attributes, found.inputs, node->input_count, found.outputs,
                                       node->output_count);
    }
    if (node->domain[0] != '\0' || node->function || !rmsnorm_cli_primitive_known(node->op_type)) {
        return rmsnorm_cli_fail("%.80s is not run here", node->op_type);
    }
    return run_primitive(p, node, &found);
}

static int run_nodes(const part *p, slot *slots, const size_t *nodes, size_t count)
{
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        code = run_node(p, slots, nodes[i]);
    }
    return code;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static uint64_t steps_between(const rmsnorm_tensor *a, const rmsnorm_tensor *b)
{
    uint64_t most = 0;
    const int64_t count = rmsnorm_tensor_count(a);
    for (int64_t i = 0; i < count; ++i) {
        const bool first = isnan(rmsnorm_cli_element(a, i)), second = isnan(rmsnorm_cli_element(b, i));
        const uint64_t steps =
            first || second ? (first == second ? 0 : UINT64_MAX) : rmsnorm_cli_element_steps(a, b, i);
        most = steps > most ? steps : most;
    }
    return most;
}

/* Every value that both make. */
static bool compare(const part *p, uint64_t *steps)
{
    bool same = true;
    *steps = 0;
    for (size_t i = 0; i < p->used_count; ++i) {
        const size_t v = p->used[i];
        const rmsnorm_tensor *old = &p->old[v].tensor, *new = &p->new[v].tensor;
        if (!p->old[v].made || !p->new[v].made || new->data == NULL || old->data == NULL) {
            continue;
        }
        const rmsnorm_cli_tolerance chosen = {-1, -1, -1, false};
        const rmsnorm_cli_tolerance tolerance = rmsnorm_cli_tolerance_of(old->dtype, &chosen);
        rmsnorm_cli_difference difference;
        same = same && rmsnorm_cli_compare(rmsnorm_ir_value_at(p->ir, v)->name, new, old, &tolerance, &difference) ==
                           RMSNORM_CLI_DONE;
        const uint64_t here = rmsnorm_cli_same_kind(old, new) ? steps_between(old, new) : UINT64_MAX;
        *steps = here > *steps ? here : *steps;
    }
    return same;
}

static void release(part *p)
{
    for (size_t i = 0; i < p->used_count; ++i) {
        slot *slots[] = {&p->old[p->used[i]], &p->new[p->used[i]]};
        for (size_t j = 0; j < 2; ++j) {
            if (!slots[j]->borrowed) {
                free(slots[j]->tensor.data);
            }
            *slots[j] = (slot){.made = false};
        }
    }
    p->used_count = 0;
}

/* The results of both, or a sentence. */
static int run_part(part *p)
{
    const rmsnorm_finding *f = p->finding;
    mark_made(p, p->old, f->nodes, f->node_count);
    mark_made(p, p->new, f->made, f->made_count);
    int code = fill_inputs(p, f->nodes, f->node_count);
    if (code == RMSNORM_CLI_DONE) {
        code = fill_inputs(p, f->made, f->made_count);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = run_nodes(p, p->old, f->nodes, f->node_count);
    }
    return code != RMSNORM_CLI_DONE ? code : run_nodes(p, p->new, f->made, f->made_count);
}

static void judge(part *p, size_t index, rmsnorm_cli_verdict *verdict)
{
    uint64_t steps = 0;
    const bool same = compare(p, &steps);
    verdict->compared++;
    if (steps > verdict->steps || verdict->finding == RMSNORM_NO_INDEX) {
        verdict->steps = steps;
        verdict->finding = index;
    }
    if (!same && p->finding->reason[0] == '\0' && verdict->different++ == 0) {
        rmsnorm_cli_append(verdict->how, sizeof verdict->how, "%s", rmsnorm_cli_sentence());
    }
}

static void note_makers(part *p)
{
    for (size_t v = 0; v < rmsnorm_ir_value_count(p->ir); ++v) {
        p->makers[v] = RMSNORM_NO_INDEX;
    }
    for (size_t n = 0; n < rmsnorm_ir_node_count(p->ir); ++n) {
        const rmsnorm_ir_node *node = rmsnorm_ir_node_at(p->ir, n);
        for (size_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] != RMSNORM_NO_INDEX) {
                p->makers[node->outputs[i]] = n;
            }
        }
    }
}

int rmsnorm_cli_verify(const rmsnorm_ir *ir, int64_t opset, const rmsnorm_cli_context *context,
                       rmsnorm_cli_verdict *verdict)
{
    size_t count = 0;
    const rmsnorm_finding *findings = rmsnorm_ir_findings(ir, &count);
    part p = {.ir = ir, .opset = opset, .context = context, .seed = 1};
    p.old = rmsnorm_cli_allocate(rmsnorm_ir_value_count(ir) + 1, sizeof *p.old);
    p.new = rmsnorm_cli_allocate(rmsnorm_ir_value_count(ir) + 1, sizeof *p.new);
    p.used = rmsnorm_cli_allocate(rmsnorm_ir_value_count(ir) + 1, sizeof *p.used);
    p.makers = rmsnorm_cli_allocate(rmsnorm_ir_value_count(ir) + 1, sizeof *p.makers);
    note_makers(&p);
    *verdict = (rmsnorm_cli_verdict){.finding = RMSNORM_NO_INDEX};
    for (size_t i = 0; i < count; ++i) {
        if (!findings[i].done) {
            continue;
        }
        p.finding = &findings[i];
        p.name_count = 0;
        if (run_part(&p) == RMSNORM_CLI_DONE) {
            judge(&p, i, verdict);
        } else if (verdict->skipped++ == 0) {
            rmsnorm_cli_append(verdict->why, sizeof verdict->why, "%s", rmsnorm_cli_sentence());
        }
        release(&p);
    }
    free(p.used);
    free(p.makers);
    free(p.old);
    free(p.new);
    return RMSNORM_CLI_DONE;
}
