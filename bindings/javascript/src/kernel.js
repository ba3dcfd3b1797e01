// kernel.js: a package on a device: from a call's tensors to a plan, and off it goes.
import { PackageError, RequestError, RmsnormError } from "./errors.js";
import { checkLength, toArray, typeOfArray, wordBytes } from "./data.js";
import { profileOf } from "./device.js";
import { TENSOR_USAGE } from "./context.js";
import { relate } from "./memory.js";
import { Program } from "./program.js";
import { Tensor } from "./tensor.js";

/** Programs kept for a kernel, the latest used. */
const MOST_PROGRAMS = 256;

const OPTIONS = ["attrs", "output", "outputs", "into", "tunables", "variant", "batchInvariant", "signal", "timestampWrites"];

/**
 * A tensor of a call.
 * @typedef {object} Operand
 * @property {number[]} shape
 * @property {string} dtype
 * @property {ArrayBufferView & {length: number} | undefined} data of the host
 * @property {GPUBuffer | null} buffer of the device
 * @property {number} offset
 */

function refuse(sentence) {
    throw new RequestError(sentence, { code: "INVALID_ARGUMENT" });
}

/** JSON has no name for what is no number. */
function jsonNumber(value) {
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

export class Kernel {
    #package;
    #context;
    #profile;
    /** @type {Map<string, Program>} by the request */
    #programs = new Map();
    #running = 0;
    #disposed = false;

    /**
     * @param {import("./planner.js").Package} opened
     * @param {import("./context.js").Context} context
     */
    constructor(opened, context) {
        this.#package = opened;
        this.#context = context;
        this.#profile = profileOf(context.device);
        context.enter();
    }

    get contract() {
        return this.#package.contract;
    }

    get device() {
        return this.#context.device;
    }

    // ---- The life of it ---------------------------------------------------------------------

    dispose() {
        if (!this.#disposed) {
            this.#disposed = true;
            this.#finish();
        }
    }

    /** Once nothing runs any more. */
    #finish() {
        if (this.#disposed && this.#running === 0) {
            for (const program of this.#programs.values()) {
                program.destroy();
            }
            this.#programs.clear();
            this.#package.close();
            this.#context.leave();
        }
    }

    #check() {
        if (this.#disposed) {
            throw new RequestError(`${this.contract.name}: the kernel was disposed`, { code: "DISPOSED" });
        }
        this.#context.checkAlive();
    }

    // ---- A call -----------------------------------------------------------------------------

    /**
     * @param {Record<string, any>} inputs
     * @param {Record<string, any>} [options]
     */
    async run(inputs, options = {}) {
        this.#check();
        this.#running++;
        try {
            options.signal?.throwIfAborted();
            return await this.#run(this.#read(inputs, options), options);
        } finally {
            this.#running--;
            this.#finish();
        }
    }

    /** The plan that such a call runs. */
    plan(inputs, options = {}) {
        this.#check();
        return this.#package.plan(this.#withDevice(this.#read(inputs, options).key));
    }

    /** @param {{data: any, shape: number[]}} operand @returns {Promise<Tensor>} */
    async upload(operand) {
        this.#check();
        const { data, shape, dtype } = this.#operand("the tensor", operand);
        if (!data) {
            refuse("the tensor has no data");
        }
        if (!Array.isArray(shape) || !shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
            refuse("the tensor's shape is no list of whole numbers from 0 on");
        }
        checkLength("the tensor", data, shape);
        const faults = [];
        const buffer = this.#context.take(wordBytes(shape, dtype), TENSOR_USAGE, "a tensor", faults);
        this.#context.write(buffer, 0, data);
        await Promise.all(faults);
        return new Tensor(this.#context, [...shape], dtype, buffer, 0, true);
    }

    // ---- Reading what was given -------------------------------------------------------------

    /** @returns {Operand} */
    #operand(what, given) {
        if (given instanceof Tensor) {
            if (given.context !== this.#context) {
                refuse(`${what} is of another device`);
            }
            if (!given.buffer) {
                refuse(`${what} was destroyed`);
            }
        } else if (ArrayBuffer.isView(given) || (given?.data === undefined && !given?.buffer)) {
            refuse(`${what} is neither {data, shape} nor a tensor of the device`);
        }
        if (given.data === undefined) {
            return { shape: given.shape, dtype: given.dtype, data: undefined, buffer: given.buffer, offset: given.offset ?? 0 };
        }
        const dtype = typeOfArray(given.data);
        if (dtype === undefined) {
            refuse(`${what}: its data is no Float32Array, and no Float16Array or Uint16Array of float16`);
        }
        if (given.dtype !== undefined && given.dtype !== dtype) {
            refuse(`${what} is of type ${given.dtype}, its data of ${dtype}`);
        }
        return { shape: given.shape, dtype, data: given.data, buffer: null, offset: 0 };
    }

    /** All of a call that can be said before there is a plan: its operands, and the request that is also the program's key. */
    #read(inputs, options) {
        const { name } = this.contract;
        for (const option of Object.keys(options)) {
            if (!OPTIONS.includes(option)) {
                refuse(`${name}: there is no option ${option}; there are ${OPTIONS.join(", ")}`);
            }
        }
        if (options.output !== undefined && options.output !== "cpu" && options.output !== "gpu") {
            refuse(`${name}: the option output is ${JSON.stringify(options.output)}; allowed: "cpu", "gpu"`);
        }
        const given = {};
        for (const [key, value] of Object.entries(inputs ?? {})) {
            if (value !== undefined && value !== null) {
                given[key] = this.#operand(`${name}: ${key}`, value);
            }
        }
        const into = {};
        for (const [key, value] of Object.entries(options.into ?? {})) {
            into[key] = this.#operand(`${name}: ${key}`, value);
            if (into[key].data) {
                refuse(`${name}: ${key} is no tensor of the device, into which alone results go`);
            }
        }
        const extents = (operands) =>
            Object.fromEntries(
                Object.entries(operands).map(([key, { buffer, offset, shape, dtype }]) => [
                    key,
                    { buffer, begin: offset, bytes: Array.isArray(shape) ? wordBytes(shape, dtype) : 0 },
                ]),
            );
        const { inPlace, besideOutput, copied } = relate(name, extents(given), extents(into));
        const key = JSON.stringify({
            inputs: Object.fromEntries(Object.entries(given).map(([k, { dtype, shape }]) => [k, { dtype, shape }])),
            outputs: [...(options.outputs ?? []), ...Object.keys(into)],
            inPlace,
            besideOutput,
            attributes: Object.fromEntries(Object.entries(options.attrs ?? {}).map(([k, v]) => [k, jsonNumber(v)])),
            tunables: options.tunables ?? {},
            variant: options.variant,
            batchInvariant: options.batchInvariant === true,
        });
        return { given, into, copied, key };
    }

    // ---- Programs ---------------------------------------------------------------------------

    #withDevice(key) {
        return `${key.slice(0, -1)},"device":${this.#profile}}`;
    }

    /** @returns {Program} */
    #program(key, faults) {
        let program = this.#programs.get(key);
        if (program) {
            this.#programs.delete(key); // and behind the others
        } else {
            program = new Program(this.#context, this.#package.plan(this.#withDevice(key)), faults);
            if (this.#programs.size >= MOST_PROGRAMS) {
                this.#programs.delete(this.#programs.keys().next().value);
            }
        }
        this.#programs.set(key, program);
        return program;
    }

    // ---- Memory -----------------------------------------------------------------------------

    /** What the device would refuse, in words of the call. */
    #checkPlaces(operands) {
        const alignment = this.device.limits.minStorageBufferOffsetAlignment;
        for (const [key, { buffer, offset, shape, dtype }] of Object.entries(operands)) {
            if (buffer === null) {
                continue;
            }
            const bytes = wordBytes(shape, dtype);
            const what = `${this.contract.name}: ${key}`;
            if (!Number.isSafeInteger(offset) || offset < 0 || offset % alignment !== 0) {
                refuse(`${what} begins at offset ${offset}; allowed on this device: multiples of ${alignment}`);
            }
            if (bytes > buffer.size - offset) {
                refuse(`${what} takes ${bytes} bytes from offset ${offset} on; its buffer has ${buffer.size}`);
            }
            if (bytes > 0 && (buffer.usage & 0x80) === 0) {
                refuse(`${what}: its buffer lacks the usage STORAGE`);
            }
        }
    }

    #checkInto(into, plan) {
        for (const [key, { shape, dtype }] of Object.entries(into)) {
            const made = plan.outputs[key];
            if (made.dtype !== dtype || made.shape.length !== shape.length || made.shape.some((d, i) => d !== shape[i])) {
                refuse(
                    `${this.contract.name}: ${key} is to go into ${dtype} [${shape.join(", ")}]; it is ${made.dtype} ` +
                        `[${made.shape.join(", ")}]`,
                );
            }
        }
    }

    // ---- Running ----------------------------------------------------------------------------

    async #run({ given, into, copied, key }, options) {
        const context = this.#context;
        const faults = [];
        const program = this.#program(key, faults);
        const { plan } = program;
        for (const [name, { data, shape }] of Object.entries(given)) {
            if (data) {
                checkLength(`${this.contract.name}: ${name}`, data, shape);
            }
        }
        this.#checkPlaces(given);
        this.#checkPlaces(into);
        this.#checkInto(into, plan);

        const spare = []; // given back once the run is submitted
        const take = (what, bytes) => context.take(bytes, TENSOR_USAGE, what, faults);
        const from = {};
        for (const [name, { data, buffer, offset, shape, dtype }] of Object.entries(given)) {
            from[name] = { buffer, offset };
            if (data || copied.has(name)) {
                from[name] = { buffer: take(name, wordBytes(shape, dtype)), offset: 0 };
                spare.push(from[name].buffer);
            }
            if (data) {
                context.write(from[name].buffer, 0, data);
            }
        }
        const made = {};
        const to = {};
        for (const [name, { shape, dtype }] of Object.entries(plan.outputs)) {
            const target = into[name];
            made[name] = target ?? { shape, dtype, buffer: take(name, wordBytes(shape, dtype)), offset: 0 };
            to[name] = { buffer: made[name].buffer, offset: made[name].offset };
        }
        const toHost = (name) => options.output !== "gpu" && !into[name];
        const results = Object.keys(made).filter((name) => !into[name]); // whose memory is this call's
        const giveBack = (names) => names.forEach((name) => context.give(made[name].buffer));

        const submit = () => {
            options.signal?.throwIfAborted();
            context.checkAlive();
            const encodeAll = () => {
                context.ensureScratch(plan.scratch, faults);
                const encoder = context.device.createCommandEncoder();
                for (const name of copied) {
                    const { buffer, offset, shape, dtype } = given[name];
                    encoder.copyBufferToBuffer(buffer, offset, from[name].buffer, 0, wordBytes(shape, dtype));
                }
                if (plan.passes.length > 0) {
                    program.encode(encoder, from, to, options.timestampWrites);
                }
                const staged = {};
                for (const [name, { buffer, shape, dtype }] of Object.entries(made)) {
                    const bytes = wordBytes(shape, dtype);
                    if (toHost(name) && bytes > 0) {
                        staged[name] = { staging: context.stage(encoder, buffer, 0, bytes, faults), bytes };
                    }
                }
                context.device.queue.submit([encoder.finish()]);
                return staged;
            };
            return program.tried ? encodeAll() : context.watch(this.contract.name, faults, encodeAll);
        };

        let staged;
        try {
            staged = await context.inOrder(program.ready, submit);
        } catch (error) {
            giveBack(results);
            throw error instanceof RmsnormError || options.signal?.aborted
                ? error
                : await context.explain(error, this.contract.name);
        } finally {
            spare.forEach((buffer) => context.give(buffer));
        }
        giveBack(results.filter(toHost));
        const reading = Object.entries(staged).map(async ([name, { staging, bytes }]) => [
            name,
            await context.read(staging, bytes),
        ]);
        reading.forEach((read) => read.catch(() => {}));
        let read;
        try {
            await Promise.all(faults);
            program.tried = true;
            read = Object.fromEntries(await Promise.all(reading));
            options.signal?.throwIfAborted();
        } catch (error) {
            giveBack(results.filter((name) => !toHost(name)));
            throw error;
        }
        return Object.fromEntries(
            Object.entries(made).map(([name, { shape, dtype, buffer, offset }]) => [
                name,
                this.#result(options, into, name, shape, dtype, buffer, offset, read[name]),
            ]),
        );
    }

    #result(options, into, name, shape, dtype, buffer, offset, bytes) {
        if (into[name]) {
            const target = options.into[name];
            return target instanceof Tensor ? target : new Tensor(this.#context, shape, dtype, buffer, offset, false);
        }
        return options.output === "gpu"
            ? new Tensor(this.#context, shape, dtype, buffer, offset, true)
            : { data: toArray(bytes ?? new ArrayBuffer(0), shape, dtype), shape, dtype };
    }
}

/** A package of an unknown spec: its contract can be read, and running it is refused. */
export class ContractOnly {
    #sentence;

    /** @param {import("./planner.js").Package} opened @param {string} instead what to do instead */
    constructor(opened, instead) {
        this.contract = opened.contract;
        try {
            opened.plan("{}");
        } catch (error) {
            this.#sentence = error.message + instead;
        }
        opened.close();
    }

    #refuse() {
        throw new PackageError(this.#sentence, { code: "UNSUPPORTED" });
    }

    async run() {
        this.#refuse();
    }

    plan() {
        this.#refuse();
    }

    async upload() {
        this.#refuse();
    }

    dispose() {}
}
