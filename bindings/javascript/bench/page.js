// page.js: whole calls of ours and of onnxruntime-web's, on one device, in turn.
import { getKernel } from "rmsnorm";
import * as ort from "onnxruntime-web";
import { oneNode } from "./model.js";

const OPERATORS = [
    { domain: "", name: "SimplifiedLayerNormalization", kernel: "ai.onnx.SimplifiedLayerNormalization", inputs: ["x", "scale"], output: "y" },
    {
        domain: "com.microsoft", name: "SkipSimplifiedLayerNormalization", kernel: "com.microsoft.SkipSimplifiedLayerNormalization",
        inputs: ["inputT", "skipT", "gammaT"], output: "outputT",
    },
];
const WARM = 5;
/** Calls on the device for one wait: browsers look for what is finished only every few milliseconds. */
const BATCH = 16;

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

/** Medians of calls in turn, in milliseconds. */
async function inTurn(calls, rounds) {
    const times = calls.map(() => []);
    for (let round = -WARM; round < rounds; round++) {
        for (const [i, call] of calls.entries()) {
            const start = performance.now();
            await call();
            if (round >= 0) {
                times[i].push(performance.now() - start);
            }
        }
    }
    return times.map(median);
}

function openSession({ domain, name, inputs, output }, preferredOutputLocation) {
    const dims = Object.fromEntries(inputs.map((key, i) => [key, i === inputs.length - 1 ? ["H"] : ["S", "H"]]));
    const model = oneNode(domain, name, dims, { [output]: ["S", "H"] });
    return ort.InferenceSession.create(model, { executionProviders: ["webgpu"], preferredOutputLocation });
}

const upload = (device, data) => {
    const buffer = device.createBuffer({ size: data.byteLength, usage: 0x80 | 0x8 | 0x4 });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
};

/** What no call from memory to memory can do without: bytes written, something submitted, bytes mapped and read. */
function openRoundTrip(device, tensors, bytes) {
    const buffers = tensors.map(({ data }) => upload(device, data));
    const staging = device.createBuffer({ size: bytes, usage: 0x1 | 0x8 });
    return async () => {
        buffers.forEach((buffer, i) => device.queue.writeBuffer(buffer, 0, tensors[i].data));
        const encoder = device.createCommandEncoder();
        encoder.copyBufferToBuffer(buffers[0], 0, staging, 0, bytes);
        device.queue.submit([encoder.finish()]);
        await staging.mapAsync(1);
        const data = staging.getMappedRange().slice(0);
        staging.unmap();
        return data;
    };
}

async function measure(operator, [rows, width], count) {
    const { inputs, output } = operator;
    const inMemory = await openSession(operator, "cpu");
    const onDevice = await openSession(operator, "gpu-buffer");
    const device = await ort.env.webgpu.device;
    const kernel = await getKernel(`webgpu-kernels/${operator.kernel}`, { version: 1, device });

    const ours = {};
    inputs.forEach((key, k) => {
        const shape = k === inputs.length - 1 ? [width] : [rows, width];
        const data = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => ((i * 37 + k * 11) % 101) / 25 - 2);
        ours[key] = { data, shape };
    });
    const mapped = (change) => Object.fromEntries(Object.entries(ours).map(([key, tensor]) => [key, change(tensor)]));
    const theirs = mapped(({ data, shape }) => new ort.Tensor("float32", data, shape));
    const buffers = mapped(({ data, shape }) => ({ buffer: upload(device, data), shape, dtype: "float32" }));
    const theirBuffers = Object.fromEntries(
        Object.entries(buffers).map(([key, { buffer, shape }]) => [key, ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: shape })]),
    );

    const [a, b] = [(await kernel(ours))[output].data, (await inMemory.run(theirs))[output].data];
    const apart = a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
    const roundTrip = openRoundTrip(device, Object.values(ours), 4 * rows * width);
    const memory = await inTurn([() => kernel(ours), () => inMemory.run(theirs), roundTrip], count);
    const batches = [
        async () => (await kernel(buffers, { output: "gpu" }))[output].destroy(),
        async () => (await onDevice.run(theirBuffers))[output].dispose(),
    ].map((call) => async () => {
        for (let i = 0; i < BATCH; i++) {
            await call();
        }
        await device.queue.onSubmittedWorkDone();
    });
    const gpu = (await inTurn(batches, count)).map((time) => time / BATCH);
    kernel.dispose();
    await inMemory.release();
    await onDevice.release();
    return { operator: operator.name, rows, width, apart, memory, gpu };
}

export async function measureAll(shapes, count) {
    ort.env.wasm.wasmPaths = "/onnxruntime-web/dist/";
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = "error";
    const results = [];
    for (const operator of OPERATORS) {
        for (const shape of shapes) {
            results.push(await measure(operator, shape, count));
        }
    }
    return results;
}
