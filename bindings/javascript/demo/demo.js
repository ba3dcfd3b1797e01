// demo.js: the page: what was picked is run, compared, timed and shown.
import { DeviceLostError, getKernel } from "rmsnorm";
import { compare, randomTensor, reference } from "./reference.js";
import { measure } from "./timing.js";

const MOST_ELEMENTS = 2 ** 25;
const SKIP = "com.microsoft.SkipSimplifiedLayerNormalization";
const FEATURES = ["shader-f16", "subgroups", "timestamp-query"];

const $ = (id) => document.getElementById(id);

// ---- The device ----------------------------------------------------------------------------------

/** @type {Promise<{device: GPUDevice, info: GPUAdapterInfo}> | undefined} */
let opened;
const kernels = new Map();

async function openDevice() {
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) {
        return null;
    }
    const requiredLimits = {};
    for (const name in adapter.limits) {
        requiredLimits[name] = adapter.limits[name];
    }
    const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
    device.lost.then(() => {
        opened = undefined;
        kernels.clear();
    });
    return { device, info: adapter.info };
}

async function findKernel(operator, device) {
    if (!kernels.has(operator)) {
        kernels.set(operator, await getKernel(`webgpu-kernels/${operator}`, { version: 1, device }));
    }
    return kernels.get(operator);
}

function tellAbsence(reason) {
    $("absent-reason").textContent = reason;
    $("absent").hidden = false;
    $("form").hidden = true;
    $("answer").hidden = true;
}

// ---- Numbers as text -----------------------------------------------------------------------------

const spaced = (number) => number.toLocaleString("en", { maximumFractionDigits: 0 }).replaceAll(",", "\u202f");

function digits(number, count = 3) {
    return Number.isFinite(number) && number !== 0 && Math.abs(number) < 10 ** count
        ? number.toPrecision(count)
        : spaced(number);
}

function duration(milliseconds) {
    const [value, unit] = milliseconds < 1 ? [milliseconds * 1000, "µs"] : milliseconds < 1000 ? [milliseconds, "ms"] : [milliseconds / 1000, "s"];
    return `${digits(value)} ${unit}`;
}

function size(bytes) {
    const [value, unit] = bytes < 1000 ? [bytes, "bytes"] : bytes < 1e6 ? [bytes / 1e3, "kB"] : bytes < 1e9 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"];
    return bytes < 1000 ? `${bytes} ${unit}` : `${digits(value)} ${unit}`;
}

const shapeText = (shape) => `[${shape.join(", ")}]`;
const steps = (number) => (Number.isFinite(number) ? `${(Math.ceil(number * 100) / 100).toFixed(2)} ulp` : "not a number");

// ---- Showing -------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
}

function fillTable(id, rows) {
    $(id).tBodies[0].replaceChildren(
        ...rows.map(([head, ...cells]) => make("tr", {}, make("th", { scope: "row" }, head), ...cells.map((cell) => make("td", {}, cell)))),
    );
}

function fillFacts(id, facts) {
    $(id).replaceChildren(...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
}

/** A long name breaks between its words. */
function showTitle({ operator, rows, width }) {
    const words = operator.split(".").at(-1).split(/(?=[A-Z][a-z])/);
    const extent = `, ${spaced(rows)}\u00a0×\u00a0${spaced(width)}`;
    $("result-title").replaceChildren(...words.flatMap((word) => [word, make("wbr")]), extent);
}

function showCheck(outputs) {
    const right = outputs.every((output) => output.right);
    const worst = outputs.reduce((a, b) => (a.largest >= b.largest ? a : b));
    const verdict = $("verdict");
    verdict.className = right ? "right" : "wrong";
    verdict.textContent = right
        ? `✓ Right: no element is more than ${steps(worst.largest)} of ${worst.dtype} from the exact result.`
        : `✗ Wrong: an element of ${outputs.find((output) => !output.right).key} is too far from the exact result.`;
    fillTable("errors", outputs.map(({ key, shape, dtype, largest, mean }) => [
        make("code", {}, key), `${dtype} ${shapeText(shape)}`, steps(largest), steps(mean),
    ]));
    fillTable("elements", outputs.flatMap(({ key, first }) =>
        first.map(({ is, value }, i) => [make("code", {}, `${key}[${i}]`), String(is), String(Number(value.toPrecision(12)))])));
    return right;
}

function showTimes({ run, copy, bytes, rounds, clock, tooShort }) {
    const longest = Math.max(run, copy, 1e-9);
    const bar = (name, time, kind) => [
        make("dt", {}, name),
        make("dd", {},
            make("span", { class: `bar ${kind}`, style: `--part: ${time / longest}`, "aria-hidden": "true" }),
            make("span", { class: "value" }, `${duration(time)} · ${digits(bytes / time / 1e6)} GB/s`)),
    ];
    $("ratio").textContent = tooShort
        ? "Too short for this browser’s clock: a larger tensor tells more."
        : `${digits(run / copy)} times as long as a copy of the same ${size(bytes)}.`;
    $("bars").hidden = tooShort;
    $("bars").replaceChildren(...bar("This kernel", run, "own"), ...bar("Copy", copy, "copy"));
    $("clock").textContent = `${rounds} rounds, the two in turn; by ${clock}.`;
}

function showPlan(plan, { device, info }, types) {
    const has = (feature) => device.features.has(feature);
    const subgroups = has("subgroups") ? `subgroups of ${info.subgroupMinSize === info.subgroupMaxSize ? "" : `${info.subgroupMinSize} to `}${info.subgroupMaxSize}` : "no subgroups";
    const facts = [
        ["Variant", make("code", {}, plan.variant)],
        ["Dispatches", plan.passes.map(({ workgroups }) => workgroups.join(" × ")).join(", then ") + " workgroups"],
        ["Scratch", size(plan.scratch.reduce((sum, bytes) => sum + bytes, 0))],
        ["Device", `${[info.vendor, info.architecture].filter(Boolean).join(", ") || "unnamed"}; ${subgroups}, ${has("shader-f16") ? "" : "no "}shader-f16`],
    ];
    if (types.includes("float16") && !has("shader-f16")) {
        facts.push(["float16", "in pairs, packed in words of 32 bits, as the device has no type for it"]);
    }
    fillFacts("plan", facts);
    $("shaders").replaceChildren(...plan.shaders.map(({ label, wgsl }) => make("details", {},
        make("summary", {}, "WGSL: ", make("code", {}, label)),
        make("pre", { tabindex: "0", role: "region", "aria-label": `WGSL of ${label}` }, make("code", {}, wgsl)))));
}

// ---- Running -------------------------------------------------------------------------------------

function say(text) {
    $("status").textContent = text;
    return new Promise((resolve) => setTimeout(resolve)); // so that it is seen
}

function readForm() {
    const operator = $("operator").value;
    const type = $("type").value;
    const scaleType = operator === SKIP ? type : $("scale-type").value;
    return { operator, type, scaleType, rows: $("rows").valueAsNumber, width: $("hidden-size").valueAsNumber, optional: $("optional").checked };
}

function makeInputs({ operator, type, scaleType, rows, width }) {
    const x = randomTensor([rows, width], type, 1);
    const scale = randomTensor([width], scaleType, 2);
    return operator === SKIP ? { inputT: x, skipT: randomTensor([rows, width], type, 3), gammaT: scale } : { x, scale };
}

async function run(choice) {
    await say("Looking for the GPU…");
    const found = await (opened ??= openDevice());
    if (!found) {
        tellAbsence("This browser has WebGPU, and it found no GPU that it would use.");
        return;
    }
    const kernel = await findKernel(choice.operator, found.device);
    const inputs = makeInputs(choice);
    const outputs = choice.optional ? kernel.contract.outputs.filter(({ optional }) => optional).map(({ key }) => key) : [];
    const plan = kernel.plan(inputs, { outputs });
    const tensors = [];
    const keep = (entries) => Object.fromEntries(entries.map(([key, tensor]) => (tensors.push(tensor), [key, tensor])));
    try {
        await say("Running…");
        const uploads = Object.entries(inputs).map(async ([key, tensor]) => [key, await kernel.upload(tensor)]);
        const given = keep(await Promise.all(uploads));
        const made = keep(Object.entries(await kernel(given, { outputs, output: "gpu" })));
        const results = {};
        for (const [key, tensor] of Object.entries(made)) {
            results[key] = { data: await tensor.download(), shape: tensor.shape, dtype: tensor.dtype };
        }
        await say("Comparing with float64…");
        const rowOf = reference(choice.operator, inputs, { input: choice.type, scale: choice.scaleType });
        const compared = await compare(results, rowOf, choice.rows, () => say("Comparing with float64…"));
        await say("Taking times…");
        const bytes = [...Object.values(inputs), ...Object.values(results)].reduce((sum, { data }) => sum + data.byteLength, 0);
        const times = await measure(found.device, (timestampWrites) => kernel(given, { outputs, into: made, timestampWrites }), bytes);

        showTitle(choice);
        const right = showCheck(compared);
        showTimes(times);
        showPlan(plan, found, [choice.type, choice.scaleType]);
        $("result").hidden = false;
        await say(`${right ? "Done: the result is right." : "Done: the result is wrong."} It took ${duration(times.run)} on the GPU.`);
    } finally {
        tensors.forEach((tensor) => tensor.destroy());
    }
}

// ---- The form ------------------------------------------------------------------------------------

function follow() {
    const skips = $("operator").value === SKIP;
    $("scale-type").disabled = skips;
    if (skips) {
        $("scale-type").value = $("type").value;
    }
    const elements = $("rows").valueAsNumber * $("hidden-size").valueAsNumber;
    $("hidden-size").setCustomValidity(
        elements > MOST_ELEMENTS ? `Rows times hidden size: at most ${spaced(MOST_ELEMENTS)} on this page.` : "",
    );
}

let running = false;

async function submit(event) {
    event.preventDefault();
    if (running) {
        return;
    }
    running = true;
    $("run").setAttribute("aria-disabled", "true"); // not disabled: it keeps the focus
    $("answer").setAttribute("aria-busy", "true");
    $("fault").hidden = true;
    try {
        await run(readForm());
    } catch (error) {
        $("result").hidden = true;
        await say("");
        $("fault").textContent = error instanceof DeviceLostError ? `${error.message}. Run it again: it gets a new device.` : error.message;
        $("fault").hidden = false;
        if (!(error instanceof Error)) {
            throw error;
        }
    } finally {
        running = false;
        $("run").removeAttribute("aria-disabled");
        $("answer").removeAttribute("aria-busy");
    }
}

if (navigator.gpu) {
    $("form").addEventListener("input", follow);
    $("form").addEventListener("submit", submit);
    follow();
} else {
    tellAbsence(
        isSecureContext
            ? "This browser has no WebGPU, or it is switched off."
            : "This page came over plain http, and browsers have WebGPU only for pages that come over https or from this machine.",
    );
}
