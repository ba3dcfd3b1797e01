/* template.h: the template renderer: the part of Jinja that kernel templates need.
 *
 * {{ }}, {# #}, {% if / elif / else %}, {% for .. in .. (if ..) / else %} with loop.index, index0, first, last, length and the
 * like, {% set %}, {% macro %}, whitespace control with -, trim_blocks and lstrip_blocks as @huggingface/jinja has them: for what
 * is accepted, the text is what that package renders, byte for byte. Of our own are {% raw %} and {% include "name" %}, which
 * acts as if the included text stood there: it sees all variables, and what it sets and its macros stay. */
#ifndef RMSNORM_TEMPLATE_TEMPLATE_H
#define RMSNORM_TEMPLATE_TEMPLATE_H

#include "template/expression.h"

typedef struct rmsnorm_template rmsnorm_template;

/* Everything lives in arena; source's name and text are copied. */
rmsnorm_status rmsnorm_template_parse(rmsnorm_arena *arena, const rmsnorm_text_source *source,
                                      const rmsnorm_template **parsed);

/* Finds what {% include %} names; NULL when there is none. */
typedef struct rmsnorm_library {
    const rmsnorm_template *(*find)(void *user, const char *name, size_t length);
    void *user;
} rmsnorm_library;

#define RMSNORM_TEMPLATE_DEPTH 64 /* nested expressions, blocks, includes and macro calls together */

/* The text lives in evaluation->arena, at most text_limit bytes, with a terminator behind. library may be NULL. */
rmsnorm_status rmsnorm_template_render(const rmsnorm_template *parsed, const rmsnorm_map *context,
                                       const rmsnorm_library *library, rmsnorm_evaluation *evaluation,
                                       size_t text_limit, const char **text, size_t *length);

#endif
