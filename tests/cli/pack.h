/* pack.h: copies of the packages in kernels/, to be spoiled by tests. */
#ifndef RMSNORM_TESTS_CLI_PACK_H
#define RMSNORM_TESTS_CLI_PACK_H

/* Copies kernels/NAME into the folder `to`, with a metadata.json of its own, and seals it. */
void pack_copy(const char *name, const char *to);

/* Writes a file of a package, ' standing for ", and seals the package again. */
void pack_put(const char *folder, const char *file, const char *text);

/* `text` with the only occurrence of `from` replaced. */
const char *pack_replaced(const char *text, const char *from, const char *to);

#endif
