// options.js: the options of a call. Each is one that there is, and of its kind, or the call is refused.
import { RequestError } from "./errors.js";

/** @typedef {{takes: string, is: (value: any) => boolean}} Kind what an option takes, for the sentence */

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";

/** @type {Kind} */
export const flag = { takes: "true or false", is: (value) => typeof value === "boolean" };
export const text = { takes: "a text", is: (value) => isText(value) && value !== "" };
export const texts = { takes: "a list of texts", is: (value) => Array.isArray(value) && Array.from(value).every(isText) };
export const object = { takes: "an object", is: isObject };
export const callback = { takes: "a function", is: (value) => typeof value === "function" };
export const natural = { takes: "a whole number from 1 on", is: (value) => Number.isSafeInteger(value) && value >= 1 };
export const number = {
    takes: "a number from 0 to 2147483647", // the largest delay of setTimeout
    is: (value) => typeof value === "number" && value >= 0 && value < 2 ** 31,
};
export const abortSignal = {
    takes: "an AbortSignal",
    is: (value) => isObject(value) && typeof value.aborted === "boolean" && typeof value.throwIfAborted === "function",
};
export const gpuDevice = {
    takes: "a GPUDevice",
    is: (value) => isObject(value) && typeof value.createBuffer === "function" && typeof value.lost?.then === "function",
};
/** @param {string[]} values @returns {Kind} */
export const oneOf = (...values) => ({
    takes: values.map((value) => JSON.stringify(value)).join(" or "),
    is: (value) => values.includes(value),
});

/** Letters to change, add or leave out: Levenshtein's, row by row. */
function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
        const next = [i];
        for (let j = 1; j <= b.length; j++) {
            next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1]));
        }
        row = next;
    }
    return row[b.length];
}

/** The name that was most likely meant: a few letters away, or one that begins alike. */
function guess(name, names) {
    const away = (other) => distance(name.slice(0, 48).toLowerCase(), other.toLowerCase());
    const [nearest] = names.toSorted((a, b) => away(a) - away(b));
    const isNear = away(nearest) <= Math.max(1, name.length / 3);
    return isNear ? nearest : names.find((other) => other.slice(0, 4) === name.slice(0, 4));
}

/**
 * @param {string} what is called, for messages
 * @param {unknown} given
 * @param {Record<string, Kind>} kinds by name
 * @returns {Record<string, any>} a copy, without what is undefined
 */
export function readOptions(what, given, kinds) {
    if (given !== undefined && !isObject(given)) {
        throw new RequestError(`${what}: the options are no object`, { code: "INVALID_ARGUMENT" });
    }
    const read = {};
    for (const name in given) {
        if (!Object.hasOwn(kinds, name)) {
            const meant = guess(name, Object.keys(kinds));
            const suggestion = meant ? `did you mean ${meant}?` : `there are ${Object.keys(kinds).join(", ")}`;
            throw new RequestError(`${what}: there is no option ${name.slice(0, 80)}: ${suggestion}`, { code: "INVALID_ARGUMENT" });
        }
        const value = given[name];
        if (value !== undefined && !kinds[name].is(value)) {
            throw new RequestError(`${what}: the option ${name} takes ${kinds[name].takes}`, { code: "INVALID_ARGUMENT" });
        }
        if (value !== undefined) {
            read[name] = value;
        }
    }
    return read;
}
