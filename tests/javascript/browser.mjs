// browser.mjs: serves the npm package and the kernel packages' cases to a browser, and has it run them.
//
// usage: node browser.mjs PACKAGE PLAYWRIGHT SOURCES CHROMIUM
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [packageFolder, playwright, sources, executablePath] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(path.resolve(playwright, "index.mjs")));

const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">
    {"imports": {"rmsnorm": "/rmsnorm/src/index.js", "node:assert/strict": "/assert.js"}}</script>`;
const ASSERT = `
    const fail = (what) => { throw new Error(what); };
    export default {
        ok: (value, what) => value || fail(what),
        equal: (a, b, what) => a === b || fail(what + ": " + a + " is not " + b),
        deepEqual: (a, b, what) => JSON.stringify(a) === JSON.stringify(b) || fail(what + ": " + a + " is not " + b),
    };`;
const texts = { "/": ["text/html", PAGE], "/assert.js": ["text/javascript", ASSERT] };
const folders = { "/rmsnorm/": packageFolder, "/kernels/": path.join(sources, "kernels"), "/tests/": path.dirname(fileURLToPath(import.meta.url)) };

function answer(url) {
    if (texts[url]) {
        return texts[url];
    }
    const root = Object.keys(folders).find((prefix) => url.startsWith(prefix) && !url.includes(".."));
    const file = root && path.join(folders[root], url.slice(root.length));
    const isThere = file && fs.statSync(file, { throwIfNoEntry: false })?.isFile();
    return isThere ? [file.endsWith("js") ? "text/javascript" : "application/json", fs.readFileSync(file)] : undefined;
}

const server = http.createServer(({ url }, response) => {
    const [type, body] = answer(url) ?? [];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type ?? "text/plain" });
    response.end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

/** In the page. */
async function runAll(names) {
    const { getKernel } = await import("rmsnorm");
    const { assertCase, toInput } = await import("/tests/cases.mjs");
    const report = [];
    for (const name of names) {
        const kernel = await getKernel(`webgpu-kernels/${name}`, { version: 1 });
        const { cases } = await (await fetch(`/kernels/${name}/build/webgpu/test.json`)).json();
        const faults = [];
        const runCase = async (testCase) => {
            const inputs = {};
            for (const [key, tensor] of Object.entries(testCase.inputs)) {
                const { data, shape } = toInput(tensor);
                const isHalf = data instanceof Uint16Array && globalThis.Float16Array;
                inputs[key] = { data: isHalf ? new Float16Array(data.buffer) : data, shape };
            }
            const attrs = Object.fromEntries(Object.entries(testCase.attributes).map(([key, value]) => [key, Number(value)]));
            assertCase(await kernel(inputs, { attrs, outputs: Object.keys(testCase.outputs) }), testCase);
        };
        await Promise.all(cases.map((testCase) => runCase(testCase).catch((error) => faults.push(`${testCase.name}: ${error.message}`))));
        report.push({ name, count: cases.length, faults, features: [...kernel.device.features] });
        kernel.dispose();
    }
    return report;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rmsnorm-browser-"));
let failed = true;
try {
    const browser = await chromium.launchPersistentContext(folder, {
        executablePath,
        headless: false, // by a flag of its own
        args: [
            "--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--no-first-run", "--disable-quic",
            "--disable-background-networking", "--disable-sync", "--disable-component-update", "--disable-dev-shm-usage",
        ],
    });
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.log(`browser: ${error.message}`));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const names = fs.readdirSync(path.join(sources, "kernels")).sort();
    const report = await page.evaluate(runAll, names);
    for (const { name, count, faults, features } of report) {
        console.log(`${name}: ${count - faults.length} of ${count} cases, features ${features.join(" ")}`);
        faults.slice(0, 3).forEach((fault) => console.log(`    ${fault}`));
    }
    failed = report.length !== names.length || report.some(({ count, faults }) => count === 0 || faults.length > 0);
    await browser.close();
} finally {
    server.close();
    fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
