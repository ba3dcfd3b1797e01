// folder-cache.js: the loader's cache as a folder, in Node. Only cache.js imports it, and only there.
import { FILE_LIMIT } from "./metadata.js";

/** Through a variable: a bundler for browsers would look for a literal's module, and find none. */
const load = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name);

/** With its parents, one by one: Node's own way there never ends under /proc. */
async function makeFolder(folder, { mkdir }, { dirname }) {
    const make = () => mkdir(folder).catch((error) => {
        if (error.code !== "EEXIST") {
            throw error;
        }
    });
    try {
        await make();
    } catch (error) {
        if (error.code !== "ENOENT" || dirname(folder) === folder) {
            throw error;
        }
        await makeFolder(dirname(folder), { mkdir }, { dirname });
        await make();
    }
}

/**
 * @param {string} folder is made when it is not there
 * @returns {Promise<import("./cache.js").PackageCache>}
 */
export async function openFolderCache(folder) {
    const fs = await load("node:fs/promises");
    const path = await load("node:path");
    const { open, rename, rm, writeFile } = fs;
    return {
        async get(key) {
            const file = await open(path.join(folder, key));
            try {
                const { size } = await file.stat();
                return size <= FILE_LIMIT ? new Uint8Array(await file.readFile()) : undefined;
            } finally {
                await file.close();
            }
        },
        async put(key, data) {
            const file = path.join(folder, key);
            const draft = `${file}.${crypto.randomUUID()}`;
            await makeFolder(path.dirname(file), fs, path);
            try {
                await writeFile(draft, data, { flag: "wx" });
                await rename(draft, file); // a reader sees all of the file or none
            } catch (error) {
                await rm(draft, { force: true });
                throw error;
            }
        },
    };
}
