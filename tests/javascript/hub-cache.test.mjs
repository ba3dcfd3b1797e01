// hub-cache.test.mjs: what is kept, and that nothing of it is trusted.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { fetchPackage, verifyPackage } from "../../bindings/javascript/src/hub.js";
import { ID, MemoryCache, temporaryFolder, useHub } from "./support.mjs";

const hub = useHub();
const FILES = readdirSync(new URL("../../kernels/ai.onnx.RMSNormalization/build/webgpu/", import.meta.url)).length;
const offline = async () => { throw new TypeError("fetch failed"); };

function filesIn(folder) {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile()).map((entry) => join(entry.path, entry.name));
}

test("a commit is answered from the cache, without a network", async (t) => {
    for (const cache of [new MemoryCache(), temporaryFolder(t)]) {
        const options = hub.options({ version: undefined, revision: hub.first, cache });
        const fetched = await fetchPackage(ID, options);
        const seen = new Set();
        const onProgress = ({ file, loaded, total }) => seen.add(file) && assert.equal(loaded, total);
        const cached = await fetchPackage(ID, { ...options, fetch: offline, onProgress });
        assert.deepEqual(cached, fetched);
        assert.equal(seen.size, FILES);
    }
    assert.equal(hub.paths().length, 2 * FILES);
});

test("a version asks for its commit, and for nothing else", async () => {
    const cache = new MemoryCache();
    await fetchPackage(ID, hub.options({ cache }));
    hub.hub.reset();
    await fetchPackage(ID, hub.options({ cache }));
    assert.deepEqual(hub.paths(), [`/api/kernels/${ID}/revision/v1`]);
});

test("without a network a version is what it was", async () => {
    const cache = new MemoryCache();
    const { commit } = await fetchPackage(ID, hub.options({ cache }));
    assert.equal((await fetchPackage(ID, hub.options({ cache, fetch: offline, retries: 0 }))).commit, commit);
    const busy = async () => new Response(null, { status: 503 });
    assert.equal((await fetchPackage(ID, hub.options({ cache, fetch: busy, retries: 0 }))).commit, commit);
    const gone = async () => new Response(null, { status: 404 });
    await assert.rejects(fetchPackage(ID, hub.options({ cache, fetch: gone, retries: 0 })), { code: "NOT_FOUND" });
    const other = hub.options({ cache, fetch: offline, retries: 0, version: 2 });
    await assert.rejects(fetchPackage(ID, other), { code: "NETWORK" });
});

test("the version moves on when it can", async () => {
    const cache = new MemoryCache();
    const commits = [];
    for (let i = 0; i < 3; i++) {
        commits.push((await fetchPackage("moving/norm", hub.options({ cache }))).commit);
    }
    assert.deepEqual(commits, [hub.first, hub.second, hub.first]);
    assert.equal(hub.paths().length, 3 + 2 * FILES);
});

test("a broken entry is fetched again, and only that one", async (t) => {
    const folder = temporaryFolder(t);
    const options = hub.options({ version: undefined, revision: hub.first, cache: folder });
    await fetchPackage(ID, options);
    const entries = filesIn(folder);
    assert.equal(entries.length, FILES);
    for (const broken of entries) {
        const good = readFileSync(broken);
        for (const spoil of [() => truncateSync(broken, good.length >> 1), () => writeFileSync(broken, "x"),
                             () => writeFileSync(broken, Buffer.alloc(5 << 20))]) {
            spoil();
            hub.hub.reset();
            await verifyPackage((await fetchPackage(ID, options)).files);
            assert.equal(hub.paths().length, 1, broken);
            assert.deepEqual(readFileSync(broken), good);
        }
    }
});

test("a cached metadata.json of other files is fetched again", async () => {
    const cache = new MemoryCache();
    await fetchPackage(ID, hub.options({ cache, version: 2 }));
    const [other] = [...cache.data].filter(([key]) => key.endsWith("/metadata.json")).map(([, data]) => data);
    cache.data.clear();
    await fetchPackage(ID, hub.options({ cache }));
    const [key] = [...cache.data.keys()].filter((name) => name.endsWith("/metadata.json"));
    cache.data.set(key, other); // whole and right in itself
    const { files } = await fetchPackage(ID, hub.options({ cache }));
    assert.notDeepEqual(files.get("metadata.json"), other);
    await verifyPackage(files);
});

test("what is wrong is not kept", async () => {
    const cache = new MemoryCache();
    await assert.rejects(fetchPackage("wrong-digest/norm", hub.options({ cache })), { code: "DIGEST" });
    assert.ok([...cache.data.keys()].every((key) => !key.endsWith("/manifest.json")));
    const commit = { version: undefined, revision: hub.first };
    await assert.rejects(fetchPackage("not-json/norm", hub.options({ cache, ...commit })), { code: "PACKAGE" });
    assert.ok([...cache.data.keys()].every((key) => !key.includes("not-json")));
});

test("endpoints, repositories and types do not share entries", async () => {
    const cache = new MemoryCache();
    await fetchPackage(ID, hub.options({ cache }));
    for (const more of [{ endpoint: `http://localhost:${hub.port}` }, { repositoryType: "model" }]) {
        await assert.rejects(fetchPackage(ID, hub.options({ cache, fetch: offline, retries: 0, ...more })), { code: "NETWORK" });
    }
    const options = hub.options({ cache, fetch: offline, retries: 0, version: undefined, revision: hub.first });
    await assert.rejects(fetchPackage("slow/norm", options), { code: "NETWORK" });
});

test("a cache that fails costs nothing but time", async (t) => {
    const thrower = { get: async () => { throw new Error("get"); }, put: async () => { throw new Error("put"); } };
    const liar = { get: async () => "text", put: async () => {} };
    const file = join(temporaryFolder(t), "file");
    writeFileSync(file, "no folder");
    for (const cache of [thrower, liar, file, false]) {
        await verifyPackage((await fetchPackage(ID, hub.options({ cache }))).files);
    }
});

test("a cache where no folder can be made is none", async () => {
    for (const cache of ["/proc/nowhere/rmsnorm", "/dev/null/rmsnorm"]) {
        await verifyPackage((await fetchPackage(ID, hub.options({ cache }))).files);
    }
});

test("many at once in one folder", async (t) => {
    const options = hub.options({ cache: temporaryFolder(t) });
    const all = await Promise.all(Array.from({ length: 8 }, () => fetchPackage(ID, options)));
    for (const { files } of all) {
        await verifyPackage(files);
    }
    assert.equal(filesIn(options.cache).length, FILES + 1, "no draft is left behind");
});

test("the URL of a folder is not cached: it may change", async () => {
    const cache = new MemoryCache();
    await fetchPackage(`${hub.endpoint}/folder/${ID}`, { cache });
    assert.equal(cache.data.size, 0);
});

test("the Cache API of a browser", async (t) => {
    const stores = new Map();
    const open = async (name) => {
        const store = stores.get(name) ?? stores.set(name, new Map()).get(name);
        return {
            match: async (address) => store.get(address)?.clone(),
            put: async (address, response) => void store.set(new URL(address).href, response),
        };
    };
    const { process } = globalThis;
    t.after(() => {
        globalThis.process = process;
        delete globalThis.caches;
    });
    globalThis.caches = { open };
    globalThis.process = undefined;
    for (const [cache, name] of [[undefined, "rmsnorm"], ["mine", "mine"]]) {
        hub.hub.reset();
        const options = { endpoint: hub.endpoint, revision: hub.first, cache };
        const fetched = await fetchPackage(ID, options);
        assert.deepEqual(await fetchPackage(ID, { ...options, fetch: offline }), fetched);
        assert.equal(stores.get(name).size, FILES);
        assert.equal(hub.paths().length, FILES);
    }
});
