// kernel.js: a package on a device: from a call's tensors to a plan, and off it goes.
import { DeviceError, PackageError, RequestError, abortedBy, guard } from "./errors.js";
import { checkLength, typeOfArray, wordBytes } from "./data.js";
import { profileOf } from "./device.js";
import { TENSOR_USAGE } from "./context.js";
import { relate } from "./memory.js";
import { abortSignal, flag, object, oneOf, readOptions, text, texts } from "./options.js";
import { Program } from "./program.js";
import { Run } from "./run.js";
import { Tensor, bufferOf, contextOf } from "./tensor.js";

/** Programs kept for a kernel, the latest used. */
const MOST_PROGRAMS = 256;

const OPTIONS = {
    attrs: object,
    output: oneOf("cpu", "gpu"),
    outputs: texts,
    into: object,
    tunables: object,
    variant: text,
    batchInvariant: flag,
    signal: abortSignal,
    timestampWrites: object,
};

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

/** JSON has no name for what is no finite number, and the planner refuses null. */
function jsonNumber(value) {
    if (typeof value !== "number") {
        return null;
    }
    return Number.isFinite(value) ? value : String(value);
}

const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

/** @param {Operand} operand */
function extentOf({ buffer, offset, shape, dtype }) {
    return { buffer, begin: offset, bytes: wordBytes(shape, dtype) };
}

const isNatural = (value) => Number.isSafeInteger(value) && value >= 0;

/** @param {string} what for messages @param {any} shape @returns {readonly number[]} one that stays */
function readShape(what, shape) {
    if (!Array.isArray(shape)) {
        refuse(`${what}: its shape is no list of dims`);
    }
    const wrong = Array.from(shape).findIndex((dim) => !isNatural(dim));
    if (wrong >= 0) {
        refuse(`${what}: dim ${wrong} of its shape is no whole number from 0 on`);
    }
    return [...shape];
}

/** @param {string} what for messages @param {any} data of the host @param {any} given @returns {Operand} */
function readHostOperand(what, data, given) {
    const dtype = typeOfArray(data);
    if (dtype === undefined) {
        refuse(`${what}: its data is no Float32Array, and no Float16Array or Uint16Array of float16`);
    }
    if (given.dtype !== undefined && given.dtype !== dtype) {
        refuse(`${what}: its type is not that of its data, ${dtype}`);
    }
    const shape = readShape(what, given.shape);
    checkLength(what, data, shape);
    return { shape, dtype, data, buffer: null, offset: 0 };
}

/** @param {string} what for messages @param {any} buffer of the caller's @param {any} given @returns {Operand} */
function readBufferOperand(what, buffer, given) {
    const { dtype, offset = 0 } = given;
    if (typeof buffer !== "object" || typeof buffer.size !== "number" || typeof buffer.usage !== "number") {
        refuse(`${what}: its buffer is no GPUBuffer`);
    }
    if (dtype !== "float32" && dtype !== "float16") {
        refuse(`${what}: its type is missing, or none; allowed: float32, float16`);
    }
    if (!isNatural(offset)) {
        refuse(`${what}: its offset is no whole number from 0 on`);
    }
    return { shape: readShape(what, given.shape), dtype, data: undefined, buffer, offset };
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

    get name() {
        return this.contract.operator;
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
            throw new RequestError(`${this.name}: the kernel was disposed`, { code: "DISPOSED" });
        }
        this.#context.checkAlive();
    }

    // ---- A call -----------------------------------------------------------------------------

    /**
     * @param {Record<string, any>} inputs
     * @param {Record<string, any>} [options]
     */
    run(inputs, options) {
        return guard(this.name, () => this.#runCounted(inputs, options), abortedBy(options?.signal));
    }

    async #runCounted(inputs, given) {
        this.#check();
        this.#running++;
        try {
            const options = readOptions(this.name, given, OPTIONS);
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
            return await new Run(this.#context, program, this.name, call, options, faults).finish();
        } catch (error) {
            if (error instanceof DeviceError) {
                this.#programs.delete(call.key);
            }
            throw error;
        }
    }

    /** The plan that such a call runs. */
    plan(inputs, given) {
        return guard(this.name, () => {
            this.#check();
            const options = readOptions(this.name, given, OPTIONS);
            return this.#package.plan(this.#withDevice(this.#read(inputs, options).key));
        });
    }

    /** @param {{data: any, shape: number[]}} operand @returns {Promise<Tensor>} */
    upload(operand) {
        return guard("the upload", () => this.#upload(operand));
    }

    async #upload(operand) {
        this.#check();
        const { data, shape, dtype } = this.#operand("the tensor", operand);
        if (!data) {
            refuse("the tensor has no data");
        }
        const faults = [];
        const buffer = this.#context.take(wordBytes(shape, dtype), TENSOR_USAGE, "a tensor", faults);
        try {
            this.#context.watch("the upload", faults, () => this.#context.write(buffer, 0, data));
            await this.#context.wait(Promise.all(faults));
        } catch (error) {
            buffer.destroy();
            throw error;
        }
        return new Tensor(this.#context, shape, dtype, buffer, 0, true);
    }

    // ---- Reading what was given -------------------------------------------------------------

    /** @param {string} what for messages @param {any} given @returns {Operand} */
    #operand(what, given) {
        if (given instanceof Tensor) {
            if (contextOf(given) !== this.#context) {
                refuse(`${what} is of another device`);
            }
            const buffer = bufferOf(given);
            if (!buffer) {
                refuse(`${what} was destroyed`);
            }
            return { shape: given.shape, dtype: given.dtype, data: undefined, buffer, offset: given.offset };
        }
        const { data, buffer } = ArrayBuffer.isView(given) ? {} : (given ?? {});
        if (data !== undefined && buffer !== undefined) {
            refuse(`${what} has both data and a buffer; allowed: one of them`);
        }
        if (data === undefined && !buffer) {
            refuse(`${what} is neither {data, shape} nor a tensor of the device`);
        }
        return data === undefined ? readBufferOperand(what, buffer, given) : readHostOperand(what, data, given);
    }

    /** All that can be said before there is a plan. The request is also the program's key. @returns {Call} */
    #read(inputs, options) {
        const { name } = this;
        if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs) || ArrayBuffer.isView(inputs)) {
            refuse(`${name}: the inputs are no object that has tensors by bind key`);
        }
        const given = Object.create(null); // where __proto__ is a key like others
        for (const [key, value] of Object.entries(inputs)) {
            if (value !== undefined && value !== null) {
                given[key] = this.#operand(`${name}: ${key}`, value);
            }
        }
        const into = Object.create(null);
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
            tunables: mapValues(options.tunables ?? {}, jsonNumber),
            variant: options.variant,
            batchInvariant: options.batchInvariant ?? false,
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
