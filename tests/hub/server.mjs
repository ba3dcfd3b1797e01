// server.mjs: plays the Hugging Face Hub on 127.0.0.1, and misbehaves when it is asked to.
//
// usage: node server.mjs [--token TOKEN] [--log FILE] [--certificate FILE --key FILE] ORG/NAME=FOLDER...
// Prints its port as one line when it is ready, with a certificate its port for https as a second one, and ends when its standard
// input closes. FOLDER is that of a package, such as
// kernels/ai.onnx.RMSNormalization. Every repository has the branches main and v1 at one commit, and v2 at a later one.
//
//   GET       /api/kernels/ORG/NAME/revision/REV         {"id", "sha", "siblings": [{"rfilename"}]}
//   GET HEAD  /kernels/ORG/NAME/resolve/REV/PATH         the file
//   GET HEAD  /folder/ORG/NAME/PATH                      the file of main, as a plain web server has it
//   GET       /control/log                               a JSON list: every request so far
//   POST      /control/reset                             forgets requests and counters
//
// Both are there for models as well: /api/models/..., and /ORG/NAME/resolve/...  REV is a branch or a commit.
// faults.mjs lists what /FAULT/NAME does wrong, for every NAME that is served: /kernels/truncated/NAME/resolve/main/README.md.
//
// What the Hub does, and where it is said:
// - Kernels are a repository type of their own, under /kernels/ and /api/kernels/; models have no prefix. Kernels of type model
//   were removed in September 2026. [huggingface_hub: constants.py, REPO_TYPES_URL_PREFIXES; huggingface/kernels: issue 757]
// - A version is a branch, v1, v2: get_kernel takes a version or a revision. [https://huggingface.co/docs/kernels]
// - X-Repo-Commit is the commit of an answer. The ETag is quoted; X-Linked-ETag and X-Linked-Size are those of what a redirect
//   leads to: a file in LFS is answered by a 302 to another host. [huggingface_hub: file_download.py, get_hf_file_metadata]
// - A redirect may be relative, after a repository was renamed or to /api/resolve-cache/. [the same, _request_wrapper]
// - 404 has X-Error-Code RepoNotFound, RevisionNotFound or EntryNotFound; a repository that is private, or is not there, is a
//   401 for who has no token; 403 GatedRepo. [huggingface_hub: utils/_http.py, hf_raise_for_status]
// - 429 comes with RateLimit: "resolvers";r=0;t=SECONDS. [https://huggingface.co/docs/hub/rate-limits]
// - X-Repo-Commit, X-Error-Code, X-Linked-ETag and X-Linked-Size are exposed to browsers of any origin.
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { pathToFileURL } from "node:url";

import { answerApi, answerFile, filesOf, hang, isFault } from "./faults.mjs";
import { blobId, hash, openRepository } from "./repository.mjs";
import { send, sendError, sendFile } from "./respond.mjs";

const ROUTES = [
    { kind: "api", pattern: /^\/api\/(?:models|kernels)\/([^/]+)\/([^/]+)(?:\/revision\/([^/]+))?$/ },
    { kind: "file", pattern: /^\/api\/resolve-cache\/(?:models|kernels)\/([^/]+)\/([^/]+)\/([^/]+)\/(.+)$/, direct: true },
    { kind: "file", pattern: /^\/(?:kernels\/)?([^/]+)\/([^/]+)\/resolve\/([^/]+)\/(.+)$/ },
    { kind: "folder", pattern: /^\/(folder)\/([^/]+)\/([^/]+)\/(.+)$/ },
];

/** @returns {{kind: string, direct?: boolean, org: string, name: string, revision: string, path?: string} | null} */
function route(path) {
    for (const { kind, pattern, direct } of ROUTES) {
        const match = pattern.exec(path);
        if (match && kind === "folder") {
            return { kind, org: match[2], name: match[3], revision: "main", path: match[4] };
        }
        if (match) {
            return { kind, direct, org: match[1], name: match[2], revision: match[3] ?? "main", path: match[4] };
        }
    }
    return null;
}

class Hub {
    constructor({ repositories, token = "hub-test-token", log }) {
        this.token = token;
        this.logFile = log;
        this.served = new Map(); // ORG/NAME
        this.names = new Map(); // NAME: of a fault
        for (const [id, folder] of Object.entries(repositories)) {
            const repository = openRepository(folder);
            this.served.set(id, repository);
            this.names.set(id.split("/")[1], { id, repository });
        }
        this.objects = new Map(); // by sha256: what LFS has
        for (const files of [...this.served.values()].flatMap((repository) => [...repository.commits.values()])) {
            files.forEach((data) => this.objects.set(hash("sha256", data).toString("hex"), data));
        }
        this.reset();
    }

    reset() {
        this.requests = [];
        this.counts = new Map();
    }

    /** How often this URL was asked before. */
    countOf(request) {
        const key = `${request.method} ${request.url}`;
        const count = this.counts.get(key) ?? 0;
        this.counts.set(key, count + 1);
        return count;
    }

    record(request, response) {
        const entry = { method: request.method, url: request.url, host: request.headers.host, status: 0 };
        entry.authorization = request.headers.authorization ?? null;
        this.requests.push(entry);
        response.on("close", () => {
            entry.status = response.headersSent ? response.statusCode : 0;
            if (this.logFile) {
                appendFileSync(this.logFile, `${JSON.stringify(entry)}\n`);
            }
        });
    }

    handle(request, response) {
        const path = decodeURIComponent(new URL(request.url, "http://localhost/").pathname);
        if (path.startsWith("/control/")) {
            this.control(path, response);
            return;
        }
        this.record(request, response);
        if (request.method === "OPTIONS") {
            send(response, 204);
        } else if (request.method !== "GET" && request.method !== "HEAD") {
            send(response, 405, { Allow: "GET, HEAD" });
        } else if (path.startsWith("/cdn/")) {
            this.sendObject(response, path.slice(5));
        } else {
            this.sendRepository(response, route(path));
        }
    }

    control(path, response) {
        if (path === "/control/reset") {
            this.reset();
        }
        send(response, 200, { "Content-Type": "application/json" }, JSON.stringify(this.requests));
    }

    sendObject(response, sha256) {
        const data = this.objects.get(sha256);
        if (data) {
            sendFile(response, data, { ETag: `"${sha256}"` });
        } else {
            send(response, 403);
        }
    }

    sendRepository(response, asked) {
        const own = asked && this.served.get(`${asked.org}/${asked.name}`);
        const named = asked && !own && isFault(asked.org) ? this.names.get(asked.name) : null;
        const repository = own ?? named?.repository;
        if (!repository) {
            sendError(response, 404, "RepoNotFound", "Repository not found");
            return;
        }
        const call = { hub: this, ...asked, repository, fault: own ? "" : asked.org, realId: named?.id };
        call.count = this.countOf(response.req);
        if (call.fault === "private" && response.req.headers.authorization !== `Bearer ${this.token}`) {
            sendError(response, 401, "RepoNotFound", "Invalid username or password.");
        } else if (call.fault === "gated") {
            sendError(response, 403, "GatedRepo", "Access to this repository is restricted.");
        } else if (call.fault === "dead") {
            hang(response);
        } else {
            this.sendRevision(response, call);
        }
    }

    sendRevision(response, call) {
        const commit = call.repository.branches.get(call.revision) ?? call.revision;
        if (!call.repository.commits.has(commit)) {
            sendError(response, 404, "RevisionNotFound", `Invalid rev id: ${call.revision}`);
            return;
        }
        call.commit = commit;
        call.files = filesOf(call);
        if (call.kind === "api") {
            this.sendApi(response, call);
            return;
        }
        const data = call.files.get(call.path);
        if (!data || call.fault === "no-files") {
            sendError(response, 404, "EntryNotFound", "Entry not found");
            return;
        }
        const headers = { "X-Repo-Commit": call.commit, ETag: `"${blobId(data)}"` };
        if (!answerFile(response, call, data, headers)) {
            sendFile(response, data, headers);
        }
    }

    sendApi(response, call) {
        const siblings = [...call.files.keys()].sort().map((rfilename) => ({ rfilename }));
        const answer = { id: `${call.org}/${call.name}`, sha: call.commit, private: call.fault === "private", siblings };
        if (!answerApi(response, call, answer)) {
            send(response, 200, { "Content-Type": "application/json" }, JSON.stringify(answer));
        }
    }
}

async function listen(server) {
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server.address().port;
}

function close(server) {
    return new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
    });
}

/**
 * With a certificate and its key (files) the same answers are there by https as well.
 * @param {{repositories: {[id: string]: string}, token?: string, log?: string, certificate?: string, key?: string}} options
 * @returns {Promise<{port: number, securePort?: number, endpoint: string, hub: Hub, close: () => Promise<void>}>}
 */
export async function startHub(options) {
    const hub = new Hub(options);
    const answer = (request, response) => {
        try {
            hub.handle(request, response);
        } catch { // a URL that is none
            send(response, 400);
        }
    };
    const servers = [createServer(answer)];
    if (options.certificate) {
        const files = { cert: readFileSync(options.certificate), key: readFileSync(options.key) };
        servers.push(createSecureServer(files, answer));
    }
    const [port, securePort] = await Promise.all(servers.map(listen));
    hub.port = port;
    return { port, securePort, endpoint: `http://127.0.0.1:${port}`, hub, close: () => Promise.all(servers.map(close)) };
}

function parseArguments(texts) {
    const options = { repositories: {} };
    for (let i = 0; i < texts.length; i++) {
        const [id, folder] = texts[i].split(/=(.*)/);
        if (/^--(token|log|certificate|key)$/.test(texts[i])) {
            options[texts[i].slice(2)] = texts[++i];
        } else if (/^[^/]+\/[^/]+$/.test(id) && folder) {
            options.repositories[id] = folder;
        } else {
            throw new Error(`usage: node server.mjs [--token TOKEN] [--log FILE] [--certificate FILE --key FILE] ORG/NAME=FOLDER...; got ${texts[i]}`);
        }
    }
    return options;
}

async function main() {
    const { port, securePort } = await startHub(parseArguments(process.argv.slice(2)));
    process.stdout.write(securePort ? `${port}\n${securePort}\n` : `${port}\n`);
    process.stdin.on("close", () => process.exit(0)).on("end", () => process.exit(0)).resume();
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
    await main();
}
