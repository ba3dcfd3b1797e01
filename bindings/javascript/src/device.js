// device.js: WebGPU, and the one device that kernels share unless they are given another.
import { DeviceError } from "./errors.js";
import { Context } from "./context.js";

/** What is asked of the adapter: as much as it has. */
const LIMITS = [
    "maxStorageBufferBindingSize",
    "maxBufferSize",
    "maxStorageBuffersPerShaderStage",
    "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup",
    "maxComputeWorkgroupSizeX",
    "maxComputeWorkgroupsPerDimension",
];
const FEATURES = ["shader-f16", "subgroups"];

let gpu; // kept: in Node, what create() returns must outlive its devices
/** @type {Promise<GPUDevice> | undefined} */
let shared;
/** @type {WeakMap<GPUDevice, Context>} */
const contexts = new WeakMap();

async function findGpu() {
    if (globalThis.navigator?.gpu) {
        return globalThis.navigator.gpu;
    }
    if (globalThis.process?.versions?.node === undefined) {
        throw new DeviceError("this browser has no WebGPU: navigator.gpu is not there", { code: "NO_WEBGPU" });
    }
    const peer = "webgpu"; // not for a bundler to look up
    let webgpu;
    try {
        webgpu = await import(/* webpackIgnore: true */ /* @vite-ignore */ peer);
    } catch (cause) {
        throw new DeviceError("Node has WebGPU only with the npm package webgpu: npm install webgpu", {
            code: "NO_WEBGPU",
            cause,
        });
    }
    return webgpu.create([]);
}

async function openDevice() {
    gpu ??= await findGpu();
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) {
        throw new DeviceError("WebGPU has no adapter here: no GPU, or no driver that it takes", { code: "NO_ADAPTER" });
    }
    const requiredLimits = Object.fromEntries(
        LIMITS.filter((name) => adapter.limits[name] !== undefined).map((name) => [name, adapter.limits[name]]),
    );
    const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
    try {
        return await adapter.requestDevice({ requiredLimits, requiredFeatures });
    } catch (cause) {
        throw new DeviceError(`the adapter gives no device: ${cause.message}`, { cause });
    }
}

function openShared() {
    if (shared === undefined) {
        const mine = openDevice();
        const forget = () => {
            shared = shared === mine ? undefined : shared;
        };
        shared = mine;
        mine.then((device) => device.lost.then(forget), forget);
    }
    return shared;
}

/**
 * @param {GPUDevice} [given] the caller's, or else the one that all share
 * @returns {Promise<Context>}
 */
export async function openContext(given) {
    const device = given ?? (await openShared());
    if (!contexts.has(device)) {
        contexts.set(device, new Context(device));
    }
    return contexts.get(device);
}

/** @param {GPUDevice} device @returns {string} the member `device` of a request: wasm/request.h */
export function profileOf(device) {
    const profile = {};
    for (const name of [...LIMITS, "minStorageBufferOffsetAlignment"]) {
        if (device.limits[name] !== undefined) {
            profile[name] = Math.min(device.limits[name], Number.MAX_SAFE_INTEGER);
        }
    }
    profile["shader-f16"] = Number(device.features.has("shader-f16"));
    const info = device.adapterInfo;
    if (device.features.has("subgroups") && info?.subgroupMinSize > 0) {
        profile.subgroups = 1;
        profile.subgroupMinSize = info.subgroupMinSize;
        profile.subgroupMaxSize = info.subgroupMaxSize;
    }
    return JSON.stringify(profile);
}
