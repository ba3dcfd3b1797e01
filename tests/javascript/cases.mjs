// cases.mjs: tensors of a package's test.json as arrays, and whether results are what a case expects.
import assert from "node:assert/strict";

const words = new Uint32Array(1);
const float = new Float32Array(words.buffer);

/** The bits of a number that float16 has. */
export function halfBits(number) {
    float[0] = number;
    const sign = (words[0] >>> 16) & 0x8000;
    const exponent = (words[0] >>> 23) & 0xff;
    const fraction = words[0] & 0x7fffff;
    if (exponent === 0xff) {
        return sign | 0x7c00 | (fraction ? 0x200 : 0);
    }
    if (exponent > 142) {
        return sign | 0x7c00;
    }
    if (exponent > 112) {
        return sign | ((exponent - 112) << 10) | (fraction >> 13);
    }
    return exponent < 102 ? sign : sign | ((fraction | 0x800000) >> (126 - exponent));
}

const numberOf = (value) => (typeof value === "string" ? Number(value) : value);

/** A list that is shorter than the shape fills it again and again. */
export function toInput({ dtype, shape, data }) {
    const count = shape.reduce((a, b) => a * b, 1);
    const values = Array.from({ length: count }, (_, i) => numberOf(data[i % data.length]));
    return { data: dtype === "float16" ? Uint16Array.from(values, halfBits) : Float32Array.from(values), shape };
}


/** How many representable values apart; what is subnormal on both sides is one: devices may flush. */
function steps(a, b, half) {
    const [top, normal, infinity] = half ? [0x8000, 0x400, 0x7c00] : [0x80000000, 0x800000, 0x7f800000];
    const [x, y] = [a, b].map((bits) => (bits >= top ? -(bits - top) : bits));
    const isNaN = (value) => Math.abs(value) > infinity;
    if (isNaN(x) || isNaN(y)) {
        return isNaN(x) && isNaN(y) ? 0 : Infinity;
    }
    return Math.abs(x) <= normal && Math.abs(y) <= normal ? 0 : Math.abs(x - y);
}

export function bitsOf({ data }) {
    const half = data.BYTES_PER_ELEMENT === 2;
    return new (half ? Uint16Array : Uint32Array)(data.buffer, data.byteOffset, data.length);
}

/** @param {Record<string, any>} results @param {{name: string, outputs: Record<string, any>}} testCase */
export function assertCase(results, { name, outputs }) {
    assert.deepEqual(Object.keys(results).sort(), Object.keys(outputs).sort(), name);
    for (const [key, expected] of Object.entries(outputs)) {
        assert.deepEqual(results[key].shape, expected.shape, `${name}: ${key}`);
        assert.equal(results[key].dtype, expected.dtype, `${name}: ${key}`);
        const [is, wanted] = [bitsOf(results[key]), bitsOf(toInput(expected))];
        assert.equal(is.length, wanted.length, `${name}: ${key}`);
        is.forEach((bits, i) => {
            const away = steps(bits, wanted[i], expected.dtype === "float16");
            assert.ok(away <= expected.ulp, `${name}: ${key}[${i}] is ${away} values off`);
        });
    }
}
