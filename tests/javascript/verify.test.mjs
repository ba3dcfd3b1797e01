// verify.test.mjs: verifyPackage, on files that no network brought.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { DigestError, PackageError } from "../../bindings/javascript/src/errors.js";
import { verifyPackage } from "../../bindings/javascript/src/hub.js";

const KERNELS = new URL("../../kernels/", import.meta.url);
const encode = (text) => new TextEncoder().encode(text);

function readPackage(name) {
    const folder = new URL(`${name}/build/webgpu/`, KERNELS);
    return new Map(readdirSync(folder).map((file) => [file, new Uint8Array(readFileSync(new URL(file, folder)))]));
}

/** A package whose metadata.json is edited, as an object or as text. */
function edited(edit) {
    const files = readPackage("ai.onnx.RMSNormalization");
    const text = new TextDecoder().decode(files.get("metadata.json"));
    const metadata = JSON.parse(text);
    const replaced = edit(metadata, text);
    return files.set("metadata.json", encode(typeof replaced === "string" ? replaced : JSON.stringify(metadata)));
}

async function refused(files, kind, pattern) {
    await assert.rejects(verifyPackage(files), (error) => {
        assert.equal(error.constructor, kind, error.stack);
        assert.match(error.message, pattern);
        return true;
    });
}

test("our own packages are right", async () => {
    for (const name of readdirSync(KERNELS)) {
        assert.equal((await verifyPackage(readPackage(name))).name, name);
    }
});

test("every file is needed, every bit counts, and no other file may be there", async () => {
    for (const name of readPackage("ai.onnx.RMSNormalization").keys()) {
        const missing = readPackage("ai.onnx.RMSNormalization");
        missing.delete(name);
        await refused(missing, PackageError, new RegExp(`^${name}.* missing$`));
        if (name !== "metadata.json") {
            const changed = readPackage("ai.onnx.RMSNormalization");
            changed.get(name)[7] ^= 1;
            await refused(changed, DigestError, new RegExp(`^${name} is not the file`));
        }
    }
    await refused(edited(() => {}).set("x\n.wgsl", encode("x")), PackageError, /^"x\\n\.wgsl" is not listed/);
});

test("the id is that of the digests", async () => {
    await refused(edited((metadata) => { metadata.id = metadata.id.replace(/.$/, "g"); }), DigestError, /id does not fit/);
    await refused(edited((metadata) => { delete metadata.id; }), DigestError, /id does not fit/);
    const swap = ({ digest: { files } }) => {
        [files["row.wgsl.jinja"], files["sums.wgsl.jinja"]] = [files["sums.wgsl.jinja"], files["row.wgsl.jinja"]];
    };
    const files = edited(swap);
    const row = files.get("row.wgsl.jinja");
    files.set("row.wgsl.jinja", files.get("sums.wgsl.jinja")).set("sums.wgsl.jinja", row);
    await refused(files, DigestError, /id does not fit/);
});

test("metadata.json that is none", async () => {
    const digest = "A".repeat(43);
    for (const text of ["", "{", "[]", "null", "5", '"x"', "{}", '{"digest": []}', '{"digest": {"algorithm": "md5", "files": {}}}',
                        '{"digest": {"algorithm": "sha256", "files": []}}', "[".repeat(100_000) + "]".repeat(100_000),
                        `{"digest": {"algorithm": "sha256", "files": {"a": 1}}}`,
                        `{"digest": {"algorithm": "sha256", "files": {"a": "${digest}"}}}`,
                        `{"digest": {"algorithm": "sha256", "files": {"a": "${digest}=="}}}`]) {
        await refused(edited(() => text || " "), PackageError, /^metadata\.json: /);
    }
    const notUtf8 = edited(() => {});
    notUtf8.get("metadata.json")[3] = 0xff;
    await refused(notUtf8, PackageError, /is no JSON/);
});

test("more files than a package has", async () => {
    const many = edited(({ digest }) => {
        for (let i = 0; i < 256; i++) {
            digest.files[`f${i}`] = `${"A".repeat(43)}=`;
        }
    });
    await refused(many, PackageError, /at most 256/);
});

test("a key that is there twice, whatever its spelling", async () => {
    for (const twice of ['"id": "x",', '"i\\u0064": "x",', '"license": "\\"", "license": "x",']) {
        await refused(edited((_, text) => text.replace("{", `{${twice}`)), PackageError, /a key twice/);
    }
    const quotes = edited((metadata) => { metadata.license = '\\"\\\\"'; });
    assert.equal((await verifyPackage(quotes)).license, '\\"\\\\"');
});
