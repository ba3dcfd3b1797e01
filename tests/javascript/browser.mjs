// browser.mjs: a headless Chromium on SwiftShader for the tests of a file, and a server with the npm package, the kernel packages
// and pages that import the package by its name.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const { RMSNORM_PACKAGE, RMSNORM_PLAYWRIGHT, RMSNORM_CHROMIUM } = process.env;
export const SOURCES = process.env.RMSNORM_SOURCES;
export const PICTURES = process.env.RMSNORM_PICTURES;

const ARGUMENTS = `--headless=new --no-sandbox --enable-unsafe-webgpu --use-webgpu-adapter=swiftshader --no-first-run --disable-quic
    --disable-background-networking --disable-sync --disable-component-update --disable-dev-shm-usage
    --hide-scrollbars`;

const FOLDERS = {
    "/rmsnorm/": RMSNORM_PACKAGE,
    "/kernels/": join(SOURCES, "kernels"),
    "/tests/": fileURLToPath(new URL(".", import.meta.url)),
};
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", mjs: "text/javascript", json: "application/json" };

/** What cases.mjs takes of Node's. */
const ASSERT = `
    const fail = (what) => { throw new Error(what); };
    export default {
        ok: (value, what) => value || fail(what),
        equal: (a, b, what) => a === b || fail(what + ": " + a + " is not " + b),
        deepEqual: (a, b, what) => JSON.stringify(a) === JSON.stringify(b) || fail(what + ": " + a + " is not " + b),
    };`;

/** Ends the path of a page to which the package is one without kernels. */
export const NOTHING_EMBEDDED = "-empty";
const EMPTY = `
    export const embeddedNames = [];
    export const embeddedVersion = () => undefined;
    export const embeddedFiles = () => undefined;`;

function page(module, isEmpty) {
    const imports = { rmsnorm: "/rmsnorm/src/index.js", "node:assert/strict": "/assert.js" };
    if (isEmpty) {
        imports["/rmsnorm/src/embedded.js"] = "/empty.js";
    }
    return `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
        <script type="importmap">${JSON.stringify({ imports })}</script>
        ${module === undefined ? "" : `<script type="module">${module}</script>`}`;
}

/** @param {Map<string, string>} modules what pages run, by their path */
async function serve(modules) {
    const find = (path) => {
        if (path === "/assert.js" || path === "/empty.js") {
            return ["js", path === "/empty.js" ? EMPTY : ASSERT];
        }
        if (path === "/" || modules.has(path)) {
            return ["html", page(modules.get(path), path.endsWith(NOTHING_EMBEDDED))];
        }
        const prefix = Object.keys(FOLDERS).find((start) => path.startsWith(start));
        const file = prefix && !path.includes("..") && join(FOLDERS[prefix], path.slice(prefix.length));
        const isThere = file && statSync(file, { throwIfNoEntry: false })?.isFile();
        return isThere ? [file.split(".").at(-1), readFileSync(file)] : [];
    };
    const server = createServer(({ url }, response) => {
        const [kind, body] = find(new URL(url, "http://localhost").pathname);
        response.writeHead(body === undefined ? 404 : 200, { "Content-Type": TYPES[kind] ?? "text/plain" }).end(body);
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    return server;
}

/** For the tests of a file: use.open(path) gives a page whose errors fail the test. */
export function useBrowser() {
    const use = { modules: new Map() };
    const folder = mkdtempSync(join(tmpdir(), "rmsnorm-browser-"));
    let server;
    before(async () => {
        const { chromium } = await import(pathToFileURL(resolve(RMSNORM_PLAYWRIGHT)));
        server = await serve(use.modules);
        use.origin = `http://127.0.0.1:${server.address().port}`;
        use.browser = await chromium.launchPersistentContext(folder, {
            executablePath: RMSNORM_CHROMIUM,
            headless: false, // by a flag of its own
            args: ARGUMENTS.split(/\s+/),
            viewport: { width: 1200, height: 900 },
        });
    });
    after(async () => {
        await use.browser?.close();
        server?.close();
        rmSync(folder, { recursive: true, force: true });
    });
    /** @param {import("node:test").TestContext} t @param {string} path @param {(page) => Promise<void>} [prepare] */
    use.open = async (t, path, prepare) => {
        const opened = await use.browser.newPage();
        const errors = [];
        const allowed = path.endsWith(NOTHING_EMBEDDED); // that page's network is the test's
        opened.on("pageerror", (error) => errors.push(String(error)));
        opened.on("console", (message) => {
            if (message.type() === "error") {
                errors.push(message.text());
            }
        });
        opened.on("request", (request) => {
            if (!/^(http:\/\/(127\.0\.0\.1|localhost):|data:)/.test(request.url()) && !allowed) {
                errors.push(`asked ${request.url()}`);
            }
        });
        t.after(() => opened.close());
        await prepare?.(opened);
        await opened.goto(use.origin + path);
        opened.assertNoErrors = () => assert.deepEqual(errors, []);
        return opened;
    };
    return use;
}
