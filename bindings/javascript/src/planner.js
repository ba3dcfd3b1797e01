// planner.js: the planner, which is C compiled to WebAssembly: texts in, texts out. All that is decided is decided there.
import wasm from "./planner.wasm.js";
import { DeviceError, PackageError, RequestError, RmsnormError } from "./errors.js";

/**
 * @typedef {object} Slot
 * @property {string} key the bind key
 * @property {string} onnx ONNX's name
 * @property {string} type
 * @property {boolean} optional
 *
 * @typedef {object} Contract
 * @property {string} name
 * @property {string} id
 * @property {number} version
 * @property {string} spec
 * @property {string} domain
 * @property {string} operator
 * @property {number} sinceVersion
 * @property {boolean} plans false: of an unknown spec
 * @property {Slot[]} inputs
 * @property {Slot[]} outputs
 *
 * @typedef {object} Binding
 * @property {number} binding
 * @property {string} name
 * @property {"input" | "output" | "scratch"} kind
 * @property {string | number} slot bind key, or index of the scratch buffer
 * @property {boolean} writes
 * @property {number} offset
 * @property {number} size
 *
 * @typedef {object} Plan
 * @property {string} variant
 * @property {Record<string, {dtype: "float32" | "float16", shape: number[]}>} outputs
 * @property {{label: string, wgsl: string}[]} shaders
 * @property {{shader: number, workgroups: number[], uniformBinding: number, uniforms: number[], bindings: Binding[]}[]} passes
 * @property {number[]} scratch
 * @property {number} peakMemory
 */

/** Files that do not enter the planner: only tests and benchmarks want them. */
const UNPLANNED = new Set(["test.json", "bench.json"]);

/** A sentence that begins with a place in a formula or a template: the package is wrong, and not the request. */
const FORMULA = /^[^\s:]+:\d+:\d+: /;

/** JSON in C takes no character 0, and no half of a surrogate pair. Behind a backslash that is one itself they are letters. */
const replaceHalves = (json) =>
    json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (/^\\u(0000|d)/.test(escape) ? "\ufffd" : escape));

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8");

// What the C library would ask of a system. printf and clock are linked in; nothing here has files.
const system = {
    clock_time_get: (clock, precision, at) => {
        new DataView(planner.memory.buffer).setBigUint64(at, BigInt(Date.now()) * 1000000n, true);
        return 0;
    },
    fd_close: () => 8, // EBADF
    fd_seek: () => 8,
    fd_write: () => 8,
};

/** The exports of the WebAssembly instance. */
let planner;
let starting;

/** Resolves when packages can be opened. */
export function startPlanner() {
    starting ??= WebAssembly.instantiate(
        Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0)),
        { wasi_snapshot_preview1: system },
    ).then(({ instance }) => {
        planner = instance.exports;
        planner._initialize();
    });
    return starting;
}

/** What the planner has taken of the system. */
export const memoryBytes = () => planner.memory.buffer.byteLength;

/** @param {number} size */
function room(size) {
    const at = planner.input(size);
    if (at === 0) {
        throw new RmsnormError("there is no memory for the planner", { code: "OUT_OF_MEMORY" });
    }
    return new Uint8Array(planner.memory.buffer, at, size);
}

/** @returns {any} what the planner says */
function answer() {
    const text = decoder.decode(new Uint8Array(planner.memory.buffer, planner.answer(), planner.answerSize()));
    if (text === "") {
        throw new RmsnormError("there is no memory for the planner's answer", { code: "OUT_OF_MEMORY" });
    }
    const said = JSON.parse(text);
    if (said.error === undefined) {
        return said;
    }
    if (FORMULA.test(said.error)) {
        throw new PackageError(said.error, { code: "MALFORMED" });
    }
    const kinds = { MALFORMED: PackageError, OUT_OF_MEMORY: RmsnormError, NOT_BUILT: DeviceError };
    throw new (kinds[said.status] ?? RequestError)(said.error, { code: said.status });
}

/** An opened package. Its memory is the planner's until it is closed. */
export class Package {
    #handle;

    /** @param {Map<string, Uint8Array>} files verified; startPlanner() has resolved */
    constructor(files) {
        for (const [name, data] of files) {
            if (!UNPLANNED.has(name)) {
                const prefix = encoder.encode(name);
                const text = room(prefix.length + data.length);
                text.set(prefix);
                text.set(data, prefix.length);
                planner.file(prefix.length, text.length);
            }
        }
        this.#handle = planner.open();
        /** @type {Contract} */
        this.contract = answer();
    }

    /**
     * @param {string} request as JSON: wasm/request.h
     * @returns {string} the plan, or the refusal
     */
    planText(request) {
        this.#plan(request);
        return decoder.decode(new Uint8Array(planner.memory.buffer, planner.answer(), planner.answerSize()));
    }

    /**
     * @param {string} request
     * @returns {Plan}
     */
    plan(request) {
        this.#plan(replaceHalves(request));
        try {
            return answer();
        } catch (error) {
            throw error instanceof RequestError ? new RequestError(this.#withKeys(error.message), { code: error.code }) : error;
        }
    }

    #plan(request) {
        const text = room(3 * request.length); // UTF-8 of UTF-16
        planner.plan(this.#handle, encoder.encodeInto(request, text).written);
    }

    /** The planner says ONNX's names; the caller's are others. @param {string} sentence */
    #withKeys(sentence) {
        const words = new Set(sentence.split(/\W+/));
        const slots = [...this.contract.inputs, ...this.contract.outputs];
        const foreign = slots.filter(({ key, onnx }) => words.has(onnx) && !words.has(key));
        const names = foreign.map(({ key, onnx }) => `${onnx} is the key ${key}`);
        return names.length > 0 ? `${sentence} (${names.join(", ")})` : sentence;
    }

    close() {
        planner.close(this.#handle);
        this.#handle = 0;
    }
}
