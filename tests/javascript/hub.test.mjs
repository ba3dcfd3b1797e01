// hub.test.mjs: what the loader fetches, from where, in which order and how often.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { fetchPackage, verifyPackage } from "../../bindings/javascript/src/hub.js";
import { ID, TOKEN, useHub } from "./support.mjs";

const hub = useHub();
const PACKAGE = new URL("../../kernels/ai.onnx.RMSNormalization/build/webgpu/", import.meta.url);
const FILES = readdirSync(PACKAGE).length;

test("a version is resolved once, and all files are of its commit", async () => {
    const { files, commit } = await fetchPackage(ID, hub.options());
    assert.equal(commit, hub.first);
    assert.equal(files.size, FILES);
    for (const [name, data] of files) {
        assert.deepEqual(Buffer.from(data), readFileSync(new URL(name, PACKAGE)), name);
    }
    const [api, metadata, ...rest] = hub.paths();
    assert.equal(api, `/api/kernels/${ID}/revision/v1`);
    assert.equal(metadata, `/kernels/${ID}/resolve/${commit}/build/webgpu/metadata.json`);
    assert.equal(new Set(rest).size, FILES - 1);
    assert.ok(rest.every((path) => path.startsWith(`/kernels/${ID}/resolve/${commit}/build/webgpu/`)));
});

test("the manifest's file order does not depend on which file comes first", async () => {
    const { files } = await fetchPackage("slow/norm", hub.options());
    const listed = Object.keys(JSON.parse(new TextDecoder().decode(files.get("metadata.json"))).digest.files);
    assert.deepEqual([...files.keys()], ["metadata.json", ...listed]);
});

test("a revision needs no question", async () => {
    const { commit } = await fetchPackage(ID, hub.options({ version: undefined, revision: hub.second }));
    assert.equal(commit, hub.second);
    assert.equal(hub.paths().length, FILES);
});

test("the two versions are two packages", async () => {
    const { files, commit } = await fetchPackage(ID, hub.options({ version: 2 }));
    assert.equal(commit, hub.second);
    assert.equal(files.get("manifest.json").at(-1), 10);
    assert.equal(files.get("manifest.json").at(-2), 10);
});

test("a branch that moves while it is fetched is still one commit", async () => {
    const first = await fetchPackage("moving/norm", hub.options());
    const second = await fetchPackage("moving/norm", hub.options());
    assert.deepEqual([first.commit, second.commit], [hub.first, hub.second]);
    await verifyPackage(first.files);
    await verifyPackage(second.files);
});

test("a repository of the type model", async () => {
    await fetchPackage(ID, hub.options({ repositoryType: "model" }));
    assert.equal(hub.paths()[0], `/api/models/${ID}/revision/v1`);
    assert.ok(hub.paths()[1].startsWith(`/${ID}/resolve/`));
});

test("the URL of a folder, of a package or of its build/webgpu", async () => {
    for (const [end, requests] of [["", FILES], ["/build/webgpu/", FILES + 1]]) {
        hub.hub.reset();
        const { files, commit } = await fetchPackage(`${hub.endpoint}/folder/${ID}${end}`);
        assert.equal(commit, null);
        assert.equal(files.size, FILES);
        assert.equal(hub.paths().length, requests);
    }
    await fetchPackage(new URL(`${hub.endpoint}/folder/${ID}`));
});

test("files in LFS, in the cache of resolved files, and of a renamed repository", async () => {
    for (const name of ["lfs/norm", "resolve-cache/norm", "renamed/norm", "other-host/norm", "gzip/norm"]) {
        const { files } = await fetchPackage(name, hub.options());
        await verifyPackage(files);
    }
});

test("at most six files at once, and six", async () => {
    let now = 0;
    let most = 0;
    const counting = async (...call) => {
        most = Math.max(most, ++now);
        try {
            const response = await fetch(...call);
            const data = await response.arrayBuffer();
            await new Promise((resolve) => setTimeout(resolve, 20));
            return new Response(data, response);
        } finally {
            now--;
        }
    };
    await fetchPackage(ID, hub.options({ fetch: counting }));
    assert.equal(most, 6);
});

test("progress: every file, never backwards, to its end", async () => {
    const seen = new Map();
    const onProgress = ({ file, loaded, total }) => {
        assert.ok(loaded >= (seen.get(file)?.loaded ?? 0), file);
        seen.set(file, { loaded, total });
    };
    const { files } = await fetchPackage("slow/norm", hub.options({ onProgress }));
    assert.equal(seen.size, FILES);
    for (const [name, data] of files) {
        assert.deepEqual(seen.get(name), { loaded: data.length, total: data.length }, name);
    }
    const totals = new Set();
    await fetchPackage("gzip/norm", hub.options({ onProgress: ({ total }) => totals.add(total) }));
    assert.deepEqual([...totals], [null]); // the length is that of the compressed file
});

test("an error of onProgress is the caller's own", async () => {
    const mine = new Error("mine");
    const onProgress = () => { throw mine; };
    await assert.rejects(fetchPackage(ID, hub.options({ onProgress })), (error) => error === mine);
    assert.equal(hub.paths().length, 2);
});

test("the token goes to the endpoint, and nowhere else", async () => {
    for (const name of ["private/norm", "lfs/norm", "other-host/norm", "resolve-cache/norm"]) {
        await fetchPackage(name, hub.options({ token: TOKEN }));
    }
    const own = new URL(hub.endpoint).host;
    const [inside, outside] = [true, false].map((is) => hub.log().filter(({ host }) => (host === own) === is));
    assert.ok(inside.length > 4 * FILES);
    assert.ok(inside.every(({ authorization }) => authorization === `Bearer ${TOKEN}`));
    assert.equal(outside.length, FILES); // of other-host
    assert.ok(outside.every(({ authorization }) => authorization === null));
});

test("the token does not come back from another host, and does not go to a folder elsewhere", async () => {
    const elsewhere = `http://localhost:${hub.port}`;
    await fetchPackage(`${elsewhere}/folder/${ID}`, { endpoint: hub.endpoint, token: TOKEN });
    assert.ok(hub.log().every(({ authorization }) => authorization === null));
    const tokens = [];
    const bounce = async (url, { headers }) => {
        tokens.push(headers.Authorization);
        const there = `${elsewhere}/there`;
        return Response.redirect(url.startsWith(elsewhere) ? `${hub.endpoint}/back` : there, 302);
    };
    const options = hub.options({ token: TOKEN, fetch: bounce, version: undefined, revision: hub.first });
    await assert.rejects(fetchPackage(ID, options), { code: "REDIRECT" });
    assert.deepEqual(tokens, [`Bearer ${TOKEN}`, ...Array(5).fill(undefined)]);
});

test("a browser, which shows no redirect, follows them itself", async () => {
    const browser = async (url, init) => {
        const response = await fetch(url, init);
        if (response.status === 302 && init.redirect === "manual") {
            const opaque = Response.error();
            Object.defineProperty(opaque, "type", { value: "opaqueredirect" });
            return opaque;
        }
        return response;
    };
    const { files } = await fetchPackage("lfs/norm", hub.options({ fetch: browser }));
    assert.equal(files.size, FILES);
    const outOfIt = async (url, init) => {
        const response = await browser(url, init);
        if (response.redirected) {
            Object.defineProperty(response, "url", { value: "http://hub.invalid/x" });
        }
        return response;
    };
    await assert.rejects(fetchPackage("lfs/norm", hub.options({ fetch: outOfIt })), { code: "REDIRECT" });
});

test("a far server may lead neither to http nor to this machine", async () => {
    const options = { version: undefined, revision: "0".repeat(40), endpoint: "https://hub.invalid/" };
    for (const target of ["http://hub.invalid/x", `${hub.endpoint}/x`, "https://localhost/x", "data:,x", "//127.0.0.1/x"]) {
        let calls = 0;
        const far = async () => {
            calls++;
            return new Response(null, { status: 302, headers: { Location: target } });
        };
        await assert.rejects(fetchPackage(ID, { ...options, fetch: far }), { name: "NetworkError", code: "REDIRECT" }, target);
        assert.equal(calls, 1);
    }
});
