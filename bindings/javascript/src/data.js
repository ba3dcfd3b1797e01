// data.js: element types, and arrays of them.
import { RequestError } from "./errors.js";

/** @typedef {"float32" | "float16"} DType */

/** Float16Array where it exists, else the bits in a Uint16Array. */
export const HalfArray = globalThis.Float16Array ?? Uint16Array;

/** @param {DType} dtype */
export const elementSize = (dtype) => (dtype === "float16" ? 2 : 4);

/** @param {number[]} shape */
export const countOf = (shape) => shape.reduce((count, dim) => count * dim, 1);

/** Bytes of a tensor on the device: whole words. @param {number[]} shape @param {DType} dtype */
export const wordBytes = (shape, dtype) => Math.ceil((countOf(shape) * elementSize(dtype)) / 4) * 4;

/**
 * @param {unknown} data
 * @returns {DType | undefined}
 */
export function typeOfArray(data) {
    if (data instanceof Float32Array) {
        return "float32";
    }
    return data instanceof HalfArray || data instanceof Uint16Array ? "float16" : undefined;
}

/**
 * @param {ArrayBuffer} buffer of whole words
 * @param {number[]} shape
 * @param {DType} dtype
 */
export function toArray(buffer, shape, dtype) {
    const Kind = dtype === "float16" ? HalfArray : Float32Array;
    return new Kind(buffer, 0, countOf(shape));
}

/**
 * @param {string} what for the message
 * @param {ArrayBufferView & {length: number}} data
 * @param {number[]} shape
 */
export function checkLength(what, data, shape) {
    if (data.length !== countOf(shape)) {
        throw new RequestError(`${what} has ${data.length} elements, its shape [${shape.join(", ")}] takes ${countOf(shape)}`, {
            code: "INVALID_ARGUMENT",
        });
    }
}
