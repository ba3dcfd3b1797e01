// tensor.js: a tensor on the device.
import { RequestError } from "./errors.js";
import { toArray, wordBytes } from "./data.js";

/** @typedef {import("./data.js").DType} DType */

export class Tensor {
    #context;
    #owned;

    /**
     * @param {import("./context.js").Context} context
     * @param {number[]} shape
     * @param {DType} dtype
     * @param {GPUBuffer} buffer
     * @param {number} offset bytes
     * @param {boolean} owned whether destroy() gives the buffer away
     */
    constructor(context, shape, dtype, buffer, offset, owned) {
        this.#context = context;
        this.#owned = owned;
        this.shape = shape;
        this.dtype = dtype;
        /** @type {GPUBuffer | null} null: destroyed. May be longer than the tensor */
        this.buffer = buffer;
        this.offset = offset;
    }

    get context() {
        return this.#context;
    }

    /** @returns {Promise<Float32Array | Uint16Array>} the elements, after the work that was submitted before */
    async download() {
        if (!this.buffer) {
            throw new RequestError("the tensor was destroyed", { code: "DESTROYED" });
        }
        this.#context.checkAlive();
        const bytes = wordBytes(this.shape, this.dtype);
        if (bytes === 0) {
            return toArray(new ArrayBuffer(0), this.shape, this.dtype);
        }
        const faults = [];
        const { device } = this.#context;
        const staging = this.#context.watch("the download", faults, () => {
            const encoder = device.createCommandEncoder();
            const made = this.#context.stage(encoder, this.buffer, this.offset, bytes, faults);
            device.queue.submit([encoder.finish()]);
            return made;
        });
        const reading = this.#context.read(staging, bytes);
        reading.catch(() => {});
        await Promise.all(faults);
        return toArray(await reading, this.shape, this.dtype);
    }

    /** Gives the memory away. Runs that were asked for before are not disturbed. */
    destroy() {
        if (this.buffer && this.#owned) {
            this.#context.retire(this.buffer);
        }
        this.buffer = null;
    }
}
