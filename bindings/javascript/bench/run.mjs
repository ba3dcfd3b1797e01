// run.mjs: times whole calls beside onnxruntime-web's, in a headless browser.
//
// usage: node run.mjs PACKAGE NODE_MODULES [ROUNDS]   NODE_MODULES: with onnxruntime-web and playwright-core (scripts/bootstrap bench)
// RMSNORM_CHROMIUM: the browser; left out: where Debian has it
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [packageFolder, modules, rounds = "31"] = process.argv.slice(2);
const SHAPES = [[1, 8], [1, 4096], [16, 2048], [128, 4096]];
const ARGUMENTS = `--headless=new --no-sandbox --enable-unsafe-webgpu --use-webgpu-adapter=swiftshader --no-first-run --disable-quic
    --disable-background-networking --disable-sync --disable-component-update --disable-dev-shm-usage`;
const FOLDERS = {
    "/rmsnorm/": packageFolder,
    "/onnxruntime-web/": join(modules, "onnxruntime-web"),
    "/bench/": fileURLToPath(new URL(".", import.meta.url)),
};
const TYPES = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };
const imports = { rmsnorm: "/rmsnorm/src/index.js", "onnxruntime-web": "/onnxruntime-web/dist/ort.webgpu.min.mjs" };
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify({ imports })}</script>`;

const server = createServer(({ url }, response) => {
    response.setHeader("Cross-Origin-Opener-Policy", "same-origin"); // both: for a clock of 5 us
    response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    const { pathname } = new URL(url, "http://localhost");
    const prefix = Object.keys(FOLDERS).find((start) => pathname.startsWith(start));
    const file = prefix && !pathname.includes("..") && join(FOLDERS[prefix], pathname.slice(prefix.length));
    if (pathname === "/") {
        response.writeHead(200, { "Content-Type": "text/html" }).end(PAGE);
    } else if (file && statSync(file, { throwIfNoEntry: false })?.isFile()) {
        response.writeHead(200, { "Content-Type": TYPES[file.split(".").at(-1)] ?? "text/plain" }).end(readFileSync(file));
    } else {
        response.writeHead(404).end();
    }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const folder = mkdtempSync(join(tmpdir(), "rmsnorm-bench-"));
const { chromium } = await import(pathToFileURL(resolve(modules, "playwright-core/index.mjs")));
const executablePath = process.env.RMSNORM_CHROMIUM ?? "/usr/bin/chromium";
const args = ARGUMENTS.split(/\s+/);
const browser = await chromium.launchPersistentContext(folder, { executablePath, headless: false, args });
try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(String(error)));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const measureAll = async ([shapes, count]) => (await import("/bench/page.js")).measureAll(shapes, count);
    const results = await page.evaluate(measureAll, [SHAPES, Number(rounds)]);
    console.log("| operator | shape | memory: ours, ms | onnxruntime-web | ratio | bytes alone | device: ours, ms | onnxruntime-web | ratio | apart |");
    console.log("|---|---|---|---|---|---|---|---|---|---|");
    const pair = ([ours, theirs]) => `${ours.toFixed(2)} | ${theirs.toFixed(2)} | ${(ours / theirs).toFixed(2)}`;
    for (const { operator, rows, width, memory, gpu, apart } of results) {
        console.log(`| ${operator} | ${rows}x${width} | ${pair(memory)} | ${memory[2].toFixed(2)} | ${pair(gpu)} | ${apart.toExponential(1)} |`);
    }
} finally {
    await browser.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
}
