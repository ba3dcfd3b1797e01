// context.js: what is kept for a device: spare buffers, scratch, pipelines, and the order of its calls.
import { DeviceError, DeviceLostError } from "./errors.js";
import { Order } from "./order.js";
import { waitFor } from "./wait.js";

/** GPUBufferUsage, which Node has not as a global. */
export const USAGE = {
    MAP_READ: 0x1,
    COPY_SRC: 0x4,
    COPY_DST: 0x8,
    UNIFORM: 0x40,
    STORAGE: 0x80,
};
export const TENSOR_USAGE = USAGE.STORAGE | USAGE.COPY_SRC | USAGE.COPY_DST;
export const STAGING_USAGE = USAGE.MAP_READ | USAGE.COPY_DST;

/** Spare buffers hold at most this much; what is more is destroyed, the oldest first. */
const SPARE_BYTES = 256 * 2 ** 20;

/** Asked while a result is waited for: about two milliseconds of them. What takes longer can wait for the browser, too. */
const MOST_QUESTIONS = 8;

/** Sizes are rounded up by at most a quarter, so that a spare buffer fits more than one tensor. */
function rounded(bytes) {
    let step = 256;
    while (step * 8 <= bytes) {
        step *= 2;
    }
    return Math.max(1, Math.ceil(bytes / step)) * step;
}

/**
 * What the device says of a call comes before what becomes of its result.
 * @template T
 * @param {Promise<void>[]} faults
 * @param {Promise<T>} result
 * @returns {Promise<T>}
 */
export async function unlessFaulty(faults, result) {
    result.catch(() => {});
    await Promise.all(faults);
    return result;
}

export class Context {
    /** @type {{buffer: GPUBuffer, size: number}[]} */
    #spare = [];
    #spareBytes = 0;
    #users = 0;
    #reading = 0;
    #isAsking = false;
    /** @type {Set<(error: unknown) => void>} ends what waits for the device */
    #waiting = new Set();
    /** @type {Map<string, Promise<GPUComputePipeline>>} by shader text */
    #pipelines = new Map();
    /** @type {GPUBuffer[]} as large as the largest plan wanted them; the queue keeps runs apart */
    scratch = [];
    /** Of the calls that are not submitted yet. */
    order = new Order();
    /** @type {GPUDeviceLostInfo | undefined} */
    #lost;

    /** @param {GPUDevice} device */
    constructor(device) {
        this.device = device;
        device.lost.then((info) => {
            this.#lost = info;
            this.#clear();
            this.#endWaits();
        });
    }

    // ---- Users ------------------------------------------------------------------------------

    enter() {
        this.#users++;
    }

    /** The last one leaves nothing behind. */
    leave() {
        if (--this.#users === 0) {
            this.#clear();
        }
    }

    #clear() {
        for (const { buffer } of this.#spare) {
            buffer.destroy();
        }
        this.#spare = [];
        this.#spareBytes = 0;
        this.dropScratch();
        this.#pipelines.clear();
    }

    #lossError() {
        const why = this.#lost.message ? `: ${this.#lost.message}` : "";
        return new DeviceLostError(`the GPU device is lost (${this.#lost.reason})${why}`);
    }

    checkAlive() {
        if (this.#lost) {
            throw this.#lossError();
        }
    }

    /**
     * Waits for what the device promised, until it is lost or the caller has enough.
     * @template T
     * @param {Promise<T>} promise
     * @param {AbortSignal} [signal]
     * @returns {Promise<T>}
     */
    wait(promise, signal) {
        const waiting = waitFor(promise, signal, this.#waiting);
        this.#endWaits();
        return waiting;
    }

    /** Nothing is to be expected of a lost device. */
    #endWaits() {
        if (this.#lost) {
            const error = this.#lossError();
            [...this.#waiting].forEach((end) => end(error));
        }
    }

    /**
     * What an error of the device's is to the caller. A lost device says so a little after its calls fail.
     * @param {Error} error
     * @param {string} what
     */
    async explain(error, what) {
        await Promise.race([this.device.lost, new Promise((resolve) => setTimeout(resolve, 20))]);
        this.checkAlive();
        return new DeviceError(`${what}: ${error.message}`, { cause: error });
    }

    // ---- Errors -----------------------------------------------------------------------------

    /**
     * Watches what the device says of the calls that action makes, which must not wait.
     * @template T
     * @param {string} what for the message
     * @param {Promise<void>[]} faults gets a promise that rejects if anything was wrong
     * @param {() => T} action
     * @param {GPUErrorFilter[]} [kinds] of errors that such calls can have; each costs a message
     * @returns {T}
     */
    watch(what, faults, action, kinds = ["validation"]) {
        kinds.forEach((kind) => this.device.pushErrorScope(kind));
        try {
            return action();
        } finally {
            const fault = Promise.all(kinds.map(() => this.device.popErrorScope())).then(
                (errors) => {
                    const index = errors.findIndex((error) => error);
                    if (index >= 0) {
                        const code = kinds[kinds.length - 1 - index] === "out-of-memory" ? "OUT_OF_MEMORY" : "DEVICE";
                        throw new DeviceError(`${what}: ${errors[index].message}`, { code });
                    }
                },
                async (error) => {
                    throw await this.explain(error, what);
                },
            );
            fault.catch(() => {}); // whoever waits for it hears of it
            faults.push(fault);
        }
    }

    // ---- Buffers ----------------------------------------------------------------------------

    /**
     * @param {number} bytes
     * @param {number} usage
     * @param {string} what for messages
     * @param {Promise<void>[]} faults
     * @returns {GPUBuffer}
     */
    take(bytes, usage, what, faults) {
        const most = this.device.limits.maxBufferSize;
        const size = rounded(bytes) <= most ? rounded(bytes) : Math.ceil(bytes / 4) * 4;
        for (let i = this.#spare.length - 1; i >= 0; i--) {
            const { buffer } = this.#spare[i];
            if (buffer.size === size && (buffer.usage & usage) === usage) {
                this.#spare.splice(i, 1);
                this.#spareBytes -= size;
                return buffer;
            }
        }
        return this.watch(what, faults, () => this.device.createBuffer({ label: what, size, usage }), ["validation", "out-of-memory"]);
    }

    /** For later use: the queue does what was submitted before. @param {GPUBuffer} buffer */
    give(buffer) {
        if (this.#users === 0 || this.#lost) {
            buffer.destroy();
            return;
        }
        this.#spare.push({ buffer, size: buffer.size });
        this.#spareBytes += buffer.size;
        while (this.#spareBytes > SPARE_BYTES) {
            const oldest = this.#spare.shift();
            this.#spareBytes -= oldest.size;
            oldest.buffer.destroy();
        }
    }

    /**
     * The same for one that calls may still need which are not submitted yet.
     * @param {GPUBuffer} buffer
     * @param {boolean} reusable
     */
    retire(buffer, reusable) {
        this.order.free(buffer).then(() => (reusable ? this.give(buffer) : buffer.destroy()));
    }

    /** @param {GPUBuffer} buffer @param {number} offset @param {ArrayBufferView} data */
    write(buffer, offset, data) {
        if (data.byteLength === 0) {
            return; // its memory may be another's by now
        }
        const view = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        const isShared = typeof SharedArrayBuffer !== "undefined" && data.buffer instanceof SharedArrayBuffer;
        const bytes = isShared ? view.slice() : view; // not every WebGPU takes shared memory, and some crash of it
        const whole = bytes.length - (bytes.length % 4);
        if (whole > 0) {
            this.device.queue.writeBuffer(buffer, offset, bytes, 0, whole);
        }
        if (whole < bytes.length) {
            const last = new Uint8Array(4);
            last.set(bytes.subarray(whole));
            this.device.queue.writeBuffer(buffer, offset + whole, last);
        }
    }

    /**
     * Copies to where the host can read; after encoder's commands are submitted, read(staging) gives the bytes.
     * @param {GPUCommandEncoder} encoder
     * @param {GPUBuffer} buffer
     * @param {number} offset
     * @param {number} bytes whole words, not 0
     * @param {Promise<void>[]} faults
     */
    stage(encoder, buffer, offset, bytes, faults) {
        const staging = this.take(bytes, STAGING_USAGE, "a staging buffer", faults);
        encoder.copyBufferToBuffer(buffer, offset, staging, 0, bytes);
        return staging;
    }

    /**
     * A browser looks for what its device has finished when it is spoken to, and else every few milliseconds only. So while results
     * are waited for it is asked something, one question after the other, each a message there and back.
     */
    async #ask() {
        if (this.#isAsking) {
            return;
        }
        this.#isAsking = true;
        for (let i = 0; i < MOST_QUESTIONS && this.#reading > 0; i++) {
            this.device.pushErrorScope("internal");
            await this.device.popErrorScope().catch(() => {});
        }
        this.#isAsking = false;
    }

    /** @param {GPUBuffer} staging @param {number} bytes @returns {Promise<ArrayBuffer>} */
    async read(staging, bytes) {
        this.#reading++;
        try {
            const mapped = staging.mapAsync(1, 0, bytes); // GPUMapMode.READ
            this.#ask();
            await mapped;
            const data = staging.getMappedRange(0, bytes).slice(0);
            staging.unmap();
            this.give(staging);
            return data;
        } catch (error) {
            staging.destroy(); // it may still be in the device's hands
            throw await this.explain(error, "the result cannot be read");
        } finally {
            this.#reading--;
        }
    }

    /**
     * After the calls that were made before.
     * @param {GPUBuffer} buffer
     * @param {number} offset
     * @param {number} bytes whole words, not 0
     * @returns {Promise<ArrayBuffer>}
     */
    async download(buffer, offset, bytes) {
        const { before, leave } = this.order.enter([buffer], []);
        const faults = [];
        let staging;
        try {
            await this.wait(before);
            staging = this.watch("the download", faults, () => {
                const encoder = this.device.createCommandEncoder();
                const made = this.stage(encoder, buffer, offset, bytes, faults);
                this.device.queue.submit([encoder.finish()]);
                return made;
            });
        } finally {
            leave();
        }
        return this.wait(unlessFaulty(faults, this.read(staging, bytes)));
    }

    /** Scratch buffers of at least these sizes. @param {number[]} sizes @param {Promise<void>[]} faults */
    ensureScratch(sizes, faults) {
        sizes.forEach((size, i) => {
            if (!this.scratch[i] || this.scratch[i].size < size) {
                this.scratch[i]?.destroy(); // what was submitted with it is not disturbed
                this.scratch[i] = this.take(size, TENSOR_USAGE, "a scratch buffer", faults);
            }
        });
    }

    /** When the device did not take it. */
    dropScratch() {
        this.scratch.forEach((buffer) => buffer.destroy());
        this.scratch = [];
    }

    // ---- Pipelines --------------------------------------------------------------------------

    /** @param {{label: string, wgsl: string}} shader */
    pipeline({ label, wgsl }) {
        let made = this.#pipelines.get(wgsl);
        if (!made) {
            const module = this.device.createShaderModule({ label, code: wgsl });
            made = this.device
                .createComputePipelineAsync({ label, layout: "auto", compute: { module, entryPoint: "main" } })
                .catch(async (error) => {
                    this.#pipelines.delete(wgsl);
                    throw await this.explain(error, label);
                });
            made.catch(() => {});
            this.#pipelines.set(wgsl, made);
        }
        return made;
    }
}
