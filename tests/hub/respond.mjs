// respond.mjs: whole answers of the mock Hub: files and ranges of them, errors with their codes.

/** Every answer has them: pages of any origin may read the Hub. */
export const HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Range",
    "Access-Control-Expose-Headers": "X-Repo-Commit, X-Error-Code, X-Linked-ETag, X-Linked-Size, ETag, Retry-After",
};

/** @param {import("node:http").ServerResponse} response */
export function send(response, status, headers = {}, body = "") {
    const data = Buffer.from(body);
    response.writeHead(status, { ...HEADERS, "Content-Length": data.length, ...headers });
    response.end(response.req.method === "HEAD" ? undefined : data);
}

export function sendError(response, status, code, message) {
    const headers = { "X-Error-Code": code, "X-Error-Message": message, "Content-Type": "application/json" };
    send(response, status, headers, JSON.stringify({ error: message }));
}

/** bytes=FIRST-LAST, bytes=FIRST- or bytes=-LENGTH; null without one, undefined when the file has no such bytes. */
function parseRange(text, size) {
    const match = /^bytes=(\d*)-(\d*)$/.exec(text ?? "");
    if (!match || (!match[1] && !match[2])) {
        return null;
    }
    const first = match[1] ? Number(match[1]) : Math.max(0, size - Number(match[2]));
    const last = match[1] && match[2] ? Math.min(Number(match[2]), size - 1) : size - 1;
    return first <= last ? { first, last } : undefined;
}

/** A whole file, or the range that is asked for. */
export function sendFile(response, data, headers) {
    const range = parseRange(response.req.headers.range, data.length);
    const all = { "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", ...headers };
    if (range === undefined) {
        send(response, 416, { ...all, "Content-Range": `bytes */${data.length}` });
    } else if (range === null) {
        send(response, 200, all, data);
    } else {
        const part = data.subarray(range.first, range.last + 1);
        send(response, 206, { ...all, "Content-Range": `bytes ${range.first}-${range.last}/${data.length}` }, part);
    }
}
