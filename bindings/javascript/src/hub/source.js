// source.js: where a package is: checks what the caller says, and makes addresses of it.
import { RequestError } from "../errors.js";

const HUB = "https://huggingface.co";
const PACKAGE_FOLDER = "build/webgpu/";
const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}\/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const COMMIT = /^[0-9a-f]{40}$/;
/** Repositories are of a type, and it is in their addresses; kernels moved from "model" to a type of their own. */
export const PREFIXES = { kernel: "kernels/", model: "" };

export const isCommit = (text) => typeof text === "string" && COMMIT.test(text);

/** @param {URL} url */
export function isLoopback(url) {
    const host = url.hostname;
    return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

/** Nothing is fetched over a line that others can change, except on this machine. */
export function isSafe(url) {
    return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url));
}

/** @param {string | URL} address @param {string} what of it, for messages: the address itself may hold a secret */
function parseAddress(address, what) {
    let url;
    try {
        url = new URL(address);
    } catch {
        throw new RequestError(`${what} is no URL`);
    }
    if (url.username || url.password || url.search || url.hash) {
        throw new RequestError(`${what} has a user, a query or a fragment; allowed: a plain URL, and the option token`);
    }
    if (!isSafe(url)) {
        throw new RequestError(`${what} is of ${url.protocol}//; allowed: https, and http on this machine`);
    }
    if (!url.pathname.endsWith("/")) {
        url.pathname += "/";
    }
    return url;
}

/** @returns {string} the revision to ask for: v1, or a commit */
function parseRevision(options) {
    const { version, revision } = options;
    if ((version === undefined) === (revision === undefined)) {
        throw new RequestError("a repository needs the option version or the option revision, and not both");
    }
    if (revision !== undefined && !isCommit(revision)) {
        throw new RequestError("revision is no commit; allowed: all its 40 hexadecimal digits, in lower case");
    }
    return revision ?? `v${version}`;
}

/**
 * @typedef {object} Place
 * @property {string} name for messages
 * @property {string | null} revision null: a plain folder, which has no commits
 * @property {string | undefined} token
 * @property {string} tokenOrigin the one place that the token may go to
 * @property {URL | null} api that tells the commit of the revision
 * @property {(commit: string | null) => URL[]} folders where metadata.json may be, in order
 * @property {((commit: string) => string) | null} key begins the cache's keys; null: not to be cached
 */

/**
 * @param {string | URL} source ORG/NAME, or the URL of a package's folder
 * @param {object} options
 * @returns {Place}
 */
export function parseSource(source, options) {
    const endpoint = parseAddress(options.endpoint ?? HUB, "endpoint");
    const common = { token: options.token, tokenOrigin: endpoint.origin };
    if (typeof source === "string" && REPOSITORY.test(source)) {
        return { ...common, ...repositoryPlace(source, endpoint, options) };
    }
    if (!(source instanceof URL) && !String(source).includes("://")) {
        throw new RequestError("the source is neither ORGANIZATION/NAME nor the URL of a folder");
    }
    if (options.version !== undefined || options.revision !== undefined) {
        throw new RequestError("a folder has no versions; version and revision are for repositories");
    }
    const folder = parseAddress(source, "the source");
    const folders = () => [new URL(PACKAGE_FOLDER, folder), folder];
    return { ...common, name: folder.origin + folder.pathname, revision: null, api: null, folders, key: null };
}

function repositoryPlace(id, endpoint, options) {
    const type = options.repositoryType ?? "kernel";
    const revision = parseRevision(options);
    const host = encodeURIComponent(endpoint.host + endpoint.pathname.slice(0, -1));
    return {
        name: `${type} ${id}`, // a repository of another type is "not there"
        revision,
        api: new URL(`api/${type}s/${id}/revision/${revision}`, endpoint),
        folders: (commit) => [new URL(`${PREFIXES[type]}${id}/resolve/${commit}/${PACKAGE_FOLDER}`, endpoint)],
        key: (commit) => `${host}/${type}s/${id}/${commit}`,
    };
}
