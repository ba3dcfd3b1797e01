// program.js: a plan made ready for a device: pipelines, uniforms, bind groups.
import { USAGE } from "./context.js";

/** Every pass has its uniforms at a multiple of this: more than any device asks for. */
const UNIFORM_STEP = 256;

/** Where a tensor lies. @typedef {{buffer: GPUBuffer, offset: number}} Place */

export class Program {
    #context;
    #uniforms = null;
    #pipelines = [];
    /** The bind groups of the last run, and what they bind. */
    #groups = [];
    #bound = [];

    /** @type {Promise<void>} until the pipelines are there */
    ready;

    /**
     * @param {import("./context.js").Context} context
     * @param {import("./planner.js").Plan} plan
     * @param {Promise<void>[]} faults
     */
    constructor(context, plan, faults) {
        this.#context = context;
        this.plan = plan;
        const make = () => {
            this.ready = Promise.all(plan.shaders.map((shader) => context.pipeline(shader))).then((pipelines) => {
                this.#pipelines = pipelines;
            });
            this.#writeUniforms();
        };
        context.watch("the shaders and uniforms", faults, make, ["validation", "out-of-memory", "internal"]);
        this.ready.catch(() => {});
    }

    #writeUniforms() {
        const { passes } = this.plan;
        if (passes.every((pass) => pass.uniforms.length === 0)) {
            return;
        }
        const words = new Uint32Array((passes.length * UNIFORM_STEP) / 4);
        passes.forEach((pass, i) => words.set(pass.uniforms, (i * UNIFORM_STEP) / 4));
        this.#uniforms = this.#context.device.createBuffer({
            label: "uniforms",
            size: words.byteLength,
            usage: USAGE.UNIFORM | USAGE.COPY_DST,
        });
        this.#context.device.queue.writeBuffer(this.#uniforms, 0, words);
    }

    /** What was submitted is not disturbed. */
    destroy() {
        this.#uniforms?.destroy();
        this.#uniforms = null;
        this.#groups = [];
    }

    /**
     * @param {GPUCommandEncoder} encoder
     * @param {Record<string, Place>} inputs
     * @param {Record<string, Place>} outputs
     * @param {GPUComputePassTimestampWrites} [timestampWrites]
     */
    encode(encoder, inputs, outputs, timestampWrites) {
        this.#bind({ input: inputs, output: outputs });
        const computing = encoder.beginComputePass({ timestampWrites });
        this.plan.passes.forEach((pass, i) => {
            computing.setPipeline(this.#pipelines[pass.shader]);
            computing.setBindGroup(0, this.#groups[i]);
            computing.dispatchWorkgroups(...pass.workgroups);
        });
        computing.end();
    }

    #bind(places) {
        const resources = this.plan.passes.map((pass) =>
            pass.bindings.map(({ kind, slot, offset, size }) => {
                const place = kind === "scratch" ? { buffer: this.#context.scratch[slot], offset: 0 } : places[kind][slot];
                return { buffer: place.buffer, offset: place.offset + offset, size };
            }),
        );
        const bound = resources.flat();
        const same =
            this.#groups.length > 0 &&
            bound.every(({ buffer, offset }, i) => buffer === this.#bound[i].buffer && offset === this.#bound[i].offset);
        if (same) {
            return;
        }
        this.#bound = bound;
        this.#groups = this.plan.passes.map((pass, i) => {
            const entries = pass.bindings.map(({ binding }, b) => ({ binding, resource: resources[i][b] }));
            if (pass.uniforms.length > 0) {
                const resource = { buffer: this.#uniforms, offset: i * UNIFORM_STEP, size: UNIFORM_STEP };
                entries.push({ binding: pass.uniformBinding, resource });
            }
            const layout = this.#pipelines[pass.shader].getBindGroupLayout(0);
            return this.#context.device.createBindGroup({ layout, entries });
        });
    }
}
