/* descriptor.c: a type and a shape in words. */
#include "descriptor.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "cli.h"
#include "text.h"

static int parse_type(const char *what, const char *text, bool symbolic, rmsnorm_dtype *dtype)
{
    *dtype = RMSNORM_UNDEFINED;
    if (symbolic && strcmp(text, "?") == 0) {
        return RMSNORM_CLI_DONE;
    }
    *dtype = rmsnorm_dtype_from_name(text);
    if (*dtype == RMSNORM_UNDEFINED) {
        return rmsnorm_cli_fail("%s: unknown element type '%s', allowed are float, float16, bfloat16, double%s", what,
                                text, symbolic ? ", and ? for a type that is not known" : "");
    }
    return RMSNORM_CLI_DONE;
}

static int parse_dim(const char *what, const char *text, bool symbolic, rmsnorm_tensor *tensor)
{
    const int32_t i = tensor->rank;
    long long number;
    if (rmsnorm_cli_integer(text, 0, INT64_MAX, &number)) {
        tensor->dims[i] = number;
        return RMSNORM_CLI_DONE;
    }
    const bool named = isalpha((unsigned char)text[0]) || text[0] == '_';
    if (!symbolic || !(named || strcmp(text, "?") == 0)) {
        return rmsnorm_cli_fail("%s: dim %d is '%s', allowed are whole numbers from 0%s", what, (int)i, text,
                                symbolic ? ", names that begin with a letter, and ?" : "");
    }
    tensor->dims[i] = RMSNORM_UNKNOWN;
    tensor->dim_names[i] = named ? text : NULL;
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_descriptor_parse(const char *what, char *text, bool symbolic, rmsnorm_tensor *tensor)
{
    *tensor = (rmsnorm_tensor){.rank = RMSNORM_UNKNOWN};
    char *dims = strchr(text, ':');
    if (dims != NULL) {
        *dims++ = '\0';
    } else if (!symbolic) {
        return rmsnorm_cli_fail("%s: '%s' has no dims, write DTYPE:DIM,DIM,... (DTYPE: alone is a scalar)", what, text);
    }
    const int code = parse_type(what, text, symbolic, &tensor->dtype);
    if (code != RMSNORM_CLI_DONE || dims == NULL) {
        return code;
    }
    tensor->rank = 0;
    for (char *next = dims[0] == '\0' ? NULL : dims; next != NULL; ++tensor->rank) {
        char *dim = next;
        next = strchr(dim, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (tensor->rank == RMSNORM_MAX_RANK) {
            return rmsnorm_cli_fail("%s: more than %d dims, which is the highest rank", what, RMSNORM_MAX_RANK);
        }
        if (parse_dim(what, dim, symbolic, tensor) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}
