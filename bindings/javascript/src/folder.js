// folder.js: the files of a package in a folder. Node only.
import { PackageError, RequestError, RmsnormError } from "./errors.js";
import { FILES_LIMIT, FILE_LIMIT, PACKAGE_LIMIT } from "./hub/metadata.js";

/** Modules of Node, out of the sight of bundlers. @param {string} name */
const node = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

function pathOf(source, fileURLToPath) {
    if (!String(source).startsWith("file:")) {
        return String(source);
    }
    try {
        return fileURLToPath(source);
    } catch (cause) {
        throw new RequestError(`${source} is no address of a folder on this machine`, { cause });
    }
}

/**
 * @param {string | URL} source a package's folder, with build/webgpu/ in it, or build/webgpu itself
 * @returns {Promise<Map<string, Uint8Array>>} not verified
 */
export async function readFolder(source) {
    if (globalThis.process?.versions?.node === undefined) {
        throw new RequestError("a package's folder can be read in Node only; here, give its URL");
    }
    const [fs, path, { fileURLToPath }] = await Promise.all([node("fs/promises"), node("path"), node("url")]);
    const given = pathOf(source, fileURLToPath);
    const inside = path.join(given, "build", "webgpu");
    try {
        const isPackage = await fs.stat(path.join(inside, "metadata.json")).then(() => true, () => false);
        const folder = isPackage ? inside : given;
        const entries = await fs.readdir(folder, { withFileTypes: true });
        if (entries.length > FILES_LIMIT) {
            throw new PackageError(`${given} has ${entries.length} files, at most ${FILES_LIMIT} are allowed`);
        }
        const files = new Map();
        let total = 0;
        for (const entry of entries) {
            const file = path.join(folder, entry.name);
            if (!entry.isFile() || (await fs.stat(file)).size > FILE_LIMIT) {
                throw new PackageError(`${file} is no regular file of at most ${FILE_LIMIT} bytes`);
            }
            const data = new Uint8Array(await fs.readFile(file));
            total += data.length;
            if (total > PACKAGE_LIMIT) {
                throw new PackageError(`${given}: its files have more than ${PACKAGE_LIMIT} bytes together`, { code: "TOO_LARGE" });
            }
            files.set(entry.name, data);
        }
        return files;
    } catch (cause) {
        if (cause instanceof RmsnormError) {
            throw cause;
        }
        throw new PackageError(`${given} cannot be read: ${cause.message}`, { code: "NOT_FOUND", cause });
    }
}
