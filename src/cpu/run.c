/* run.c: whole operators on the CPU: check, choose, and hand the rows to the runner. */
#include <stdlib.h>
#include <string.h>

#include "cpu/rows.h"
#include "operator/call.h"
#include "operator/error.h"

/* Elements a task is worth at least: below that, waking a thread costs more than it saves. */
#define TASK_ELEMENTS 32768

/* Tasks for each of the runner's threads, so that a thread that starts late does not hold up the others. */
#define TASKS_PER_THREAD 4

typedef struct job {
    const rmsnorm_problem *problem;
    const rmsnorm_choice *choice;
    int64_t tasks;
} job;

static void run_task(void *user, size_t index)
{
    const job *work = user;
    const int64_t rows = work->problem->rows.rows;
    const int64_t each = rows / work->tasks;
    const int64_t longer = rows % work->tasks; /* the first tasks get one row more */
    const int64_t task = (int64_t)index;
    const int64_t begin = task * each + (task < longer ? task : longer);
    rmsnorm_rows_range(work->problem, work->choice, begin, begin + each + (task < longer));
}

static int64_t count_tasks(const rmsnorm_rows *rows, const rmsnorm_runner *runner)
{
    if (runner->run == NULL || runner->concurrency < 2) {
        return 1;
    }
    const int64_t worth = (int64_t)((double)rows->rows * (double)rows->hidden_size / TASK_ELEMENTS);
    const int64_t useful = (int64_t)runner->concurrency * TASKS_PER_THREAD;
    const int64_t tasks = worth < useful ? worth : useful;
    return tasks < 1 ? 1 : tasks < rows->rows ? tasks : rows->rows;
}

/* Rows that are too few to keep all threads busy, but long. */
static bool splits_rows(const rmsnorm_problem *problem, const rmsnorm_runner *runner)
{
    return runner->run != NULL && runner->concurrency > 1 &&
           (uint64_t)problem->rows.rows < 2 * (uint64_t)runner->concurrency && rmsnorm_rows_can_split(problem);
}

/* The caller's options, however short its header knew them. */
static rmsnorm_status read_options(const rmsnorm_operator *op, const rmsnorm_options *options, rmsnorm_options *ours)
{
    const rmsnorm_options defaults = RMSNORM_OPTIONS_INIT;
    *ours = defaults;
    if (options != NULL) {
        RMSNORM_CHECK(
            options->struct_size >= sizeof options->struct_size, RMSNORM_INVALID_ARGUMENT,
            "%s: options.struct_size is %zu, allowed sizeof(rmsnorm_options): start from RMSNORM_OPTIONS_INIT",
            op == NULL ? "rmsnorm_run" : op->name, options->struct_size);
        memcpy(ours, options, options->struct_size < sizeof *ours ? options->struct_size : sizeof *ours);
        RMSNORM_CHECK((ours->allocator.allocate == NULL) == (ours->allocator.release == NULL), RMSNORM_INVALID_ARGUMENT,
                      "%s: options.allocator has %s alone, allowed both allocate and release, or neither",
                      op == NULL ? "rmsnorm_run" : op->name, ours->allocator.allocate == NULL ? "release" : "allocate");
    }
    return RMSNORM_OK;
}

static rmsnorm_status run(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                          const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                          size_t output_count, const rmsnorm_options *options)
{
    const rmsnorm_kernels *kernels;
    rmsnorm_problem problem;
    RMSNORM_TRY(rmsnorm_kernels_find(options->max_isa, &kernels));
    RMSNORM_TRY(rmsnorm_resolve(op, attributes, inputs, input_count, outputs, output_count, &problem));
    if (problem.rows.rows == 0) {
        return RMSNORM_OK;
    }
    const rmsnorm_choice choice = rmsnorm_choose(&problem, options->outputs_read_soon, kernels);
    job work = {&problem, &choice, count_tasks(&problem.rows, &options->runner)};
    if (splits_rows(&problem, &options->runner)) {
        rmsnorm_rows_split(&problem, &choice, &options->runner);
    } else if (work.tasks > 1) {
        options->runner.run(options->runner.user, run_task, &work, (size_t)work.tasks);
    } else {
        rmsnorm_rows_range(&problem, &choice, 0, problem.rows.rows);
    }
    if (problem.mean != NULL) {
        memset(problem.mean, 0, (size_t)problem.rows.rows * sizeof *problem.mean);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_run(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                           const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                           size_t output_count, const rmsnorm_options *options)
{
    rmsnorm_options ours;
    RMSNORM_TRY(read_options(op, options, &ours));
    return run(op, attributes, inputs, input_count, outputs, output_count, &ours);
}

/* ---- allocation ------------------------------------------------------------------------------ */

#define ALIGNMENT 64

static void *allocate(const rmsnorm_allocator *allocator, size_t size)
{
    if (allocator->allocate != NULL) {
        return allocator->allocate(allocator->user, size, ALIGNMENT);
    }
#if defined(_WIN32)
    return _aligned_malloc(size, ALIGNMENT);
#else
    return aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
#endif
}

static void release(const rmsnorm_allocator *allocator, void *memory)
{
    if (allocator->release != NULL) {
        allocator->release(allocator->user, memory);
        return;
    }
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}

/* More than any operator has. */
#define OUTPUTS_MAXIMUM 8

/* The outputs as they are going to be: of the right shape, with memory where the caller gave none. */
typedef struct made {
    rmsnorm_tensor tensors[OUTPUTS_MAXIMUM];
    rmsnorm_tensor *slots[OUTPUTS_MAXIMUM];
    bool owned[OUTPUTS_MAXIMUM];
} made;

/* An output that has memory keeps its own shape, for the run to check. */
static rmsnorm_status make(const rmsnorm_call *call, size_t output_count, const rmsnorm_allocator *allocator, made *out)
{
    for (size_t i = 0; i < output_count; i++) {
        if (out->slots[i] == NULL || out->slots[i]->data != NULL) {
            continue;
        }
        rmsnorm_call_output(call, i, &out->tensors[i]);
        const size_t size = (size_t)rmsnorm_tensor_count(&out->tensors[i]) * rmsnorm_dtype_size(out->tensors[i].dtype);
        out->tensors[i].row_stride = 0;
        out->tensors[i].data = allocate(allocator, size == 0 ? 1 : size);
        RMSNORM_CHECK(out->tensors[i].data != NULL, RMSNORM_OUT_OF_MEMORY, "%s: out of memory: %zu bytes for %s",
                      call->op->name, size, call->op->outputs[i].name);
        out->owned[i] = true;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_run_alloc(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                 const rmsnorm_tensor *const *inputs, size_t input_count,
                                 rmsnorm_tensor *const *outputs, size_t output_count, const rmsnorm_options *options)
{
    rmsnorm_options ours;
    made out;
    RMSNORM_TRY(read_options(op, options, &ours));
    RMSNORM_CHECK(outputs != NULL || output_count == 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: outputs is NULL, allowed %zu slots", op == NULL ? "rmsnorm_run_alloc" : op->name, output_count);
    RMSNORM_CHECK(output_count <= OUTPUTS_MAXIMUM, RMSNORM_INVALID_ARGUMENT, "%s: %zu outputs, allowed at most %zu",
                  op == NULL ? "rmsnorm_run_alloc" : op->name, output_count, op == NULL ? 0 : op->output_count);
    for (size_t i = 0; i < output_count; i++) {
        out.owned[i] = false;
        out.slots[i] = outputs[i] == NULL ? NULL : &out.tensors[i];
        if (outputs[i] != NULL) {
            out.tensors[i] = *outputs[i];
        }
    }
    rmsnorm_call call;
    RMSNORM_TRY(rmsnorm_call_check(&call, op, attributes, inputs, input_count, out.slots, output_count, true, NULL));
    rmsnorm_status status = make(&call, output_count, &ours.allocator, &out);
    if (status == RMSNORM_OK) {
        status = run(op, attributes, inputs, input_count, out.slots, output_count, &ours);
    }
    for (size_t i = 0; i < output_count; i++) {
        if (out.owned[i] && status != RMSNORM_OK) {
            release(&ours.allocator, out.tensors[i].data);
        } else if (out.owned[i]) {
            *outputs[i] = out.tensors[i];
        }
    }
    return status;
}

void rmsnorm_tensor_release(rmsnorm_tensor *tensor, const rmsnorm_options *options)
{
    rmsnorm_options ours;
    if (tensor == NULL || tensor->data == NULL || read_options(NULL, options, &ours) != RMSNORM_OK) {
        return;
    }
    release(&ours.allocator, tensor->data);
    tensor->data = NULL;
}
