// hub-faults.test.mjs: what the loader does when a server, or its caller, does wrong.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { test } from "node:test";

import { DigestError, NetworkError, PackageError, RequestError } from "../../bindings/javascript/src/errors.js";
import { fetchPackage, verifyPackage } from "../../bindings/javascript/src/hub.js";
import { HOSTILE } from "../hub/faults.mjs";
import { ID, TOKEN, everythingOf, useHub } from "./support.mjs";

const hub = useHub();

/** Rejects with this class and code, and says of which repository. */
async function fails(fault, kind, code, more) {
    const is = (error) => {
        assert.equal(error.constructor, kind, everythingOf(error));
        assert.equal(error.code, code, error.message);
        assert.match(error.message, /norm: |^metadata\.json: /);
        return true;
    };
    await assert.rejects(fetchPackage(`${fault}/norm`, hub.options(more)), is, fault);
}

const count = (part) => hub.paths().filter((path) => path.includes(part)).length;

test("what another attempt cannot mend is tried once", async () => {
    const faults = [
        ["private", NetworkError, "UNAUTHORIZED"], ["gated", NetworkError, "UNAUTHORIZED"],
        ["no-files", NetworkError, "NOT_FOUND"], ["nobody", NetworkError, "NOT_FOUND"],
        ["insecure", NetworkError, "REDIRECT"], ["file-url", NetworkError, "REDIRECT"],
        ["no-location", NetworkError, "REDIRECT"], ["bad-sha", NetworkError, "NETWORK"],
        ["no-sha", NetworkError, "NETWORK"], ["not-json", NetworkError, "NETWORK"],
        ["endless", PackageError, "TOO_LARGE"], ["huge-length", PackageError, "TOO_LARGE"],
        ["gzip-bomb", PackageError, "TOO_LARGE"], ["short-length", PackageError, "PACKAGE"],
    ];
    for (const [fault, kind, code] of faults) {
        hub.hub.reset();
        await fails(fault, kind, code);
        assert.equal(new Set(hub.paths()).size, hub.paths().length, fault);
    }
});

test("a file that is another is refused", async () => {
    await fails("wrong-digest", DigestError, "DIGEST");
});

test("a page instead of metadata.json is refused", async () => {
    await fails("not-json", PackageError, "PACKAGE", { version: undefined, revision: hub.first });
});

test("one file is too large by itself, before all are together", async () => {
    for (const fault of ["endless", "gzip-bomb", "huge-length"]) {
        await assert.rejects(fetchPackage(`${fault}/norm`, hub.options()), /metadata\.json: is larger than 4194304 bytes/);
    }
});

test("redirects come to an end", async () => {
    await fails("redirect-loop", NetworkError, "REDIRECT");
    assert.equal(count("metadata.json"), 6);
});

test("a version or a revision that is not there", async () => {
    await assert.rejects(fetchPackage(ID, hub.options({ version: 9 })), /no such version or revision \(404\)/);
    const revision = "f".repeat(40);
    await assert.rejects(fetchPackage(ID, hub.options({ version: undefined, revision })), { code: "NOT_FOUND" });
    await assert.rejects(fetchPackage("house/other", hub.options()), /no such repository \(404\)/);
});

test("what may pass is tried again, and passes", async () => {
    for (const fault of ["500-2", "503-1", "429-1-0", "truncated-2", "reset-2"]) {
        hub.hub.reset();
        const { files } = await fetchPackage(`${fault}/norm`, hub.options());
        await verifyPackage(files);
        assert.equal(count("metadata.json"), Number(fault.split("-")[1]) + 1, fault);
    }
    const { files } = await fetchPackage("dead-1/norm", hub.options({ timeout: 1000 }));
    await verifyPackage(files);
});

test("what does not pass is given up after the retries", async () => {
    for (const [fault, code, asked] of [["500", "SERVER", "revision/v1"], ["truncated", "NETWORK", "metadata.json"],
                                         ["reset", "NETWORK", "metadata.json"], ["429-99-0", "RATE_LIMITED", "revision/v1"]]) {
        hub.hub.reset();
        await fails(fault, NetworkError, code, { retries: 2 });
        assert.equal(count(asked), 3, fault);
    }
    await fails("500", NetworkError, "SERVER", { retries: 0 });
});

test("Retry-After is kept to, and not when it is for ever", async () => {
    const start = Date.now();
    await fetchPackage("429-1-1/norm", hub.options());
    assert.ok(Date.now() - start >= 3000, "one second each: the commit, metadata.json, the files");
    hub.hub.reset();
    await fails("429-1-3600", NetworkError, "RATE_LIMITED");
    assert.equal(hub.paths().length, 1);
});

test("Retry-After as a date, and the Hub's own RateLimit", async () => {
    const soon = new Date(Date.now() + 3_600_000).toUTCString();
    for (const headers of [{ "Retry-After": soon }, { RateLimit: '"resolvers";r=0;t=300' }]) {
        let calls = 0;
        const busy = async () => (calls++, new Response(null, { status: 429, headers }));
        await assert.rejects(fetchPackage(ID, hub.options({ fetch: busy })), { code: "RATE_LIMITED" });
        assert.equal(calls, 1, "an hour, or five minutes, are not waited for");
    }
});

test("backoff grows", async () => {
    const times = [];
    const failing = async () => (times.push(performance.now()), new Response(null, { status: 500 }));
    await assert.rejects(fetchPackage(ID, hub.options({ fetch: failing, retryDelay: 40, retries: 3 })), { code: "SERVER" });
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    assert.equal(gaps.length, 3);
    gaps.forEach((gap, i) => assert.ok(gap >= 20 * 2 ** i - 2, `${gaps}`));
});

test("a dead connection, and a body that stops, end after the timeout", async () => {
    for (const fault of ["dead", "stall"]) {
        const start = Date.now();
        await fails(fault, NetworkError, "TIMEOUT", { timeout: 150, retries: 1 });
        assert.ok(Date.now() - start < 4000, fault); // not the 5 s of the other tests, twice
    }
});

test("a slow body is no dead one", async () => {
    await fetchPackage("slow/norm", hub.options({ timeout: 150, retries: 4 })); // ten parts with 20 ms between them; a busy machine may stop once
});

test("a body in drops ends too", async () => {
    const drops = new ReadableStream({ pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        controller.enqueue(new Uint8Array(1));
    } }, { highWaterMark: 0 });
    const dripping = async () => new Response(drops);
    await assert.rejects(fetchPackage(ID, hub.options({ fetch: dripping, timeout: 15, retries: 0 })), { code: "TIMEOUT" });
});

test("no server at all", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    const options = hub.options({ endpoint: `http://127.0.0.1:${port}`, retries: 1 });
    await assert.rejects(fetchPackage(ID, options), { name: "NetworkError", code: "NETWORK", message: /ECONNREFUSED/ });
});

test("files that are too large together", async () => {
    const data = new Uint8Array(4 << 20);
    const digest = createHash("sha256").update(data).digest("base64");
    const answer = async (count, url) => {
        const files = Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, digest]));
        const metadata = JSON.stringify({ digest: { algorithm: "sha256", files } });
        return new Response(url.endsWith("metadata.json") ? metadata : data);
    };
    const fetched = (count) => fetchPackage("https://hub.invalid/x", { fetch: (url) => answer(count, url) });
    assert.equal((await fetched(7)).files.size, 8);
    await assert.rejects(fetched(8), { name: "PackageError", code: "TOO_LARGE", message: /more than 33554432 bytes/ });
});

test("hostile names are refused before anything is asked for by them", async () => {
    for (const i of [...HOSTILE.keys(), "twice"]) {
        hub.hub.reset();
        await fails(`hostile-${i}`, PackageError, "PACKAGE");
        assert.equal(hub.paths().length, 2, `${i}`);
    }
});

test("abort: before, at each stage, and in between retries", async () => {
    const reason = new Error("enough");
    const aborted = (error) => error === reason;
    await assert.rejects(fetchPackage(ID, hub.options({ signal: AbortSignal.abort(reason) })), aborted);
    assert.equal(hub.paths().length, 0);
    const stages = [["dead", () => count("/revision/") === 1], ["dead-9", () => count("metadata.json") === 1],
                    ["stall", () => count("metadata.json") === 1], ["429-9-30", () => count("/revision/") === 1],
                    ["slow", () => count(".jinja") >= 3]];
    for (const [fault, reached] of stages) {
        hub.hub.reset();
        const controller = new AbortController();
        const timer = setInterval(() => reached() && controller.abort(reason), 10);
        const start = Date.now();
        await assert.rejects(fetchPackage(`${fault}/norm`, hub.options({ signal: controller.signal })), aborted, fault);
        clearInterval(timer);
        assert.ok(Date.now() - start < 4500, fault); // before any timeout
        const asked = hub.paths().length;
        await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(hub.paths().length, asked, "nothing goes on");
    }
});

test("abort by the default reason, with a fetch that does not listen", async () => {
    const deaf = () => new Promise(() => {});
    const signal = AbortSignal.timeout(50);
    await assert.rejects(fetchPackage(ID, hub.options({ fetch: deaf, signal })), { name: "TimeoutError" });
    const controller = new AbortController();
    const ended = () => (queueMicrotask(() => controller.abort(null)), deaf()); // a reason as any other
    const folder = fetchPackage(`${hub.endpoint}/folder/${ID}`, { fetch: ended, signal: controller.signal });
    assert.deepEqual(await Promise.allSettled([folder]), [{ status: "rejected", reason: null }]);
});

test("the first failure ends the other downloads, and nothing of them is left", async () => {
    let open = 0;
    const busy = async (work) => {
        open++;
        await work;
        open--;
    };
    const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
    const cache = { get: async () => undefined };
    const keeping = new Promise((resolve) => {
        cache.put = (key) => {
            setImmediate(key.endsWith("bench.json") ? resolve : () => {});
            return busy(pause());
        };
    });
    const held = async (url, init) => {
        if (url.endsWith("manifest.json")) {
            await keeping;
            return new Response(null, { status: 404 });
        }
        if (!/g[a-z]+\.wgsl/.test(url)) {
            return fetch(url, init);
        }
        const aborted = new Promise((resolve) => init.signal.addEventListener("abort", resolve));
        await busy(aborted);
        throw init.signal.reason;
    };
    await assert.rejects(fetchPackage(ID, hub.options({ fetch: held, cache })), { code: "NOT_FOUND" });
    assert.equal(open, 0);
});

test("calls that cannot be meant", async () => {
    const revision = "a".repeat(40);
    const none = { version: undefined };
    const calls = [
        ["x", {}], ["../../x", {}], ["a/b/c", {}], ["a/..", {}], ["/a/b", {}], ["a/b?x", {}], ["", {}], [undefined, {}],
        [ID, none], [ID, { revision }], [ID, { version: 0 }], [ID, { version: 1.5 }], [ID, { version: "main" }],
        [ID, { ...none, revision: "main" }], [ID, { ...none, revision: revision.toUpperCase() }],
        [ID, { ...none, revision: "abc1234" }], [ID, { endpoint: "http://hub.invalid/" }], [ID, { endpoint: "hub" }],
        [ID, { endpoint: "ftp://localhost/" }], [ID, { repositoryType: "space" }], [ID, { repositoryType: "toString" }],
        [ID, { token: "a\nb" }], [ID, { token: "" }], [ID, { cache: 3 }], [ID, { cache: "" }], [ID, { timeout: "1" }],
        [ID, { timeout: Infinity }], [ID, { retries: -1 }], ["http://hub.invalid/x", none], ["file:///tmp/x", none],
        [`${hub.endpoint}/folder/${ID}`, { version: 1 }], [`${hub.endpoint}/folder/${ID}?x`, none],
    ];
    for (const [source, more] of calls) {
        await assert.rejects(fetchPackage(source, hub.options(more)), RequestError, `${source} ${JSON.stringify(more)}`);
    }
    assert.equal(hub.paths().length, 0);
});

test("no message has a secret in it", async () => {
    const folder = `${hub.endpoint.replace("//", `//user:${TOKEN}@`)}/folder/${ID}`;
    const leaky = async () => new Response(null, { status: 302, headers: { Location: `http://hub.invalid/?s=${TOKEN}` } });
    const calls = [
        ...["private", "dead", "reset", "insecure", "500", "wrong-digest"].map((fault) =>
            fetchPackage(`${fault}/norm`, hub.options({ token: fault === "private" ? `${TOKEN}x` : TOKEN, timeout: 80, retries: 0 }))),
        fetchPackage(ID, hub.options({ token: `${TOKEN}\n` })),
        fetchPackage(folder, { endpoint: hub.endpoint }),
        fetchPackage(ID, hub.options({ endpoint: `${hub.endpoint}/?${TOKEN}` })),
        fetchPackage(`http://hub.invalid/${TOKEN}?${TOKEN}`),
        fetchPackage(ID, hub.options({ fetch: leaky })),
    ];
    for (const result of await Promise.allSettled(calls)) {
        assert.equal(result.status, "rejected");
        assert.ok(!everythingOf(result.reason).includes(TOKEN), everythingOf(result.reason));
    }
});
