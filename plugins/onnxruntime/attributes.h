/* attributes.h: attributes of a node, as the runtime shows them in one place or another, read by the table of operators. */
#ifndef RMSNORM_PLUGIN_ATTRIBUTES_H
#define RMSNORM_PLUGIN_ATTRIBUTES_H

#include "rmsnorm/rewrite.h"
#include "runtime.h"

/* Ints and floats by value; of all others it is known that they are there. The name stays the caller's. */
OrtStatus *plugin_attribute_read(const OrtApi *api, const OrtOpAttr *from, rmsnorm_node_attribute *to);

/* Where a node's attributes are asked for by name, there is no list of them. Whether it has this one. */
typedef bool plugin_attribute_find(const OrtApi *api, const void *node, const char *name, rmsnorm_node_attribute *to);

bool plugin_attribute_of_kernel(const OrtApi *api, const void *info, const char *name,
                                rmsnorm_node_attribute *to); /* OrtKernelInfo */
bool plugin_attribute_of_shapes(const OrtApi *api, const void *context, const char *name,
                                rmsnorm_node_attribute *to); /* OrtShapeInferContext */

/* Every attribute that one of the operators has. The first refusal, with its sentence as the last error; what is refused keeps its
 * default. */
rmsnorm_status plugin_attributes_read(const OrtApi *api, const rmsnorm_operator *op, plugin_attribute_find *find,
                                      const void *node, rmsnorm_attributes *attributes);

#endif
