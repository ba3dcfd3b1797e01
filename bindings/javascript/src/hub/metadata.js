// metadata.js: metadata.json of a kernel package, and whether files are those that it lists. docs/packages.md has the format.
import { DigestError, PackageError, RequestError } from "../errors.js";

export const METADATA = "metadata.json";
export const FILE_LIMIT = 4 << 20;
export const PACKAGE_LIMIT = 32 << 20;
export const FILES_LIMIT = 256;

/** Names that mean a file of one folder on every system and in every URL, and nothing else. */
const PLAIN_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;
/** 32 bytes in base64. */
const DIGEST = /^[A-Za-z0-9+/]{43}=$/;

/** @param {any} data bytes @returns {Promise<Uint8Array>} */
async function sha256(data) {
    if (!globalThis.crypto?.subtle) {
        throw new RequestError("a page that checks digests needs https: WebCrypto is not there", { code: "NO_CRYPTO" });
    }
    return new Uint8Array(await crypto.subtle.digest("SHA-256", data));
}

const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** How many texts a value has, keys and values. Not by recursion: it may be nested deeper than the stack is. */
function countTexts(value) {
    const rest = [value];
    let count = 0;
    while (rest.length > 0) {
        const item = rest.pop();
        if (typeof item === "string") {
            count++;
        } else if (item !== null && typeof item === "object") {
            count += Array.isArray(item) ? 0 : Object.keys(item).length;
            for (const inner of Object.values(item)) {
                rest.push(inner);
            }
        }
    }
    return count;
}

/** @param {Uint8Array} bytes */
function parseJson(bytes) {
    let text, value;
    try {
        text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
        value = JSON.parse(text);
    } catch (cause) {
        throw new PackageError(`${METADATA}: is no JSON`, { cause });
    }
    // JSON.parse takes the last of two equal keys, another reader may take the first: neither is to be had.
    if ((text.replaceAll(/\\./g, "").match(/"/g)?.length ?? 0) !== 2 * countTexts(value)) {
        throw new PackageError(`${METADATA}: has a key twice`);
    }
    return value;
}

function isObject(value) {
    return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Names of strangers go into messages only when they are harmless there. */
const quote = (text) => JSON.stringify(text.slice(0, 80));

/** @returns {Map<string, string>} the digest of each file */
function readDigests(metadata) {
    if (!isObject(metadata?.digest) || metadata.digest.algorithm !== "sha256" || !isObject(metadata.digest.files)) {
        throw new PackageError(`${METADATA}: has no digest with "algorithm": "sha256" and files`);
    }
    const entries = Object.entries(metadata.digest.files);
    if (entries.length > FILES_LIMIT) {
        throw new PackageError(`${METADATA}: digest.files lists ${entries.length} files, at most ${FILES_LIMIT} are allowed`);
    }
    for (const [name, digest] of entries) {
        if (!PLAIN_NAME.test(name) || name === METADATA) {
            throw new PackageError(`${METADATA}: digest.files lists ${quote(name)}, which is no name for a file of a package`);
        }
        if (typeof digest !== "string" || !DIGEST.test(digest)) {
            throw new PackageError(`${METADATA}: digest.files.${name} is no sha256 in base64`);
        }
    }
    return new Map(entries);
}

/** In a package of ours the id follows from the files. Of another spec it is whatever its builder took it from. */
async function checkId(metadata, digests) {
    if (metadata.webgpu?.manifestSpec !== "rmsnorm-1") {
        return;
    }
    const encoder = new TextEncoder();
    const bytes = [...digests].sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([name, digest]) => [...encoder.encode(`${name}\0`), ...fromBase64(digest)]);
    const hex = [...await sha256(Uint8Array.from(bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (typeof metadata.id !== "string" || !metadata.id.endsWith(`_webgpu_${hex.slice(0, 7)}`)) {
        throw new DigestError(`${METADATA}: the id does not fit the digests, which come to ${hex.slice(0, 7)}`);
    }
}

/**
 * @param {Uint8Array} bytes of metadata.json
 * @returns {Promise<{metadata: any, digests: Map<string, string>}>}
 */
export async function readMetadata(bytes) {
    const metadata = parseJson(bytes);
    const digests = readDigests(metadata);
    await checkId(metadata, digests);
    return { metadata, digests };
}

/** @param {Uint8Array} bytes @param {string} digest @returns {Promise<boolean>} */
export async function fits(bytes, digest) {
    return toBase64(await sha256(bytes)) === digest;
}

/**
 * Whether files are a package as its metadata.json says: every digest, no file missing and none too many. Throws a
 * PackageError or a DigestError that names the file.
 * @param {Map<string, Uint8Array>} files
 * @returns {Promise<object>} the parsed metadata.json
 */
export async function verifyPackage(files) {
    const bytes = files.get(METADATA);
    if (!bytes) {
        throw new PackageError(`${METADATA}: is missing`);
    }
    const { metadata, digests } = await readMetadata(bytes);
    for (const name of files.keys()) {
        if (name !== METADATA && !digests.has(name)) {
            throw new PackageError(`${quote(name)} is not listed in ${METADATA}`);
        }
    }
    for (const [name, digest] of digests) {
        const data = files.get(name);
        if (!data) {
            throw new PackageError(`${name} is listed in ${METADATA}, and missing`);
        }
        if (!await fits(data, digest)) {
            throw new DigestError(`${name} is not the file whose digest is in ${METADATA}`);
        }
    }
    return metadata;
}
