// context.js: what is kept for a device: spare buffers, scratch, pipelines, and the order of its runs.
import { DeviceError, DeviceLostError } from "./errors.js";

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

/** Sizes are rounded up by at most a quarter, so that a spare buffer fits more than one tensor. */
function rounded(bytes) {
    let step = 256;
    while (step * 8 <= bytes) {
        step *= 2;
    }
    return Math.max(1, Math.ceil(bytes / step)) * step;
}

export class Context {
    /** @type {{buffer: GPUBuffer, size: number}[]} */
    #spare = [];
    #spareBytes = 0;
    #users = 0;
    /** @type {Promise<unknown>} settles when the last run was submitted */
    #last = Promise.resolve();
    /** @type {Map<string, Promise<GPUComputePipeline>>} by shader text */
    #pipelines = new Map();
    /** @type {GPUBuffer[]} as large as the largest plan wanted them; the queue keeps runs apart */
    scratch = [];
    /** @type {GPUDeviceLostInfo | undefined} */
    #lost;

    /** @param {GPUDevice} device */
    constructor(device) {
        this.device = device;
        device.lost.then((info) => {
            this.#lost = info;
            this.#clear();
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
        for (const buffer of this.scratch) {
            buffer.destroy();
        }
        this.#spare = [];
        this.#spareBytes = 0;
        this.scratch = [];
        this.#pipelines.clear();
    }

    checkAlive() {
        if (this.#lost) {
            const why = this.#lost.message ? `: ${this.#lost.message}` : "";
            throw new DeviceLostError(`the GPU device is lost (${this.#lost.reason})${why}`);
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
     * @returns {T}
     */
    watch(what, faults, action) {
        const kinds = ["validation", "out-of-memory", "internal"];
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
        return this.watch(what, faults, () => this.device.createBuffer({ label: what, size, usage }));
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

    /** The same for one that runs may still need which were asked for and not yet submitted. @param {GPUBuffer} buffer */
    retire(buffer) {
        this.#last.then(() => this.give(buffer));
    }

    /** @param {GPUBuffer} buffer @param {number} offset @param {ArrayBufferView} data */
    write(buffer, offset, data) {
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

    /** @param {GPUBuffer} staging @param {number} bytes @returns {Promise<ArrayBuffer>} */
    async read(staging, bytes) {
        try {
            await staging.mapAsync(1, 0, bytes); // GPUMapMode.READ
            const data = staging.getMappedRange(0, bytes).slice(0);
            staging.unmap();
            this.give(staging);
            return data;
        } catch (error) {
            staging.destroy(); // it may still be in the device's hands
            throw await this.explain(error, "the result cannot be read");
        }
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

    // ---- Order ------------------------------------------------------------------------------

    /**
     * Runs submit when what was asked for before has been submitted: runs happen in the order of the calls.
     * @template T
     * @param {Promise<unknown>} ready
     * @param {() => T} submit
     * @returns {Promise<T>}
     */
    inOrder(ready, submit) {
        const before = this.#last;
        const mine = ready.then(() => before).then(submit);
        this.#last = Promise.allSettled([before, mine]);
        return mine;
    }
}
