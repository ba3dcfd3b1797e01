// arrays.mjs: tensors for calls of a kernel, and what they come to.
import assert from "node:assert/strict";

export const ramp = (count, step = 0.25) => Float32Array.from({ length: count }, (_, i) => (i % 17) * step - 1.5);
export const ones = (count) => new Float32Array(count).fill(1);

/** In float64. */
export function normalize(x, width, epsilon = 1e-5) {
    const rows = Array.from({ length: x.length / width }, (_, i) => Array.from(x.subarray(i * width, (i + 1) * width)));
    return rows.flatMap((row) => {
        const inverse = 1 / Math.sqrt(row.reduce((sum, v) => sum + v * v, 0) / width + epsilon);
        return row.map((v) => v * inverse);
    });
}

export function assertNear(is, wanted, within = 1e-5) {
    assert.equal(is.length, wanted.length);
    wanted.forEach((value, i) => assert.ok(Math.abs(is[i] - value) <= within, `[${i}] is ${is[i]}, not ${value}`));
}
