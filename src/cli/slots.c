/* slots.c: an operator's inputs and outputs by the names of the schema. */
#include "slots.h"

#include <string.h>

#include "cli.h"
#include "text.h"

const char *rmsnorm_cli_slot_names(const rmsnorm_slot *slots, size_t count, char text[RMSNORM_CLI_NAMES])
{
    text[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        rmsnorm_cli_append(text, RMSNORM_CLI_NAMES, "%s%s", i == 0 ? "" : ", ", slots[i].name);
    }
    return text;
}

int rmsnorm_cli_slot_find(const rmsnorm_operator *op, bool input, const char *word, size_t length, size_t *slot)
{
    const rmsnorm_slot *slots = input ? op->inputs : op->outputs;
    const size_t count = input ? op->input_count : op->output_count;
    for (size_t i = 0; i < count; ++i) {
        if (strlen(slots[i].name) == length && strncmp(slots[i].name, word, length) == 0) {
            *slot = i;
            return RMSNORM_CLI_DONE;
        }
    }
    char names[RMSNORM_CLI_NAMES];
    return rmsnorm_cli_fail("%s has no %s '%.*s', it has %s", op->name, input ? "input" : "output",
                            (int)(length < 80 ? length : 80), word, rmsnorm_cli_slot_names(slots, count, names));
}
