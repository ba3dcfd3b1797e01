// The planner in WebAssembly and the native one say the same of every request, to the byte.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { embeddedFiles } from "./node_modules/rmsnorm/src/embedded.js";
import { Package, memoryBytes, startPlanner } from "./node_modules/rmsnorm/src/planner.js";

const COUNT = 1000;
const seed = process.env.RMSNORM_SEED ?? String(Date.now() % 1000000);
const options = { encoding: "utf8", maxBuffer: 1 << 28 };
const lines = execFileSync(process.env.RMSNORM_PLAN_PAIRS, [String(COUNT), seed], options).trimEnd().split("\n");
await startPlanner();
const packages = {};
const open = (name) => (packages[name] ??= new Package(embeddedFiles(name)));

test(`${COUNT} requests, seed ${seed}`, () => {
    assert.equal(lines.length, 3 * COUNT);
    let plans = 0;
    const start = performance.now();
    for (let i = 0; i < lines.length; i += 3) {
        const [name, request, native] = lines.slice(i, i + 3);
        assert.equal(open(name).planText(request), native, request);
        plans += native.startsWith('{"variant"');
    }
    const each = (performance.now() - start) / COUNT;
    assert.ok(plans > COUNT / 3 && plans < COUNT, `${plans} plans, ${COUNT - plans} refusals`);
    console.log(`${plans} plans and ${COUNT - plans} refusals are the same, ${each.toFixed(3)} ms each`);
});

test("packages do not leak: memory stays after a thousand of them", () => {
    const files = embeddedFiles("ai.onnx.RMSNormalization");
    const request = '{"inputs":{"x":{"dtype":"float32","shape":[2,8]},"scale":{"dtype":"float32","shape":[8]}}}';
    const pagesAfter = (count) => {
        for (let i = 0; i < count; i++) {
            const opened = new Package(files);
            opened.plan(request);
            opened.close();
        }
        return memoryBytes();
    };
    pagesAfter(10);
    const before = pagesAfter(10);
    assert.equal(pagesAfter(1000), before);
});
