// index.js: getKernel, and the classes of what it throws and returns.
import { embeddedFiles, embeddedNames, embeddedVersion } from "./embedded.js";
import { NetworkError, PackageError, RequestError, abortedBy, guard } from "./errors.js";
import { readFolder } from "./folder.js";
import { FETCH_OPTIONS, fetchPackage, verifyPackage } from "./hub.js";
import { openContext } from "./device.js";
import { ContractOnly, Kernel } from "./kernel.js";
import { flag, gpuDevice, readOptions } from "./options.js";
import { Package, startPlanner } from "./planner.js";
import { waitFor } from "./wait.js";

export * from "./errors.js";
export { Tensor } from "./tensor.js";

/** Whose repositories are those that are embedded. */
const ORGANIZATION = "webgpu-kernels/";

/** What a name that leads nowhere may have meant. */
const ours = () => `; embedded are ${embeddedNames.map((name) => `${ORGANIZATION}${name} (version ${embeddedVersion(name)})`).join(", ")}`;

const OPTIONS = { ...FETCH_OPTIONS, hub: flag, device: gpuDevice };

/** @param {string | URL} source */
function isFolder(source) {
    return String(source).startsWith("file:") || (typeof source === "string" && /^(\.|[/\\]|[A-Za-z]:[/\\])/.test(source));
}

/** @param {string | URL} source @param {Record<string, any>} options */
function checkSource(source, options) {
    if (typeof source !== "string" && !(source instanceof URL)) {
        throw new RequestError("getKernel: the source is neither a text nor a URL");
    }
    const { version, revision } = options;
    const isRepository = !isFolder(source) && !String(source).includes("://");
    if (isRepository && !String(source).includes("/")) {
        throw new RequestError(`${source} is neither ORGANIZATION/NAME nor a URL nor a path${ours()}`);
    }
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

/** @param {unknown} error of the Hub, about a package that could have been embedded @returns {never} */
function orOurs(error) {
    throw error instanceof NetworkError ? new NetworkError(error.message + ours(), { code: error.code, cause: error }) : error;
}

/** @returns {Promise<Map<string, Uint8Array>>} verified */
async function findFiles(source, { hub, device, ...options }) {
    checkSource(source, options);
    if (isFolder(source)) {
        const files = await readFolder(source);
        await verifyPackage(files);
        return files;
    }
    if (typeof source === "string" && source.startsWith(ORGANIZATION) && !hub && options.endpoint === undefined) {
        const name = source.slice(ORGANIZATION.length);
        if (options.version !== undefined && embeddedVersion(name) === options.version) {
            return embeddedFiles(name);
        }
        return (await fetchPackage(source, options).catch(orOurs)).files;
    }
    return (await fetchPackage(source, options)).files;
}

/** A branch says which version it has, and so does the package. */
function checkVersion(source, { version }, contract) {
    if (version !== undefined && contract.version !== version) {
        throw new PackageError(`${source}: version ${version} was asked for, and the package there is of version ${contract.version}`);
    }
}

/** @param {import("./planner.js").Contract} contract */
function insteadOf({ name }) {
    return embeddedNames.includes(name)
        ? `: getKernel("${ORGANIZATION}${name}", { version: ${embeddedVersion(name)} })`
        : "";
}

/** @param {Record<string, any>} options that were read */
async function open(source, options) {
    options.signal?.throwIfAborted();
    const [files] = await Promise.all([findFiles(source, options), startPlanner()]);
    const opened = new Package(files);
    let made;
    try {
        checkVersion(source, options, opened.contract);
        made = opened.contract.plans
            ? new Kernel(opened, await waitFor(openContext(options.device), options.signal))
            : new ContractOnly(opened, insteadOf(opened.contract));
        options.signal?.throwIfAborted();
        return made;
    } catch (error) {
        made ? made.dispose() : opened.close();
        throw error;
    }
}

/** The caller's errors stay the caller's. @param {(progress: any) => void} onProgress @param {Set<unknown>} thrown */
function watched(onProgress, thrown) {
    return (progress) => {
        try {
            onProgress(progress);
        } catch (error) {
            thrown.add(error);
            throw error;
        }
    };
}

/**
 * @param {string | URL} source ORGANIZATION/NAME on the Hub, the URL of a package's folder, or (Node) a folder
 * @param {Record<string, any>} [given]
 */
export async function getKernel(source, given) {
    const thrown = new Set();
    const isCallers = (error) => thrown.has(error) || abortedBy(given?.signal)(error);
    const made = await guard("getKernel", async () => {
        const options = readOptions("getKernel", given, OPTIONS);
        return open(source, options.onProgress ? { ...options, onProgress: watched(options.onProgress, thrown) } : options);
    }, isCallers);
    const kernel = (inputs, runOptions) => made.run(inputs, runOptions);
    return Object.assign(kernel, {
        contract: made.contract,
        device: made.device,
        plan: (inputs, runOptions) => made.plan(inputs, runOptions),
        upload: (operand) => made.upload(operand),
        dispose: () => made.dispose(),
    });
}
