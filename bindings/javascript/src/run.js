// run.js: one call whose plan is known: its memory, its commands, its results.
import { DeviceError, RequestError, RmsnormError } from "./errors.js";
import { toArray, wordBytes } from "./data.js";
import { TENSOR_USAGE, USAGE, unlessFaulty } from "./context.js";
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
        if (offset % alignment !== 0) {
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
    /** Keys of outputs that are read back. */
    #toHost = [];
    /** Buffers of this call alone, and those of its results on the device. */
    #taken = [];
    #results = [];

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
        checkPlaces(name, context.device, call.given);
        checkPlaces(name, context.device, call.into);
        checkInto(name, call.into, program.plan);
    }

    // ---- Memory -----------------------------------------------------------------------------

    #take(what, { shape, dtype }, list) {
        const buffer = this.#context.take(wordBytes(shape, dtype), TENSOR_USAGE, what, this.#faults);
        list.push(buffer);
        return { buffer, offset: 0 };
    }

    /** Data is on its way to the device when this returns. */
    #place() {
        if (Object.values(this.#call.given).some(({ data }) => data)) {
            this.#context.watch(this.#name, this.#faults, () => this.#placeInputs());
        } else {
            this.#placeInputs();
        }
        this.#placeOutputs();
    }

    #placeInputs() {
        const { given, copied } = this.#call;
        for (const [key, operand] of Object.entries(given)) {
            this.#from[key] = { buffer: operand.buffer, offset: operand.offset };
            if (operand.data || copied.has(key)) {
                this.#from[key] = this.#take(key, operand, this.#taken);
            }
            if (operand.data) {
                this.#context.write(this.#from[key].buffer, 0, operand.data);
            }
        }
    }

    #placeOutputs() {
        for (const [key, output] of Object.entries(this.#program.plan.outputs)) {
            const target = this.#call.into[key];
            const stays = this.#options.output === "gpu";
            this.#to[key] = target ?? this.#take(key, output, stays ? this.#results : this.#taken);
            if (!target && !stays) {
                this.#toHost.push(key);
            }
        }
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

    /** Submits when its shaders are there and it is its turn, and waits for what is to be in memory. */
    async finish() {
        try {
            this.#place();
            const staged = await this.#submitInOrder();
            const bytes = await this.#context.wait(unlessFaulty(this.#faults, this.#read(staged)), this.#options.signal);
            this.#options.signal?.throwIfAborted();
            this.#taken.forEach((buffer) => this.#context.give(buffer));
            return Object.fromEntries(Object.keys(this.#to).map((key) => [key, this.#result(key, bytes[key])]));
        } catch (error) {
            const isKnown = error instanceof RmsnormError || this.#options.signal?.aborted;
            const known = isKnown ? error : await this.#context.explain(error, this.#name);
            this.#abandon(known);
            throw known;
        }
    }

    async #submitInOrder() {
        const buffersOf = (operands) => Object.values(operands).flatMap(({ buffer }) => buffer ?? []);
        const { before, leave } = this.#context.order.enter(buffersOf(this.#call.given), buffersOf(this.#call.into));
        try {
            await this.#context.wait(Promise.all([this.#program.ready, before]), this.#options.signal);
            return this.#submit();
        } finally {
            leave();
        }
    }

    /** What is wrong with a buffer is not handed on to the next call. */
    #abandon(error) {
        [...this.#taken, ...this.#results].forEach((buffer) => buffer.destroy());
        if (error instanceof DeviceError) {
            this.#context.dropScratch();
        }
    }

    /** @param {Record<string, {staging: GPUBuffer, bytes: number}>} staged */
    async #read(staged) {
        const reading = Object.entries(staged).map(async ([key, { staging, bytes }]) => [
            key,
            await this.#context.read(staging, bytes),
        ]);
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
