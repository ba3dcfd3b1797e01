// types.ts: what a caller of the npm package writes in TypeScript.
import { getKernel, RequestError, type HostResult, type Kernel, type Tensor as DeviceTensor } from "rmsnorm";
import { Tensor } from "rmsnorm";

const data = new Float32Array(8);
const kernel: Kernel = await getKernel("webgpu-kernels/ai.onnx.SimplifiedLayerNormalization", {
    version: 1,
    fetch: (...call) => fetch(...call),
    timeout: 1000,
    retries: 1,
    retryDelay: 10,
    cache: { get: async () => undefined, put: async () => {} },
    onProgress: ({ file, loaded, total }) => console.log(file, loaded, total ?? "?"),
});
const inputs = { x: { data, shape: [8] }, scale: { data, shape: [8] } };
const { y } = await kernel(inputs);
const host: HostResult = y;
const results = await kernel(inputs, { output: "gpu", attrs: { epsilon: 1 }, outputs: ["invStdVar"] });
const tensor: DeviceTensor = results.y;
const buffer: GPUBuffer | null = tensor.buffer;
await kernel(inputs, { timestampWrites: { querySet: kernel.device!.createQuerySet({ type: "timestamp", count: 1 }), endOfPassWriteIndex: 0 } });
await kernel({ x: tensor, scale: { buffer: buffer!, shape: [8], dtype: "float32" } }, { into: { y: tensor } });
console.log(host.data.length, await tensor.download(), kernel.plan({ x: tensor }).passes[0].workgroups[0]);
console.log(kernel.contract.inputs[0].key, (await kernel.upload({ data, shape: [8] })) instanceof Tensor);
kernel.dispose();

const refused = (error: unknown) => (error instanceof RequestError ? error.code : undefined);
console.log(refused(0));

// @ts-expect-error a source is a text or a URL
await getKernel(3);
// @ts-expect-error a cache has get and put
await getKernel("x/y", { version: 1, cache: {} });
// @ts-expect-error an input has a shape
await kernel({ x: data, scale: tensor });
// @ts-expect-error there is no such place
await kernel(inputs, { output: "disk" });
// @ts-expect-error runs and uploads make tensors
new Tensor();
