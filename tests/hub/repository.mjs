// repository.mjs: what the repositories of the mock Hub hold: files of a folder, at two commits and three branches.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = "build/webgpu/";

/** @param {string} algorithm @param {...(string | Uint8Array)} parts */
export function hash(algorithm, ...parts) {
    const sum = createHash(algorithm);
    for (const part of parts) {
        sum.update(part);
    }
    return sum.digest();
}

/** Git's own name of a file's content: what the Hub has for an ETag where a file is not in LFS. */
export function blobId(data) {
    return hash("sha1", `blob ${data.length}\0`, data).toString("hex");
}

function readFolder(folder) {
    const files = new Map();
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) {
            const path = join(entry.path, entry.name);
            files.set(path.slice(folder.length).replaceAll("\\", "/").replace(/^\/+/, ""), readFileSync(path));
        }
    }
    return files;
}

/** The package's id follows from its files: docs/packages.md. */
function packageId(name, digests) {
    const sum = createHash("sha256");
    for (const file of Object.keys(digests).sort()) {
        sum.update(`${file}\0`).update(Buffer.from(digests[file], "base64"));
    }
    return `_${name.toLowerCase().replaceAll(".", "_")}_webgpu_${sum.digest("hex").slice(0, 7)}`;
}

/** The files with metadata.json changed by edit(metadata, digests). */
export function editMetadata(files, edit) {
    const edited = new Map(files);
    const metadata = JSON.parse(files.get(`${PACKAGE}metadata.json`).toString());
    edit(metadata, metadata.digest.files);
    edited.set(`${PACKAGE}metadata.json`, Buffer.from(`${JSON.stringify(metadata, null, 2)}\n`));
    return edited;
}

/** A later state of the same package, of version 2: one more line in its manifest, and digests and id that fit. */
function laterFiles(files) {
    const manifest = Buffer.concat([files.get(`${PACKAGE}manifest.json`), Buffer.from("\n")]);
    const later = editMetadata(files, (metadata, digests) => {
        digests["manifest.json"] = hash("sha256", manifest).toString("base64");
        metadata.id = packageId(metadata.name, digests);
        metadata.version = 2;
    });
    return later.set(`${PACKAGE}manifest.json`, manifest);
}

function commitOf(files) {
    const parts = [...files].sort().flatMap(([path, data]) => [path, hash("sha256", data)]);
    return hash("sha1", ...parts).toString("hex");
}

/**
 * A repository with the files of a folder. main and v1 are at its commit, v2 is at a later one; that no other branch exists
 * is what clients have to be told.
 * @param {string} folder of a package, with README.md and build/webgpu/
 */
export function openRepository(folder) {
    const files = readFolder(folder.replace(/[/\\]+$/, ""));
    const later = laterFiles(files);
    const commits = new Map([[commitOf(files), files], [commitOf(later), later]]);
    const [first, second] = commits.keys();
    return { commits, branches: new Map([["main", first], ["v1", first], ["v2", second]]), first, second };
}
