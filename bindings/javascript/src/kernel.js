// kernel.js: a package on a device: from a call's tensors to a plan, and off it goes.
import { DeviceError, PackageError, RequestError } from "./errors.js";
import { checkLength, typeOfArray, wordBytes } from "./data.js";
import { profileOf } from "./device.js";
import { TENSOR_USAGE } from "./context.js";
import { relate } from "./memory.js";
import { Program } from "./program.js";
import { Run } from "./run.js";
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
 *
 * A call that was read.
 * @typedef {object} Call
 * @property {Record<string, Operand>} given
 * @property {Record<string, Operand>} into
 * @property {Set<string>} copied inputs that have to be read from elsewhere
 * @property {string} key the request without the device
 */

function refuse(sentence) {
    throw new RequestError(sentence, { code: "INVALID_ARGUMENT" });
}

/** JSON has no name for what is no number. */
function jsonNumber(value) {
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

/** A shape that is none is the planner's to refuse. @param {Operand} operand */
function extentOf({ buffer, offset, shape, dtype }) {
    return { buffer, begin: offset, bytes: Array.isArray(shape) ? wordBytes(shape, dtype) : 0 };
}

function checkOptions(name, options) {
    for (const option of Object.keys(options)) {
        if (!OPTIONS.includes(option)) {
            refuse(`${name}: there is no option ${option}; there are ${OPTIONS.join(", ")}`);
        }
    }
    if (options.output !== undefined && options.output !== "cpu" && options.output !== "gpu") {
        refuse(`${name}: the option output is ${JSON.stringify(options.output)}; allowed: "cpu", "gpu"`);
    }
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

    /** A program that the device did not take is not kept. @param {Call} call */
    async #run(call, options) {
        const faults = [];
        const program = this.#program(call.key, faults);
        try {
            return await new Run(this.#context, program, this.contract.name, call, options, faults).finish();
        } catch (error) {
            if (error instanceof DeviceError) {
                this.#programs.delete(call.key);
            }
            throw error;
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

    /** @param {string} what for messages @param {any} given @returns {Operand} */
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

    /** All that can be said before there is a plan. The request is also the program's key. @returns {Call} */
    #read(inputs, options) {
        const { name } = this.contract;
        checkOptions(name, options);
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
        const { inPlace, besideOutput, copied } = relate(name, mapValues(given, extentOf), mapValues(into, extentOf));
        const key = JSON.stringify({
            inputs: mapValues(given, ({ dtype, shape }) => ({ dtype, shape })),
            outputs: [...(options.outputs ?? []), ...Object.keys(into)],
            inPlace,
            besideOutput,
            attributes: mapValues(options.attrs ?? {}, jsonNumber),
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
