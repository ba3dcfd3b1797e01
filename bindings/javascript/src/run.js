// run.js: one call whose plan is known: its memory, its commands, its results.
import { RequestError, RmsnormError } from "./errors.js";
import { checkLength, toArray, wordBytes } from "./data.js";
import { TENSOR_USAGE, USAGE } from "./context.js";
import { Tensor } from "./tensor.js";

function refuse(sentence) {
    throw new RequestError(sentence, { code: "INVALID_ARGUMENT" });
}

/** What the device would refuse, in words of the call. */
function checkPlaces(name, device, operands) {
    const alignment = device.limits.minStorageBufferOffsetAlignment;
    for (const [key, { buffer, offset, shape, dtype }] of Object.entries(operands)) {
        if (buffer === null) {
            continue;
        }
        const bytes = wordBytes(shape, dtype);
        if (!Number.isSafeInteger(offset) || offset < 0 || offset % alignment !== 0) {
            refuse(`${name}: ${key} begins at offset ${offset}; allowed on this device: multiples of ${alignment}`);
        }
        if (bytes > buffer.size - offset) {
            refuse(`${name}: ${key} takes ${bytes} bytes from offset ${offset} on; its buffer has ${buffer.size}`);
        }
        if (bytes > 0 && (buffer.usage & USAGE.STORAGE) === 0) {
            refuse(`${name}: ${key}: its buffer lacks the usage STORAGE`);
        }
    }
}

function checkInto(name, into, plan) {
    for (const [key, { shape, dtype }] of Object.entries(into)) {
        const made = plan.outputs[key];
        if (made.dtype !== dtype || made.shape.length !== shape.length || made.shape.some((dim, i) => dim !== shape[i])) {
            refuse(
                `${name}: ${key} is to go into ${dtype} [${shape.join(", ")}]; it is ${made.dtype} [${made.shape.join(", ")}]`,
            );
        }
    }
}

export class Run {
    #context;
    #program;
    #name;
    #call;
    #options;
    /** @type {Promise<void>[]} what the device may say of this call */
    #faults;
    /** Places of inputs and outputs. */
    #from = {};
    #to = {};
    /** Buffers of this call: of inputs that were in memory or are copied; of results in memory; of results on the device. */
    #inputs = [];
    #toHost = [];
    #toDevice = [];

    /**
     * @param {import("./context.js").Context} context
     * @param {import("./program.js").Program} program
     * @param {string} name of the operator, for messages
     * @param {import("./kernel.js").Call} call
     * @param {Record<string, any>} options
     * @param {Promise<void>[]} faults
     */
    constructor(context, program, name, call, options, faults) {
        this.#context = context;
        this.#program = program;
        this.#name = name;
        this.#call = call;
        this.#options = options;
        this.#faults = faults;
        this.#check();
        this.#placeInputs();
        this.#placeOutputs();
    }

    #check() {
        const { given, into } = this.#call;
        for (const [key, { data, shape }] of Object.entries(given)) {
            if (data) {
                checkLength(`${this.#name}: ${key}`, data, shape);
            }
        }
        checkPlaces(this.#name, this.#context.device, given);
        checkPlaces(this.#name, this.#context.device, into);
        checkInto(this.#name, into, this.#program.plan);
    }

    // ---- Memory -----------------------------------------------------------------------------

    #take(what, { shape, dtype }) {
        return this.#context.take(wordBytes(shape, dtype), TENSOR_USAGE, what, this.#faults);
    }

    /** Data is on its way to the device when this returns. */
    #placeInputs() {
        const { given, copied } = this.#call;
        for (const [key, operand] of Object.entries(given)) {
            this.#from[key] = { buffer: operand.buffer, offset: operand.offset };
            if (operand.data || copied.has(key)) {
                this.#from[key] = { buffer: this.#take(key, operand), offset: 0 };
                this.#inputs.push(this.#from[key].buffer);
            }
            if (operand.data) {
                this.#context.write(this.#from[key].buffer, 0, operand.data);
            }
        }
    }

    #placeOutputs() {
        for (const [key, output] of Object.entries(this.#program.plan.outputs)) {
            const target = this.#call.into[key];
            this.#to[key] = target ?? { buffer: this.#take(key, output), offset: 0 };
            if (!target) {
                (this.#options.output === "gpu" ? this.#toDevice : this.#toHost).push(key);
            }
        }
    }

    #give(keys) {
        keys.forEach((key) => this.#context.give(this.#to[key].buffer));
    }

    // ---- Commands ---------------------------------------------------------------------------

    /** @returns {Record<string, {staging: GPUBuffer, bytes: number}>} the results in memory, once they are read */
    #submit() {
        this.#options.signal?.throwIfAborted();
        this.#context.checkAlive();
        /* Every call may bring a buffer that is destroyed, mapped or another device's: the device alone knows. */
        return this.#context.watch(this.#name, this.#faults, () => this.#encode());
    }

    #encode() {
        const { device } = this.#context;
        const { plan } = this.#program;
        const encoder = device.createCommandEncoder();
        const staged = {};
        this.#context.ensureScratch(plan.scratch, this.#faults);
        for (const key of this.#call.copied) {
            const { buffer, offset, shape, dtype } = this.#call.given[key];
            encoder.copyBufferToBuffer(buffer, offset, this.#from[key].buffer, 0, wordBytes(shape, dtype));
        }
        if (plan.passes.length > 0) {
            this.#program.encode(encoder, this.#from, this.#to, this.#options.timestampWrites);
        }
        for (const key of this.#toHost) {
            const bytes = wordBytes(plan.outputs[key].shape, plan.outputs[key].dtype);
            if (bytes > 0) {
                staged[key] = { staging: this.#context.stage(encoder, this.#to[key].buffer, 0, bytes, this.#faults), bytes };
            }
        }
        device.queue.submit([encoder.finish()]);
        return staged;
    }

    // ---- Results ----------------------------------------------------------------------------

    /** Submits in the order of the calls, and waits for what is to be in memory. */
    async finish() {
        let staged;
        try {
            staged = await this.#context.inOrder(this.#program.ready, () => this.#submit());
        } catch (error) {
            this.#give([...this.#toHost, ...this.#toDevice]);
            const isOurs = error instanceof RmsnormError || this.#options.signal?.aborted;
            throw isOurs ? error : await this.#context.explain(error, this.#name);
        } finally {
            this.#inputs.forEach((buffer) => this.#context.give(buffer));
        }
        this.#give(this.#toHost);
        try {
            const bytes = await this.#read(staged);
            this.#options.signal?.throwIfAborted();
            return Object.fromEntries(Object.keys(this.#to).map((key) => [key, this.#result(key, bytes[key])]));
        } catch (error) {
            this.#give(this.#toDevice);
            throw error;
        }
    }

    async #read(staged) {
        const reading = Object.entries(staged).map(async ([key, { staging, bytes }]) => [
            key,
            await this.#context.read(staging, bytes),
        ]);
        reading.forEach((read) => read.catch(() => {})); // what the device says of the call comes first
        await Promise.all(this.#faults);
        return Object.fromEntries(await Promise.all(reading));
    }

    #result(key, bytes) {
        const { shape, dtype } = this.#program.plan.outputs[key];
        const { buffer, offset } = this.#to[key];
        const given = this.#options.into?.[key];
        if (given instanceof Tensor) {
            return given;
        }
        return given || this.#options.output === "gpu"
            ? new Tensor(this.#context, [...shape], dtype, buffer, offset, !given)
            : { data: toArray(bytes ?? new ArrayBuffer(0), shape, dtype), shape: [...shape], dtype };
    }
}
