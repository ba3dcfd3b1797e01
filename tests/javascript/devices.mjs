// devices.mjs: adapters for tests that bring a device of their own.
import { create } from "webgpu";

globalThis.testGpu = create(["backend=vulkan"]); // kept: without a reference it goes before its devices

export const openAdapter = () => globalThis.testGpu.requestAdapter();
