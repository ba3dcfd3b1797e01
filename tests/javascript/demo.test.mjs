// The demo page in a browser: what it shows, by mouse and by keyboard alone, in light and dark, wide and narrow, and without WebGPU.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { PICTURES, useBrowser } from "./browser.mjs";

const use = useBrowser();
const DEMO = "/rmsnorm/demo/index.html";
const SKIP = "com.microsoft.SkipSimplifiedLayerNormalization";

const picture = (page, name) => page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
const done = (page) => page.waitForFunction(() => /^Done: the result is (right|wrong)/.test(document.getElementById("status").textContent));

async function run(page, choice) {
    for (const [label, value] of Object.entries(choice)) {
        const field = page.getByLabel(label, { exact: true });
        await (typeof value === "number" ? field.fill(String(value)) : value === true ? field.check() : field.selectOption(value));
    }
    await page.getByRole("button", { name: "Run" }).click();
    await done(page);
    return page.locator("#answer").innerText();
}

/** Of text and ground, by the rule of the Web Content Accessibility Guidelines. */
function contrasts() {
    const channels = (color) => color.match(/[\d.]+/g).slice(0, 3).map(Number);
    const light = (color) => {
        const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (element) => {
        const { backgroundColor } = getComputedStyle(element);
        return /, 0\)$/.test(backgroundColor) && element.parentElement ? groundOf(element.parentElement) : backgroundColor;
    };
    const texts = [...document.querySelectorAll("h1, h2, h3, p, label, dt, dd, th, td, summary, pre, button, select, input")];
    return texts.filter((element) => element.checkVisibility() && !element.disabled && element.textContent.trim()).map((element) => {
        const [a, b] = [light(getComputedStyle(element).color), light(groundOf(element))];
        return [`${element.tagName} ${element.textContent.trim().slice(0, 20)}`, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    });
}

test("each operator is run, found right, timed, and shown with its variant and WGSL", async (t) => {
    const page = await use.open(t, DEMO);
    const cases = [
        { Operator: "ai.onnx.SimplifiedLayerNormalization", Rows: 64, "Hidden size": 1024, "Optional outputs, too": true },
        { Operator: "ai.onnx.RMSNormalization", "Input type": "float16", "Scale type": "float16", Rows: 3, "Hidden size": 1001 },
        { Operator: SKIP, "Input type": "float16", Rows: 37, "Hidden size": 65 },
        { Operator: SKIP, "Input type": "float32", Rows: 1, "Hidden size": 300000 },
    ];
    for (const choice of cases) {
        const text = await run(page, choice);
        assert.match(text, /✓ Right: no element is more than \d+\.\d\d ulp of float(16|32)/, text);
        assert.match(text, /Done: the result is right\. It took [\d.\u202f]+ (µs|ms) on the GPU/);
        assert.match(text, /times as long as a copy of the same|Too short for this browser’s clock/);
        assert.ok(text.replaceAll("\u00a0", " ").includes(`${choice.Operator.split(".").at(-1)}, ${choice.Rows} × `), text);
        assert.match(text, /Variant\s+\S+/);
        assert.match(text, /google, swiftshader; subgroups of 4, no shader-f16/);
        assert.equal(/packed in words/.test(text), choice["Input type"] === "float16");
        assert.ok(await page.locator("#errors tbody tr").count() >= (choice.Operator === SKIP ? 4 : choice["Optional outputs, too"] ? 2 : 1));
        const shaders = page.locator("#shaders details");
        assert.ok(await shaders.count() >= 1);
        await shaders.first().locator("summary").click();
        assert.match(await shaders.first().locator("pre").innerText(), /@compute @workgroup_size[^]*fn main/);
    }
    assert.ok(await page.locator("#shaders details").count() > 1, "one long row is split: more than one shader");
    page.assertNoErrors();
});

test("the check finds a wrong result", async (t) => {
    const page = await use.open(t, DEMO);
    await page.evaluate(() => {
        const { writeBuffer } = GPUQueue.prototype; // the first word of every tensor is damaged on its way
        GPUQueue.prototype.writeBuffer = function (buffer, offset, data, ...rest) {
            const copy = data.slice();
            if (buffer.usage & GPUBufferUsage.STORAGE) {
                copy[1] ^= 0x10;
            }
            return writeBuffer.call(this, buffer, offset, copy, ...rest);
        };
    });
    const text = await run(page, { Rows: 4, "Hidden size": 64 });
    assert.match(text, /✗ Wrong: an element of y is too far from the exact result/);
    assert.match(text, /Done: the result is wrong/);
    page.assertNoErrors();
});

test("times without the device's timestamps, and with those that a browser rounds", async (t) => {
    const page = await use.open(t, DEMO, (opened) => opened.addInitScript(() => {
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = function ({ requiredFeatures, ...rest }) {
            return requestDevice.call(this, { ...rest, requiredFeatures: requiredFeatures.filter((name) => name !== "timestamp-query") });
        };
    }));
    const clock = () => page.locator("#clock").innerText();
    await run(page, { Rows: 16, "Hidden size": 2048 });
    assert.match(await clock(), /by the page’s clock around whole runs/);
    assert.match(await page.locator("#bars").innerText(), /This kernel\s+[\d.]+ (µs|ms) · [\d.]+ GB\/s\s+Copy\s+[\d.]+ (µs|ms)/);

    const other = await use.open(t, DEMO);
    await other.evaluate(() => {
        const { slice } = BigUint64Array.prototype;
        BigUint64Array.prototype.slice = function () {
            return slice.call(this).map((time) => time - (time % 100000n));
        };
    });
    await run(other, { Rows: 128, "Hidden size": 2048 });
    assert.match(await other.locator("#clock").innerText(), /which the browser rounds to 0.1 ms: means/);
    assert.match(await other.locator("#ratio").innerText(), /times as long as a copy of the same 2.11 MB/);
    page.assertNoErrors();
    other.assertNoErrors();
});

test("by keyboard alone", async (t) => {
    const page = await use.open(t, DEMO);
    const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
    const order = [];
    for (let i = 0; i < 7; i++) {
        await page.keyboard.press("Tab");
        order.push(await focused());
        const [style, width] = await page.evaluate(() => {
            const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
            return [outlineStyle, outlineWidth];
        });
        assert.ok(style === "solid" && parseFloat(width) >= 2, `the focus on ${order.at(-1)} is seen: ${style} ${width}`);
        if (order.at(-1) === "operator") {
            await page.keyboard.press("ArrowDown");
        } else if (order.at(-1) === "rows") {
            await page.keyboard.type("5"); // in place of what is there
        }
    }
    assert.deepEqual(order, ["operator", "type", "scale-type", "rows", "hidden-size", "optional", "run"]);
    await page.keyboard.press("Enter");
    await done(page);
    assert.equal(await focused(), "run", "the focus stays");
    assert.match(await page.locator("#result-title").innerText(), /^RMSNormalization, 5\s×\s4/);
    let summary = "";
    for (let i = 0; i < 6 && !summary.startsWith("WGSL"); i++) {
        await page.keyboard.press("Tab");
        summary = await page.evaluate(() => document.activeElement.textContent);
    }
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("#shaders pre").first().isVisible());
    page.assertNoErrors();
});

test("too much is said at the field, and not run", async (t) => {
    const page = await use.open(t, DEMO);
    await page.getByLabel("Rows").fill("100000");
    await page.getByLabel("Hidden size").fill("4096");
    await page.getByRole("button", { name: "Run" }).click();
    assert.match(await page.locator("#hidden-size").evaluate((field) => field.validationMessage), /at most 33.554.432/);
    assert.ok(!(await page.locator("#result").isVisible()));
    assert.equal(await page.locator("#status").innerText(), "Nothing has run yet.");
    page.assertNoErrors();
});

test("light and dark are legible; a narrow screen needs no scrolling sideways", async (t) => {
    const page = await use.open(t, DEMO);
    await run(page, { Operator: SKIP, "Input type": "float16", Rows: 128, "Hidden size": 4096 });
    await page.locator("#shaders summary").first().click();
    const grounds = [];
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const found = await page.evaluate(contrasts);
        assert.ok(found.length > 30);
        assert.deepEqual(found.filter(([, ratio]) => ratio < 4.5), [], colorScheme);
        grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
        await picture(page, colorScheme);
        await page.setViewportSize({ width: 360, height: 740 });
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(sideways, 0);
        await picture(page, `${colorScheme}-narrow`);
        await page.setViewportSize({ width: 1200, height: 900 });
    }
    assert.notEqual(grounds[0], grounds[1]);
    page.assertNoErrors();
});

test("a lost device is said, and the next run has another", async (t) => {
    const page = await use.open(t, DEMO, (opened) => opened.addInitScript(() => {
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = async function (...given) {
            globalThis.lastDevice = await requestDevice.apply(this, given);
            return globalThis.lastDevice;
        };
    }));
    await run(page, { Rows: 2, "Hidden size": 64 });
    await page.evaluate(() => {
        const { submit } = GPUQueue.prototype; // in the middle of the next run
        GPUQueue.prototype.submit = function (...given) {
            GPUQueue.prototype.submit = submit;
            submit.apply(this, given);
            globalThis.lastDevice.destroy();
        };
    });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").innerText(), /device is lost.*Run it again/s);
    assert.ok(!(await page.locator("#result").isVisible()));
    assert.match(await run(page, {}), /✓ Right/);
    assert.ok(!(await page.getByRole("alert").isVisible()));
    page.assertNoErrors();
});

test("without WebGPU the page says so, and what helps", async (t) => {
    const page = await use.open(t, DEMO, (opened) => opened.addInitScript(() => delete Navigator.prototype.gpu));
    assert.match(await page.locator("#absent").innerText(), /WebGPU is not available here[^]*no WebGPU, or it is switched off[^]*https/);
    assert.ok(!(await page.locator("#form").isVisible()));
    await picture(page, "absent");
    page.assertNoErrors();
});

test("without an adapter the page says so", async (t) => {
    const page = await use.open(t, DEMO, (opened) => opened.addInitScript(() => { GPU.prototype.requestAdapter = async () => null; }));
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator("#absent").waitFor();
    assert.match(await page.locator("#absent-reason").innerText(), /found no GPU/);
    page.assertNoErrors();
});
