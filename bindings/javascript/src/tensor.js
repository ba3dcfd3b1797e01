// tensor.js: a tensor on the device.
import { RequestError, guard } from "./errors.js";
import { toArray, wordBytes } from "./data.js";

/** @typedef {import("./data.js").DType} DType */

/**
 * The buffer of a tensor, null once it is destroyed, without the caller's getting hold of it.
 * @type {(tensor: Tensor) => GPUBuffer | null}
 */
export let bufferOf;
/** @type {(tensor: Tensor) => import("./context.js").Context} */
export let contextOf;

export class Tensor {
    #context;
    #owned;
    #buffer;
    /** Whether the caller has the buffer: what is done with it then, and when, nobody knows. */
    #shown = false;

    static {
        bufferOf = (tensor) => tensor.#buffer;
        contextOf = (tensor) => tensor.#context;
    }

    /**
     * @param {import("./context.js").Context} context
     * @param {readonly number[]} shape
     * @param {DType} dtype
     * @param {GPUBuffer} buffer
     * @param {number} offset bytes
     * @param {boolean} owned whether destroy() gives the buffer away
     */
    constructor(context, shape, dtype, buffer, offset, owned) {
        this.#context = context;
        this.#owned = owned;
        this.#buffer = buffer;
        this.shape = Object.freeze([...shape]);
        this.dtype = dtype;
        this.offset = offset;
        Object.freeze(this);
    }

    /** @returns {GPUBuffer | null} null: destroyed. May be longer than the tensor */
    get buffer() {
        this.#shown = true;
        return this.#buffer;
    }

    /** @returns {Promise<Float32Array | Uint16Array>} the elements, after the calls before */
    download() {
        return guard("the download", () => this.#download());
    }

    async #download() {
        if (!this.#buffer) {
            throw new RequestError("the tensor was destroyed", { code: "DESTROYED" });
        }
        this.#context.checkAlive();
        const bytes = wordBytes(this.shape, this.dtype);
        const data = bytes > 0 ? await this.#context.download(this.#buffer, this.offset, bytes) : new ArrayBuffer(0);
        return toArray(data, this.shape, this.dtype);
    }

    /** Gives the memory away. Calls that were made before are not disturbed. */
    destroy() {
        if (this.#buffer && this.#owned) {
            this.#context.retire(this.#buffer, !this.#shown);
        }
        this.#buffer = null;
    }
}
