/* How a rule asks what is known around its node, and what becomes of its answer. */
#include "rewrite/infer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME "%.160s"

rmsnorm_known rmsnorm_asked_input(const rmsnorm_asked *asked, size_t slot)
{
    const size_t value = rmsnorm_ir_input(asked->ir, asked->node, slot);
    return value == RMSNORM_NO_INDEX ? rmsnorm_known_nothing(RMSNORM_UNDEFINED) : rmsnorm_known_value(asked->ir, value);
}

bool rmsnorm_asked_has(const rmsnorm_asked *asked, size_t slot)
{
    return rmsnorm_ir_input(asked->ir, asked->node, slot) != RMSNORM_NO_INDEX;
}

bool rmsnorm_asked_numbers(const rmsnorm_asked *asked, size_t slot, int64_t *numbers, size_t most, size_t *count)
{
    rmsnorm_content content;
    if (!rmsnorm_asked_content(asked, slot, &content) || content.count > most) {
        return false;
    }
    for (size_t i = 0; i < content.count; i++) {
        if (content.items[i].number == RMSNORM_NO_NUMBER) {
            return false;
        }
        numbers[i] = content.items[i].number;
    }
    *count = content.count;
    return true;
}

int64_t rmsnorm_asked_int(const rmsnorm_asked *asked, const char *name, int64_t otherwise)
{
    const rmsnorm_node_attribute *const attribute = rmsnorm_ir_attribute(asked->ir, asked->node, name);
    return attribute != NULL && attribute->kind == RMSNORM_NODE_ATTRIBUTE_INT ? attribute->i : otherwise;
}

bool rmsnorm_asked_ints(const rmsnorm_asked *asked, const char *name, int64_t *numbers, size_t most, size_t *count)
{
    const rmsnorm_node_attribute *const attribute = rmsnorm_ir_attribute(asked->ir, asked->node, name);
    if (attribute == NULL || attribute->kind != RMSNORM_NODE_ATTRIBUTE_INTS || attribute->count > most) {
        return false;
    }
    if (attribute->count > 0) {
        memcpy(numbers, attribute->ints, attribute->count * sizeof *numbers);
    }
    *count = attribute->count;
    return true;
}

bool rmsnorm_asked_content(const rmsnorm_asked *asked, size_t slot, rmsnorm_content *content)
{
    const size_t value = rmsnorm_ir_input(asked->ir, asked->node, slot);
    if (value == RMSNORM_NO_INDEX) {
        return false;
    }
    const rmsnorm_ir_cell *const cell = &asked->ir->values[value];
    if (cell->content != NULL && cell->content_count <= RMSNORM_MAX_CONTENT) {
        content->count = cell->content_count;
        memcpy(content->items, cell->content, content->count * sizeof content->items[0]);
        return true;
    }
    int64_t numbers[RMSNORM_MAX_CONTENT];
    if (rmsnorm_ir_integers(asked->ir, value, numbers, RMSNORM_MAX_CONTENT, &content->count)) {
        for (size_t i = 0; i < content->count; i++) {
            content->items[i] = (rmsnorm_ir_dim){numbers[i], NULL};
        }
        return true;
    }
    /* How many they are is something, too. */
    const rmsnorm_known known = rmsnorm_known_value(asked->ir, value);
    const int dtype = (int)known.dtype;
    const bool integer = dtype == RMSNORM_INT64 || dtype == RMSNORM_INT32 || dtype == RMSNORM_BOOL;
    const int64_t count = known.rank == 0 ? 1 : known.dims[0].number;
    if (!integer || known.open || known.rank > 1 || count < 0 || count > RMSNORM_MAX_CONTENT) {
        return false;
    }
    content->count = (size_t)count;
    for (size_t i = 0; i < content->count; i++) {
        content->items[i] = rmsnorm_dim_unknown();
    }
    return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_asked_fault(const rmsnorm_asked *asked, const char *format, ...)
{
    char sentence[1024];
    const rmsnorm_ir_words label = rmsnorm_ir_label(asked->ir, asked->node);
    const int length = snprintf(sentence, sizeof sentence, "%s: ", label.text); /* shorter than the words' room */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence + length, sizeof sentence - (size_t)length, format, arguments);
    va_end(arguments);
    rmsnorm_text_clean(sentence);
    return rmsnorm_ir_add_fault(asked->ir, asked->node, rmsnorm_ir_format(asked->ir, "%s", sentence));
}

rmsnorm_status rmsnorm_asked_axis_fault(const rmsnorm_asked *asked, const rmsnorm_known *known)
{
    return rmsnorm_asked_fault(asked, "an axis is not among the dims of %s", rmsnorm_known_words(known).text);
}

/* What is there stays; what is not known is taken from `more`. False: they contradict each other. */
static bool unite(rmsnorm_known *known, const rmsnorm_known *more)
{
    rmsnorm_known other = *more;
    if (known->dtype == RMSNORM_UNDEFINED) {
        known->dtype = other.dtype;
    }
    bool fits = other.dtype == RMSNORM_UNDEFINED || known->dtype == other.dtype;
    fits = fits && (other.open || rmsnorm_known_close(known, other.rank));
    fits = fits && (known->open || rmsnorm_known_close(&other, known->rank));
    fits = fits && rmsnorm_known_reach(known, other.rank) && rmsnorm_known_reach(&other, known->rank);
    for (int32_t d = 0; fits && d < known->rank; d++) {
        const rmsnorm_ir_dim had = known->dims[d];
        fits = rmsnorm_dim_unite(&known->dims[d], other.dims[d]);
        if (had.name != NULL) {
            known->dims[d] = had;
        }
    }
    return fits;
}

static rmsnorm_words type_words(rmsnorm_dtype dtype)
{
    return dtype != RMSNORM_UNDEFINED ? rmsnorm_words_dtype(dtype) : (rmsnorm_words){"of unknown type"};
}

rmsnorm_status rmsnorm_asked_refine(const rmsnorm_asked *asked, size_t value, const rmsnorm_known *known)
{
    rmsnorm_ir_value *const shown = &asked->ir->values[value].shown;
    const rmsnorm_known declared = rmsnorm_known_value(asked->ir, value);
    rmsnorm_known united = declared;
    if (!unite(&united, known)) {
        const rmsnorm_words types[] = {type_words(declared.dtype), type_words(known->dtype)};
        return rmsnorm_asked_fault(asked, "\"" NAME "\" is said to be %s %s, but from what goes in it is %s %s",
                                   shown->name, types[0].text, rmsnorm_known_words(&declared).text, types[1].text,
                                   rmsnorm_known_words(known).text);
    }
    shown->type.dtype = united.dtype;
    shown->type.rank = united.rank;
    shown->open = united.open;
    for (int32_t d = 0; d < united.rank; d++) {
        const bool number = united.dims[d].number != RMSNORM_NO_NUMBER;
        shown->type.dims[d] = number ? united.dims[d].number : RMSNORM_UNKNOWN;
        shown->type.dim_names[d] = number ? NULL : united.dims[d].name;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_asked_give(const rmsnorm_asked *asked, size_t slot, const rmsnorm_known *known)
{
    const size_t value = rmsnorm_ir_output(asked->ir, asked->node, slot);
    return value == RMSNORM_NO_INDEX ? RMSNORM_OK : rmsnorm_asked_refine(asked, value, known);
}

rmsnorm_status rmsnorm_asked_give_content(const rmsnorm_asked *asked, const rmsnorm_content *content)
{
    const size_t value = rmsnorm_ir_output(asked->ir, asked->node, 0);
    if (value == RMSNORM_NO_INDEX || asked->ir->values[value].shown.open ||
        asked->ir->values[value].shown.type.rank > 1) {
        return RMSNORM_OK;
    }
    rmsnorm_ir_cell *const cell = &asked->ir->values[value];
    const size_t size = content->count * sizeof content->items[0];
    if (cell->content != NULL && cell->content_count == content->count &&
        memcmp(cell->content, content->items, size) == 0) {
        return RMSNORM_OK; /* inferred again */
    }
    rmsnorm_ir_dim *const copy = rmsnorm_ir_allocate(asked->ir, content->count + 1, sizeof *copy);
    if (copy == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(copy, content->items, size);
    cell->content = copy;
    cell->content_count = content->count;
    return RMSNORM_OK;
}
