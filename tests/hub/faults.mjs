// faults.mjs: what the mock Hub does wrong. The organization of a repository's id is the fault: /kernels/truncated/NAME/...
//
// private          401 without the token                    gated            403
// dead             takes the request, never answers         no-files         404 EntryNotFound for every file
// lfs              302 to /cdn/, with X-Linked-*            resolve-cache    307, relative, to /api/resolve-cache/
// renamed          307, relative, to the real repository    redirect-loop    302 to itself
// other-host       302 to localhost, where the files are    insecure         302 to a host without https
// file-url         302 to file:                             no-location      302 without a Location
// wrong-digest     manifest.json with one byte changed      not-json         metadata.json and the API are an HTML page
// truncated        half of the body, then the end           reset            half of the body, then a reset
// stall            half of the body, then nothing           slow             a tenth of the body every 20 ms
// endless          a body without an end                    huge-length      says that it has 16 GiB
// short-length     Content-Length is less than the body     gzip             gzip, asked for or not
// gzip-bomb        64 MiB of zeros in gzip                  moving           v1 is at another commit at every call
// bad-sha          the commit is "../../main"               no-sha           the answer of the API has none
// ignore-range     a range is answered by the whole file    wrong-version    every package is of version 7
// redirects-N      N redirects before each file
// 429-N-S, 500-N, 503-N   the first N requests of each URL (default: all); 429 with Retry-After: S (default 1)
// reset-N, truncated-N, dead-N   the fault on the first N requests of each file's URL
// hostile-N        HOSTILE[N] among the files of metadata.json and of the API; hostile-twice: a name that is there twice
import { gzipSync } from "node:zlib";

import { editMetadata, hash } from "./repository.mjs";
import { HEADERS, send, sendFile } from "./respond.mjs";

/** Names that no client may take for a file of a package. */
export const HOSTILE = [
    "../x", "/etc/passwd", "..\\x", "a/../../x", "x".repeat(300), "a\0b", "", ".", "..", ".hidden", "a b", "C:x", "a\nb",
    "%2e%2e%2fx", "metadata.json", "\u202ex", "__proto__/x", "CON:", "a?b", "a#b",
];

const FAULTS = new Set(
    `private gated dead no-files lfs resolve-cache renamed redirect-loop other-host insecure file-url no-location wrong-digest
    not-json truncated reset stall slow endless huge-length short-length gzip gzip-bomb moving bad-sha no-sha ignore-range
    wrong-version redirects 429 500 503 hostile`.split(/\s+/),
);

/** "429-2-1" is the fault 429 with the numbers 2 and 1. */
function split(fault) {
    const match = /^(.+?)((?:-(?:\d+|twice))*)$/.exec(fault);
    return { name: match?.[1] ?? "", numbers: (match?.[2] ?? "").split("-").slice(1) };
}

/** Whether an organization is a fault. */
export function isFault(org) {
    return FAULTS.has(split(org).name);
}

/** The files of a call's commit, and what a fault makes of them. */
export function filesOf(call) {
    const { name, numbers } = split(call.fault);
    const files = call.repository.commits.get(call.commit);
    if (name === "hostile" && numbers[0] === "twice") {
        const metadata = files.get("build/webgpu/metadata.json").toString(); // as text: an object has no key twice
        const digest = hash("sha256", "x").toString("base64");
        const twice = metadata.replace('"files": {', `"files": {"manif\\u0065st.json": "${digest}",`);
        return new Map(files).set("build/webgpu/metadata.json", Buffer.from(twice));
    }
    if (name === "moving" || name === "wrong-version") {
        return editMetadata(files, (metadata) => { metadata.version = name === "moving" ? 1 : 7; });
    }
    if (name === "hostile") {
        const hostile = HOSTILE[numbers[0]];
        const listed = editMetadata(files, (_, digests) => { digests[hostile] = hash("sha256", "x").toString("base64"); });
        return hostile === "metadata.json" ? listed : listed.set(`build/webgpu/${hostile}`, Buffer.from("x"));
    }
    return files;
}

/** Never answers; the connection stays. */
export function hang(response) {
    response.socket.setTimeout(0);
}

function redirect(response, status, location, headers = {}) {
    send(response, status, { ...headers, ...(location ? { Location: location } : {}) });
    return true;
}

/** Sends the first part of a body with the headers of all of it, then calls next. */
function sendPart(response, data, headers, part, next) {
    response.writeHead(200, { ...HEADERS, "Content-Length": data.length, ...headers });
    response.write(data.subarray(0, part), () => setTimeout(next, 20)); // after what was sent, not before it
    return true;
}

function sendSlowly(response, data, headers) {
    response.writeHead(200, { ...HEADERS, "Content-Length": data.length, ...headers });
    const step = Math.ceil(data.length / 10);
    let at = 0;
    const timer = setInterval(() => {
        response.write(data.subarray(at, (at += step)));
        if (at >= data.length) {
            clearInterval(timer);
            response.end();
        }
    }, 20);
    response.on("close", () => clearInterval(timer));
    return true;
}

function sendEndless(response, headers) {
    response.writeHead(200, { ...HEADERS, ...headers });
    const chunk = Buffer.alloc(1 << 16, 0x20);
    const more = () => {
        while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
    return true;
}

/** Past what a Content-Length says, by the socket itself: Node would not. */
function sendTooMuch(response, data, headers) {
    const lines = Object.entries({ "Content-Length": data.length >> 1, ...headers }).map(([name, value]) => `${name}: ${value}`);
    response.socket.write(`HTTP/1.1 200 OK\r\n${lines.join("\r\n")}\r\n\r\n`);
    response.socket.end(data);
    return true;
}

function sendGzip(response, data, headers) {
    const packed = gzipSync(data);
    response.writeHead(200, { ...headers, "Content-Encoding": "gzip", "Content-Length": packed.length });
    response.end(packed);
    return true;
}

function sendRedirects(response, count) {
    const [path, hop] = response.req.url.split("?hop=");
    const next = Number(hop ?? 0) + 1;
    return next <= count && redirect(response, 302, `${path}?hop=${next}`);
}

function sendRedirect(name, response, call, data, headers) {
    const sha256 = hash("sha256", data).toString("hex");
    const linked = { ...headers, "X-Linked-ETag": `"${sha256}"`, "X-Linked-Size": data.length };
    const own = response.req.url;
    switch (name) {
    case "lfs":
        return redirect(response, 302, `http://127.0.0.1:${call.hub.port}/cdn/${sha256}?Signature=x`, linked);
    case "other-host":
        return redirect(response, 302, `http://localhost:${call.hub.port}/cdn/${sha256}`, linked);
    case "resolve-cache":
        return redirect(response, 307, own.replace(/^\/(kernels\/)?([^/]+\/[^/]+)\/resolve\/[^/]+/, (_, kernels, id) =>
            `/api/resolve-cache/${kernels ? "kernels" : "models"}/${id}/${call.commit}`), headers);
    case "renamed":
        return redirect(response, 307, own.replace(`${call.org}/${call.name}`, call.realId));
    case "redirect-loop":
        return redirect(response, 302, own);
    case "insecure":
        return redirect(response, 302, `http://hub.invalid/${own.slice(1)}`);
    case "file-url":
        return redirect(response, 302, "file:///etc/passwd");
    case "no-location":
        return redirect(response, 302, "");
    default:
        return false;
    }
}

function sendBroken(name, response, call, data, headers) {
    const half = data.length >> 1;
    if (response.req.method === "HEAD" && name !== "dead" && name !== "not-json") {
        return false; // there is no body to break
    }
    switch (name) {
    case "dead":
        return hang(response), true;
    case "truncated":
        return sendPart(response, data, headers, half, () => response.socket?.end());
    case "reset":
        return sendPart(response, data, headers, half, () => response.socket?.resetAndDestroy());
    case "stall":
        return sendPart(response, data, headers, half, () => {});
    case "slow":
        return sendSlowly(response, data, headers);
    case "endless":
        return sendEndless(response, headers);
    case "huge-length":
        return sendPart(response, data, { ...headers, "Content-Length": 2 ** 34 }, half, () => {});
    case "short-length":
        return sendTooMuch(response, data, headers);
    case "gzip":
        return sendGzip(response, data, headers);
    case "gzip-bomb":
        return sendGzip(response, Buffer.alloc(1 << 26), headers);
    case "wrong-digest":
        return call.path.endsWith("/manifest.json") && (sendFile(response, changed(data), headers), true);
    case "not-json":
        return call.path.endsWith("/metadata.json") && sendPage(response);
    case "ignore-range":
        return send(response, 200, headers, data), true;
    default:
        return false;
    }
}

function changed(data) {
    const copy = Buffer.from(data);
    copy[copy.length >> 1] ^= 1;
    return copy;
}

function sendPage(response) {
    send(response, 200, { "Content-Type": "text/html" }, "<!doctype html><title>Sign in to the network</title>");
    return true;
}

/** 429, 500, 503: whether it answered. */
function sendRefusal(name, numbers, response) {
    const seconds = numbers[1] ?? "1";
    if (name === "429") {
        send(response, 429, { "Retry-After": seconds, RateLimit: `"resolvers";r=0;t=${seconds}` }, "Too Many Requests");
    } else if (name === "500" || name === "503") {
        send(response, Number(name), {}, "Internal Server Error");
    } else {
        return false;
    }
    return true;
}

function isOver(numbers, count) {
    return numbers.length > 0 && count >= Number(numbers[0]);
}

/** Answers a request of a file if the fault says so. */
export function answerFile(response, call, data, headers) {
    const { name, numbers } = split(call.fault);
    if (name === "redirects") {
        return sendRedirects(response, Number(numbers[0]));
    }
    if (isOver(numbers, call.count)) {
        return false;
    }
    return sendRefusal(name, numbers, response) || (!call.direct && sendRedirect(name, response, call, data, headers)) ||
        sendBroken(name, response, call, data, headers);
}

/** Answers a request of the API if the fault says so; may change the answer instead. */
export function answerApi(response, call, answer) {
    const { name, numbers } = split(call.fault);
    if (name === "moving" && call.repository.branches.has(call.revision)) {
        answer.sha = call.count % 2 ? call.repository.second : call.repository.first;
    } else if (name === "bad-sha") {
        answer.sha = "../../main";
    } else if (name === "no-sha") {
        delete answer.sha;
    } else if (name === "not-json") {
        return sendPage(response);
    } else if (name === "hostile" && numbers[0] === "twice") {
        answer.siblings.push(answer.siblings[0]);
    }
    return !isOver(numbers, call.count) && sendRefusal(name, numbers, response);
}
