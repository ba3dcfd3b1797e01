// download.js: one file over HTTP from a server that may be slow, overloaded or hostile.
import { NetworkError, PackageError, RmsnormError } from "../errors.js";
import { isLoopback, isSafe } from "./source.js";

const REDIRECTS = 5;
/** Longer than that nobody wants to look at a progress bar; the Hub's windows have 300 seconds. */
const LONGEST_WAIT = 60_000;
const LONGEST_BACKOFF = 8_000;
/** A body that arrives in drops is given up after so many timeouts. */
const TIMEOUTS_IN_ALL = 20;

/** Errors that another attempt may mend, with the milliseconds that the server asks for, if it does. */
const transient = new WeakMap();

function mayPass(error, wait = 0) {
    transient.set(error, wait);
    return error;
}

/**
 * @typedef {object} Transfer
 * @property {typeof fetch} fetch
 * @property {AbortSignal} signal
 * @property {string | undefined} token
 * @property {string} tokenOrigin
 * @property {number} timeout milliseconds without a byte
 * @property {number} retries
 * @property {number} retryDelay milliseconds before the first one
 * @property {number} limit bytes
 * @property {(loaded: number, total: number | null) => void} onBytes
 */

/** Retry-After has seconds or a date; RateLimit is the Hub's: "resolvers";r=0;t=55. */
function askedWait(headers) {
    const text = headers.get("Retry-After") ?? /;\s*t=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1];
    if (text === undefined || text === null) {
        return 0;
    }
    const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
    return Number.isFinite(wait) ? Math.max(0, wait) : 0;
}

/** @param {string} what @param {Response} response */
function failStatus(what, response) {
    const { status } = response;
    const fail = (code, text) => new NetworkError(`${what}: ${text} (${status})`, { code });
    if (status === 401 || status === 403) {
        return fail("UNAUTHORIZED", "no access, or not there; a private repository needs a token that may read it");
    }
    if (status === 404) {
        const kinds = { RepoNotFound: "no such repository", RevisionNotFound: "no such version or revision" };
        return fail("NOT_FOUND", kinds[response.headers.get("X-Error-Code")] ?? "not there");
    }
    if (status === 429) {
        return mayPass(fail("RATE_LIMITED", "too many requests"), askedWait(response.headers));
    }
    if (status === 408 || status >= 500) {
        return mayPass(fail("SERVER", "the server is in trouble"), askedWait(response.headers));
    }
    return fail("NETWORK", "the server's answer is not the file");
}

function parse(location, base) {
    try {
        return new URL(location, base);
    } catch {
        return null;
    }
}

/** Node says why a connection failed: ECONNREFUSED. A browser tells no page. */
function codeOf(error) {
    const code = error?.cause?.code;
    return typeof code === "string" ? ` (${code})` : "";
}

/** One try: its time, and what ends it. */
class Attempt {
    /** @param {string} what @param {Transfer} transfer */
    constructor(what, transfer) {
        this.what = what;
        this.transfer = transfer;
        this.controller = new AbortController();
        this.end = Date.now() + TIMEOUTS_IN_ALL * transfer.timeout;
        this.stopped = new Promise((_, reject) => { this.stop = reject; });
        this.stopped.catch(() => {});
        this.onAbort = () => this.stop(transfer.signal.reason);
        transfer.signal.addEventListener("abort", this.onAbort);
    }

    /** Waits for what the network does: no longer than the timeout, nor when the caller has enough. */
    async wait(promise) {
        this.transfer.signal.throwIfAborted();
        const left = Math.min(this.transfer.timeout, this.end - Date.now());
        const late = () => this.stop(mayPass(new NetworkError(`${this.what}: no answer in time`, { code: "TIMEOUT" })));
        const timer = setTimeout(late, Math.max(0, left));
        const failed = promise.catch((cause) => {
            throw mayPass(new NetworkError(`${this.what}: the connection failed${codeOf(cause)}`, { cause }));
        });
        try {
            return await Promise.race([failed, this.stopped]);
        } finally {
            clearTimeout(timer);
            failed.catch(() => {});
        }
    }

    /** Lets go of everything, also of a body that is not wanted. */
    close() {
        this.transfer.signal.removeEventListener("abort", this.onAbort);
        this.controller.abort();
    }

    request(url, redirect, withToken) {
        const headers = withToken ? { Authorization: `Bearer ${this.transfer.token}` } : {};
        /** @type {RequestInit} */
        const init = { redirect, headers, credentials: "omit", signal: this.controller.signal };
        return this.wait((async () => this.transfer.fetch(url.href, init))());
    }

    /** Where a redirect leads, if we may go there. */
    next(url, location) {
        const failure = (text) => new NetworkError(`${this.what}: a redirect leads ${text}`, { code: "REDIRECT" });
        const target = location ? parse(location, url) : null;
        if (!target) {
            throw failure("to no URL");
        }
        // A server elsewhere must not send us to what runs on this machine.
        if (!isSafe(target) || (isLoopback(target) && !isLoopback(url))) {
            throw failure(`to ${target.protocol}//${target.hostname}; allowed: https`);
        }
        return target;
    }

    /** The answer at the end of all redirects. The token stays where it belongs, and does not come back from elsewhere. */
    async open(start) {
        const { token, tokenOrigin } = this.transfer;
        let url = start;
        let withToken = token !== undefined && url.origin === tokenOrigin;
        for (let hops = 0; hops <= REDIRECTS; hops++) {
            let response = await this.request(url, "manual", withToken);
            if (response.type === "opaqueredirect") { // a browser shows no redirect to a page, it follows or it does not
                response = await this.request(url, "follow", withToken);
                this.next(url, response.url);
                return response;
            }
            if (![301, 302, 303, 307, 308].includes(response.status)) {
                return response;
            }
            response.body?.cancel().catch(() => {});
            url = this.next(url, response.headers.get("Location"));
            withToken = withToken && url.origin === tokenOrigin;
        }
        throw new NetworkError(`${this.what}: more than ${REDIRECTS} redirects`, { code: "REDIRECT" });
    }

    /** @param {Response} response @returns {Promise<Uint8Array>} */
    async read(response) {
        const { limit, onBytes } = this.transfer;
        const length = response.headers.get("Content-Length");
        const total = length === null || response.headers.has("Content-Encoding") ? null : Number(length);
        const tooLarge = () => new PackageError(`${this.what}: is larger than ${limit} bytes`, { code: "TOO_LARGE" });
        if (Number(length) > limit) {
            throw tooLarge();
        }
        const reader = response.body?.getReader();
        const chunks = [];
        let loaded = 0;
        onBytes(0, total);
        for (let part; reader && !(part = await this.wait(reader.read())).done;) {
            chunks.push(part.value);
            loaded += part.value.length;
            if (loaded > limit) {
                throw tooLarge();
            }
            onBytes(loaded, total !== null && loaded <= total ? total : null);
        }
        return concatenate(chunks, loaded);
    }
}

function concatenate(chunks, size) {
    const all = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
        all.set(chunk, at);
        at += chunk.length;
    }
    return all;
}

/** @param {number} milliseconds @param {AbortSignal} signal */
function sleep(milliseconds, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal.removeEventListener("abort", stop);
            resolve();
        }, milliseconds);
        signal.addEventListener("abort", stop, { once: true });
    });
}

async function downloadOnce(url, what, transfer) {
    const attempt = new Attempt(what, transfer);
    try {
        const response = await attempt.open(url);
        if (response.status !== 200) {
            throw failStatus(what, response);
        }
        return await attempt.read(response);
    } finally {
        attempt.close();
    }
}

/**
 * @param {URL} url
 * @param {string} what is fetched, for messages, which have no URL: it may hold a signature
 * @param {Transfer} transfer
 * @returns {Promise<Uint8Array>}
 */
export async function download(url, what, transfer) {
    for (let attempt = 0; ; attempt++) {
        try {
            return await downloadOnce(url, what, transfer);
        } catch (error) {
            transfer.signal.throwIfAborted();
            const wait = error instanceof RmsnormError ? transient.get(error) : undefined;
            if (wait === undefined || wait > LONGEST_WAIT || attempt >= transfer.retries) {
                throw error;
            }
            // Six files that fail together are not to come back together.
            const backoff = Math.min(LONGEST_BACKOFF, transfer.retryDelay * 2 ** attempt) * (0.5 + Math.random() / 2);
            await sleep(Math.max(wait, backoff), transfer.signal);
        }
    }
}

/** Whether an error says nothing of what was asked for: the network or the server is in trouble. */
export function isTransient(error) {
    return error instanceof NetworkError && transient.has(error);
}
