// The npm package in a browser: what its README shows, every case of the packages, a Hub, tensors on the device, a lost device.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { NOTHING_EMBEDDED, SOURCES, useBrowser } from "./browser.mjs";
import { startHub } from "../hub/server.mjs";

const KERNEL = join(SOURCES, "kernels/ai.onnx.SimplifiedLayerNormalization");
const use = useBrowser();

const snippets = [...readFileSync(join(SOURCES, "bindings/javascript/README.md"), "utf8").matchAll(/^```js\n(.*?)^```$/gms)].map(
    ([, text]) => text,
);

const SNIPPET = `import { getKernel } from "rmsnorm";
const kernel = await getKernel("webgpu-kernels/ai.onnx.SimplifiedLayerNormalization", { version: 1 });
const { y } = await kernel({ x: { data: xData, shape: [8] }, scale: { data: scaleData, shape: [8] } });
`;

/** Runs it in a page, and looks at its y. */
async function assertSnippet(t, path, prepare) {
    use.modules.set(path, `${SNIPPET}\nglobalThis.done = { y };`);
    const page = await use.open(t, path, async (opened) => {
        await opened.addInitScript(() => {
            globalThis.xData = Float32Array.of(1, -2, 3, -4, 5, -6, 7, -8);
            globalThis.scaleData = Float32Array.of(1, 1, 1, 1, 2, 2, 2, 2);
        });
        await prepare?.(opened);
    });
    await page.waitForFunction(() => globalThis.done);
    const { data, shape, dtype } = await page.evaluate(() => ({ ...globalThis.done.y, data: [...globalThis.done.y.data] }));
    const inverse = 1 / Math.sqrt(204 / 8 + 1e-5);
    const wanted = [1, -2, 3, -4, 10, -12, 14, -16].map((value) => value * inverse);
    assert.deepEqual([shape, dtype, data.length], [[8], "float32", 8]);
    wanted.forEach((value, i) => assert.ok(Math.abs(data[i] - value) <= 1e-6, `[${i}] is ${data[i]}, not ${value}`));
    page.assertNoErrors();
}

test("the snippet, word by word, without a network", async (t) => {
    assert.equal(snippets[0], SNIPPET);
    await assertSnippet(t, "/snippet");
});

test("the same against the Hub, were nothing embedded", async (t) => {
    const { endpoint, hub, close } = await startHub({ repositories: { "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization": KERNEL } });
    t.after(close);
    await assertSnippet(t, `/hub${NOTHING_EMBEDDED}`, (opened) => opened.route("https://huggingface.co/**", async (route) => {
        const { pathname, search } = new URL(route.request().url());
        await route.fulfill({ response: await route.fetch({ url: endpoint + pathname + search }) });
    }));
    assert.ok(hub.requests.length > 5, `${hub.requests.length} requests`);
});

test("all that the README shows", async (t) => {
    assert.ok(snippets.length >= 3);
    for (const [i, snippet] of snippets.entries()) {
        use.modules.set(`/readme-${i}`, `${snippet}\nglobalThis.done = true;`);
        const page = await use.open(t, `/readme-${i}`, (opened) => opened.addInitScript(() => {
            globalThis.xData = new Float32Array(8).fill(2);
            globalThis.scaleData = new Float32Array(8).fill(1);
        }));
        await page.waitForFunction(() => globalThis.done);
        page.assertNoErrors();
    }
});

/** In the page: float16 goes in as Float16Array and as its bits in turn. */
async function runCases(name) {
    const { getKernel } = await import("rmsnorm");
    const { assertCase, toInput } = await import("/tests/cases.mjs");
    const kernel = await getKernel(`webgpu-kernels/${name}`, { version: 1 });
    const { cases } = await (await fetch(`/kernels/${name}/build/webgpu/test.json`)).json();
    const report = { count: cases.length, elements: 0, faults: [], halves: { Float16Array: 0, Uint16Array: 0 }, native: 0 };
    const runCase = async (testCase, i) => {
        const inputs = {};
        for (const [key, tensor] of Object.entries(testCase.inputs)) {
            const { data, shape } = toInput(tensor);
            inputs[key] = { data: tensor.dtype === "float16" && i % 2 ? new Float16Array(data.buffer) : data, shape };
            if (tensor.dtype === "float16") {
                report.halves[inputs[key].data.constructor.name]++;
            }
        }
        const attrs = Object.fromEntries(Object.entries(testCase.attributes).map(([key, value]) => [key, Number(value)]));
        const options = { attrs, outputs: Object.keys(testCase.outputs) };
        report.native += kernel.plan(inputs, options).shaders.some(({ wgsl }) => wgsl.includes("enable f16"));
        const results = await kernel(inputs, options);
        assertCase(results, testCase);
        report.elements += Object.values(results).reduce((sum, { data }) => sum + data.length, 0);
    };
    await Promise.all(
        cases.map((testCase, i) => runCase(testCase, i).catch((error) => report.faults.push(`${testCase.name}: ${error.message}`))),
    );
    report.features = [...kernel.device.features];
    kernel.dispose();
    return report;
}

for (const name of readdirSync(join(SOURCES, "kernels")).sort()) {
    test(`${name}: every case, float16 packed`, async (t) => {
        const page = await use.open(t, "/");
        const { count, elements, faults, halves, native, features } = await page.evaluate(runCases, name);
        t.diagnostic(`${count - faults.length} of ${count} cases, ${elements} elements`);
        assert.deepEqual(faults.slice(0, 5), []);
        const listed = JSON.parse(readFileSync(join(SOURCES, "kernels", name, "build/webgpu/test.json"), "utf8")).cases.length;
        assert.equal(count, listed);
        assert.ok(count > 50 && elements > 1000);
        assert.ok(halves.Float16Array > 10 && halves.Uint16Array > 10, JSON.stringify(halves));
        assert.ok(features.includes("subgroups") && !features.includes("shader-f16"));
        assert.equal(native, 0);
        page.assertNoErrors();
    });
}

test("from a Hub: fetched once, then cached; wrong digests and hostile names are refused", async (t) => {
    const id = "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization";
    const { endpoint, hub, close } = await startHub({ repositories: { [id]: KERNEL, "house/norm": KERNEL } });
    t.after(close);
    const page = await use.open(t, "/");
    const ask = (source, options = {}) => page.evaluate(async ([source, options]) => {
        const { getKernel } = await import("rmsnorm");
        try {
            const kernel = await getKernel(source, options);
            const ones = { data: new Float32Array(8).fill(1), shape: [8] };
            const { y } = await kernel({ x: { data: new Float32Array(8).fill(3), shape: [8] }, scale: ones });
            kernel.dispose();
            return [...y.data].every((value) => Math.abs(value - 1) < 1e-5) ? "right" : "wrong";
        } catch (error) {
            return `${error.name} ${error.code}: ${error.message}`;
        }
    }, [source, { version: 1, endpoint, retryDelay: 5, ...options }]);

    const gets = () => hub.requests.filter(({ method }) => method === "GET").length;
    assert.equal(await ask(id), "right");
    const asked = gets();
    assert.ok(asked > 5, `${asked} requests`);
    assert.equal(await ask(id), "right");
    assert.equal(gets(), asked + 1, "of the second time, only the commit is asked for");
    assert.equal(await ask("house/norm"), "right");
    assert.equal(await ask("other-host/norm"), "right");
    assert.equal(await ask(`${endpoint}/folder/house/norm/`, { version: undefined, endpoint: undefined }), "right");

    assert.match(await ask("wrong-digest/norm"), /^DigestError DIGEST: .*manifest\.json/);
    assert.match(await ask("wrong-digest/norm"), /^DigestError DIGEST: .*manifest\.json/); // nothing of it was kept
    assert.match(await ask("hostile-0/norm"), /^PackageError /);
    assert.match(await ask("hostile-twice/norm"), /^PackageError /);
    assert.match(await ask("truncated/norm", { retries: 1 }), /^(NetworkError|DigestError) /);
    assert.match(await ask("house/nothing"), /^NetworkError (NOT_FOUND|UNAUTHORIZED)/);
});

test("tensors stay on the device from call to call, with tensors of the page's own", async (t) => {
    const page = await use.open(t, "/");
    const result = await page.evaluate(async () => {
        const { Tensor, getKernel } = await import("rmsnorm");
        const adapter = await navigator.gpu.requestAdapter();
        const device = await adapter.requestDevice();
        const norm = await getKernel("webgpu-kernels/ai.onnx.RMSNormalization", { version: 1, device });
        const skip = await getKernel("webgpu-kernels/com.microsoft.SkipSimplifiedLayerNormalization", { version: 1, device });
        const [rows, width] = [5, 33];
        const values = Float32Array.from({ length: rows * width }, (_, i) => ((i * 7) % 23) / 4 - 2);
        const buffer = device.createBuffer({ size: 256 + values.byteLength, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
        device.queue.writeBuffer(buffer, 256, values);
        const x = { buffer, offset: 256, shape: [rows, width], dtype: "float32" };
        const scale = await norm.upload({ data: new Float32Array(width).fill(2), shape: [width] });
        let hidden = { data: values, shape: [rows, width] };
        const kinds = [];
        for (let layer = 0; layer < 3; layer++) {
            const { y } = await norm({ x: hidden, scale }, { output: "gpu" });
            const { outputT, residualT } = await skip({ inputT: y, skipT: x, gammaT: scale }, { output: "gpu", outputs: ["residualT"] });
            kinds.push(y instanceof Tensor, outputT instanceof Tensor);
            y.destroy();
            outputT.destroy();
            hidden = residualT;
        }
        let wanted = Array.from(values);
        for (let layer = 0; layer < 3; layer++) {
            for (let row = 0; row < rows; row++) {
                const at = wanted.slice(row * width, (row + 1) * width);
                const inverse = 1 / Math.sqrt(at.reduce((sum, v) => sum + v * v, 0) / width + 1e-5);
                at.forEach((v, i) => { wanted[row * width + i] = v * inverse * 2 + values[row * width + i]; });
            }
        }
        const got = await hidden.download();
        const worst = Math.max(...wanted.map((value, i) => Math.abs(got[i] - value)));
        norm.dispose();
        skip.dispose();
        device.destroy();
        return { worst, count: got.length, kinds };
    });
    assert.equal(result.count, 165);
    assert.ok(result.worst < 1e-5, `off by ${result.worst}`);
    assert.deepEqual(result.kinds, Array(6).fill(true));
    page.assertNoErrors();
});

test("the time of a call's pass, by the device's timestamps", async (t) => {
    const page = await use.open(t, "/");
    const times = await page.evaluate(async () => {
        const { getKernel } = await import("rmsnorm");
        const device = await (await navigator.gpu.requestAdapter()).requestDevice({ requiredFeatures: ["timestamp-query"] });
        const kernel = await getKernel("webgpu-kernels/ai.onnx.RMSNormalization", { version: 1, device });
        const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
        const buffers = [0x204, 0x9].map((usage) => device.createBuffer({ size: 16, usage })); // QUERY_RESOLVE, MAP_READ
        const x = { data: new Float32Array(1 << 22).fill(1), shape: [1024, 4096] };
        const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
        await kernel({ x, scale: { data: new Float32Array(4096), shape: [4096] } }, { timestampWrites });
        const encoder = device.createCommandEncoder();
        encoder.resolveQuerySet(querySet, 0, 2, buffers[0], 0);
        encoder.copyBufferToBuffer(buffers[0], 0, buffers[1], 0, 16);
        device.queue.submit([encoder.finish()]);
        await buffers[1].mapAsync(GPUMapMode.READ);
        const times = Array.from(new BigUint64Array(buffers[1].getMappedRange()), Number);
        const wrong = { timestampWrites: { querySet, beginningOfPassWriteIndex: 7 } };
        const ones = { data: new Float32Array(4096).fill(1), shape: [4096] };
        const refused = await kernel({ x, scale: ones }, wrong).then(() => "none", (error) => error.name);
        return [...times, refused];
    });
    assert.equal(times.pop(), "DeviceError");
    assert.ok(times[0] > 0 && times[1] > times[0] && times[1] - times[0] < 10e9, times.join(" "));
    page.assertNoErrors();
});

test("a lost device is an error by name, and the next getKernel has a new one", async (t) => {
    const page = await use.open(t, "/");
    const report = await page.evaluate(async () => {
        const { DeviceLostError, getKernel } = await import("rmsnorm");
        const id = "webgpu-kernels/ai.onnx.SimplifiedLayerNormalization";
        const ones = { data: new Float32Array(8).fill(1), shape: [8] };
        const kernel = await getKernel(id, { version: 1 });
        const { y } = await kernel({ x: ones, scale: ones }, { output: "gpu" });
        kernel.device.destroy();
        await kernel.device.lost;
        const failure = (promise) => promise.then(() => "none", (error) => error instanceof DeviceLostError && error.code);
        const failures = [await failure(kernel({ x: ones, scale: ones })), await failure(y.download()), await failure(kernel.upload(ones))];
        const next = await getKernel(id, { version: 1 });
        const again = await next({ x: ones, scale: ones });
        return { failures, isNew: next.device !== kernel.device, count: again.y.data.length };
    });
    assert.deepEqual(report, { failures: Array(3).fill("DEVICE_LOST"), isNew: true, count: 8 });
    page.assertNoErrors();
});

test("a browser without WebGPU: one sentence", async (t) => {
    const hide = (opened) => opened.addInitScript(() => delete Navigator.prototype.gpu);
    const page = await use.open(t, "/", hide);
    const error = await page.evaluate(async () => {
        const { getKernel } = await import("rmsnorm");
        return getKernel("webgpu-kernels/ai.onnx.RMSNormalization", { version: 1 }).then(
            () => "none",
            ({ name, code, message }) => `${name} ${code}: ${message}`,
        );
    });
    assert.match(error, /^DeviceError NO_WEBGPU: .*no WebGPU/);
    page.assertNoErrors();
});
