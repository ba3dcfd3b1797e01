// folder.js: the files of a package in a folder. Node only.
import { PackageError, RmsnormError } from "./errors.js";

const FILES_LIMIT = 256;
const FILE_LIMIT = 4 << 20;

/** Modules of Node, out of the sight of bundlers. @param {string} name */
const node = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

/**
 * @param {string | URL} source a package's folder, with build/webgpu/ in it, or build/webgpu itself
 * @returns {Promise<Map<string, Uint8Array>>} not verified
 */
export async function readFolder(source) {
    const [fs, path, url] = await Promise.all([node("fs/promises"), node("path"), node("url")]);
    const given = String(source).startsWith("file:") ? url.fileURLToPath(source) : String(source);
    const inside = path.join(given, "build", "webgpu");
    try {
        const isPackage = await fs.stat(path.join(inside, "metadata.json")).then(() => true, () => false);
        const folder = isPackage ? inside : given;
        const entries = await fs.readdir(folder, { withFileTypes: true });
        if (entries.length > FILES_LIMIT) {
            throw new PackageError(`${given} has ${entries.length} files, at most ${FILES_LIMIT} are allowed`);
        }
        const files = new Map();
        for (const entry of entries) {
            const file = path.join(folder, entry.name);
            if (!entry.isFile() || (await fs.stat(file)).size > FILE_LIMIT) {
                throw new PackageError(`${file} is no regular file of at most ${FILE_LIMIT} bytes`);
            }
            files.set(entry.name, new Uint8Array(await fs.readFile(file)));
        }
        return files;
    } catch (cause) {
        if (cause instanceof RmsnormError) {
            throw cause;
        }
        throw new PackageError(`${given} cannot be read: ${cause.message}`, { code: "NOT_FOUND", cause });
    }
}
