/* reader.h: reads a manifest's JSON, and knows where it is when something is wrong. */
#ifndef RMSNORM_PACKAGE_READER_H
#define RMSNORM_PACKAGE_READER_H

#include "package/manifest.h"

/* Where in the manifest the reader is: "variants[1].passes[0]". */
typedef struct rmsnorm_reader {
    rmsnorm_arena *arena;
    char path[192];
    size_t length;
    bool contract_only; /* another spec: its expressions are not read, unknown fields are passed over */
} rmsnorm_reader;

/* Into a member, or an item; what they return takes leave back. */
size_t rmsnorm_reader_enter(rmsnorm_reader *in, const char *key);
size_t rmsnorm_reader_enter_item(rmsnorm_reader *in, size_t index);
void rmsnorm_reader_leave(rmsnorm_reader *in, size_t before);

/* "variants[1].when is integer; allowed: a list" */
RMSNORM_COLD rmsnorm_status rmsnorm_reader_wrong(const rmsnorm_reader *in, const rmsnorm_any *got, const char *allowed);

/* Zeroed, for count of them. */
void *rmsnorm_reader_items(rmsnorm_reader *in, size_t count, size_t size);

/* NULL when it is not there. */
const rmsnorm_any *rmsnorm_reader_field(const rmsnorm_any *object, const char *key);

/* Every key of an object is one that is known: what is misspelt is not silently left out. */
rmsnorm_status rmsnorm_reader_check_keys(const rmsnorm_reader *in, const rmsnorm_any *object, const char *const *known,
                                         size_t count);

#define RMSNORM_READER_KEYS(in, object, ...)                                                              \
    do {                                                                                                  \
        static const char *const known_[] = {__VA_ARGS__};                                                \
        RMSNORM_TRY(rmsnorm_reader_check_keys((in), (object), known_, sizeof known_ / sizeof known_[0])); \
    } while (0)

/* Single fields. An absent flag is false; an absent object or list that is not needed is empty. */
rmsnorm_status rmsnorm_reader_text(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, const char **text);
rmsnorm_status rmsnorm_reader_integer(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, int64_t *number);
rmsnorm_status rmsnorm_reader_flag(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool *flag);
rmsnorm_status rmsnorm_reader_members(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                      const rmsnorm_map **map);
rmsnorm_status rmsnorm_reader_list(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                   const rmsnorm_list **list);

/* Formulas: the value at the path; a member, which stays without text when it is absent and not needed; an object of them. */
rmsnorm_status rmsnorm_reader_formula(rmsnorm_reader *in, const rmsnorm_any *value, rmsnorm_formula *formula);
rmsnorm_status rmsnorm_reader_formula_at(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                         rmsnorm_formula *formula);
rmsnorm_status rmsnorm_reader_formulas(rmsnorm_reader *in, const rmsnorm_any *object, const char *key,
                                       rmsnorm_formulas *formulas);

/* Reads one member of an object into its place among the items. */
typedef rmsnorm_status rmsnorm_reader_item(rmsnorm_reader *in, const char *name, const rmsnorm_any *json,
                                           const void *context, void *item);

/* Every member of the object under key, with size bytes each for what is read. */
rmsnorm_status rmsnorm_reader_each_member(rmsnorm_reader *in, const char *key, const rmsnorm_map *map, size_t size,
                                          rmsnorm_reader_item *read, const void *context, void **items);

#endif
