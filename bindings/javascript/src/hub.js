// hub.js: fetches a kernel package, from the Hugging Face Hub or any folder on the web, and checks every file of it.
import { DigestError, NetworkError, PackageError } from "./errors.js";
import { CACHE, openCache } from "./hub/cache.js";
import { download, isTransient } from "./hub/download.js";
import { FILE_LIMIT, METADATA, PACKAGE_LIMIT, fits, readMetadata } from "./hub/metadata.js";
import { PREFIXES, isCommit, parseSource } from "./hub/source.js";
import { abortSignal, callback, natural, number, oneOf, readOptions, text } from "./options.js";

export { verifyPackage } from "./hub/metadata.js";

const AT_ONCE = 6;

/**
 * @typedef {object} FetchOptions
 * @property {number} [version] of the package: the branch vN. This or revision is needed for a repository
 * @property {string} [revision] a commit, 40 hexadecimal digits
 * @property {"kernel" | "model"} [repositoryType] "kernel" when left out
 * @property {string} [endpoint] of the Hub
 * @property {string} [token] goes to the endpoint, never to where it redirects to
 * @property {string | false | import("./hub/cache.js").PackageCache} [cache] browser: a name for the Cache API ("rmsnorm" when
 *     left out); Node: a folder (none when left out)
 * @property {AbortSignal} [signal]
 * @property {(progress: {file: string, loaded: number, total: number | null}) => void} [onProgress] a retry begins at 0 again
 * @property {typeof fetch} [fetch]
 * @property {number} [timeout] milliseconds without a byte, 20000 when left out
 * @property {number} [retries] after the first attempt, 4 when left out
 * @property {number} [retryDelay] milliseconds before the first retry, doubled for each further one; 500 when left out
 */

export const FETCH_OPTIONS = {
    version: natural,
    revision: text,
    repositoryType: oneOf(...Object.keys(PREFIXES)),
    endpoint: { takes: "a URL", is: (value) => value instanceof URL || text.is(value) },
    // A message of fetch about a header that is none would repeat it.
    token: { takes: "a text of visible ASCII characters", is: (value) => text.is(value) && /^[\x21-\x7e]+$/.test(value) },
    cache: CACHE,
    signal: abortSignal,
    onProgress: callback,
    fetch: callback,
    timeout: number,
    retries: number,
    retryDelay: number,
};

/** Everything that one call of fetchPackage works with. */
class Job {
    /** @param {string | URL} source @param {FetchOptions} options */
    constructor(source, options) {
        this.place = parseSource(source, options);
        this.onProgress = options.onProgress ?? (() => {});
        this.cache = null;
        this.skipsMetadata = false; // whether the cache's metadata.json is passed over
        this.trustedMetadata = false; // whether it was used
        this.loaded = new Map(); // bytes of each file so far
        this.controller = new AbortController();
        this.transfer = {
            fetch: options.fetch ?? ((...call) => fetch(...call)), // a browser's fetch wants to be called as a function
            signal: this.controller.signal,
            token: this.place.token,
            tokenOrigin: this.place.tokenOrigin,
            timeout: options.timeout ?? 20_000,
            retries: options.retries ?? 4,
            retryDelay: options.retryDelay ?? 500,
            limit: FILE_LIMIT,
        };
    }

    download(url, file, onBytes) {
        return download(url, `${this.place.name}: ${file}`, { ...this.transfer, onBytes });
    }

    /** @param {URL} url @param {string} file */
    downloadFile(url, file) {
        return this.download(url, file, (loaded, total) => {
            this.loaded.set(file, loaded);
            const all = [...this.loaded.values()].reduce((sum, bytes) => sum + bytes, 0);
            if (all > PACKAGE_LIMIT) {
                const text = `${this.place.name}: its files have more than ${PACKAGE_LIMIT} bytes together`;
                throw new PackageError(text, { code: "TOO_LARGE" });
            }
            this.onProgress({ file, loaded, total });
        });
    }

    async cached(key) {
        const data = key === null ? undefined : await this.cache.get(key);
        this.transfer.signal.throwIfAborted();
        return data;
    }

    reportCached(file, data) {
        this.loaded.set(file, data.length);
        this.onProgress({ file, loaded: data.length, total: data.length });
    }
}

async function askCommit(job) {
    const bytes = await job.download(job.place.api, `the commit of ${job.place.revision}`, () => {});
    let answer;
    try {
        answer = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
        answer = null;
    }
    if (!isCommit(answer?.sha)) {
        throw new NetworkError(`${job.place.name}: the endpoint tells no commit of ${job.place.revision}; is it the Hub's?`);
    }
    return answer.sha;
}

/** One commit for all files. Without a network it is the one that the version was at the last time. */
async function resolveCommit(job) {
    const { place, cache } = job;
    if (isCommit(place.revision)) {
        return place.revision;
    }
    const key = place.key(place.revision);
    try {
        const commit = await askCommit(job);
        await cache.put(key, new TextEncoder().encode(commit));
        return commit;
    } catch (error) {
        const known = isTransient(error) && new TextDecoder().decode(await job.cached(key));
        if (!isCommit(known)) {
            throw error;
        }
        return known;
    }
}

async function downloadMetadata(job, folders) {
    for (const [i, folder] of folders.entries()) {
        try {
            return { folder, bytes: await job.downloadFile(new URL(METADATA, folder), METADATA) };
        } catch (error) {
            if (error?.code !== "NOT_FOUND" || i === folders.length - 1) {
                throw error;
            }
        }
    }
}

/** metadata.json has no digest elsewhere, but it is worth keeping only if it can be read. */
async function obtainMetadata(job, folders, key) {
    const cached = await job.cached(key && `${key}/${METADATA}`);
    if (cached && !job.skipsMetadata) {
        try {
            const { digests } = await readMetadata(cached);
            job.trustedMetadata = true;
            job.reportCached(METADATA, cached);
            return { folder: folders[0], bytes: cached, digests };
        } catch (error) {
            if (!(error instanceof PackageError)) {
                throw error;
            }
        }
    }
    const { folder, bytes } = await downloadMetadata(job, folders);
    const { digests } = await readMetadata(bytes);
    if (key !== null) {
        await job.cache.put(`${key}/${METADATA}`, bytes);
    }
    return { folder, bytes, digests };
}

async function obtainFile(job, url, file, digest, key) {
    const cached = await job.cached(key);
    if (cached && await fits(cached, digest)) {
        job.reportCached(file, cached);
        return cached;
    }
    const bytes = await job.downloadFile(url, file);
    if (!await fits(bytes, digest)) {
        throw new DigestError(`${job.place.name}: ${file} is not the file whose digest is in ${METADATA}`);
    }
    if (key !== null) {
        await job.cache.put(key, bytes);
    }
    return bytes;
}

/** Calls work for every item, few at once. When one fails the others are stopped, and are over when this throws. */
async function forEach(items, controller, work) {
    const rest = [...items];
    const worker = async () => {
        while (rest.length > 0 && !controller.signal.aborted) {
            await work(rest.shift());
        }
    };
    const workers = Array.from({ length: Math.min(AT_ONCE, rest.length) }, worker);
    try {
        await Promise.all(workers);
    } catch (error) {
        controller.abort(error);
        await Promise.allSettled(workers);
        throw error;
    }
}

/** @param {Job} job */
async function runJob(job) {
    const commit = job.place.api && await resolveCommit(job);
    const key = job.place.key && job.place.key(commit);
    const { folder, bytes, digests } = await obtainMetadata(job, job.place.folders(commit), key);
    /** @type {Map<string, Uint8Array>} in the order of metadata.json, not in that of arrival */
    const files = new Map().set(METADATA, bytes);
    for (const file of digests.keys()) {
        files.set(file, null);
    }
    await forEach(digests, job.controller, async ([file, digest]) => {
        files.set(file, await obtainFile(job, new URL(file, folder), file, digest, key && `${key}/${file}`));
    });
    return { files, commit };
}

async function runUnlessAborted(job, signal) {
    const stop = () => job.controller.abort(signal.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    try {
        return await runJob(job);
    } finally {
        signal?.removeEventListener("abort", stop);
    }
}

/**
 * Fetches a package. Every file is checked before it is handed out; all are of one commit.
 * @param {string | URL} source ORGANIZATION/NAME on the Hub, or the URL of a package's folder
 * @param {FetchOptions} [given]
 * @returns {Promise<{files: Map<string, Uint8Array>, commit: string | null}>} commit is null for the URL of a folder
 * @throws {RequestError} the call cannot be meant
 * @throws {NetworkError} a file could not be fetched
 * @throws {PackageError} what was fetched is no package; DigestError: it is not the one that metadata.json lists
 */
export async function fetchPackage(source, given) {
    const options = readOptions("getKernel", given, FETCH_OPTIONS);
    const first = new Job(source, options);
    first.cache = await openCache(options.cache);
    try {
        return await runUnlessAborted(first, options.signal);
    } catch (error) {
        const isStale = first.trustedMetadata && (error instanceof PackageError || error?.code === "NOT_FOUND");
        if (!isStale) {
            throw error;
        }
    }
    // The cache's metadata.json lists other files than there are: once more without it.
    const second = new Job(source, options);
    second.cache = first.cache;
    second.skipsMetadata = true;
    return runUnlessAborted(second, options.signal);
}
