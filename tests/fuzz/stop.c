#include "fuzz/stop.h"

#include <stdio.h>
#include <stdlib.h>

#include "rmsnorm/rmsnorm.h"

void fuzz_stop(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\nlast sentence: %s\n", file, line, condition, rmsnorm_last_error());
    abort();
}
