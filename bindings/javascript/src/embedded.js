// embedded.js: the kernel packages that are part of this one.
import { packages, texts } from "./embedded-files.js";

/**
 * @param {string} name "ai.onnx.RMSNormalization"
 * @returns {Map<string, Uint8Array> | undefined}
 */
export function embeddedFiles(name) {
    if (!Object.hasOwn(packages, name)) {
        return undefined;
    }
    const encoder = new TextEncoder();
    return new Map(Object.entries(packages[name]).map(([file, place]) => [file, encoder.encode(texts[place])]));
}

/**
 * @param {string} name
 * @returns {number | undefined} of its contract
 */
export function embeddedVersion(name) {
    return Object.hasOwn(packages, name) ? JSON.parse(texts[packages[name]["metadata.json"]]).version : undefined;
}

export const embeddedNames = Object.keys(packages);
