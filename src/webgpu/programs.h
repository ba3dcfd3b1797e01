/* programs.h: the programs of the requests that were seen, so that a request seen before costs no planning. */
#ifndef RMSNORM_WEBGPU_PROGRAMS_H
#define RMSNORM_WEBGPU_PROGRAMS_H

#include "webgpu/program.h"

/* What a plan depends on, as bytes. */
typedef struct rmsnorm_program_key {
    size_t size;
    uint64_t hash;
    unsigned char bytes[2048];
} rmsnorm_program_key;

/* package is its serial. An error: names of variant and tunables that are longer than any there is. */
rmsnorm_status rmsnorm_program_key_make(uint64_t package, const rmsnorm_request *request, rmsnorm_program_key *key);

/* NULL: not seen yet. */
rmsnorm_program *rmsnorm_programs_find(rmsnorm_webgpu *webgpu, const rmsnorm_program_key *key);

/* Makes the program of a plan, which belongs to it from now on, also on an error. The program stays until others take its place,
 * at the earliest in the next call. */
rmsnorm_status rmsnorm_programs_add(rmsnorm_webgpu *webgpu, const rmsnorm_program_key *key, rmsnorm_plan *plan,
                                    rmsnorm_program **program);

rmsnorm_status rmsnorm_programs_open(rmsnorm_webgpu *webgpu);
void rmsnorm_programs_close(rmsnorm_webgpu *webgpu);

#endif
