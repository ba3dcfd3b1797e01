/* edit.h: what a rewritten model is put together from. */
#ifndef RMSNORM_GRAPH_EDIT_H
#define RMSNORM_GRAPH_EDIT_H

#include "graph/document.h"
#include "graph/pieces.h"

/* Everything rewriting has not touched stays as it is, in its place; the lengths of messages around a change are new. Release
 * the pieces in any case. */
rmsnorm_status rmsnorm_edit_make(const rmsnorm_document *document, rmsnorm_pieces *pieces);

#endif
