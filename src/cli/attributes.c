/* attributes.c: the attribute values in effect, by the names of the schema. */
#include "attributes.h"

#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "text.h"

int64_t rmsnorm_cli_attribute_int(const rmsnorm_attributes *attributes, const char *name)
{
    return strcmp(name, "axis") == 0         ? attributes->axis
           : strcmp(name, "stash_type") == 0 ? attributes->stash_type
                                             : attributes->keep_dims;
}

float rmsnorm_cli_attribute_float(const rmsnorm_attributes *attributes, const char *name)
{
    (void)name; /* rmsnorm_attributes has one float */
    return attributes->epsilon;
}

const char *rmsnorm_cli_attributes(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                   char text[RMSNORM_CLI_ATTRIBUTES])
{
    char number[RMSNORM_CLI_NUMBER];
    text[0] = '\0';
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const char *name = op->attributes[i].name;
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s%s=", i == 0 ? "" : " ", name);
        if (op->attributes[i].kind == RMSNORM_ATTRIBUTE_INT) {
            rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%" PRId64, rmsnorm_cli_attribute_int(attributes, name));
        } else {
            const double value = (double)rmsnorm_cli_attribute_float(attributes, name);
            rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s", rmsnorm_cli_number(value, true, number));
        }
    }
    return text;
}

static int check_once(const rmsnorm_cli_list *assignments, size_t index)
{
    const char *word = assignments->items[index];
    const size_t length = strcspn(word, "=") + 1;
    for (size_t i = 0; i < index; ++i) {
        if (strncmp(assignments->items[i], word, length) == 0) {
            return rmsnorm_cli_fail("--attr '%.*s' is given twice, once is allowed", (int)length - 1, word);
        }
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_attributes_parse(const rmsnorm_operator *op, const rmsnorm_cli_list *assignments,
                                 rmsnorm_attributes *attributes)
{
    rmsnorm_attributes_init(op, attributes);
    for (size_t i = 0; i < assignments->count; ++i) {
        if (rmsnorm_attributes_parse(op, attributes, assignments->items[i]) != RMSNORM_OK) {
            return rmsnorm_cli_fail_library();
        }
        if (check_once(assignments, i) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}
