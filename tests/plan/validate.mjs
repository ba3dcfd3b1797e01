// validate.mjs: compiles the shaders of a sweep with Dawn, and makes a pipeline of each.
//
// usage: node validate.mjs PACKAGE_FOLDER FILE
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(path.join(path.resolve(folder), "index.js")));
Object.assign(globalThis, globals);
globalThis.gpu = create(["backend=null"]); // kept: without a reference it goes before its device
const adapter = await globalThis.gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ["shader-f16", "subgroups"] });

async function faultOf(action) {
  device.pushErrorScope("validation");
  action();
  return (await device.popErrorScope())?.message;
}

async function faultOfShader({ label, wgsl }) {
  let module;
  return (
    (await faultOf(() => (module = device.createShaderModule({ code: wgsl, label })))) ??
    (await faultOf(() => device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } })))
  );
}

// A shader that is wrong must be found: else nothing was checked.
if (!(await faultOfShader({ label: "wrong", wgsl: "@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }" }))) {
  console.log("validate: a wrong shader was accepted");
  process.exit(1);
}
const shaders = JSON.parse(fs.readFileSync(file, "utf8"));
let faults = 0;
for (const shader of shaders) {
  const fault = await faultOfShader(shader);
  if (fault && ++faults <= 3) {
    console.log(`${shader.label}: ${fault}\n${shader.wgsl}`);
  }
}
console.log(`${shaders.length} shaders compiled, ${faults} refused`);
process.exit(shaders.length > 0 && faults === 0 ? 0 : 1);
