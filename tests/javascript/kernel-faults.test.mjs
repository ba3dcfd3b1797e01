// kernel-faults.test.mjs: what one call's misfortune is to the others: nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNear, normalize, ones, ramp } from "./arrays.mjs";
import { openAdapter } from "./devices.mjs";
import { DeviceError, DeviceLostError, RmsnormError, getKernel } from "rmsnorm";

const ID = "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization";
const INPUTS = { x: { data: ramp(16), shape: [2, 8] }, scale: { data: ones(8), shape: [8] } };
const RESULT = normalize(ramp(16), 8);
/** Shaders of their own, which have to be compiled. */
const OTHER = { tunables: { WORKGROUP_SIZE: 64, VECTOR: 1, SUBGROUPS: 0 } };
const never = () => new Promise(() => {});

/** A kernel on a device of its own, gone after the test. */
async function openKernel(t) {
    const device = await (await openAdapter()).requestDevice();
    const kernel = await getKernel(ID, { version: 1, device });
    t.after(() => {
        kernel.dispose();
        device.destroy();
    });
    return { kernel, device };
}

/** While action runs, changes the buffers that are made. */
async function withBuffers(device, change, action) {
    const { createBuffer } = device;
    device.createBuffer = (description) => {
        const buffer = createBuffer.call(device, description);
        change(buffer, description);
        return buffer;
    };
    try {
        return await action();
    } finally {
        delete device.createBuffer;
    }
}

const destroying = (label) => (buffer, description) => description.label === label && buffer.destroy();

test("a buffer that the caller destroyed is no other call's", async (t) => {
    const { kernel } = await openKernel(t);
    const { y } = await kernel(INPUTS, { output: "gpu" });
    y.buffer.destroy();
    y.destroy();
    await new Promise(setImmediate);
    for (const { y: result } of await Promise.all([1, 2, 3].map(() => kernel(INPUTS)))) {
        assertNear(result.data, RESULT);
    }
});

test("a result whose buffer nobody has seen serves the next call", async (t) => {
    const { kernel, device } = await openKernel(t);
    const once = async () => (await kernel(INPUTS, { output: "gpu" })).y.destroy();
    await once();
    await withBuffers(device, ({ label }) => assert.fail(`a buffer was made: ${label}`), once);
});

test("after a fault no buffer of the call is used again", async (t) => {
    for (const [label, output] of [["y", "cpu"], ["y", "gpu"], ["x", "cpu"]]) {
        const { kernel, device } = await openKernel(t);
        const uncaptured = [];
        device.addEventListener("uncapturederror", ({ error }) => uncaptured.push(error));
        const broken = withBuffers(device, destroying(label), () => kernel(INPUTS, { output }));
        await assert.rejects(broken, { name: "DeviceError", message: /destroyed/ });
        assertNear((await kernel(INPUTS)).y.data, RESULT);
        assert.deepEqual(uncaptured, []);
    }
});

test("after a fault scratch memory is made anew", async (t) => {
    const { kernel, device } = await openKernel(t);
    const inputs = { x: { data: ramp(20000), shape: [1, 20000] }, scale: { data: ones(20000), shape: [20000] } };
    const call = () => kernel(inputs, { variant: "splitk", tunables: { SPLITS: 16 } });
    await assert.rejects(withBuffers(device, destroying("a scratch buffer"), call), DeviceError);
    assertNear((await call()).y.data, normalize(inputs.x.data, 20000), 1e-4);
});

test("what the device says of an upload is the upload's error", async (t) => {
    const { kernel, device } = await openKernel(t);
    const upload = () => kernel.upload(INPUTS.x);
    await assert.rejects(withBuffers(device, destroying("a tensor"), upload), { name: "DeviceError", message: /destroyed/ });
    assertNear(await (await upload()).download(), [...INPUTS.x.data], 0);
});

test("a shader that never gets ready keeps no other call waiting; a signal and the device's loss end the wait", async (t) => {
    const { kernel, device } = await openKernel(t);
    const reason = new Error("enough");
    const controller = new AbortController();
    device.createComputePipelineAsync = never;
    const stopped = kernel(INPUTS, { signal: controller.signal });
    const stuck = kernel(INPUTS);
    delete device.createComputePipelineAsync;
    assertNear((await kernel(INPUTS, OTHER)).y.data, RESULT);
    controller.abort(reason);
    await assert.rejects(stopped, reason);
    device.destroy();
    await assert.rejects(stuck, DeviceLostError);
});

test("a result that never comes: a signal and the device's loss end the wait", async (t) => {
    const { kernel, device } = await openKernel(t);
    const reason = new Error("enough");
    const controller = new AbortController();
    const silent = (buffer, { label }) => {
        if (label === "a staging buffer") {
            buffer.mapAsync = never;
        }
    };
    const calls = withBuffers(device, silent, async () => [
        kernel(INPUTS, { signal: controller.signal }),
        kernel(INPUTS),
        kernel.upload(INPUTS.x).then((tensor) => tensor.download()),
    ]);
    const [stopped, ...stuck] = await withBuffers(device, silent, async () => {
        const made = await calls;
        await device.queue.onSubmittedWorkDone();
        return made;
    });
    stuck.forEach((call) => call.catch(() => {}));
    controller.abort(reason);
    await assert.rejects(stopped, reason);
    device.destroy();
    for (const call of stuck) {
        await assert.rejects(call, DeviceLostError);
    }
});

test("a call that is aborted while it waits lets none behind it go ahead", async (t) => {
    const { kernel } = await openKernel(t);
    const x = await kernel.upload(INPUTS.x);
    const controller = new AbortController();
    await kernel({ ...INPUTS, x }); // its shaders are ready
    const first = kernel({ ...INPUTS, x }, { into: { y: x }, ...OTHER });
    const second = kernel({ ...INPUTS, x }, { into: { y: x }, attrs: { epsilon: 2 }, signal: controller.signal });
    const third = kernel({ ...INPUTS, x }, { attrs: { epsilon: 1 } });
    controller.abort(new Error("enough"));
    await assert.rejects(second, /enough/);
    await first;
    assertNear((await third).y.data, normalize(Float32Array.from(RESULT), 8, 1));
});

test("a tensor is read after the calls that write it", async (t) => {
    const { kernel } = await openKernel(t);
    const x = await kernel.upload(INPUTS.x);
    const writing = kernel({ ...INPUTS, x }, { into: { y: x }, ...OTHER });
    const reading = x.download();
    x.destroy(); // disturbs neither
    assertNear(await reading, RESULT);
    await writing;
});

test("whatever a WebGPU throws comes out as an error of ours", async (t) => {
    const { kernel, device } = await openKernel(t);
    for (const thrown of [new TypeError("no"), "no", null]) {
        device.createCommandEncoder = () => {
            throw thrown;
        };
        await assert.rejects(kernel(INPUTS), RmsnormError);
        delete device.createCommandEncoder;
        assertNear((await kernel(INPUTS)).y.data, RESULT);
    }
});
