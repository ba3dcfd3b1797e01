// reference.js: random tensors, and the operators written naively in float64.

/** 2 to the exponent, of the step between the type's numbers beside this one. */
function stepAt(value, type) {
    const [bits, least] = type === "float16" ? [10, -14] : [23, -126];
    const exponent = value === 0 ? least : Math.max(Math.floor(Math.log2(Math.abs(value))), least);
    return 2 ** (exponent - bits);
}

/** The nearest number of the type; of two, the even one. Infinities are left out: nothing here comes near them. */
function roundTo(value, type) {
    if (type === "float32") {
        return Math.fround(value);
    }
    const steps = value / stepAt(value, type);
    const down = Math.floor(steps);
    const up = steps - down > 0.5 || (steps - down === 0.5 && down % 2 !== 0);
    return (down + Number(up)) * stepAt(value, type);
}

function halfToNumber(bits) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size = exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
    return bits & 0x8000 ? -size : size;
}

let halves; // what all bits of float16 are as numbers

/** @param {ArrayBufferView & {length: number}} data Float32Array, Float16Array, or the bits of float16 @returns {Float32Array} */
export function toNumbers(data) {
    if (data instanceof Float32Array) {
        return data;
    }
    halves ??= Float32Array.from({ length: 65536 }, (_, bits) => halfToNumber(bits));
    return Float32Array.from(new Uint16Array(data.buffer, data.byteOffset, data.length), (bits) => halves[bits]);
}

/** Numbers with both signs, from 1/8 to 4: the same ones every time. */
export function randomTensor(shape, type, seed) {
    const count = shape.reduce((a, b) => a * b, 1);
    const data = type === "float16" ? new Uint16Array(count) : new Float32Array(count);
    let state = seed >>> 0;
    for (let i = 0; i < count; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        const [sign, exponent, fraction] = [state >>> 31, (state >>> 24) % 5, (state >>> 8) & 0xffff];
        data[i] = type === "float16"
            ? (sign << 15) | ((12 + exponent) << 10) | (fraction & 1023)
            : (sign ? -1 : 1) * 2 ** (exponent - 3) * (1 + fraction / 65536);
    }
    return { data, shape };
}

/**
 * The operator, one row at a time.
 * @param {string} operator
 * @param {Record<string, {data: any, shape: number[]}>} inputs by bind key
 * @param {{input: string, scale: string}} types
 * @returns {(row: number) => Record<string, number[]>} a row of each output, by bind key
 */
export function reference(operator, inputs, types) {
    const skips = operator === "com.microsoft.SkipSimplifiedLayerNormalization";
    const x = toNumbers((skips ? inputs.inputT : inputs.x).data);
    const skip = skips ? toNumbers(inputs.skipT.data) : null;
    const scale = toNumbers((skips ? inputs.gammaT : inputs.scale).data);
    const epsilon = Math.fround(skips ? 1e-12 : 1e-5);
    const width = scale.length;
    return (row) => {
        const values = Array.from(x.subarray(row * width, (row + 1) * width), (value, i) => value + (skip ? skip[row * width + i] : 0));
        const squares = values.reduce((sum, value) => sum + value * value, 0);
        const inverse = 1 / Math.sqrt(squares / width + epsilon);
        const scaled = values.map((value, i) => {
            const normalized = value * inverse;
            return (operator === "ai.onnx.RMSNormalization" ? roundTo(normalized, types.input) : normalized) * scale[i];
        });
        return skips
            ? { outputT: scaled, meanT: [0], invStdVarT: [inverse], residualT: values }
            : { y: scaled, invStdVar: [inverse] };
    };
}

/** How far results may be off, in steps of their type: what the packages' own cases allow, half a step more for the rounding. */
export const ALLOWED = { float32: 6.5, float16: 1.5 };

/**
 * @param {Record<string, {data: any, shape: readonly number[], dtype: string}>} results
 * @param {(row: number) => Record<string, number[]>} rowOf
 * @param {number} rows
 * @param {() => Promise<void>} breathe awaited now and then, so that the page lives
 */
export async function compare(results, rowOf, rows, breathe) {
    const found = Object.entries(results).map(([key, { data, shape, dtype }]) => ({
        key, shape, dtype, numbers: toNumbers(data), largest: 0, sum: 0, first: [],
    }));
    let last = performance.now();
    for (let row = 0; row < rows; row++) {
        const wanted = rowOf(row);
        for (const output of found) {
            const exact = wanted[output.key];
            exact.forEach((value, i) => {
                const is = output.numbers[row * exact.length + i];
                const error = is === value ? 0 : Math.abs(is - value) / stepAt(value, output.dtype);
                output.largest = error <= output.largest ? output.largest : error; // NaN stays
                output.sum += error;
                if (output.first.length < 8) {
                    output.first.push({ is, value });
                }
            });
        }
        if (performance.now() - last > 50) {
            await breathe();
            last = performance.now();
        }
    }
    return found.map(({ numbers, sum, ...output }) => ({
        ...output,
        mean: sum / numbers.length,
        right: numbers.length > 0 && output.largest <= ALLOWED[output.dtype],
    }));
}
