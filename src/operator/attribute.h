/* attribute.h: attribute values, as checked before every inference and run. */
#ifndef RMSNORM_OPERATOR_ATTRIBUTE_H
#define RMSNORM_OPERATOR_ATTRIBUTE_H

#include "rmsnorm/rmsnorm.h"

/* Every value the operator has, as far as it can be judged without a shape. */
rmsnorm_status rmsnorm_attributes_check(const rmsnorm_operator *op, const rmsnorm_attributes *attributes);

#endif
