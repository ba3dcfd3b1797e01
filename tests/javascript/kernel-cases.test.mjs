// Every case of the packages' test.json through getKernel, with tensors in memory and on the device.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { assertCase, toInput } from "./cases.mjs";
import { getKernel } from "rmsnorm";
import { openAdapter } from "./devices.mjs";

const kernels = path.join(process.env.RMSNORM_SOURCES, "kernels");
const names = fs.readdirSync(kernels).sort();
const casesOf = (name) => JSON.parse(fs.readFileSync(path.join(kernels, name, "build/webgpu/test.json"), "utf8")).cases;

async function runCase(kernel, testCase, options = {}) {
    const inputs = Object.fromEntries(Object.entries(testCase.inputs).map(([key, tensor]) => [key, toInput(tensor)]));
    const attrs = Object.fromEntries(Object.entries(testCase.attributes).map(([key, value]) => [key, Number(value)]));
    return kernel(inputs, { attrs, outputs: Object.keys(testCase.outputs), ...options });
}

for (const name of names) {
    test(`${name}: every case`, async () => {
        const kernel = await getKernel(`webgpu-kernels/${name}`, { version: 1 });
        const cases = casesOf(name);
        assert.ok(cases.length > 50);
        await Promise.all(cases.map(async (testCase) => assertCase(await runCase(kernel, testCase), testCase)));
        kernel.dispose();
    });

    test(`${name}: every fifth case from a folder, without shader-f16 and subgroups, into tensors of the device`, async () => {
        const device = await (await openAdapter()).requestDevice();
        assert.ok(!device.features.has("shader-f16"));
        const kernel = await getKernel(path.join(kernels, name), { device });
        const cases = casesOf(name).filter((_, i) => i % 5 === 0);
        for (const testCase of cases) {
            const results = await runCase(kernel, testCase, { output: "gpu" });
            for (const key of Object.keys(results)) {
                const tensor = results[key];
                results[key] = { data: await tensor.download(), shape: tensor.shape, dtype: tensor.dtype };
                tensor.destroy();
            }
            assertCase(results, testCase);
        }
        const half = cases.find(({ inputs }) => Object.values(inputs)[0].dtype === "float16");
        const inputs = Object.fromEntries(Object.entries(half.inputs).map(([key, tensor]) => [key, toInput(tensor)]));
        assert.ok(!kernel.plan(inputs).shaders[0].wgsl.includes("enable f16"));
        kernel.dispose();
        device.destroy();
    });
}
