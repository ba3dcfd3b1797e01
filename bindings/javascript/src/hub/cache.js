// cache.js: what the loader keeps between two runs. Nothing of it is trusted: what comes out is checked like what is fetched.
const DEFAULT_NAME = "rmsnorm";

/**
 * @typedef {object} PackageCache
 * @property {(key: string) => Promise<Uint8Array | undefined>} get
 * @property {(key: string, data: Uint8Array) => Promise<void>} put
 */

/** @type {PackageCache} */
const NONE = { get: async () => undefined, put: async () => {} };

/** The browser's Cache API wants addresses for keys. */
function openBrowserCache(name) {
    const address = (key) => `https://hub.invalid/${key}`;
    return {
        async get(key) {
            const response = await (await caches.open(name)).match(address(key));
            return response && new Uint8Array(await response.arrayBuffer());
        },
        async put(key, data) {
            await (await caches.open(name)).put(address(key), new Response(data));
        },
    };
}

/** A cache that is full, locked or broken costs time, and nothing else. */
function forgiving(cache) {
    return {
        async get(key) {
            try {
                const data = await cache.get(key);
                return data instanceof Uint8Array ? data : undefined;
            } catch {
                return undefined;
            }
        },
        async put(key, data) {
            try {
                await cache.put(key, data);
            } catch {
                // the next run fetches it again
            }
        },
    };
}

/** What the option takes. */
export const CACHE = {
    takes: "a name, false, or an object with get and put",
    is: (cache) =>
        cache === false || (typeof cache === "string" && cache !== "") ||
        (typeof cache === "object" && typeof cache?.get === "function" && typeof cache.put === "function"),
};

/**
 * @param {string | false | PackageCache | undefined} cache
 * @returns {Promise<PackageCache>}
 */
export async function openCache(cache) {
    const inNode = globalThis.process?.versions?.node !== undefined;
    if (cache === false || (cache === undefined && (inNode || !globalThis.caches))) {
        return NONE;
    }
    if (typeof cache === "object") {
        return forgiving(cache);
    }
    const name = cache ?? DEFAULT_NAME;
    if (inNode) {
        const { openFolderCache } = await import("./folder-cache.js");
        return forgiving(await openFolderCache(name));
    }
    return globalThis.caches ? forgiving(openBrowserCache(name)) : NONE;
}
