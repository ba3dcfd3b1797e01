// support.mjs: a mock Hub and the loader's options for it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach } from "node:test";
import { fileURLToPath } from "node:url";

import { startHub } from "../hub/server.mjs";

const PACKAGE = fileURLToPath(new URL("../../kernels/ai.onnx.RMSNormalization", import.meta.url));
export const ID = "house/norm";
export const TOKEN = "hf_secretSECRETsecret";

/** A Hub for the tests of a file: hub.endpoint, hub.log() and the rest are there once they run. */
export function useHub() {
    const used = {};
    before(async () => {
        Object.assign(used, await startHub({ repositories: { [ID]: PACKAGE }, token: TOKEN }));
        const [repository] = used.hub.served.values();
        used.first = repository.first;
        used.second = repository.second;
        used.log = () => used.hub.requests;
        used.paths = () => used.log().map(({ url }) => url);
        used.options = (more) => ({ endpoint: used.endpoint, version: 1, retryDelay: 5, timeout: 5000, ...more });
    });
    beforeEach(() => used.hub.reset());
    after(() => used.close());
    return used;
}

/** A folder that is gone after the test. */
export function temporaryFolder(t) {
    const folder = mkdtempSync(join(tmpdir(), "rmsnorm-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
}

/** A cache in memory. */
export class MemoryCache {
    data = new Map();

    async get(key) {
        return this.data.get(key);
    }

    async put(key, bytes) {
        this.data.set(key, bytes);
    }
}

/** Everything that an error tells: also what caused it, and from where. */
export function everythingOf(error) {
    const seen = [];
    for (let at = error; at; at = at.cause) {
        seen.push(String(at), String(at.stack), JSON.stringify(at, Object.getOwnPropertyNames(at)));
    }
    return seen.join("\n");
}
