// kernel-refusals.test.mjs: a call that cannot be meant is refused with a sentence, whatever was given, and leaves nothing behind.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { assertNear, normalize, ones, ramp } from "./arrays.mjs";
import { PackageError, RequestError, Tensor, getKernel } from "rmsnorm";

const ID = "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization";
const SKIP = "webgpu-kernels/com.microsoft.SkipSimplifiedLayerNormalization";
const FILES = path.join(process.env.RMSNORM_SOURCES, "kernels/ai.onnx.SimplifiedLayerNormalization/build/webgpu");
const x = { data: ramp(8), shape: [8] };
const scale = { data: ones(8), shape: [8] };

let kernel, skip;
before(async () => {
    [kernel, skip] = await Promise.all([getKernel(ID, { version: 1 }), getKernel(SKIP, { version: 1 })]);
});
after(() => {
    kernel.dispose();
    skip.dispose();
});

/** A RequestError with this sentence, in which no name is twice. */
function isRefusal(sentence) {
    return (error) => {
        assert.ok(error instanceof RequestError, error.stack);
        assert.match(error.message, sentence);
        assert.doesNotMatch(error.message, /LayerNormalization.*LayerNormalization/);
        return true;
    };
}

/** Of a call and of its plan. */
async function refused(inputs, options, sentence, called = kernel) {
    await assert.rejects(called(inputs, options), isRefusal(sentence));
    assert.throws(() => called.plan(inputs, options), isRefusal(sentence));
}

test("options of getKernel: each is known, and of its kind", async () => {
    const cases = [
        [{ verson: 1 }, /no option verson: did you mean version\?/],
        [{ version: 1, Device: kernel.device }, /did you mean device\?/],
        [{ version: 1, timeoutMs: 1 }, /did you mean timeout\?/],
        [{ version: 1, attrs: {} }, /no option attrs: there are version, revision/],
        [null, /options are no object/], [5, /options are no object/], [[], /options are no object/],
        [{ version: "1" }, /version takes a whole number from 1 on/], [{ version: 1, hub: "no" }, /hub takes true or false/],
        [{ version: 1, signal: 5 }, /signal takes an AbortSignal/], [{ version: 1, signal: {} }, /signal takes an AbortSignal/],
        [{ version: 1, device: {} }, /device takes a GPUDevice/], [{ version: 1, device: 5 }, /device takes a GPUDevice/],
        [{ version: 1, onProgress: 5 }, /onProgress takes a function/], [{ version: 1, fetch: {} }, /fetch takes a function/],
        [{ version: 1, cache: 3 }, /cache takes a name, false, or an object with get and put/],
        [{ version: 1, retries: -1 }, /retries takes a number from 0/], [{ version: 1, endpoint: 5 }, /endpoint takes a URL/],
        [{ version: 1, repositoryType: "space" }, /repositoryType takes "kernel" or "model"/],
    ];
    for (const [options, sentence] of cases) {
        await assert.rejects(getKernel(ID, options), isRefusal(sentence));
    }
    for (const source of [undefined, null, 5, Symbol("x"), {}]) {
        await assert.rejects(getKernel(source), isRefusal(/the source is neither a text nor a URL/));
    }
});

test("names that lead nowhere", async () => {
    const embedded = /; embedded are .*webgpu-kernels\/ai\.onnx\.RMSNormalization \(version 1\)/;
    for (const source of ["RMSNormalization", "ai.onnx.RMSNormalization"]) {
        await assert.rejects(getKernel(source, { version: 1 }), (error) => error instanceof RequestError &&
            error.message.startsWith(`${source} is neither `) && embedded.test(error.message));
    }
    const fetch = async () => new Response("", { status: 404 });
    for (const [source, version] of [["webgpu-kernels/ai.onnx.RMSNormalisation", 1], [ID, 2]]) {
        await assert.rejects(getKernel(source, { version, fetch }), (error) => error.code === "NOT_FOUND" && embedded.test(error.message));
    }
    await assert.rejects(getKernel("other/name", { version: 1, fetch }), (error) => !embedded.test(error.message));
});

test("addresses of folders that mean none", async () => {
    for (const source of ["file://hub.invalid/x", "file:///a%2fb", new URL("file://hub.invalid/x"), "file:///%zz"]) {
        await assert.rejects(getKernel(source), isRefusal(/is no address of a folder on this machine/));
    }
    const { process } = globalThis;
    globalThis.process = undefined; // as in a browser
    const asked = getKernel("./x");
    globalThis.process = process;
    await assert.rejects(asked, isRefusal(/in Node only/));
});

test("options of a call: each is known, and of its kind", async () => {
    const cases = [
        [{ output: "disk" }, /output takes "cpu" or "gpu"/], [{ atrs: {} }, /no option atrs: did you mean attrs\?/],
        [{ attributes: {} }, /no option attributes: did you mean attrs\?/], [null, /options are no object/],
        [{ outputs: "y" }, /outputs takes a list of texts/], [{ outputs: [5] }, /outputs takes a list of texts/],
        [{ outputs: [,] }, /outputs takes a list of texts/], [{ variant: 5 }, /variant takes a text/],
        [{ batchInvariant: "no" }, /batchInvariant takes true or false/], [{ attrs: 5 }, /attrs takes an object/],
        [{ attrs: null }, /attrs takes an object/], [{ tunables: [] }, /tunables takes an object/],
        [{ into: "y" }, /into takes an object/], [{ signal: { aborted: true } }, /signal takes an AbortSignal/],
        [JSON.parse('{ "__proto__": {} }'), /no option __proto__/],
    ];
    for (const [options, sentence] of cases) {
        await refused({ x, scale }, options, sentence);
    }
});

test("attributes and tunables: known names, and numbers", async () => {
    for (const value of [undefined, null, Symbol("x"), 1n, "NaN", "Infinity", "1", {}, [1]]) {
        await refused({ x, scale }, { attrs: { epsilon: value } }, /^SimplifiedLayerNormalization: the attribute 'epsilon' is no number$/);
        await refused({ x, scale }, { attrs: { axis: value } }, /the attribute 'axis' is no whole number/);
        await refused({ x, scale }, { attrs: { epsilom: value } }, /has no attribute 'epsilom': did you mean 'epsilon'\?; it has axis/);
        await refused({ x, scale }, { tunables: { VECTOR: value } }, /the tunable 'VECTOR' is no whole number/);
    }
    const { y } = await kernel({ x, scale }, { attrs: { epsilon: NaN } });
    assert.ok(y.data.every(Number.isNaN));
});

test("tensors that are none", async () => {
    const buffer = kernel.device.createBuffer({ size: 256, usage: 0x80 });
    const detached = new Float32Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    const cases = [
        [null, /inputs are no object/], [5, /inputs are no object/], [[x, scale], /inputs are no object/],
        [{ x: { data: ramp(7), shape: [8] }, scale }, /x has 7 elements, its shape \[8\] takes 8/],
        [{ x: { data: detached, shape: [8] }, scale }, /x has 0 elements, its shape \[8\] takes 8/],
        [{ x: { data: ramp(8), shape: [8n] }, scale }, /x: dim 0 of its shape is no whole number/],
        [{ x: { data: ramp(8), shape: [8, ,] }, scale }, /x: dim 1 of its shape is no whole number/],
        [{ x: { data: ramp(8), shape: "8" }, scale }, /x: its shape is no list/],
        [{ x: { ...x, buffer }, scale }, /x has both data and a buffer/],
        [{ x: { buffer: {}, shape: [8], dtype: "float32" }, scale }, /x: its buffer is no GPUBuffer/],
        [{ x: { buffer, shape: [8] }, scale }, /x: its type is missing, or none; allowed: float32, float16/],
        [{ x: { buffer, shape: [8], dtype: "float32", offset: 1n }, scale }, /x: its offset is no whole number/],
        [{ x: 5, scale }, /x is neither/], [{ x: Symbol("x"), scale }, /x is neither/],
    ];
    for (const [inputs, sentence] of cases) {
        await refused(inputs, {}, sentence);
    }
    await refused({ x, scale }, { into: { y: x } }, /y is no tensor of the device/);
    for (const [operand, sentence] of [
        [undefined, /the tensor is neither/], [{ data: ramp(2), shape: [] }, /has 2 elements, its shape \[\] takes 1/],
        [{ data: ramp(8) }, /its shape is no list/], [{ buffer, shape: [8], dtype: "float32" }, /has no data/],
    ]) {
        await assert.rejects(kernel.upload(operand), isRefusal(sentence));
    }
    buffer.destroy();
});

test("memory that another has by now is not needed for no elements, and a scale may have no dims", async () => {
    const detached = new Float32Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    assert.deepEqual((await kernel({ x: { data: detached, shape: [0, 8] }, scale })).y.shape, [0, 8]);
    const two = await kernel.upload({ data: Float32Array.of(2), shape: [] });
    assertNear((await kernel({ x, scale: two })).y.data, normalize(x.data, 8).map((v) => 2 * v));
    two.destroy();
});

test("keys, whatever they are made of", async () => {
    for (const key of ["a\0b", "\ud800", "\\u0000", '"', "\\", "é", "__proto__", "constructor"]) {
        await refused({ x, scale, [key]: x }, {}, /^SimplifiedLayerNormalization has no input '.*'; it has x, scale$/);
        await refused({ x, scale }, { outputs: [key] }, /has no output '.*'; it has y, invStdVar$/);
        await refused({ x, scale }, { attrs: { [key]: 1 } }, /has no attribute '.*'; it has/);
        await refused({ x, scale }, { variant: key }, /variant .* is not in the package/);
    }
});

test("sentences name the operator once, and inputs as the caller does", async () => {
    const row = { data: ramp(8), shape: [1, 8] };
    await refused({ scale }, {}, /^SimplifiedLayerNormalization: X is missing \(X is the key x\)$/);
    await refused({ x: { data: ramp(1), shape: [] }, scale }, {}, /^SimplifiedLayerNormalization: X has rank 0.* \(X is the key x\)$/);
    await refused({ X: x, scale }, {}, /^SimplifiedLayerNormalization has no input 'X': did you mean 'x'\?; it has x, scale$/);
    await refused({ inputT: x, skipT: x, gammaT: scale }, {}, /input has rank 1.*\(input is the key inputT\)$/, skip);
    const options = { attrs: { epsilon: -1 } };
    await refused({ inputT: row, skipT: row, gammaT: scale }, options, /^SkipSimplifiedLayerNormalization: epsilon is -1/, skip);
    await refused({ x, scale }, { attrs: { keep_dims: 0 } }, /^SimplifiedLayerNormalization: keep_dims is 0/);
    await refused({ x: { data: ramp(7), shape: [8] }, scale }, {}, /^SimplifiedLayerNormalization: x has 7 elements/);
});

test("a tensor stays what it is", async () => {
    const tensor = await kernel.upload(x);
    assert.ok(tensor instanceof Tensor);
    for (const change of [() => tensor.shape.push(2), () => (tensor.shape = []), () => (tensor.buffer = null), () => (tensor.dtype = "float16")]) {
        assert.throws(change, TypeError);
    }
    const shape = [8];
    const other = await kernel.upload({ data: ramp(8), shape });
    shape[0] = 9;
    assert.deepEqual([...other.shape], [8]);
    tensor.destroy();
    other.destroy();
});

/** A copy of a package whose files are changed, and whose digests and id are theirs. */
function copyPackage(t, change) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rmsnorm-"));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    fs.cpSync(FILES, folder, { recursive: true });
    change(folder);
    const file = path.join(folder, "metadata.json");
    const metadata = JSON.parse(fs.readFileSync(file, "utf8"));
    const all = createHash("sha256");
    for (const name of Object.keys(metadata.digest.files).sort()) {
        const digest = createHash("sha256").update(fs.readFileSync(path.join(folder, name))).digest();
        metadata.digest.files[name] = digest.toString("base64");
        all.update(`${name}\0`).update(digest);
    }
    metadata.id = metadata.id.replace(/[0-9a-f]{7}$/, all.digest("hex").slice(0, 7));
    fs.writeFileSync(file, JSON.stringify(metadata));
    return folder;
}

test("a formula or a template that cannot be computed is the package's fault", async (t) => {
    const changes = [
        ["manifest.json", '"product(x.shape, axis)"', '"product(x.shape, 99)"'], ["manifest.json", '"product(x.shape, axis)"', '"prodct(3)"'],
        ["manifest.json", '"product(x.shape, axis)"', '"nix + 1"'], ["row.wgsl.jinja", "@", "{{ nix(3) }}@"],
    ];
    for (const [name, from, to] of changes) {
        const folder = copyPackage(t, (copy) => {
            const file = path.join(copy, name);
            fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(from, to));
        });
        const broken = await getKernel(folder);
        await assert.rejects(broken({ x, scale }), (error) => error instanceof PackageError && error.code === "MALFORMED");
        broken.dispose();
    }
});

test("a branch with a package of another version than was asked for", async () => {
    const { startHub } = await import(pathToFileURL(path.join(process.env.RMSNORM_SOURCES, "tests/hub/server.mjs")));
    const served = await startHub({ repositories: { "house/norm": path.join(FILES, "../..") } });
    const { endpoint } = served;
    try {
        const message = /version 1 was asked for, and the package there is of version 7/;
        await assert.rejects(getKernel("wrong-version/norm", { version: 1, endpoint }), { name: "PackageError", message });
        (await getKernel("house/norm", { version: 1, endpoint })).dispose();
    } finally {
        served.close();
    }
});

test("a folder of files that are too large together", async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rmsnorm-"));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    for (let i = 0; i < 9; i++) {
        fs.writeFileSync(path.join(folder, `f${i}`), new Uint8Array(4 << 20));
    }
    await assert.rejects(getKernel(folder), { name: "PackageError", code: "TOO_LARGE" });
});
