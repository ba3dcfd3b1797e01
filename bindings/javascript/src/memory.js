// memory.js: who shares memory with whom. An output that lies exactly where an input does is computed in place; a buffer that is
// written can be bound once, so further inputs at that place are copied first.
import { RequestError } from "./errors.js";

/**
 * Where a tensor lies. No buffer: nowhere yet, and beside nothing.
 * @typedef {{buffer: GPUBuffer | null, begin: number, bytes: number}} Extent
 */

/** @param {Extent} a @param {Extent} b */
function overlap(a, b) {
    return (
        a.buffer !== null &&
        a.buffer === b.buffer &&
        a.bytes > 0 &&
        b.bytes > 0 &&
        a.begin < b.begin + b.bytes &&
        b.begin < a.begin + a.bytes
    );
}

function refuse(name, a, b, allowed) {
    throw new RequestError(`${name}: ${a} overlaps ${b}; allowed: ${allowed}`, { code: "INVALID_ARGUMENT" });
}

/**
 * @param {string} name of the operator, for messages
 * @param {Record<string, Extent>} inputs
 * @param {Record<string, Extent>} outputs
 * @returns {{inPlace: Record<string, string>, besideOutput: string[], copied: Set<string>}}
 */
export function relate(name, inputs, outputs) {
    const inPlace = Object.create(null);
    const beside = new Set();
    const copied = new Set();
    const keys = Object.keys(outputs);
    for (const [i, output] of keys.entries()) {
        const to = outputs[output];
        for (const [input, from] of Object.entries(inputs)) {
            if (overlap(to, from)) {
                if (to.begin !== from.begin || to.bytes !== from.bytes) {
                    refuse(name, output, input, "exactly the same place, or none of it");
                }
                if (inPlace[output] === undefined) {
                    inPlace[output] = input;
                } else {
                    copied.add(input);
                }
            } else if (to.buffer !== null && to.buffer === from.buffer && from.bytes > 0) {
                beside.add(input);
            }
        }
        for (const other of keys.slice(0, i)) {
            if (overlap(to, outputs[other])) {
                refuse(name, output, other, "outputs apart from each other");
            }
        }
    }
    // Bindings of one buffer that may be written must not overlap, not even for reading.
    const separate = [];
    for (const input of Object.keys(inputs).filter((key) => beside.has(key))) {
        if (copied.has(input) || Object.values(inPlace).includes(input)) {
            beside.delete(input);
        } else if (separate.some((other) => overlap(inputs[input], inputs[other]))) {
            copied.add(input);
            beside.delete(input);
        } else {
            separate.push(input);
        }
    }
    return { inPlace, besideOutput: [...beside], copied };
}
