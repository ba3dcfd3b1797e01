/* answer.h: what goes back to JavaScript, as JSON: a package's contract, a plan, or a refusal. */
#ifndef RMSNORM_JS_ANSWER_H
#define RMSNORM_JS_ANSWER_H

#include "rmsnorm/package.h"
#include "text.h"

/* {"name", "id", "version", "spec", "domain", "operator", "sinceVersion", "plans",
 *  "inputs": [{"key", "onnx", "type", "optional"}], "outputs": [...]} */
void rmsnorm_js_write_info(rmsnorm_js_text *text, const rmsnorm_package_info *info);

/* {"variant", "outputs": {key: {"dtype", "shape"}}, "shaders": [{"label", "wgsl"}],
 *  "passes": [{"shader", "workgroups", "uniformBinding", "uniforms",
 *              "bindings": [{"binding", "name", "kind": "input" | "output" | "scratch", "slot": key or index,
 *                            "writes", "offset", "size"}]}],
 *  "scratch": [bytes], "peakMemory"} */
void rmsnorm_js_write_plan(rmsnorm_js_text *text, const rmsnorm_package_info *info, const rmsnorm_plan *plan);

/* {"status", "error"}: the name of the status, and the sentence. */
void rmsnorm_js_write_refusal(rmsnorm_js_text *text, rmsnorm_status status, const char *message);

#endif
