// assemble.mjs: puts the npm package together: what is in the source tree, the planner in WebAssembly, and the kernel packages that
// need no network. The demo page lies beside them and is not in what `npm pack` makes.
//
// usage: node assemble.mjs ROOT PLANNER VERSION PACKAGE BILL_OF_MATERIALS JANSSON_LICENSE
//
// The planner is text, in base64, and so are the packages: then no bundler, server or policy has to know more than JavaScript.
import fs from "node:fs";
import path from "node:path";

const [root, planner, version, target, sbom, jansson] = process.argv.slice(2);
const source = path.join(root, "bindings/javascript");

fs.rmSync(target, { recursive: true, force: true });
fs.mkdirSync(target, { recursive: true });
for (const name of ["src", "docs", "demo", "index.d.ts", "README.md"]) {
    fs.cpSync(path.join(source, name), path.join(target, name), { recursive: true });
}
fs.copyFileSync(path.join(root, "LICENSE"), path.join(target, "LICENSE"));
fs.copyFileSync(jansson, path.join(target, "LICENSE.jansson"));
fs.copyFileSync(sbom, path.join(target, path.basename(sbom)));

fs.writeFileSync(
    path.join(target, "src/planner.wasm.js"),
    `// Made by assemble.mjs: planner.wasm.\nexport default "${fs.readFileSync(planner).toString("base64")}";\n`,
);

// Packages share most of their templates: each text is written once.
const texts = [];
const packages = {};
for (const name of fs.readdirSync(path.join(root, "kernels")).sort()) {
    const folder = path.join(root, "kernels", name, "build/webgpu");
    if (!fs.existsSync(path.join(folder, "metadata.json"))) {
        continue;
    }
    packages[name] = {};
    for (const file of fs.readdirSync(folder).sort()) {
        if (file !== "test.json" && file !== "bench.json") {
            const text = fs.readFileSync(path.join(folder, file), "utf8");
            packages[name][file] = texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1;
        }
    }
}
fs.writeFileSync(
    path.join(target, "src/embedded-files.js"),
    "// Made by assemble.mjs: the files of kernels/ that a plan needs; by package and name the place in the list of texts.\n" +
        `export const texts = ${JSON.stringify(texts, null, 1)};\n` +
        `export const packages = ${JSON.stringify(packages, null, 1)};\n`,
);

const description = JSON.parse(fs.readFileSync(path.join(source, "package.json"), "utf8"));
description.version = version;
fs.writeFileSync(path.join(target, "package.json"), `${JSON.stringify(description, null, 4)}\n`);
