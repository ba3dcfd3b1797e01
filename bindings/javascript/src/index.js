// index.js: getKernel, and the classes of what it throws and returns.
import { embeddedFiles, embeddedNames, embeddedVersion } from "./embedded.js";
import { RequestError } from "./errors.js";
import { readFolder } from "./folder.js";
import { fetchPackage, verifyPackage } from "./hub.js";
import { openContext } from "./device.js";
import { ContractOnly, Kernel } from "./kernel.js";
import { Package, startPlanner } from "./planner.js";

export * from "./errors.js";
export { Tensor } from "./tensor.js";

/** Whose repositories are those that are embedded. */
const ORGANIZATION = "webgpu-kernels/";

/** @param {string | URL} source */
function isFolder(source) {
    return String(source).startsWith("file:") || (typeof source === "string" && /^(\.|[/\\]|[A-Za-z]:[/\\])/.test(source));
}

/** @param {string | URL} source @param {Record<string, any>} options */
function checkOptions(source, options) {
    const { version, revision } = options;
    const isRepository = !isFolder(source) && !String(source).includes("://");
    if (version !== undefined && revision !== undefined) {
        throw new RequestError("version and revision exclude each other: give one");
    }
    if (isRepository && version === undefined && revision === undefined) {
        throw new RequestError(
            `${source}: give { version }, that of the contract, or { revision }, a commit: which package you get must not ` +
                "change by itself",
        );
    }
    if (!isRepository && (version !== undefined || revision !== undefined)) {
        throw new RequestError("a folder has no versions; version and revision are for repositories");
    }
}

/** @returns {Promise<Map<string, Uint8Array>>} verified */
async function findFiles(source, options) {
    checkOptions(source, options);
    if (isFolder(source)) {
        const files = await readFolder(source);
        await verifyPackage(files);
        return files;
    }
    if (typeof source === "string" && source.startsWith(ORGANIZATION) && !options.hub && options.endpoint === undefined) {
        const name = source.slice(ORGANIZATION.length);
        if (options.version !== undefined && embeddedVersion(name) === options.version) {
            return embeddedFiles(name);
        }
    }
    return (await fetchPackage(source, options)).files;
}

/** @param {import("./planner.js").Contract} contract */
function insteadOf({ name }) {
    return embeddedNames.includes(name)
        ? `: getKernel("${ORGANIZATION}${name}", { version: ${embeddedVersion(name)} })`
        : "";
}

/**
 * @param {string | URL} source ORGANIZATION/NAME on the Hub, the URL of a package's folder, or (Node) a folder
 * @param {Record<string, any>} [options]
 */
export async function getKernel(source, options = {}) {
    options.signal?.throwIfAborted();
    const [files] = await Promise.all([findFiles(source, options), startPlanner()]);
    const opened = new Package(files);
    let made;
    try {
        made = opened.contract.plans
            ? new Kernel(opened, await openContext(options.device))
            : new ContractOnly(opened, insteadOf(opened.contract));
        options.signal?.throwIfAborted();
    } catch (error) {
        made ? made.dispose() : opened.close();
        throw error;
    }
    const kernel = (inputs, runOptions) => made.run(inputs, runOptions);
    return Object.assign(kernel, {
        contract: made.contract,
        device: made.device,
        plan: (inputs, runOptions) => made.plan(inputs, runOptions),
        upload: (operand) => made.upload(operand),
        dispose: () => made.dispose(),
    });
}
