/* choose.h: which package and which plan a run takes. */
#ifndef RMSNORM_WEBGPU_CHOOSE_H
#define RMSNORM_WEBGPU_CHOOSE_H

#include "webgpu/device.h"

/* The embedded package of an operator, opened once. */
rmsnorm_status rmsnorm_webgpu_package(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                      const rmsnorm_package **package);

/* What tuning found for the request's class, where the request leaves the choice open and the choice has a plan; else the package's own. */
rmsnorm_status rmsnorm_webgpu_choose(rmsnorm_webgpu *webgpu, const rmsnorm_package *package,
                                     const rmsnorm_request *request, rmsnorm_plan **plan);

#endif
