// getKernel and the function it returns: what a caller may rely on.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { assertNear, normalize, ones, ramp } from "./arrays.mjs";
import { bitsOf, halfBits } from "./cases.mjs";
import { openAdapter } from "./devices.mjs";
import {
    DeviceError, DeviceLostError, DigestError, PackageError, RequestError, RmsnormError, Tensor, getKernel,
} from "rmsnorm";

const ID = "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization";
const SKIP = "webgpu-kernels/com.microsoft.SkipSimplifiedLayerNormalization";
const STORAGE = 0x80 | 0x4 | 0x8; // STORAGE, COPY_SRC, COPY_DST
const SOURCES = process.env.RMSNORM_SOURCES;
const FOLDER = path.join(SOURCES, "kernels/ai.onnx.SimplifiedLayerNormalization");

let kernel, skip;
before(async () => {
    [kernel, skip] = await Promise.all([getKernel(ID, { version: 1 }), getKernel(SKIP, { version: 1 })]);
});
after(() => {
    kernel.dispose();
    skip.dispose();
});

test("the snippet of the README, without a network", async () => {
    const { fetch } = globalThis;
    globalThis.fetch = () => assert.fail("the network was asked");
    try {
        const xData = ramp(8);
        const scaleData = ones(8);
        const kernel = await getKernel("webgpu-kernels/ai.onnx.SimplifiedLayerNormalization", { version: 1 });
        const { y } = await kernel({ x: { data: xData, shape: [8] }, scale: { data: scaleData, shape: [8] } });
        assertNear(y.data, normalize(xData, 8));
        assert.deepEqual([y.shape, y.dtype], [[8], "float32"]);
        kernel.dispose();
    } finally {
        globalThis.fetch = fetch;
    }
});

test("what the README shows runs", async () => {
    const text = fs.readFileSync(new URL("node_modules/rmsnorm/README.md", import.meta.url), "utf8");
    const blocks = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
    assert.equal(blocks.length, 3);
    for (const [i, code] of blocks.entries()) {
        const file = new URL(`readme-${i}.mjs`, import.meta.url);
        const data = "const [xData, scaleData] = [1, 2].map((value) => new Float32Array(8).fill(value));\n"; // the first says so in words
        fs.writeFileSync(file, i === 0 ? data + code : code);
        await import(file);
    }
});

test("attributes, and outputs that are asked for", async () => {
    const x = { data: ramp(12), shape: [3, 4] };
    const scale = { data: ones(4), shape: [4] };
    const plain = await kernel({ x, scale });
    assert.deepEqual(Object.keys(plain), ["y"]);
    const { y, invStdVar } = await kernel({ x, scale }, { attrs: { epsilon: 2 }, outputs: ["invStdVar"] });
    assertNear(y.data, normalize(x.data, 4, 2));
    assert.deepEqual(invStdVar.shape, [3, 1]);
    const all = await kernel({ x, scale: { data: ones(12), shape: [3, 4] } }, { attrs: { axis: 0 } });
    assertNear(all.y.data, normalize(x.data, 12));
    const nan = await kernel({ x, scale }, { attrs: { epsilon: NaN } });
    assert.ok(nan.y.data.every(Number.isNaN));
});

test("float16 in bits, an odd number of them", async () => {
    const data = Uint16Array.from(ramp(15), halfBits);
    const { y } = await kernel({ x: { data, shape: [3, 5] }, scale: { data: Uint16Array.from(ones(5), halfBits), shape: [5] } });
    assert.equal(y.dtype, "float16");
    assert.equal(y.data.BYTES_PER_ELEMENT, 2);
    const wanted = normalize(ramp(15), 5).map(halfBits);
    bitsOf(y).forEach((bits, i) => assert.ok(Math.abs(bits - wanted[i]) <= 1, `[${i}]`));
});

test("no rows: empty results of the right shape", async () => {
    const inputs = { x: { data: new Float32Array(0), shape: [0, 4] }, scale: { data: ones(4), shape: [4] } };
    const { y } = await kernel(inputs);
    assert.deepEqual([y.shape, y.data.length], [[0, 4], 0]);
    const { y: tensor } = await kernel(inputs, { output: "gpu" });
    assert.equal((await tensor.download()).length, 0);
    tensor.destroy();
});

test("results on the device feed the next call", async () => {
    const x = { data: ramp(64), shape: [4, 16] };
    const gamma = { data: ones(16), shape: [16] };
    const first = await skip({ inputT: x, skipT: x, gammaT: gamma }, { output: "gpu", outputs: ["residualT"] });
    assert.ok(first.residualT instanceof Tensor);
    assert.equal(first.residualT.dtype, "float32");
    assert.ok(first.residualT.buffer);
    const { y } = await kernel({ x: first.residualT, scale: gamma });
    assertNear(y.data, normalize(x.data.map((v) => 2 * v), 16));
    assertNear(await first.residualT.download(), [...x.data].map((v) => 2 * v), 0);
    first.residualT.destroy();
    first.outputT.destroy();
    assert.equal(first.residualT.buffer, null);
    await assert.rejects(first.residualT.download(), { name: "RequestError", code: "DESTROYED" });
    await assert.rejects(kernel({ x: first.residualT, scale: gamma }), /x was destroyed/);
});

test("in place, also when another input is the same tensor", async () => {
    const x = await kernel.upload({ data: ramp(32), shape: [4, 8] });
    const scale = { data: ones(8), shape: [8] };
    const { y } = await kernel({ x, scale }, { into: { y: x } });
    assert.equal(y, x);
    assertNear(await x.download(), normalize(ramp(32), 8));
    const t = await skip.upload({ data: ramp(32), shape: [4, 8] });
    const result = await skip({ inputT: t, skipT: t, gammaT: scale }, { into: { residualT: t } });
    assert.equal(result.residualT, t);
    assertNear(await t.download(), [...ramp(32)].map((v) => 2 * v), 0);
    assertNear(result.outputT.data, normalize(ramp(32).map((v) => 2 * v), 8));
    x.destroy();
    t.destroy();
});

test("tensors side by side in one buffer of the caller's", async () => {
    const buffer = kernel.device.createBuffer({ size: 1024, usage: STORAGE });
    kernel.device.queue.writeBuffer(buffer, 0, ramp(32));
    kernel.device.queue.writeBuffer(buffer, 256, ones(8));
    const at = (offset, shape) => ({ buffer, offset, shape, dtype: "float32" });
    const call = [{ x: at(0, [4, 8]), scale: at(256, [8]) }, { into: { y: at(512, [4, 8]) } }];
    const { y } = await kernel(...call);
    assertNear(await y.download(), normalize(ramp(32), 8));
    const first = await kernel({ x: at(0, [1, 8]), scale: at(256, [8]) }, { into: { y: at(512, [1, 8]) } });
    const second = await kernel({ x: at(512, [1, 8]), scale: at(256, [8]) }, { into: { y: at(768, [1, 8]) } }); // only offsets differ
    assertNear(await first.y.download(), normalize(ramp(8), 8));
    assertNear(await second.y.download(), normalize(Float32Array.from(normalize(ramp(8), 8)), 8));
    await assert.rejects(kernel(call[0], { into: { y: at(4, [4, 8]) } }), /y overlaps x; allowed: exactly the same place/);
    await assert.rejects(kernel(call[0], { into: { y: at(900, [4, 8]) } }), /begins at offset 900; allowed on this device: multiples/);
    await assert.rejects(kernel(call[0], { into: { y: at(768, [4, 9]) } }), /y is to go into float32 \[4, 9\]; it is float32 \[4, 8\]/);
    await assert.rejects(kernel({ x: at(1024, [4, 8]), scale: at(256, [8]) }), /takes 128 bytes from offset 1024 on; its buffer has 1024/);
    buffer.destroy();
});

test("pieces: tensors larger than the device binds at once", async () => {
    const device = await (await openAdapter()).requestDevice();
    const limits = new Proxy(device.limits, { get: (all, name) => (name === "maxStorageBufferBindingSize" ? 4096 : all[name]) });
    const narrow = new Proxy(device, {
        get: (all, name) => (name === "limits" ? limits : typeof all[name] === "function" ? all[name].bind(all) : all[name]),
    });
    const cut = await getKernel(ID, { version: 1, device: narrow });
    const inputs = { x: { data: ramp(3003), shape: [77, 39] }, scale: { data: ones(39), shape: [39] } };
    assert.ok(cut.plan(inputs).passes.length > 2);
    const { y } = await cut(inputs);
    assertNear(y.data, normalize(inputs.x.data, 39));
    cut.dispose();
    device.destroy();
});

test("calls at once, of many shapes, each with its own results", async () => {
    const call = async (i) => {
        const width = 1 + (i % 40);
        const data = ramp(width * 3, 0.01 * (i + 1));
        const { y } = await kernel({ x: { data, shape: [3, width] }, scale: { data: ones(width), shape: [width] } });
        assertNear(y.data, normalize(data, width), 1e-4);
    };
    await Promise.all(Array.from({ length: 200 }, (_, i) => call(i)));
});

test("calls that are not waited for happen in their order", async () => {
    const x = await kernel.upload({ data: ramp(16), shape: [2, 8] });
    const twice = { data: new Float32Array(8).fill(2), shape: [8] };
    const calls = [1, 2, 3].map(() => kernel({ x, scale: twice }, { into: { y: x }, attrs: { epsilon: 1 }, variant: "rows" }));
    const late = kernel({ x, scale: twice }, { attrs: { epsilon: 1 }, variant: "rows" });
    x.destroy(); // disturbs none of them
    const others = Array.from({ length: 8 }, () => kernel({ x: { data: ones(16), shape: [2, 8] }, scale: twice }));
    let wanted = ramp(16);
    for (let i = 0; i < 4; i++) {
        wanted = Float32Array.from(normalize(wanted, 8, 1).map((v) => 2 * v));
    }
    await Promise.all([...calls, ...others]);
    assertNear((await late).y.data, [...wanted]);
});

test("a call whose shaders are ready does not overtake one that has to compile", async () => {
    const x = await kernel.upload({ data: ramp(16), shape: [2, 8] });
    const scale = { data: ones(8), shape: [8] };
    await kernel({ x, scale });
    const first = kernel({ x, scale }, { into: { y: x }, tunables: { WORKGROUP_SIZE: 64, VECTOR: 1, SUBGROUPS: 0 } });
    const second = kernel({ x, scale }, { attrs: { epsilon: 1 } });
    await first;
    assertNear((await second).y.data, normalize(Float32Array.from(normalize(ramp(16), 8)), 8, 1));
    x.destroy();
});

test("scratch memory is shared, and grows", async () => {
    const call = async (rows, SPLITS) => {
        const inputs = { x: { data: ramp(rows * 20000), shape: [rows, 20000] }, scale: { data: ones(20000), shape: [20000] } };
        const options = { variant: "splitk", tunables: { SPLITS } };
        assertNear((await kernel(inputs, options)).y.data, normalize(inputs.x.data, 20000), 1e-4);
        return kernel.plan(inputs, options).scratch[0];
    };
    const least = await call(1, 4);
    const sizes = await Promise.all([call(8, 256), call(1, 4), call(3, 64)]);
    assert.ok(sizes[0] > 4 * least);
});

test("data is read at the call: it may change right after", async () => {
    const data = ramp(8);
    const result = kernel({ x: { data, shape: [8] }, scale: { data: ones(8), shape: [8] } });
    data.fill(0);
    assertNear((await result).y.data, normalize(ramp(8), 8));
});

test("refusals are errors by name, with a sentence", async () => {
    const x = { data: ramp(8), shape: [8] };
    const scale = { data: ones(8), shape: [8] };
    const cases = [
        [{ X: x, scale }, {}, /has no input 'X': did you mean 'x'\?; it has x, scale/],
        [{ x, gamma: scale }, {}, /has no input 'gamma'; it has x, scale/],
        [{ x, scale }, { outputs: ["inv_std_var"] }, /has no output 'inv_std_var': did you mean 'invStdVar'\?/],
        [{ x, scale }, { outputs: ["invStdvar"] }, /did you mean 'invStdVar'\?/],
        [{ x, scale: { data: ones(3), shape: [3] } }, {}, /scale/],
        [{ x }, {}, /scale/],
        [{ x, scale }, { attrs: { axis: 3 } }, /axis/],
        [{ x, scale }, { attrs: { epsilom: 1 } }, /epsilom/],
        [{ x, scale }, { attrs: { axis: 0.5 } }, /'axis' is no whole number/],
        [{ x, scale }, { tunables: { VECTOR: 3 } }, /VECTOR/],
        [{ x, scale }, { variant: "columns" }, /variant columns is not in the package; it has/],
        [{ x: { data: ramp(8), shape: [2.5] }, scale }, {}, /x: dim 0 of its shape is no whole number/],
        [{ x: { data: [1, 2], shape: [2] }, scale }, {}, /x: its data is no Float32Array/],
        [{ x: ramp(8), scale }, {}, /x is neither \{data, shape\} nor a tensor/],
        [{ x: { ...x, dtype: "float16" }, scale }, {}, /x: its type is not that of its data, float32/],
    ];
    for (const [inputs, options, sentence] of cases) {
        await assert.rejects(kernel(inputs, options), (error) => {
            assert.ok(error instanceof RequestError && error instanceof RmsnormError, String(error));
            assert.equal(error.name, "RequestError");
            assert.match(error.message, sentence);
            return true;
        });
    }
    assertNear((await kernel({ x, scale })).y.data, normalize(x.data, 8));
});

test("a repository needs a version or a revision, not both", async () => {
    await assert.rejects(getKernel(ID), { name: "RequestError", message: /give \{ version \}/ });
    await assert.rejects(getKernel(ID, { version: 1, revision: "0".repeat(40) }), { name: "RequestError", message: /exclude/ });
    await assert.rejects(getKernel(FOLDER, { version: 1 }), { name: "RequestError" });
    await assert.rejects(getKernel("./nowhere"), { name: "PackageError", code: "NOT_FOUND" });
});

test("from a Hub: where an endpoint, a revision or hub is given, and for what is not embedded", async () => {
    const { startHub } = await import(pathToFileURL(path.join(SOURCES, "tests/hub/server.mjs")));
    const served = await startHub({ repositories: { [ID]: FOLDER, "house/norm": FOLDER } });
    const [{ first }] = served.hub.served.values();
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    try {
        const { endpoint } = served;
        for (const [source, options] of [
            [ID, { version: 1, endpoint }],
            [ID, { revision: first, endpoint }],
            ["house/norm", { version: 1, endpoint }],
        ]) {
            served.hub.reset();
            const seen = new Set();
            const fetched = await getKernel(source, { ...options, onProgress: ({ file }) => seen.add(file) });
            assert.ok(served.hub.requests.length > 15);
            assert.ok(seen.has("manifest.json"));
            assertNear((await fetched(inputs)).y.data, normalize(ramp(8), 8));
            fetched.dispose();
        }
        const { fetch } = globalThis;
        let asked = 0;
        globalThis.fetch = async () => {
            asked++;
            throw new TypeError("no network");
        };
        const options = { retries: 0, version: 1 };
        await assert.rejects(getKernel(ID, { ...options, hub: true }), { name: "NetworkError" });
        await assert.rejects(getKernel(ID, { ...options, version: 2 }), { name: "NetworkError" });
        await assert.rejects(getKernel("house/ai.onnx.RMSNormalization", options), { name: "NetworkError" });
        assert.equal(asked, 3);
        globalThis.fetch = fetch;
    } finally {
        served.close();
    }
});

/** A copy of a package that may be changed. */
function copyPackage(change) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rmsnorm-"));
    const files = path.join(FOLDER, "build/webgpu");
    for (const name of fs.readdirSync(files)) {
        fs.writeFileSync(path.join(folder, name), change(name, fs.readFileSync(path.join(files, name), "utf8")));
    }
    return folder;
}

test("a folder whose files are not those of metadata.json is refused", async () => {
    const folder = copyPackage((name, text) => (name === "row.wgsl.jinja" ? `${text} ` : text));
    await assert.rejects(getKernel(folder), (error) => error instanceof DigestError && /row\.wgsl\.jinja/.test(error.message));
    fs.rmSync(folder, { recursive: true });
});

/** metadata.json as another builder writes it. */
const foreignOf = (text) => text.replace('"rmsnorm-1"', '"1.0"').replace(/(_webgpu_)[0-9a-f]{7}"/, '$10000000"');

test("a package of an unknown spec is read and not run; the embedded one is named", async () => {
    const folder = copyPackage((name, text) => (name === "metadata.json" ? foreignOf(text) : text));
    const foreign = await getKernel(folder);
    assert.equal(foreign.contract.plans, false);
    assert.equal(foreign.contract.spec, "1.0");
    assert.deepEqual(foreign.contract.inputs.map(({ key }) => key), ["x", "scale"]);
    await assert.rejects(foreign({ x: { data: ramp(8), shape: [8] } }), (error) => {
        assert.ok(error instanceof PackageError);
        assert.match(error.message, /"1\.0".*"rmsnorm-1".*getKernel\("webgpu-kernels\/ai\.onnx\.SimplifiedLayerNormalization", \{ version: 1 \}\)/);
        return true;
    });
    fs.rmSync(folder, { recursive: true });
});

test("abort: before, and while it runs", async () => {
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    const reason = new Error("enough");
    await assert.rejects(getKernel(ID, { version: 1, signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(kernel(inputs, { signal: AbortSignal.abort(reason) }), reason);
    const { queue } = kernel.device;
    const submit = queue.submit.bind(queue);
    const abortedAt = async (when) => {
        const controller = new AbortController();
        let submitted = 0;
        queue.submit = (commands) => {
            submitted++;
            submit(commands);
            controller.abort(reason);
        };
        const result = kernel(inputs, { signal: controller.signal, output: "gpu" });
        if (when === "before") {
            controller.abort(reason);
        }
        await assert.rejects(result, reason);
        delete queue.submit;
        return submitted;
    };
    assert.equal(await abortedAt("before"), 0);
    assert.equal(await abortedAt("after"), 1);
    assertNear((await kernel(inputs)).y.data, normalize(ramp(8), 8));
});

test("disposal: calls that run finish, later ones are refused, others are not disturbed", async () => {
    const mine = await getKernel(ID, { version: 1 });
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    const { y: kept } = await mine(inputs, { output: "gpu" });
    const running = mine(inputs);
    mine.dispose();
    mine.dispose();
    await assert.rejects(mine(inputs), { name: "RequestError", code: "DISPOSED" });
    assertNear((await running).y.data, normalize(ramp(8), 8));
    assertNear(await kept.download(), normalize(ramp(8), 8));
    kept.destroy();
    assertNear((await kernel(inputs)).y.data, normalize(ramp(8), 8));
});

test("a lost device: DeviceLostError from all that follows", async () => {
    const device = await (await openAdapter()).requestDevice();
    const lost = await getKernel(ID, { version: 1, device });
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    const { y } = await lost(inputs, { output: "gpu" });
    const { queue } = device;
    const submit = queue.submit.bind(queue);
    queue.submit = (commands) => {
        submit(commands);
        device.destroy(); // while a result is waited for
    };
    await assert.rejects(lost(inputs), DeviceLostError);
    await assert.rejects(lost(inputs), (error) => error instanceof DeviceLostError && error instanceof DeviceError);
    await assert.rejects(y.download(), DeviceLostError);
    y.destroy();
    await assert.rejects(getKernel(ID, { version: 1, device }).then((again) => again(inputs)), DeviceLostError);
    lost.dispose();
});

test("what the device refuses is a DeviceError, and the next call tries again", async () => {
    const device = await (await openAdapter()).requestDevice();
    const mine = await getKernel(ID, { version: 1, device });
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    const { createShaderModule } = device;
    device.createShaderModule = ({ label }) => createShaderModule.call(device, { label, code: "fn main( {" });
    await assert.rejects(mine(inputs), (error) => error instanceof DeviceError && !(error instanceof DeviceLostError));
    delete device.createShaderModule;
    const gone = device.createBuffer({ size: 256, usage: STORAGE });
    gone.destroy();
    const x = { buffer: gone, shape: [8], dtype: "float32" };
    await assert.rejects(mine({ x, scale: inputs.scale }), { name: "DeviceError", message: /destroyed/ });
    const { y } = await mine(inputs);
    assertNear(y.data, normalize(ramp(8), 8));
    await assert.rejects(mine({ x, scale: inputs.scale }), { name: "DeviceError", message: /destroyed/ }); // also of a program that ran
    mine.dispose();
    device.destroy();
});

test("shared memory is taken", async () => {
    const data = new Float32Array(new SharedArrayBuffer(32));
    data.set(ramp(8));
    const { y } = await kernel({ x: { data, shape: [8] }, scale: { data: ones(8), shape: [8] } });
    assertNear(y.data, normalize(ramp(8), 8));
});

test("a tensor of another device is refused", async () => {
    const device = await (await openAdapter()).requestDevice();
    const other = await getKernel(ID, { version: 1, device });
    const x = await other.upload({ data: ramp(8), shape: [8] });
    await assert.rejects(kernel({ x, scale: { data: ones(8), shape: [8] } }), /x is of another device/);
    other.dispose();
    device.destroy();
});

test("what a repeated call costs the processor", async () => {
    const x = await kernel.upload({ data: ramp(64), shape: [8, 8] });
    const scale = await kernel.upload({ data: ones(8), shape: [8] });
    const y = await kernel.upload({ data: ramp(64), shape: [8, 8] });
    for (let i = 0; i < 50; i++) {
        await kernel({ x, scale }, { into: { y } });
    }
    const start = performance.now();
    const count = 300;
    await Promise.all(Array.from({ length: count }, () => kernel({ x, scale }, { into: { y } })));
    console.log(`${((performance.now() - start) / count).toFixed(4)} ms a call`);
});

test("Node without the npm package webgpu: one sentence says what to do", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rmsnorm-"));
    fs.cpSync(new URL("node_modules/rmsnorm", import.meta.url), path.join(folder, "node_modules/rmsnorm"), { recursive: true });
    const script = `import { getKernel } from "rmsnorm";
        await getKernel("${ID}", { version: 1 }).catch((error) => console.log(error.name, error.code, error.message));`;
    fs.writeFileSync(path.join(folder, "alone.mjs"), script);
    const said = execFileSync(process.execPath, [path.join(folder, "alone.mjs")], { encoding: "utf8" });
    assert.equal(said, "DeviceError NO_WEBGPU Node has WebGPU only with the npm package webgpu: npm install webgpu\n");
    fs.rmSync(folder, { recursive: true });
});

// The last one: it takes the others' device.
test("after the shared device is lost, getKernel makes a new one", async () => {
    const inputs = { x: { data: ramp(8), shape: [8] }, scale: { data: ones(8), shape: [8] } };
    kernel.device.destroy();
    await kernel.device.lost;
    await assert.rejects(kernel(inputs), DeviceLostError);
    const again = await getKernel(ID, { version: 1 });
    assert.notEqual(again.device, kernel.device);
    assertNear((await again(inputs)).y.data, normalize(ramp(8), 8));
    again.dispose();
});
