// reference.mjs: what @huggingface/jinja makes of the cases, as JSON to be compared with.
//
// usage: node reference.mjs FOLDER_OF_THE_PACKAGE OUTPUT [COUNT_OF_RANDOM_CASES] [SEED]
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { cases, context } from "./cases.mjs";
import { Random, expression, spoil, template } from "./random.mjs";

const [folder, output, count = "900", seed = "20240611"] = process.argv.slice(2);
const { Template } = await import(pathToFileURL(join(folder, "dist", "index.js")).href);

// What may be refused in a random case although the reference renders it: the sentence holds one of these.
const allowed = [
    "division by zero", "integer overflow", "no finite number", "beyond ASCII", "the operator does not take", "not compared with a number",
    "has no text", "too large", "half of a character", "expected , or", "'Infinity'",
];
const spoiled = [...allowed, "not supported", "does not take", "expected", "not called", "more than", "negative exponent", "is no", "takes", "only a function"];

function render(text) {
    try {
        // Half of a character cannot be written as UTF-8: here it becomes what a decoder makes of it.
        return { text: Buffer.from(new Template(text).render(structuredClone(context))).toString() };
    } catch (error) {
        return { error: String(error.message) };
    }
}

const made = cases.map((entry) => {
    const [text, reason] = Array.isArray(entry) ? entry : [entry, null];
    return { template: text, random: false, refusals: reason === null ? [] : [reason], ...render(text) };
});
const random = new Random(Number(seed)), known = new Set();
while (known.size < Number(count)) {
    const i = known.size;
    let text = i % 3 === 0 ? template(random, 3) : `{{ ${expression(random, random.of(["number", "text", "list", "truth", "any"]), 2 + random.below(4))} }}`;
    const broken = i % 10 === 9;
    if (broken) {
        text = spoil(random, text);
    }
    if (!known.has(text)) {
        known.add(text);
        made.push({ template: text, random: true, refusals: broken ? spoiled : allowed, ...render(text) });
    }
}
writeFileSync(output, JSON.stringify({ context, cases: made }));
