/* describe.c: rmsnorm describe: the operators, or the page of one. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "options.h"
#include "text.h"

enum { FORMAT = 1, NO_PROSE };

static const rmsnorm_cli_option options[] = {
    {FORMAT, 0, "format", "text|markdown|json", "text is the default, json what --json says"},
    {NO_PROSE, 0, "no-prose", NULL, "facts without the descriptions"},
};

static const rmsnorm_cli_usage usage = {
    .command = "describe",
    .synopsis = "[[DOMAIN::]NAME] [--format text|markdown|json] [--no-prose]",
    .text = "Lists the operators, or shows one: domain, version, devices, types, inputs, outputs, attributes.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

typedef enum format { TEXT, MARKDOWN, JSON, FORMAT_COUNT } format;
static const char *const format_names[FORMAT_COUNT] = {"text", "markdown", "json"};

const char *rmsnorm_cli_support_name(int index)
{
    static const char *const names[] = {"run", "shape inference", "peak memory", "fusion patterns", "gradient"};
    return index < (int)(sizeof names / sizeof names[0]) ? names[index] : NULL;
}

bool rmsnorm_cli_support_at(const rmsnorm_support *support, int index)
{
    const bool values[] = {support->run, support->shape_inference, support->peak_memory, support->fusion,
                           support->gradient};
    return values[index];
}

const char *rmsnorm_cli_devices(const rmsnorm_operator *op, char text[RMSNORM_CLI_DEVICES])
{
    text[0] = '\0';
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        if (op->support[device].run) {
            rmsnorm_cli_append(text, RMSNORM_CLI_DEVICES, "%s%s", text[0] == '\0' ? "" : ", ",
                               rmsnorm_cli_device_name(device));
        }
    }
    return text[0] == '\0' ? "none" : text;
}

const char *rmsnorm_cli_default(const rmsnorm_attribute *attribute, char text[RMSNORM_CLI_DEFAULT])
{
    if (attribute->kind == RMSNORM_ATTRIBUTE_FLOAT) {
        return rmsnorm_cli_number((double)attribute->default_float, true, text);
    }
    (void)snprintf(text, RMSNORM_CLI_DEFAULT, "%" PRId64, attribute->default_int);
    return text;
}

const char *rmsnorm_cli_kind(const rmsnorm_attribute *attribute)
{
    return attribute->kind == RMSNORM_ATTRIBUTE_FLOAT ? "float" : "int";
}

static void list_text(void)
{
    char devices[RMSNORM_CLI_DEVICES];
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        printf("%s::%s  since %d  on %s\n    %s\n", rmsnorm_cli_domain(op->domain), op->name, op->since_version,
               rmsnorm_cli_devices(op, devices), op->summary);
    }
}

static void list_markdown(void)
{
    char devices[RMSNORM_CLI_DEVICES];
    const rmsnorm_operator *op;
    printf("| operator | since | devices | summary |\n|---|---|---|---|\n");
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        printf("| `%s::%s` | %d | %s | `%s` |\n", rmsnorm_cli_domain(op->domain), op->name, op->since_version,
               rmsnorm_cli_devices(op, devices), op->summary);
    }
}

static void list_json(bool prose)
{
    json_t *list = json_array();
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        (void)json_array_append_new(list, rmsnorm_cli_describe_json(op, prose));
    }
    rmsnorm_cli_print_json(list, true);
}

static int describe(const char *name, format chosen, bool prose)
{
    const rmsnorm_operator *op = name == NULL ? NULL : rmsnorm_operator_parse(name);
    if (name != NULL && op == NULL) {
        return rmsnorm_cli_fail_library();
    }
    switch (chosen) {
    case MARKDOWN:
        if (op != NULL) {
            rmsnorm_cli_describe_markdown(op, prose);
        } else {
            list_markdown();
        }
        break;
    case JSON:
        if (op != NULL) {
            rmsnorm_cli_print_json(rmsnorm_cli_describe_json(op, prose), true);
        } else {
            list_json(prose);
        }
        break;
    default:
        if (op != NULL) {
            rmsnorm_cli_describe_text(op, prose);
        } else {
            list_text();
        }
        break;
    }
    return RMSNORM_CLI_DONE;
}

static int parse_format(const char *word, format *chosen)
{
    for (int i = 0; i < FORMAT_COUNT; ++i) {
        if (strcmp(word, format_names[i]) == 0) {
            *chosen = (format)i;
            return RMSNORM_CLI_DONE;
        }
    }
    return rmsnorm_cli_fail("--format is '%s', allowed are text, markdown, json", word);
}

int rmsnorm_cli_describe(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    const char *name = NULL;
    const char *value;
    format chosen = TEXT;
    bool prose = true;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (id == FORMAT) {
            if (parse_format(value, &chosen) != RMSNORM_CLI_DONE) {
                return RMSNORM_CLI_BAD;
            }
        } else if (id == NO_PROSE) {
            prose = false;
        } else if (name != NULL) {
            return rmsnorm_cli_fail("one operator at a time: '%s' and '%s' were given", name, value);
        } else {
            name = value;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    return describe(name, args.json ? JSON : chosen, prose);
}
