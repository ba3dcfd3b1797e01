/* planner.h: the planner as JavaScript calls it: texts in, texts out. One thread.
 *
 * A text goes in through the memory that rmsnorm_js_input gives. What comes back lies in memory until the next call. */
#ifndef RMSNORM_JS_PLANNER_H
#define RMSNORM_JS_PLANNER_H

#include <stddef.h>

#include "rmsnorm/package.h"

#if defined(__wasm__)
#define RMSNORM_JS_EXPORT(name) __attribute__((export_name(name)))
#else
#define RMSNORM_JS_EXPORT(name)
#endif

/* Room for a text of this size; NULL without memory. */
RMSNORM_JS_EXPORT("input") char *rmsnorm_js_input(size_t size);

/* The text, a file that was verified, goes to the package that is opened next. `name` characters of it are the file's name. */
RMSNORM_JS_EXPORT("file") void rmsnorm_js_file(size_t name, size_t size);

/* A package of these files, or NULL. The answer is its contract, or the refusal. */
RMSNORM_JS_EXPORT("open") rmsnorm_package *rmsnorm_js_open(void);
RMSNORM_JS_EXPORT("close") void rmsnorm_js_close(rmsnorm_package *package);

/* The text is a request (request.h); the answer a plan, or the refusal. */
RMSNORM_JS_EXPORT("plan") void rmsnorm_js_plan(const rmsnorm_package *package, size_t size);

/* The answer to the last call; empty: there was no memory for it. */
RMSNORM_JS_EXPORT("answer") const char *rmsnorm_js_answer(void);
RMSNORM_JS_EXPORT("answerSize") size_t rmsnorm_js_answer_size(void);

#endif
