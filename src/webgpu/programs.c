#include "webgpu/programs.h"

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"

enum { BUCKETS = 256, MOST = 256 };

typedef struct entry {
    struct entry *next;
    rmsnorm_program program;
    rmsnorm_plan *plan;
    uint64_t used, hash;
    size_t size;
    unsigned char key[];
} entry;

struct rmsnorm_programs {
    entry *buckets[BUCKETS];
    size_t count;
    uint64_t clock;
};

/* ---- Keys ------------------------------------------------------------------------------------ */

static void add(rmsnorm_program_key *key, const void *data, size_t size)
{
    if (key->size + size <= sizeof key->bytes) {
        memcpy(key->bytes + key->size, data, size);
    }
    key->size += size; /* also past the end, which is found there */
}

static void add_text(rmsnorm_program_key *key, const char *text)
{
    add(key, text == NULL ? "" : text, text == NULL ? 1 : strlen(text) + 1);
}

rmsnorm_status rmsnorm_program_key_make(uint64_t package, const rmsnorm_request *request, rmsnorm_program_key *key)
{
    const rmsnorm_attributes *const attributes = request->attributes;
    key->size = 0;
    add(key, &package, sizeof package);
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        const rmsnorm_tensor *const input = request->inputs[i];
        const int32_t head[2] = {input == NULL ? 0 : (int32_t)input->dtype, input == NULL ? -1 : input->rank};
        add(key, head, sizeof head);
        if (input != NULL && input->rank > 0 && input->rank <= RMSNORM_MAX_RANK) {
            add(key, input->dims, (size_t)input->rank * sizeof *input->dims);
        }
    }
    add(key, request->wanted, sizeof request->wanted);
    add(key, request->in_place, sizeof request->in_place);
    add(key, request->beside_output, sizeof request->beside_output);
    const bool given = attributes != NULL;
    add(key, &given, sizeof given);
    if (given) {
        add(key, &attributes->axis, sizeof attributes->axis);
        add(key, &attributes->epsilon, sizeof attributes->epsilon);
        add(key, &attributes->stash_type, sizeof attributes->stash_type);
        add(key, &attributes->keep_dims, sizeof attributes->keep_dims);
    }
    add(key, &request->batch_invariant, sizeof request->batch_invariant);
    add_text(key, request->variant);
    for (size_t i = 0; i < request->tunable_count; i++) {
        add_text(key, request->tunables[i].name);
        add(key, &request->tunables[i].value, sizeof request->tunables[i].value);
    }
    RMSNORM_CHECK(key->size <= sizeof key->bytes, RMSNORM_INVALID_ARGUMENT,
                  "WebGPU: the names of the variant and the tunables are longer than any there is");
    key->hash = rmsnorm_webgpu_hash(key->bytes, key->size);
    return RMSNORM_OK;
}

/* ---- The table ------------------------------------------------------------------------------- */

rmsnorm_program *rmsnorm_programs_find(rmsnorm_webgpu *webgpu, const rmsnorm_program_key *key)
{
    rmsnorm_programs *const all = webgpu->programs;
    for (entry *at = all->buckets[key->hash % BUCKETS]; at != NULL; at = at->next) {
        if (at->hash == key->hash && at->size == key->size && memcmp(at->key, key->bytes, key->size) == 0) {
            at->used = ++all->clock;
            return &at->program;
        }
    }
    return NULL;
}

static void destroy(rmsnorm_webgpu *webgpu, entry *gone)
{
    rmsnorm_program_close(webgpu, &gone->program);
    rmsnorm_plan_release(gone->plan);
    free(gone);
}

static void evict(rmsnorm_webgpu *webgpu)
{
    rmsnorm_programs *const all = webgpu->programs;
    entry **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (entry **at = &all->buckets[i]; *at != NULL; at = &(*at)->next) {
            if (oldest == NULL || (*at)->used < (*oldest)->used) {
                oldest = at;
            }
        }
    }
    if (oldest != NULL) {
        entry *const gone = *oldest;
        *oldest = gone->next;
        all->count--;
        destroy(webgpu, gone);
    }
}

rmsnorm_status rmsnorm_programs_add(rmsnorm_webgpu *webgpu, const rmsnorm_program_key *key, rmsnorm_plan *plan,
                                    rmsnorm_program **program)
{
    rmsnorm_programs *const all = webgpu->programs;
    entry *const made = calloc(1, sizeof *made + key->size);
    if (made == NULL) {
        rmsnorm_plan_release(plan);
        return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
    }
    const rmsnorm_status status = rmsnorm_program_open(webgpu, plan, &made->program);
    if (status != RMSNORM_OK) {
        rmsnorm_plan_release(plan);
        free(made);
        return status;
    }
    if (all->count >= MOST) {
        evict(webgpu);
    }
    made->plan = plan;
    made->hash = key->hash;
    made->size = key->size;
    memcpy(made->key, key->bytes, key->size);
    made->used = ++all->clock;
    made->next = all->buckets[key->hash % BUCKETS];
    all->buckets[key->hash % BUCKETS] = made;
    all->count++;
    *program = &made->program;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_programs_open(rmsnorm_webgpu *webgpu)
{
    webgpu->programs = calloc(1, sizeof *webgpu->programs);
    return webgpu->programs == NULL ? rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory") : RMSNORM_OK;
}

void rmsnorm_programs_close(rmsnorm_webgpu *webgpu)
{
    for (size_t i = 0; webgpu->programs != NULL && i < BUCKETS; i++) {
        while (webgpu->programs->buckets[i] != NULL) {
            entry *const gone = webgpu->programs->buckets[i];
            webgpu->programs->buckets[i] = gone->next;
            destroy(webgpu, gone);
        }
    }
    free(webgpu->programs);
    webgpu->programs = NULL;
}
