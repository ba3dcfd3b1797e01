// folder-cache.js: the loader's cache as a folder, in Node. Only cache.js imports it, and only there.
import { FILE_LIMIT } from "./metadata.js";

/** Through a variable: a bundler for browsers would look for a literal's module, and find none. */
const load = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name);

/**
 * @param {string} folder is made when it is not there
 * @returns {Promise<import("./cache.js").PackageCache>}
 */
export async function openFolderCache(folder) {
    const { mkdir, open, rename, rm, writeFile } = await load("node:fs/promises");
    const { dirname, join } = await load("node:path");
    return {
        async get(key) {
            const file = await open(join(folder, key));
            try {
                const { size } = await file.stat();
                return size <= FILE_LIMIT ? new Uint8Array(await file.readFile()) : undefined;
            } finally {
                await file.close();
            }
        },
        async put(key, data) {
            const path = join(folder, key);
            const draft = `${path}.${crypto.randomUUID()}`;
            await mkdir(dirname(path), { recursive: true });
            try {
                await writeFile(draft, data, { flag: "wx" });
                await rename(draft, path); // a reader sees all of the file or none
            } catch (error) {
                await rm(draft, { force: true });
                throw error;
            }
        },
    };
}
